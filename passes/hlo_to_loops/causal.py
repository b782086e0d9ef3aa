"""Proves that a mask made of iotas hides every key after a row's own position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from hlo.passes.hlo_to_loops.graph import Node, Tensor, splat_of

LARGEST_EXACT = 1 << 8  # positions that every float type holds exactly: bf16 has 8 bits


@dataclass(frozen=True)
class _Index:
    """The index along a dimension, plus a constant."""

    dimension: int
    plus: int


@dataclass(frozen=True)
class _Range:
    """Some number of [low, high]."""

    low: float
    high: float


_Known: TypeAlias = _Index | _Range
_ANYTHING = _Range(float("-inf"), float("inf"))
_FALSE = _Range(0, 0)


def hides_later_keys(condition: Tensor, row: int, key: int) -> int | None:
    """The smallest a in {0, ...} such that `condition` is false wherever key > row + a.

    Args:
        condition: an i1 tensor.
        row: its dimension of rows.
        key: its dimension of keys.

    Returns:
        a, or None where nothing of the kind can be shown. What is not made of iotas is taken to be
        any number but NaN, which compares false anyway.
    """
    for ahead in _offsets(condition):
        if _value(condition, {row: row, key: key}, row, key, ahead) == _FALSE:
            return ahead
    return None


def _offsets(condition: Tensor) -> list[int]:
    """Distances worth trying: 0, and the integers among the mask's constants and next to them."""
    found = {0}
    pending, seen = [condition], set[Tensor]()
    while pending and len(seen) < 64:
        tensor = pending.pop()
        if tensor in seen or tensor.producer is None:
            continue
        seen.add(tensor)
        if tensor.producer.name == "constant":
            value = splat_of(tensor.producer)
            if isinstance(value, (int, float)) and abs(value) < 1 << 24 and value == int(value):
                found.update(abs(int(value)) + near for near in (-1, 0, 1))
        pending.extend(tensor.producer.operands)
    return sorted(a for a in found if a >= 0)


def _value(tensor: Tensor, dims: dict[int, int], row: int, key: int, ahead: int) -> _Known:
    """What is known of an element where key >= row + ahead + 1.

    `dims` maps dimensions of the tensor that are rows or keys to dimensions of the condition.
    """
    node = tensor.producer
    if node is None:
        return _FALSE_OR_TRUE if tensor.type.name == "i1" else _ANYTHING
    if node.name == "constant":
        value = splat_of(node)
        if value is None or math.isnan(value):
            return _ANYTHING
        return _Range(float(value), float(value))
    if node.name == "iota":
        dimension = node.attributes["iota_dimension"]
        if dimension not in dims or not _is_exact(tensor):
            return _Range(0, tensor.shape[dimension] - 1)
        return _Index(dims[dimension], 0)
    if node.name == "broadcast_in_dim":
        mapping = node.attributes["broadcast_dimensions"]
        inner = {
            k: dims[d]
            for k, d in enumerate(mapping)
            if d in dims and node.operands[0].shape[k] == tensor.shape[d]
        }
        return _value(node.operands[0], inner, row, key, ahead)
    if node.name == "reshape":
        moved = _reshaped(node.operands[0].shape, tensor.shape, dims)
        if moved is None:
            return _ANYTHING
        return _value(node.operands[0], moved, row, key, ahead)
    operands = [
        _value(o, dims if o.shape == tensor.shape else {}, row, key, ahead) for o in node.operands
    ]
    return _elementwise(node, operands, row, key, ahead)


_FALSE_OR_TRUE = _Range(0, 1)


def _is_exact(tensor: Tensor) -> bool:
    """Whether an iota's type holds every index."""
    kind, size = tensor.type, max(tensor.shape)
    if kind.is_float:
        return size <= {"f32": 1 << 24, "f64": 1 << 53}.get(kind.name, LARGEST_EXACT)
    return size < 1 << (kind.bits - 1)


def _reshaped(
    source: tuple[int, ...], target: tuple[int, ...], dims: dict[int, int]
) -> dict[int, int] | None:
    """Dimensions of a reshape's operand, where it only adds or drops dimensions of size 1."""
    old = [d for d, size in enumerate(source) if size != 1]
    new = [d for d, size in enumerate(target) if size != 1]
    if [source[d] for d in old] != [target[d] for d in new]:
        return None
    into = dict(zip(new, old, strict=True))
    return {into[d]: k for d, k in dims.items() if d in into}


def _elementwise(node: Node, operands: list[_Known], row: int, key: int, ahead: int) -> _Known:
    name, kind = node.name, node.results[0].type
    if name == "convert":
        return _converted(node, operands[0])
    if name in ("add", "subtract"):
        return _sum(node, operands, -1 if name == "subtract" else 1)
    if name == "compare":
        return _comparison(node, operands, row, key, ahead)
    ranges = [o if isinstance(o, _Range) else _ANYTHING for o in operands]
    if name in ("minimum", "and") and (name == "minimum" or kind.name == "i1"):
        return _Range(min(r.low for r in ranges), min(r.high for r in ranges))
    if name in ("maximum", "or") and (name == "maximum" or kind.name == "i1"):
        return _Range(max(r.low for r in ranges), max(r.high for r in ranges))
    if name == "not" and kind.name == "i1":
        return _Range(1 - min(ranges[0].high, 1), 1 - max(ranges[0].low, 0))
    if name == "select":
        picked = [r for r, out in zip(ranges[1:], (0, 1), strict=True)
                  if ranges[0] != _Range(out, out)]  # fmt: skip
        return _Range(min(r.low for r in picked), max(r.high for r in picked))
    return _FALSE_OR_TRUE if kind.name == "i1" else _ANYTHING


def _converted(node: Node, operand: _Known) -> _Known:
    source, target = node.operands[0].type, node.results[0].type
    if isinstance(operand, _Index):
        wide = node.results[0].size and max(node.results[0].shape, default=1)
        exact = target.name in ("f32", "f64", "i32", "i64", "ui32", "ui64") and wide < 1 << 24
        return operand if exact and operand.plus >= 0 else _ANYTHING
    small = operand.low >= -128 and operand.high <= 127 and operand.low == int(operand.low)
    if target.name == "i1":
        if operand == _FALSE:
            return _FALSE
        return _FALSE_OR_TRUE
    if source.name == "i1" or (small and (operand.low >= 0 or target.is_signed)):
        return operand
    return _ANYTHING


def _sum(node: Node, operands: list[_Known], sign: int) -> _Known:
    """An index plus or minus a constant; sums of ranges are not followed."""
    left, right = operands
    if sign == 1 and isinstance(right, _Index):
        left, right = right, left
    if not isinstance(left, _Index) or not isinstance(right, _Range) or right.low != right.high:
        return _ANYTHING
    plus = left.plus + sign * right.low
    kind = node.results[0].type
    if plus != int(plus) or abs(plus) >= 1 << 22 or not (kind.is_float or kind.is_signed):
        return _ANYTHING
    if kind.name not in ("f32", "f64", "i32", "i64"):
        return _ANYTHING
    return _Index(left.dimension, int(plus))


def _comparison(node: Node, operands: list[_Known], row: int, key: int, ahead: int) -> _Known:
    direction = node.attributes["comparison_direction"]
    left, right = operands
    if direction in ("LT", "LE"):
        left, right, direction = right, left, {"LT": "GT", "LE": "GE"}[direction]
    if direction in ("GE", "GT"):
        strict = direction == "GT"
        if isinstance(left, _Index) and isinstance(right, _Index):
            # row + p >= key + q is false for every key >= row + ahead + 1 if p < ahead + 1 + q.
            if (left.dimension, right.dimension) == (row, key):
                gap = ahead + 1 + right.plus - left.plus
                return _FALSE if gap > 0 or (strict and gap == 0) else _FALSE_OR_TRUE
            return _FALSE_OR_TRUE
        if isinstance(left, _Range) and isinstance(right, _Range):
            below = left.high <= right.low if strict else left.high < right.low
            return _FALSE if below else _FALSE_OR_TRUE
        return _FALSE_OR_TRUE
    both = isinstance(left, _Range) and left == right and left.low == left.high
    if direction == "NE" and both:
        return _FALSE
    if direction == "EQ" and isinstance(left, _Range) and isinstance(right, _Range):
        apart = left.high < right.low or right.high < left.low
        return _FALSE if apart else _FALSE_OR_TRUE
    return _FALSE_OR_TRUE
