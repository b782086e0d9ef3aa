"""Turning what users pass to an operation into traced arrays that fit each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import (
    canonical_dtype,
    dtype_name,
    iinfo,
    is_complex,
    is_integer,
    is_python_scalar,
    kind,
    promote_types,
)
from hlo.frontend.errors import DtypeError, ShapeError
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import user_line
from hlo.frontend.torch_tensors import is_tensor, to_numpy
from hlo.frontend.trace import constant, emit, splat
from hlo.frontend.tracer import ArrayLike, Tracer


def shape_error(op: str, message: str) -> ShapeError:
    """A `ShapeError` at the user's line."""
    return ShapeError(message, op=op, location=str(user_line()))


def dtype_error(op: str, message: str) -> DtypeError:
    """A `DtypeError` at the user's line."""
    return DtypeError(message, op=op, location=str(user_line()))


def scalar_of(value: ArrayLike, dtype: np.dtype[Any]) -> Any:
    """A Python number as a NumPy scalar.

    Raises:
        DtypeError: if an integer is out of the dtype's range, or a complex number meets a real one.
    """
    if isinstance(value, complex) and not is_complex(dtype):
        raise DtypeError(
            f"complex {value} does not fit {dtype_name(dtype)}", location=str(user_line())
        )
    if is_integer(dtype) and type(value) in (int, float):
        info = iinfo(dtype)
        if not info.min <= value <= info.max:
            raise DtypeError(
                f"{value} is out of the range of {dtype_name(dtype)}, {info.min} to {info.max}; "
                "give it a wider type, such as numpy.int64",
                location=str(user_line()),
            )
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(value).astype(dtype)[()]


def dtype_of(value: ArrayLike) -> np.dtype[Any] | type:
    """The dtype with which a value enters promotion: Python's own type for its numbers."""
    if isinstance(value, Tracer):
        return value.aval.dtype
    if is_python_scalar(value):
        return type(value)
    if isinstance(value, bool):
        return canonical_dtype(bool)
    return concrete(value).dtype


def shape_of(value: ArrayLike) -> tuple[int, ...]:
    """The shape of an array or number."""
    return value.aval.shape if isinstance(value, Tracer) else np.shape(value)


def concrete(value: ArrayLike) -> np.ndarray[Any, Any]:
    """A NumPy array of supported dtype.

    Raises:
        DtypeError: if the value is not an array.
    """
    if isinstance(value, (list, tuple, dict, str, bytes)) or value is None:
        raise DtypeError(
            f"expected an array or a number, found {type(value).__name__}; "
            "hlo.numpy.array makes arrays of lists",
            location=str(user_line()),
        )
    array = to_numpy(value) if is_tensor(value) else np.asarray(value)
    dtype = canonical_dtype(array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)


def to_tracer(value: ArrayLike, dtype: np.dtype[Any] | None = None) -> Tracer:
    """A traced array of any array-like; a dtype applies to Python numbers only."""
    if isinstance(value, Tracer):
        return value
    if is_python_scalar(value):
        return constant(np.asarray(scalar_of(value, dtype or canonical_dtype(type(value)))))
    return constant(concrete(value))


def convert(operand: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """The operand converted to a dtype (``hlo.convert``); complex to real keeps the real part."""
    if operand.dtype == dtype:
        return operand
    if is_complex(operand.dtype) and not is_complex(dtype):
        part = ShapeDtype(operand.shape, np.float32 if operand.dtype.itemsize == 8 else np.float64)
        (operand,) = emit("real", (operand,), (part,))
        return convert(operand, dtype)
    return emit("convert", (operand,), (operand.aval.with_dtype(dtype),))[0]


def broadcast_in_dim(operand: Tracer, shape: Sequence[int], dimensions: Sequence[int]) -> Tracer:
    """The operand's dimensions laid at `dimensions` of a result of this shape and repeated."""
    shape = tuple(shape)
    if operand.shape == shape:
        return operand
    attribute = {"broadcast_dimensions": attributes.i64s(dimensions)}
    return emit("broadcast_in_dim", (operand,), (operand.aval.with_shape(shape),), attribute)[0]


def broadcast_shapes(op: str, shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The common shape of NumPy's broadcasting, of any rank: NumPy's own ends at 32 dimensions.

    Raises:
        ShapeError: if there is none.
    """
    shapes = [tuple(shape) for shape in shapes]
    if len(distinct := set(shapes)) == 1:
        return shapes[0]
    rank = max(map(len, distinct), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in distinct]
    sizes = [set(column) - {1} for column in zip(*padded, strict=True)]
    if any(len(found) > 1 for found in sizes):
        raise shape_error(
            op,
            "expected shapes that broadcast together (equal, or 1, from the last dimension on), "
            f"found {', '.join(map(str, shapes))}",
        )
    return tuple(found.pop() if found else 1 for found in sizes)


def broadcast_to(value: ArrayLike, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Tracer:
    """An array-like in a dtype, broadcast as NumPy does to a shape known to fit."""
    if not isinstance(value, Tracer) and np.ndim(value) == 0:
        number = value if isinstance(value, (bool, int, float, complex)) else concrete(value)[()]
        with np.errstate(over="ignore", invalid="ignore"):
            scalar = scalar_of(value, dtype) if is_python_scalar(value) else _cast(number, dtype)
        return splat(scalar, shape)
    operand = convert(to_tracer(value), dtype)
    if operand.shape == shape:
        return operand
    # An extent of 1 that is to be repeated is dropped first: broadcast_in_dim could repeat it
    # itself, but one map from operand to result dimensions is simpler to fuse.
    offset = len(shape) - operand.ndim
    return broadcast_in_dim(operand, shape, range(offset, len(shape)))


def _cast(number: Any, dtype: np.dtype[Any]) -> Any:
    source: Any = np.asarray(number)
    if kind(source.dtype) == "c" and kind(dtype) != "c":
        source = source.real
    return source.astype(dtype)[()]


def promoted(op: str, *values: ArrayLike, dtype: np.dtype[Any] | None = None) -> tuple[Tracer, ...]:
    """Array-likes in their common dtype (or a given one) and common broadcast shape."""
    first = values[0]
    if isinstance(first, Tracer) and dtype in (None, first.aval.dtype):
        aval = first.aval
        if all(isinstance(value, Tracer) and value.aval == aval for value in values):
            return values
    if dtype is None:
        try:
            dtype = promote_types(dtype_of(value) for value in values)
        except DtypeError as error:
            raise dtype_error(op, error.message) from None
    shape = broadcast_shapes(op, (shape_of(value) for value in values))
    return tuple(broadcast_to(value, dtype, shape) for value in values)


def normalized_axis(op: str, axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        ShapeError: if it is out of range.
    """
    if isinstance(axis, Tracer):
        axis.__index__()
    position = int(axis)
    if not -rank <= position < rank:
        raise shape_error(op, f"expected an axis in [{-rank}, {rank}), found {position}")
    return position % rank


def normalized_axes(op: str, axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, all of them for None.

    Raises:
        ShapeError: if one is out of range or twice there.
    """
    if axes is None:
        return tuple(range(rank))
    listed = (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes)
    found = tuple(normalized_axis(op, axis, rank) for axis in listed)
    if len(set(found)) != len(found):
        raise shape_error(op, f"expected distinct axes, found {tuple(listed)}")
    return found
