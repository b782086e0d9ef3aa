"""Products of an attention's tiles by multiply-adds, for types that tensor cores do not multiply.

A thread has four rows. Sixteen neighbouring threads share them: each has some of a tile's columns
while scores are summed, and some of the columns of the values after; in between the factors go
through shared memory, within a warp. Loops over tiles are not unrolled as far as LLVM would: loads
far ahead of their use need more registers than there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo.passes.hlo_to_gpu.attention_products import (
    AttentionShape,
    Left,
    TileProducts,
    rounded_up,
)
from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread
from hlo.passes.hlo_to_gpu.gpu_kernel import LARGEST_STATIC_SHARED
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_parts import AttentionParts
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elemental.contractions import product_type

ACROSS = 16  # threads that share rows
ROWS = 4  # of a thread


def multiply_add_shape(parts: AttentionParts, rows: int) -> AttentionShape | None:
    """The largest tiles that fit into shared memory; None if none do.

    Args:
        rows: that share keys and values.
    """
    kind = product_type(parts.scores.type)
    lanes = ASYNC_BYTES // kind.memory_bytes
    depth, width = rounded_up(parts.depth, lanes), rounded_up(parts.width, ACROSS)
    for count in (64, 32, 16, 8):
        for keys in (32, 16):
            shape = AttentionShape(count, keys, count * ACROSS // ROWS, depth, width)
            if count < 2 * rows and _bytes(shape, kind) <= LARGEST_STATIC_SHARED:
                return shape
    return None


def _bytes(shape: AttentionShape, kind: ElementType) -> int:
    tiles = (
        (shape.rows, shape.depth), (shape.keys, shape.depth), (shape.keys, shape.width),
        (shape.rows, shape.keys),
    )  # fmt: skip
    return kind.memory_bytes * sum(SharedTile.elements(kind, *tile) for tile in tiles) + 64


class MultiplyAddProducts(TileProducts):
    """See the module."""

    distances = (8, 4, 2, 1)

    def __init__(self, thread: AttentionThread, rows: int, columns: int) -> None:
        super().__init__(thread, rows, columns)
        self.stored = thread.kind
        self.factors = SharedTile(thread, self.stored, rows, columns)
        self.lanes = self.factors.lanes

    def begin(self) -> None:
        em, b = self.em, self.b
        thread = em.variable(b.as_index(b.thread()), b.block)
        down, self.place = em.divmod(thread, ACROSS)
        self.first = down * ROWS
        self.own_rows = [self.first + i for i in range(ROWS)]
        self.own_columns = [self.place + ACROSS * j for j in range(self.columns // ACROSS)]

    def left(self, tile: SharedTile, first: int = 0) -> Left:
        return Left(tile)

    # -- rows by rows ------------------------------------------------------------------------------
    def inner(self, left: Left, right: SharedTile, depth: int) -> list[list[str]]:
        em, b, thread = self.em, self.b, self.thread
        count = len(self.own_columns)
        carried = [(thread.number(0.0), thread.scalar)] * (ROWS * count)
        bounds = b.index(0), b.index(depth), b.index(self.lanes)
        with b.loop(*bounds, carried, unroll=2) as loop:
            place = em.variable(loop.iv, depth)
            rows = [self._run(left.tile, row, place, self.lanes) for row in self.own_rows]
            columns = [self._run(right, column, place, self.lanes) for column in self.own_columns]
            loop.yielded = [
                self._dot(x, y, loop.carried[i * count + j])
                for i, x in enumerate(rows)
                for j, y in enumerate(columns)
            ]
        return [loop.results[i * count : (i + 1) * count] for i in range(ROWS)]

    def _run(self, tile: SharedTile, row: Affine, column: Affine | int, count: int) -> list[str]:
        """Neighbours of a row of a tile, at most 16 bytes of them."""
        b, scalar = self.b, self.thread.scalar
        kind = f"vector<{count}x{scalar}>"
        loaded = b.load(
            f"vector.load {tile.buffer}[{tile.at(row, column)}] : {tile.memref}, {kind}"
        )
        return [b.op(f"vector.extract {loaded}[{i}] : {scalar} from {kind}") for i in range(count)]

    def _dot(self, left: Sequence[str], right: Sequence[str], total: str) -> str:
        for x, y in zip(left, right, strict=True):
            total = self.thread.fma(x, y, total)
        return total

    # -- factors by rows ---------------------------------------------------------------------------
    def _run_length(self, width: int) -> int:
        """Neighbouring columns of a thread."""
        return math.gcd(self.lanes, width // ACROSS)

    def _runs(self, width: int) -> list[Affine]:
        """The first columns of a thread's runs."""
        length = self._run_length(width)
        return [(self.place + ACROSS * run) * length for run in range(width // (ACROSS * length))]

    def sums(self, width: int) -> int:
        return ROWS * width // ACROSS

    def result(self, sums: Sequence[str], width: int) -> list[list[tuple[Affine, str]]]:
        columns = [first + i for first in self._runs(width) for i in range(self._run_length(width))]
        each = len(columns)
        return [
            list(zip(columns, sums[i * each : (i + 1) * each], strict=True)) for i in range(ROWS)
        ]

    def shrink(self, sums: Sequence[str], by: Sequence[str]) -> list[str]:
        each = len(sums) // ROWS
        return [self.thread.binary("mulf", name, by[i // each]) for i, name in enumerate(sums)]

    def outer(
        self, factors: Sequence[Sequence[Value]], right: SharedTile, sums: Sequence[str], width: int
    ) -> list[str]:
        em, b, thread, lanes = self.em, self.b, self.thread, self.lanes
        b.warp_barrier()  # the factors of the product before have been read
        for row, held in zip(self.own_rows, factors, strict=True):
            for column, factor in zip(self.own_columns, held, strict=True):
                at = f"{self.factors.buffer}[{self.factors.at(row, column)}]"
                b.effect(f"memref.store {thread.as_kind(factor)}, {at} : {self.factors.memref}")
        b.warp_barrier()
        each, length = len(sums) // ROWS, self._run_length(width)
        carried = [(name, thread.scalar) for name in sums]
        bounds = b.index(0), b.index(self.columns), b.index(lanes)
        with b.loop(*bounds, carried, unroll=1) as loop:
            place = em.variable(loop.iv, self.columns)
            left = [self._run(self.factors, row, place, lanes) for row in self.own_rows]
            current = loop.carried
            for k in range(lanes):
                names = [
                    name
                    for first in self._runs(width)
                    for name in self._run(right, place + k, first, length)
                ]
                current = [
                    thread.fma(left[i][k], names[c], current[i * each + c])
                    for i in range(ROWS)
                    for c in range(each)
                ]
            loop.yielded = current
        return loop.results
