"""exp, the circular and the hyperbolic functions of complex numbers.

Parts are `f64`: complex<f32> is widened, which also covers most of what follows. Infinite and NaN
parts follow C99 Annex G.
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import complex_basic, exponential
from hlo.passes.hlo_to_loops.elementwise.numeric import Pair, Real
from hlo.passes.hlo_to_loops.elementwise.trigonometric import sin_cos, tan

# Where e**x is close to overflow and a factor of a small sine may still bring it back.
_LARGE = 700.0


def _split_exp(x: Real) -> Pair:
    """(u, v) with e**x = u * v, neither overflows before x is far beyond the range."""
    excess = x - x.at_most(_LARGE)
    excess = x.is_infinite().real(0.0, excess)
    large = (excess > 0.0).real(exponential.exp(x.lift(_LARGE)), x.lift(1.0))
    return exponential.exp((excess > 0.0).real(excess, x)), large


def exp(z: Pair) -> Pair:
    """e**x (cos y + i sin y); a zero y stays, and e**-inf is zero whatever y."""
    x, y = z
    grown, large = _split_exp(x)
    sine, cosine = sin_cos(y)
    vanishes = x.eq(float("-inf")) & ~y.is_finite()
    re = vanishes.real(0.0, y.eq(0.0).real(grown * large, grown * cosine * large))
    im = y.eq(0.0).real(y, vanishes.real(0.0, grown * sine * large))
    infinite = x.eq(float("inf")) & ~y.is_finite()
    return infinite.real(x, re), im


def expm1(z: Pair) -> Pair:
    """expm1(x) cos y - 2 sin(y / 2)**2 + i e**x sin y."""
    x, y = z
    re_exp, im = exp(z)
    sine_half, _ = sin_cos(y * 0.5)
    _, cosine = sin_cos(y)
    near = exponential.expm1(x) * cosine - sine_half * sine_half * 2.0
    flat = y.eq(0.0).real(exponential.expm1(x), near)
    return (abs(x) < 50.0).real(flat, re_exp - 1.0), im


def logistic(z: Pair) -> Pair:
    """1 / (1 + e**-z), or e**z / (1 + e**z) where the real part is negative."""
    negative = z[0] < 0.0
    folded = negative.real(z[0], -z[0]), negative.real(z[1], -z[1])
    decayed = exp(folded)
    one = z[0].lift(1.0)
    top = negative.real(decayed[0], one), negative.real(decayed[1], 0.0)
    return complex_basic.divide(top, (decayed[0] + 1.0, decayed[1]))


def _scaled_hyperbolic(x: Real) -> tuple[Real, Real, Real]:
    """(sinh(x) / v, cosh(x) / v, v); v is 1 unless they are close to overflow."""
    magnitude = abs(x)
    large = (magnitude > _LARGE) & magnitude.is_finite()
    half, scale = _split_exp(magnitude)
    half = half * 0.5
    sinh = large.real(half.copysign(x), exponential.sinh(x))
    cosh = large.real(half, exponential.cosh(x))
    return sinh, cosh, large.real(scale, 1.0)


def sinh(z: Pair) -> Pair:
    """sinh x cos y + i cosh x sin y."""
    x, y = z
    grown, even, scale = _scaled_hyperbolic(x)
    sine, cosine = sin_cos(y)
    re = _zero_wins(grown, cosine) * scale
    im = _zero_wins(even, sine) * scale
    # sinh(0 + iy) has real part 0 and sinh(+-inf + iy) an infinite one, for infinite and NaN y too.
    kept = (x.eq(0.0) | x.is_infinite()) & ~y.is_finite()
    return kept.real(x, re), y.eq(0.0).real(y, im)


def _zero_wins(x: Real, factor: Real) -> Real:
    """x * factor; a zero times infinity is zero."""
    product = x * factor
    zero = (factor.eq(0.0) & ~x.is_nan()) | (x.eq(0.0) & ~factor.is_nan())
    signed = factor.lift(0.0).copysign(x) * factor.lift(1.0).copysign(factor)
    return zero.real(signed, product)


def cosh(z: Pair) -> Pair:
    """cosh x cos y + i sinh x sin y."""
    x, y = z
    odd, even, scale = _scaled_hyperbolic(x)
    sine, cosine = sin_cos(y)
    re = _zero_wins(even, cosine) * scale
    im = _zero_wins(odd, sine) * scale
    unbounded = x.is_infinite() & ~y.is_finite()
    real_argument = y.eq(0.0) & x.is_nan()
    im = real_argument.real(y, (x.eq(0.0) & ~y.is_finite()).real(0.0, im))
    return unbounded.real(abs(x), re), im


def tanh(z: Pair) -> Pair:
    """Kahan, "Branch cuts for complex elementary functions" (1987): from tan y and sinh x, and its
    limit for large x.
    """
    x, y = z
    magnitude = abs(x)
    small = magnitude.at_most(22.0).copysign(x)
    slope = tan(y)
    secant = slope.fma(slope, 1.0)
    grown = exponential.sinh(small)
    root = grown.fma(grown, 1.0).sqrt()
    denominator = (secant * grown).fma(grown, 1.0)
    sine, cosine = sin_cos(y)
    decayed = exponential.exp(magnitude * -2.0)
    far = magnitude > 20.0
    tail = _zero_wins(sine * cosine * 4.0, decayed)
    tail = (magnitude.is_infinite() & ~y.is_finite()).real(0.0, tail)
    re = far.real(x.lift(1.0).copysign(x), secant * root * grown / denominator)
    im = far.real(tail, slope / denominator)
    # Without a defined angle: zero stays, infinity has its limit, anything else is unknown.
    unknown = ~y.is_finite() & x.is_finite()
    re = unknown.real(x.eq(0.0).real(x, float("nan")), re)
    return re, y.eq(0.0).real(y, im)


def _rotate(z: Pair) -> Pair:
    """i z."""
    return -z[1], z[0]


def _rotate_back(z: Pair) -> Pair:
    """-i z."""
    return z[1], -z[0]


def sin(z: Pair) -> Pair:
    return _rotate_back(sinh(_rotate(z)))


def cos(z: Pair) -> Pair:
    return cosh(_rotate(z))


def tan_(z: Pair) -> Pair:
    return _rotate_back(tanh(_rotate(z)))
