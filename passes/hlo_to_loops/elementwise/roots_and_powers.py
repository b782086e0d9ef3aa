"""cbrt and power."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.logarithm import split
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Mask,
    Pair,
    Real,
    branch,
    fast_two_sum,
    polynomial,
    two_product,
)
from hlo.passes.hlo_to_loops.elementwise.whole_numbers import nearest_integer, scale, two_to

# A third of the pattern of x plus this is near the pattern of its cube root.
_CBRT_BIAS = {"f32": 709958130, "f64": 0x2A9F7893782DA1CE}
_COUNT_BITS = 4  # of whole exponents for which a power is a few products


def cbrt(x: Real) -> Real:
    """A linear guess on the bits, Halley's iteration, and a Newton step with the exact residual."""
    magnitude = abs(x)
    usual = (magnitude > 0.0) & magnitude.is_finite()
    # Away from subnormal numbers and from overflow of three cubes.
    lift = 3 * (x.mantissa // 3 + 2)
    tiny, huge = magnitude < x.smallest_normal, magnitude > 2.0**100
    up = tiny.real(x.lift(2.0**lift), huge.real(x.lift(2.0**-lift), 1.0))
    down = tiny.real(x.lift(2.0 ** (-lift // 3)), huge.real(x.lift(2.0 ** (lift // 3)), 1.0))
    safe = usual.real(magnitude * up, 1.0)
    third = (safe.bits().to_real(x.scalar) * (1.0 / 3.0)).to_integer()
    root = (third + _CBRT_BIAS[x.scalar]).as_real()
    for _ in range(2 if not x.is_double else 3):
        cube = root * root * root
        root = root * ((cube + safe + safe) / (cube + cube + safe))
    square, square_error = two_product(root, root)
    residual = square.fma(root, -safe) + square_error * root
    root = root - residual / (square * 3.0)
    return usual.real((root * down).copysign(x), x)


def _is_integer(x: Real) -> Mask:
    return x.unary("math.trunc").eq(x)


def power(x: Real, y: Real) -> Real:
    """x**y with the special cases of IEEE 754 pow: 1 for y = 0 or x = 1, NaN for negative x and
    fractional y. Of `f32`, those of small whole exponents are products.
    """
    if x.is_double or not x.b.is_for_host:
        return _power_of_any(x, y)
    count = nearest_integer(y)
    small = count.real.eq(y) & (y >= 0.0) & (y < 2.0**_COUNT_BITS)

    def product() -> list[Real]:
        return [_power_of_count(x, count.low_bits)]

    def mixed() -> list[Real]:
        any_ = _power_of_any(x, y)
        return branch(small, ["f32"], lambda: [small.real(product()[0], any_)], lambda: [any_])

    return branch(~small, ["f32"], mixed, product)[0]


def _power_of_count(x: Real, count: Bits) -> Real:
    """x**count by repeated squaring in `f64`, for counts of _COUNT_BITS bits; 1 for 0."""
    square, result = x.cast("f64"), Real(x.b, x.b.constant(1.0, "f64"), "f64")
    for bit in range(_COUNT_BITS):
        result = (count & (1 << bit)).ne(0).real(result * square, result)
        if bit + 1 < _COUNT_BITS:
            square = square * square
    return result.cast("f32")


def _power_of_any(x: Real, y: Real) -> Real:
    magnitude = abs(x)
    result = _power_single(magnitude, y) if not x.is_double else _power_double(magnitude, y)
    integral = _is_integer(y)
    half = y * 0.5
    odd = integral & ~_is_integer(half)
    negative = x.sign_bit()
    signed = (negative & odd).real(-result, result)
    undefined = (x < 0.0) & x.is_finite() & ~integral
    signed = undefined.real(float("nan"), signed)
    one = y.eq(0.0) | x.eq(1.0) | (x.eq(-1.0) & y.is_infinite())
    return one.real(1.0, signed)


def _log2_double(x: Real) -> tuple[Real, Pair]:
    """(e, f) with log2(x) = e + f0 + f1, for positive finite x in `f64`; about 68 bits."""
    mantissa, exponent = split(x)
    # s = (m - 1) / (m + 1) in two parts.
    numerator, denominator = mantissa - 1.0, mantissa + 1.0
    denominator_error = mantissa - (denominator - 1.0)
    s = numerator / denominator
    s_low = ((-s).fma(denominator, numerator) - s * denominator_error) / denominator
    # atanh(s) = s + s**3 / 3 + s**5 P(s**2), the cubic term in two parts.
    square, square_error = two_product(s, s)
    square_error = square_error + 2.0 * s * s_low
    cube, cube_error = two_product(square, s)
    cube_error = cube_error + square * s_low + square_error * s
    third, third_low = 1.0 / 3.0, float.fromhex("0x1.5555555555555p-56")
    cubic, cubic_error = two_product(cube, cube.lift(third))
    cubic_error = cubic_error + cube * third_low + cube_error * third
    rest = cube * square * polynomial(square, coefficients.LOG2_RATIO["f64"])
    high, low = fast_two_sum(s, cubic)
    low = low + (s_low + cubic_error + rest)
    # Times 2 / ln 2.
    factor, factor_low = 2.8853900817779268, float.fromhex("0x1.777d0ffda0d24p-55")
    product, product_error = two_product(high, high.lift(factor))
    product_error = product_error + (high * factor_low + low * factor)
    return exponent, fast_two_sum(product, product_error)


def _limits(magnitude: Real, y: Real, usual: Mask, regular: Real) -> Real:
    """`regular` where the base is positive and finite, else the limits; NaN for NaN."""
    grows = magnitude.is_infinite() ^ (y < 0.0)
    limit = grows.real(regular.lift(float("inf")), 0.0)
    unknown = magnitude.is_nan() | y.is_nan()
    return unknown.real(float("nan"), usual.real(regular, limit))


def _exp2_double(high: Real, low: Real) -> Real:
    """2**(high + low), clamped where that is infinite or zero."""
    inside = abs(high) < 1080.0
    count = nearest_integer(high.at_most(1080.0).at_least(-1080.0))
    rest = inside.real(high - count.real, 0.0)
    ln2, ln2_low = 0.6931471805599453, 2.3190468138462996e-17
    scaled, error = two_product(rest, rest.lift(ln2))
    error = error + (rest * ln2_low + inside.real(low, 0.0) * ln2)
    scaled, error = fast_two_sum(scaled, error)
    fraction = (scaled * scaled).fma(polynomial(scaled, coefficients.EXP["f64"]), error)
    grown, left = fast_two_sum(scaled.lift(1.0), scaled)
    return scale(grown + (left + scaled.fma(error, fraction)), count)


def _power_double(magnitude: Real, y: Real) -> Real:
    usual = (magnitude > 0.0) & magnitude.is_finite()
    exponent, (high, low) = _log2_double(usual.real(magnitude, 1.0))
    high, rest = fast_two_sum(exponent, high)
    low = low + rest
    high, low = fast_two_sum(high, low)
    # Far larger exponents overflow or vanish just as well, and stay clear of inf - inf; x = 1 is
    # set apart.
    bounded = y.at_most(2.0**80).at_least(-(2.0**80))
    product, error = two_product(high, bounded)
    error = error + low * bounded
    product, error = fast_two_sum(product, error)
    return _limits(magnitude, y, usual, _exp2_double(product, error))


def _power_single(magnitude: Real, y: Real) -> Real:
    """In `f64`, where the product of the logarithm and y needs no second part."""
    wide, exponent_y = magnitude.cast("f64"), y.cast("f64")
    usual = (wide > 0.0) & wide.is_finite()
    mantissa, exponent = split(usual.real(wide, 1.0))
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    log = s.fma(square * polynomial(square, coefficients.POWER_LOG["f64"]), s) * 2.8853900817779268
    product = (exponent + log) * exponent_y
    clamped = product.at_most(200.0).at_least(-200.0)
    count = nearest_integer(clamped)
    rest = clamped - count.real
    series = polynomial(rest, coefficients.POWER_EXP2["f64"])
    result = rest.fma(series, 1.0) * two_to(count, wide)
    return _limits(wide, exponent_y, usual, result).cast("f32")
