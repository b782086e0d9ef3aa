"""atan, atan2, asin and acos."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Mask,
    Pair,
    Real,
    fast_two_sum,
    polynomial,
    two_sum,
)

# pi and pi / 2 as a nearest value and what it leaves.
_PI = {
    "f32": (3.1415927410125732, -8.742277657347586e-08),
    "f64": (3.141592653589793, 1.2246467991473532e-16),
}


def _atan_ratio(smaller: Real, larger: Real) -> Pair:
    """atan(smaller / larger), of a ratio in [0, 1], as that ratio and what to add to it."""
    x = smaller / larger
    square = x * x
    # What the quotient lost, by the slope of atan there, which is about 1 - x**2 / 2.
    lost = (-x).fma(larger, smaller) / larger
    slope = square.fma(-0.5, 1.0)
    finite = abs(lost) < 1.0
    series = x * square * polynomial(square, coefficients.ATAN[x.scalar])
    return x, finite.real(lost * slope + series, series)


def _turned(angle: Pair, high: float, low: float, where: Mask) -> Pair:
    """high + low - angle in the lanes that hold; the angle is not above high."""
    total, error = fast_two_sum(angle[0].lift(high), -angle[0])
    small = error + (low - angle[1])
    return where.real(total, angle[0]), where.real(small, angle[1])


def atan(x: Real) -> Real:
    """By atan(1 / x) beyond 1."""
    magnitude = abs(x)
    steep = magnitude > 1.0
    one = x.lift(1.0)
    angle = _atan_ratio(steep.real(one, magnitude), steep.real(magnitude, one))
    high, low = _PI[x.scalar]
    angle = _turned(angle, high / 2, low / 2, steep)
    return (angle[0] + angle[1]).copysign(x)


def atan2(y: Real, x: Real) -> Real:
    """The angle of (x, y) in [-pi, pi], with the signs of zeros and the diagonals of infinities as
    IEEE 754 has them.
    """
    rise, run = abs(y), abs(x)
    steep = rise > run
    larger, smaller = steep.real(rise, run), steep.real(run, rise)
    # Both zero: the angle of (run, 0); both infinite: the diagonal.
    degenerate = larger.eq(0.0) | smaller.eq(float("inf"))
    safe_larger = degenerate.real(1.0, larger)
    safe_smaller = degenerate.real(smaller.at_most(1.0), smaller)
    angle = _atan_ratio(safe_smaller, safe_larger)
    high, low = _PI[x.scalar]
    angle = _turned(angle, high / 2, low / 2, steep)
    angle = _turned(angle, high, low, x.sign_bit())
    result = (angle[0] + angle[1]).copysign(y)
    return (x.is_nan() | y.is_nan()).real(float("nan"), result)


def _asin_reduced(magnitude: Real) -> tuple[Real, Real, Mask]:
    """(r, asin(r) - r, far): r is |x|, or sqrt((1 - |x|) / 2) where far, beyond 1/2."""
    far = magnitude > 0.5
    half_gap = (1.0 - magnitude) * 0.5
    square = far.real(half_gap, magnitude * magnitude)
    root = far.real(half_gap.sqrt(), magnitude)
    # What the rounded root leaves of the gap.
    missing = (-root).fma(root, square)
    safe = (root > 0.0).real(root, 1.0)
    correction = far.real(missing / (safe + safe), 0.0)
    return (
        root,
        (root * square).fma(polynomial(square, coefficients.ASIN[root.scalar]), correction),
        far,
    )


def _minus(high: float, low: float, large: Real, small: Real) -> Real:
    """high + low - large - small, rounded about once."""
    total, error = two_sum(-large, large.lift(high))
    return total + (error + (low - small))


def asin(x: Real) -> Real:
    """NaN outside [-1, 1]."""
    root, excess, far = _asin_reduced(abs(x))
    high, low = _PI[x.scalar]
    steep = _minus(high / 2, low / 2, root + root, excess + excess)
    return far.real(steep, root + excess).copysign(x)


def acos(x: Real) -> Real:
    """NaN outside [-1, 1]."""
    root, excess, far = _asin_reduced(abs(x))
    high, low = _PI[x.scalar]
    steep = _minus(high, low, root + root, excess + excess)
    steep = (x < 0.0).real(steep, (root + excess) * 2.0)
    # asin(|x|) - |x| is not negative where |x| is small, so it takes the sign of x with x.
    flat = _minus(high / 2, low / 2, root.copysign(x), excess.copysign(x))
    return far.real(steep, flat)
