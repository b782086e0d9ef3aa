"""Emitters of the ops that are arithmetic, bits or selection."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elementwise import (
    arithmetic,
    comparison,
    complex_basic,
    integers,
    shared_division,
    storage,
)
from hlo.passes.hlo_to_loops.elementwise.convert import convert
from hlo.passes.hlo_to_loops.elementwise.numeric import Mask, Real
from hlo.passes.hlo_to_loops.elementwise.table import Emitter, elementwise, predicate, unsupported

Attributes = Mapping[str, Any]


def _emit_compare(
    b: Builder, operands: Sequence[Value], _: ElementType, attributes: Attributes
) -> Value:
    compare_type = str(attributes.get("compare_type") or "NOTYPE")
    direction = str(attributes["comparison_direction"])
    return comparison.compare(b, direction, compare_type, operands[0], operands[1])


def _emit_select(b: Builder, operands: Sequence[Value], _: ElementType, __: Attributes) -> Value:
    return comparison.select(b, operands[0], operands[1], operands[2])


def _emit_clamp(b: Builder, operands: Sequence[Value], _: ElementType, __: Attributes) -> Value:
    return comparison.clamp(b, operands[0], operands[1], operands[2])


def _emit_convert(
    b: Builder, operands: Sequence[Value], type_: ElementType, _: Attributes
) -> Value:
    return convert(b, operands[0], type_)


def _emit_complex(
    b: Builder, operands: Sequence[Value], type_: ElementType, _: Attributes
) -> Value:
    return Value(type_, (operands[0].name, operands[1].name), b.lanes)


def _emit_real(b: Builder, operands: Sequence[Value], type_: ElementType, _: Attributes) -> Value:
    return Value(type_, operands[0].parts[:1], b.lanes)


def _emit_imag(b: Builder, operands: Sequence[Value], type_: ElementType, _: Attributes) -> Value:
    operand = operands[0]
    if operand.type.is_complex:
        return Value(type_, operand.parts[1:], b.lanes)
    return storage.constant(b, type_, 0)


def _emit_reduce_precision(
    b: Builder, operands: Sequence[Value], type_: ElementType, attributes: Attributes
) -> Value:
    if not type_.is_float:
        raise unsupported("reduce_precision", type_)
    bits = int(attributes["exponent_bits"]), int(attributes["mantissa_bits"])
    x = storage.real(b, operands[0])
    return storage.value_of(type_, arithmetic.reduce_precision(x, type_, bits[0], bits[1]))


def _emit_next_after(
    b: Builder, operands: Sequence[Value], type_: ElementType, _: Attributes
) -> Value:
    if not type_.is_float:
        raise unsupported("next_after", type_)
    x, y = storage.real(b, operands[0]), storage.real(b, operands[1])
    return storage.value_of(type_, arithmetic.next_after(x, y, type_))


def _emit_bitcast_convert(
    b: Builder, operands: Sequence[Value], type_: ElementType, _: Attributes
) -> Value:
    """Of equal widths; of different widths the shape changes and it is no elementwise op."""
    source = operands[0].type
    if source.bits != type_.bits or source.is_complex != type_.is_complex:
        raise unsupported("bitcast_convert", source)
    if source == type_ or source.is_complex:
        return Value(type_, operands[0].parts, b.lanes)
    stored = storage.pack(b, operands[0])[0]
    if source.memory != type_.memory:
        types = f"{b.type_of(source.memory)} to {b.type_of(type_.memory)}"
        stored = b.op(f"arith.bitcast {stored} : {types}")
    return storage.unpack(b, type_, (stored,))


def _emit_abs(
    b: Builder, operands: Sequence[Value], type_: ElementType, attributes: Attributes
) -> Value:
    if operands[0].type.is_complex:
        return storage.value_of(type_, complex_basic.modulus(storage.pair(b, operands[0])))
    return _NONCOMPLEX_ABS(b, operands, type_, attributes)


def _not(x: Mask) -> Mask:
    return ~x


def _is_positive_infinity(x: Real) -> Mask:
    return x.eq(float("inf"))


def _is_negative_infinity(x: Real) -> Mask:
    return x.eq(float("-inf"))


_NONCOMPLEX_ABS = elementwise("abs", real=Real.__abs__, integer=integers.absolute, exact=True)


def _divider(*, bounded: bool) -> Emitter:
    """Of division; of numbers within [-1, 1] if `bounded`."""
    return elementwise(
        "divide",
        real=partial(shared_division.divide, bounded=bounded),
        integer=integers.divide,
        complex_=complex_basic.divide,
        single=True,
    )


_DIVIDE, _DIVIDE_BOUNDED = _divider(bounded=False), _divider(bounded=True)


def _emit_divide(
    b: Builder, operands: Sequence[Value], type_: ElementType, attributes: Attributes
) -> Value:
    emit = _DIVIDE_BOUNDED if "bounded" in attributes else _DIVIDE
    return emit(b, operands, type_, attributes)


BASIC_EMITTERS: dict[str, Emitter] = {
    "abs": _emit_abs,
    "add": elementwise(
        "add",
        real=operator.add,
        integer=integers.add,
        boolean=operator.or_,
        complex_=complex_basic.add,
        single=True,
    ),
    "subtract": elementwise(
        "subtract",
        real=operator.sub,
        integer=integers.subtract,
        complex_=complex_basic.subtract,
        single=True,
    ),
    "multiply": elementwise(
        "multiply",
        real=operator.mul,
        integer=integers.multiply,
        boolean=operator.and_,
        complex_=complex_basic.multiply,
        single=True,
    ),
    "divide": _emit_divide,
    "remainder": elementwise("remainder", real=arithmetic.remainder, integer=integers.remainder),
    "negate": elementwise(
        "negate",
        real=Real.__neg__,
        integer=integers.negate,
        complex_=complex_basic.negate,
        exact=True,
    ),
    "sign": elementwise(
        "sign", real=arithmetic.sign, integer=integers.sign, complex_=complex_basic.sign, exact=True
    ),
    "square": elementwise(
        "square",
        real=lambda x: x * x,
        integer=lambda x, type_: integers.multiply(x, x, type_),
        complex_=complex_basic.square,
        single=True,
    ),
    "conj": elementwise("conj", real=lambda x: x, complex_=complex_basic.conjugate, exact=True),
    "maximum": elementwise(
        "maximum",
        real=arithmetic.maximum,
        integer=integers.maximum,
        boolean=operator.or_,
        complex_=complex_basic.maximum,
        exact=True,
    ),
    "minimum": elementwise(
        "minimum",
        real=arithmetic.minimum,
        integer=integers.minimum,
        boolean=operator.and_,
        complex_=complex_basic.minimum,
        exact=True,
    ),
    "clamp": _emit_clamp,
    "compare": _emit_compare,
    "select": _emit_select,
    "and": elementwise("and", integer=lambda x, y, _: x & y, boolean=operator.and_),
    "or": elementwise("or", integer=lambda x, y, _: x | y, boolean=operator.or_),
    "xor": elementwise("xor", integer=lambda x, y, _: x ^ y, boolean=operator.xor),
    "not": elementwise("not", integer=integers.bitwise_not, boolean=_not),
    "shift_left": elementwise("shift_left", integer=integers.shift_left),
    "shift_right_logical": elementwise("shift_right_logical", integer=integers.shift_right_logical),
    "shift_right_arithmetic": elementwise(
        "shift_right_arithmetic", integer=integers.shift_right_arithmetic
    ),
    "mulhi": elementwise("mulhi", integer=integers.multiply_high),
    "popcnt": elementwise("popcnt", integer=integers.population_count),
    "count_leading_zeros": elementwise("count_leading_zeros", integer=integers.count_leading_zeros),
    "floor": elementwise("floor", real=arithmetic.floor, exact=True),
    "ceil": elementwise("ceil", real=arithmetic.ceil, exact=True),
    "round_nearest_even": elementwise("round_nearest_even", real=Real.round, exact=True),
    "round_nearest_afz": elementwise(
        "round_nearest_afz", real=arithmetic.round_nearest_afz, exact=True
    ),
    "is_finite": predicate("is_finite", Real.is_finite),
    "is_inf": predicate("is_inf", Real.is_infinite),
    "is_pos_inf": predicate("is_pos_inf", _is_positive_infinity),
    "is_neg_inf": predicate("is_neg_inf", _is_negative_infinity),
    "complex": _emit_complex,
    "real": _emit_real,
    "imag": _emit_imag,
    "convert": _emit_convert,
    "bitcast_convert": _emit_bitcast_convert,
    "reduce_precision": _emit_reduce_precision,
    "next_after": _emit_next_after,
}
