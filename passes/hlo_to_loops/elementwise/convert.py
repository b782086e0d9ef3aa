"""`hlo.convert`: any element type to any other, rounded once; floats saturate to integers and NaN
becomes 0.
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind
from hlo.passes.hlo_to_loops.elementwise import storage
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Mask, Real
from hlo.passes.hlo_to_loops.elementwise.rounding import round_to, to_odd_single


def convert(b: Builder, value: Value, to: ElementType) -> Value:
    """`value` as element type `to`, by the rules of the StableHLO specification and of XLA where it
    leaves a choice.

    Complex to any other type drops the imaginary part; to bool means "is not zero"; integers wrap
    among themselves; a float goes to an integer type toward zero, saturated, NaN to 0; every
    rounding is to nearest even, once.
    """
    source = value.type
    if source == to:
        return value
    if to.is_complex:
        return _to_complex(b, value, to)
    if source.is_complex:
        return convert(b, Value(source.part_type, value.parts[:1], value.lanes), to)
    if source.kind is Kind.BOOL:
        return _from_bool(storage.mask(b, value), to)
    if source.is_float:
        return _from_float(storage.real(b, value), to)
    return _from_integer(storage.bits(b, value), source, to)


def _to_complex(b: Builder, value: Value, to: ElementType) -> Value:
    half = to.part_type
    if value.type.is_complex:
        parts = (Value(value.type.part_type, (part,), value.lanes) for part in value.parts)
        re, im = (convert(b, part, half) for part in parts)
        return Value(to, (re.name, im.name), value.lanes)
    zero = b.constant(0.0, to.register)
    return Value(to, (convert(b, value, half).name, zero), value.lanes)


def _from_bool(x: Mask, to: ElementType) -> Value:
    if to.is_integer:
        return storage.value_of(to, Bits(x.b, "", to.register).from_mask(x))
    zero = Real(x.b, x.b.constant(0.0, to.register), to.register)
    # A format without zero (f8E8M0FNU) holds its smallest value instead, as the rounding of 0 says.
    return storage.value_of(to, _rounded(x.real(1.0, zero), to))


def _rounded(x: Real, to: ElementType) -> Real:
    return x if to.name in ("f64", "f32", "f16", "bf16") else round_to(x, to)


def _from_float(x: Real, to: ElementType) -> Value:
    if to.kind is Kind.BOOL:
        return storage.value_of(to, x.ne(0.0))
    if to.is_integer:
        return storage.value_of(to, saturate(x, to))
    if to.register == "f64":
        return storage.value_of(to, x.cast("f64"))
    return storage.value_of(to, round_to(x, to))


def saturate(x: Real, to: ElementType) -> Bits:
    """Toward zero to the nearest value of an integer type, NaN to 0, in that type's register."""
    low = -(2 ** (to.bits - 1)) if to.is_signed else 0
    high = 2 ** (to.bits - 1) - 1 if to.is_signed else 2**to.bits - 1
    above = float(high + 1)
    inside = x < above
    inside = inside & ((x >= float(low)) if low else (x > -1.0))
    safe = inside.real(x, 0.0)
    result = Bits(x.b, _to_register(safe, to), to.register)
    result = (x >= above).bits(high, result)
    return (x < float(low)).bits(low, result)


def _to_register(x: Real, to: ElementType) -> str:
    # Through a signed wider integer where there is one: x86 converts to unsigned and to bytes only
    # in several steps.
    if to.bits < 32:
        return x.to_integer("i32").cast(to.register).name
    return x.to_integer(to.register, to.is_signed).name


def _from_integer(x: Bits, source: ElementType, to: ElementType) -> Value:
    if to.kind is Kind.BOOL:
        return storage.value_of(to, x.ne(0))
    if to.is_integer:
        return storage.value_of(to, storage.renormalise(x.cast(to.register, source.is_signed), to))
    return storage.value_of(to, nearest_float(x, source, to))


def nearest_float(x: Bits, source: ElementType, to: ElementType) -> Real:
    """The value of float type `to` nearest to an integer, in that type's register."""
    if source.bits < 32:
        x, signed = x.cast("i32", source.is_signed), True
    else:
        signed = source.is_signed
    if to.name in ("f32", "f64"):
        return x.to_real(to.register, signed)
    if source.bits < 24:
        return round_to(x.to_real("f32"), to)
    if source.bits == 64:
        x = _sticky(x, signed)
    return round_to(to_odd_single(x.to_real("f64", signed)), to)


def _sticky(x: Bits, signed: bool) -> Bits:
    """A 64-bit integer that `f64` holds exactly and that rounds to narrower formats as `x` does.

    From 2**53 on, the 11 low bits become one bit that says whether any was set.
    """
    low = x & 0x7FF
    merged = (x & -0x800) | low.eq(0).bits(0, low.lift(0x800))
    bound = 1 << 53
    small = (x + bound).below(2 * bound) if signed else x.below(bound)
    return small.bits(x, merged)
