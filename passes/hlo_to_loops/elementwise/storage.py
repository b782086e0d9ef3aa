"""Values between memory and registers, and constants (docs/architecture.md, "Element types")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlo.diagnostics import UnsupportedError
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Mask, Real
from hlo.passes.hlo_to_loops.elementwise.rounding import decode, encode


def real(b: Builder, value: Value) -> Real:
    """The register of a float value."""
    return Real(b, value.name, value.type.register)


def bits(b: Builder, value: Value) -> Bits:
    """The register of an integer value."""
    return Bits(b, value.name, value.type.register)


def mask(b: Builder, value: Value) -> Mask:
    """The register of a bool value."""
    return Mask(b, value.name)


def pair(b: Builder, value: Value) -> tuple[Real, Real]:
    """The registers of a complex value: (real, imaginary)."""
    scalar = value.type.register
    return Real(b, value.parts[0], scalar), Real(b, value.parts[1], scalar)


def value_of(type_: ElementType, *registers: Real | Bits | Mask) -> Value:
    """The value of element type `type_` in `registers` (two for complex)."""
    return Value(type_, tuple(r.name for r in registers), registers[0].b.lanes)


def unpack(b: Builder, type_: ElementType, raw: Sequence[str]) -> Value:
    """Registers from memory: `raw` has one SSA value of MLIR type `type_.memory` at the current
    width, two if complex.
    """
    if type_.kind is Kind.BOOL:
        return value_of(type_, Bits(b, raw[0], "i8").ne(0))
    if type_.kind is Kind.FLOAT and type_.memory != type_.register:
        if type_.memory == "f16":
            return value_of(type_, Real(b, raw[0], "f16").cast("f32"))
        stored = Bits(b, raw[0], type_.memory)
        if type_.name == "bf16":
            return value_of(type_, (stored.cast("i32", signed=False) << 16).as_real())
        return value_of(type_, decode(stored, type_.format))
    if type_.is_integer and type_.bits < 8:
        return value_of(type_, renormalise(Bits(b, raw[0], "i8"), type_))
    return Value(type_, tuple(raw), b.lanes)


def pack(b: Builder, value: Value) -> tuple[str, ...]:
    """The SSA values to store for `value`, of MLIR type `value.type.memory`: one, or two if
    complex.
    """
    type_ = value.type
    if type_.kind is Kind.BOOL:
        return (Bits(b, "", "i8").from_mask(mask(b, value)).name,)
    if type_.kind is Kind.FLOAT and type_.memory != type_.register:
        register = real(b, value)
        if type_.memory == "f16":
            return (register.cast("f16").name,)
        if type_.name == "bf16":
            return (register.bits().shr(16).cast("i16").name,)
        return (encode(register, type_.format).name,)
    return value.parts


def renormalise(x: Bits, type_: ElementType) -> Bits:
    """Wraps an `i8` register to the width of a 2- or 4-bit integer type; wider types are as wide as
    their registers.
    """
    spare = x.width - type_.bits
    if spare == 0:
        return x
    return (x << spare).sar(spare) if type_.is_signed else x & ((1 << type_.bits) - 1)


def constant(b: Builder, type_: ElementType, scalar: Any) -> Value:
    """A Python or NumPy scalar as a value of `type_`; the scalar must be a value of that type.

    Raises:
        UnsupportedError: if the scalar cannot be read as a number.
    """
    try:
        if type_.is_complex:
            number = complex(scalar)
            parts = (
                b.constant(number.real, type_.register),
                b.constant(number.imag, type_.register),
            )
            return Value(type_, parts, b.lanes)
        if type_.kind is Kind.BOOL:
            return Value(type_, (b.constant(bool(scalar), "i1"),), b.lanes)
        number = float(scalar) if type_.is_float else int(scalar)
    except (TypeError, ValueError) as error:
        raise UnsupportedError(
            f"{scalar!r} is not a constant of element type {type_.name}"
        ) from error
    return Value(type_, (b.constant(number, type_.register),), b.lanes)
