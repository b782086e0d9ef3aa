"""Where a kernel reads its tensors: index maps from an element of its root, as numbers.

Two reads of a tensor with the same number are one read. The root's own elements, in row-major
order, are number 0; elementwise ops and reshapes read where they are written, and so do look-ups
of single elements their indices.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable

from hlo.passes.cost.op_cost import looks_elements_up
from hlo.passes.hlo_to_loops.column_space import Columns, folded_columns, spread_columns
from hlo.passes.hlo_to_loops.elementwise import EMITTERS
from hlo.passes.hlo_to_loops.graph import Node, Tensor

ROOT = 0
_KEEPS_PLACE = frozenset(EMITTERS) | {"reshape", "copy", "optimization_barrier"}


class IndexMaps:
    """Numbers for index maps, the same number for the same map.

    Attributes:
        folds: whether a broadcast of what a reduction made gives back the reduction's own map.
    """

    def __init__(self, folds: bool = True) -> None:
        self.folds = folds
        self._numbers: dict[tuple[Hashable, int], int] = {}
        # Of the map that a reduction reads its operand at: the reduction, and its own map.
        self._folds: dict[int, tuple[Node, int]] = {}

    def through(self, reader: Node, operand: int, number: int) -> int:
        """The map that an op, itself computed at a map, reads an operand at.

        A broadcast along the dimensions that a reduction folds gives back the reduction's own map:
        what it spreads is the same for all elements of one fold.
        """
        if reader.name == "broadcast_in_dim" and number in self._folds:
            fold, own = self._folds[number]
            if _spreads_over(reader, fold):
                return own
        if number == ROOT and (size := _rows_of(reader)):
            return self.row(size)
        if self.folds and number == ROOT and (columns := spread_columns(reader)) is not None:
            return self.column(columns)
        if (
            reader.name == "reduce"
            and number == self.row(reader.results[0].size)
            and operand < len(reader.operands) // 2
            and _folds_rows(reader)
        ):
            return ROOT  # the elements of the row
        if (
            self.folds
            and operand < len(reader.operands) // 2
            and (columns := folded_columns(reader)) is not None
            and number == self.column(columns)
        ):
            return ROOT  # those of the column
        same_size = reader.operands[operand].size == reader.results[0].size
        if same_size and reader.name in _KEEPS_PLACE:
            return number
        if same_size and operand == 1 and looks_elements_up(reader):
            return number
        key = (_key_of(reader, operand), number)
        if reader.operands[operand].size == 1:
            key = ("the only element", ROOT)
        found = self._numbers.setdefault(key, len(self._numbers) + 1)
        if self.folds and reader.name == "reduce" and operand < len(reader.operands) // 2:
            self._folds.setdefault(found, (reader, number))
        return found

    def row(self, size: int) -> int:
        """The map of the root's row, where it has `size` of them."""
        key = (("row", size), ROOT)
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def column(self, columns: Columns) -> int:
        """The map of the root's column, where it has so many elements and others beside it."""
        return self._numbers.setdefault((("column", columns), ROOT), len(self._numbers) + 1)

    def all_through(self, reader: Node, tensor: Tensor, numbers: Iterable[int]) -> frozenset[int]:
        """The maps that an op, computed at some maps, reads a tensor at."""
        places = [i for i, operand in enumerate(reader.operands) if operand is tensor]
        return frozenset(self.through(reader, i, n) for n in numbers for i in places)


def _key_of(reader: Node, operand: int) -> Hashable:
    """The same for ops that read their operand at the same elements."""
    if reader.name == "broadcast_in_dim":
        dims = tuple(reader.attributes["broadcast_dimensions"])
        return "broadcast", dims, reader.operands[0].shape, reader.results[0].shape
    if reader.name == "reduce" and operand < len(reader.operands) // 2:
        return "reduce", tuple(sorted(reader.attributes["dimensions"])), reader.operands[0].shape
    return reader, operand


def _rows_of(reader: Node) -> int:
    """How many rows a broadcast spreads one element each over; 0 if it does anything else."""
    if reader.name != "broadcast_in_dim":
        return 0
    operand, shape = reader.operands[0], reader.results[0].shape
    if operand.size in (1, math.prod(shape)):
        return 0
    dims = reader.attributes["broadcast_dimensions"]
    kept = [d for d, size in zip(dims, operand.shape, strict=True) if size != 1]
    wide = [d for d, size in enumerate(shape) if size != 1]
    leads = kept == wide[: len(kept)] and all(
        operand.shape[i] in (1, shape[d]) for i, d in enumerate(dims)
    )
    return operand.size if leads else 0


def _folds_rows(reduce: Node) -> bool:
    """Whether a reduction folds what lies side by side in memory."""
    shape = reduce.operands[0].shape
    wide = [d for d, size in enumerate(shape) if size != 1]
    folded = [d for d in sorted(reduce.attributes["dimensions"]) if shape[d] != 1]
    return bool(folded) and wide[len(wide) - len(folded) :] == folded


def _spreads_over(broadcast: Node, fold: Node) -> bool:
    """Whether a broadcast repeats one element for all that a reduction folds into one."""
    shape, folded = fold.operands[0].shape, fold.attributes["dimensions"]
    operand = broadcast.operands[0].shape
    kept = [d for d, size in enumerate(shape) if d not in folded and size != 1]
    dims = broadcast.attributes["broadcast_dimensions"]
    spread = [d for d, size in zip(dims, operand, strict=True) if size != 1]
    return broadcast.results[0].shape == shape and spread == kept
