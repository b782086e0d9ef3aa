"""Reduction of any angle to a fraction of pi, exact for huge arguments.

Common arguments take a three-part Cody-Waite reduction, the rounding of whose sum is kept. Larger
ones multiply the significand by a
window of the bits of 1 / (2 pi) in integers (Payne and Hanik, "Radian reduction for trigonometric
functions", 1983), under a branch that no vector of common arguments takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Pair,
    Real,
    fast_two_sum,
    two_product,
)
from hlo.passes.hlo_to_loops.elementwise.whole_numbers import nearest_integer

# The bits of 1 / (2 pi) in words of 32; the point is after the second.
_TURN_WORDS = (
    0,
    0,
    0x28BE60DB,
    0x9391054A,
    0x7F09D5F4,
    0x7D4D3770,
    0x36D8A566,
    0x4F10E410,
    0x7F9458EA,
    0xF7AEF158,
    0x6DC91B8E,
    0x909374B8,
    0x01924BBA,
    0x82746487,
    0x3F877AC7,
    0x2C4A69CF,
    0xBA208D7D,
    0x4BAED121,
    0x3A671C09,
    0xAD17DF90,
    0x4E64758E,
    0x60D4CE7D,
    0x272117E2,
    0xEF7E4A0E,
    0xC7FE25FF,
    0xF7816603,
    0xFBCBC462,
    0xD6829B47,
    0xDB4D9FB3,
    0xC9F2C26D,
    0xD3D18FD9,
    0xA797FA8B,
    0x5D49EEB1,
    0xFAF97C5E,
    0xCF41CE7D,
    0xE294A4BA,
    0x9AFED7EC,
    0x47E35742,
    0x1580CC11,
    0xBF1EDAEA,
    0xFC33EF08,
    0x26BD0D87,
)
# pi / 2 in parts, each the nearest to what the ones before leave; the second has so few bits that
# its product with the number of quarter turns of a common argument is exact.
_QUARTER_TURN = {
    "f32": tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.778p-25", "0x1.68c234p-39"))),
    "f64": tuple(
        map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a6263318p-54", "-0x1.d1fc8f8cbb5bfp-89"))
    ),
}
# The same with as many bits as each part has: products are fused with the subtractions.
_FUSED_QUARTER_TURN = tuple(
    map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"))
)
# pi / 2 in parts of full precision.
_HALF_PI = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"))
# Up to here the parts leave an error below the unit of the result.
COMMON = {"f32": 25000.0, "f64": 500000.0}


@dataclass(frozen=True)
class Reduced:
    """An angle x = count * pi / 2 + rest + low, |rest| at most pi / 4.

    Attributes:
        rest: in radians, rounded.
        low: what the rounding left.
        count: integer; only its low bits are meaningful.
    """

    rest: Real
    low: Real
    count: Bits


def reduce_angle(x: Real) -> Reduced:
    """x modulo pi / 2; NaN for infinite x."""
    high, middle, low = _QUARTER_TURN[x.scalar]
    turns = nearest_integer(x, 2 / 3.141592653589793)
    steps, count = turns.real, turns.low_bits
    first = (-steps).fma(high, x)
    second = steps * middle
    # `first` is a multiple of the unit of `second` or not smaller, so that this is the exact error.
    rest = first - second
    left = (-steps).fma(low, (first - rest) - second)
    near = abs(x) <= COMMON[x.scalar]
    common = Reduced(rest, left, count)
    b, real_type = x.b, x.b.type_of(x.scalar)
    types = [real_type, real_type, b.type_of(count.scalar)]
    with b.choice((~near).any(), types) as choice:
        with choice.then():
            choice.yielded = _names(_merged(x, common))
        with choice.otherwise():
            choice.yielded = _names(common)
    return _named(choice.results, common)


def reduce_common(x: Real) -> tuple[Real, Bits]:
    """(rest, count) as in `Reduced`, within a unit, for an `f32` x of at most COMMON."""
    turns = nearest_integer(x, 2 / 3.141592653589793)
    rest = x
    for part in _FUSED_QUARTER_TURN:
        rest = turns.real.fma(-part, rest)
    return rest, turns.low_bits


def _names(angle: Reduced) -> list[str]:
    return [angle.rest.name, angle.low.name, angle.count.name]


def _named(names: Sequence[str], like: Reduced) -> Reduced:
    return Reduced(like.rest.of(names[0]), like.low.of(names[1]), like.count.of(names[2]))


def _merged(x: Real, common: Reduced) -> Reduced:
    """The angle of each lane: that of `common`, or a far one's."""
    b = x.b
    if not b.outlines:
        return _merged_here(x, common)
    kinds = [b.type_of(v.scalar) for v in (x, common.rest, common.low, common.count)]

    def body(inner: Builder, names: list[str]) -> list[str]:
        angle = Reduced(
            Real(inner, names[1], x.scalar),
            Real(inner, names[2], x.scalar),
            Bits(inner, names[3], common.count.scalar),
        )
        return _names(_merged_here(Real(inner, names[0], x.scalar), angle))

    operands = list(zip([x.name, *_names(common)], kinds, strict=True))
    return _named(b.call_rare(f"far_angle_{x.scalar}", operands, kinds[1:], body), common)


def _merged_here(x: Real, common: Reduced) -> Reduced:
    magnitude = abs(x)
    far = (magnitude > COMMON[x.scalar]) & magnitude.is_finite()
    exact = _reduce_far(far.real(magnitude, 1.0))
    negative = x.sign_bit()
    return Reduced(
        far.real(negative.real(-exact.rest, exact.rest), common.rest),
        far.real(negative.real(-exact.low, exact.low), common.low),
        far.bits(negative.bits(-exact.count, exact.count), common.count),
    )


def _words(start: Bits, count: int) -> list[Bits]:
    """The words _TURN_WORDS[start], ..., as `i64` below 2**32, chosen lane by lane."""
    last = (128 + 64) // 32 if start.width == 32 else (1024 + 64) // 32
    selected: list[Bits] = []
    index = start.cast("i64")
    for offset in range(count):
        options = [index.lift(_TURN_WORDS[i + offset]) for i in range(last)]
        level = 0
        while len(options) > 1:
            bit = (index & (1 << level)).ne(0)
            pairs = [
                (options[i], options[min(i + 1, len(options) - 1)])
                for i in range(0, len(options), 2)
            ]
            options = [bit.bits(odd, even) for even, odd in pairs]
            level += 1
        selected.append(options[0])
    return selected


def _window(x: Real, count: int) -> tuple[list[Bits], Bits]:
    """(words, significand) such that significand * 0.words is x / (2 pi) modulo 1, for x of at
    least 1.

    Words are below 2**32 in `i64`; the product must be taken modulo 1.
    """
    mantissa = x.mantissa
    field = x.bits().shr(mantissa) & ((1 << (x.width - 1 - mantissa)) - 1)
    # How many bits of the table are integers times the unit of the significand; not negative.
    exponent = field - (x.bias + mantissa - 64)
    significand = (x.bits() & ((1 << mantissa) - 1)) | (1 << mantissa)
    words = _words(exponent.shr(5), count + 1)
    offset = (exponent & 31).cast("i64")
    shifted: list[Bits] = []
    for left, right in pairwise(words):
        both = (left << 32) | right
        shifted.append((both << offset).shr(32))
    return shifted, significand.cast("i64", signed=False)


def _fraction_single(x: Real) -> Bits:
    """x / (2 pi) modulo 1 in units of 2**-64."""
    (first, second, third), significand = _window(x, 3)
    low = (significand * third).shr(32)
    return ((significand * first) << 32) + significand * second + low


def _fraction_double(x: Real) -> tuple[Bits, Bits, Bits, Bits]:
    """x / (2 pi) modulo 1 as four words of 32 bits, most significant first, in `i64`."""
    words, significand = _window(x, 6)
    high, low = significand.shr(32), significand & 0xFFFFFFFF
    mask = 0xFFFFFFFF
    columns: list[Bits] = []
    carry = significand.lift(0)
    for position in range(5, -1, -1):
        # low * word[p] has weight p, with a carry into p - 1; high * word[p + 1] the same.
        terms = [low * words[position]]
        if position < 5:
            terms.append(high * words[position + 1])
        total = carry
        carry = carry.lift(0)
        for term in terms:
            total = total + (term & mask)
            carry = carry + term.shr(32)
        columns.append(total & mask)
        carry = carry + total.shr(32)
    columns.reverse()
    return columns[0], columns[1], columns[2], columns[3]


# A quarter turn is 2**30 in the first word.
_QUARTER = 30


def _reduce_far(x: Real) -> Reduced:
    """By the bits of 1 / (2 pi), for finite x of at least 1."""
    return _rest_double(_fraction_double(x)) if x.is_double else _rest_single(_fraction_single(x))


def _rest_single(fraction: Bits) -> Reduced:
    position = _QUARTER + 32
    count = (fraction + (1 << (position - 1))).shr(position)
    signed = (fraction << (64 - position)).to_real("f64")
    angle = signed * (1.5707963267948966 * 2.0**-64)
    rest = angle.cast("f32")
    return Reduced(rest, (angle - rest.cast("f64")).cast("f32"), count.cast("i32"))


def _rest_double(words: tuple[Bits, Bits, Bits, Bits]) -> Reduced:
    count = (words[0] + (1 << (_QUARTER - 1))).shr(_QUARTER)
    spare = 64 - _QUARTER
    top = (words[0] << spare).sar(spare)
    scale = 2.0**-_QUARTER
    high, low = fast_two_sum(_real(top) * scale, _real(words[1]) * (scale * 2.0**-32))
    tail = _real(words[2]) * (scale * 2.0**-64) + _real(words[3]) * (scale * 2.0**-96)
    rest, left = _times_half_pi(fast_two_sum(high, low + tail))
    return Reduced(rest, left, count)


def _real(word: Bits) -> Real:
    """A word or a signed number below 2**51 as `f64`."""
    magic = Real(word.b, word.b.constant(1.5 * 2.0**52, "f64"), "f64")
    return (word + magic.bits()).as_real() - magic


def _times_half_pi(x: Pair) -> Pair:
    high, low = x
    half_pi, half_pi_low = _HALF_PI
    product, error = two_product(high, high.lift(half_pi))
    return fast_two_sum(product, error + (high * half_pi_low + low * half_pi))
