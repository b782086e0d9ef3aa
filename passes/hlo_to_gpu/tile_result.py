"""What follows the sums of a block's tile: applied to each element, and stored.

Threads hand their sums over through shared memory, so that neighbours are stored together, 16 bytes
a thread where rows of the result are whole numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region

COLUMN_PAD = 8  # elements between rows of a result tile in shared memory: other banks, 32 bytes
VECTOR_BYTES = 16  # of a result that a thread stores at once
MOST_LANES = 8

# (first row, rows, stride, buffer, memref type): stores this thread's sums of those rows.
Spill = Callable[[int, int, int, str, str], None]


@dataclass(frozen=True)
class Corner:
    """Where a block's tile of the result begins."""

    batch: Affine
    row: Affine
    column: Affine


@dataclass(frozen=True)
class _Slab:
    """Rows of a tile in shared memory, and the threads that store them."""

    buffer: str
    memref: str
    rows: int
    columns: int
    threads: int


@dataclass
class TileResult:
    """The result of a product.

    Attributes:
        region: the product and what follows it.
        kind: type of the sums.
        written: offsets of what was stored.
    """

    em: ThreadEmitter
    region: Region
    space: ContractionSpace
    kind: ElementType
    outputs: Sequence[Buffer]
    written: set[Affine] = field(default_factory=set[Affine])
    _lanes: int = 0

    @staticmethod
    def slab_bytes(rows: int, columns: int, kind: ElementType) -> int:
        """Shared memory that rows of a tile take on their way."""
        return rows * (columns + COLUMN_PAD) * kind.memory_bytes

    def store(
        self, spill: Spill, size: tuple[int, int], slab: int, threads: int, raw: tuple[str, str],
        corner: Corner,
    ) -> None:  # fmt: skip
        """Stores a tile by the first `threads` threads of the block, a slab of rows at a time.

        Args:
            size: rows and columns of the tile.
            raw: shared memory of bytes, and its memref type.
        """
        b = self.em.b
        rows, columns = size
        stride = columns + COLUMN_PAD
        memref = f"memref<{slab * stride}x{self.kind.register}, 3>"
        buffer = b.op(f"memref.view {raw[0]}[{b.index(0)}][] : {raw[1]} to {memref}")
        self._lanes = self._widest()
        for first in range(0, rows, slab):
            if first:
                b.barrier(threads)
            spill(first, slab, stride, buffer, memref)
            b.barrier(threads)
            at = Corner(corner.batch, corner.row + first, corner.column)
            tile = _Slab(buffer, memref, slab, columns, threads)
            try:
                self._elements(tile, at)
            except NotVectorizableError:
                self._lanes = 0
                self._elements(tile, at)

    def _widest(self) -> int:
        """Neighbours in a row that a thread takes; 0 for one."""
        widest = max(buffer.type.memory_bytes * buffer.type.parts for buffer in self.outputs)
        lanes = min(VECTOR_BYTES // widest, MOST_LANES)
        divides = lanes > 1 and self.space.columns % lanes == 0
        return lanes if divides and self.kind.memory_bytes <= 4 else 0

    def _elements(self, tile: _Slab, corner: Corner) -> None:
        """All elements of a slab of the tile, divided among the threads."""
        em, b, step = self.em, self.em.b, max(self._lanes, 1)
        thread, units = b.as_index(b.thread()), tile.rows * tile.columns // step
        stride = tile.columns + COLUMN_PAD
        with b.loop(thread, b.index(units), b.index(tile.threads)) as loop:
            down, piece = em.divmod(em.variable(loop.iv, units), tile.columns // step)
            at = em.index(down * stride + piece * step)
            self._finish(
                tile, at, Corner(corner.batch, corner.row + down, corner.column + piece * step)
            )

    def _finish(self, tile: _Slab, at: str, place: Corner) -> None:
        """One element, or neighbours: what follows the sum is applied, and the results stored."""
        em, b, space, step = self.em, self.em.b, self.space, max(self._lanes, 1)
        row, held = em.clamped(place.row, space.rows)
        piece, inside = em.clamped(em.divmod(place.column, step)[0], space.columns // step)
        if inside is not None:
            held = inside if held is None else b.op(f"arith.andi {held}, {inside} : i1")
        with ExitStack() as scopes:
            if held is not None:
                scopes.enter_context(b.when(held))
            if not self._lanes:
                loaded = b.load(f"memref.load {tile.buffer}[{at}] : {tile.memref}")
                self._store(Value(self.kind, (loaded,)), Corner(place.batch, row, piece))
                return
            lane = em.index(piece * step)
            em.variable(lane, space.columns)
            scopes.enter_context(em.vector(lane, step))
            em.hoist_from_here()
            kind = b.type_of(self.kind.register)
            loaded = b.load(f"vector.load {tile.buffer}[{at}] : {tile.memref}, {kind}")
            total = Value(self.kind, (loaded,), step)
            self._store(total, Corner(place.batch, row, Affine.variable(lane)))

    def _store(self, total: Value, at: Corner) -> None:
        em, b, space = self.em, self.em.b, self.space
        result = space.node.results[0]
        dims = space.position(em, at.batch, at.row, at.column)
        offset = Position.of_dims(dims).linear(result.shape)
        where = Position.of_offset(offset)
        em.pin(result, where, elementwise.convert(b, total, result.type))
        values = [em.element(root, where) for root in self.region.results]
        self.written.add(offset)
        for value, buffer in zip(values, self.outputs, strict=True):
            em.store(value, buffer, offset)
