"""What follows the sums of a block's tile: applied to each element, and stored.

Threads hand their sums over through shared memory, so that neighbours are stored together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Buffer
from hlo.passes.hlo_to_loops.graph import Region

COLUMN_PAD = 4  # elements between rows of a result tile in shared memory

# (first row, rows, stride, buffer, memref type): stores this thread's sums of those rows.
Spill = Callable[[int, int, int, str, str], None]


@dataclass(frozen=True)
class Corner:
    """Where a block's tile of the result begins."""

    batch: Affine
    row: Affine
    column: Affine


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
        em, b = self.em, self.em.b
        rows, columns = size
        stride = columns + COLUMN_PAD
        memref = f"memref<{slab * stride}x{self.kind.register}, 3>"
        buffer = b.op(f"memref.view {raw[0]}[{b.index(0)}][] : {raw[1]} to {memref}")
        for first in range(0, rows, slab):
            if first:
                b.barrier(threads)
            spill(first, slab, stride, buffer, memref)
            b.barrier(threads)
            thread = b.as_index(b.thread())
            with b.loop(thread, b.index(slab * columns), b.index(threads)) as loop:
                element = em.variable(loop.iv, slab * columns)
                down, across = em.divmod(element, columns)
                at = em.index(down * stride + across)
                self._finish(
                    lambda at=at: b.load(f"memref.load {buffer}[{at}] : {memref}"),
                    Corner(corner.batch, corner.row + first + down, corner.column + across),
                )

    def _finish(self, load: Callable[[], str], at: Corner) -> None:
        """One element: what follows the sum is applied, and the results stored."""
        em, b, space = self.em, self.em.b, self.space
        held: str | None = None
        places: list[Affine] = []
        for index, extent in ((at.row, space.rows), (at.column, space.columns)):
            place, inside = em.clamped(index, extent)
            places.append(place)
            if inside is not None:
                held = inside if held is None else b.op(f"arith.andi {held}, {inside} : i1")

        def finish() -> None:
            result = space.node.results[0]
            dims = space.position(em, at.batch, places[0], places[1])
            offset = Position.of_dims(dims).linear(result.shape)
            total = Value(self.kind, (load(),))
            where = Position.of_offset(offset)
            em.pin(result, where, elementwise.convert(b, total, result.type))
            values = [em.element(root, where) for root in self.region.results]
            self.written.add(offset)
            for value, buffer in zip(values, self.outputs, strict=True):
                em.store(value, buffer, offset)

        if held is None:
            finish()
            return
        with b.when(held):
            finish()
