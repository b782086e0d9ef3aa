"""log, roots and powers of complex numbers; parts are `f64`, special values as in C99."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import complex_basic, logarithm, roots_and_powers
from hlo.passes.hlo_to_loops.elementwise.complex_basic import normalise, scale_by
from hlo.passes.hlo_to_loops.elementwise.exponential import exp
from hlo.passes.hlo_to_loops.elementwise.inverse_trigonometric import atan2
from hlo.passes.hlo_to_loops.elementwise.logarithm import small_to_real
from hlo.passes.hlo_to_loops.elementwise.numeric import Pair, Real, two_product, two_sum
from hlo.passes.hlo_to_loops.elementwise.trigonometric import sin_cos

_LN_2 = 0.6931471805599453


def square_minus_one(excess: Real, other: Real) -> Real:
    """(1 + excess)**2 + other**2 - 1 = 2 excess + excess**2 + other**2, nearly free of
    cancellation.
    """
    first, first_error = two_product(excess, excess)
    second, second_error = two_product(other, other)
    total, error = two_sum(excess + excess, second)
    total, more = two_sum(total, first)
    return total + (error + more + first_error + second_error)


def log_modulus(z: Pair) -> Real:
    """log |z|, accurate next to |z| = 1; -inf at 0, inf if either part is infinite."""
    x, y = abs(z[0]), abs(z[1])
    swap = y > x
    larger, smaller = swap.real(y, x), swap.real(x, y)
    (re, im), exponent = normalise((larger, smaller))
    square = re * re + im * im
    far = small_to_real(exponent, square).fma(_LN_2, logarithm.log(square) * 0.5)
    around_one = (larger > 0.5) & (larger < 2.0)
    safe = around_one.real(larger, 1.0), around_one.real(smaller, 0.0)
    near = logarithm.log1p(square_minus_one(safe[0] - 1.0, safe[1])) * 0.5
    # Where the square is below 1/2, there is no cancellation, and 1 + t has lost digits.
    use_near = around_one & (square_or_one(safe) > 0.5)
    result = use_near.real(near, far)
    return (z[0].is_infinite() | z[1].is_infinite()).real(float("inf"), result)


def square_or_one(z: Pair) -> Real:
    return z[0] * z[0] + z[1] * z[1]


def log(z: Pair) -> Pair:
    return log_modulus(z), atan2(z[1], z[0])


def log1p(z: Pair) -> Pair:
    """log(1 + z): from |1 + z|**2 - 1 unless that is far from 0."""
    x, y = z
    moderate = (abs(x) < 2.0**400) & (abs(y) < 2.0**400)
    difference = square_minus_one(moderate.real(x, 0.0), moderate.real(y, 0.0))
    shifted = x + 1.0, y
    near = moderate & (difference > -0.5)
    small = logarithm.log1p(near.real(difference, 0.0)) * 0.5
    return near.real(small, log_modulus(shifted)), atan2(y, shifted[0])


def _roots(z: Pair) -> Pair:
    """sqrt((|x| + |z|) / 2) and |y| over twice that, for finite z other than zero."""
    x, y = abs(z[0]), abs(z[1])
    scaled, exponent = normalise((x, y))
    odd = exponent & 1
    lifted = odd.ne(0)
    re, im = (lifted.real(part + part, part) for part in scaled)
    length = (re * re + im * im).sqrt()
    main = scale_by(((re + length) * 0.5).sqrt(), (exponent - odd).sar(1))
    safe = main.eq(0.0).real(1.0, main)
    return main, y / (safe + safe)


def sqrt(z: Pair) -> Pair:
    """The root with a real part that is not negative and the sign of the imaginary part of z."""
    x, y = z
    main, other = _roots(z)
    right = ~x.sign_bit()
    re, im = right.real(main, other), right.real(other, main).copysign(y)
    zero = x.eq(0.0) & y.eq(0.0)
    re, im = zero.real(0.0, re), zero.real(y, im)
    infinite_x = x.is_infinite()
    positive = x > 0.0
    flat = y.is_finite()
    at_infinity_re = positive.real(x, flat.real(0.0, y * 0.0))
    at_infinity_im = positive.real(flat.real(x.lift(0.0).copysign(y), y * 0.0), abs(x).copysign(y))
    re, im = infinite_x.real(at_infinity_re, re), infinite_x.real(at_infinity_im, im)
    infinite_y = y.is_infinite()
    return infinite_y.real(abs(y), re), infinite_y.real(y, im)


def rsqrt(z: Pair) -> Pair:
    """1 / sqrt(z); infinite at zero, zero at infinity."""
    x, y = z
    root = sqrt(z)
    re, im = complex_basic.divide((x.lift(1.0), x.lift(0.0)), root)
    im = im.copysign(-root[1])
    zero = x.eq(0.0) & y.eq(0.0)
    infinite = x.is_infinite() | y.is_infinite()
    re = zero.real(float("inf"), infinite.real(0.0, re))
    signed_zero = x.lift(0.0).copysign(-y)
    return re, zero.real(float("nan"), infinite.real(signed_zero, im))


def cbrt(z: Pair) -> Pair:
    """The principal root, by modulus and angle."""
    (x, y), exponent = normalise(z)
    third = (small_to_real(exponent, x) * (1.0 / 3.0)).round()
    rest = (small_to_real(exponent, x) - third * 3.0).to_integer()
    length = roots_and_powers.cbrt(scale_by((x * x + y * y).sqrt(), rest))
    sine, cosine = sin_cos(atan2(y, x) * (1.0 / 3.0))
    factor = scale_by(length, third.to_integer())
    zero = z[0].eq(0.0) & z[1].eq(0.0)
    return zero.real(z[0], factor * cosine), zero.real(z[1], factor * sine)


def power(z: Pair, w: Pair) -> Pair:
    """z**w for w = c + id, by |z|**c e**(-d a) (cos t + i sin t), t = d log |z| + c a, a = arg z.

    0**0 is 1; 0**w is 0 for c > 0.
    """
    (x, y), (c, d) = z, w
    modulus, angle = complex_basic.modulus(z), atan2(y, x)
    length = roots_and_powers.power(modulus, c) * exp(-(d * angle))
    turned = c * angle + d.eq(0.0).real(0.0, d * log_modulus(z))
    sine, cosine = sin_cos(turned)
    real_result = (y.eq(0.0) & d.eq(0.0)) & ((x > 0.0) | c.eq(0.0))
    re, im = length * cosine, real_result.real(0.0, length * sine)
    zero_base = x.eq(0.0) & y.eq(0.0)
    zero_exponent = c.eq(0.0) & d.eq(0.0)
    vanishes = zero_base & (c > 0.0)
    re = zero_exponent.real(1.0, vanishes.real(0.0, re))
    return re, (zero_exponent | vanishes).real(0.0, im)


def atan2_(y: Pair, x: Pair) -> Pair:
    """-i log((x + iy) / sqrt(x**2 + y**2))."""
    numerator = x[0] - y[1], x[1] + y[0]
    squares = complex_basic.add(complex_basic.multiply(x, x), complex_basic.multiply(y, y))
    re, im = log(complex_basic.divide(numerator, sqrt(squares)))
    return im, -re
