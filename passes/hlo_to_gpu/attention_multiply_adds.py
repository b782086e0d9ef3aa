"""Attention by multiply-adds, for types that tensor cores do not multiply.

A thread has four rows. Sixteen neighbouring threads share them: each has some of a tile's keys
while scores are summed, and some of the columns of the values after; in between the factors go
through shared memory, within a warp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from hlo.passes.hlo_to_gpu.attention_rows import RowState, Where
from hlo.passes.hlo_to_gpu.attention_tiles import AttentionShape, AttentionTiles, rounded_up
from hlo.passes.hlo_to_gpu.gpu_kernel import LARGEST_STATIC_SHARED
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_parts import DEPTH, AttentionParts
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


class AttentionMultiplyAdds(AttentionTiles):
    """See the module."""

    def stored_type(self) -> ElementType:
        return self.kind

    def begin(self, first: Affine) -> list[Where]:
        em, b, shape, parts = self.em, self.b, self.shape, self.parts
        self.query = SharedTile(self, self.stored, shape.rows, shape.depth)
        self.factors = SharedTile(self, self.stored, shape.rows, shape.keys)
        self.lanes = self.query.lanes
        thread = em.variable(b.as_index(b.thread()), b.block)
        down, self.across_place = em.divmod(thread, ACROSS)
        self.own_row = down * ROWS
        self.query.fetch(parts.query, DEPTH, parts.depth, lambda row: self.query_place(first, row))
        found = [self.query_place(first, self.own_row + i) for i in range(ROWS)]
        self.inside = [exists for _, exists in found]
        return [where for where, _ in found]

    @property
    def distances(self) -> tuple[int, ...]:
        return (8, 4, 2, 1)

    # -- scores ------------------------------------------------------------------------------------
    def scores(self, tile: Affine) -> list[tuple[list[Affine], list[str | None], list[str]]]:
        em, b, shape = self.em, self.b, self.shape
        count = shape.keys // ACROSS
        carried = [(self.number(0.0), self.scalar)] * (ROWS * count)
        with b.loop(b.index(0), b.index(shape.depth), b.index(self.lanes), carried) as loop:
            depth = em.variable(loop.iv, shape.depth)
            left = [self._vector(self.query, self.own_row + i, depth) for i in range(ROWS)]
            right = [
                self._vector(self.keys, self.across_place + ACROSS * j, depth) for j in range(count)
            ]
            loop.yielded = [
                self._dot(x, y, loop.carried[i * count + j])
                for i, x in enumerate(left)
                for j, y in enumerate(right)
            ]
        keys = [self.key(tile, self.across_place + ACROSS * j) for j in range(count)]
        places, exist = [key for key, _ in keys], [exists for _, exists in keys]
        return [(places, exist, loop.results[i * count : (i + 1) * count]) for i in range(ROWS)]

    def _vector(self, tile: SharedTile, row: Affine, column: Affine | int) -> list[str]:
        """16 bytes' worth of neighbours."""
        return self._run(tile, row, column, tile.lanes)

    def _run(self, tile: SharedTile, row: Affine, column: Affine | int, count: int) -> list[str]:
        b = self.b
        kind = f"vector<{count}x{self.scalar}>"
        loaded = b.load(
            f"vector.load {tile.buffer}[{tile.at(row, column)}] : {tile.memref}, {kind}"
        )
        return [
            b.op(f"vector.extract {loaded}[{i}] : {self.scalar} from {kind}") for i in range(count)
        ]

    def _dot(self, left: Sequence[str], right: Sequence[str], total: str) -> str:
        for x, y in zip(left, right, strict=True):
            total = self.fma(x, y, total)
        return total

    # -- values ------------------------------------------------------------------------------------
    @property
    def _run_length(self) -> int:
        """Neighbouring columns of a thread."""
        return math.gcd(self.lanes, self.shape.width // ACROSS)

    @property
    def _runs(self) -> int:
        return self.shape.width // (ACROSS * self._run_length)

    @property
    def sums(self) -> int:
        return ROWS * self.shape.width // ACROSS

    def _column(self, run: int) -> Affine:
        return (self.across_place + ACROSS * run) * self._run_length

    def shrink(self, sums: Sequence[str], by: Sequence[str]) -> list[str]:
        each = len(sums) // ROWS
        return [self.binary("mulf", name, by[i // each]) for i, name in enumerate(sums)]

    def multiply(self, factors: Sequence[Sequence[object]], sums: Sequence[str]) -> list[str]:
        em, b, shape, lanes = self.em, self.b, self.shape, self.lanes
        for i, row in enumerate(factors):
            for j, factor in enumerate(row):
                name = self.as_kind(cast(Value, factor))
                at = self.factors.at(self.own_row + i, self.across_place + ACROSS * j)
                b.effect(
                    f"memref.store {name}, {self.factors.buffer}[{at}] : {self.factors.memref}"
                )
        b.warp_barrier()
        each = len(sums) // ROWS
        carried = [(name, self.scalar) for name in sums]
        with b.loop(b.index(0), b.index(shape.keys), b.index(lanes), carried) as loop:
            key = em.variable(loop.iv, shape.keys)
            left = [self._vector(self.factors, self.own_row + i, key) for i in range(ROWS)]
            current = loop.carried
            for k in range(lanes):
                right = [
                    name
                    for run in range(self._runs)
                    for name in self._run(self.values, key + k, self._column(run), self._run_length)
                ]
                current = [
                    self.fma(left[i][k], right[c], current[i * each + c])
                    for i in range(ROWS)
                    for c in range(each)
                ]
            loop.yielded = current
        return loop.results

    def deliver(self, states: Sequence[RowState], sums: Sequence[str]) -> None:
        each = len(sums) // ROWS
        for i, (where, state) in enumerate(zip(self.places, states, strict=True)):
            scaled = self.finish(where, state)
            columns = [
                self._column(c // self._run_length) + c % self._run_length for c in range(each)
            ]
            names = [scaled(name) for name in sums[i * each : (i + 1) * each]]
            self.store_inside(where, self.inside[i], columns, names)
