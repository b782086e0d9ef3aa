"""sin, cos and tan: exact range reduction and polynomials on [-pi/4, pi/4] (range_reduction.py)."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Mask,
    Pair,
    Real,
    fast_two_sum,
    polynomial,
)
from hlo.passes.hlo_to_loops.elementwise.range_reduction import Reduced, reduce_angle


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
    return sin(x), cos(x)


def sin(x: Real) -> Real:
    """Within 1 ULP for every finite x; keeps -0; NaN at infinity."""
    angle = reduce_angle(x)
    sine, cosine = _parts(angle)
    odd = (angle.count & 1).ne(0)
    return x.eq(0.0).real(x, _flip(_sum(_pick(odd, cosine, sine)), angle.count))


def cos(x: Real) -> Real:
    """Within 1 ULP for every finite x; NaN at infinity."""
    angle = reduce_angle(x)
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
