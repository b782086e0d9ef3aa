"""Complex elementary functions in the precision of their operand, where NumPy's lose accuracy or a
special value.

They are called on operands widened by `element_types.extend`; branch cuts and special values are
C11 annex G's.
"""

from __future__ import annotations

import numpy as np

from hlo.reference.element_types import Array, from_parts, parts


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

    The real part is log1p(2x + x^2 + y^2) / 2 with the sum in doubled precision, as x < 0 can
    cancel nearly all of it.
    """
    x, y = parts(z)
    one = x.dtype.type(1)
    near = (np.abs(x) < 4) & (np.abs(y) < 4)
    xs, ys = np.where(near, x, 0), np.where(near, y, 0)
    x2, x2_error = _two_square(xs)
    y2, y2_error = _two_square(ys)
    total, error = _two_sum(2 * xs, x2)
    total, more = _two_sum(total, y2)
    small = np.log1p(total + (error + more + x2_error + y2_error)) / 2
    large = np.log(np.hypot(np.where(near, 1, x + one), np.where(near, 1, y)))
    return from_parts(np.where(near, small, large), np.arctan2(y, x + one), z.dtype)


def exponential(z: Array) -> Array:
    """exp(x) (cos(y) + i sin(y)): NaN for infinite y, also where C11 has an infinite or zero
    limit.
    """
    result = np.asarray(np.exp(z))
    return np.where(~np.isfinite(np.imag(z)), np.asarray(complex(np.nan, np.nan), z.dtype), result)


def exponential_minus_one(z: Array) -> Array:
    """exp(z) - 1: real part expm1(x) cos(y) - 2 sin(y / 2)^2, imaginary part exp(x) sin(y)."""
    x, y = parts(z)
    half = np.sin(y / 2)
    real = np.where(y == 0, np.expm1(x), np.expm1(x) * np.cos(y) - 2 * half * half)
    whole_real, whole_imag = parts(exponential(z))
    finite = np.isfinite(x) & np.isfinite(y)
    return from_parts(np.where(finite, real, whole_real - 1), whole_imag, z.dtype)


def square(z: Array) -> Array:
    """z * z with a real part that neither cancels nor overflows early: (x - y)(x + y)."""
    x, y = parts(z)
    same = (x == y) | (x == -y)
    infinite = np.isinf(x) & np.isinf(y)
    real = np.where(same & ~infinite, 0, (x - y) * (x + y))
    real = np.where(infinite, np.nan, real)
    return from_parts(real, 2 * (x * y), z.dtype)


def tangent(z: Array) -> Array:
    """tan(z) = -i tanh(iz)."""
    x, y = parts(z)
    real, imag = parts(np.asarray(np.tanh(from_parts(-y, x, z.dtype))))
    return from_parts(imag, -real, z.dtype)


def reciprocal_square_root(z: Array) -> Array:
    """1 / sqrt(z); infinite at zero, zero at infinity."""
    x, y = parts(z)
    root_real, root_imag = parts(np.asarray(np.sqrt(z)))
    magnitude = root_real * root_real + root_imag * root_imag
    zero, infinite = z == 0, np.isinf(x) | np.isinf(y)
    real = np.where(zero, np.inf, np.where(infinite, 0, root_real / magnitude))
    imag = np.where(zero, np.where(y == 0, np.nan, 0), -root_imag / magnitude)
    imag = np.where(infinite, -np.copysign(0, y), imag)
    return from_parts(real, imag, z.dtype)


def logistic(z: Array) -> Array:
    """1 / (1 + exp(-z))."""
    return np.asarray(1 / (1 + np.exp(-z)))


def atan2(y: Array, x: Array) -> Array:
    """-i log((x + iy) / sqrt(x^2 + y^2))."""
    ratio = (x + 1j * y) / np.sqrt(x * x + y * y)
    real, imag = parts(np.asarray(np.log(ratio)))
    return from_parts(imag, -real, ratio.dtype)


def arc_cosh(z: Array) -> Array:
    """acosh(z)."""
    return np.asarray(np.arccosh(z))


def multiply(lhs: Array, rhs: Array) -> Array:
    """(a + ib)(c + id) by its definition: infinities are not recovered from NaN, as XLA has it."""
    (a, b), (c, d) = parts(lhs), parts(rhs)
    return from_parts(a * c - b * d, a * d + b * c, lhs.dtype)


def divide(lhs: Array, rhs: Array) -> Array:
    """Division that recovers infinities and zeros as C11 annex G.5.1 does."""
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    real, imag = parts(np.asarray(lhs / rhs))
    (a, b), (c, d) = parts(lhs), parts(rhs)
    lost = np.isnan(real) & np.isnan(imag)
    by_zero = lost & (c == 0) & (d == 0) & ~(np.isnan(a) & np.isnan(b))
    infinity = np.copysign(np.inf, c)
    infinite_lhs = lost & (np.isinf(a) | np.isinf(b)) & np.isfinite(c) & np.isfinite(d)
    a1 = np.copysign(np.where(np.isinf(a), 1.0, 0.0), a)
    b1 = np.copysign(np.where(np.isinf(b), 1.0, 0.0), b)
    infinite_rhs = lost & (np.isinf(c) | np.isinf(d)) & np.isfinite(a) & np.isfinite(b)
    c1 = np.copysign(np.where(np.isinf(c), 1.0, 0.0), c)
    d1 = np.copysign(np.where(np.isinf(d), 1.0, 0.0), d)
    cases = [by_zero, infinite_lhs, infinite_rhs]
    real = np.select(
        cases, [infinity * a, np.inf * (a1 * c + b1 * d), 0.0 * (a * c1 + b * d1)], real
    )
    imag = np.select(
        cases, [infinity * b, np.inf * (b1 * c - a1 * d), 0.0 * (b * c1 - a * d1)], imag
    )
    return from_parts(real, imag, lhs.dtype)


def power(base: Array, exponent: Array) -> Array:
    """exp(exponent log(base)).

    One for a zero exponent, zero for a zero base with Re exponent > 0.
    """
    base, exponent = np.broadcast_arrays(base, exponent)
    general = np.exp(exponent * np.log(base))
    zero_base = (base == 0) & (np.real(exponent) > 0)
    one = np.ones_like(general)
    return np.select([exponent == 0, zero_base], [one, np.zeros_like(general)], general)


def cube_root(z: Array) -> Array:
    """The principal cube root."""
    return np.asarray(np.power(z, np.real(z).dtype.type(1) / 3))


def sign(z: Array) -> Array:
    """z / |z|; zero of zero, NaN if either part is."""
    x, y = parts(z)
    magnitude = np.abs(z)
    unit = from_parts(x / magnitude, y / magnitude, z.dtype)
    nan = np.isnan(x) | np.isnan(y)
    return np.select([nan, magnitude == 0], [np.full_like(z, complex(np.nan, np.nan)), 0], unit)


def asin_acos_kernel(z: Array) -> Array:
    """w of asin(z) = atan2(x, Re w) + i sign(y) Im w, acos(z) = atan2(Re w, x) - i sign(y) Im w.

    With a = (|z + 1| + |z - 1|) / 2 it is sqrt(a^2 - x^2) + i acosh(a); Hull, Fairgrieve and Tang,
    "Implementing the complex arcsine and arccosine functions using exception handling", 1997.
    """
    angle, height = parts(np.asarray(np.arccos(z)))
    height = np.abs(height)
    return from_parts(np.cosh(height) * np.sin(angle), height, z.dtype)
