"""Sums of tiles that wait in scratch while what they have in common is still in a cache.

The gradient of a convolution by its weights sums over the batch and all positions: each tile of the
result reads all of both operands. A work unit goes through the batch once, a part of it at a time,
and adds what that gives to the sums of all its tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.contraction_tiling import Tiling, inputs_lead
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node

OPERANDS_BYTES = 1 << 20  # of both operands, that leave a core's cache from tile to tile
PART_BYTES = 256 << 10  # of both operands in a part
WANTED_UNITS = 8  # that threads share
FEWEST_TILES = 2  # of a unit


@dataclass(frozen=True)
class Inputs:
    """Some input features of a convolution: `count` from the `first` on."""

    first: Affine
    count: int


def inputs_of(node: Node) -> int:
    """Input features of a convolution, those of a group."""
    if node.name != "convolution":
        return 1
    labels = node.attributes["dimension_numbers"]["kernel"]
    return node.operands[1].shape[labels.index("i")]


def chunks_in_parts(node: Node, tiling: Tiling) -> int:
    """Into how many parts the tiles of a run are cut, if their sums wait; 0 if they do not."""
    if node.name != "convolution" or not inputs_lead(node) or inputs_of(node) < 2:
        return 0
    chunks = min(tiling.positions, -(-WANTED_UNITS // tiling.runs))
    few = tiling.positions < FEWEST_TILES * chunks
    return 0 if few or _bytes(node) <= OPERANDS_BYTES else chunks


def part_of(node: Node) -> int:
    """Input features of a part: a divisor of their number."""
    inputs = inputs_of(node)
    most = max(1, PART_BYTES * inputs // _bytes(node))
    return max(n for n in range(1, min(most, inputs) + 1) if inputs % n == 0)


def _bytes(node: Node) -> int:
    return sum(t.size * t.type.memory_bytes for t in node.operands)


class WaitingSums:
    """Sums of the tiles of a work unit.

    Args:
        tiles: of a unit.
        units: that have such sums, in a buffer of the launch; 1 if they are on the stack.
    """

    def __init__(
        self, em: Emitter, kind: ElementType, tiling: Tiling, tiles: int, units: int = 1
    ) -> None:
        self.em, self.kind, self.tiling = em, kind, tiling
        self.each, self.tiles = tiling.rows * tiling.width, tiles
        size = units * tiles * self.each
        name = "%sums" if units > 1 else em.b.stack_buffer(size, kind.memory)
        self.buffer = Buffer(name, size, kind)
        self.tile: Affine = ZERO

    @staticmethod
    def fit(em: Emitter, kind: ElementType, tiling: Tiling, tiles: int) -> bool:
        """Whether there is room for them."""
        return em.b.has_stack(tiles * tiling.rows * tiling.width, kind.memory)

    def clear(self, unit: Affine = ZERO) -> None:
        """Makes all of a unit's zero."""
        b, lanes, size = self.em.b, self.tiling.lanes, self.tiles * self.each
        with b.loop(b.index(0), b.index(size), b.index(lanes)) as loop:
            at = self.em.variable(loop.iv, size)
            with b.width(lanes):
                self._store(b.constant(0, self.kind.memory), unit * size + at)

    def take(self, rows: int, vectors: int) -> list[Value]:
        """The sums of the tile at `tile`, row by row."""
        b, lanes = self.em.b, self.tiling.lanes
        found: list[Value] = []
        for at in self._places(rows, vectors):
            place = f"{self.buffer.name}[{self.em.index(at)}]"
            name = b.load(f"vector.load {place} : {self.buffer.memref}, {self._vector}")
            found.append(Value(self.kind, (name,), lanes))
        return found

    def put(self, rows: int, vectors: int, totals: Sequence[Value]) -> None:
        """Stores the sums of the tile at `tile`."""
        for at, total in zip(self._places(rows, vectors), totals, strict=True):
            self._store(total.name, at)

    def _places(self, rows: int, vectors: int) -> list[Affine]:
        first = self.tile * self.each
        return [first + i * self.tiling.lanes for i in range(rows * vectors)]

    def _store(self, name: str, at: Affine) -> None:
        place = f"{self.buffer.name}[{self.em.index(at)}]"
        self.em.b.effect(f"vector.store {name}, {place} : {self.buffer.memref}, {self._vector}")

    @property
    def _vector(self) -> str:
        return f"vector<{self.tiling.lanes}x{self.kind.memory}>"
