"""Cumulative operations along lines that are contiguous, in neighbouring lanes, and neither."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo
from hlo import lax

# Rows of less than two vectors, of whole vectors, with a rest; columns in 1, 2, 3 and 8 vectors.
CASES = [
    ((5, 31), 1),
    ((3, 64), 1),
    ((4, 1, 77), 2),
    ((1003,), 0),
    ((9, 16), 0),
    ((2, 7, 32), 1),
    ((6, 48), 0),
    ((5, 256), 0),
    ((6, 7, 5), 1),
]
DTYPES = [np.float32, np.float64, np.int32, np.int8, np.uint64, np.float16, np.complex64]


def _sample(dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind == "c" else x).astype(dtype)


def _along(function: Any, x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    turned = np.flip(x, axis) if reverse else x
    found = function(turned, axis)
    return np.flip(found, axis) if reverse else found


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    arrays = [_sample(dtype, shape) for dtype in DTYPES]
    found = hlo.jit(lambda *xs: [lax.cumsum(x, axis, reverse) for x in xs])(*arrays)
    for x, y in zip(arrays, found, strict=True):
        wide = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype)
        expected = _along(lambda v, a, w=wide: np.cumsum(v, a, w), x, axis, reverse)
        scale = np.cumsum(np.abs(x).astype(np.float64), axis).max()
        unit = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0
        assert np.asarray(y).dtype == x.dtype
        assert np.max(np.abs(np.asarray(y) - expected)) <= 4 * unit * scale


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("reverse", [False, True])
def test_maxima_pass_nan_on(shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    x = _sample(np.float32, shape)
    x[x > 2] = np.nan
    y = x.astype(ml_dtypes.bfloat16)
    found = hlo.jit(lambda x, y: (lax.cummax(x, axis, reverse), lax.cummin(y, axis, reverse)))(x, y)
    np.testing.assert_array_equal(found[0], _along(np.maximum.accumulate, x, axis, reverse))
    expected = _along(np.minimum.accumulate, y.astype(np.float32), axis, reverse)
    np.testing.assert_array_equal(found[1].astype(np.float32), expected)


def test_zeros_keep_what_the_initial_value_makes_of_them() -> None:
    """0 + -0 is 0, from the first element on, however lanes are added up."""
    x = np.full(40, -0.0, np.float32)
    text = """func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
      %0 = stablehlo.constant dense<INIT> : tensor<f32>
      %1 = "stablehlo.reduce_window"(%x, %0) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) {window_dimensions = array<i64: 40>, padding = dense<[[39, 0]]> : tensor<1x2xi64>}
        : (tensor<40xf32>, tensor<f32>) -> tensor<40xf32>
      return %1 : tensor<40xf32>
    }"""
    for initial, negative in (("0.0", False), ("-0.0", True)):
        [found] = hlo.compile(text.replace("INIT", initial))(x)
        assert (np.signbit(found) == negative).all()
