"""exp and its kin: Cody-Waite reduction by multiples of log 2 and a polynomial; exact limits,
subnormal results kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops.elementwise import coefficients, piece_tables
from hlo.passes.hlo_to_loops.elementwise.numeric import Real, polynomial
from hlo.passes.hlo_to_loops.elementwise.pieces import piecewise
from hlo.passes.hlo_to_loops.elementwise.whole_numbers import (
    Whole,
    can_leave_out,
    nearest_integer,
    scale,
    scale_where,
    two_to,
)

_LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has trailing zeros, so that its product with an exponent is exact.
_LOG_2 = {
    "f32": (0.693359375, -2.12194440e-4),
    "f64": (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")),
}
# Beyond these, exp overflows or rounds to zero; the exponent of the result still fits two factors.
_EXP_RANGE = {"f32": (-105.0, 89.5), "f64": (-750.0, 710.5)}
# Below it, exp rounds to zero: the logarithm of half the least number is -103.97, -745.13.
_EXP_ZERO = {"f32": -103.98, "f64": -745.14}
# Below the first, expm1 rounds to -1; above the second, it overflows, and half the scale does not.
_EXPM1_RANGE = {"f32": (-18.0, 88.75), "f64": (-39.0, 709.8)}
# Above it, the logistic function is 1 and a reciprocal power of two still is a normal number.
_LOGISTIC_ONE = {"f32": 80.0, "f64": 700.0}
# From here on, tanh rounds to 1.
_TANH_ONE = {"f32": 9.5, "f64": 19.5}


def _reduced(x: Real, factor: float = 1.0) -> tuple[Real, Whole]:
    """(r, n) with factor * x = n log 2 + factor * r, for a power of two as factor."""
    count = nearest_integer(x, factor * _LOG2_E)
    high, low = _LOG_2[x.scalar]
    rest = count.real.fma(-high / factor, x)
    return count.real.fma(-low / factor, rest), count


def _exp_series(x: Real, factor: float = 1.0) -> Sequence[float]:
    """Coefficients of e**(factor * r) in powers of r, |factor * r| at most log(2) / 2."""
    powers = (1.0, 1.0, *coefficients.EXP[x.scalar])
    return [factor**i * value for i, value in enumerate(powers)]


def _grown(rest: Real) -> Real:
    """e**rest - 1, |rest| at most log(2) / 2."""
    return polynomial(rest, coefficients.EXP[rest.scalar]).fma(rest * rest, rest)


def _exp_parts(bounded: Real, low: Real | None = None) -> tuple[Real, Whole]:
    """(m, n) with e**(x + low) = m * 2**n, m near 1."""
    rest, count = _reduced(bounded)
    if low is not None:
        rest = rest + low
    return polynomial(rest, _exp_series(bounded)), count


def exp(x: Real, low: Real | None = None) -> Real:
    """e**(x + low), within 1 ULP; `low` is a correction below the unit of x."""
    least, most = _EXP_RANGE[x.scalar]
    bounded = x.at_most(most)
    if can_leave_out(x):
        return scale_where(*_exp_parts(bounded, low), x.compare("uge", _EXP_ZERO[x.scalar]))
    return scale(*_exp_parts(bounded.at_least(least), low))


def half_exp(x: Real) -> Real:
    """e**x / 2, which overflows later than e**x."""
    least, most = _EXP_RANGE[x.scalar]
    grown, count = _exp_parts(x.at_most(most + 1.0).at_least(least))
    return scale(grown, count.minus_one())


def expm1(x: Real) -> Real:
    """e**x - 1 without cancellation; keeps -0."""
    least, most = _EXPM1_RANGE[x.scalar]
    rest, count = _reduced(x.at_most(most).at_least(least))
    half = two_to(count, x, offset=-1)
    return (half.fma(_grown(rest), half - 0.5) * 2.0).copysign(x)


def logistic(x: Real) -> Real:
    """1 / (1 + e**-x), small results to full precision.

    With -x = r - n log 2 it is 2**n / (2**n + e**r); 0 where e**x rounds to that.
    """
    bounded = x.at_most(_LOGISTIC_ONE[x.scalar])
    if not (leaves_out := can_leave_out(x)):
        bounded = bounded.at_least(_EXP_RANGE[x.scalar][0])
    rest, count = _reduced(bounded)
    decayed = polynomial(rest, _exp_series(x, -1.0))
    if leaves_out:
        some = x.compare("uge", _EXP_ZERO[x.scalar])
        power = scale_where(x.lift(1.0), count, some)
        return scale_where(1.0 / (power + decayed), count, some)
    return scale(1.0 / (scale(x.lift(1.0), count) + decayed), count)


def tanh(x: Real) -> Real:
    """In pieces; else a polynomial below 0.6, 1 - 2 / (e**2|x| + 1) above."""
    magnitude, square = abs(x), x * x
    if (found := piecewise(magnitude, piece_tables.TANH)) is not None:
        return found.copysign(x)
    near = (square * x).fma(polynomial(square, coefficients.TANH[x.scalar]), x)
    rest, count = _reduced(magnitude.at_most(_TANH_ONE[x.scalar]), 2.0)
    grown = scale(polynomial(rest, _exp_series(x, 2.0)), count)
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
