"""Shapes and element types of values, as plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo import ir


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The shape of a value of ranked tensor type; dynamic sizes are negative."""
    return tuple(_ranked(value.type).shape)


def element_of(value: ir.Value) -> ir.Type:
    """The element type of a value of ranked tensor type."""
    return _ranked(value.type).element_type


def _ranked(kind: ir.Type) -> ir.RankedTensorType:
    # Types mostly come as objects of their class already.
    return kind if isinstance(kind, ir.RankedTensorType) else ir.RankedTensorType(kind)


def is_tensor(kind: ir.Type) -> bool:
    """Whether a type is a ranked tensor."""
    return isinstance(kind, ir.RankedTensorType)


def has_static_shape(kind: ir.Type) -> bool:
    """Whether every dimension of a ranked tensor type is known."""
    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape


def is_token(kind: ir.Type) -> bool:
    """Whether a type is `!hlo.token`."""
    return not isinstance(kind, ir.RankedTensorType) and str(kind) == "!hlo.token"


def size_of(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)


def is_float(element: ir.Type) -> bool:
    """Whether an element type is a float of any format."""
    return isinstance(element, ir.FloatType)


def is_complex(element: ir.Type) -> bool:
    """Whether an element type is complex."""
    return isinstance(element, ir.ComplexType)


def is_boolean(element: ir.Type) -> bool:
    """Whether an element type is i1."""
    return isinstance(element, ir.IntegerType) and element.width == 1


def is_integer(element: ir.Type) -> bool:
    """Whether an element type is an integer, i1 excluded."""
    return isinstance(element, ir.IntegerType) and element.width != 1


def is_unsigned(element: ir.Type) -> bool:
    """Whether an element type compares and extends as unsigned: ui2 to ui64, and i1."""
    return isinstance(element, ir.IntegerType) and (element.is_unsigned or element.width == 1)


def bit_width(element: ir.Type) -> int:
    """Bits of an integer, float or complex element."""
    if isinstance(element, ir.ComplexType):
        return 2 * bit_width(element.element_type)
    if isinstance(element, ir.IntegerType | ir.FloatType):
        return int(element.width)
    return 64  # index
