"""select_and_scatter: each window of the operand selects an element, to which its source goes.

What fits is computed from the side of the result (`collected_sources.py`). Here is the rest: large
windows, few channels, long strides. A work unit is what no window leaves: an index in each
dimension that windows do not walk, and some vectors along the minor one, if that is such a
dimension (channels last). The unit is filled with the initial value; then each window, in row-major
order, finds its element lane by lane, and its source is combined with the elements of its taps
where they are the chosen ones. Elements of overlapping windows thus combine their sources in the
order of the specification.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.collected_sources import emit_collection
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of
from hlo.passes.hlo_to_loops.scalar_regions import apply
from hlo.passes.hlo_to_loops.window_choice import (
    FEWEST_UNITS,
    MOST_UNROLLED,
    WindowChoice,
    Windows,
)
from hlo.passes.hlo_to_loops.window_groups import collects


def emit_select_and_scatter(region: Region, node: Node) -> Kernel:
    """Combines the initial value with sources at chosen elements.

    A `pad` ahead of the op and a `slice` behind it may be in the region: see `fuse-selections`.
    """
    inputs, outputs = argument_buffers(region)
    padding, part = node.operands[0].producer, region.results[0].producer
    if padding not in region.nodes:
        padding = None
    windows = Windows.of(node, padding, None if part is node else part)
    builder = Builder()
    units = 0
    if node.operands[0].size:
        em = Emitter(builder, inputs)
        if collects(node, windows):
            units = emit_collection(em, node, windows, padding, outputs[0])
        else:
            assert part is node, "a part of a result is not computed window by window"
            units = _Selection(em, node, windows, outputs[0]).emit()
    return kernel_of(builder, inputs.values(), outputs, units)


class _Selection(WindowChoice):
    """Fills the result, then adds to it window by window."""

    def __init__(self, em: Emitter, node: Node, windows: Windows, out: Buffer) -> None:
        super().__init__(em, node, windows, by_tap=windows.lanes > 0)
        self.out = out
        others = math.prod(windows.sizes[d] for d in windows.still)
        # Vectors of a work unit.
        self.block = max(1, windows.vectors * others // max(others, FEWEST_UNITS))
        self.blocks = -(-windows.vectors // self.block)

    def emit(self) -> int:
        """Emits the loop over work units; how many there are."""
        em, b, w = self.em, self.em.b, self.w
        sizes = [*(w.sizes[d] for d in w.still), self.blocks]
        units = math.prod(sizes)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            *still, block = em.dims(Position.of_offset(unit), sizes)
            for d, index in zip(w.still, still, strict=True):
                self.at[d] = index
            self._positions(w.sizes, lambda: self._across(block, self._fill))
            if self.source.size:
                self._positions(w.sources, lambda: self._across(block, self._select))
        return units

    def _positions(self, sizes: Sequence[int], body: Callable[[], None], walked: int = 0) -> None:
        """Loops over the dimensions that windows walk."""
        if walked == len(self.w.walked):
            body()
            return
        b, d = self.em.b, self.w.walked[walked]
        with b.loop(b.index(0), b.index(sizes[d]), b.index(1)) as loop:
            self.at[d] = self.em.variable(loop.iv, sizes[d])
            self._positions(sizes, body, walked + 1)

    def _across(self, block: Affine, body: Callable[[], None]) -> None:
        """The vectors of a block; the last one may be cut."""
        em, b, w = self.em, self.em.b, self.w
        if not w.lanes:
            body()
            return
        extent, step = w.sizes[-1], self.block * w.lanes
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
        last = b.op(f"arith.cmpi eq, {em.index(block)}, {b.index(self.blocks - 1)} : index")
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

    # -- one window --------------------------------------------------------------------------------
    def _select(self) -> None:
        """Finds the element of the window at `at`, and combines its source with it."""
        em, b, w = self.em, self.em.b, self.w
        source = em.element(self.source, Position.of_dims(self.at))
        inside = self.inside()
        unrolled = w.taps <= MOST_UNROLLED and not inside.never
        if unrolled and inside.always:
            self._combine(source, self.chosen(inside=True), unrolled=True)
            return
        if unrolled:
            assert inside.uniform is not None
            with b.when(inside.uniform):
                self._combine(source, self.chosen(inside=True), unrolled=True)
            with b.width(0):
                outside = b.op(f"arith.xori {inside.uniform}, {b.constant(True, 'i1')} : i1")
            with b.when(outside):
                self._combine(source, self.chosen(inside=False), unrolled=False)
            return
        self._combine(source, self.chosen(inside=False), unrolled=False)

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
            place = self.place(tap)
            named = self.named(tap).name
            here = b.op(f"arith.cmpi eq, {chosen.name}, {named} : {b.type_of('i32')}")
            offset = Position.of_dims(tuple(place)).linear(w.sizes)
            self._update(source, offset, Value(element_type("i1"), (here,), b.lanes))

        if unrolled:
            for tap in self.taps_of(w.walked):
                at_tap(tap)
            return

        def loops(tap: list[Affine]) -> None:
            if len(tap) == len(w.walked):
                at_tap(tap)
                return
            with b.loop(*self.range_of(len(tap)), b.index(1)) as loop:
                loops([*tap, em.variable(loop.iv, w.window[w.walked[len(tap)]])])

        loops([])

    def _update(self, source: Value, offset: Affine, here: Value | None) -> None:
        """Combines a source with the element at an offset, in the lanes of `here`."""
        em = self.em
        old = em.load(self.out, offset)
        new = apply(em, self.node.regions[1], [old, source])[0]
        if here is not None:
            new = elementwise.select(em.b, here, new, old)
        em.store(new, self.out, offset)
