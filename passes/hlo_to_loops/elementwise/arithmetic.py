"""Float arithmetic that is exact or rounds once, and ops on the format itself."""

from __future__ import annotations

import math

from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elementwise import host_instructions
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Mask,
    Real,
    exponent_of,
    power_of_two,
    rarely,
    two_product,
)
from hlo.passes.hlo_to_loops.elementwise.rounding import decode, encode


def maximum(x: Real, y: Real) -> Real:
    """IEEE 754-2019 maximum: NaN if either is NaN, and -0 below +0."""
    return _extremum(x, y, largest=True)


def minimum(x: Real, y: Real) -> Real:
    """IEEE 754-2019 minimum: NaN if either is NaN, and -0 below +0."""
    return _extremum(x, y, largest=False)


def _extremum(x: Real, y: Real, *, largest: bool) -> Real:
    for value, bound in ((x, y), (y, x)) if x.b.is_for_host else ():
        limit = bound.b.float_of(bound.name)
        if limit is not None and not math.isnan(limit):
            return _within(value, bound, limit, largest=largest)
    number = host_instructions.extremum(x, y, largest=largest)
    if number is None:
        return x.op("maximumf" if largest else "minimumf", y)
    return Mask(x.b, x.op("cmpf uno,", y).name).real(x + y, number)


def _within(x: Real, bound: Real, limit: float, *, largest: bool) -> Real:
    """The extremum of a value and a constant: a comparison that NaN passes, and a selection.

    Of values that compare equal only zeros differ: x stands where it is the one asked for.
    """
    negative_zero = limit == 0.0 and math.copysign(1.0, limit) < 0.0
    positive_zero = limit == 0.0 and not negative_zero
    if largest:
        return x.compare("uge" if negative_zero else "ugt", bound).real(x, bound)
    return x.compare("ule" if positive_zero else "ult", bound).real(x, bound)


def clamp(low: Real, x: Real, high: Real) -> Real:
    """minimum(maximum(x, low), high): NaN in any of the three gives NaN."""
    return minimum(maximum(x, low), high)


def sign(x: Real) -> Real:
    """-1, -0, +0, 1 or NaN."""
    return (abs(x) > 0.0).real(x.lift(1.0).copysign(x), x)


def floor(x: Real) -> Real:
    return x.unary("math.floor")


def ceil(x: Real) -> Real:
    return x.unary("math.ceil")


def round_nearest_afz(x: Real) -> Real:
    """To the nearest integer, halves away from zero."""
    truncated = x.unary("math.trunc")
    up = abs(x - truncated) >= 0.5
    return up.real(truncated + x.lift(1.0).copysign(x), truncated).copysign(x)


def rsqrt(x: Real) -> Real:
    """1 / sqrt(x) with a Newton step on the exact residual, within 0.51 ULP."""
    rough = 1.0 / x.sqrt()
    product, error = two_product(x, rough)
    residual = (-product).fma(rough, 1.0) - error * rough
    refined = (rough * residual).fma(0.5, rough)
    return ((x > 0.0) & (x < float("inf"))).real(refined, rough)


def total_order_key(x: Real) -> Bits:
    """Integers that order as IEEE 754's totalOrder: -NaN < -inf < -0 < +0 < inf < NaN."""
    bits = x.bits()
    return bits ^ (bits.sar(x.width - 1) & ((1 << (x.width - 1)) - 1))


def remainder(x: Real, y: Real) -> Real:
    """fmod, exactly: x - y * trunc(x / y) with the sign of x, however large the quotient.

    x / 0 and inf / y are NaN, x / inf is x. A quotient below 2**(p - 3) takes one step, exact as a
    fused multiply-add; larger ones run in a loop, as many steps as the lane that needs most.
    """
    dividend, divisor = abs(x), abs(y)
    valid = dividend.is_finite() & (divisor > 0.0)
    safe = valid.real(dividend, 0.0)
    modulus = valid.real(divisor.at_most(x.largest), 1.0)
    near = safe / modulus < 2.0 ** (x.mantissa - 3)
    once = _step(safe, modulus, near)
    (rest,) = rarely(~near, [once], lambda: [_reduce_far(safe, modulus)])
    result = divisor.is_infinite().real(safe, rest)
    return valid.real(result.copysign(x), float("nan"))


def _step(x: Real, modulus: Real, where: Mask) -> Real:
    """x mod modulus where `where` holds and the quotient is small, x elsewhere."""
    quotient = where.real((x / modulus).unary("math.trunc"), 0.0)
    rest = (-quotient).fma(modulus, x)
    # The rounded quotient may be one too large.
    return (rest < 0.0).real(rest + modulus, rest)


def _reduce_far(x: Real, modulus: Real) -> Real:
    """x mod modulus in steps that each subtract a multiple of modulus * 2**k and take off `width`
    bits of the quotient.
    """
    b, width = x.b, x.mantissa - 4
    least = exponent_of(modulus)
    gap = exponent_of((x > 0.0).real(x, modulus)) - least
    steps = _longest((gap + 2 * width).op("divsi", width))
    with b.loop(b.index(0), steps, b.index(1), [(x.name, b.type_of(x.scalar))]) as loop:
        left = x.of(loop.carried[0])
        active = left >= modulus
        shift = (exponent_of(active.real(left, modulus)) - least - width).maximum(0)
        aligned = _multiply_by_power(modulus, shift)
        loop.yielded = [_step(left, aligned, active).name]
    return x.of(loop.results[0])


def _multiply_by_power(x: Real, exponent: Bits) -> Real:
    """x * 2**exponent, exact, for exponents from 0 to the distance of the least and the largest
    number.
    """
    for _ in range(2):
        part = exponent.minimum(x.bias)
        x, exponent = x * power_of_two(part), exponent - part
    return x * power_of_two(exponent)


def _longest(steps: Bits) -> str:
    """The largest lane, as `index`."""
    b = steps.b
    largest = steps.name
    if b.lanes:
        vector = b.type_of(steps.scalar)
        largest = b.op(f"vector.reduction <maxsi>, {steps.name} : {vector} into {steps.scalar}")
    return b.op(f"arith.index_cast {largest} : {steps.scalar} to index")


def next_after(x: Real, y: Real, type_: ElementType) -> Real:
    """The value of `type_` next to x in the direction of y; y if they are equal; NaN if either is
    NaN.
    """
    pattern, sign_position = pattern_of(x, type_)
    magnitude = pattern & ((1 << sign_position) - 1)
    zero = magnitude.eq(0)
    up = (x < y) ^ pattern.shr(sign_position).eq(1)
    moved = up.bits(pattern + 1, pattern - 1)
    sign_of_y = (y < 0.0).bits(1 << sign_position, pattern.lift(0))
    moved = zero.bits(sign_of_y | 1, moved)
    result = x.eq(y).real(y, from_pattern(moved, type_))
    return (x.is_nan() | y.is_nan()).real(float("nan"), result)


def pattern_of(x: Real, type_: ElementType) -> tuple[Bits, int]:
    """The bits of a value in its own format, and the position of the sign bit."""
    if type_.name in ("f32", "f64"):
        return x.bits(), x.width - 1
    if type_.name == "bf16":
        return x.bits().shr(16), 15
    if type_.name == "f16":
        return x.cast("f16").bits().cast("i32", signed=False), 15
    format_ = type_.format
    return encode(x, format_).cast("i32", signed=False), format_.exponent + format_.mantissa


def from_pattern(pattern: Bits, type_: ElementType) -> Real:
    """The register of the value whose bits in its own format are the low bits of `pattern`."""
    if type_.name in ("f32", "f64"):
        return pattern.as_real()
    if type_.name == "bf16":
        return (pattern << 16).as_real()
    if type_.name == "f16":
        return pattern.cast("i16").as_real().cast("f32")
    return decode(pattern.cast("i8"), type_.format)


def reduce_precision(x: Real, type_: ElementType, exponent_bits: int, mantissa_bits: int) -> Real:
    """Rounds to a format of fewer bits and back: past its range to infinity, below its normal
    numbers to zero.

    The steps are XLA's, on the bits of `type_` itself. A format without mantissa bits has no NaN:
    there it becomes infinity.
    """
    pattern, sign_position = pattern_of(x, type_)
    format_ = type_.format
    field = ((1 << format_.exponent) - 1) << format_.mantissa
    sign = pattern & (1 << sign_position)
    value = pattern & ((1 << sign_position) - 1)
    dropped = format_.mantissa - mantissa_bits
    if dropped > 0:
        odd = value.shr(dropped) & 1
        value = (value + ((1 << (dropped - 1)) - 1) + odd) & -(1 << dropped)
    if exponent_bits < format_.exponent:
        # As in the source format, half of the exponents, less the top one, are above the bias.
        bias = (1 << (exponent_bits - 1)) - 1
        top = (format_.bias + bias) << format_.mantissa
        bottom = (format_.bias - bias) << format_.mantissa
        exponent = value & field
        value = (exponent > top).bits(field, value)
        value = (exponent <= bottom).bits(0, value)
    result = from_pattern(value | sign, type_)
    return x.is_nan().real(x if mantissa_bits > 0 else math.inf, result)
