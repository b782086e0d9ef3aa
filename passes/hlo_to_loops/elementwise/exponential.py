"""exp and its kin: Cody-Waite reduction by multiples of log 2 and a polynomial; exact limits,
subnormal results kept.
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Real,
    polynomial,
    power_of_two,
    scale,
)

_LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has trailing zeros, so that its product with an exponent is exact.
_LOG_2 = {
    "f32": (0.693359375, -2.12194440e-4),
    "f64": (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")),
}
# Beyond these, exp overflows or rounds to zero; the exponent of the result still fits two factors.
_EXP_RANGE = {"f32": (-105.0, 89.5), "f64": (-750.0, 710.5)}
# Below the first, expm1 rounds to -1; above the second, it overflows, and half the scale does not.
_EXPM1_RANGE = {"f32": (-18.0, 88.75), "f64": (-39.0, 709.8)}


def nearest_integer(x: Real) -> tuple[Real, Bits]:
    """x rounded to an integer, as a float and as bits, for |x| below 2**(p - 2).

    By a constant whose unit is 1: a conversion would be undefined on NaN, which here gives NaN and
    arbitrary bits.
    """
    magic = 1.5 * 2.0**x.mantissa
    shifted = x + magic
    return shifted - magic, shifted.bits() - x.lift(magic).bits()


def reduce_exp(x: Real, low: Real | None = None) -> tuple[Real, Bits]:
    """(exp(r) - 1, n) with x + low = n log 2 + r."""
    count, exponent = nearest_integer(x * _LOG2_E)
    high_part, low_part = _LOG_2[x.scalar]
    rest = count.fma(-high_part, x)
    rest = count.fma(-low_part, rest)
    if low is not None:
        rest = rest + low
    square = rest * rest
    return polynomial(rest, coefficients.EXP[x.scalar]).fma(square, rest), exponent


def exp(x: Real, low: Real | None = None) -> Real:
    """e**(x + low), within 1 ULP; `low` is a correction below the unit of x."""
    least, most = _EXP_RANGE[x.scalar]
    fraction, exponent = reduce_exp(x.at_most(most).at_least(least), low)
    return scale(fraction + 1.0, exponent)


def half_exp(x: Real) -> Real:
    """e**x / 2, which overflows later than e**x."""
    least, most = _EXP_RANGE[x.scalar]
    fraction, exponent = reduce_exp(x.at_most(most + 1.0).at_least(least))
    return scale(fraction + 1.0, exponent - 1)


def expm1(x: Real) -> Real:
    """e**x - 1 without cancellation; keeps -0."""
    least, most = _EXPM1_RANGE[x.scalar]
    fraction, exponent = reduce_exp(x.at_most(most).at_least(least))
    half = power_of_two(exponent - 1)
    result = half.fma(fraction, half - 0.5) * 2.0
    return x.eq(0.0).real(x, result)


def logistic(x: Real) -> Real:
    """1 / (1 + e**-x), small results to full precision."""
    decayed = exp(-abs(x))
    return (x < 0.0).real(decayed, 1.0) / (decayed + 1.0)


def tanh(x: Real) -> Real:
    """A polynomial below 0.6, 1 - 2 / (e**(2|x|) + 1) above."""
    magnitude = abs(x)
    square = x * x
    near = (square * x).fma(polynomial(square, coefficients.TANH[x.scalar]), x)
    grown = exp((magnitude + magnitude).at_most(50.0))
    far = 1.0 - 2.0 / (grown + 1.0)
    return (magnitude < 0.6).real(near, far).copysign(x)


def sinh(x: Real) -> Real:
    """A polynomial below 1, (e**|x| - e**-|x|) / 2 above."""
    magnitude = abs(x)
    square = x * x
    near = (square * x).fma(polynomial(square, coefficients.SINH[x.scalar]), x)
    half = half_exp(magnitude)
    return (magnitude < 1.0).real(near, (half - 0.25 / half).copysign(x))


def cosh(x: Real) -> Real:
    """(e**|x| + e**-|x|) / 2."""
    half = half_exp(abs(x))
    return half + 0.25 / half
