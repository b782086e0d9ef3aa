"""The product of two tiles in shared memory, and what a step of the depth brings there."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.tile_store import Operand, TileStore
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType

SLOTS = 2  # tiles of an operand that is fetched through registers
STAGES = 3  # tiles of an operand that is copied: two are on their way


@dataclass(frozen=True)
class TileShape:
    """Rows, columns and depth of the tiles of a block, and its threads."""

    rows: int
    columns: int
    depth: int
    threads: int


@dataclass(frozen=True)
class Stored:
    """How elements are in shared memory.

    Attributes:
        scalar: MLIR type.
        factor: the type that factors are converted to.
    """

    scalar: str
    factor: ElementType

    def takes(self, kind: ElementType) -> bool:
        """Whether elements of a type are in memory as they are stored here."""
        return kind == self.factor and kind.memory == self.scalar


class TileProduct(ABC):
    """How a block multiplies two tiles.

    Attributes:
        stores: of the left and the right operand.
    """

    def __init__(
        self, em: ThreadEmitter, shape: TileShape, stored: Stored, operands: Sequence[Operand]
    ) -> None:
        self.em, self.b, self.shape, self.stored = em, em.b, shape, stored
        self.operands = tuple(operands)
        self.stores: tuple[TileStore, ...] = ()

    # -- shared memory -----------------------------------------------------------------------------
    @staticmethod
    def slots(operand: Operand) -> int:
        return SLOTS if operand.source is None else STAGES

    @property
    def store_bytes(self) -> int:
        """Shared memory of all tiles."""
        return sum(map(self._bytes, self.operands))

    def _bytes(self, operand: Operand) -> int:
        width = int(self.stored.scalar.lstrip("if")) // 8
        return TileStore.elements(operand) * self.slots(operand) * width

    def place(self, buffer: str, memref: str) -> None:
        """Puts the tiles into a buffer of bytes."""
        b, start, stores = self.b, 0, list[TileStore]()
        for operand in self.operands:
            count = TileStore.elements(operand) * self.slots(operand)
            kind = f"memref<{count}x{self.stored.scalar}, 3>"
            view = b.op(f"memref.view {buffer}[{b.index(start)}][] : {memref} to {kind}")
            stores.append(
                TileStore(self.em, operand, self.stored.scalar, self.slots(operand), (view, kind))
            )
            start += self._bytes(operand)
        self.stores = tuple(stores)

    # -- fetching ----------------------------------------------------------------------------------
    def packed(self, value: Value) -> str:
        """A factor as it is stored."""
        return elementwise.pack(self.b, value)[0]

    @property
    def fetched_types(self) -> list[str]:
        """MLIR types of what a thread fetches through registers for a step."""
        elements = sum(o.side * o.depth for o in self.operands if o.source is None)
        return [self.stored.scalar] * (elements // self.shape.threads)

    # -- multiplying -------------------------------------------------------------------------------
    @property
    @abstractmethod
    def accumulator_types(self) -> list[str]:
        """MLIR types of this thread's part of the result tile."""

    def zeros(self) -> list[str]:
        """Accumulators of an empty sum."""
        return [self.b.constant(0, kind) for kind in self.accumulator_types]

    @abstractmethod
    def multiply(self, slots: Sequence[Affine], held: Sequence[str]) -> list[str]:
        """The accumulators with the products of the tiles in two slots added."""

    @abstractmethod
    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        """Stores rows [first, first + rows) of the result tile into shared memory."""


class FusedMultiplyTile(TileProduct):
    """16 x 16 threads, each with a square of elements of the result tile."""

    def __init__(
        self, em: ThreadEmitter, shape: TileShape, kind: ElementType, operands: Sequence[Operand]
    ) -> None:
        super().__init__(em, shape, Stored(kind.register, kind), operands)
        self.kind, self.square = kind, shape.rows // 16

    def packed(self, value: Value) -> str:
        return value.name

    @property
    def accumulator_types(self) -> list[str]:
        return [self.kind.register] * (self.square * self.square)

    def _own(self, i: int) -> list[Affine]:
        """Rows or columns of this thread.

        Where a line is along the depth they are 16 apart, so that neighbouring threads read
        neighbouring lines, else in runs that one access reads.
        """
        em, square = self.em, self.square
        thread = em.variable(self.b.as_index(self.b.thread()), self.shape.threads)
        own = em.divmod(thread, 16)[i]
        if self.operands[i].along_depth:
            return [own + 16 * j for j in range(square)]
        run = self._run(i)
        return [own * run + (j // run * 16 * run + j % run) for j in range(square)]

    def _run(self, i: int) -> int:
        """Neighbours in a line that one access reads."""
        count = self.shape.depth if self.operands[i].along_depth else self.square
        return math.gcd(count, min(4, self.stores[i].vector))

    def multiply(self, slots: Sequence[Affine], held: Sequence[str]) -> list[str]:
        step = max((self._run(i) for i in range(2) if self.operands[i].along_depth), default=1)
        current = list(held)
        for depth in range(0, self.shape.depth, step):
            sides = [self._factors(i, slots[i], depth, step) for i in range(2)]
            for k in range(step):
                for i, x in enumerate(sides[0][k]):
                    for j, y in enumerate(sides[1][k]):
                        place = i * self.square + j
                        current[place] = self._multiply_add(x, y, current[place])
        return current

    def _factors(self, i: int, slot: Affine, depth: int, step: int) -> list[list[str]]:
        """Of each step of the depth this thread's factors."""
        store, own, run = self.stores[i], self._own(i), self._run(i)
        if not self.operands[i].along_depth:
            return [
                [
                    name
                    for j in range(0, self.square, run)
                    for name in store.run(slot, own[j], ZERO + (depth + k), run)
                ]
                for k in range(step)
            ]
        found: list[list[str]] = [[] for _ in range(step)]
        for side in own:
            for start in range(0, step, run):
                for k, name in enumerate(store.run(slot, side, ZERO + (depth + start), run)):
                    found[start + k].append(name)
        return found

    def _multiply_add(self, x: str, y: str, total: str) -> str:
        b = self.b
        if self.kind.is_float:
            return b.op(f"math.fma {x}, {y}, {total} : {self.kind.register}")
        values = [Value(self.kind, (name,)) for name in (x, y, total)]
        product = elementwise.EMITTERS["multiply"](b, values[:2], self.kind, {})
        return elementwise.EMITTERS["add"](b, [values[2], product], self.kind, {}).name

    def spill(
        self, held: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        em, b, square = self.em, self.b, self.square
        down, across = self._own(0), self._own(1)
        for i, row in enumerate(down):
            low, high = row.bounds(em.extents)
            if low >= first + rows or high < first:
                continue
            for j, column in enumerate(across):
                at = em.index((row + -first) * stride + column)
                store = f"memref.store {held[i * square + j]}, {buffer}[{at}] : {memref}"
                if first <= low and high < first + rows:
                    b.effect(store)
                    continue
                name = em.index(row + -first)
                with b.when(b.op(f"arith.cmpi ult, {name}, {b.index(rows)} : index")):
                    b.effect(store)
