"""Operand samples: random bit patterns, ordinary magnitudes and the edges of each element type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from native import NUMPY_TYPES

_SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -2.5,
    1.5,
    0.09,
    -0.09,
    float("inf"),
    float("-inf"),
    float("nan"),
]


def bits_of(array: np.ndarray) -> np.ndarray:
    """The patterns of the elements, as unsigned integers."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def floats(name: str, count: int, seed: int = 0) -> np.ndarray:
    """The edges of the format, then random bit patterns, then normal variates."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(NUMPY_TYPES[name])
    width = 8 * dtype.itemsize
    info = ml_dtypes.finfo(dtype)
    edges = [
        *_SPECIAL,
        *(float(s * v) for s in (1, -1) for v in (info.max, info.tiny, info.smallest_subnormal)),
    ]
    with np.errstate(all="ignore"):
        fixed = np.array(edges, np.float64).astype(dtype)
        normal = (rng.standard_normal(count) * 4).astype(dtype)
    used = {"f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6}.get(name, width)
    patterns = rng.integers(0, 2**used, count, dtype=np.uint64, endpoint=False)
    random = patterns.astype(f"u{dtype.itemsize}").view(dtype)
    return np.concatenate([fixed, random, normal])


def float_pairs(name: str, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two operands: every pair of a few edge values, then samples against shuffled samples."""
    sample = floats(name, count, seed)
    edges = sample[:21]
    shuffled = np.random.default_rng(seed + 1).permutation(sample)
    left = np.concatenate([np.repeat(edges, 21), sample])
    return left, np.concatenate([np.tile(edges, 21), shuffled])


def integers(name: str, count: int, seed: int = 0) -> np.ndarray:
    """The edges of an integer type, small values and random ones."""
    rng = np.random.default_rng(seed)
    bits, signed = int(name.lstrip("ui")), name[0] == "i"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    edges = [
        v
        for v in (low, low + 1, -2, -1, 0, 1, 2, 3, 5, 31, 32, 33, 63, 64, high - 1, high)
        if low <= v <= high
    ]
    random = [
        int(v)
        for v in rng.integers(
            low, high, count, dtype=np.int64 if signed else np.uint64, endpoint=True
        )
    ]
    small = [int(v) for v in rng.integers(max(low, -40), min(high, 40), count, endpoint=True)]
    return np.array(edges + random + small, dtype=object)


def integer_pairs(name: str, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    sample = integers(name, count, seed)
    edges = sample[:16]
    shuffled = np.random.default_rng(seed + 1).permutation(sample)
    left = np.concatenate([np.repeat(edges, len(edges)), sample])
    return left, np.concatenate([np.tile(edges, len(edges)), shuffled])


def same(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where two arrays agree to the bit, any NaN equal to any NaN."""
    equal = bits_of(actual) == bits_of(expected)
    if actual.dtype.kind in "fV":
        with np.errstate(all="ignore"):
            wide = actual.astype(np.float64), expected.astype(np.float64)
        equal |= np.isnan(wide[0]) & np.isnan(wide[1])
    return equal
