"""Products of f16 or bf16 tiles on tensor cores: `ldmatrix` and `mma.sync.m16n8k16`.

A warp has 32 x 32 elements of the result: 2 x 4 fragments of 16 x 8. Tiles lie in shared memory as
they were fetched, the side or the depth inner; `ldmatrix` turns them where it must. (PTX ISA,
"Matrix Fragments for mma.m16n8k16 with floating point type".)
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.tile_product import Operand, TileProduct, TileShape
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type

PAD = 8  # elements: rows stay 16-byte aligned and begin in different banks
WARP_TILE = 32
FRAGMENT = "!llvm.struct<(f32, f32, f32, f32)>"
WORDS = "!llvm.struct<(i32, i32, i32, i32)>"
_SHAPE = "shape = #nvvm.shape<m = 16, n = 8, k = 16>"
_LAYOUTS = "layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>"


def load_matrices(
    b: ThreadBuilder, tile: str, memref: str, at: str, *, transposed: bool
) -> list[str]:
    """Four 8 x 8 matrices of 16-bit elements, an i32 of each a lane; all lanes must run.

    Args:
        at: of lane 8 m + r the SSA index of row r of matrix m, 8 elements in a row in memory.
        transposed: whether lanes get columns.
    """
    layout = "col" if transposed else "row"
    loaded = b.load(
        f"nvvm.ldmatrix {b.shared_pointer(tile, memref, at, 'i16')} {{num = 4 : i32, "
        f"layout = #nvvm.mma_layout<{layout}>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, "
        f"eltType = #nvvm.ld_st_matrix_elt_type<b16>}} : (!llvm.ptr<3>) -> {WORDS}"
    )
    return [b.op(f"llvm.extractvalue {loaded}[{k}] : {WORDS}") for k in range(4)]


def multiply_fragments(
    b: ThreadBuilder, name: str, left: Sequence[str], right: Sequence[str], held: Sequence[str]
) -> list[str]:
    """`mma.sync.m16n8k16`: four sums in f32 with a product of f16 or bf16 fragments added.

    Args:
        name: of the element type.
        left, right: four and two i32, each two elements.
    """
    attributes, kind = f"{_LAYOUTS}, {_SHAPE}", "i32"
    if name == "bf16":
        multiplied = "#nvvm.mma_type<bf16>"
        attributes += f", multiplicandAPtxType = {multiplied}, multiplicandBPtxType = {multiplied}"
    else:
        kind = "vector<2xf16>"
        left, right = (
            [b.op(f"llvm.bitcast {word} : i32 to {kind}") for word in words]
            for words in (left, right)
        )
    done = b.op(
        f"nvvm.mma.sync A[{', '.join(left)}] B[{', '.join(right)}] C[{', '.join(held)}] "
        f"{{{attributes}}} : ({kind}, {kind}, f32) -> {FRAGMENT}"
    )
    return [b.op(f"llvm.extractvalue {done}[{k}] : {FRAGMENT}") for k in range(4)]


class TensorCoreTile(TileProduct):
    """Tiles of 16-bit floats, multiplied by warps."""

    def __init__(
        self, em: ThreadEmitter, shape: TileShape, name: str, left: Operand, right: Operand
    ) -> None:
        super().__init__(em, shape, left, right)
        self.name = name
        self.stored = "f16" if name == "f16" else "i16"
        self.strides = tuple((o.depth if o.along_depth else o.side) + PAD for o in (left, right))
        self.sizes = tuple(
            stride * (o.side if o.along_depth else o.depth)
            for stride, o in zip(self.strides, (left, right), strict=True)
        )
        self.tiles = [self.b.shared(2 * size, self.stored) for size in self.sizes]

    # -- fetching ----------------------------------------------------------------------------------
    def factor_type(self, kind: ElementType) -> ElementType:
        return element_type(self.name)

    def packed(self, value: Value) -> str:
        return elementwise.pack(self.b, value)[0]

    def put(self, half: Affine, fetched: Sequence[str]) -> None:
        values = iter(fetched)
        for i, operand in enumerate((self.left, self.right)):
            tile, memref = self.tiles[i]
            for across, along in self.places(operand):
                at = self.em.index(half * self.sizes[i] + self._offset(i, across, along))
                self.b.effect(f"memref.store {next(values)}, {tile}[{at}] : {memref}")

    def _offset(self, i: int, across: Affine, along: Affine) -> Affine:
        operand, stride = (self.left, self.right)[i], self.strides[i]
        return across * stride + along if operand.along_depth else along * stride + across

    # -- multiplying -------------------------------------------------------------------------------
    @property
    def _fragments(self) -> tuple[int, int]:
        return WARP_TILE // 16, WARP_TILE // 8

    @property
    def accumulator_types(self) -> list[str]:
        down, across = self._fragments
        return ["f32"] * (down * across * 4)

    def zeros(self) -> list[str]:
        return [self.b.constant(0.0, "f32")] * len(self.accumulator_types)

    def _thread(self) -> tuple[Affine, Affine, Affine]:
        """(first row, first column) of this warp's part of the tile, and the lane."""
        em, b = self.em, self.b
        thread = em.variable(b.as_index(b.thread()), self.shape.threads)
        warp, lane = em.divmod(thread, 32)
        down, across = em.divmod(warp, self.shape.columns // WARP_TILE)
        return down * WARP_TILE, across * WARP_TILE, lane

    def multiply(self, half: Affine, held: Sequence[str]) -> list[str]:
        row, column, lane = self._thread()
        down, across = self._fragments
        current = list(held)
        for depth in range(0, self.shape.depth, 16):
            lefts = [self._matrix(0, half, row + 16 * i, depth, lane) for i in range(down)]
            rights: list[list[str]] = []
            for j in range(0, across, 2):
                words = self._matrix(1, half, column + 8 * j, depth, lane)
                rights += [words[:2], words[2:]]
            for i in range(down):
                for j in range(across):
                    at = slice(4 * (i * across + j), 4 * (i * across + j) + 4)
                    current[at] = self._multiply(lefts[i], rights[j], current[at])
        return current

    def _matrix(self, i: int, half: Affine, side: Affine, depth: int, lane: Affine) -> list[str]:
        """Four 8 x 8 matrices of a tile: 16 of the side from `side` on, 16 of the depth.

        Of the left operand they come by side, then by depth, of the right one the other way round.
        """
        em, b = self.em, self.b
        high, place = em.divmod(lane, 8)
        outer, inner = em.divmod(high, 2)
        by_side, by_depth = (inner, outer) if i == 0 else (outer, inner)
        operand = (self.left, self.right)[i]
        if operand.along_depth:
            at = self._offset(i, side + by_side * 8 + place, by_depth * 8 + depth)
        else:
            at = self._offset(i, side + by_side * 8, by_depth * 8 + place + depth)
        tile, memref = self.tiles[i]
        where = em.index(half * self.sizes[i] + at)
        return load_matrices(b, tile, memref, where, transposed=not operand.along_depth)

    def _multiply(
        self, left: Sequence[str], right: Sequence[str], held: Sequence[str]
    ) -> list[str]:
        return multiply_fragments(self.b, self.name, left, right, held)

    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        em, b = self.em, self.b
        row, column, lane = self._thread()
        group, pair = em.divmod(lane, 4)
        start = em.index(row)
        inside = b.op(f"arith.cmpi uge, {start}, {b.index(first)} : index")
        below = b.op(f"arith.cmpi ult, {start}, {b.index(first + rows)} : index")
        with b.when(b.op(f"arith.andi {inside}, {below} : i1")):
            down, across = self._fragments
            for i in range(down):
                for j in range(across):
                    for k in range(4):
                        own = row + group + (16 * i + 8 * (k // 2) - first)
                        at = em.index(own * stride + column + pair * 2 + (8 * j + k % 2))
                        name = held[4 * (i * across + j) + k]
                        b.effect(f"memref.store {name}, {buffer}[{at}] : {memref}")
