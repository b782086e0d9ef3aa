"""PyTorch's element types, and the types in which its operators meet."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import BFLOAT16, BOOL, COMPLEX64, FLOAT32, is_complex, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor

_NAMES: Final[dict[str, np.dtype[Any]]] = {
    "bool": BOOL,
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": INT64,
    "float16": np.dtype(np.float16),
    "bfloat16": BFLOAT16,
    "float32": FLOAT32,
    "float64": np.dtype(np.float64),
    "complex64": COMPLEX64,
    "complex128": np.dtype(np.complex128),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
}


def dtype_named(name: str) -> np.dtype[Any]:
    """The dtype that PyTorch calls ``torch.<name>``.

    Raises:
        UnsupportedError: there is none of that name here.
    """
    found = _NAMES.get(name)
    if found is None:
        raise UnsupportedError(
            f"expected tensors of one of the types {', '.join(_NAMES)}, found torch.{name}"
        )
    return found


def _category(dtype: np.dtype[Any]) -> int:
    if dtype == BOOL:
        return 0
    if is_complex(dtype):
        return 3
    return 2 if is_float(dtype) else 1


def promote(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """PyTorch's `promote_types`: the wider of a category, else the one of the higher category."""
    if a == b:
        return a
    low, high = sorted((a, b), key=_category)
    if _category(low) == _category(high):
        if _category(low) != 2:
            return np.promote_types(low, high)
        return max(low, high, key=_width) if _width(low) != _width(high) else FLOAT32
    if is_complex(high) and low == np.float64:
        return np.dtype(np.complex128)
    return high


def _width(dtype: np.dtype[Any]) -> int:
    return dtype.itemsize


def _of_number(value: complex) -> np.dtype[Any]:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT64
    return FLOAT32 if isinstance(value, float) else COMPLEX64


def result_type(*values: Any) -> np.dtype[Any]:
    """The type in which operands meet: tensors with dimensions decide, then those without, then
    numbers, each only where its category is higher (PyTorch's "Type Promotion" of tensor
    attributes).
    """
    groups: list[np.dtype[Any] | None] = [None, None, None]
    for value in values:
        if value is None:
            continue
        if isinstance(value, Tracer):
            place, dtype = (0 if value.ndim else 1), value.dtype
        else:
            place, dtype = 2, _of_number(value)
        held = groups[place]
        groups[place] = dtype if held is None else promote(held, dtype)
    found: np.dtype[Any] | None = None
    for dtype in groups:
        if dtype is None:
            continue
        if found is None:
            found = dtype
        elif _category(dtype) > _category(found):
            found = promote(found, dtype)
    if found is None:
        raise TypeError("expected at least one operand")
    return found


def together(*values: Any) -> tuple[Tracer, ...]:
    """Operands as tensors of the type in which they meet; shapes are left alone."""
    dtype = result_type(*values)
    return tuple(tensor(value, dtype) for value in values)


def inexact(x: Tracer) -> Tracer:
    """Integers and booleans as float32, which is what PyTorch computes their roots and sines in."""
    return x if _category(x.dtype) >= 2 else convert(x, FLOAT32)
