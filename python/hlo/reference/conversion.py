"""Conversions between element types: by value, by bits, to fewer bits of precision, and parts of
complex numbers.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from hlo.reference.element_types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    Array,
    DType,
    bit_width,
    complex_type,
    from_parts,
    integers_to_float64,
    is_complex,
    is_float,
    is_integer,
    is_unsigned_integer,
    real_type,
    round_to,
    storage_type,
    widen,
    wrap_integers,
)


def integer_bounds(dtype: DType) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    bits = bit_width(dtype)
    if is_unsigned_integer(dtype):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _float_to_integer(values: Array, dtype: DType) -> Array:
    """Truncation that saturates; NaN gives 0."""
    low, high = integer_bounds(dtype)
    storage = storage_type(dtype)
    whole = np.trunc(np.where(np.isnan(values), 0, values))
    # float(2^63 - 1) is 2^63: compare with the exact power of two above, and place the bound as an
    # integer.
    above, below = whole >= float(high + 1), whole < float(low)
    inside = np.where(above | below, 0, whole).astype(storage)
    bounded = np.where(above, storage.type(high), np.where(below, storage.type(low), inside))
    return bounded.astype(storage).astype(dtype)


def _integer_to_float(values: Array, dtype: DType) -> Array:
    stored = values.astype(storage_type(values.dtype))
    if stored.dtype.itemsize < 8 or dtype in (FLOAT32, FLOAT64):
        direct = stored.astype(np.float64) if stored.dtype.itemsize < 8 else stored.astype(dtype)
        return round_to(direct, dtype)
    return round_to(integers_to_float64(stored), dtype)


def convert(operand: Array, *, dtype: DType) -> Array:
    """Elements converted by value to `dtype`.

    Floats round to nearest even; floats to integers truncate and saturate, NaN to 0 (XLA's choice
    where the specification leaves it open); integers wrap; to booleans, zero is false; complex to
    real drops the imaginary part.
    """
    source = operand.dtype
    if source == dtype:
        return operand
    with np.errstate(all="ignore"):
        if is_complex(dtype):
            if is_complex(source):
                return operand.astype(dtype)
            return convert(operand, dtype=real_type(dtype)).astype(dtype)
        if is_complex(source):
            return convert(np.real(operand), dtype=dtype)
        if dtype == BOOL:
            return np.asarray(widen(operand) != 0)
        if source == BOOL:
            return (
                operand.astype(np.int8)
                .astype(np.float32 if is_float(dtype) else np.int8)
                .astype(dtype)
            )
        if is_float(source):
            wide = widen(operand)
            return round_to(wide, dtype) if is_float(dtype) else _float_to_integer(wide, dtype)
        if is_float(dtype):
            return _integer_to_float(operand, dtype)
        return wrap_integers(operand.astype(storage_type(source)), dtype)


def _to_bits(operand: Array) -> Array:
    """Elements as vectors of bits, least significant first, along a new last dimension."""
    width = bit_width(operand.dtype)
    flat = np.ascontiguousarray(operand).reshape(-1)
    raw = flat.view(np.uint8).reshape(flat.size, operand.dtype.itemsize)
    bits = np.unpackbits(raw, axis=1, bitorder="little")[:, :width]
    return bits.reshape((*operand.shape, width))


def _from_bits(bits: Array, dtype: DType) -> Array:
    width = bit_width(dtype)
    shape = bits.shape[:-1]
    flat = bits.reshape(-1, width)
    if is_integer(dtype) and not is_unsigned_integer(dtype):
        padding = np.repeat(flat[:, -1:], dtype.itemsize * 8 - width, axis=1)
    else:
        padding = np.zeros((flat.shape[0], dtype.itemsize * 8 - width), np.uint8)
    raw = np.packbits(np.concatenate([flat, padding], axis=1), axis=1, bitorder="little")
    return np.ascontiguousarray(raw).reshape(-1).view(dtype).reshape(shape)


def bitcast_convert(operand: Array, *, dtype: DType) -> Array:
    """Elements' bits read as `dtype`.

    To a narrower type the result gains a last dimension; to a wider type the operand's last
    dimension is consumed. Bits are in little-endian order: the first narrow element is the least
    significant part.
    """
    source, target = bit_width(operand.dtype), bit_width(dtype)
    bits = _to_bits(operand)
    if source > target:
        bits = bits.reshape((*operand.shape, source // target, target))
    elif source < target:
        bits = bits.reshape((*operand.shape[:-1], target))
    return _from_bits(bits, dtype)


def _float_format(dtype: DType) -> tuple[int, int]:
    """Exponent and mantissa bits."""
    finfo = ml_dtypes.finfo(dtype)
    return int(finfo.nexp), int(finfo.nmant)


def reduce_precision(operand: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    """Values rounded, to nearest even, to a float of `exponent_bits` and `mantissa_bits`, in the
    operand's type.

    Too large becomes infinity. Where exponent bits are dropped, what is below the least normal
    number becomes zero of the same sign.
    """
    own_exponent_bits, own_mantissa_bits = _float_format(operand.dtype)
    wide = widen(operand)
    result = wide
    if mantissa_bits < own_mantissa_bits:
        # The own type's subnormals have fewer mantissa bits: they round at the same position as its
        # least normal number.
        least = 2 - (1 << (own_exponent_bits - 1))
        _, exponent = np.frexp(wide)
        step = np.maximum(exponent - 1, least) - mantissa_bits
        with np.errstate(all="ignore"):
            scaled = np.ldexp(wide, -step)
            rounded = np.rint(scaled)
            if mantissa_bits == 0:
                # The last bit is the exponent's: halfway, the even exponent (biased, by an odd
                # number) is nearer.
                halfway = np.abs(scaled) == 1.5
                rounded = np.where(halfway & (exponent % 2 == 0), np.copysign(1.0, wide), rounded)
            result = np.ldexp(rounded, step)
    if exponent_bits < own_exponent_bits:
        bias = (1 << (exponent_bits - 1)) - 1
        with np.errstate(all="ignore"):
            magnitude = np.abs(result)
            result = np.where(
                magnitude >= math.ldexp(1.0, bias + 1), np.copysign(np.inf, result), result
            )
            result = np.where(
                magnitude < math.ldexp(1.0, 1 - bias), np.copysign(0.0, result), result
            )
    # Without mantissa bits there is no NaN.
    nan = np.nan if mantissa_bits > 0 else np.inf
    result = np.where(np.isfinite(wide), result, np.where(np.isnan(wide), nan, wide))
    return round_to(np.asarray(result), operand.dtype)


def real(operand: Array) -> Array:
    """Real part; a real operand is its own."""
    return np.real(operand).copy() if is_complex(operand.dtype) else operand


def imag(operand: Array) -> Array:
    """Imaginary part; zero of a real operand."""
    if is_complex(operand.dtype):
        return np.imag(operand).copy()
    return np.zeros(operand.shape, operand.dtype)


def complex_(lhs: Array, rhs: Array) -> Array:
    """Complex numbers from their real and imaginary parts."""
    return from_parts(lhs, rhs, complex_type(lhs.dtype))


def conj(operand: Array) -> Array:
    """Complex conjugate; a real operand is its own."""
    return np.asarray(np.conj(operand)) if is_complex(operand.dtype) else operand
