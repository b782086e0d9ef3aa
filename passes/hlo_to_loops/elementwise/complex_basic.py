"""Complex arithmetic on (real, imaginary) pairs, safe from intermediate overflow and underflow."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Pair,
    Real,
    exponent_of,
    power_of_two,
    two_product,
    two_sum,
)


def add(x: Pair, y: Pair) -> Pair:
    return x[0] + y[0], x[1] + y[1]


def subtract(x: Pair, y: Pair) -> Pair:
    return x[0] - y[0], x[1] - y[1]


def multiply(x: Pair, y: Pair) -> Pair:
    """By the textbook formula, as the specification has it."""
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def square(x: Pair) -> Pair:
    """Factored, so that equal huge parts give 0 and not inf - inf; an infinite part alone stays
    infinite.
    """
    product = x[0] * x[1]
    factored = (x[0] - x[1]) * (x[0] + x[1])
    both = abs(x[0]).eq(abs(x[1])) & x[0].is_finite()
    return both.real(0.0, factored), product + product


def negate(x: Pair) -> Pair:
    return -x[0], -x[1]


def conjugate(x: Pair) -> Pair:
    return x[0], -x[1]


def modulus(x: Pair) -> Real:
    """|x|, infinite if either part is."""
    if not x[0].is_double:
        re, im = x[0].cast("f64"), x[1].cast("f64")
        plain = (re * re + im * im).sqrt().cast("f32")
    else:
        (re, im), exponent = normalise(x)
        plain = scale_by((re * re + im * im).sqrt(), exponent)
    return (x[0].is_infinite() | x[1].is_infinite()).real(float("inf"), plain)


def normalise(x: Pair) -> tuple[Pair, Bits]:
    """x * 2**-e with the larger part in [1, 2), and e; NaN, infinities and zero are kept, with e =
    0.
    """
    larger = abs(x[0]).at_least(abs(x[1]))
    usual = (larger > 0.0) & larger.is_finite()
    exponent = exponent_of(usual.real(larger, 1.0))
    return (scale_by(x[0], -exponent), scale_by(x[1], -exponent)), exponent


def scale_by(x: Real, exponent: Bits) -> Real:
    """x * 2**exponent for |x| below 4 or about to be, clamped far past overflow and underflow."""
    bound = 2 * x.bias - 2
    clamped = exponent.maximum(-bound).minimum(bound)
    half = clamped.sar(1)
    return x * power_of_two(half) * power_of_two(clamped - half)


def sum_of_products(a: Real, b: Real, c: Real, d: Real) -> Real:
    """a * b + c * d to nearly full precision under cancellation."""
    first, first_error = two_product(a, b)
    second, second_error = two_product(c, d)
    total, error = two_sum(first, second)
    return total + (error + (first_error + second_error))


def divide(x: Pair, y: Pair) -> Pair:
    """x / y, with the infinities and zeros of C99 Annex G.5.1: finite / 0 is infinite, finite / inf
    is zero.
    """
    re, im = _divide_single(x, y) if not x[0].is_double else _divide_double(x, y)
    return _recover(x, y, (re, im))


def _divide_single(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = (tuple(part.cast("f64") for part in z) for z in (x, y))
    denominator = c * c + d * d
    return (
        ((a * c + b * d) / denominator).cast("f32"),
        ((b * c - a * d) / denominator).cast("f32"),
    )


def _divide_double(x: Pair, y: Pair) -> Pair:
    (a, b), up = normalise(x)
    (c, d), down = normalise(y)
    denominator = c * c + d * d
    shift = up - down
    return (
        scale_by(sum_of_products(a, c, b, d) / denominator, shift),
        scale_by(sum_of_products(b, c, -a, d) / denominator, shift),
    )


def _recover(x: Pair, y: Pair, quotient: Pair) -> Pair:
    """Annex G's results where the formula gives NaN in both parts."""
    (a, b), (c, d), (re, im) = x, y, quotient
    lost = re.is_nan() & im.is_nan()
    infinity = c.lift(float("inf"))
    zero_divisor = c.eq(0.0) & d.eq(0.0) & ~(a.is_nan() & b.is_nan())
    pole = infinity.copysign(c)
    infinite_x = (a.is_infinite() | b.is_infinite()) & c.is_finite() & d.is_finite()
    a_box, b_box, c_box, d_box = (
        v.is_infinite().real(v.lift(1.0), 0.0).copysign(v) for v in (a, b, c, d)
    )
    infinite_y = (c.is_infinite() | d.is_infinite()) & a.is_finite() & b.is_finite()
    for_y = (a * c_box + b * d_box) * 0.0, (b * c_box - a * d_box) * 0.0
    for_x = infinity * (a_box * c + b_box * d), infinity * (b_box * c - a_box * d)
    for_zero = pole * a, pole * b
    results: list[Real] = []
    for plain, at_y, at_x, at_zero in zip(quotient, for_y, for_x, for_zero, strict=True):
        special = infinite_x.real(at_x, infinite_y.real(at_y, plain))
        results.append(lost.real(zero_divisor.real(at_zero, special), plain))
    return results[0], results[1]


def sign(x: Pair) -> Pair:
    """x / |x|; zero for zero; NaN if either part is NaN."""
    (re, im), _ = normalise(x)
    length = (re * re + im * im).sqrt()
    zero = x[0].eq(0.0) & x[1].eq(0.0)
    safe = zero.real(1.0, length)
    unknown = x[0].is_nan() | x[1].is_nan()
    return (
        unknown.real(float("nan"), re / safe),
        unknown.real(float("nan"), im / safe),
    )


def _pick(x: Pair, y: Pair, predicate: str) -> Pair:
    first = x[0].compare(predicate, y[0]) | (x[0].eq(y[0]) & x[1].compare(predicate, y[1]))
    return first.real(x[0], y[0]), first.real(x[1], y[1])


def maximum(x: Pair, y: Pair) -> Pair:
    """The larger in lexicographic order; y where a NaN leaves them without order."""
    return _pick(x, y, "ogt")


def minimum(x: Pair, y: Pair) -> Pair:
    """The smaller in lexicographic order; y where a NaN leaves them without order."""
    return _pick(x, y, "olt")
