"""Comparison, selection and classification, elementwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlo.reference.element_types import (
    Array,
    bit_width,
    is_complex,
    is_float,
    orderable,
    parts,
    widen,
)

_DIRECTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


def total_order_key(operand: Array) -> Array:
    """Integers that order as IEEE-754 totalOrder: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    signed = np.dtype(f"i{operand.dtype.itemsize}")
    spare = signed.itemsize * 8 - bit_width(operand.dtype)
    bits = np.ascontiguousarray(operand).reshape(operand.shape).view(signed) << spare
    with np.errstate(over="ignore"):  # Of the branch not taken.
        return np.where(bits < 0, np.iinfo(signed).min - bits - 1, bits)


def compare(
    lhs: Array, rhs: Array, *, comparison_direction: str, compare_type: str | None = None
) -> Array:
    """Booleans of `comparison_direction` (EQ, NE, GE, GT, LE or LT) under `compare_type`.

    FLOAT compares as IEEE-754 does: NaN is unequal to everything. TOTALORDER orders all bit
    patterns. Complex numbers compare by real, then imaginary part.
    """
    direction = _DIRECTIONS[comparison_direction]
    if is_complex(lhs.dtype):
        if comparison_direction in ("EQ", "NE"):
            return np.asarray(direction(lhs, rhs))
        (a, b), (c, d) = parts(lhs), parts(rhs)
        return np.where(a == c, direction(b, d), direction(a, c))
    if is_float(lhs.dtype) and compare_type == "TOTALORDER":
        return np.asarray(direction(total_order_key(lhs), total_order_key(rhs)))
    with np.errstate(all="ignore"):
        return np.asarray(direction(orderable(lhs), orderable(rhs)))


def select(pred: Array, on_true: Array, on_false: Array) -> Array:
    """on_true where pred holds, else on_false; a scalar pred chooses for all elements."""
    return np.asarray(np.where(pred, on_true, on_false))


def is_finite(x: Array) -> Array:
    """Whether elements are neither infinite nor NaN."""
    return np.asarray(np.isfinite(widen(x)))
