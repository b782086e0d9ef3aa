"""Bounds of integer values."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import bit_width, element_of, is_unsigned, shape_of
from hlo.passes.simplify.simplifier import Simplifier

Range: TypeAlias = "tuple[int, int]"
_DEPTH = 6
_KEEP_ELEMENTS = frozenset(
    f"hlo.{name}"
    for name in [
        "broadcast_in_dim",
        "reshape",
        "transpose",
        "slice",
        "reverse",
        "dynamic_slice",
        "gather",
    ]
)


def limits_of(element: ir.Type) -> Range:
    """The smallest and the largest value of an integer or boolean type."""
    width = bit_width(element)
    if is_unsigned(element):
        return 0, (1 << width) - 1
    return -(1 << width - 1), (1 << width - 1) - 1


def range_of(value: ir.Value, s: Simplifier, depth: int = 0) -> Range | None:
    """The least and greatest value that elements of an integer tensor can have, as far as the ops
    that compute them tell; None for other tensors and for empty ones.
    """
    element = element_of(value)
    if not isinstance(element, ir.IntegerType):
        return None
    limits = limits_of(element)
    op = s.producer(value)
    if op is None or depth > _DEPTH:
        return limits
    if op.name == "hlo.constant":
        return _constant_range(s.constant(value), limits)
    if op.name == "hlo.iota":
        size = shape_of(value)[ir.attributes.integer(op, "iota_dimension")]
        return (0, size - 1) if 0 < size - 1 <= limits[1] or size == 1 else limits
    operands = op.operands
    if op.name in _KEEP_ELEMENTS:
        return range_of(operands[0], s, depth + 1) or limits
    if op.name == "hlo.convert":
        inner = range_of(operands[0], s, depth + 1)
        return inner if inner is not None and _inside(inner, limits) else limits
    if op.name in _BINARY:
        left, right = range_of(operands[0], s, depth + 1), range_of(operands[1], s, depth + 1)
        if left is None or right is None:
            return limits
        found = _BINARY[op.name](left, right)
        return found if found is not None and _inside(found, limits) else limits
    if op.name in ("hlo.select", "hlo.concatenate"):
        parts = list(operands)[1:] if op.name == "hlo.select" else list(operands)
        found = [range_of(part, s, depth + 1) for part in parts]
        known = [part for part in found if part is not None]
        return min(lo for lo, _ in known), max(hi for _, hi in known)
    if op.name == "hlo.clamp":
        low, high = range_of(operands[0], s, depth + 1), range_of(operands[2], s, depth + 1)
        if low is not None and high is not None:
            return min(low[0], high[0]), max(low[0], high[1])
    return limits


def _inside(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _constant_range(array: Any, limits: Range) -> Range | None:
    if array is None or array.dtype.kind not in "biu":
        return limits
    if array.size == 0:
        return None
    if array.size > 4096 and any(array.strides):
        return limits
    return int(np.min(array)), int(np.max(array))


def _add(x: Range, y: Range) -> Range:
    return x[0] + y[0], x[1] + y[1]


def _subtract(x: Range, y: Range) -> Range:
    return x[0] - y[1], x[1] - y[0]


def _multiply(x: Range, y: Range) -> Range:
    products = [a * b for a in x for b in y]
    return min(products), max(products)


def _maximum(x: Range, y: Range) -> Range:
    return max(x[0], y[0]), max(x[1], y[1])


def _minimum(x: Range, y: Range) -> Range:
    return min(x[0], y[0]), min(x[1], y[1])


def _remainder(x: Range, y: Range) -> Range | None:
    """The sign is the dividend's, the magnitude below the divisor's; x % 0 is x."""
    if y[0] <= 0:
        return None
    largest = y[1] - 1
    return max(x[0], -largest) if x[0] < 0 else 0, min(x[1], largest) if x[1] > 0 else 0


def _divide(x: Range, y: Range) -> Range | None:
    if y[0] <= 0 or x[0] < 0:
        return None
    return x[0] // y[1], x[1] // y[0]


def _and(x: Range, y: Range) -> Range | None:
    return (0, min(x[1], y[1])) if x[0] >= 0 and y[0] >= 0 else None


def _shift_right(x: Range, y: Range) -> Range | None:
    """Of a logical shift: one by as many bits as there are, or more, leaves 0, as `>>` does."""
    return (x[0] >> y[1], x[1] >> y[0]) if x[0] >= 0 and y[0] >= 0 else None


_BINARY = {
    "hlo.add": _add,
    "hlo.subtract": _subtract,
    "hlo.multiply": _multiply,
    "hlo.maximum": _maximum,
    "hlo.minimum": _minimum,
    "hlo.remainder": _remainder,
    "hlo.divide": _divide,
    "hlo.and": _and,
    "hlo.shift_right_logical": _shift_right,
}
