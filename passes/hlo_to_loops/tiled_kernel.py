"""A loop nest in square tiles, for regions that read along another dimension than they write.

A transposed load walks rows of the input where the output's row runs down a column. The loop along
which such loads are contiguous is taken in tiles together with the innermost one: the vectors of a
tile are loaded along the input, transposed in registers, and left in a small buffer on the stack,
from which the rows of the tile are then computed as those of any other kernel.

A tile reads lines of rows that lie apart and writes to others, too many streams for a processor to
foresee: it is asked for the lines of the next tile along the output. Where the output goes past the
caches, a band of it is written that is four lines wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise

from hlo.passes.cost.caches import ALIASING_BYTES, CORE_BYTES
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.conditions import at_least, both, less_than
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import (
    Kernel,
    argument_buffers,
    kernel_of,
    read_where_written,
)
from hlo.passes.hlo_to_loops.lines_ahead import fetch_line
from hlo.passes.hlo_to_loops.loop_kernel import Width, emitter_for, lanes_for
from hlo.passes.hlo_to_loops.register_transpose import transpose_square
from hlo.passes.hlo_to_loops.streaming import emit_streaming, go_past_caches, units_together
from hlo.passes.hlo_to_loops.survey import segments, survey

# Of one block the tiles along the transposed loads, whole cache lines of narrow types, and the
# elements along the output.
_TILES, _ALONG = 4, 512
# The same where the output goes past the caches: four lines of each of its rows, one behind the
# other, are written as fast as a copy writes, a line of each three quarters as fast.
_FAR_TILES, _FAR_BYTES_ALONG = 16, 256
_NARROW_LANES = 16  # of elements of 32 bits: of narrower ones a register holds more
# Rows of a tile that are emitted apart and stay in registers, at most; how many bytes lie between
# them in the output, at least, and in how few ops. Of shuffles of bytes LLVM would make others.
_MOST_ROWS, _APART, _FEW_OPS = 32, 1024, 4


def emit_tiled(region: Region, width: Width) -> Kernel:
    """The kernel of a region without folds.

    Raises:
        NotVectorizableError: no loop makes the strided loads contiguous.
    """
    inputs, outputs = argument_buffers(region)
    builder = Builder()
    em = emitter_for(region, builder, inputs, width)
    size = region.results[0].size
    extents = merge_cuts({cut for root in region.results for cut in em.cuts(root)}, size)
    lanes = lanes_for(width, extents)
    across = _across(region, extents, lanes)
    nest = _nest_of(region, extents, across, lanes)
    written: set[Affine] = set()

    def body(offset: Affine) -> None:
        values = [em.element(root, Position.of_offset(offset)) for root in region.results]
        written.add(offset)
        for value, buffer in zip(values, outputs, strict=True):
            em.store(value, buffer, offset)
            if _is_far(buffer) and buffer not in em.streams:
                fetch_line(em, buffer, offset + lanes, "write")

    if all(lanes * o.type.memory_bytes >= LINE_BYTES for o in outputs):
        emit_streaming(em, list(inputs.values()), outputs, lambda: nest.emit(em, body))
    else:
        nest.emit(em, body)
    return kernel_of(
        builder,
        inputs.values(),
        outputs,
        nest.units,
        together=units_together(outputs, nest.units),
        in_place=read_where_written(em, inputs.values(), written),
    )


def _nest_of(region: Region, extents: Sequence[int], across: int, lanes: int) -> _Nest:
    sizes = [result.type.memory_bytes for result in region.results]
    far = go_past_caches(sum(t.size * t.type.memory_bytes for t in region.results))
    cut = extents[across] % lanes or extents[-1] % lanes
    if lanes > _NARROW_LANES and cut and not far:
        raise NotVectorizableError("what is left beside larger tiles takes longer than they gain")
    # Shorter rows of the input lie one behind the other: they are read from end to end.
    along_first = far and extents[across] * max(sizes) >= ALIASING_BYTES
    row = suffix_products(extents)[across] * min(sizes)
    few = lanes <= _MOST_ROWS and len(region.nodes) <= _FEW_OPS and min(sizes) > 1
    nest = _Nest(
        tuple(extents),
        across,
        lanes,
        segments(region, extents, lanes),
        unrolled=few and row >= _APART and (along_first or not far),
    )
    if not along_first:
        return nest
    along = max(_FAR_BYTES_ALONG // max(sizes), lanes)
    return replace(nest, tiles=_FAR_TILES, along=along, along_first=True)


def _across(region: Region, extents: Sequence[int], lanes: int) -> int:
    """The loop, not the innermost, along which most of the strided loads are contiguous."""
    seen = survey(region, extents, lanes)
    counts = [sum(read.coefficient(v) == 1 for read in seen.strided) for v in seen.loops[:-1]]
    best = max(range(len(counts)), key=lambda d: counts[d], default=0)
    # A tile costs as much as gathers when it is mostly empty.
    if not counts or not counts[best] or extents[best] < max(4, lanes // 2):
        raise NotVectorizableError("no loop makes the strided loads contiguous")
    return best


def _is_far(buffer: Buffer) -> bool:
    """Whether the lines of a buffer are found beyond a core's own caches."""
    return buffer.elements * buffer.type.memory_bytes >= CORE_BYTES


@dataclass(frozen=True)
class _Nest:
    """Loops: all but `across` and the innermost, then blocks of both, then tiles.

    Attributes:
        extents: of the row-major space, outermost first.
        across: the loop along which strided loads are contiguous.
        lanes: vector width, and rows of a tile.
        segments: where the innermost loop is cut, from 0 to its extent.
        unrolled: whether the rows of a tile are emitted apart and stay in registers.
        tiles: of a block along the transposed loads.
        along: elements of a block along the innermost loop.
        along_first: whether the tiles of a block follow one another along the innermost loop, and
            blocks along the transposed loads.
    """

    extents: tuple[int, ...]
    across: int
    lanes: int
    segments: tuple[int, ...]
    unrolled: bool
    tiles: int = _TILES
    along: int = _ALONG
    along_first: bool = False

    @property
    def outer(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.extents) - 1) if d != self.across)

    @property
    def blocks(self) -> tuple[int, int]:
        """How many blocks there are of the loop across and of the innermost."""
        across = self.lanes * self.tiles
        along = sum(self._blocks_of(*segment) for segment in pairwise(self.segments))
        return -(-self.extents[self.across] // across), along

    @property
    def units(self) -> int:
        return math.prod(self.extents[d] for d in self.outer) * math.prod(self.blocks)

    def emit(self, em: Emitter, body: Callable[[Affine], None]) -> None:
        b, strides = em.b, suffix_products(self.extents)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, self.units) if self.units > 1 else ZERO
            blocks = self.blocks[::-1] if self.along_first else self.blocks
            sizes = (*(self.extents[d] for d in self.outer), *blocks)
            *leading, across, along = em.dims(Position.of_offset(unit), sizes)
            if self.along_first:
                across, along = along, across
            base = ZERO
            for index, d in zip(leading, self.outer, strict=True):
                base = base + index * strides[d]

            def tile(base: Affine, first: Range, second: Range) -> None:
                _emit_tile(em, self, base, first, second, body)

            def each_across(emit: Callable[[Range], None]) -> None:
                block = self.lanes * self.tiles
                _ranges(em, across, block, self.extents[self.across], self.lanes, emit)

            def each_along(emit: Callable[[Affine, Range], None]) -> None:
                self._segments(em, along, base, emit)

            if self.along_first:
                each_across(lambda first: each_along(lambda at, second: tile(at, first, second)))
            else:
                each_along(lambda at, second: each_across(lambda first: tile(at, first, second)))

    def _segments(
        self, em: Emitter, along: Affine, base: Affine, row: Callable[[Affine, Range], None]
    ) -> None:
        """Block number `along` of the innermost loop, in whichever segment it lies."""
        b, first = em.b, 0
        for low, high in pairwise(self.segments):
            blocks = self._blocks_of(low, high)
            with ExitStack() as stack:
                if len(self.segments) > 2:
                    conditions = at_least(em, along, first), less_than(em, along, first + blocks)
                    here = both(em, *conditions).uniform
                    assert here is not None, "there are several blocks"
                    stack.enter_context(b.when(here))
                _ranges(em, along + -first, self.along, high - low, self.lanes,
                        lambda second, low=low: row(base + low, second))  # fmt: skip
            first += blocks

    def _blocks_of(self, low: int, high: int) -> int:
        return -(-(high - low) // self.along)


@dataclass(frozen=True)
class Range:
    """`count` steps from the SSA index `start`; `count` is less than the lanes in the rest only."""

    start: str
    count: int


def _ranges(
    em: Emitter, block: Affine, size: int, extent: int, lanes: int, emit: Callable[[Range], None]
) -> None:
    """Steps of `lanes` in block number `block` of `size`, and what is left of the extent."""
    b = em.b
    whole = extent // lanes * lanes
    end = b.index(whole)
    start = em.index(block * size)
    if extent > size:
        stop = b.op(f"arith.addi {start}, {b.index(size)} : index")
        end = b.op(f"arith.minsi {stop}, {end} : index")
    if whole:
        with b.loop(start, end, b.index(lanes)) as loop:
            em.variable(loop.iv, extent)
            emit(Range(loop.iv, lanes))
    if whole == extent:
        return
    last = b.op(f"arith.cmpi eq, {em.index(block)}, {b.index((extent - 1) // size)} : index")
    with b.when(last):
        name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
        em.variable(name, extent)
        emit(Range(name, extent - whole))


def _emit_tile(
    em: Emitter,
    nest: _Nest,
    base: Affine,
    across: Range,
    along: Range,
    body: Callable[[Affine], None],
) -> None:
    b, lanes = em.b, nest.lanes
    stride = suffix_products(nest.extents)[nest.across]
    level = b.level
    mask = None
    if along.count < lanes:
        mask = b.first_lanes(along.count, lanes)
    if nest.unrolled and across.count > 1 and along.count > 1:
        for i in range(across.count):
            row = Affine.variable(across.start) + i
            em.tile = Tile(level, row, i, lanes, across, along, mask, nest.along_first)
            with em.vector(along.start, lanes, mask):
                body(base + row * stride + Affine.variable(along.start))
        em.tile = None
        return
    with b.loop(b.index(0), b.index(across.count), b.index(1)) as loop:
        row = b.op(f"arith.addi {across.start}, {loop.iv} : index")
        at = base + em.variable(row, nest.extents[nest.across]) * stride
        em.variable(loop.iv, lanes)
        if along.count == 1:
            # One element needs no mask (and LLVM 22 loses a masked copy of one 16-bit lane).
            body(at + Affine.variable(along.start))
            return
        if across.count > 1:  # one row alone is gathered
            step = Affine.variable(row)
            em.tile = Tile(level, step, loop.iv, lanes, across, along, mask, nest.along_first)
        with em.vector(along.start, lanes, mask):
            body(at + Affine.variable(along.start))
        em.tile = None


@dataclass(frozen=True)
class Tile:
    """The tile that is being computed.

    Attributes:
        level: the region around the loop over its rows.
        row: the index of the current row in the loop across.
        step: the same, counted from the tile's first row: a number where rows are emitted apart.
        lanes: of its vectors.
        across, along: what the tile covers.
        mask: of the lanes that it covers, None if all.
        along_first: as of the nest: few tiles follow along the output, and none is fetched ahead.
    """

    level: int
    row: Affine
    step: str | int
    lanes: int
    across: Range
    along: Range
    mask: str | None
    along_first: bool = False

    def load(self, em: Emitter, buffer: Buffer, offset: Affine) -> Value | None:
        """The current row's vector of a load that is contiguous down the tile; None for others."""
        b = em.b
        stride = offset.coefficient(self.along.start)
        rest = offset + self.row * -1 + Affine.variable(self.along.start) * -stride
        if (
            any(offset.coefficient(name) != 1 for name, _ in self.row.terms)
            or em.mask != self.mask
            or em.lane != self.along.start
            or not b.can_hoist_to(self.level)
            or not all(b.is_visible(name, self.level) for name, _ in rest.terms)
            or buffer.type.memory_bytes > 8
        ):
            return None
        memory = (
            buffer.type.memory if buffer.type.parts == 1 else f"i{8 * buffer.type.memory_bytes}"
        )
        key = ("tile", buffer, rest, stride, self.along.start)
        lanes = b.lanes
        vector = f"vector<{lanes}x{memory}>"
        if isinstance(self.step, int):
            columns: list[str] | None = b.recall(key)
            if columns is None:
                with em.scalar():
                    columns = self._columns(em, buffer, rest, stride, memory)
                b.remember(key, columns)
            raw = columns[self.step]
        else:
            scratch = b.recall(key)
            if scratch is None:
                with b.at_level(self.level), em.scalar():
                    columns = self._columns(em, buffer, rest, stride, memory)
                    scratch = self._kept(em, columns, memory)
                    b.remember(key, scratch)
            with b.width(0):
                at = b.op(f"arith.muli {self.step}, {b.index(lanes)} : index")
            held = f"memref<{lanes * lanes}x{memory}>"
            raw = b.load(f"vector.load {scratch}[{at}] : {held}, {vector}")
        if buffer.type.parts == 1:
            return elementwise.unpack(b, buffer.type, [raw])
        return _pairs(em, buffer, raw, vector)

    def _columns(
        self, em: Emitter, buffer: Buffer, rest: Affine, stride: int, memory: str
    ) -> list[str]:
        """The tile's rows in the output, turned in registers."""
        b, lanes = em.b, self.lanes
        vector, parts = f"vector<{lanes}x{memory}>", buffer.type.parts
        loaded = f"vector<{lanes * parts}x{buffer.type.memory}>"
        rows: list[str] = []
        first = rest + Affine.variable(self.across.start)
        for i in range(self.along.count):
            if _is_far(buffer) and not self.along_first:
                fetch_line(em, buffer, first + Affine.variable(self.along.start) * stride
                           + (i + lanes) * stride)  # fmt: skip
            at = em.index((first + Affine.variable(self.along.start) * stride + i * stride) * parts)
            if self.across.count == lanes:
                raw = b.load(f"vector.load {buffer.name}[{at}] : {buffer.memref}, {loaded}")
            else:
                bits = f"vector<{lanes * parts}xi1>"
                mask = b.first_lanes(self.across.count * parts, lanes * parts)
                with b.width(lanes * parts):
                    zero = b.constant(0, buffer.type.memory)
                raw = b.load(
                    f"vector.maskedload {buffer.name}[{at}], {mask}, {zero} : {buffer.memref}, "
                    f"{bits}, {loaded} into {loaded}"
                )
            if parts == 2:
                raw = b.op(f"vector.bitcast {raw} : {loaded} to {vector}")
            rows.append(raw)
        with b.width(lanes):
            rows += [b.constant(0, memory)] * (lanes - len(rows))
        return transpose_square(b, rows, memory)[: self.across.count]

    def _kept(self, em: Emitter, columns: Sequence[str], memory: str) -> str:
        """The name of a buffer of the tile's own, in which its rows are kept."""
        b, lanes = em.b, self.lanes
        vector = f"vector<{lanes}x{memory}>"
        scratch = b.stack_buffer(lanes * lanes, memory)
        for i, row in enumerate(columns):
            b.effect(
                f"vector.store {row}, {scratch}[{b.index(i * lanes)}] : "
                f"memref<{lanes * lanes}x{memory}>, {vector}"
            )
        return scratch


def _pairs(em: Emitter, buffer: Buffer, raw: str, vector: str) -> Value:
    """Complex lanes from lanes of as many bits."""
    b, memory = em.b, buffer.type.memory
    both = f"vector<{2 * b.lanes}x{memory}>"
    cast = b.op(f"vector.bitcast {raw} : {vector} to {both}")
    pair = b.fresh()
    b.effect(f"{pair}:2 = vector.deinterleave {cast} : {both} -> {b.type_of(memory)}")
    return elementwise.unpack(b, buffer.type, [f"{pair}#0", f"{pair}#1"])
