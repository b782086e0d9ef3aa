"""What a block's threads have of a product of tiles, whatever multiplies them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType


@dataclass(frozen=True)
class AttentionShape:
    """Rows and keys of a block's tile, its threads, and its columns, whole numbers of pieces.

    Attributes:
        depth, width: those of the attention, rounded up to what a kernel works with.
    """

    rows: int
    keys: int
    threads: int
    depth: int
    width: int


def rounded_up(size: int, step: int) -> int:
    return -(-size // step) * step


@dataclass(frozen=True)
class Left:
    """A left operand: a tile, or for each step of its depth the fragments that a thread keeps."""

    tile: SharedTile
    fragments: tuple[tuple[str, ...], ...] = ()


class TileProducts(ABC):
    """Products of `rows` rows that a block keeps with tiles of `columns` rows that go by.

    Attributes:
        stored: the element type of tiles.
        own_rows: the rows of a thread.
        own_columns: of a product of rows with the rows of a tile, the columns of a thread.
        distances: xor distances of the lanes that have other columns of the same rows.
        keeps: whether left operands are kept in registers; their tiles may be overwritten then.
    """

    stored: ElementType
    own_rows: list[Affine]
    own_columns: list[Affine]
    distances: tuple[int, ...]
    keeps = False

    def __init__(self, thread: AttentionThread, rows: int, columns: int) -> None:
        self.thread, self.em, self.b = thread, thread.em, thread.b
        self.rows, self.columns = rows, columns

    @abstractmethod
    def begin(self) -> None:
        """Finds out which rows and columns the thread has."""

    @abstractmethod
    def left(self, tile: SharedTile, first: int = 0) -> Left:
        """A tile as a left operand; it is there, unless left operands are not kept."""

    @abstractmethod
    def inner(self, left: Left, right: SharedTile, depth: int) -> list[list[str]]:
        """The products of rows with rows of a tile: by own row, then by own column."""

    @abstractmethod
    def sums(self, width: int) -> int:
        """How many sums a thread has of a product that is `width` wide."""

    @abstractmethod
    def result(self, sums: Sequence[str], width: int) -> list[list[tuple[Affine, str]]]:
        """The sums of each own row with their columns."""

    @abstractmethod
    def shrink(self, sums: Sequence[str], by: Sequence[str]) -> list[str]:
        """The sums of each own row times a factor."""

    @abstractmethod
    def outer(
        self, factors: Sequence[Sequence[Value]], right: SharedTile, sums: Sequence[str], width: int
    ) -> list[str]:
        """The sums with factors, by own row and column, times a tile's rows added."""
