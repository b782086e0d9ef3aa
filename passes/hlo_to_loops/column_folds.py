"""Folds down columns, whose lanes are neighbouring columns: several vectors share the loops.

Row by row, one vector of each row, is the worst way through memory. Columns are folded either in
registers, a few vectors of a row at a time, or, where the rows come from memory, a block of columns
at a time with the accumulators in a buffer that stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.folds import Fold, nest
from hlo.passes.hlo_to_loops.graph import Tensor

ROWS = 8  # rows folded in between a load and a store of the accumulators


class ColumnKeeper(Protocol):
    """Keeps what folds down columns compute, for the elements of the same columns."""

    def see(self, tensor: Tensor, position: Position, value: Value) -> None:
        """Called with what a fold has computed at its lanes."""
        ...

    def remember(self) -> None:
        """The folds so far are done: `load` may find what they saw."""
        ...

    def load(self, tensor: Tensor, position: Position) -> Value | None:
        """The lanes at a position, if they were kept."""
        ...


# The fold of the columns at a lane variable.
FoldAt = Callable[[str], Fold]


def fold_neighbours(em: Emitter, columns: Sequence[tuple[str, Fold]]) -> list[list[Value]]:
    """Emits the folds of several vectors of columns in one loop nest, in vector code.

    Each row is then read in one long run, and the sums of several vectors do not wait for one
    another.

    Args:
        columns: the lane variable of each vector, and its fold; the folds have the same extents.
    """
    b, level = em.b, em.lane_level
    lanes, width = b.lanes, len(columns[0][1].initial)

    def body(indices: list[Affine], accumulators: list[Value]) -> list[Value]:
        result: list[Value] = []
        for g, (lane, work) in enumerate(columns):
            with em.vector(lane, lanes, level=level):
                held = accumulators[g * width : (g + 1) * width]
                result += work.combine(held, work.element(indices))
        return result

    initial = [value for _, work in columns for value in work.initial]
    values = nest(em, columns[0][1].extents, initial, body)
    return [values[g * width : (g + 1) * width] for g in range(len(columns))]


@dataclass(frozen=True)
class ColumnBlock:
    """Columns [start, end) that one loop over lanes covers, both SSA values, at most `capacity`.

    Attributes:
        level: the region around that loop.
    """

    start: str
    end: str
    capacity: int
    level: int


def fold_block(
    em: Emitter, block: ColumnBlock, key: tuple[object, ...], fold_at: FoldAt
) -> list[Value] | None:
    """Emits the fold of a whole block ahead of the loop over its lanes, into buffers on the stack.

    Args:
        key: tells this fold from others of the block; it is emitted once.

    Returns:
        The values at the current lanes; None if accumulators have no form or no room in memory.
    """
    b, lane = em.b, em.lane
    assert lane is not None
    known: _Accumulators | None = b.recall(key)
    if known is None:
        with b.at_level(block.level):
            work = fold_at(lane)
            types = [v.type for v in work.initial]
            held = [t.register for t in types for _ in range(t.parts)]
            if "i1" in held or not all(
                b.has_stack((i + 1) * block.capacity, kind) for i, kind in enumerate(held)
            ):
                return None
            known = _Accumulators(em, block, em.extents[lane], types)
            known.fold(fold_at, work.extents)
            b.remember(key, known)
    return known.load(lane)


class _Accumulators:
    def __init__(
        self, em: Emitter, block: ColumnBlock, extent: int, types: Sequence[ElementType]
    ) -> None:
        self.em, self.block, self.extent, self.types = em, block, extent, types
        self.lanes = em.b.lanes
        self.buffers = [
            (
                em.b.stack_buffer(block.capacity, t.register),
                f"memref<{block.capacity}x{t.register}>",
            )
            for t in types
            for _ in range(t.parts)
        ]

    def fold(self, fold_at: FoldAt, extents: Sequence[int]) -> None:
        """Initial values, then the rows, ROWS at a time."""
        self._columns(lambda lane: self.store(lane, fold_at(lane).initial))
        *outer, inner = extents
        self._nest(outer, [], lambda at: self._rows(fold_at, at, inner))

    def _nest(
        self, extents: Sequence[int], at: list[Affine], emit: Callable[[list[Affine]], None]
    ) -> None:
        if not extents:
            emit(at)
            return
        b = self.em.b
        with b.width(0), b.loop(b.index(0), b.index(extents[0]), b.index(1)) as loop:
            self._nest(extents[1:], [*at, self.em.variable(loop.iv, extents[0])], emit)

    def _rows(self, fold_at: FoldAt, at: list[Affine], inner: int) -> None:
        b, whole = self.em.b, inner // ROWS * ROWS
        if whole:
            with b.width(0), b.loop(b.index(0), b.index(whole), b.index(ROWS)) as loop:
                first = self.em.variable(loop.iv, inner)
                self.em.next_turn = loop.iv, ROWS
                self._columns(lambda lane: self._step(fold_at, lane, at, first, ROWS))
                self.em.next_turn = None
        if whole < inner:
            rest = Affine((), whole)
            self._columns(lambda lane: self._step(fold_at, lane, at, rest, inner - whole))

    def _step(
        self, fold_at: FoldAt, lane: str, at: list[Affine], first: Affine, count: int
    ) -> None:
        work, values = fold_at(lane), self.load(lane)
        for row in range(count):
            values = work.combine(values, work.element([*at, first + row]))
        self.store(lane, values)

    def _columns(self, emit: Callable[[str], None]) -> None:
        """A loop over the block's columns; `emit` takes its lane variable."""
        b = self.em.b
        with b.loop(self.block.start, self.block.end, b.index(self.lanes)) as loop:
            self.em.variable(loop.iv, self.extent)
            with self.em.vector(loop.iv, self.lanes):
                emit(loop.iv)

    def _at(self, lane: str) -> str:
        with self.em.b.width(0):
            return self.em.b.op(f"arith.subi {lane}, {self.block.start} : index")

    def load(self, lane: str) -> list[Value]:
        """The accumulators of the columns at a lane variable."""
        b, at = self.em.b, self._at(lane)
        kinds = register_types(self.em, self.types)
        names = [
            b.load(f"vector.load {name}[{at}] : {memref}, {kind}")
            for (name, memref), kind in zip(self.buffers, kinds, strict=True)
        ]
        return rebuild(self.types, names, self.lanes)

    def store(self, lane: str, values: Sequence[Value]) -> None:
        """Stores accumulators."""
        b, at = self.em.b, self._at(lane)
        kinds = register_types(self.em, self.types)
        parts = [part for value in values for part in value.parts]
        for part, (name, memref), kind in zip(parts, self.buffers, kinds, strict=True):
            b.effect(f"vector.store {part}, {name}[{at}] : {memref}, {kind}")
