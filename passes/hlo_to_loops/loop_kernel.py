"""A kernel as one loop nest: every root is computed by element over a common row-major space."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hlo.passes.cost.caches import FAR_BYTES
from hlo.passes.hlo_to_loops import line_stores
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.column_folds import ColumnBlock
from hlo.passes.hlo_to_loops.emitter import UNROLLED, Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.gates import provide_gates
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.joint_folds import Folds
from hlo.passes.hlo_to_loops.kept_rows import computed_ahead, worth_keeping
from hlo.passes.hlo_to_loops.kernel_function import (
    Kernel,
    argument_buffers,
    kernel_of,
    the_only_unit,
)
from hlo.passes.hlo_to_loops.lines_ahead import lines_ahead
from hlo.passes.hlo_to_loops.rows_ahead import rows_ahead
from hlo.passes.hlo_to_loops.streaming import emit_streaming, units_together
from hlo.passes.hlo_to_loops.survey import segments
from hlo.passes.hlo_to_loops.vector_stores import SHORT_ROW
from hlo.passes.hlo_to_loops.wide_vectors import folds_widely, registers_for
from hlo.passes.hlo_to_loops.work import work_of

BLOCK = 4096  # elements of the innermost loop that one work unit takes at the most
ENOUGH_UNITS = 64  # work units beyond which more outer loops are not needed for balance
VECTOR_BITS = 512
NEIGHBOURS = 8  # vectors of columns folded in the same loops: a row is read half a KiB at a time
WOVEN_ROW = 12  # elements of rows that are folded and computed of the folds by lanes each
BLOCK_BYTES = 8 << 10  # of accumulators that fit in the nearest cache
_FEWEST_GROUPS = 4  # vectors of several registers in a loop that takes them
LIGHT = 16  # ops of a region that is cheap enough to be emitted for each of them
STRAIGHT_ELEMENTS = 16  # of results that are computed without a loop
STRAIGHT_WORK = 512  # element operations of such a kernel
FOLDS = frozenset({"reduce", "reduce_window", "dot_general", "convolution"})


@dataclass(frozen=True)
class Width:
    """One way to emit a kernel: vector lanes, strided loads as gathers, those of folds too, lanes
    of scalar folds, strided loads by tiles, and lanes along the dimension before a short innermost
    one, or before several of them.
    """

    lanes: int = 0
    gathers: bool = False
    folds_gather: bool = True
    row_lanes: int = 0
    tiled: bool = False
    woven: bool = False
    merged: bool = False


Emit = Callable[[Width], Kernel]


def at_best_width(region: Region, emit: Emit, *, tiles: bool = False) -> Kernel:
    """Emits with the widest vectors that the region's index maps allow.

    Args:
        tiles: whether `emit` knows tiles.
    """
    lanes = _whole_register(region)
    widths = [Width(lanes, row_lanes=lanes), Width(0, row_lanes=lanes)]
    if has_fold(region):
        several = any(n.name == "reduce" and len(n.results) > 1 for n in region.nodes)
        short = folds_are_short(region, WOVEN_ROW if several else UNROLLED)
        widths.insert(1, Width(lanes, gathers=True, folds_gather=short, row_lanes=lanes))
    else:
        widths.insert(1, Width(lanes, gathers=True))
        if tiles:
            widths.insert(2, Width(lanes, gathers=True, woven=True, merged=True))
            widths.insert(1, Width(lanes, gathers=True, tiled=True))
            if (whole := _tile_lanes(region)) > lanes:
                widths.insert(1, Width(whole, gathers=True, tiled=True))
    if tiles and (folds_are_short(region, WOVEN_ROW) or not has_fold(region)):
        widths.insert(0, Width(lanes, gathers=True, woven=True))
    for width in widths:
        try:
            return emit(width)
        except NotVectorizableError:
            continue
    return emit(Width())


def _all_tensors(region: Region) -> list[Tensor]:
    return [*region.arguments, *(t for node in region.nodes for t in node.results)]


def has_fold(region: Region) -> bool:
    """Whether a region holds an op that folds many elements into one."""
    return any(n.name in FOLDS for n in region.nodes)


def folds_are_short(region: Region, most: int = UNROLLED) -> bool:
    """Whether all folds are reductions of few elements, better done by a lane than across lanes.

    Args:
        most: how many are few.
    """
    folds = [node for node in region.nodes if node.name in FOLDS]
    return bool(folds) and all(
        node.name == "reduce" and node.operands[0].size <= most * node.results[0].size
        for node in folds
    )


def lanes_for(width: Width, extents: Sequence[int]) -> int:
    """Lanes for an innermost loop: narrowed to its length, 0 for scalar code."""
    lanes = width.lanes
    while lanes > extents[-1]:
        lanes //= 2
    if lanes >= 4:
        return lanes
    if width.lanes:
        raise NotVectorizableError("the innermost loop is shorter than a vector")
    return 0


def emitter_for(
    region: Region, builder: Builder, inputs: Mapping[Tensor, Buffer], width: Width
) -> Emitter:
    em = Emitter(builder, inputs)
    provide_gates(em, region)
    em.gathers, em.folds_gather, em.row_lanes = width.gathers, width.folds_gather, width.row_lanes
    if em.gathers and em.folds_gather and em.row_lanes:  # folds of short rows
        em.apart = WOVEN_ROW
    return em


def emit_elements(region: Region, width: Width) -> Kernel:
    """A kernel that computes a region's results element by element.

    They have one element count, or one element for each row of those that have most.

    Raises:
        NotVectorizableError: the index maps do not allow that width.
    """
    inputs, outputs = argument_buffers(region)
    size = max(root.size for root in region.results)
    whole = [(t, o) for t, o in zip(region.results, outputs, strict=True) if t.size == size]
    rows = [(t, o) for t, o in zip(region.results, outputs, strict=True) if t.size != size]
    builder = Builder()
    builder.outlines = True
    em = emitter_for(region, builder, inputs, width)
    cuts = {cut for root, _ in whole for cut in em.cuts(root)}
    extents = merge_cuts(cuts | {size // max(root.size, 1) for root, _ in rows}, size)
    assert all(root.size * extents[-1] == size for root, _ in rows), "results of other rows"
    lanes = lanes_for(width, extents)
    nest = _nest_of(region, extents, lanes)
    folds = Folds.of(region)
    em.joint, em.earlier = folds.joint, folds.earlier
    em.fetchers = lines_ahead(inputs.values())
    if passes := len({folds.joint.get(n, (n,)) for n in region.nodes if n.name == "reduce"}):
        em.fetchers |= rows_ahead(inputs.values(), size, extents[-1], passes)
    em.folds_widely = builder.is_for_host and folds_widely(region)
    em.kept = worth_keeping(region)
    em.ahead = computed_ahead(region, em.kept)
    written: set[Affine] = set()

    def body(offset: Affine) -> None:
        em.body = builder.region
        values = [em.element(root, Position.of_offset(offset)) for root, _ in whole]
        written.add(offset)
        for value, (_, buffer) in zip(values, whole, strict=True):
            em.store(value, buffer, offset)

    def row(base: Affine) -> None:
        """What has one element for a row, ahead of the loop over it; in program order."""
        at, _ = em.divmod(base, extents[-1])
        for node in region.nodes:
            for root, buffer in rows:
                if root in node.results:
                    em.store(em.element(root, Position.of_offset(at)), buffer, at)

    def reusable() -> list[int]:
        held = enumerate(inputs.values())
        return [i for i, buffer in held if _read_before_written(em, nest, buffer, written)]

    if not lanes and is_straight(region):
        return _straight(em, region, outputs)
    em.at_row = row if rows else None
    units = nest.units if size else 0
    if units:
        emit_streaming(em, list(inputs.values()), outputs, lambda: nest.emit(em, lanes, body))
    return kernel_of(
        builder,
        inputs.values(),
        outputs,
        units,
        together=units_together(outputs, units),
        in_place=() if rows else tuple(reusable()),
        replaces=tuple((outputs.index(o), i) for _, o in whole for i in reusable()) if rows else (),
    )


def is_straight(region: Region) -> bool:
    """Whether all elements of a region's results are few enough to be computed without a loop."""
    elements = sum(root.size for root in region.results)
    return 1 < elements <= STRAIGHT_ELEMENTS and work_of(region) <= STRAIGHT_WORK


def _straight(em: Emitter, region: Region, outputs: Sequence[Buffer]) -> Kernel:
    """A kernel without a loop over elements: each element of each value is computed once.

    All is read before anything is written, so that any output may be any input's memory.
    """
    builder, inputs = em.b, [em.buffers[t] for t in region.arguments]
    with the_only_unit(builder):
        elements = [
            (buffer, Affine((), i), em.element(root, Position.of_offset(Affine((), i))))
            for root, buffer in zip(region.results, outputs, strict=True)
            for i in range(root.size)
        ]
        for buffer, offset, value in elements:
            em.store(value, buffer, offset)
    return kernel_of(builder, inputs, outputs, 1, in_place=tuple(range(len(inputs))))


def _read_before_written(em: Emitter, nest: Nest, buffer: Buffer, written: set[Affine]) -> bool:
    """Whether each element of an input is read for the last time before an output overwrites it.

    That holds for elements read where they are written, and for those of the same run of the
    innermost loop that loops ahead of it read: the folds of a row kernel are done when its elements
    are computed.
    """
    ahead = em.loaded.get(buffer, set()) - written
    if not ahead:
        return True
    if ahead & em.loaded_in_body.get(buffer, set()):
        return False
    return nest.blocks == 1 and all(
        any(same_row(em, nest.extents[-1], offset, other) for other in written) for offset in ahead
    )


def same_row(em: Emitter, extent: int, read: Affine, written: Affine) -> bool:
    """Whether two offsets differ only in which variable walks the innermost extent."""
    difference = read + written * -1
    if difference.constant or sorted(c for _, c in difference.terms) != [-1, 1]:
        return False
    return all(em.extents[name] == extent for name, _ in difference.terms)


def _nest_of(region: Region, extents: Sequence[int], lanes: int) -> Nest:
    """How the loops over a region's elements are cut into work units."""
    folds = [node for node in region.nodes if _folds_columns(node)]
    if lanes and any(_folded_bytes(node) >= FAR_BYTES for node in folds):
        widest = max(t.type.part_type.bits // 8 * t.type.parts for f in folds for t in f.results)
        block = BLOCK_BYTES // max(widest, 4) // lanes * lanes
        return Nest.of(extents, block, columns=min(block, extents[-1]))
    columns = _neighbours(region, lanes, extents[-1])
    block = _block_of(region, extents, max(lanes, 1) * columns)
    if not lanes or has_fold(region):
        rows = line_stores.may_begin_anywhere(region, extents[-1:])
        return Nest.of(extents, block, columns, anywhere=bool(lanes) and not folds and rows)
    wide = registers_for(region) if lanes == _whole_register(region) else 1
    while wide > 1 and wide * lanes * _FEWEST_GROUPS > extents[-1]:
        wide //= 2
    block = _block_of(region, extents, wide * lanes)
    parts = segments(region, extents, lanes)
    anywhere = line_stores.may_begin_anywhere(region, parts)
    return Nest.of(extents, block, segments=parts, wide=wide, anywhere=anywhere)


def _whole_register(region: Region) -> int:
    """Lanes of a register of the widest type of a region."""
    widest = max((t.type.part_type.bits for t in _all_tensors(region)), default=32)
    return VECTOR_BITS // max(widest, 32)


def _tile_lanes(region: Region) -> int:
    """Elements of the widest type of a region that fill a register in memory."""
    widest = max((t.type.part_type.memory_bytes for t in _all_tensors(region)), default=4)
    return VECTOR_BITS // (8 * widest)


def _folded_bytes(node: Node) -> int:
    return node.operands[0].size * node.operands[0].type.memory_bytes


def _neighbours(region: Region, lanes: int, extent: int) -> int:
    """Vectors of columns that are folded in the same loops: where little else is computed."""
    folds = [node for node in region.nodes if _folds_columns(node)]
    if not lanes or not folds or len(region.nodes) > LIGHT:
        return 1
    joint = Folds.of(region).joint
    count = NEIGHBOURS // max(sum(len(n.results) for n in joint.get(f, (f,))) for f in folds)
    while count > 1 and count * lanes > extent:
        count //= 2
    return max(count, 1)


def _folds_columns(node: Node) -> bool:
    """Whether a reduction keeps its operand's minor dimension."""
    if node.name != "reduce":
        return False
    shape = node.operands[0].shape
    wide = [d for d, size in enumerate(shape) if size != 1]
    return bool(wide) and wide[-1] not in node.attributes["dimensions"]


def _block_of(region: Region, extents: Sequence[int], step: int) -> int:
    """Elements of the innermost loop in one work unit; whole rows where they hold folds."""
    size = max(root.size for root in region.results)
    if any(n.name in FOLDS and n.results[0].size != size for n in region.nodes):
        return extents[-1]
    per_element = max(1, work_of(region) // max(1, size))
    return max(step, BLOCK // per_element // step * step)


@dataclass(frozen=True)
class Nest:
    """Loops: `parallel` leading ones and blocks of the innermost make the work units.

    `neighbours` vectors of the innermost loop are computed together, so that their folds share
    loops; or, if `columns` is not 0, folds are done for as many columns ahead of that loop. The
    innermost loop is cut at `segments`, which run from 0 to its extent. It takes vectors of `wide`
    registers where it can, and they begin at any of its elements if `anywhere` says so.
    """

    extents: tuple[int, ...]
    parallel: int
    block: int
    neighbours: int = 1
    columns: int = 0
    segments: tuple[int, ...] = ()
    wide: int = 1
    anywhere: bool = False

    @staticmethod
    def of(
        extents: Sequence[int],
        block: int = BLOCK,
        neighbours: int = 1,
        columns: int = 0,
        segments: tuple[int, ...] = (),
        wide: int = 1,
        anywhere: bool = False,
    ) -> Nest:
        parallel, units = 0, 1
        while parallel < len(extents) - 1 and units < ENOUGH_UNITS:
            units *= extents[parallel]
            parallel += 1
        if (parallel < len(extents) - 1 and not columns) or block > extents[-1]:
            block = extents[-1]
        if units >= ENOUGH_UNITS and (anywhere or any(place % block for place in segments[1:-1])):
            block = extents[-1]
        segments = segments or (0, extents[-1])
        return Nest(tuple(extents), parallel, block, neighbours, columns, segments, wide, anywhere)

    @property
    def blocks(self) -> int:
        return -(-self.extents[-1] // self.block)

    @property
    def units(self) -> int:
        return math.prod(self.extents[: self.parallel]) * self.blocks

    def emit(self, em: Emitter, lanes: int, body: Callable[[Affine], None]) -> None:
        b = em.b
        strides = suffix_products(self.extents)
        em.stores_in_pieces = len(self.extents) > 1 and self.extents[-1] <= SHORT_ROW
        if self.units == 1:
            with the_only_unit(b):
                self._middle(em, lanes, body, ZERO, self.parallel, ZERO)
            return
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, self.units)
            outer, block = em.divmod(unit, self.blocks) if self.blocks > 1 else (unit, ZERO)
            leading = em.dims(Position.of_offset(outer), self.extents[: self.parallel])
            base = ZERO
            for index, stride in zip(leading, strides, strict=False):
                base = base + index * stride
            self._middle(em, lanes, body, base, self.parallel, block)

    def _middle(
        self,
        em: Emitter,
        lanes: int,
        body: Callable[[Affine], None],
        base: Affine,
        depth: int,
        block: Affine,
    ) -> None:
        """The loops between the parallel ones and the innermost."""
        if depth == len(self.extents) - 1:
            for low, high in pairwise(self.segments):
                self._inner(em, lanes, body, base + low, block, low, high)
            return
        b = em.b
        with b.loop(b.index(0), b.index(self.extents[depth]), b.index(1)) as loop:
            index = em.variable(loop.iv, self.extents[depth])
            self._middle(
                em,
                lanes,
                body,
                base + index * suffix_products(self.extents)[depth],
                depth + 1,
                block,
            )

    def _inner(
        self, em: Emitter, lanes: int, body: Callable[[Affine], None], base: Affine, block: Affine,
        low: int, high: int,
    ) -> None:  # fmt: skip
        """The innermost loop from `low`, where `base` is, to `high`."""
        b, extent = em.b, high - low
        step = max(lanes, 1)
        whole = extent // step * step
        start, end = b.index(0), b.index(whole)
        if em.at_row is not None:
            em.at_row(base)
        if self.blocks > 1:
            # A vector that begins in a block belongs to it.
            before = low // step * step
            start = em.index(block * self.block + -before)
            stop = em.index(block * self.block + (self.block - before))
            if low:
                start = b.op(f"arith.maxsi {start}, {b.index(0)} : index")
            end = b.op(f"arith.minsi {stop}, {end} : index")
        if extent == 1 and not lanes:
            body(base)
            return
        begins = self.anywhere and self.blocks == 1
        if begins and line_stores.emit_lines(em, body, base, lanes, extent, self.wide):
            return
        if self.neighbours > 1:
            start = self._together(em, lanes, body, base, start, end)
        if self.wide > 1 and b.is_for_host:
            start = self._widely(em, lanes, body, base, (start, end), extent)
        if self.columns:
            em.block = ColumnBlock(start, end, self.columns, b.level)
        if start != end:
            with b.loop(start, end, b.index(step)) as loop:
                index = em.variable(loop.iv, extent)
                if lanes:
                    with em.vector(loop.iv, lanes):
                        body(base + index)
                else:
                    with em.step():
                        body(base + index)
        em.block = None
        if whole == extent:
            return
        if self.blocks == 1:
            self._rest(em, lanes, body, base, whole, extent)
            return
        holder = b.index((low + whole) // self.block)
        with b.when(b.op(f"arith.cmpi eq, {em.index(block)}, {holder} : index")):
            self._rest(em, lanes, body, base, whole, extent)

    def _widely(
        self, em: Emitter, lanes: int, body: Callable[[Affine], None], base: Affine,
        bounds: tuple[str, str], extent: int,
    ) -> str:  # fmt: skip
        """The innermost loop, which is not cut, in vectors of several registers; where it ends."""
        b, (start, end), group = em.b, bounds, self.wide * lanes
        if extent < group:
            return start
        whole = extent // group * group
        last = end
        if whole != extent // lanes * lanes:
            last = b.op(f"arith.minsi {end}, {b.index(whole)} : index")
        loaded = {buffer: set(offsets) for buffer, offsets in em.loaded.items()}
        try:
            with b.loop(start, last, b.index(group)) as loop:
                index = em.variable(loop.iv, extent)
                with em.vector(loop.iv, group, wide=True):
                    body(base + index)
        except NotVectorizableError:
            em.loaded = loaded
            return start
        return last if last == end else b.op(f"arith.maxsi {start}, {last} : index")

    def _together(
        self, em: Emitter, lanes: int, body: Callable[[Affine], None], base: Affine,
        start: str, end: str,
    ) -> str:  # fmt: skip
        """The innermost loop over whole groups of neighbouring vectors; where it ends."""
        b, extent = em.b, self.extents[-1]
        group = lanes * self.neighbours
        last = b.op(f"arith.minsi {end}, {b.index(extent // group * group)} : index")
        with b.loop(start, last, b.index(group)) as loop:
            names = [loop.iv]
            names += [
                b.op(f"arith.addi {loop.iv}, {b.index(g * lanes)} : index")
                for g in range(1, self.neighbours)
            ]
            indices = [em.variable(name, extent) for name in names]
            em.neighbours = tuple(names)
            for name, index in zip(names, indices, strict=True):
                with em.vector(name, lanes):
                    body(base + index)
            em.neighbours = ()
        return b.op(f"arith.maxsi {start}, {last} : index")

    def _rest(
        self, em: Emitter, lanes: int, body: Callable[[Affine], None], base: Affine, whole: int,
        extent: int,
    ) -> None:  # fmt: skip
        """The last, partial vector of a row or a segment, under a mask."""
        b = em.b
        if extent - whole == 1:
            # One element needs no mask (and LLVM 22 loses a masked copy of one 16-bit lane).
            body(base + whole)
            return
        name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
        mask = b.first_lanes(extent - whole, lanes)
        index = em.variable(name, extent)
        with em.vector(name, lanes, mask):
            em.hoist_from_here()
            body(base + index)
