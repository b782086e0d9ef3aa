"""Products of an attention's tiles on tensor cores: operands and factors of f16, or all of bf16.

A warp has 16 rows. Its rows of a left operand may stay in registers as fragments; the fragments of
the scores become those of the factors where they are, since an accumulator of 16 x 8 has its
elements in the lanes in which half of a left operand of 16 x 16 needs them (Dao,
"FlashAttention-2", 2023).
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_gpu.attention_products import (
    AttentionShape,
    Left,
    TileProducts,
    rounded_up,
)
from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_gpu.tensor_cores import MULTIPLIERS, load_matrices, multiply_fragments
from hlo.passes.hlo_to_gpu.thread_builder import WARP
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_parts import AttentionParts
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


class TensorCoreProducts(TileProducts):
    """See the module."""

    distances = (2, 1)

    def __init__(
        self, thread: AttentionThread, stored: ElementType, rows: int, columns: int,
        *, keeps: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(thread, rows, columns)
        self.stored, self.keeps = stored, keeps
        self.how = MULTIPLIERS[stored.name]

    def begin(self) -> None:
        em, b = self.em, self.b
        thread = em.variable(b.as_index(b.thread()), b.block)
        warp, self.lane = em.divmod(thread, WARP)
        group, self.pair = em.divmod(self.lane, 4)
        warp, _ = em.clamped(warp, self.rows // ROWS)  # those beyond have the last one's rows
        self.first = warp * ROWS
        self.own_rows = [self.first + group + 8 * half for half in range(2)]
        self.own_columns = self._columns(self.columns)

    def _columns(self, width: int) -> list[Affine]:
        return [self.pair * 2 + (8 * j + k) for j in range(width // 8) for k in range(2)]

    def left(self, tile: SharedTile, first: int = 0) -> Left:
        if not self.keeps:
            return Left(tile)
        return Left(
            tile,
            tuple(
                tuple(self._matrix(tile, self.first, step, "left"))
                for step in range(first, tile.columns, STEP)
            ),
        )

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

    # -- rows by rows ------------------------------------------------------------------------------
    def inner(self, left: Left, right: SharedTile, depth: int) -> list[list[str]]:
        count = self.columns // 8
        sums = [[self.thread.number(0.0)] * 4 for _ in range(count)]
        for step in range(depth // STEP):
            kept = left.fragments
            rows = kept[step] if kept else self._matrix(left.tile, self.first, STEP * step, "left")
            for j in range(0, count, 2):
                words = self._matrix(right, 8 * j, STEP * step, "right")
                for i in range(2):
                    held = sums[j + i]
                    sums[j + i] = multiply_fragments(
                        self.b, self.how, rows, words[2 * i : 2 * i + 2], held
                    )
        return [[part[2 * half + k] for part in sums for k in range(2)] for half in range(2)]

    # -- factors by rows ---------------------------------------------------------------------------
    def sums(self, width: int) -> int:
        return width // 8 * 4

    def result(self, sums: Sequence[str], width: int) -> list[list[tuple[Affine, str]]]:
        columns = self._columns(width)
        return [
            [(column, sums[4 * (i // 2) + 2 * half + i % 2]) for i, column in enumerate(columns)]
            for half in range(2)
        ]

    def shrink(self, sums: Sequence[str], by: Sequence[str]) -> list[str]:
        return [self.thread.binary("mulf", name, by[i % 4 // 2]) for i, name in enumerate(sums)]

    def outer(
        self, factors: Sequence[Sequence[Value]], right: SharedTile, sums: Sequence[str], width: int
    ) -> list[str]:
        current = list(sums)
        for step in range(0, self.columns, STEP):
            left = self.fragments(factors, step)
            for column in range(0, width, STEP):
                words = self._matrix(right, step, column, "down")
                for i in range(2):
                    at = slice((column // 8 + i) * 4, (column // 8 + i) * 4 + 4)
                    current[at] = multiply_fragments(
                        self.b, self.how, left, words[2 * i : 2 * i + 2], current[at]
                    )
        return current

    def fragments(self, factors: Sequence[Sequence[Value]], first: int) -> list[str]:
        """Factors of 16 columns as a left operand."""
        # Of either row the factors of two columns, then those of the columns 8 further on.
        return [
            self._packed(factors[half][first // 4 + 2 * part :][:2])
            for part in range(2)
            for half in range(2)
        ]

    def _packed(self, values: Sequence[Value]) -> str:
        """Two factors as an i32."""
        b, kind = self.b, self.stored.name
        names = ", ".join(value.name for value in values)
        wide = b.op(f"vector.from_elements {names} : vector<2xf32>")
        narrow = b.op(f"arith.truncf {wide} : vector<2xf32> to vector<2x{kind}>")
        return b.op(f"llvm.bitcast {narrow} : vector<2x{kind}> to i32")
