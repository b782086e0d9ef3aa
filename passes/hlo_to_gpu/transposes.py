"""Elementwise kernels that read an input across the order of their results: by shared memory.

A block has a tile of 32 x 32 elements of the result, along its last dimension and the one along
which the input is contiguous. Threads that are neighbours first read neighbours of the input into
shared memory, then compute neighbours of the result. Lines of a tile are 33 elements apart, so that
neither direction meets a bank twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.attention_emission import at
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.graph import Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

SIDE = 32  # of a tile; neighbouring threads
LINES = 8  # that a block's threads do at once
SMALLEST_SIDE = 8  # extents below which most of a tile would be empty
SMALLEST = 4096  # elements
MOST_TILES = 4  # inputs that are read so


@dataclass(frozen=True)
class _Crossing:
    """A read across the order of writing: of `buffer`, at an offset in the names of dimensions."""

    buffer: Buffer
    offset: Affine


class _Reads(ThreadEmitter):
    """Notes the reads that happen whatever the element, and takes staged ones from tiles."""

    def __init__(self, builder: ThreadBuilder, buffers: Mapping[Tensor, Buffer]) -> None:
        super().__init__(builder, buffers)
        self.reads: list[_Crossing] = []
        # (buffer, offset) -> (tile, its memref type, place in it)
        self.staged: dict[tuple[Buffer, Affine], tuple[str, str, str]] = {}

    def load(self, buffer: Buffer, offset: Affine) -> Value:
        if (place := self.staged.get((buffer, offset))) is not None:
            tile, memref, index = place
            raw = self.b.load(f"memref.load {tile}[{index}] : {memref}")
            return elementwise.unpack(self.b, buffer.type, [raw])
        if self.b.level == 0:
            self.reads.append(_Crossing(buffer, offset))
        return super().load(buffer, offset)


def emit_transposed(region: Region) -> GpuKernel | None:
    """The kernel by tiles; None where no input is read across the order of the results."""
    size = region.results[0].size
    if size < SMALLEST:
        return None
    inputs, _ = argument_buffers(region)
    em = _Reads(ThreadBuilder(SIDE * LINES), inputs)
    extents = merge_cuts({cut for root in region.results for cut in em.cuts(root)}, size)
    names = [f"%d{i}" for i in range(len(extents))]
    dims = [em.variable(n, e) if e > 1 else ZERO for n, e in zip(names, extents, strict=True)]
    place = Position.of_offset(_offset(dims, extents))
    for root in region.results:
        em.element(root, place)
    if extents[-1] < SMALLEST_SIDE:
        return None
    found = [(down, r) for r in em.reads if (down := _runs_down(r, names, extents)) is not None]
    if not found:
        return None
    down = found[0][0]
    crossings = list(dict.fromkeys(r for d, r in found if d == down))[:MOST_TILES]
    return _Transposed(region, extents, down, crossings).emit()


def _offset(dims: Sequence[Affine], extents: Sequence[int]) -> Affine:
    total = ZERO
    for index, stride in zip(dims, suffix_products(extents), strict=True):
        total = total + index * stride
    return total


def _runs_down(read: _Crossing, names: Sequence[str], extents: Sequence[int]) -> int | None:
    """The dimension along which a read is contiguous, if it crosses the last one."""
    if read.buffer.type.parts != 1 or read.offset.coefficient(names[-1]) in (0, 1):
        return None
    if any(name not in names for name, _ in read.offset.terms):
        return None
    for d, name in enumerate(names[:-1]):
        if read.offset.coefficient(name) == 1 and extents[d] >= SMALLEST_SIDE:
            return d
    return None


class _Transposed:
    def __init__(
        self, region: Region, extents: Sequence[int], down: int, crossings: Sequence[_Crossing]
    ) -> None:
        self.region, self.extents, self.down, self.crossings = region, extents, down, crossings
        self.inputs, self.outputs = argument_buffers(region)
        self.em = _Reads(ThreadBuilder(SIDE * LINES), self.inputs)
        self.b = self.em.b

    def emit(self) -> GpuKernel:
        em, b = self.em, self.b
        tiles = [-(-self.extents[d] // SIDE) for d in (self.down, -1)]
        rest = [e for d, e in enumerate(self.extents[:-1]) if d != self.down]
        count = tiles[0] * tiles[1]
        for extent in rest:
            count *= extent
        number = em.name_index(b.as_index(b.block_number(count)), count)
        number, across = em.divmod(number, tiles[1])
        number, down = em.divmod(number, tiles[0])
        self.outer = [self._named(p, e) for p, e in zip(
            em.dims(Position.of_offset(number), rest), rest, strict=True)]  # fmt: skip
        self.first = down * SIDE, across * SIDE
        thread = em.variable(b.as_index(b.thread()), b.block)
        self.line, self.lane = em.divmod(thread, SIDE)
        held = [b.shared(SIDE * (SIDE + 1), c.buffer.type.memory) for c in self.crossings]
        for start in range(0, SIDE, LINES):
            self._read(start, held)
        b.barrier()
        written: set[Affine] = set()
        for start in range(0, SIDE, LINES):
            self._write(start, held, written)
        in_place = tuple(
            i
            for i, buffer in enumerate(self.inputs.values())
            if em.loaded.get(buffer, set()) <= written
        )
        buffers = [*self.inputs.values(), *self.outputs]
        return gpu_kernel(
            [stage(b, buffers, self.outputs, count * b.block, b.block)],
            list(self.inputs.values()), self.outputs, in_place=in_place,
        )  # fmt: skip

    def _named(self, index: Affine, extent: int) -> Affine:
        """An index by a name of its own, so that it behaves as a dimension's."""
        if extent == 1:
            return ZERO
        b = self.b
        name = b.load(f"arith.addi {self.em.index(index)}, {b.index(0)} : index")
        return self.em.variable(name, extent)

    def _dims(self, down: Affine, across: Affine) -> tuple[list[Affine], str | None]:
        """The indices at a place of the tile, the last past the end, and an i1 whether inside."""
        em, b = self.em, self.b
        inside: str | None = None
        ends: list[Affine] = []
        for start, place, d in zip(self.first, (down, across), (self.down, -1), strict=True):
            extent = self.extents[d]
            index, exists = em.clamped(start + place, extent)
            ends.append(self._named(index, extent))
            if exists is not None:
                inside = exists if inside is None else b.op(f"arith.andi {inside}, {exists} : i1")
        dims = list(self.outer)
        dims.insert(self.down, ends[0])
        return [*dims, ends[1]], inside

    def _where(self, dims: Sequence[Affine]) -> dict[str, Affine]:
        return {f"%d{i}": index for i, index in enumerate(dims)}

    def _read(self, start: int, held: Sequence[tuple[str, str]]) -> None:
        """Neighbouring threads read along the dimension in which inputs are contiguous."""
        em, b = self.em, self.b
        dims, _ = self._dims(self.lane, self.line + start)
        at_place = em.index((self.line + start) * (SIDE + 1) + self.lane)
        for crossing, (tile, memref) in zip(self.crossings, held, strict=True):
            buffer, offset = crossing.buffer, at(crossing.offset, self._where(dims))
            em.loaded.setdefault(buffer, set()).add(offset)
            place = f"{buffer.name}[{em.index(offset)}]"
            raw = b.load(f"memref.load {place} : {buffer.memref}")
            b.effect(f"memref.store {raw}, {tile}[{at_place}] : {memref}")

    def _write(self, start: int, held: Sequence[tuple[str, str]], written: set[Affine]) -> None:
        """Neighbouring threads compute neighbours of the results."""
        em, b = self.em, self.b
        dims, inside = self._dims(self.line + start, self.lane)
        place = em.index(self.lane * (SIDE + 1) + self.line + start)
        for crossing, (tile, memref) in zip(self.crossings, held, strict=True):
            offset = at(crossing.offset, self._where(dims))
            em.staged[crossing.buffer, offset] = tile, memref, place
        offset = _offset(dims, self.extents)
        written.add(offset)

        def compute() -> None:
            where = Position.of_offset(offset)
            values = [em.element(root, where) for root in self.region.results]
            for value, buffer in zip(values, self.outputs, strict=True):
                em.store(value, buffer, offset)

        if inside is None:
            compute()
            return
        with b.when(inside):
            compute()
