"""Elementwise arithmetic. Operands broadcast as in NumPy and have one element type.

Integers wrap. Where the specification leaves a case open, XLA's choice is taken: x / 0 is -1 (all
ones), x % 0 is x, and the minimum divided by -1 is itself. On booleans add is or, multiply is and.
"""

from __future__ import annotations

import numpy as np

from hlo.reference import complex_functions
from hlo.reference.element_types import (
    BOOL,
    Array,
    bit_width,
    is_complex,
    is_float,
    is_signed_integer,
    is_unsigned_integer,
    orderable,
    parts,
    real_type,
    rounded,
    rounded_extended,
    storage_type,
    wrap_integers,
    wrapped,
)


def add(lhs: Array, rhs: Array) -> Array:
    """Sum; logical or of booleans."""
    if lhs.dtype == BOOL:
        return np.asarray(lhs | rhs)
    if is_float(lhs.dtype) or is_complex(lhs.dtype):
        return rounded(np.add, lhs, rhs)
    return wrapped(np.add, lhs, rhs)


def subtract(lhs: Array, rhs: Array) -> Array:
    """Difference; exclusive or of booleans."""
    if lhs.dtype == BOOL:
        return np.asarray(lhs ^ rhs)
    if is_float(lhs.dtype) or is_complex(lhs.dtype):
        return rounded(np.subtract, lhs, rhs)
    return wrapped(np.subtract, lhs, rhs)


def multiply(lhs: Array, rhs: Array) -> Array:
    """Product; logical and of booleans."""
    if lhs.dtype == BOOL:
        return np.asarray(lhs & rhs)
    if is_complex(lhs.dtype):
        return rounded_extended(complex_functions.multiply, lhs, rhs)
    if is_float(lhs.dtype):
        return rounded(np.multiply, lhs, rhs)
    return wrapped(np.multiply, lhs, rhs)


def mulhi(lhs: Array, rhs: Array) -> Array:
    """The high half of the double-width product of integers."""
    bits = bit_width(lhs.dtype)
    high = (lhs.astype(object) * rhs.astype(object)) >> bits
    return wrap_integers(np.asarray(high, object).astype(storage_type(lhs.dtype)), lhs.dtype)


def _integer_quotient(lhs: Array, rhs: Array) -> Array:
    """Quotient rounded toward zero."""
    zero = rhs == 0
    if lhs.dtype.kind == "u":
        return np.where(zero, np.iinfo(lhs.dtype).max, lhs // np.where(zero, 1, rhs))
    overflow = rhs == -1
    safe = np.where(zero | overflow, 1, rhs).astype(lhs.dtype)
    floor = np.floor_divide(lhs, safe)
    inexact = (np.remainder(lhs, safe) != 0) & ((lhs < 0) != (safe < 0))
    quotient = floor + inexact.astype(lhs.dtype)
    return np.select([zero, overflow], [np.asarray(-1, lhs.dtype), -lhs], quotient)


def divide(lhs: Array, rhs: Array) -> Array:
    """Quotient; of integers, rounded toward zero."""
    if is_complex(lhs.dtype):
        return rounded_extended(complex_functions.divide, lhs, rhs)
    if is_float(lhs.dtype):
        return rounded(np.divide, lhs, rhs)
    return wrapped(_integer_quotient, lhs, rhs)


def _integer_remainder(lhs: Array, rhs: Array) -> Array:
    zero = rhs == 0
    one = np.asarray(1, lhs.dtype)
    trivial = zero if lhs.dtype.kind == "u" else zero | (rhs == -1)
    rest = np.fmod(lhs, np.where(trivial, one, rhs))
    return np.where(zero, lhs, rest)


def remainder(lhs: Array, rhs: Array) -> Array:
    """Remainder of truncating division: it takes the sign of the dividend."""
    if is_float(lhs.dtype):
        return rounded(np.fmod, lhs, rhs)
    return wrapped(_integer_remainder, lhs, rhs)


def _integer_power(base: Array, exponent: Array) -> Array:
    negative = exponent < 0
    base, exponent = np.broadcast_arrays(base, np.where(negative, 0, exponent))
    square = base.copy()
    left = np.array(exponent)
    result = np.ones_like(square)
    while np.any(left != 0):
        result = np.where(left & 1 != 0, result * square, result)
        square = square * square
        left = left >> 1
    return np.asarray(result)


def _negative_power(base: Array, exponent: Array) -> Array:
    """base ** exponent for a negative exponent: 0 unless the base is 1 or -1."""
    odd = np.where(exponent & 1 != 0, -1, 1)
    return np.select([base == 1, base == -1], [np.ones_like(odd), odd], 0)


def _signed_power(base: Array, exponent: Array) -> Array:
    return np.where(exponent < 0, _negative_power(base, exponent), _integer_power(base, exponent))


def power(lhs: Array, rhs: Array) -> Array:
    """lhs to the power rhs; floats as IEEE-754 `pow`, integers modulo 2^n."""
    if is_complex(lhs.dtype):
        return rounded_extended(complex_functions.power, lhs, rhs)
    if is_float(lhs.dtype):
        return rounded_extended(np.power, lhs, rhs)
    if lhs.dtype == BOOL:
        return np.asarray(lhs | ~rhs)
    return wrapped(_signed_power if is_signed_integer(lhs.dtype) else _integer_power, lhs, rhs)


def negate(operand: Array) -> Array:
    """Negation; modulo 2^n of integers."""
    if is_float(operand.dtype) or is_complex(operand.dtype):
        return rounded(np.negative, operand)
    return wrapped(np.negative, operand)


def abs_(operand: Array) -> Array:
    """Magnitude.

    Of complex numbers, without undue overflow. The minimum integer is its own magnitude.
    """
    if is_complex(operand.dtype):
        return rounded_extended(np.abs, operand, dtype=real_type(operand.dtype))
    if is_float(operand.dtype):
        return rounded(np.abs, operand)
    return operand if is_unsigned_integer(operand.dtype) else wrapped(np.abs, operand)


def sign(operand: Array) -> Array:
    """-1, 0 or 1.

    Zeros keep their sign, NaN stays, a complex number is divided by its magnitude.
    """
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.sign, operand)
    if is_float(operand.dtype):
        return rounded(lambda x: np.where((x == 0) | np.isnan(x), x, np.sign(x)), operand)
    return wrapped(np.sign, operand)


def _lexicographically_greater(lhs: Array, rhs: Array) -> Array:
    (a, b), (c, d) = parts(lhs), parts(rhs)
    return (a > c) | ((a == c) & (b > d))


def _extreme(lhs: Array, rhs: Array, *, largest: bool) -> Array:
    if is_complex(lhs.dtype):
        nan = np.isnan(lhs)
        greater = (
            _lexicographically_greater(lhs, rhs)
            if largest
            else (_lexicographically_greater(rhs, lhs))
        )
        return np.where(nan | greater, lhs, rhs)
    wide_lhs, wide_rhs = orderable(lhs), orderable(rhs)
    with np.errstate(all="ignore"):
        left = wide_lhs > wide_rhs if largest else wide_lhs < wide_rhs
    if is_float(lhs.dtype):
        zeros = (wide_lhs == 0) & (wide_rhs == 0)
        left = np.where(zeros, np.signbit(wide_lhs) != largest, left) | np.isnan(wide_lhs)
    return np.where(left, lhs, rhs)


def maximum(lhs: Array, rhs: Array) -> Array:
    """IEEE-754 `maximum`: NaN wins, +0 exceeds -0; or of booleans; complex by real, then imaginary
    part.
    """
    return np.asarray(lhs | rhs) if lhs.dtype == BOOL else _extreme(lhs, rhs, largest=True)


def minimum(lhs: Array, rhs: Array) -> Array:
    """IEEE-754 `minimum`: NaN wins, -0 is below +0; and of booleans; complex by real, then
    imaginary part.
    """
    return np.asarray(lhs & rhs) if lhs.dtype == BOOL else _extreme(lhs, rhs, largest=False)


def clamp(minimum_value: Array, operand: Array, maximum_value: Array) -> Array:
    """minimum(maximum(operand, minimum_value), maximum_value).

    NaN in any of the three gives NaN.
    """
    return minimum(maximum(operand, minimum_value), maximum_value)


def ceil(operand: Array) -> Array:
    """Least integer not below the operand; -0.25 gives -0."""
    return rounded(np.ceil, operand)


def floor(operand: Array) -> Array:
    """Greatest integer not above the operand."""
    return rounded(np.floor, operand)


def round_nearest_even(operand: Array) -> Array:
    """Nearest integer, ties to even."""
    return rounded(np.rint, operand)


def round_nearest_afz(operand: Array) -> Array:
    """Nearest integer, ties away from zero."""

    def away(x: Array) -> Array:
        whole = np.trunc(x)
        up = np.abs(x - whole) >= 0.5
        return np.copysign(np.where(up, np.abs(whole) + 1, np.abs(whole)), x)

    return rounded(away, operand)
