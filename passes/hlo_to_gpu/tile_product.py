"""Tiles of two operands in shared memory, and their product by fused multiply-adds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType

PAD = 4  # elements that keep rows of a tile in different banks


@dataclass(frozen=True)
class TileShape:
    """Rows, columns and depth of the tiles of a block, and its threads."""

    rows: int
    columns: int
    depth: int
    threads: int


@dataclass(frozen=True)
class Operand:
    """A tile of an operand.

    Attributes:
        along_depth: whether neighbouring threads fetch neighbours in the depth.
        side: rows of the left operand, columns of the right.
    """

    along_depth: bool
    side: int
    depth: int


class TileProduct(ABC):
    """How a block keeps two tiles and multiplies them.

    Attributes:
        stored: MLIR type of an element in shared memory.
    """

    stored: str

    def __init__(self, em: ThreadEmitter, shape: TileShape, left: Operand, right: Operand) -> None:
        self.em, self.b, self.shape = em, em.b, shape
        self.left, self.right = left, right

    # -- fetching ----------------------------------------------------------------------------------
    def places(self, operand: Operand) -> list[tuple[Affine, Affine]]:
        """(place along the side, along the depth) of each element this thread fetches."""
        em, b, count = self.em, self.b, self.shape.threads
        found: list[tuple[Affine, Affine]] = []
        for start in range(0, operand.side * operand.depth, count):
            name = b.as_index(b.thread())
            if start:
                name = b.op(f"arith.addi {name}, {b.index(start)} : index")
            element = em.variable(name, operand.side * operand.depth)
            if operand.along_depth:
                across, along = em.divmod(element, operand.depth)
            else:
                along, across = em.divmod(element, operand.side)
            found.append((across, along))
        return found

    @property
    def fetched_types(self) -> list[str]:
        """MLIR types of what a thread fetches for a step."""
        elements = (self.left.side + self.right.side) * self.shape.depth
        return [self.stored] * (elements // self.shape.threads)

    def factor_type(self, kind: ElementType) -> ElementType:
        """The type that a factor is converted to."""
        return kind

    def packed(self, value: Value) -> str:
        """An element as it is stored in shared memory."""
        return value.name

    @abstractmethod
    def put(self, half: Affine, fetched: Sequence[str]) -> None:
        """Stores what was fetched into one of the two halves of the shared tiles."""

    # -- multiplying -------------------------------------------------------------------------------
    @property
    @abstractmethod
    def accumulator_types(self) -> list[str]:
        """MLIR types of this thread's part of the result tile."""

    @abstractmethod
    def zeros(self) -> list[str]:
        """Accumulators of an empty sum."""

    @abstractmethod
    def multiply(self, half: Affine, held: Sequence[str]) -> list[str]:
        """The accumulators with the products of the shared tiles added."""

    @abstractmethod
    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        """Stores rows [first, first + rows) of the result tile into shared memory."""


class FusedMultiplyTile(TileProduct):
    """16 x 16 threads, each with a square of the result tile; tiles are depth x side in memory."""

    def __init__(
        self, em: ThreadEmitter, shape: TileShape, kind: ElementType, left: Operand, right: Operand
    ) -> None:
        super().__init__(em, shape, left, right)
        self.kind, self.stored = kind, kind.register
        self.square = shape.rows // 16
        self.strides = (left.side + PAD, right.side + PAD)
        self.tiles = [
            self.b.shared(2 * shape.depth * stride, self.stored) for stride in self.strides
        ]

    def put(self, half: Affine, fetched: Sequence[str]) -> None:
        em, b, shape = self.em, self.b, self.shape
        values = iter(fetched)
        for operand, (tile, memref), stride in zip(
            (self.left, self.right), self.tiles, self.strides, strict=True
        ):
            for across, along in self.places(operand):
                at = em.index(half * (shape.depth * stride) + along * stride + across)
                b.effect(f"memref.store {next(values)}, {tile}[{at}] : {memref}")

    @property
    def accumulator_types(self) -> list[str]:
        return [self.stored] * (self.square * self.square)

    def zeros(self) -> list[str]:
        return [self.b.constant(0, self.stored)] * (self.square * self.square)

    def _own(self) -> tuple[Affine, Affine]:
        """First row and column of this thread's square."""
        em = self.em
        thread = em.variable(self.b.as_index(self.b.thread()), self.shape.threads)
        down, across = em.divmod(thread, 16)
        return down * self.square, across * self.square

    def multiply(self, half: Affine, held: Sequence[str]) -> list[str]:
        em, b, shape, square = self.em, self.b, self.shape, self.square
        own = self._own()
        vector = f"vector<{square}x{self.stored}>"
        current = list(held)
        for depth in range(shape.depth):
            sides: list[list[str]] = []
            for (tile, memref), stride, first in zip(self.tiles, self.strides, own, strict=True):
                at = em.index(half * (shape.depth * stride) + first + depth * stride)
                loaded = b.load(f"vector.load {tile}[{at}] : {memref}, {vector}")
                sides.append(
                    [
                        b.op(f"vector.extract {loaded}[{i}] : {self.stored} from {vector}")
                        for i in range(square)
                    ]
                )
            for i, x in enumerate(sides[0]):
                for j, y in enumerate(sides[1]):
                    place = i * square + j
                    current[place] = self._multiply_add(x, y, current[place])
        return current

    def _multiply_add(self, x: str, y: str, total: str) -> str:
        b = self.b
        if self.kind.is_float:
            return b.op(f"math.fma {x}, {y}, {total} : {self.stored}")
        values = [Value(self.kind, (name,)) for name in (x, y, total)]
        product = elementwise.EMITTERS["multiply"](b, values[:2], self.kind, {})
        return elementwise.EMITTERS["add"](b, [values[2], product], self.kind, {}).name

    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        em, b, square = self.em, self.b, self.square
        row, column = self._own()
        for i in range(square):
            for j in range(square):
                at = em.index((row + i) * stride + column + j)
                b.effect(f"memref.store {held[i * square + j]}, {buffer}[{at}] : {memref}")
