"""Integer arithmetic: two's complement that wraps, with XLA's results where the machine's are
undefined.
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Mask
from hlo.passes.hlo_to_loops.elementwise.storage import renormalise


def _least(type_: ElementType) -> int:
    return -(1 << (type_.bits - 1))


def add(x: Bits, y: Bits, type_: ElementType) -> Bits:
    return renormalise(x + y, type_)


def subtract(x: Bits, y: Bits, type_: ElementType) -> Bits:
    return renormalise(x - y, type_)


def multiply(x: Bits, y: Bits, type_: ElementType) -> Bits:
    return renormalise(x * y, type_)


def multiply_high(x: Bits, y: Bits, type_: ElementType) -> Bits:
    """The upper half of the product in twice the width."""
    signed = type_.is_signed
    if type_.bits == 64:
        return _multiply_high_words(x, y, signed)
    wide = f"i{2 * x.width}"
    product = x.cast(wide, signed) * y.cast(wide, signed)
    return (product.sar(type_.bits) if signed else product.shr(type_.bits)).cast(x.scalar)


def _multiply_high_words(x: Bits, y: Bits, signed: bool) -> Bits:
    """Of 64 bits, by halves of 32."""
    mask = 0xFFFFFFFF
    (x_high, x_low), (y_high, y_low) = ((v.shr(32), v & mask) for v in (x, y))
    middle = x_high * y_low + (x_low * y_low).shr(32)
    other = x_low * y_high + (middle & mask)
    high = x_high * y_high + middle.shr(32) + other.shr(32)
    if not signed:
        return high
    return high - (x < 0).bits(y, 0) - (y < 0).bits(x, 0)


def negate(x: Bits, type_: ElementType) -> Bits:
    return renormalise(-x, type_)


def absolute(x: Bits, type_: ElementType) -> Bits:
    """|x|; the least signed value is its own."""
    return renormalise((x < 0).bits(-x, x), type_) if type_.is_signed else x


def sign(x: Bits, type_: ElementType) -> Bits:
    positive = x.ne(0).bits(1, x.lift(0))
    return (x < 0).bits(-1, positive) if type_.is_signed else positive


def _guarded(x: Bits, y: Bits, type_: ElementType) -> tuple[Bits, Mask]:
    """A divisor that is neither 0 nor overflows (1 instead, which gives the wrapped result), and
    where it was 0.
    """
    zero = y.eq(0)
    unsafe = zero | (x.eq(_least(type_)) & y.eq(-1)) if type_.is_signed else zero
    return unsafe.bits(1, y), zero


def _quotient(x: Bits, y: Bits, type_: ElementType) -> Bits:
    """x / y toward zero for a guarded y.

    Vectors of up to 32 bits divide as floats, for which there are vector instructions: the fraction
    of a quotient of n-bit integers is at least 2**-n of it away from the next integer, so a
    division in more than n bits of precision never rounds up to it.
    """
    if not x.b.lanes or type_.bits > 32:
        return x.op("divsi" if type_.is_signed else "divui", y)
    scalar = "f32" if type_.bits <= 16 else "f64"
    if type_.bits < 32:
        numerator, denominator = (v.cast("i32", type_.is_signed).to_real(scalar) for v in (x, y))
        return (numerator / denominator).to_integer("i32").cast(x.scalar)
    numerator, denominator = (v.to_real(scalar, type_.is_signed) for v in (x, y))
    return (numerator / denominator).to_integer("i32", type_.is_signed)


def _by_constant(x: Bits, y: Bits, type_: ElementType) -> Bits | None:
    """x / y toward zero for a constant y that is not zero: LLVM multiplies by its reciprocal."""
    value = y.b.integer_of(y.name)
    if not value:
        return None
    if type_.is_signed and value == -1:
        return renormalise(-x, type_)
    return x.op("divsi" if type_.is_signed else "divui", y)


def divide(x: Bits, y: Bits, type_: ElementType) -> Bits:
    """Toward zero; x / 0 is all ones; the least value / -1 is itself."""
    if (quotient := _by_constant(x, y, type_)) is not None:
        return quotient
    divisor, zero = _guarded(x, y, type_)
    everything = -1 if type_.is_signed else (1 << type_.bits) - 1
    return zero.bits(everything, _quotient(x, divisor, type_))


def remainder(x: Bits, y: Bits, type_: ElementType) -> Bits:
    """With the sign of the dividend; x % 0 is x; the least value % -1 is 0."""
    if (quotient := _by_constant(x, y, type_)) is not None:
        return renormalise(x - quotient * y, type_)
    divisor, zero = _guarded(x, y, type_)
    if not x.b.lanes or type_.bits > 32:
        rest = x.op("remsi" if type_.is_signed else "remui", divisor)
    else:
        rest = x - _quotient(x, divisor, type_) * divisor
    return zero.bits(x, rest)


def maximum(x: Bits, y: Bits, type_: ElementType) -> Bits:
    return x.op("maxsi" if type_.is_signed else "maxui", y)


def minimum(x: Bits, y: Bits, type_: ElementType) -> Bits:
    return x.op("minsi" if type_.is_signed else "minui", y)


def bitwise_not(x: Bits, type_: ElementType) -> Bits:
    return renormalise(~x, type_)


def _inside(count: Bits, type_: ElementType) -> Mask:
    """Where a shift count is below the width; counts are unsigned."""
    return count.below(type_.bits)


def shift_left(x: Bits, count: Bits, type_: ElementType) -> Bits:
    """x << count; 0 from the width on."""
    inside = _inside(count, type_)
    return renormalise(inside.bits(x << inside.bits(count, 0), 0), type_)


def shift_right_logical(x: Bits, count: Bits, type_: ElementType) -> Bits:
    """Zeros come in; 0 from the width on."""
    inside = _inside(count, type_)
    pattern = x & ((1 << type_.bits) - 1) if type_.bits < x.width else x
    shifted = pattern.shr(inside.bits(count, 0))
    return renormalise(inside.bits(shifted, 0), type_)


def shift_right_arithmetic(x: Bits, count: Bits, type_: ElementType) -> Bits:
    """Copies of the top bit come in, for unsigned types too; nothing but it from the width on."""
    inside = _inside(count, type_)
    spare = x.width - type_.bits
    extended = x if type_.is_signed or not spare else (x << spare).sar(spare)
    return renormalise(extended.sar(inside.bits(count, type_.bits - 1)), type_)


def population_count(x: Bits, type_: ElementType) -> Bits:
    pattern = x & ((1 << type_.bits) - 1) if type_.bits < x.width else x
    return renormalise(pattern.unary("ctpop"), type_)


def count_leading_zeros(x: Bits, type_: ElementType) -> Bits:
    spare = x.width - type_.bits
    pattern = x & ((1 << type_.bits) - 1) if spare else x
    return renormalise(pattern.unary("ctlz") - spare, type_)


def power(x: Bits, exponent: Bits, type_: ElementType) -> Bits:
    """x ** exponent, wrapped, by squaring; for negative exponents 1 and -1 keep their powers and
    all else gives 0.
    """
    b = x.b
    mlir_type = b.type_of(x.scalar)
    one = x.lift(1)
    rest = (exponent < 0).bits(0, exponent) if type_.is_signed else exponent
    carried = [(one.name, mlir_type), (x.name, mlir_type), (rest.name, mlir_type)]
    steps = b.index(type_.bits)
    with b.loop(b.index(0), steps, b.index(1), carried) as loop:
        result, base, left = (x.of(name) for name in loop.carried)
        result = (left & 1).ne(0).bits(result * base, result)
        loop.yielded = [result.name, (base * base).name, left.shr(1).name]
    positive = renormalise(x.of(loop.results[0]), type_)
    if not type_.is_signed:
        return positive
    odd = (exponent & 1).ne(0)
    negative = x.eq(-1).bits(odd.bits(-1, one), x.eq(1).bits(1, x.lift(0)))
    return (exponent < 0).bits(negative, positive)
