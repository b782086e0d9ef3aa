"""log and the inverse hyperbolic functions, by a polynomial on [sqrt(1/2), sqrt(2))."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients, host_instructions
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Mask,
    Pair,
    Real,
    polynomial,
)

_LOG_2 = {
    "f32": (0.693359375, -2.12194440e-4),
    "f64": (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")),
}
_LN_2 = 0.6931471805599453
# The pattern of sqrt(1/2).
_ROOT_HALF = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}


def split(x: Real) -> tuple[Real, Real]:
    """(m, e) with x = m * 2**e and m in [sqrt(1/2), sqrt(2)), for positive finite x."""
    root_half = _ROOT_HALF[x.scalar]
    if (parts := host_instructions.split_exponent(x)) is not None:
        mantissa, exponent = parts
        above = mantissa >= x.integer(root_half + (1 << x.mantissa)).as_real()
        return above.real(mantissa * 0.5, mantissa), above.real(exponent + 1.0, exponent)
    tiny = x < x.smallest_normal
    bits = tiny.real(x * 2.0 ** (x.mantissa + 1), x).bits()
    exponent = (bits - root_half).sar(x.mantissa)
    mantissa = (bits - (exponent << x.mantissa)).as_real()
    return mantissa, small_to_real(tiny.bits(exponent - (x.mantissa + 1), exponent), x)


def small_to_real(exponent: Bits, like: Real) -> Real:
    """A small signed integer as a float, without the slow 64-bit conversion."""
    if not like.is_double:
        return exponent.to_real("f32")
    magic = 1.5 * 2.0**52
    return (exponent + like.lift(magic).bits()).as_real() - magic


def _log_parts(fraction: Real, correction: Real | None) -> Pair:
    """log(1 + fraction + correction) as (large, small) for fraction in [sqrt(1/2) - 1, sqrt(2) -
    1].
    """
    half_square = fraction * fraction * 0.5
    if not fraction.is_double:
        series = polynomial(fraction, coefficients.LOG_DIRECT["f32"])
        small = (fraction * half_square * 2.0).fma(series, -half_square)
    else:
        ratio = fraction / (fraction + 2.0)
        square = ratio * ratio
        series = polynomial(square, coefficients.LOG_RATIO["f64"]) * square
        small = ratio.fma(half_square + series, -half_square)
    return fraction, small if correction is None else small + correction


def _combine(parts: Pair, exponent: Real) -> Real:
    large, small = parts
    high, low = _LOG_2[large.scalar]
    return exponent.fma(high, large + exponent.fma(low, small))


def log(x: Real, correction: Real | None = None) -> Real:
    """log(x + correction); -inf at 0, NaN below; `correction` is below the unit of x."""
    mantissa, exponent = split(x)
    low = None if correction is None else correction / x
    result = _combine(_log_parts(mantissa - 1.0, low), exponent)
    fixed = host_instructions.fix_up(result, x, _LOG_LIMITS)
    if fixed is not None:
        return fixed
    special = x.eq(0.0).real(float("-inf"), (x < 0.0).real(float("nan"), x))
    return ((x > 0.0) & (x < float("inf"))).real(result, special)


_LOG_LIMITS = {
    "quiet nan": "operand",
    "signaling nan": "quieted operand",
    "zero": "-inf",
    "-inf": "nan",
    "inf": "inf",
    "negative": "nan",
}


def _one_plus(x: Real) -> Pair:
    """1 + x exactly, as (rounded sum, error)."""
    total = x + 1.0
    lost = (x >= 1.0).real(1.0 - (total - x), x - (total - 1.0))
    return total, lost


def log1p(x: Real) -> Real:
    """log(1 + x); -inf at -1, NaN below; keeps -0."""
    total, lost = _one_plus(x)
    # 1 + x rounds to 1: the logarithm is x to the last bit.
    return total.eq(1.0).real(x, log(total, lost))


def _log1p_or_log_twice(x: Real, magnitude: Real, large: Mask) -> Real:
    """log(2 magnitude) where `large` holds, log1p(x) elsewhere, by one logarithm."""
    total, lost = _one_plus(x)
    result = log(large.real(magnitude, total), large.real(0.0, lost))
    result = large.real(result + _LN_2, result)
    return (total.eq(1.0) & ~large).real(x, result)


def _bound(x: Real) -> float:
    """From here on, x**2 + 1 and x**2 - 1 are x**2."""
    return 2.0 ** (x.mantissa // 2 + 3)


def asinh(x: Real) -> Real:
    """log1p(a + a**2 / (1 + sqrt(a**2 + 1))) for a = |x|, with the sign of x; log(2a) where that is
    no better.
    """
    magnitude = abs(x)
    bounded = magnitude.at_most(_bound(x))
    square = bounded * bounded
    argument = bounded + square / ((square + 1.0).sqrt() + 1.0)
    return _log1p_or_log_twice(argument, magnitude, magnitude > _bound(x)).copysign(x)


def acosh(x: Real) -> Real:
    """log1p(t + sqrt(2t + t**2)) for t = x - 1; log(2x) where that is no better; NaN below 1."""
    rest = x.at_most(_bound(x)) - 1.0
    argument = rest + rest.fma(rest, rest + rest).sqrt()
    result = _log1p_or_log_twice(argument, x, x > _bound(x))
    return (x < 1.0).real(float("nan"), result)


def atanh(x: Real) -> Real:
    """log1p(2a / (1 - a)) / 2 for a = |x|, with the sign of x; infinite at 1, NaN above."""
    magnitude = abs(x)
    grown = log1p((magnitude + magnitude) / (1.0 - magnitude)) * 0.5
    return (magnitude > 1.0).real(float("nan"), grown).copysign(x)
