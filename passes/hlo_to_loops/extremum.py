"""Reductions to the largest or smallest element and where it is: argmax and argmin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor


@dataclass(frozen=True)
class Extremum:
    """The reducer of pairs (value, position) that keeps the better value, or the first of equals.

    Attributes:
        direction: GT keeps the largest, LT the smallest.
        keeps_nan: NaN is better than any number.
    """

    direction: str
    keeps_nan: bool

    def in_order(self, em: Emitter, acc: Sequence[Value], new: Sequence[Value]) -> list[Value]:
        """Combines where everything in `acc` comes before everything in `new`."""
        keep = _compare(em, f"{self.direction[0]}E", acc[0], new[0])
        if self.keeps_nan:
            keep = _either(em, keep, _compare(em, "NE", acc[0], acc[0]))
        return _kept(em, keep, acc, new)

    def merge(self, em: Emitter, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """Combines in any order."""
        first = _compare(em, "LT", left[1], right[1])
        keep = _compare(em, self.direction, left[0], right[0])
        keep = _either(em, keep, _both(em, first, _compare(em, "EQ", left[0], right[0])))
        if self.keeps_nan:
            over = _either(em, first, _compare(em, "EQ", right[0], right[0]))
            keep = _either(em, keep, _both(em, over, _compare(em, "NE", left[0], left[0])))
        return _kept(em, keep, left, right)


def extremum_of(node: Node) -> Extremum | None:
    """What a `reduce` keeps if its reducer is one of these and it is given positions in order."""
    dimensions = node.attributes["dimensions"]
    if len(node.operands) != 4 or len(dimensions) != 1:
        return None
    values, positions = node.operands[:2]
    source, extent = positions.producer, values.shape[dimensions[0]]
    if (
        source is None
        or source.name != "iota"
        or source.attributes["iota_dimension"] != dimensions[0]
        or not positions.type.is_integer
        or extent > 1 << (positions.type.bits - 1)
    ):
        return None
    return _reducer(node.regions[0], is_float=values.type.is_float)


def _reducer(region: Region, *, is_float: bool) -> Extremum | None:
    if len(region.arguments) != 4 or len(region.results) != 2:
        return None
    a, i, b, j = region.arguments
    value, position = (result.producer for result in region.results)
    if value is None or value.name != "select" or value.operands[1:] != (a, b):
        return None
    better = value.operands[0]
    if position is None or position.name != "select" or position.operands[1:] != (i, j):
        return None
    direction = _better(better, a, b, is_float=is_float)
    if direction is None or not _or_first(position.operands[0], better, (a, i, b, j)):
        return None
    return Extremum(direction, is_float)


def _better(tensor: Tensor, a: Tensor, b: Tensor, *, is_float: bool) -> str | None:
    """The direction of `a > b`, or for floats of `a > b or a != a`."""
    tests = _operands_of(tensor, "or") if is_float else (tensor,)
    directions = [d for t in tests for d in ("GT", "LT") if _is_comparison(t, d, a, b)]
    nans = [t for t in tests if _is_comparison(t, "NE", a, a)]
    complete = len(directions) == 1 and len(nans) == len(tests) - 1
    return directions[0] if complete and len(tests) == 1 + is_float else None


def _or_first(tensor: Tensor, better: Tensor, arguments: Sequence[Tensor]) -> bool:
    """Whether a test is `better or (a == b and i < j)`."""
    a, i, b, j = arguments
    sides = _operands_of(tensor, "or")
    if better not in sides or len(sides) != 2:
        return False
    tie = _operands_of(sides[1] if sides[0] is better else sides[0], "and")
    return any(_is_comparison(t, "EQ", a, b) for t in tie) and any(
        _is_comparison(t, "LT", i, j) for t in tie
    )


def _operands_of(tensor: Tensor, name: str) -> tuple[Tensor, ...]:
    node = tensor.producer
    return node.operands if node is not None and node.name == name else ()


def _is_comparison(tensor: Tensor, direction: str, left: Tensor, right: Tensor) -> bool:
    node = tensor.producer
    return (
        node is not None
        and node.name == "compare"
        and node.operands == (left, right)
        and node.attributes["comparison_direction"] == direction
        and node.attributes.get("compare_type", "") != "TOTALORDER"
    )


def _compare(em: Emitter, direction: str, left: Value, right: Value) -> Value:
    return elementwise.compare(em.b, direction, "", left, right)


def _both(em: Emitter, left: Value, right: Value) -> Value:
    return elementwise.EMITTERS["and"](em.b, [left, right], element_type("i1"), {})


def _either(em: Emitter, left: Value, right: Value) -> Value:
    return elementwise.EMITTERS["or"](em.b, [left, right], element_type("i1"), {})


def _kept(em: Emitter, keep: Value, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
    return [elementwise.select(em.b, keep, a, b) for a, b in zip(left, right, strict=True)]
