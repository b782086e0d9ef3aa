"""What the tests of the reference semantics compare with: XLA through JAX, exact rounding,
special values.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import ml_dtypes
import numpy as np

SMALL_FLOATS = (
    ml_dtypes.float8_e3m4,
    ml_dtypes.float8_e4m3,
    ml_dtypes.float8_e4m3b11fnuz,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float6_e2m3fn,
    ml_dtypes.float6_e3m2fn,
    ml_dtypes.float4_e2m1fn,
)
FLOATS = (ml_dtypes.bfloat16, np.float16, np.float32, np.float64)
COMPLEX = (np.complex64, np.complex128)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
SUB_BYTE = (ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4)


def xla(function: Callable[..., Any], *arguments: Any) -> list[np.ndarray]:
    """Results of a jitted JAX function on the CPU, with 64-bit types."""
    with jax.enable_x64(True):
        results = jax.jit(function)(*arguments)
    return [np.asarray(x) for x in jax.tree.leaves(results)]


@functools.cache
def values_of(dtype: Any) -> tuple[tuple[Fraction, Any], ...]:
    """Every finite value of an 8-bit or narrower float, ascending, with its encoding."""
    bits = ml_dtypes.finfo(dtype).bits
    encodings = np.arange(1 << bits, dtype=np.uint8).view(dtype)
    found = {}
    for value in encodings:
        number = float(value)
        if np.isfinite(number):
            found.setdefault(Fraction(number), value)
    return tuple(sorted(found.items(), key=lambda item: item[0]))


def nearest(number: Fraction, dtype: Any) -> Fraction:
    """The finite value of `dtype` nearest to a number within its range, at a tie the one with
    an even encoding.
    """
    values = values_of(dtype)
    above = bisect.bisect_left(values, number, key=lambda item: item[0])
    candidates = values[max(above - 1, 0) : above + 1]

    def rank(item: tuple[Fraction, Any]) -> tuple[Fraction, int]:
        return abs(item[0] - number), int(np.asarray(item[1]).view(np.uint8)) & 1

    return min(candidates, key=rank)[0]


def integer_range(dtype: Any) -> tuple[int, int]:
    """Least and greatest value."""
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def corner_integers(dtype: Any) -> np.ndarray:
    """All values of a type of at most 8 bits.

    Else the ends of its range, the neighbours of zero, and a few more.
    """
    low, high = integer_range(dtype)
    if high - low < 256:
        return np.arange(low, high + 1).astype(dtype)
    middle = high // 3
    picked = {low, low + 1, -1, 0, 1, 2, 3, 7, 64, middle, high - 1, high}
    return np.array(sorted(x for x in picked if low <= x <= high), dtype)


def corner_floats(dtype: Any) -> np.ndarray:
    """Zeros, ones, halves, extremes, infinities and NaN; no subnormals, which XLA flushes."""
    info = ml_dtypes.finfo(dtype)
    largest, tiny = float(info.max), float(info.smallest_normal)
    picked = [0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 100.0, largest, tiny, np.inf]
    with np.errstate(all="ignore"):
        return np.array([*picked, *(-x for x in picked), np.nan], np.float64).astype(dtype)


def random_floats(
    shape: Sequence[int], dtype: Any, seed: int = 0, scale: float = 2.0
) -> np.ndarray:
    """Normal numbers; complex ones in both parts."""
    generator = np.random.default_rng(seed)
    values = generator.normal(0, scale, tuple(shape))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.normal(0, scale, tuple(shape))
    return values.astype(dtype)


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of the values."""
    lhs, rhs = np.meshgrid(np.arange(values.size), np.arange(values.size), indexing="ij")
    return values[lhs.reshape(-1)], values[rhs.reshape(-1)]


def ulp_distance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Steps between floats of one type; zero for equal values and for two NaNs."""
    bits = np.dtype(f"i{left.dtype.itemsize}")

    def ordered(x: np.ndarray) -> np.ndarray:
        raw = np.ascontiguousarray(x).view(bits).astype(object)
        low = -(1 << (8 * bits.itemsize - 1))
        return np.where(raw < 0, low - raw, raw)

    same_nan = np.isnan(left) & np.isnan(right)
    return np.where(same_nan, 0, np.abs(ordered(left) - ordered(right)))


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal in shape, type, value and sign of zero; any NaN equals any."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind == "c":
        assert_same(np.real(found).copy(), np.real(expected).copy())
        assert_same(np.imag(found).copy(), np.imag(expected).copy())
        return
    wide_found, wide_expected = (
        (found, expected)
        if expected.dtype.kind in "iub"
        else (found.astype(np.float64), expected.astype(np.float64))
    )
    np.testing.assert_array_equal(wide_found, wide_expected)
    if wide_expected.dtype.kind == "f":
        number = ~np.isnan(wide_expected)
        np.testing.assert_array_equal(
            np.signbit(wide_found)[number], np.signbit(wide_expected)[number]
        )
