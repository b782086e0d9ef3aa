"""A loop nest in square tiles, for regions that read along another dimension than they write.

A transposed load walks rows of the input where the output's row runs down a column. The loop along
which such loads are contiguous is taken in tiles together with the innermost one: the vectors of a
tile are loaded along the input, transposed in registers, and left in a small buffer on the stack,
from which the rows of the tile are then computed as those of any other kernel.

A tile reads lines of rows that lie apart and writes to others, too many streams for a processor to
foresee: it is asked for the lines of the next tile along the output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

from hlo.passes.cost.caches import CORE_BYTES
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.conditions import at_least, both, less_than
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
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
from hlo.passes.hlo_to_loops.streaming import emit_streaming, units_together
from hlo.passes.hlo_to_loops.survey import segments, survey

ACROSS_TILES = 4  # tiles of one block along the transposed loads: whole cache lines of narrow types
ALONG = 512  # elements of one block along the output


def emit_tiled(region: Region, width: Width) -> Kernel:
    """The kernel of a region without folds.

    Raises:
        NotVectorizableError: no loop makes the strided loads contiguous.
    """
    inputs, outputs = argument_buffers(region)
    builder = Builder()
    em = emitter_for(builder, inputs, width)
    size = region.results[0].size
    extents = merge_cuts({cut for root in region.results for cut in em.cuts(root)}, size)
    lanes = lanes_for(width, extents)
    across = _across(region, extents, lanes)
    nest = _Nest(tuple(extents), across, lanes, segments(region, extents, lanes))
    written: set[Affine] = set()

    def body(offset: Affine) -> None:
        values = [em.element(root, Position.of_offset(offset)) for root in region.results]
        written.add(offset)
        for value, buffer in zip(values, outputs, strict=True):
            em.store(value, buffer, offset)
            if _is_far(buffer) and buffer not in em.streams:
                fetch_line(em, buffer, offset + lanes, "write")

    emit_streaming(em, list(inputs.values()), outputs, lambda: nest.emit(em, body))
    return kernel_of(
        builder,
        inputs.values(),
        outputs,
        nest.units,
        together=units_together(outputs, nest.units),
        in_place=read_where_written(em, inputs.values(), written),
    )


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
    """

    extents: tuple[int, ...]
    across: int
    lanes: int
    segments: tuple[int, ...]

    @property
    def outer(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.extents) - 1) if d != self.across)

    @property
    def blocks(self) -> tuple[int, int]:
        """How many blocks there are of the loop across and of the innermost."""
        across = self.lanes * ACROSS_TILES
        along = sum(_blocks_of(*segment) for segment in pairwise(self.segments))
        return -(-self.extents[self.across] // across), along

    @property
    def units(self) -> int:
        return math.prod(self.extents[d] for d in self.outer) * math.prod(self.blocks)

    def emit(self, em: Emitter, body: Callable[[Affine], None]) -> None:
        b, strides = em.b, suffix_products(self.extents)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, self.units) if self.units > 1 else ZERO
            sizes = (*(self.extents[d] for d in self.outer), *self.blocks)
            *leading, across, along = em.dims(Position.of_offset(unit), sizes)
            base = ZERO
            for index, d in zip(leading, self.outer, strict=True):
                base = base + index * strides[d]

            def tile(base: Affine, first: Range, second: Range) -> None:
                _emit_tile(em, self, base, first, second, body)

            def row(base: Affine, second: Range) -> None:
                block = self.lanes * ACROSS_TILES
                _ranges(em, across, block, self.extents[self.across], self.lanes,
                        lambda first: tile(base, first, second))  # fmt: skip

            self._segments(em, along, base, row)

    def _segments(
        self, em: Emitter, along: Affine, base: Affine, row: Callable[[Affine, Range], None]
    ) -> None:
        """Block number `along` of the innermost loop, in whichever segment it lies."""
        b, first = em.b, 0
        for low, high in pairwise(self.segments):
            blocks = _blocks_of(low, high)
            with ExitStack() as stack:
                if len(self.segments) > 2:
                    conditions = at_least(em, along, first), less_than(em, along, first + blocks)
                    here = both(em, *conditions).uniform
                    assert here is not None, "there are several blocks"
                    stack.enter_context(b.when(here))
                _ranges(em, along + -first, ALONG, high - low, self.lanes,
                        lambda second, low=low: row(base + low, second))  # fmt: skip
            first += blocks


def _blocks_of(low: int, high: int) -> int:
    return -(-(high - low) // ALONG)


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
    with b.loop(b.index(0), b.index(across.count), b.index(1)) as loop:
        row = b.op(f"arith.addi {across.start}, {loop.iv} : index")
        at = base + em.variable(row, nest.extents[nest.across]) * stride
        em.variable(loop.iv, lanes)
        if along.count == 1:
            # One element needs no mask (and LLVM 22 loses a masked copy of one 16-bit lane).
            body(at + Affine.variable(along.start))
            return
        if across.count > 1:  # one row alone is gathered
            em.tile = Tile(level, row, loop.iv, lanes, across, along, mask)
        with em.vector(along.start, lanes, mask):
            body(at + Affine.variable(along.start))
        em.tile = None


@dataclass(frozen=True)
class Tile:
    """The tile that is being computed.

    Attributes:
        level: the region around the loop over its rows.
        row: the index of the current row in the loop across.
        step: the same, counted from the tile's first row.
        lanes: of its vectors.
        across, along: what the tile covers.
        mask: of the lanes that it covers, None if all.
    """

    level: int
    row: str
    step: str
    lanes: int
    across: Range
    along: Range
    mask: str | None

    def load(self, em: Emitter, buffer: Buffer, offset: Affine) -> Value | None:
        """The current row's vector of a load that is contiguous down the tile; None for others."""
        b = em.b
        stride = offset.coefficient(self.along.start)
        rest = offset + Affine.variable(self.row) * -1 + Affine.variable(self.along.start) * -stride
        if (
            offset.coefficient(self.row) != 1
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
        scratch = b.recall(key)
        if scratch is None:
            with b.at_level(self.level), em.scalar():
                scratch = self._transpose(em, buffer, rest, stride, memory)
                b.remember(key, scratch)
        lanes = b.lanes
        with b.width(0):
            at = b.op(f"arith.muli {self.step}, {b.index(lanes)} : index")
        vector = f"vector<{lanes}x{memory}>"
        raw = b.load(f"vector.load {scratch}[{at}] : memref<{lanes * lanes}x{memory}>, {vector}")
        if buffer.type.parts == 1:
            return elementwise.unpack(b, buffer.type, [raw])
        return _pairs(em, buffer, raw, vector)

    def _transpose(
        self, em: Emitter, buffer: Buffer, rest: Affine, stride: int, memory: str
    ) -> str:
        """Transposes the tile into a buffer of its own; its name."""
        b, lanes = em.b, self.lanes
        vector, parts = f"vector<{lanes}x{memory}>", buffer.type.parts
        loaded = f"vector<{lanes * parts}x{buffer.type.memory}>"
        rows: list[str] = []
        first = rest + Affine.variable(self.across.start)
        for i in range(self.along.count):
            if _is_far(buffer):
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
        scratch = b.stack_buffer(lanes * lanes, memory)
        for i, row in enumerate(transpose_square(b, rows, memory)[: self.across.count]):
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
