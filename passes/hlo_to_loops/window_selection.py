"""select_and_scatter: each window of the operand selects an element, to which its source goes.

A work unit is what no window leaves: an index in each dimension that windows do not walk, and some
vectors along the minor one, if that is such a dimension (channels last). The unit is filled with
the initial value; then each window, in row-major order, finds its element lane by lane, and its
source is combined with the elements of its taps where they are the chosen ones. Elements of
overlapping windows thus combine their sources in the order of the specification.

Where windows walk the minor dimension (planes), the lanes are neighbouring windows that lie inside:
they find their elements together, and then combine their sources one after another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.conditions import ALWAYS, Condition, at_least, both, less_than
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.index_values import index_value
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of
from hlo.passes.hlo_to_loops.loop_kernel import VECTOR_BITS
from hlo.passes.hlo_to_loops.strided_loads import MOST_SKIPPED

FEWEST_UNITS = 8  # for the sake of threads, if there are as many vectors
MOST_UNROLLED = 25  # taps of a window that are not a loop
FEWEST_LANES = 4
NONE = -1  # the tap that a window has chosen before the first


@dataclass(frozen=True)
class _Windows:
    """Extents by dimension.

    Attributes:
        lanes: of a vector along the minor dimension, 0 if windows walk that.
        neighbours: windows along the minor dimension that find their elements together, 0 if none.
    """

    sizes: tuple[int, ...]
    sources: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    walked: tuple[int, ...]
    lanes: int
    neighbours: int

    @staticmethod
    def of(node: Node) -> _Windows:
        operand, source, _ = node.operands
        rank, attributes = operand.rank, node.attributes
        window = tuple(attributes.get("window_dimensions") or (1,) * rank)
        strides = tuple(attributes.get("window_strides") or (1,) * rank)
        pads = padding_pairs(attributes.get("padding"), rank)
        walked = tuple(d for d in range(rank) if (window[d], strides[d], *pads[d]) != (1, 1, 0, 0))
        widest = max(t.type.part_type.bits for t in node.operands)
        lanes = neighbours = VECTOR_BITS // max(widest, 32)
        while rank and lanes > operand.shape[-1]:
            lanes //= 2
        across = rank > 0 and rank - 1 not in walked and lanes >= FEWEST_LANES
        if rank - 1 not in walked or strides[-1] > MOST_SKIPPED or operand.size >= 1 << 31:
            neighbours = 0
        return _Windows(
            operand.shape, source.shape, window, strides, tuple(low for low, _ in pads), walked,
            lanes if across else 0, neighbours if math.prod(window) <= MOST_UNROLLED else 0,
        )  # fmt: skip

    @property
    def still(self) -> tuple[int, ...]:
        """Dimensions that windows do not walk, but for that of the lanes."""
        rank = len(self.sizes) - (1 if self.lanes else 0)
        return tuple(d for d in range(rank) if d not in self.walked)

    @property
    def vectors(self) -> int:
        return -(-self.sizes[-1] // self.lanes) if self.lanes else 1

    @property
    def block(self) -> int:
        """Vectors of a work unit."""
        others = math.prod(self.sizes[d] for d in self.still)
        return max(1, self.vectors * others // max(others, FEWEST_UNITS))

    @property
    def blocks(self) -> int:
        return -(-self.vectors // self.block)


def emit_select_and_scatter(region: Region, node: Node) -> Kernel:
    """Fills the result with the initial value, then combines it with sources at chosen elements."""
    inputs, outputs = argument_buffers(region)
    windows = _Windows.of(node)
    builder = Builder()
    units = 0
    if node.operands[0].size:
        selection = _Selection(Emitter(builder, inputs), node, windows, outputs[0])
        units = selection.emit()
    return kernel_of(builder, inputs.values(), outputs, units)


class _Selection:
    """The emission of one op."""

    def __init__(self, em: Emitter, node: Node, windows: _Windows, out: Buffer) -> None:
        self.em, self.node, self.w, self.out = em, node, windows, out
        self.operand, self.source, self.initial = node.operands
        # What names a chosen element: in lanes the number of its tap, else its offset.
        self.name = element_type("i32" if windows.lanes or windows.neighbours else "i64")
        self.at = [ZERO] * len(windows.sizes)

    def emit(self) -> int:
        """Emits the loop over work units; how many there are."""
        em, b, w = self.em, self.em.b, self.w
        sizes = [*(w.sizes[d] for d in w.still), w.blocks]
        units = math.prod(sizes)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            *still, block = em.dims(Position.of_offset(unit), sizes)
            for d, index in zip(w.still, still, strict=True):
                self.at[d] = index
            self._positions(w.sizes, lambda: self._across(block, self._fill))
            if not self.source.size:
                return units
            if w.neighbours:
                self._positions(w.sources, self._line, last=1)
            else:
                self._positions(w.sources, lambda: self._across(block, self._select))
        return units

    def _positions(
        self, sizes: Sequence[int], body: Callable[[], None], walked: int = 0, last: int = 0
    ) -> None:
        """Loops over the dimensions that windows walk, the `last` ones left out."""
        if walked == len(self.w.walked) - last:
            body()
            return
        b, d = self.em.b, self.w.walked[walked]
        with b.loop(b.index(0), b.index(sizes[d]), b.index(1)) as loop:
            self.at[d] = self.em.variable(loop.iv, sizes[d])
            self._positions(sizes, body, walked + 1, last)

    def _across(self, block: Affine, body: Callable[[], None]) -> None:
        """The vectors of a block; the last one may be cut."""
        em, b, w = self.em, self.em.b, self.w
        if not w.lanes:
            body()
            return
        extent, step = w.sizes[-1], w.block * w.lanes
        whole = extent // w.lanes * w.lanes
        start = em.index(block * step)
        end = b.op(f"arith.addi {start}, {b.index(step)} : index")
        end = b.op(f"arith.minui {end}, {b.index(whole)} : index")
        with b.loop(start, end, b.index(w.lanes)) as loop:
            self.at[-1] = em.variable(loop.iv, extent)
            with em.vector(loop.iv, w.lanes):
                body()
        if whole == extent:
            return
        last = b.op(f"arith.cmpi eq, {em.index(block)}, {b.index(w.blocks - 1)} : index")
        with b.when(last):
            name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
            mask = b.first_lanes(extent - whole, w.lanes)
            self.at[-1] = em.variable(name, extent)
            with em.vector(name, w.lanes, mask):
                em.hoist_from_here()
                body()

    def _fill(self) -> None:
        lanes = self.em.b.lanes
        with self.em.scalar():
            value = self.em.element(self.initial, Position.of_dims(()))
        value = self.em.splat(value, lanes) if lanes else value
        self.em.store(value, self.out, Position.of_dims(self.at).linear(self.w.sizes))

    # -- a line of windows -------------------------------------------------------------------------
    def _line(self) -> None:
        """The windows along the minor dimension: one by one at the ends, by vectors between."""
        b, w = self.em.b, self.w
        count, stride = w.sources[-1], w.strides[-1]
        first = min(count, -(-w.low[-1] // stride))
        first = max(0, first)
        inside = (w.sizes[-1] - w.window[-1] + w.low[-1]) // stride + 1 - first
        vectors = max(0, min(count - first, inside)) // w.neighbours
        beyond = first + vectors * w.neighbours
        rows = self._inside(w.walked[:-1])
        if not vectors or rows.never:
            self._windows(0, count)
            return
        if rows.uniform is None:
            self._pieces(first, beyond)
            return
        with b.when(rows.uniform):
            self._pieces(first, beyond)
        outside = b.op(f"arith.xori {rows.uniform}, {b.constant(True, 'i1')} : i1")
        with b.when(outside):
            self._windows(0, count)

    def _pieces(self, first: int, beyond: int) -> None:
        em, b, w = self.em, self.em.b, self.w
        self._windows(0, first)
        buffers = [
            Buffer(b.stack_buffer(w.neighbours, kind.memory), w.neighbours, kind)
            for kind in (self.name, self.source.type)
        ]
        with b.loop(b.index(first), b.index(beyond), b.index(w.neighbours)) as loop:
            self.at[-1] = em.variable(loop.iv, w.sources[-1])
            with em.vector(loop.iv, w.neighbours):
                source = em.element(self.source, Position.of_dims(tuple(self.at)))
                values = self._chosen_of_all(), source
                with b.width(0):
                    lane = b.load(f"arith.addi {b.index(0)}, {b.index(0)} : index")
                em.variable(lane, w.neighbours)
                with em.vector(lane, w.neighbours):
                    for value, buffer in zip(values, buffers, strict=True):
                        em.store(value, buffer, Affine.variable(lane))
            with b.loop(b.index(0), b.index(w.neighbours), b.index(1)) as inner:
                lane = em.variable(inner.iv, w.neighbours)
                name, source = (em.load(buffer, lane) for buffer in buffers)
                at = b.op(f"arith.index_cast {name.name} : {self.name.register} to index")
                self._update(source, em.name_index(at, self.operand.size), None)
        self._windows(beyond, w.sources[-1])

    def _windows(self, start: int, end: int) -> None:
        """Windows of the line one by one."""
        b = self.em.b
        if start == end:
            return
        with b.loop(b.index(start), b.index(end), b.index(1)) as loop:
            self.at[-1] = self.em.variable(loop.iv, self.w.sources[-1])
            self._combine(
                self.em.element(self.source, Position.of_dims(tuple(self.at))),
                self._chosen_of_some(), unrolled=False,
            )  # fmt: skip

    # -- one window --------------------------------------------------------------------------------
    def _select(self) -> None:
        """Finds the element of the window at `at`, and combines its source with it."""
        em, b, w = self.em, self.em.b, self.w
        source = em.element(self.source, Position.of_dims(self.at))
        inside = self._inside(w.walked)
        unrolled = math.prod(w.window) <= MOST_UNROLLED and not inside.never
        if unrolled and inside.always:
            self._combine(source, self._chosen_of_all(), unrolled=True)
            return
        if unrolled:
            assert inside.uniform is not None
            with b.when(inside.uniform):
                self._combine(source, self._chosen_of_all(), unrolled=True)
            with b.width(0):
                outside = b.op(f"arith.xori {inside.uniform}, {b.constant(True, 'i1')} : i1")
            with b.when(outside):
                self._combine(source, self._chosen_of_some(), unrolled=False)
            return
        self._combine(source, self._chosen_of_some(), unrolled=False)

    def _inside(self, dims: Sequence[int]) -> Condition:
        """Whether all taps of the window at `at` are inside along some dimensions."""
        em, w, held = self.em, self.w, ALWAYS
        with em.b.width(0):
            for d in dims:
                start = self.at[d] * w.strides[d] + -w.low[d]
                held = both(em, held, at_least(em, start, 0))
                held = both(em, held, less_than(em, start, w.sizes[d] - w.window[d] + 1))
        return held

    def _place(self, tap: Sequence[Affine]) -> list[Affine]:
        """The index of a tap in the operand, which is inside."""
        w, place = self.w, list(self.at)
        for d, index in zip(w.walked, tap, strict=True):
            at = self.at[d] * w.strides[d] + index + -w.low[d]
            place[d] = self.em.bounded(at, w.sizes[d])
        return place

    def _named(self, tap: Sequence[Affine], place: Sequence[Affine]) -> Value:
        """What names the element at a tap."""
        w = self.w
        if w.lanes:
            strides = suffix_products([w.window[d] for d in w.walked])
            number = sum((i * s for i, s in zip(tap, strides, strict=True)), ZERO)
        else:
            number = Position.of_dims(tuple(place)).linear(w.sizes)
        return index_value(self.em, number, self.name)

    def _prefer(self, held: Value, name: Value, tap: Sequence[Affine]) -> tuple[Value, Value]:
        """The chosen element and its name once a tap is looked at."""
        em, b, place = self.em, self.em.b, self._place(tap)
        value = em.element(self.operand, Position.of_dims(tuple(place)))
        keep = em.apply(self.node.regions[0], [held, value])[0]
        zero = elementwise.constant(b, self.name, 0).name
        kind = b.type_of(self.name.register)
        found = b.op(f"arith.cmpi sge, {name.name}, {zero} : {kind}")
        both = b.op(f"arith.andi {found}, {keep.name} : {b.type_of('i1')}")
        keep = Value(element_type("i1"), (both,), b.lanes)
        return (
            elementwise.select(b, keep, held, value),
            elementwise.select(b, keep, name, self._named(tap, place)),
        )

    def _chosen_of_all(self) -> Value:
        """The name of the chosen element of a window that lies inside."""
        held, name = self._nothing()
        for tap in itertools.product(*(range(self.w.window[d]) for d in self.w.walked)):
            held, name = self._prefer(held, name, [ZERO + i for i in tap])
        return name

    def _nothing(self) -> tuple[Value, Value]:
        b, kind = self.em.b, self.operand.type
        zero = elementwise.constant(b, kind, False if kind.register == "i1" else 0)
        return zero, elementwise.constant(b, self.name, NONE)

    def _chosen_of_some(self) -> Value:
        """The same of any window; `NONE` if it holds no element."""
        b, kind = self.em.b, self.operand.type
        held, name = self._nothing()
        types = [*(b.type_of(kind.register) for _ in held.parts), b.type_of(self.name.register)]

        def loops(tap: list[Affine], state: list[str]) -> list[str]:
            if len(tap) == len(self.w.walked):
                held = Value(kind, tuple(state[:-1]), b.lanes)
                name = Value(self.name, (state[-1],), b.lanes)
                held, name = self._prefer(held, name, tap)
                return [*held.parts, *name.parts]
            low, high = self._range(len(tap))
            carried = list(zip(state, types, strict=True))
            with b.loop(low, high, b.index(1), carried) as loop:
                index = self.em.variable(loop.iv, self.w.window[self.w.walked[len(tap)]])
                loop.yielded = loops([*tap, index], loop.carried)
            return loop.results

        return Value(self.name, (loops([], [*held.parts, *name.parts])[-1],), b.lanes)

    def _range(self, k: int) -> tuple[str, str]:
        """The taps along a walked dimension that are inside."""
        b, w, d = self.em.b, self.w, self.w.walked[k]
        start = self.at[d] * w.strides[d] + -w.low[d]
        with b.width(0):
            before = b.op(f"arith.maxsi {self.em.index(start * -1)}, {b.index(0)} : index")
            beyond = self.em.index(start * -1 + w.sizes[d])
            return before, b.op(f"arith.minsi {beyond}, {b.index(w.window[d])} : index")

    # -- its source --------------------------------------------------------------------------------
    def _combine(self, source: Value, chosen: Value, *, unrolled: bool) -> None:
        """Combines a source with the chosen element of each lane."""
        em, b, w = self.em, self.em.b, self.w
        if not w.lanes:
            kind = self.name.register
            found = b.op(f"arith.cmpi sge, {chosen.name}, {b.constant(0, kind)} : {kind}")
            with b.when(found):
                at = b.op(f"arith.index_cast {chosen.name} : {kind} to index")
                self._update(source, em.name_index(at, self.operand.size), None)
            return

        def at_tap(tap: Sequence[Affine]) -> None:
            place = self._place(tap)
            named = self._named(tap, place).name
            here = b.op(f"arith.cmpi eq, {chosen.name}, {named} : {b.type_of('i32')}")
            offset = Position.of_dims(tuple(place)).linear(w.sizes)
            self._update(source, offset, Value(element_type("i1"), (here,), b.lanes))

        if unrolled:
            for tap in itertools.product(*(range(w.window[d]) for d in w.walked)):
                at_tap([ZERO + i for i in tap])
            return

        def loops(tap: list[Affine]) -> None:
            if len(tap) == len(w.walked):
                at_tap(tap)
                return
            with b.loop(*self._range(len(tap)), b.index(1)) as loop:
                loops([*tap, em.variable(loop.iv, w.window[w.walked[len(tap)]])])

        loops([])

    def _update(self, source: Value, offset: Affine, here: Value | None) -> None:
        """Combines a source with the element at an offset, in the lanes of `here`."""
        em = self.em
        old = em.load(self.out, offset)
        new = em.apply(self.node.regions[1], [old, source])[0]
        if here is not None:
            new = elementwise.select(em.b, here, new, old)
        em.store(new, self.out, offset)
