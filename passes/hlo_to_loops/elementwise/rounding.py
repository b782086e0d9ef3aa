"""Rounding of `f32` registers to the narrower formats that live in them, ties to even."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.element_types import ElementType, FloatFormat
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Real

_F32_MANTISSA = 23
_F32_BIAS = 127
_NAN = 0x7FC00000


def largest_finite(format_: FloatFormat) -> float:
    """The largest finite value of a format."""
    ones = (1 << format_.exponent) - 1
    mantissa = (1 << format_.mantissa) - 1
    if format_.infinities:
        ones -= 1
    elif format_.nan == "all-ones":
        if format_.mantissa == 0:
            ones -= 1
        else:
            mantissa -= 1
    return (1 + mantissa / 2**format_.mantissa) * 2.0 ** (ones - format_.bias)


def round_to(x: Real, type_: ElementType, *, single: bool = False) -> Real:
    """Rounds an `f32` (or `f64`) register to the precision and range of `type_`, as `f32` or its
    own register.

    Args:
        single: whether x is what float ops give of values of `type_`, as far as NaN goes.
    """
    if type_.register == "f64":
        return x
    if x.is_double:
        x = x.cast("f32") if type_.name == "f32" else to_odd_single(x)
    if type_.name == "f32":
        return x
    if type_.name == "f16":
        return x.cast("f16").cast("f32")
    if type_.name == "bf16":
        return _round_bfloat16(x, single)
    if type_.name == "f8E8M0FNU":
        return _round_power_of_two(x)
    return _round_small(x, type_.format)


def to_odd_single(x: Real) -> Real:
    """`f64` to `f32` rounding to odd, so that a second rounding to a narrower format is the only
    one that counts.

    Boldo and Melquiond, "When double rounding is odd" (2004).
    """
    nearest = x.cast("f32")
    back = nearest.cast("f64")
    bits = nearest.bits()
    away = abs(back) > abs(x)
    truncated = away.bits(bits - 1, bits)
    inexact = back.ne(x) & ~x.is_nan()
    return inexact.bits(truncated | 1, bits).as_real()


def _round_bfloat16(x: Real, single: bool) -> Real:
    bits = x.bits()
    # Half a unit more, and in a tie the last bit cleared: only then does it differ from what a
    # little less than half a unit gives.
    away, toward = bits + 0x8000, bits + 0x7FFF
    rounded = away & (toward | -0x20000) & -0x10000
    if single and x.b.keeps_nans:  # 0x7FFF more does not carry out of bits that are zero
        return rounded.as_real()
    return x.is_nan().bits((bits | 0x400000) & -0x10000, rounded).as_real()


def _round_power_of_two(x: Real) -> Real:
    """f8E8M0FNU: powers of two from 2**-127 to 2**127, halves rounded up, no zero, no sign."""
    bits = x.bits()
    # 2**-127 is subnormal in f32, with the pattern 0x400000; the next power is 0x800000.
    exponent = (bits < 0x600000).bits(0, (bits + 0x400000).shr(_F32_MANTISSA))
    power = exponent.eq(0).bits(0x400000, exponent << _F32_MANTISSA)
    valid = (x >= 0.0) & (bits >= 0) & (exponent < 255)
    return valid.bits(power, _NAN).as_real()


def _round_small(x: Real, format_: FloatFormat) -> Real:
    """f8, f6 and f4 formats: adds and subtracts a power of two whose unit is the format's unit at
    |x|.
    """
    largest = largest_finite(format_)
    magnitude = abs(x).at_most(4.0 * largest)
    smallest_exponent = 1 - format_.bias + _F32_BIAS
    exponent = (magnitude.bits() & 0x7F800000).maximum(smallest_exponent << _F32_MANTISSA)
    anchor = (exponent + ((_F32_MANTISSA - format_.mantissa) << _F32_MANTISSA)).as_real()
    rounded = (magnitude + anchor) - anchor
    overflow = rounded > largest
    if format_.infinities:
        rounded = overflow.real(float("inf"), rounded)
    elif format_.nan == "none":
        rounded = overflow.real(largest, rounded)
    else:
        rounded = overflow.bits(_NAN, rounded.bits()).as_real()
    signed = rounded.copysign(x)
    if format_.nan == "negative-zero":
        return rounded.eq(0.0).real(0.0, signed)
    if format_.nan == "none":
        return x.is_nan().real(-0.0, signed)
    return signed


def decode(raw: Bits, format_: FloatFormat) -> Real:
    """The `f32` value of the bits of an f8, f6 or f4 format, held in `i8`."""
    wide = raw.cast("i32", signed=False)
    if format_.mantissa == 0:
        power = wide.eq(0).bits(0x400000, wide << _F32_MANTISSA)
        return wide.eq(255).bits(_NAN, power).as_real()
    width = format_.exponent + format_.mantissa
    magnitude = wide & ((1 << width) - 1)
    sign = (wide & (1 << width)) << (31 - width)
    scaled = (magnitude << (_F32_MANTISSA - format_.mantissa)).as_real()
    value = (scaled * 2.0 ** (_F32_BIAS - format_.bias)).bits()
    if format_.infinities:
        top = ((1 << format_.exponent) - 1) << format_.mantissa
        value = magnitude.eq(top).bits(0x7F800000, value)
        value = (magnitude > top).bits(_NAN, value)
    elif format_.nan == "all-ones":
        value = magnitude.eq((1 << width) - 1).bits(_NAN, value)
    value = value | sign
    if format_.nan == "negative-zero":
        value = (wide & (1 << (width + 1)) - 1).eq(1 << width).bits(_NAN, value)
    return value.as_real()


def encode(x: Real, format_: FloatFormat) -> Bits:
    """The bits, in `i8`, of an `f32` register that holds a value of an f8, f6 or f4 format."""
    bits = x.bits()
    if format_.mantissa == 0:
        power = bits.shr(_F32_MANTISSA) & 0xFF
        return power.cast("i8")
    width = format_.exponent + format_.mantissa
    magnitude = (abs(x) * 2.0 ** (format_.bias - _F32_BIAS)).bits()
    magnitude = magnitude.shr(_F32_MANTISSA - format_.mantissa)
    if format_.infinities:
        top = ((1 << format_.exponent) - 1) << format_.mantissa
        magnitude = x.is_infinite().bits(top, magnitude)
        magnitude = x.is_nan().bits(top | (1 << (format_.mantissa - 1)), magnitude)
    elif format_.nan == "all-ones":
        magnitude = x.is_nan().bits((1 << width) - 1, magnitude)
    sign = bits.shr(31) << width
    value = magnitude | sign
    if format_.nan == "negative-zero":
        value = x.is_nan().bits(1 << width, value)
    return value.cast("i8")
