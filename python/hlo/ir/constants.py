"""Elements of constants as arrays, and back, for every element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from hlo.ir.context import note_bytes
from hlo.ir.types import element_type as element_type_of
from hlo.ir.types import to_dtype
from hlo_native import _dialect

Array = np.ndarray[Any, np.dtype[Any]]


def to_numpy(attribute: ir.Attribute) -> Array:
    """The elements of a dense, resource or sparse constant, in its shape.

    The array is read-only; that of a splat is one element broadcast, without memory of its own.

    Raises:
        TypeError: the attribute has no elements, or elements that NumPy cannot hold.
        ValueError: a resource without data.
    """
    found = _dialect.constant_bytes(attribute)
    if found is None:
        raise TypeError(f"expected a constant's elements, found {attribute}")
    data, is_splat = found
    shaped = ir.ShapedType(attribute.type)
    dtype = to_dtype(shaped.element_type)
    shape = tuple(shaped.shape)
    elements = np.frombuffer(data, dtype)
    if is_splat:
        return np.broadcast_to(elements.reshape(()), shape)
    return elements.reshape(shape)


def raw_bytes(attribute: ir.Attribute) -> Any:
    """The memory of a dense constant's elements, as an object that lends a buffer of bytes."""
    return to_numpy(attribute).reshape(-1).view(np.uint8)


def is_splat(attribute: ir.Attribute) -> bool:
    """Whether a constant is known to repeat one element."""
    return isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat


def splat_value(attribute: ir.Attribute) -> Any | None:
    """The one element that a constant repeats, as a NumPy scalar; None if elements may differ."""
    if not (isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat):
        return None
    found = _dialect.constant_bytes(attribute)
    if found is None or not found[0]:
        return None
    return np.frombuffer(found[0], to_dtype(ir.ShapedType(attribute.type).element_type))[0]


def from_numpy(
    array: Array, element_type: ir.Type | None = None, *, context: ir.Context | None = None
) -> ir.DenseElementsAttr:
    """A dense constant of an array's elements.

    An array that is one element broadcast (`numpy.broadcast_to`) becomes a splat, as does one whose
    elements are the same bits.

    Args:
        array: elements of the dtype that stands for `element_type`; any layout.
        element_type: by default what the dtype stands for; needed for types that share a dtype with
            another, such as ``index``.
        context: where the attribute lives when no element type is given.

    Raises:
        TypeError: dtype and element type do not go together.
    """
    array = np.asarray(array)
    if element_type is None:
        element_type = element_type_of(array.dtype, context)
    expected = to_dtype(element_type)
    if array.dtype != expected:
        raise TypeError(
            f"elements of type {element_type} are held by dtype {expected}, found {array.dtype}"
        )
    kind = ir.RankedTensorType.get(array.shape, element_type, loc=_unknown(element_type.context))
    raw = _repeated_element(array)
    if raw is None:
        raw = np.ascontiguousarray(array)
    note_bytes(raw.nbytes)
    return _dialect.constant_from_bytes(kind, raw.reshape(-1).view(np.uint8))


def _unknown(context: ir.Context) -> ir.Location:
    return ir.Location.unknown(context)


def _repeated_element(array: Array) -> Array | None:
    """The one element of an array that repeats it, bit for bit; None when elements differ."""
    if array.size < 2:
        return None
    first = np.ascontiguousarray(array[(0,) * array.ndim]).reshape(1)
    if not any(array.strides):
        return first
    # Most arrays differ early: look at a few elements before all of them.
    flat = (
        array.reshape(-1) if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)
    )
    rows = flat.view(np.uint8).reshape(flat.size, -1)
    if not (rows[:64] == rows[0]).all() or not (rows[-1] == rows[0]).all():
        return None
    return first if (rows == rows[0]).all() else None
