"""Inverse circular and hyperbolic functions of complex numbers; parts are `f64`.

Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit" (1987):
his formulas have no cancellation, as each root is computed to full precision; limits for huge
arguments are taken apart.
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import logarithm
from hlo.passes.hlo_to_loops.elementwise.complex_logarithm import (
    log_modulus,
    sqrt,
    square_minus_one,
)
from hlo.passes.hlo_to_loops.elementwise.inverse_trigonometric import atan2
from hlo.passes.hlo_to_loops.elementwise.numeric import Mask, Pair

_LN_2 = 0.6931471805599453
_HALF_PI = 1.5707963267948966
_HUGE = 2.0**400


def _bounded(z: Pair) -> tuple[Pair, Mask]:
    """z where both parts are moderate, 1 elsewhere, and where it is not moderate (NaN is)."""
    huge = (abs(z[0]) > _HUGE) | (abs(z[1]) > _HUGE)
    return (huge.real(1.0, z[0]), huge.real(0.0, z[1])), huge


def _sides(z: Pair) -> tuple[Pair, Pair]:
    """(sqrt(1 - z), sqrt(1 + z))."""
    return sqrt((1.0 - z[0], -z[1])), sqrt((z[0] + 1.0, z[1]))


def asin_acos_kernel(z: Pair) -> Pair:
    """w with asin(z) = atan2(x, Re w) + i s Im w, acos(z) = atan2(Re w, x) - i s Im w, s = sign(y).

    Re w is Re(sqrt(1 - z) sqrt(1 + z)), Im w is asinh |Im(conj(sqrt(1 - z)) sqrt(1 + z))|.
    """
    bounded, huge = _bounded(z)
    (a, b), (c, d) = _sides(bounded)
    height = abs(logarithm.asinh(a * d - b * c))
    return huge.real(abs(z[1]), a * c - b * d), huge.real(log_modulus(z) + _LN_2, height)


def asin(z: Pair) -> Pair:
    distance, height = asin_acos_kernel(z)
    return atan2(z[0], distance), height.copysign(z[1])


def acos(z: Pair) -> Pair:
    """2 atan2(Re sqrt(1 - z), Re sqrt(1 + z)) + i asinh(Im(conj(sqrt(1 + z)) sqrt(1 - z)))."""
    bounded, huge = _bounded(z)
    (a, b), (c, d) = _sides(bounded)
    near = atan2(a, c) * 2.0
    far = atan2(abs(z[1]), z[0])
    height = huge.real(log_modulus(z) + _LN_2, abs(logarithm.asinh(c * b - d * a)))
    return huge.real(far, near), height.copysign(-z[1])


def acosh(z: Pair) -> Pair:
    """The acos turned so that its real part is not negative."""
    re, im = acos(z)
    return abs(im), re.copysign(z[1])


def asinh(z: Pair) -> Pair:
    re, im = asin((-z[1], z[0]))
    return im, -re


def atanh(z: Pair) -> Pair:
    """log1p(4x / ((1 - x)**2 + y**2)) / 4 + i atan2(2y, 1 - x**2 - y**2) / 2, for |x|, with the
    sign of x.
    """
    bounded, huge = _bounded(z)
    x, y = abs(bounded[0]), bounded[1]
    gap = 1.0 - x
    distance = gap * gap + y * y
    near = logarithm.log1p(x * 4.0 / distance) * 0.25
    height = abs(y)
    swap = height > x
    larger, smaller = swap.real(height, x), swap.real(x, height)
    side = 0.0 - square_minus_one(larger - 1.0, smaller)
    angle = atan2(y + y, side) * 0.5
    # x / |z|**2, scaled: the square would overflow.
    big_x, big_y = z[0] * 2.0**-520, z[1] * 2.0**-520
    far = big_x / (big_x * big_x + big_y * big_y) * 2.0**-520
    far = (z[0].is_infinite() | z[1].is_infinite()).real(0.0, far)
    quarter = z[1].is_nan().real(z[1], z[1].lift(_HALF_PI).copysign(z[1]))
    re = z[0].eq(0.0).real(0.0, huge.real(far, near))
    return re.copysign(z[0]), huge.real(quarter, angle)


def atan(z: Pair) -> Pair:
    re, im = atanh((-z[1], z[0]))
    return im, -re
