"""Which dimensions of a dot_general's operands and result belong together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo.passes.hlo_to_loops.graph import Node, Tensor

BATCH = -1
_SIDES = ("lhs", "rhs")


def batch_dimensions(node: Node, side: int) -> tuple[int, ...]:
    """The batching dimensions of an operand (0: left, 1: right), in the result's order."""
    return _role(node, side, "batching")


def summed_dimensions(node: Node, side: int) -> tuple[int, ...]:
    """The contracting dimensions of an operand."""
    return _role(node, side, "contracting")


def free_dimensions(node: Node, side: int) -> list[int]:
    """The dimensions of an operand that the result has as well, batching ones apart."""
    taken = {*batch_dimensions(node, side), *summed_dimensions(node, side)}
    return [d for d in range(node.operands[side].rank) if d not in taken]


def result_dimension(node: Node, side: int, dimension: int) -> int:
    """Where the result has a free dimension of an operand."""
    first = len(batch_dimensions(node, side))
    if side == 1:
        first += len(free_dimensions(node, 0))
    return first + free_dimensions(node, side).index(dimension)


def side_of(node: Node, dimension: int) -> int:
    """The operand that a dimension of the result comes from; BATCH for a batching one."""
    batch = len(batch_dimensions(node, 0))
    if dimension < batch:
        return BATCH
    return 0 if dimension < batch + len(free_dimensions(node, 0)) else 1


def size_of(tensor: Tensor, dimensions: Sequence[int]) -> int:
    """The elements along some dimensions."""
    return math.prod(tensor.shape[d] for d in dimensions)


def _role(node: Node, side: int, role: str) -> tuple[int, ...]:
    numbers = node.attributes["dot_dimension_numbers"]
    return tuple(numbers.get(f"{_SIDES[side]}_{role}_dimensions", ()))
