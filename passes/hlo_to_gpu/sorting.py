"""sort: lines that fit are sorted in shared memory; longer ones in tiles there, then by merges.

Any comparator does, and equal elements keep their order. In a merge every thread finds the place of
one element by binary search in the other run, which depends on no order of threads. (Merging by
rank: Cole, "Parallel Merge Sort", 1988, in its simplest form.)

A kernel may make the positions that are sorted along itself, and store no more than the first
elements of each line (`fuse-sorts`). Operands whose results nobody reads are moved only if the
comparator reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.block_sort import TileShape, sorted_tiles, tile_shape
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.sorted_lines import SortedLines
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers


def emit_sort(region: Region, node: Node) -> GpuKernel:
    """A kernel of one stage that sorts tiles, and of one for every doubling of them."""
    inputs, outputs = argument_buffers(region)
    if node.operands[0].size == 0:
        return gpu_kernel([], list(inputs.values()), outputs)
    lines = SortedLines.of(region, node)
    shape = tile_shape(lines)
    widths: list[int] = []
    while (shape.length << len(widths)) < lines.length:
        widths.append(shape.length << len(widths))
    scratch, sets = _between(lines, len(widths), outputs)
    buffers = [*inputs.values(), *outputs, *scratch]
    last = lines.stored_in(outputs)
    targets = [sets[(len(widths) - 1 - k) % 2] for k in range(len(widths))]
    stages = [sorted_tiles(lines, shape, targets[0] if widths else None, last, buffers)]
    for k, width in enumerate(widths):
        target = None if k + 1 == len(widths) else targets[k + 1]
        stages.append(_merged(lines, width, targets[k], target, last, buffers))
    listed = list(inputs.values())
    return gpu_kernel(
        stages, listed, outputs, scratch=scratch,
        replaces=() if widths else _replaced(lines, shape, listed, inputs),
    )  # fmt: skip


def _between(
    lines: SortedLines, merges: int, outputs: list[Buffer]
) -> tuple[list[Buffer], list[Mapping[int, Buffer]]]:
    """(scratch, the two sets of buffers that merges read in turn, by operand).

    The last merge reads the first set, so outputs, which it writes, can be of the second alone.
    """
    scratch: list[Buffer] = []
    sets: list[Mapping[int, Buffer]] = []
    whole = {k: buffer for k, (buffer, first) in lines.stored_in(outputs).items() if first is None}
    for known in ({}, whole)[:merges]:
        own: dict[int, Buffer] = {}
        for k in lines.carried:
            if (found := known.get(k)) is None:
                kind = lines.node.operands[k].type
                found = Buffer(f"%scratch{len(scratch)}", lines.size, kind)
                scratch.append(found)
            own[k] = found
        sets.append(own)
    return scratch, sets


def _replaced(
    lines: SortedLines, shape: TileShape, listed: list[Buffer], inputs: Mapping[Tensor, Buffer]
) -> tuple[tuple[int, int], ...]:
    """(result, operand) places that may be one memory: a block has read its lines when it writes.

    What the comparator does not read is looked up while results are written.
    """
    late = {lines.node.operands[k] for k in lines.carried if k not in shape.kept}
    found: list[tuple[int, int]] = []
    for place, (k, first) in enumerate(lines.results):
        tensor = lines.node.operands[k]
        if first is None and k in shape.kept and tensor in inputs and tensor not in late:
            found.append((place, listed.index(inputs[tensor])))
    return tuple(found)


def _merged(
    lines: SortedLines, width: int, sources: Mapping[int, Buffer],
    target: Mapping[int, Buffer] | None, last: Mapping[int, tuple[Buffer, int | None]],
    buffers: list[Buffer],
) -> Stage:  # fmt: skip
    """Merges pairs of sorted runs of `width`: an element moves by its rank in the other run.

    Args:
        target: where elements go; if None, to the kernel's results, `last`.
    """
    inputs, _ = argument_buffers(lines.region)
    em = ThreadEmitter(ThreadBuilder(block_for(lines.size)), inputs)
    b = em.b

    def body(unit: Affine) -> None:
        row, rest = em.divmod(unit, lines.length * lines.inner)
        place, column = em.divmod(rest, lines.inner)
        line = row * (lines.length * lines.inner) + column
        own = _Element(lines, em, sources, line, em.index(place))
        at = em.name_index(_merged_place(own, width), lines.length)
        for k in lines.carried:
            if target is not None:
                em.store(own.value(k), target[k], line + at * lines.inner)
            elif k in last:
                lines.store(em, own.value(k), last[k], (row, column), at)

    guarded_threads(em, lines.size, body)
    written = target.values() if target is not None else (buffer for buffer, _ in last.values())
    return stage(b, buffers, list(written), lines.size, b.block)


def _merged_place(own: _Element, width: int) -> str:
    """The SSA index in its line that an element moves to."""
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


@dataclass(frozen=True)
class _Element:
    """A thread's element: where its line begins, and its SSA index there."""

    lines: SortedLines
    em: ThreadEmitter
    sources: Mapping[int, Buffer]
    line: Affine
    index: str

    def value(self, k: int) -> Value:
        """Its part of an operand."""
        return self.at(k, self.index)

    def at(self, k: int, index: str) -> Value:
        """An operand's element at an index of the line."""
        place = self.em.name_index(index, self.lines.length) * self.lines.inner
        return self.em.load(self.sources[k], self.line + place)

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
        em, b = self.em, self.em.b
        flag = Value(element_type("i1"), (is_later,))
        first: dict[int, Value] = {}
        second: dict[int, Value] = {}
        for k in self.lines.keys:
            mine, its = self.value(k), self.at(k, index)
            first[k] = elementwise.select(b, flag, mine, its)
            second[k] = elementwise.select(b, flag, its, mine)
        # An earlier one is ahead unless this one is less, a later one if it is less.
        less = self.lines.before(em, first, second)
        return b.op(f"arith.xori {less}, {is_later} : i1")


def _search(own: _Element, is_later: str, low: str, high: str, width: int) -> str:
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
