"""compare, select and clamp for every element type."""

from __future__ import annotations

from hlo.diagnostics import UnsupportedError
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import Kind, element_type
from hlo.passes.hlo_to_loops.elementwise import (
    arithmetic,
    complex_basic,
    integers,
    storage,
)
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Mask, Real

_BOOL = element_type("i1")
_FLOAT_PREDICATES = {
    "EQ": "oeq",
    "NE": "une",
    "LT": "olt",
    "LE": "ole",
    "GT": "ogt",
    "GE": "oge",
}


def compare(b: Builder, direction: str, compare_type: str, x: Value, y: Value) -> Value:
    """`hlo.compare` as an i1 value.

    Args:
        b: where to emit.
        direction: EQ, NE, LT, LE, GT or GE.
        compare_type: TOTALORDER orders floats as IEEE 754's totalOrder; any other value leaves it
        to the element type. x: left operand. y: right operand, of the same element type.

    Raises:
        UnsupportedError: for an order of complex values.
    """
    type_ = x.type
    if type_.is_complex:
        return storage.value_of(_BOOL, _compare_complex(b, direction, x, y))
    if type_.is_float:
        left, right = storage.real(b, x), storage.real(b, y)
        if compare_type == "TOTALORDER":
            keys = arithmetic.total_order_key(left), arithmetic.total_order_key(right)
            return storage.value_of(
                _BOOL, _compare_integers(keys[0], keys[1], direction, signed=True)
            )
        return storage.value_of(_BOOL, left.compare(_FLOAT_PREDICATES[direction], right))
    if type_.kind is Kind.BOOL:
        i1 = Bits(b, x.name, "i1"), Bits(b, y.name, "i1")
        return storage.value_of(_BOOL, _compare_integers(i1[0], i1[1], direction, signed=False))
    left, right = storage.bits(b, x), storage.bits(b, y)
    return storage.value_of(_BOOL, _compare_integers(left, right, direction, type_.is_signed))


def _compare_complex(b: Builder, direction: str, x: Value, y: Value) -> Mask:
    if direction not in ("EQ", "NE"):
        raise UnsupportedError(
            f"complex values have no order: expected direction EQ or NE, found {direction}",
            op="hlo.compare",
        )
    (x_re, x_im), (y_re, y_im) = storage.pair(b, x), storage.pair(b, y)
    if direction == "EQ":
        return x_re.eq(y_re) & x_im.eq(y_im)
    return x_re.ne(y_re) | x_im.ne(y_im)


def _compare_integers(x: Bits, y: Bits, direction: str, signed: bool) -> Mask:
    predicate = direction.lower()
    if predicate not in ("eq", "ne"):
        predicate = ("s" if signed else "u") + predicate
    return x.compare(predicate, y)


def select(b: Builder, pred: Value, on_true: Value, on_false: Value) -> Value:
    """`on_true` where `pred` (i1) holds, `on_false` elsewhere; of any element type."""
    condition, type_ = storage.mask(b, pred), on_true.type
    if type_.kind is Kind.BOOL:
        return storage.value_of(
            type_, condition.mask(storage.mask(b, on_true), storage.mask(b, on_false))
        )
    if type_.is_integer:
        chosen = condition.bits(storage.bits(b, on_true), storage.bits(b, on_false))
        return storage.value_of(type_, chosen)
    parts = [
        condition.real(Real(b, left, type_.register), Real(b, right, type_.register))
        for left, right in zip(on_true.parts, on_false.parts, strict=True)
    ]
    return storage.value_of(type_, *parts)


def clamp(b: Builder, low: Value, x: Value, high: Value) -> Value:
    """minimum(maximum(low, x), high); complex values in lexicographic order."""
    type_ = x.type
    if type_.is_complex:
        bounds = storage.pair(b, low), storage.pair(b, high)
        raised = complex_basic.maximum(bounds[0], storage.pair(b, x))
        return storage.value_of(type_, *complex_basic.minimum(bounds[1], raised))
    if type_.is_float:
        bounds = storage.real(b, low), storage.real(b, high)
        clamped = arithmetic.clamp(bounds[0], storage.real(b, x), bounds[1])
        return storage.value_of(type_, clamped)
    if type_.is_integer:
        raised = integers.maximum(storage.bits(b, x), storage.bits(b, low), type_)
        return storage.value_of(type_, integers.minimum(raised, storage.bits(b, high), type_))
    raised = storage.mask(b, x) | storage.mask(b, low)
    return storage.value_of(type_, raised & storage.mask(b, high))
