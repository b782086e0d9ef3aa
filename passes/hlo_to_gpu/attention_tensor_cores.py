"""Attention on tensor cores: query, keys, factors and values of f16, or all of bf16.

A warp has 16 rows. Its rows of the query stay in registers as fragments; the fragments of the
scores become those of the factors where they are, since an accumulator of 16 x 8 has its elements
in the lanes in which half of a left operand of 16 x 16 needs them (Dao, "FlashAttention-2", 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from hlo.passes.hlo_to_gpu.attention_rows import RowState, Where
from hlo.passes.hlo_to_gpu.attention_tiles import AttentionShape, AttentionTiles, rounded_up
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_gpu.tensor_cores import MULTIPLIERS, load_matrices, multiply_fragments
from hlo.passes.hlo_to_gpu.thread_builder import WARP
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_parts import DEPTH, AttentionParts
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType

ROWS = 16  # of a warp
WARPS = 4
KEYS = 64
WIDEST = 128  # depth or width whose fragments fit in registers
STEP = 16  # depth of an instruction


def tensor_core_shape(parts: AttentionParts, rows: int) -> AttentionShape | None:
    """The tiles, if tensor cores multiply the types; None otherwise.

    Args:
        rows: that share keys and values.
    """
    tensors = [parts.query.tensor, parts.key.tensor, parts.probabilities, parts.value.tensor]
    kinds = {tensor.type.name for tensor in tensors}
    depth, width = rounded_up(parts.depth, STEP), rounded_up(parts.width, STEP)
    if len(kinds) != 1 or not kinds <= {"f16", "bf16"} or max(depth, width) > WIDEST:
        return None
    warps = min(WARPS, -(-rows // ROWS))
    keys = min(KEYS, rounded_up(parts.keys, STEP))
    return AttentionShape(ROWS * warps, keys, WARP * warps, depth, width)


class AttentionTensorCores(AttentionTiles):
    """See the module."""

    resident_threads = 256

    def stored_type(self) -> ElementType:
        return self.parts.key.tensor.type

    def values_room(self) -> int:
        return SharedTile.elements(self.stored, self.shape.rows, self.shape.depth)

    def begin(self, first: Affine) -> list[Where]:
        em, b, shape, parts = self.em, self.b, self.shape, self.parts
        thread = em.variable(b.as_index(b.thread()), b.block)
        warp, self.lane = em.divmod(thread, WARP)
        self.group_row, self.pair = em.divmod(self.lane, 4)
        place = self.values.buffer, self.values.memref
        query = SharedTile(self, self.stored, shape.rows, shape.depth, place)
        query.fetch(parts.query, DEPTH, parts.depth, lambda row: self.query_place(first, row))
        b.wait_for_copies()
        b.barrier()
        self.query = [
            self._matrix(query, warp * ROWS, depth, "left") for depth in range(0, shape.depth, STEP)
        ]
        own = warp * ROWS + self.group_row
        found = [self.query_place(first, own + 8 * half) for half in range(2)]
        self.inside = [exists for _, exists in found]
        return [where for where, _ in found]

    @property
    def distances(self) -> tuple[int, ...]:
        return (2, 1)

    def _matrix(
        self, tile: SharedTile, row: Affine | int, column: Affine | int, use: str
    ) -> list[str]:
        """Fragments of 16 x 16 elements of a tile from (row, column) on.

        Args:
            use: `left` operand; `right` operand, rows being its columns, the two halves one after
                the other; or `down`, a right operand whose rows are the depth.
        """
        em = self.em
        high, place = em.divmod(self.lane, 8)
        outer, inner = em.divmod(high, 2)
        by_row, by_column = (outer, inner) if use == "right" else (inner, outer)
        at = tile.at(by_row * 8 + place + row, by_column * 8 + column)
        return load_matrices(
            self.b, tile.buffer, tile.memref, at, self.stored.memory, transposed=use == "down"
        )

    # -- scores ------------------------------------------------------------------------------------
    def scores(self, tile: Affine) -> list[tuple[list[Affine], list[str | None], list[str]]]:
        how, count = MULTIPLIERS[self.stored.name], self.shape.keys // 8
        sums = [[self.number(0.0)] * 4 for _ in range(count)]
        for step, query in enumerate(self.query):
            for j in range(0, count, 2):
                words = self._matrix(self.keys, 8 * j, STEP * step, "right")
                for i in range(2):
                    right = words[2 * i : 2 * i + 2]
                    sums[j + i] = multiply_fragments(self.b, how, query, right, sums[j + i])
        keys = [self.key(tile, self.pair * 2 + (8 * j + k)) for j in range(count) for k in range(2)]
        places, exist = [key for key, _ in keys], [exists for _, exists in keys]
        return [
            (places, exist, [part[2 * half + k] for part in sums for k in range(2)])
            for half in range(2)
        ]

    # -- values ------------------------------------------------------------------------------------
    @property
    def sums(self) -> int:
        return self.shape.width // 8 * 4

    def shrink(self, sums: Sequence[str], by: Sequence[str]) -> list[str]:
        return [self.binary("mulf", name, by[i % 4 // 2]) for i, name in enumerate(sums)]

    def multiply(self, factors: Sequence[Sequence[object]], sums: Sequence[str]) -> list[str]:
        how, current = MULTIPLIERS[self.stored.name], list(sums)
        for step in range(0, self.shape.keys, STEP):
            # Of either row the factors of two keys, then those of the keys 8 further on.
            left = [
                self._packed(factors[half][step // 4 + 2 * part :][:2])
                for part in range(2)
                for half in range(2)
            ]
            for column in range(0, self.shape.width, STEP):
                words = self._matrix(self.values, step, column, "down")
                for i in range(2):
                    at = slice((column // 8 + i) * 4, (column // 8 + i) * 4 + 4)
                    right = words[2 * i : 2 * i + 2]
                    current[at] = multiply_fragments(self.b, how, left, right, current[at])
        return current

    def _packed(self, values: Sequence[object]) -> str:
        """Two factors as an i32."""
        b, kind = self.b, self.stored.name
        names = ", ".join(cast(Value, value).name for value in values)
        wide = b.op(f"vector.from_elements {names} : vector<2xf32>")
        narrow = b.op(f"arith.truncf {wide} : vector<2xf32> to vector<2x{kind}>")
        return b.op(f"llvm.bitcast {narrow} : vector<2x{kind}> to i32")

    def deliver(self, states: Sequence[RowState], sums: Sequence[str]) -> None:
        for half, (where, state) in enumerate(zip(self.places, states, strict=True)):
            scaled = self.finish(where, state)
            columns = [
                self.pair * 2 + (8 * j + k) for j in range(self.shape.width // 8) for k in range(2)
            ]
            names = [
                scaled(sums[4 * j + 2 * half + k])
                for j in range(self.shape.width // 8)
                for k in range(2)
            ]
            self.store_inside(where, self.inside[half], columns, names)
