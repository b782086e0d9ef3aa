"""The special functions among the CHLO operations, on real floating-point operands."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from hlo.diagnostics import MissingExtraError
from hlo.reference.element_types import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Array,
    rounded,
    widen,
)


@functools.cache
def _scipy_special() -> ModuleType:
    try:
        return importlib.import_module("scipy.special")
    except ImportError as error:
        raise MissingExtraError(
            "the reference evaluator computes special functions with SciPy, which is not "
            "installed; run `pip install 'hlo[test]'`"
        ) from error


def erf(operand: Array) -> Array:
    """Error function."""
    return rounded(_scipy_special().erf, operand)


def erfc(operand: Array) -> Array:
    """Complementary error function, 1 - erf(x)."""
    return rounded(_scipy_special().erfc, operand)


def erf_inv(operand: Array) -> Array:
    """Inverse error function; infinite at -1 and 1, NaN beyond."""
    return rounded(lambda x: np.where(x == 0, x, _scipy_special().erfinv(x)), operand)


def lgamma(operand: Array) -> Array:
    """Logarithm of the magnitude of the gamma function; infinite at its poles and at infinities."""
    return rounded(_lgamma, operand)


def _lgamma(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        near_zero = -np.log(
            np.abs(x)
        )  # where scipy's is infinite: beside the pole, x gamma(x) is 1
    found = np.where(np.abs(x) < 1e-300, near_zero, _scipy_special().gammaln(x))
    return np.where(np.isinf(x), np.inf, found)


def _digamma(x: Array) -> Array:
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(pole, np.nan, _scipy_special().digamma(x))


def digamma(operand: Array) -> Array:
    """Derivative of log gamma; NaN at zero and the negative integers."""
    return rounded(_digamma, operand)


def _zeta(x: Array, q: Array) -> Array:
    return np.asarray(_scipy_special().zeta(x, q))


def zeta(lhs: Array, rhs: Array) -> Array:
    """Hurwitz zeta function, the sum of (rhs + k) ** -lhs over k >= 0."""
    return rounded(_zeta, lhs, rhs)


def _polygamma(n: Array, x: Array) -> Array:
    special: Any = _scipy_special()
    sign = np.where(np.remainder(n, 2) == 0, -1.0, 1.0)
    order = np.where(n > 0, n, 1.0)
    general = sign * special.gamma(order + 1) * special.zeta(order + 1, x)
    invalid = (n < 0) | (n != np.floor(n))
    return np.select([invalid, n == 0], [np.nan, _digamma(x)], general)


def polygamma(n: Array, x: Array) -> Array:
    """The n-th derivative of digamma at x; NaN for a negative or fractional n."""
    return rounded(_polygamma, n, x)


def bessel_i1e(operand: Array) -> Array:
    """Exponentially scaled modified Bessel function of order one, exp(-|x|) I1(x)."""
    return rounded(lambda x: np.where(x == 0, x, _scipy_special().i1e(x)), operand)


def _next_after_bits(x: Array, y: Array) -> Array:
    """The neighbour of x toward y by stepping the bit pattern, for types NumPy has no nextafter
    of.
    """
    bits = np.dtype(f"u{x.dtype.itemsize}")
    sign_bit = bits.type(1 << (_magnitude_bits(x.dtype)))
    wide_x, wide_y = widen(x), widen(y)
    pattern = np.ascontiguousarray(x).reshape(x.shape).view(bits)
    away = (wide_y > wide_x) == (wide_x > 0)
    stepped = np.where(away, pattern + bits.type(1), pattern - bits.type(1)).astype(bits)
    smallest = np.where(wide_y > 0, bits.type(1), sign_bit | bits.type(1)).astype(bits)
    moved = np.where(wide_x == 0, smallest, stepped).astype(bits).view(x.dtype)
    nan = np.isnan(wide_x) | np.isnan(wide_y)
    result = np.where(wide_x == wide_y, y, moved)
    return np.asarray(np.where(nan, np.asarray(np.nan).astype(x.dtype), result), x.dtype)


def _magnitude_bits(dtype: Any) -> int:
    finfo: Any = ml_dtypes.finfo(dtype)
    return int(finfo.bits) - 1


def next_after(x: Array, y: Array) -> Array:
    """The representable neighbour of x in the direction of y; y itself if they are equal."""
    x, y = np.broadcast_arrays(x, y)
    if x.dtype in (FLOAT16, FLOAT32, FLOAT64):
        with np.errstate(all="ignore"):
            # Of equal f16 numbers NumPy gives the first, which may be the other zero.
            return np.asarray(np.where(x == y, y, np.nextafter(x, y)), x.dtype)
    return _next_after_bits(x, y)


def _is_infinite(operand: Array, sign: int) -> Array:
    wide = widen(operand)
    return np.asarray(np.isinf(wide) & (np.signbit(wide) == (sign < 0)))


def is_inf(operand: Array) -> Array:
    """Whether elements are infinite, of either sign."""
    return np.asarray(np.isinf(widen(operand)))


def is_pos_inf(operand: Array) -> Array:
    """Whether elements are positive infinity."""
    return _is_infinite(operand, 1)


def is_neg_inf(operand: Array) -> Array:
    """Whether elements are negative infinity."""
    return _is_infinite(operand, -1)
