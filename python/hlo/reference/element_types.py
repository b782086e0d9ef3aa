"""Element types of the reference evaluator: classification, widening, and rounding once to the
result type.

A function of this package computes in a type wider than its operands and rounds the result once, to
nearest even, so that what it returns is the value the specification means and not the sum of a
library's roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
DType = np.dtype[Any]

BOOL: DType = np.dtype(np.bool_)
FLOAT16: DType = np.dtype(np.float16)
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)
COMPLEX64: DType = np.dtype(np.complex64)
COMPLEX128: DType = np.dtype(np.complex128)

# Floats NumPy does not know; all fit in float32 exactly.
NARROW_FLOATS: frozenset[DType] = frozenset(
    np.dtype(t)
    for t in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e3m4,
        ml_dtypes.float8_e4m3,
        ml_dtypes.float8_e4m3b11fnuz,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float6_e2m3fn,
        ml_dtypes.float6_e3m2fn,
        ml_dtypes.float4_e2m1fn,
    )
)
# Sub-byte integers: bit width and signedness.
SUB_BYTE_INTEGERS: dict[DType, tuple[int, bool]] = {
    np.dtype(ml_dtypes.int2): (2, True),
    np.dtype(ml_dtypes.int4): (4, True),
    np.dtype(ml_dtypes.uint2): (2, False),
    np.dtype(ml_dtypes.uint4): (4, False),
}
_PART_TYPES: dict[DType, DType] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
    np.dtype(np.clongdouble): np.dtype(np.longdouble),
}
_NARROW_FLOAT_BITS: dict[DType, int] = {
    np.dtype(ml_dtypes.float6_e2m3fn): 6,
    np.dtype(ml_dtypes.float6_e3m2fn): 6,
    np.dtype(ml_dtypes.float4_e2m1fn): 4,
}


def is_float(dtype: DType) -> bool:
    """Whether `dtype` is a real floating-point type."""
    return dtype.kind == "f" or dtype in NARROW_FLOATS


def is_complex(dtype: DType) -> bool:
    """Whether `dtype` is complex64 or complex128."""
    return dtype.kind == "c"


def is_signed_integer(dtype: DType) -> bool:
    """Whether `dtype` is a two's complement integer of any width."""
    return dtype.kind == "i" or (dtype in SUB_BYTE_INTEGERS and SUB_BYTE_INTEGERS[dtype][1])


def is_unsigned_integer(dtype: DType) -> bool:
    """Whether `dtype` is an unsigned integer of any width; booleans are not."""
    return dtype.kind == "u" or (dtype in SUB_BYTE_INTEGERS and not SUB_BYTE_INTEGERS[dtype][1])


def is_integer(dtype: DType) -> bool:
    """Whether `dtype` is an integer of any width and signedness; booleans are not."""
    return dtype.kind in "iu" or dtype in SUB_BYTE_INTEGERS


def bit_width(dtype: DType) -> int:
    """Bits of one element as the specification counts them: 1 for a boolean, 4 for int4 or f4."""
    if dtype == BOOL:
        return 1
    if dtype in SUB_BYTE_INTEGERS:
        return SUB_BYTE_INTEGERS[dtype][0]
    return _NARROW_FLOAT_BITS.get(dtype, dtype.itemsize * 8)


def storage_type(dtype: DType) -> DType:
    """The NumPy integer type in which values of the integer type `dtype` are computed."""
    if dtype not in SUB_BYTE_INTEGERS:
        return dtype
    return np.dtype(np.int8 if SUB_BYTE_INTEGERS[dtype][1] else np.uint8)


def real_type(dtype: DType) -> DType:
    """The type of the parts of a complex type; any other type is its own."""
    return _PART_TYPES.get(dtype, dtype)


def complex_type(dtype: DType) -> DType:
    """The complex type whose parts are `dtype`."""
    return COMPLEX128 if dtype == FLOAT64 else COMPLEX64


def parts(values: Array) -> tuple[Array, Array]:
    """Real and imaginary parts of complex values."""
    return np.real(values), np.imag(values)


def from_parts(real: Array, imag: Array, dtype: DType) -> Array:
    """Complex values of type `dtype` from their parts, which broadcast."""
    real, imag = np.broadcast_arrays(real, imag)
    result = np.empty(real.shape, dtype)
    pairs = result.reshape(-1).view(_PART_TYPES[dtype])
    pairs[0::2], pairs[1::2] = real.reshape(-1), imag.reshape(-1)
    return result


def widen(values: Array) -> Array:
    """Values in the type correctly rounded arithmetic is computed in: f64 and complex128 stay."""
    if is_complex(values.dtype):
        return values.astype(COMPLEX128, copy=False)
    if is_float(values.dtype):
        return values.astype(FLOAT64, copy=False)
    return values.astype(storage_type(values.dtype), copy=False)


def orderable(values: Array) -> Array:
    """Values in a type that NumPy compares itself: their own if it can."""
    return values if values.dtype.kind in "biufc" else widen(values)


def extend(values: Array) -> Array:
    """Values in a type with guard bits: f64 in extended precision where the platform has it.

    For functions that are not correctly rounded by themselves. Arithmetic must not use it: it would
    round twice.
    """
    if values.dtype == FLOAT64:
        return values.astype(np.longdouble)
    if values.dtype == COMPLEX128:
        return values.astype(np.clongdouble)
    return widen(values)


def wrap_integers(values: Array, dtype: DType) -> Array:
    """Integers reduced modulo 2^n into the integer type `dtype`."""
    if dtype not in SUB_BYTE_INTEGERS:
        return values.astype(dtype, copy=False)
    bits, signed = SUB_BYTE_INTEGERS[dtype]
    low = values.astype(np.int64) & ((1 << bits) - 1)
    if signed:
        low = np.where(low >= 1 << (bits - 1), low - (1 << bits), low)
    return np.asarray(low).astype(storage_type(dtype)).astype(dtype)


def _round_to_odd_float32(values: Array) -> Array:
    """float64 to float32 by rounding to odd, after which a second rounding to a narrower type is
    exact.

    Boldo and Melquiond, "When double rounding is odd", 2005.
    """
    nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    even = (nearest.view(np.uint32) & 1) == 0
    fix = (back != values) & even & np.isfinite(values) & np.isfinite(nearest)
    toward = np.where(back < values, np.float32(np.inf), np.float32(-np.inf)).astype(np.float32)
    return np.asarray(np.where(fix, np.nextafter(nearest, toward), nearest), np.float32)


def round_to(values: Array, dtype: DType) -> Array:
    """Floating-point or complex values rounded once, to nearest even, to the float or complex type
    `dtype`.
    """
    values = np.asarray(values)
    if values.dtype == dtype:
        return values
    with np.errstate(all="ignore"):
        if dtype in NARROW_FLOATS:
            wide = np.ascontiguousarray(values, np.float64).reshape(values.shape)
            return _round_to_odd_float32(wide).astype(dtype)
        return values.astype(dtype)


def integers_to_float64(values: Array) -> Array:
    """64-bit integers to float64 by rounding to odd, so that a later rounding to a narrower type is
    exact.
    """
    big = np.abs(values.astype(np.float64)) >= 2.0**53
    sticky = ((values & 0x7FF) != 0).astype(values.dtype) << 11
    odd = ((values >> 11) << 11) | sticky
    return np.asarray(np.where(big, odd, values)).astype(np.float64)


def rounded(function: Callable[..., Any], *operands: Array, dtype: DType | None = None) -> Array:
    """`function` of the widened operands, rounded to `dtype` (the first operand's type by
    default).
    """
    target = operands[0].dtype if dtype is None else dtype
    with np.errstate(all="ignore"):
        return round_to(np.asarray(function(*(widen(x) for x in operands))), target)


def rounded_extended(
    function: Callable[..., Any], *operands: Array, dtype: DType | None = None
) -> Array:
    """As `rounded`, for functions that need guard bits."""
    target = operands[0].dtype if dtype is None else dtype
    with np.errstate(all="ignore"):
        return round_to(np.asarray(function(*(extend(x) for x in operands))), target)


def wrapped(function: Callable[..., Any], *operands: Array) -> Array:
    """`function` of integer or boolean operands in their storage type, wrapped to the first one's
    type.
    """
    dtype = operands[0].dtype
    storage = storage_type(dtype)
    with np.errstate(all="ignore"):
        result = np.asarray(function(*(x.astype(storage, copy=False) for x in operands)))
    return wrap_integers(result, dtype)
