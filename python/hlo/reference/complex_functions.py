"""Complex elementary functions in the precision of their operand, where NumPy's lose accuracy or a special value.

They are called on operands widened by `element_types.extend`; branch cuts and special values are C11 annex G's.
"""

from __future__ import annotations

import numpy as np

from hlo.reference.element_types import Array


def _combine(real: Array, imag: Array, like: Array) -> Array:
    result = np.empty(like.shape, like.dtype)
    result.real, result.imag = real, imag
    return result


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_square(a: Array) -> tuple[Array, Array]:
    """a * a and its rounding error (Dekker's product with Veltkamp's splitting)."""
    digits = np.finfo(a.dtype).nmant + 1
    scaled = a * a.dtype.type(2 ** ((digits + 1) // 2) + 1)
    high = scaled - (scaled - a)
    low = a - high
    product = a * a
    return product, ((high * high - product) + 2 * high * low) + low * low


def log_plus_one(z: Array) -> Array:
    """log(1 + z), accurate where |1 + z| is near 1.

    The real part is log1p(2x + x^2 + y^2) / 2 with the sum in doubled precision, as x < 0 can cancel nearly all of it.
    """
    x, y = z.real, z.imag
    one = x.dtype.type(1)
    near = (np.abs(x) < 4) & (np.abs(y) < 4)
    xs, ys = np.where(near, x, 0), np.where(near, y, 0)
    x2, x2_error = _two_square(xs)
    y2, y2_error = _two_square(ys)
    total, error = _two_sum(2 * xs, x2)
    total, more = _two_sum(total, y2)
    small = np.log1p(total + (error + more + x2_error + y2_error)) / 2
    large = np.log(np.hypot(np.where(near, 1, x + one), np.where(near, 1, y)))
    return _combine(np.where(near, small, large), np.arctan2(y, x + one), z)


def exponential(z: Array) -> Array:
    """exp(x) (cos(y) + i sin(y)): NaN for infinite y, also where C11 has an infinite or zero limit."""
    result = np.asarray(np.exp(z))
    return np.where(~np.isfinite(z.imag), np.asarray(complex(np.nan, np.nan), z.dtype), result)


def exponential_minus_one(z: Array) -> Array:
    """exp(z) - 1: real part expm1(x) cos(y) - 2 sin(y / 2)^2, imaginary part exp(x) sin(y)."""
    x, y = z.real, z.imag
    half = np.sin(y / 2)
    real = np.where(y == 0, np.expm1(x), np.expm1(x) * np.cos(y) - 2 * half * half)
    whole = exponential(z)
    finite = np.isfinite(x) & np.isfinite(y)
    return _combine(np.where(finite, real, whole.real - 1), whole.imag, z)


def square(z: Array) -> Array:
    """z * z with a real part that neither cancels nor overflows early: (x - y)(x + y)."""
    x, y = z.real, z.imag
    same = (x == y) | (x == -y)
    infinite = np.isinf(x) & np.isinf(y)
    real = np.where(same & ~infinite, 0, (x - y) * (x + y))
    real = np.where(infinite, np.nan, real)
    return _combine(real, 2 * (x * y), z)


def tangent(z: Array) -> Array:
    """tan(z) = -i tanh(iz)."""
    rotated = np.tanh(_combine(-z.imag, z.real, z))
    return _combine(rotated.imag, -rotated.real, z)


def reciprocal_square_root(z: Array) -> Array:
    """1 / sqrt(z); infinite at zero, zero at infinity."""
    root = np.sqrt(z)
    magnitude = root.real * root.real + root.imag * root.imag
    zero = z == 0
    infinite = np.isinf(z.real) | np.isinf(z.imag)
    real = np.where(zero, np.inf, np.where(infinite, 0, root.real / magnitude))
    imag = np.where(zero, np.where(z.imag == 0, np.nan, 0), -root.imag / magnitude)
    imag = np.where(infinite, -np.copysign(0, z.imag), imag)
    return _combine(real, imag, z)


def logistic(z: Array) -> Array:
    """1 / (1 + exp(-z))."""
    return np.asarray(1 / (1 + np.exp(-z)))


def atan2(y: Array, x: Array) -> Array:
    """-i log((x + iy) / sqrt(x^2 + y^2))."""
    ratio = (x + 1j * y) / np.sqrt(x * x + y * y)
    logarithm = np.log(ratio)
    return _combine(logarithm.imag, -logarithm.real, logarithm)


def arc_cosh(z: Array) -> Array:
    """acosh(z)."""
    return np.asarray(np.arccosh(z))
