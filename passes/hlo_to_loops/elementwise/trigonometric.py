"""sin, cos and tan: exact range reduction and polynomials on [-pi/4, pi/4] (range_reduction.py).

Sine and cosine of common angles in `f32` are one polynomial in the square of the rest, whose
coefficients are those of a sine or a cosine as the quarter turns are even or odd: half the
operations of both, within 1.5 ULP.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Mask,
    Pair,
    Real,
    fast_two_sum,
    polynomial,
    unless_far,
)
from hlo.passes.hlo_to_loops.elementwise.range_reduction import (
    COMMON,
    Reduced,
    reduce_angle,
    reduce_common,
)


def _parts(angle: Reduced, *, exact: bool = False) -> tuple[Pair, Pair]:
    """(sine, cosine) of the rest, each as a large and a small part.

    Args:
        exact: whether the small parts hold what the rounding of the square loses.
    """
    rest, low = angle.rest, angle.low
    square = rest * rest
    half = square * 0.5
    large = 1.0 - half
    bend = polynomial(square, coefficients.SINE_QUARTER[rest.scalar])
    cube = rest * square
    left = low * large
    across = -(cube.fma(bend, rest) * low)
    if exact:
        lost = rest.fma(rest, -square)
        left = (rest * lost).fma(-1.0 / 6.0, left)
        across = lost.fma(-0.5, across)
    sine = cube.fma(bend, left)
    series = polynomial(square, coefficients.COSINE_QUARTER[rest.scalar])
    small = ((1.0 - large) - half) + (square * square).fma(series, across)
    return (rest, sine), (large, small)


def _flip(x: Real, count: Bits) -> Real:
    """-x where bit 1 of `count` is set."""
    return (x.bits() ^ (count.shr(1) << (x.width - 1))).as_real()


def _pick(odd: Mask, when_odd: Pair, when_even: Pair) -> Pair:
    return odd.real(when_odd[0], when_even[0]), odd.real(when_odd[1], when_even[1])


def _sum(parts: Pair) -> Real:
    return parts[0] + parts[1]


def sin_cos(x: Real) -> Pair:
    """(sin, cos), within 1 ULP for every finite x; sin keeps -0; NaN at infinity."""
    angle = reduce_angle(x)
    return _sine_of(x, angle), _cosine_of(angle)


def sin(x: Real) -> Real:
    """Within 1.5 ULP in `f32` and 1 in `f64` for every finite x; keeps -0; NaN at infinity."""
    if x.is_double:
        return _exact_sine(x)
    rest, count = reduce_common(abs(x))
    signs = (count.shr(1) << (x.width - 1)) ^ x.bits()
    signs = signs & (1 << (x.width - 1))
    near = (_after_quarters(rest, count).bits() ^ signs).as_real()
    return _or_far(x, near, "sine", _exact_sine)


def cos(x: Real) -> Real:
    """Within 1.5 ULP in `f32` and 1 in `f64` for every finite x; NaN at infinity."""
    if x.is_double:
        return _exact_cosine(x)
    rest, count = reduce_common(abs(x))
    count = count + 1
    near = _flip(_after_quarters(rest, count), count)
    return _or_far(x, near, "cosine", _exact_cosine)


def _after_quarters(rest: Real, count: Bits) -> Real:
    """The sine of `count` quarter turns, 0 or 1 by its last bit, and `rest`."""
    odd, square = (count & 1).ne(0), rest * rest
    sine = coefficients.SINE_QUARTER[rest.scalar]
    cosine = (-0.5, *coefficients.COSINE_QUARTER[rest.scalar])
    terms = [odd.real(rest.lift(c), rest.lift(s)) for s, c in zip(sine, cosine, strict=True)]
    series = terms[-1]
    for term in reversed(terms[:-1]):
        series = series.fma(square, term)
    first = odd.real(1.0, rest)
    return (first * square).fma(series, first)


def _or_far(x: Real, near: Real, name: str, exact: Callable[[Real], Real]) -> Real:
    """`near`, or what `exact` gives of the lanes whose angle is not common."""
    return unless_far(x, near, lambda x: COMMON[x.scalar] - abs(x), name, exact)


def _exact_sine(x: Real) -> Real:
    return _sine_of(x, reduce_angle(x))


def _exact_cosine(x: Real) -> Real:
    return _cosine_of(reduce_angle(x))


def _sine_of(x: Real, angle: Reduced) -> Real:
    sine, cosine = _parts(angle)
    odd = (angle.count & 1).ne(0)
    return x.eq(0.0).real(x, _flip(_sum(_pick(odd, cosine, sine)), angle.count))


def _cosine_of(angle: Reduced) -> Real:
    sine, cosine = _parts(angle)
    odd = (angle.count & 1).ne(0)
    return _flip(_sum(_pick(odd, sine, cosine)), angle.count + 1)


def tan(x: Real) -> Real:
    """The quotient of sine and cosine, each in two parts; keeps -0; NaN at infinity."""
    angle = reduce_angle(x)
    sine, cosine = (fast_two_sum(*parts) for parts in _parts(angle, exact=True))
    odd = (angle.count & 1).ne(0)
    top = _pick(odd, (-cosine[0], -cosine[1]), sine)
    bottom = _pick(odd, sine, cosine)
    inverse = 1.0 / bottom[0]
    quotient = top[0] * inverse
    left = (-quotient).fma(bottom[0], top[0]) + (-quotient).fma(bottom[1], top[1])
    return x.eq(0.0).real(x, left.fma(inverse, quotient))
