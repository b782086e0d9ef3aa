"""sort: ranks inside short runs, then merges of runs, all by the comparator.

Every thread finds the place of one element: in a run by comparing it with all others, in a merge by
binary search in the other run. That is stable, takes any comparator, and depends on no order of
threads. (Merging by rank: Cole, "Parallel Merge Sort", 1988, in its simplest form.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers

LONGEST_RANKED = 512  # elements of a line that is sorted by ranks alone
RUN = 256  # elements of the runs that are merged otherwise


def emit_sort(region: Region, node: Node) -> GpuKernel:
    """A kernel of one stage that ranks, and of one for every doubling of the runs."""
    inputs, outputs = argument_buffers(region)
    shape = node.operands[0].shape
    if node.operands[0].size == 0:
        return gpu_kernel([], list(inputs.values()), outputs)
    dim = node.attributes["dimension"] % max(len(shape), 1)
    length = shape[dim] if shape else 1
    lines = _Lines(node, region, length, math.prod(shape[dim + 1 :]), node.operands[0].size)
    sources = [inputs[t] for t in node.operands]
    run = length if length <= LONGEST_RANKED else RUN
    widths: list[int] = []
    while run < length:
        widths.append(run)
        run *= 2
    scratch = [
        Buffer(f"%scratch{i}", b.elements, b.type) for i, b in enumerate(outputs if widths else [])
    ]
    buffers = [*inputs.values(), *outputs, *scratch]
    # The last stage writes the outputs.
    targets = [outputs if (len(widths) - k) % 2 == 0 else scratch for k in range(len(widths) + 1)]
    first = widths[0] if widths else length
    stages = [_ranked(lines, first, sources, targets[0], buffers)]
    for width, source, target in zip(widths, targets, targets[1:], strict=False):
        stages.append(_merged(lines, width, source, target, buffers))
    return gpu_kernel(stages, list(inputs.values()), outputs, scratch=scratch)


@dataclass(frozen=True)
class _Lines:
    """What is sorted: lines of `length` elements, `inner` apart."""

    node: Node
    region: Region
    length: int
    inner: int
    size: int

    def load(self, em: ThreadEmitter, buffers: Sequence[Buffer], base: Affine, name: str):
        """The elements of all operands at SSA index `name` of the line at `base`."""
        at = base + em.name_index(name, self.length) * self.inner
        return [em.load(buffer, at) for buffer in buffers]

    def before(self, em: ThreadEmitter, first: Sequence[Value], second: Sequence[Value]) -> str:
        """SSA i1: whether the comparator puts `first` before `second`."""
        pairs = [v for pair in zip(first, second, strict=True) for v in pair]
        return em.apply(self.node.regions[0], pairs)[0].name

    def split(self, em: ThreadEmitter, unit: Affine) -> tuple[Affine, str]:
        """(offset of element 0 of a thread's line, SSA index of its element in the line)."""
        row, rest = em.divmod(unit, self.length * self.inner)
        place, line = em.divmod(rest, self.inner)
        return row * (self.length * self.inner) + line, em.index(place)


def _placed(
    lines: _Lines, sources: Sequence[Buffer], targets: Sequence[Buffer], buffers: Sequence[Buffer],
    place_of: Callable[[_Place], str],
) -> Stage:  # fmt: skip
    """A thread an element, which moves to the index in its line that `place_of` gives."""
    inputs, _ = argument_buffers(lines.region)
    em = ThreadEmitter(ThreadBuilder(block_for(lines.size)), inputs)

    def body(unit: Affine) -> None:
        base, index = lines.split(em, unit)
        own = lines.load(em, sources, base, index)
        place = _Place(lines, em, sources, base, index, own)
        at = base + em.name_index(place_of(place), lines.length) * lines.inner
        for value, buffer in zip(own, targets, strict=True):
            em.store(value, buffer, at)

    guarded_threads(em, lines.size, body)
    return stage(em.b, buffers, targets, lines.size, em.b.block)


@dataclass(frozen=True)
class _Place:
    """A thread's element: its line, its SSA index there, the elements of all operands."""

    lines: _Lines
    em: ThreadEmitter
    sources: Sequence[Buffer]
    base: Affine
    index: str
    own: Sequence[Value]

    def start_of(self, run: int) -> str:
        """The first index of the run of `run` elements that holds the element."""
        b, size = self.em.b, self.em.b.index(run)
        return b.op(
            f"arith.muli {b.op(f'arith.divui {self.index}, {size} : index')}, {size} : index"
        )

    def within(self, start: str, offset: int) -> str:
        """An index some elements after another, at most the line's length."""
        b = self.em.b
        index = b.op(f"arith.addi {start}, {b.index(offset)} : index")
        return b.op(f"arith.minui {index}, {b.index(self.lines.length)} : index")

    def goes_after(self, index: str, is_later: str) -> str:
        """SSA i1: whether the element goes after the one at an index, as a stable sort has it.

        Args:
            is_later: SSA i1: whether it is after that one now: of equals the earlier goes ahead.
        """
        b = self.em.b
        other = self.lines.load(self.em, self.sources, self.base, index)
        flag = Value(element_type("i1"), (is_later,))
        pairs = list(zip(self.own, other, strict=True))
        first = [elementwise.select(b, flag, mine, its) for mine, its in pairs]
        second = [elementwise.select(b, flag, its, mine) for mine, its in pairs]
        # An earlier one is ahead unless this one is less, a later one if it is less.
        less = self.lines.before(self.em, first, second)
        return b.op(f"arith.xori {less}, {is_later} : i1")


def _ranked(
    lines: _Lines, run: int, sources: Sequence[Buffer], targets: Sequence[Buffer],
    buffers: Sequence[Buffer],
) -> Stage:  # fmt: skip
    """Sorts every run of `run` elements: an element's place is how many come before it."""

    def place_of(own: _Place) -> str:
        b = own.em.b
        start = own.start_of(run)
        end = own.within(start, run)
        with b.loop(start, end, b.index(1), [(start, "index")]) as loop:
            is_later = b.op(f"arith.cmpi ult, {loop.iv}, {own.index} : index")
            counts = own.goes_after(loop.iv, is_later)
            one = b.op(f"arith.index_castui {counts} : i1 to index")
            loop.yielded = [b.op(f"arith.addi {loop.carried[0]}, {one} : index")]
        return loop.results[0]

    return _placed(lines, sources, targets, buffers, place_of)


def _merged(
    lines: _Lines, width: int, sources: Sequence[Buffer], targets: Sequence[Buffer],
    buffers: Sequence[Buffer],
) -> Stage:  # fmt: skip
    """Merges pairs of sorted runs of `width`: an element moves by its rank in the other run."""

    def place_of(own: _Place) -> str:
        b = own.em.b
        start = own.start_of(2 * width)
        middle, end = own.within(start, width), own.within(start, 2 * width)
        left = b.op(f"arith.cmpi ult, {own.index}, {middle} : index")
        low = b.op(f"arith.select {left}, {middle}, {start} : index")
        high = b.op(f"arith.select {left}, {end}, {middle} : index")
        is_later = b.op(f"arith.xori {left}, {b.constant(True, 'i1')} : i1")
        found = _search(own, is_later, low, high, width)
        # Its own run holds index - start (or index - middle) elements ahead of it.
        within = b.op(f"arith.select {left}, {start}, {middle} : index")
        moved = b.op(f"arith.subi {found}, {low} : index")
        ahead = b.op(f"arith.subi {own.index}, {within} : index")
        moved = b.op(f"arith.addi {moved}, {ahead} : index")
        return b.op(f"arith.addi {start}, {moved} : index")

    return _placed(lines, sources, targets, buffers, place_of)


def _search(own: _Place, is_later: str, low: str, high: str, width: int) -> str:
    """The first place in [low, high) whose element goes after `own`, by binary search."""
    b = own.em.b
    steps = width.bit_length()
    with b.loop(b.index(0), b.index(steps), b.index(1), [(low, "index"), (high, "index")]) as loop:
        at, end = loop.carried
        more = b.op(f"arith.cmpi ult, {at}, {end} : index")
        with b.choice(more, ["index", "index"]) as choice:
            with choice.then():
                total = b.op(f"arith.addi {at}, {end} : index")
                middle = b.op(f"arith.shrui {total}, {b.index(1)} : index")
                ahead = own.goes_after(middle, is_later)
                after = b.op(f"arith.addi {middle}, {b.index(1)} : index")
                choice.yielded = [
                    b.op(f"arith.select {ahead}, {after}, {at} : index"),
                    b.op(f"arith.select {ahead}, {end}, {middle} : index"),
                ]
            with choice.otherwise():
                choice.yielded = [at, end]
        loop.yielded = list(choice.results)
    return loop.results[0]
