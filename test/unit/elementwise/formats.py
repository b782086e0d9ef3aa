"""An independent rounding to any float format: the nearest of its values, ties to even."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
from native import NUMPY_TYPES

STORED_BITS = {"f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6, "f16": 16, "bf16": 16}


@cache
def _values(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The non-negative finite values, ascending, and their patterns."""
    bits = STORED_BITS.get(name, 8)
    patterns = np.arange(2**bits, dtype=np.uint32).astype(np.uint16 if bits == 16 else np.uint8)
    values = patterns.view(NUMPY_TYPES[name]).astype(np.float64)
    keep = np.isfinite(values) & ~np.signbit(values)
    order = np.argsort(values[keep], kind="stable")
    return values[keep][order], patterns[keep][order]


def nearest(x: np.ndarray, name: str) -> np.ndarray:
    """`x` (any exact type: float64 or longdouble) rounded once to the format, as that dtype."""
    dtype = np.dtype(NUMPY_TYPES[name])
    if name in ("f32", "f64"):
        return x.astype(dtype)
    values, patterns = _values(name)
    wide = values.astype(x.dtype)
    unit = wide[-1] - wide[-2]
    magnitude = np.abs(x)
    above = np.searchsorted(wide, magnitude, side="left")
    high = np.minimum(above, len(wide) - 1)
    low = np.maximum(high - 1, 0)
    with np.errstate(invalid="ignore"):
        left, right = magnitude - wide[low], wide[high] - magnitude
    # The patterns of f8E8M0FNU have no significand: its halves go up.
    even = np.full(len(x), False) if name == "f8E8M0FNU" else patterns[low] % 2 == 0
    index = np.where((left < right) | ((left == right) & even), low, high)
    result = values[index].astype(dtype)
    last_even = patterns[-1] % 2 == 0
    limit = wide[-1] + unit / 2
    if name == "f8E8M0FNU":
        limit, last_even = wide[-1] * np.longdouble(1.5), False
    over = (magnitude > limit) | ((magnitude == limit) & (not last_even))
    result[over] = np.array(_overflow(name)).astype(dtype)
    negative = np.signbit(x)
    if name == "f8E8M0FNU":
        result[negative] = np.array(np.nan).astype(dtype)
    else:
        result = np.where(negative & ~np.isnan(result.astype(np.float64)), -result, result)
    if name in ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN"):
        result[np.isnan(x)] = np.array(-0.0).astype(dtype)
    else:
        result[np.isnan(x)] = np.array(np.nan).astype(dtype)
    return result.astype(dtype)


def _overflow(name: str) -> float:
    with np.errstate(all="ignore"):
        if np.isinf(np.array(np.inf).astype(NUMPY_TYPES[name]).astype(np.float64)):
            return float("inf")
    if name in ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN"):
        return float(ml_dtypes.finfo(NUMPY_TYPES[name]).max)
    return float("nan")
