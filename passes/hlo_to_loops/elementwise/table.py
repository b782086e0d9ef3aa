"""The table of elementwise ops: what to emit for each op and kind of element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlo.diagnostics import UnsupportedError
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind
from hlo.passes.hlo_to_loops.elementwise import storage
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Mask, Pair, Real
from hlo.passes.hlo_to_loops.elementwise.rounding import round_to

Emitter = Callable[[Builder, Sequence[Value], ElementType, Mapping[str, Any]], Value]
"""(builder, operands, result element type, attributes as plain Python values) -> result."""

RealFunction = Callable[..., Real]
BitsFunction = Callable[..., Bits]
MaskFunction = Callable[..., Mask]
ComplexFunction = Callable[..., Pair]

_EXACT = ("f64", "f32", "f16", "bf16")


def elementwise(
    name: str,
    *,
    real: RealFunction | None = None,
    integer: BitsFunction | None = None,
    boolean: MaskFunction | None = None,
    complex_: ComplexFunction | None = None,
    exact: bool = False,
    single: bool = False,
) -> Emitter:
    """An emitter for an op whose operands and result have one element type.

    Args:
        name: the op, for errors.
        real: on the registers of floats; its result is rounded to the element type.
        integer: on the registers of integers, with the element type as last argument.
        boolean: on truth values.
        complex_: on (real, imaginary) pairs.
        exact: the result of `real` is a value of any format with at least f16's exponents: nothing
        to round there.
        single: `real` is one float op, or as good as one when it comes to NaN.

    Raises (from the emitter):
        UnsupportedError: for an element type without a function.
    """

    def emit(
        b: Builder, operands: Sequence[Value], type_: ElementType, _: Mapping[str, Any]
    ) -> Value:
        kind = operands[0].type.kind
        if kind is Kind.FLOAT and real is not None:
            result = real(*(storage.real(b, operand) for operand in operands))
            if not (exact and type_.name in _EXACT):
                result = round_to(result, type_, single=single)
            return storage.value_of(type_, result)
        if kind in (Kind.SINT, Kind.UINT) and integer is not None:
            return storage.value_of(type_, integer(*(storage.bits(b, v) for v in operands), type_))
        if kind is Kind.BOOL and boolean is not None:
            return storage.value_of(type_, boolean(*(storage.mask(b, v) for v in operands)))
        if kind is Kind.COMPLEX and complex_ is not None:
            return storage.value_of(type_, *complex_(*(storage.pair(b, v) for v in operands)))
        raise unsupported(name, operands[0].type)

    return emit


def predicate(name: str, real: MaskFunction, complex_: MaskFunction | None = None) -> Emitter:
    """An emitter for an op from floats to i1."""

    def emit(
        b: Builder, operands: Sequence[Value], type_: ElementType, _: Mapping[str, Any]
    ) -> Value:
        operand = operands[0]
        if operand.type.is_float:
            return storage.value_of(type_, real(storage.real(b, operand)))
        if operand.type.is_complex and complex_ is not None:
            return storage.value_of(type_, complex_(storage.pair(b, operand)))
        raise unsupported(name, operand.type)

    return emit


def unsupported(name: str, type_: ElementType) -> UnsupportedError:
    return UnsupportedError(
        f"hlo.{name} is not defined on element type {type_.name}", op=f"hlo.{name}"
    )
