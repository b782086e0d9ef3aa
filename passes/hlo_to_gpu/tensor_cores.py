"""Products of tiles on tensor cores: `ldmatrix` and `mma.sync`.

Whatever the element type, an instruction of `mma.sync.m16n8` multiplies 16 rows of 32 bytes by 8
columns of 32 bytes, and its fragments are the same bytes of the same lanes: `ldmatrix`, which moves
rows of 16 bytes, loads them for all types where the depth is contiguous. Where it is not it turns
elements of 16 bits; 32-bit ones are loaded one by one. (PTX ISA, "Matrix Fragments for mma".)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.tile_product import Stored, TileProduct, TileShape
from hlo.passes.hlo_to_gpu.tile_store import Operand
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.element_types import element_type

WORDS = "!llvm.struct<(i32, i32, i32, i32)>"
STEP_BYTES = 32  # of the depth that an instruction multiplies
PIECE_BYTES = 16  # of a row that `ldmatrix` moves


@dataclass(frozen=True)
class Multiplier:
    """An instruction of tensor cores.

    Attributes:
        name: of the operands' element type in PTX; `right` that of the right operand if another.
        stored: MLIR type of an element in shared memory.
        factor: element type that factors are converted to.
        depth: elements that it sums.
        word: MLIR type of a register of a fragment.
        total: MLIR type of a sum.
        promoted: whether products of a step are summed from zero, and added to f32 sums: the
            tensor cores add up 8-bit floats in fewer bits.
    """

    name: str
    stored: str
    factor: str
    depth: int
    word: str = "i32"
    total: str = "f32"
    right: str = ""
    promoted: bool = False

    @property
    def fragment(self) -> str:
        return f"!llvm.struct<({', '.join([self.total] * 4)})>"

    @property
    def attributes(self) -> str:
        found = [
            "layoutA = #nvvm.mma_layout<row>",
            "layoutB = #nvvm.mma_layout<col>",
            f"shape = #nvvm.shape<m = 16, n = 8, k = {self.depth}>",
        ]
        if self.word == "i32":
            names = (("A", self.name), ("B", self.right or self.name))
            found += [f"multiplicand{side}PtxType = #nvvm.mma_type<{name}>" for side, name in names]
        if self.total == "i32":
            found.append("intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>")
        return ", ".join(found)


MULTIPLIERS = {
    "f16": Multiplier("f16", "f16", "f16", 16, "vector<2xf16>"),
    "bf16": Multiplier("bf16", "i16", "bf16", 16),
    "tf32": Multiplier("tf32", "f32", "f32", 8),
    "s8": Multiplier("s8", "i8", "i8", 32, total="i32"),
    "u8": Multiplier("u8", "i8", "ui8", 32, total="i32"),
    "e4m3": Multiplier("e4m3", "i8", "f8E4M3FN", 32, promoted=True),
    "e5m2": Multiplier("e5m2", "i8", "f8E5M2", 32, promoted=True),
}


def load_matrices(
    b: ThreadBuilder, tile: str, memref: str, at: str, scalar: str, *, transposed: bool = False
) -> list[str]:
    """Four 8 x 8 matrices of 16-bit elements, an i32 of each a lane; all lanes must run.

    Args:
        at: of lane 8 m + r the SSA index of row r of matrix m, 16 bytes in memory.
        scalar: MLIR type of an element of the buffer.
        transposed: whether lanes get columns.
    """
    layout = "col" if transposed else "row"
    loaded = b.load(
        f"nvvm.ldmatrix {b.shared_pointer(tile, memref, at, scalar)} {{num = 4 : i32, "
        f"layout = #nvvm.mma_layout<{layout}>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, "
        f"eltType = #nvvm.ld_st_matrix_elt_type<b16>}} : (!llvm.ptr<3>) -> {WORDS}"
    )
    return [b.op(f"llvm.extractvalue {loaded}[{k}] : {WORDS}") for k in range(4)]


def multiply_fragments(
    b: ThreadBuilder, how: Multiplier, left: Sequence[str], right: Sequence[str],
    held: Sequence[str],
) -> list[str]:  # fmt: skip
    """`mma.sync`: four sums with a product of fragments, four and two i32, added."""
    if how.promoted:  # LLVM has no intrinsic for them
        registers = ("{$0, $1, $2, $3}", "{$8, $9, $10, $11}", "{$12, $13}", "{$0, $1, $2, $3}")
        text = f"mma.sync.aligned.m16n8k{how.depth}.row.col.f32.{how.name}.{how.name}.f32 "
        operands = [(word, "i32") for word in (*left, *right)]
        text += ", ".join(registers) + ";"
        return b.assembly(text, operands, ["f32"] * 4, held, memory=False)
    if how.word != "i32":
        left, right = (
            [b.op(f"llvm.bitcast {word} : i32 to {how.word}") for word in words]
            for words in (left, right)
        )
    done = b.op(
        f"nvvm.mma.sync A[{', '.join(left)}] B[{', '.join(right)}] C[{', '.join(held)}] "
        f"{{{how.attributes}}} : ({how.word}, {how.word}, {how.total}) -> {how.fragment}"
    )
    return [b.op(f"llvm.extractvalue {done}[{k}] : {how.fragment}") for k in range(4)]


class TensorCoreTile(TileProduct):
    """Warps each have a part of the result tile, in fragments of 16 x 8."""

    def __init__(
        self, em: ThreadEmitter, shape: TileShape, how: Multiplier, operands: Sequence[Operand]
    ) -> None:
        super().__init__(em, shape, Stored(how.stored, element_type(how.factor)), operands)
        self.how = how
        warps = shape.threads // WARP
        self.columns = 32
        self.rows = shape.rows * shape.columns // (warps * self.columns)

    @property
    def _fragments(self) -> tuple[int, int]:
        return self.rows // 16, self.columns // 8

    @property
    def accumulator_types(self) -> list[str]:
        down, across = self._fragments
        return [self.how.total] * (down * across * 4)

    def _thread(self) -> tuple[Affine, Affine, Affine]:
        """(first row, first column) of this warp's part of the tile, and the lane."""
        em, b = self.em, self.b
        thread = em.variable(b.as_index(b.thread()), self.shape.threads)
        warp, lane = em.divmod(thread, WARP)
        down, across = em.divmod(warp, self.shape.columns // self.columns)
        return down * self.rows, across * self.columns, lane

    def multiply(self, slots: Sequence[Affine], held: Sequence[str]) -> list[str]:
        row, column, lane = self._thread()
        down, across = self._fragments
        current = list(held)
        if self.how.promoted:
            return self._promoted(slots, current)
        for depth in range(0, self.shape.depth, self.how.depth):
            lefts = [self._words(0, slots[0], row + 16 * i, depth, lane) for i in range(down)]
            rights = self._rights(slots[1], column, depth, lane)
            for i in range(down):
                for j in range(across):
                    at = slice(4 * (i * across + j), 4 * (i * across + j) + 4)
                    current[at] = multiply_fragments(
                        self.b, self.how, lefts[i], rights[j], current[at]
                    )
        return current

    def _rights(self, slot: Affine, column: Affine, depth: int, lane: Affine) -> list[list[str]]:
        """Fragments of all columns, and an instruction's depth from `depth` on."""
        found: list[list[str]] = []
        for j in range(0, self._fragments[1], 2):
            words = self._words(1, slot, column + 8 * j, depth, lane)
            found += [words[:2], words[2:]]
        return found

    def _promoted(self, slots: Sequence[Affine], current: list[str]) -> list[str]:
        """Sums with the products of the tiles, which are added up from zero, added."""
        b, (row, column, lane) = self.b, self._thread()
        down, across = self._fragments
        depths = range(0, self.shape.depth, self.how.depth)
        rights = [self._rights(slots[1], column, depth, lane) for depth in depths]
        for i in range(down):
            lefts = [self._words(0, slots[0], row + 16 * i, depth, lane) for depth in depths]
            for j in range(across):
                made = [b.constant(0, self.how.total)] * 4
                for left, right in zip(lefts, rights, strict=True):
                    made = multiply_fragments(b, self.how, left, right[j], made)
                for k, name in enumerate(made, 4 * (i * across + j)):
                    current[k] = b.op(f"arith.addf {current[k]}, {name} : {self.how.total}")
        return current

    def _words(self, i: int, slot: Affine, side: Affine, depth: int, lane: Affine) -> list[str]:
        """Fragments of 16 of the side from `side` on, and an instruction's depth from `depth` on.

        Of the left operand they come by side, then by depth, of the right one the other way round.
        """
        words = self._matrices(i, slot, side, depth, lane)
        if self.how.name != "tf32":
            return words
        return [self._rounded(word) for word in words]

    def _matrices(self, i: int, slot: Affine, side: Affine, depth: int, lane: Affine) -> list[str]:
        em, store = self.em, self.stores[i]
        if not self.operands[i].along_depth and store.bytes != 2:
            return self._by_element(i, slot, side, depth, lane)
        high, place = em.divmod(lane, 8)
        outer, inner = em.divmod(high, 2)
        by_side, by_depth = (inner, outer) if i == 0 else (outer, inner)
        transposed = not self.operands[i].along_depth
        if transposed:
            at = store.at(slot, side + by_side * 8, by_depth * 8 + place + depth)
        else:
            at = store.at(slot, side + by_side * 8 + place, by_depth * store.vector + depth)
        return load_matrices(
            self.b, store.buffer, store.memref, at, store.scalar, transposed=transposed
        )

    def _by_element(
        self, i: int, slot: Affine, side: Affine, depth: int, lane: Affine
    ) -> list[str]:
        """The same of 32-bit elements that are contiguous along the side."""
        group, place = self.em.divmod(lane, 4)
        offsets = [(0, 0), (8, 0), (0, 4), (8, 4)]
        if i == 1:
            offsets = [(0, 0), (0, 4), (8, 0), (8, 4)]
        words: list[str] = []
        for across, along in offsets:
            (name,) = self.stores[i].run(slot, side + group + across, place + (depth + along), 1)
            words.append(self.b.op(f"arith.bitcast {name} : f32 to i32"))
        return words

    def _rounded(self, word: str) -> str:
        """An f32 rounded to the nearest of tf32, ties away from zero."""
        b = self.b
        name = b.op(f"arith.bitcast {word} : i32 to f32")
        return b.op(f"nvvm.convert.float.to.tf32 {name} {{rnd = #nvvm.fp_rnd_mode<rna>}}")

    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        em, b = self.em, self.b
        row, column, lane = self._thread()
        group, pair = em.divmod(lane, 4)
        down, across = self._fragments
        for i in range(down):
            start = em.index(row + (16 * i - first))
            with b.when(b.op(f"arith.cmpi ult, {start}, {b.index(rows)} : index")):
                for j in range(across):
                    for k in range(4):
                        own = row + group + (16 * i + 8 * (k // 2) - first)
                        at = em.index(own * stride + column + pair * 2 + (8 * j + k % 2))
                        name = held[4 * (i * across + j) + k]
                        b.effect(f"memref.store {name}, {buffer}[{at}] : {memref}")


class DoubleTile(TileProduct):
    """f64 by `mma.sync.m8n8k4`, whose sums are rounded as those of multiply-adds are."""

    DEPTH = 4

    def __init__(self, em: ThreadEmitter, shape: TileShape, operands: Sequence[Operand]) -> None:
        super().__init__(em, shape, Stored("f64", element_type("f64")), operands)
        warps = shape.threads // WARP
        self.columns = 32
        self.rows = shape.rows * shape.columns // (warps * self.columns)

    @property
    def _fragments(self) -> tuple[int, int]:
        return self.rows // 8, self.columns // 8

    @property
    def accumulator_types(self) -> list[str]:
        down, across = self._fragments
        return ["f64"] * (down * across * 2)

    def _thread(self) -> tuple[Affine, Affine, Affine, Affine]:
        """(first row, first column) of this warp's part; the lane's row of 8, its place of 4."""
        em, b = self.em, self.b
        thread = em.variable(b.as_index(b.thread()), self.shape.threads)
        warp, lane = em.divmod(thread, WARP)
        down, across = em.divmod(warp, self.shape.columns // self.columns)
        group, place = em.divmod(lane, 4)
        return down * self.rows, across * self.columns, group, place

    def multiply(self, slots: Sequence[Affine], held: Sequence[str]) -> list[str]:
        row, column, group, place = self._thread()
        down, across = self._fragments
        current = list(held)
        for depth in range(0, self.shape.depth, self.DEPTH):
            sides = [
                [store.run(slot, start + group + 8 * i, place + depth, 1)[0] for i in range(count)]
                for store, slot, start, count in zip(
                    self.stores, slots, (row, column), (down, across), strict=True
                )
            ]
            for i, x in enumerate(sides[0]):
                for j, y in enumerate(sides[1]):
                    at = slice(2 * (i * across + j), 2 * (i * across + j) + 2)
                    current[at] = self._multiply(x, y, current[at])
        return current

    def _multiply(self, left: str, right: str, held: Sequence[str]) -> list[str]:
        b, pair = self.b, "!llvm.struct<(f64, f64)>"
        done = b.op(
            f"nvvm.mma.sync A[{left}] B[{right}] C[{', '.join(held)}] "
            "{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, "
            f"shape = #nvvm.shape<m = 8, n = 8, k = 4>}} : (f64, f64, f64) -> {pair}"
        )
        return [b.op(f"llvm.extractvalue {done}[{k}] : {pair}") for k in range(2)]

    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        em, b = self.em, self.b
        row, column, group, place = self._thread()
        down, across = self._fragments
        for i in range(down):
            start = em.index(row + (8 * i - first))
            with b.when(b.op(f"arith.cmpi ult, {start}, {b.index(rows)} : index")):
                for j in range(across):
                    for k in range(2):
                        own = row + group + (8 * i - first)
                        at = em.index(own * stride + column + place * 2 + (8 * j + k))
                        name = held[2 * (i * across + j) + k]
                        b.effect(f"memref.store {name}, {buffer}[{at}] : {memref}")
