"""lgamma, digamma, zeta, polygamma, all computed in `f64`."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.exponential import exp
from hlo.passes.hlo_to_loops.elementwise.logarithm import log
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Mask,
    Real,
    polynomial,
    rarely,
    two_sum,
)
from hlo.passes.hlo_to_loops.elementwise.roots_and_powers import power
from hlo.passes.hlo_to_loops.elementwise.trigonometric import sin, tan

_PI = 3.141592653589793
_HALF_LOG_2_PI = 0.9189385332046727
# B(2k) / (2k (2k - 1)): Stirling's series of lgamma in 1 / x**2, times 1 / x.
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)
# B(2k) / 2k: the series of digamma.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# The positive root of digamma, as a nearest value and what it leaves.
_DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)
# (2k)! / B(2k): the denominators of the Euler-Maclaurin series of zeta.
_EULER_MACLAURIN = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1.8924375803183791606e9,
    7.47242496e10,
    -2.950130727918164224e12,
    1.1646782814350067249e14,
    -4.5979787224074726105e15,
    1.8152105401943546773e17,
    -7.1661652561756670113e18,
)


def _lgamma_unit(x: Real) -> Real:
    """lgamma on [1, 2], exact at both ends."""
    series = polynomial(x - 1.5, coefficients.LGAMMA["f64"])
    return (x - 1.0) * (x - 2.0) * series


def _lgamma_positive(x: Real) -> Real:
    """Steps of one to [1, 2] below 8; Stirling's series above."""
    low = x.at_most(8.0)
    product = x.lift(1.0)
    for _ in range(6):
        above = low > 2.0
        low = above.real(low - 1.0, low)
        product = above.real(product * low, product)
    below = low < 1.0
    far = x > 8.0
    high = far.real(x, 8.0)
    logarithm = log(far.real(high, below.real(low, product)))
    near = _lgamma_unit(below.real(low + 1.0, low)) + below.real(-logarithm, logarithm)
    inverse = 1.0 / high
    series = polynomial(inverse * inverse, _STIRLING) * inverse
    # (x - 1/2) (log x - 1) never overflows before the result does.
    stirling = (high - 0.5) * (logarithm - 1.0) + (series + (_HALF_LOG_2_PI - 0.5))
    return far.real(stirling, near)


def _fraction(x: Real) -> Real:
    """x minus the nearest integer, exact."""
    return x - x.round()


def lgamma(x: Real) -> Real:
    """log |gamma(x)|; infinite at the poles 0, -1, -2, ... and at both infinities."""
    wide = x.cast("f64")
    magnitude = abs(wide)
    positive = _lgamma_positive(magnitude)
    # Next to zero both are -log |x|, and the product below would underflow.
    negative = (wide < 0.0) & (magnitude > 2.0**-60)

    def reflect() -> list[Real]:
        # gamma(x) gamma(-x) = -pi / (x sin(pi x))
        sine = abs(sin(_fraction(wide) * _PI))
        return [negative.real(log(_PI / (magnitude * sine)) - positive, positive)]

    (result,) = rarely(negative, [positive], reflect)
    whole = (wide <= 0.0) & wide.round().eq(wide)
    result = (whole | wide.is_infinite()).real(float("inf"), result)
    return result.cast(x.scalar)


def digamma(x: Real) -> Real:
    """The derivative of lgamma: steps of one up to 10, then the asymptotic series; reflection below
    1/2.

    NaN at the poles 0, -1, -2, ..., as XLA has it.
    """
    wide = x.cast("f64")
    left = wide < 0.5
    right = _digamma_positive(left.real(1.0 - wide, wide))

    def reflect() -> list[Real]:
        fraction = _fraction(wide)
        angle = (left & fraction.ne(0.0)).real(fraction, 0.25) * _PI
        return [left.real(right - _PI / tan(angle), right)]

    (result,) = rarely(left, [right], reflect)
    undefined = (wide <= 0.0) & _fraction(wide).eq(0.0) | wide.eq(float("-inf"))
    return undefined.real(float("nan"), result).cast(x.scalar)


def _digamma_positive(x: Real) -> Real:
    """A polynomial times the distance to the root on [1, 2], where the rest would cancel."""
    around_root = (x >= 1.0) & (x <= 2.0)
    unit = around_root.real(x, 1.5)
    distance = (unit - _DIGAMMA_ROOT[0]) - _DIGAMMA_ROOT[1]
    near = distance * polynomial(unit - 1.5, coefficients.DIGAMMA["f64"])
    return around_root.real(near, _digamma_asymptotic(x))


def _digamma_asymptotic(x: Real) -> Real:
    numerator, denominator = x.lift(0.0), x.lift(1.0)
    for _ in range(10):
        below = x < 10.0
        # The sum of 1 / x as one fraction.
        numerator = below.real(numerator.fma(x, denominator), numerator)
        denominator = below.real(denominator * x, denominator)
        x = below.real(x + 1.0, x)
    inverse = 1.0 / x
    square = inverse * inverse
    series = square * polynomial(square, _DIGAMMA)
    return log(x) - 0.5 * inverse - series - numerator / denominator


def _zeta_sum(s: Real, q: Real) -> tuple[Real, Real, Real]:
    """(sum of (q + k)**-s for k below 9, what its rounding lost, q + 9) in a loop."""
    b, terms = s.b, 9
    zero = s.lift(0.0)
    carried = [(value.name, b.type_of("f64")) for value in (zero, zero, q)]
    with b.loop(b.index(0), b.index(terms), b.index(1), carried) as loop:
        total, lost, base = (s.of(name) for name in loop.carried)
        total, error = two_sum(total, power(base, -s))
        loop.yielded = [total.name, (lost + error).name, (base + 1.0).name]
    total, lost, base = (s.of(name) for name in loop.results)
    return total, lost, base


def zeta(x: Real, q: Real) -> Real:
    """The Hurwitz zeta function, sum of (q + k)**-x over k, by Euler-Maclaurin summation.

    inf at x = 1 and at q = 0, -1, -2, ... for even x; NaN for x below 1, at those q for other x,
    and at all q below 0 where x is not an integer.
    """
    s, a = x.cast("f64"), q.cast("f64")
    right = _zeta_right(s, a)
    left = a < 0.0
    (regular,) = rarely(left, [right], lambda: [left.real(_zeta_left(s, a), right)])
    return _zeta_limits(s, a, regular).cast(x.scalar)


def _zeta_left(s: Real, q: Real) -> Real:
    """zeta of a whole s at q below 0, from three values above 0.

    Terms below 0 are, with the sign of (-1)**s, those above it of the distance to the next integer
    up to -q: however far q lies from 0, none of them is added up.
    """
    b = s.b
    fraction = q - q.unary("math.floor")
    sign = _is_odd(s).real(s.lift(-1.0), 1.0)
    # (what is summed, the weight of this value and of the next, this point and the next ones)
    first = (s.lift(0.0), s.lift(1.0), sign, fraction, q.unary("math.ceil") - q, 1.0 - q)
    carried = [(value.name, b.type_of("f64")) for value in first]
    with b.loop(b.index(0), b.index(3), b.index(1), carried) as loop:
        total, weight, following, point, second, third = (s.of(name) for name in loop.carried)
        total = total + weight * _zeta_right(s, point)
        loop.yielded = [each.name for each in (total, following, -following, second, third, third)]
    return s.of(loop.results[0])


def _zeta_right(s: Real, a: Real) -> Real:
    """zeta at a of 0 and more."""
    total, rest, base = _zeta_sum(s, a)
    last = power(base, -s)
    rest = rest + last * base / (s - 1.0) + 0.5 * last
    factor, scaled = s, last / base
    inverse_square = 1.0 / (base * base)
    for k, denominator in enumerate(_EULER_MACLAURIN):
        rest = rest + factor * scaled / denominator
        factor = factor * (s + (2 * k + 1.0)) * (s + (2 * k + 2.0))
        scaled = scaled * inverse_square
    # An infinite term has lost inf - inf.
    return total.is_infinite().real(total, total + rest)


def _zeta_limits(s: Real, q: Real, regular: Real) -> Real:
    pole = q <= 0.0
    whole = q.unary("math.floor").eq(q)
    even = (s * 0.5).unary("math.floor").eq(s * 0.5)
    at_pole = whole.real(even.real(regular.lift(float("inf")), float("nan")), regular)
    integral = s.unary("math.floor").eq(s)
    at_pole = (~whole & ~integral).real(float("nan"), at_pole)
    result = pole.real(at_pole, regular)
    result = ((s >= 1.0) & ~q.is_nan()).real(result, float("nan"))
    return s.eq(1.0).real(float("inf"), result)


def polygamma(n: Real, x: Real) -> Real:
    """The n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, x); NaN for n negative or not an
    integer.
    """
    order, wide = n.cast("f64"), x.cast("f64")
    valid = (order >= 0.0) & order.unary("math.floor").eq(order)
    following = order + 1.0
    odd = _is_odd(following)
    scale = exp(_lgamma_positive(following))
    magnitude = scale * zeta(following, wide)
    signed = odd.real(-magnitude, magnitude)
    result = order.eq(0.0).real(digamma(wide), signed)
    return valid.real(result, float("nan")).cast(n.scalar)


def _is_odd(x: Real) -> Mask:
    half = x * 0.5
    return half.unary("math.floor").ne(half)
