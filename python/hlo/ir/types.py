"""Element types of MLIR and of NumPy: one of each for every element type of the dialect."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
from mlir import ir

_INTEGERS = {
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "i2": np.dtype(ml_dtypes.int2),
    "i4": np.dtype(ml_dtypes.int4),
    "ui2": np.dtype(ml_dtypes.uint2),
    "ui4": np.dtype(ml_dtypes.uint4),
}
_FLOATS = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "f6E2M3FN": np.dtype(ml_dtypes.float6_e2m3fn),
    "f6E3M2FN": np.dtype(ml_dtypes.float6_e3m2fn),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
}
_DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    **_INTEGERS,
    **_FLOATS,
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}
_NAMES: dict[np.dtype[Any], str] = {dtype: name for name, dtype in _DTYPES.items()}

_FLOAT_CLASSES: dict[type[ir.Type], str] = {
    ir.F16Type: "f16",
    ir.BF16Type: "bf16",
    ir.F32Type: "f32",
    ir.F64Type: "f64",
}


def name_of(element_type: ir.Type) -> str:
    """An element type as the assembly writes it; MLIR's slow printer writes rare ones only."""
    if (name := _FLOAT_CLASSES.get(type(element_type))) is not None:
        return name
    if isinstance(element_type, ir.IntegerType):
        sign = "" if element_type.is_signless else "u" if element_type.is_unsigned else "s"
        return f"{sign}i{element_type.width}"
    return str(element_type)


def to_dtype(element_type: ir.Type | str) -> np.dtype[Any]:
    """The NumPy dtype of an element type, given as a type or by its name in the assembly.

    Types narrower than a byte have ml_dtypes' dtypes, which take a byte an element. A quantized
    type has the dtype of what it stores; ``index`` is int64.

    Raises:
        TypeError: there is no such dtype.
    """
    return _dtype_of_name(element_type if isinstance(element_type, str) else name_of(element_type))


@functools.lru_cache(maxsize=512)
def _dtype_of_name(name: str) -> np.dtype[Any]:
    if name.startswith("!quant.uniform<"):
        storage = name.removeprefix("!quant.uniform<").split(":")[0].split("<")[0]
        name = storage.replace("u", "ui", 1) if storage.startswith("u") else storage
    if name == "index":
        return np.dtype(np.int64)
    dtype = _DTYPES.get(name)
    if dtype is None:
        raise TypeError(f"no NumPy dtype stands for elements of type {name}")
    return dtype


def type_name(dtype: np.dtype[Any] | type[Any] | str) -> str:
    """The name in the assembly of the element type that a NumPy dtype stands for.

    Raises:
        TypeError: there is no such element type.
    """
    name = _NAMES.get(np.dtype(dtype))
    if name is None:
        raise TypeError(f"no element type stands for dtype {np.dtype(dtype)}")
    return name


def element_type(
    dtype: np.dtype[Any] | type[Any] | str, context: ir.Context | None = None
) -> ir.Type:
    """The element type that a NumPy dtype stands for.

    Raises:
        TypeError: there is no such element type.
    """
    return ir.Type.parse(type_name(dtype), context)
