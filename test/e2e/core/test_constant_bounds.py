"""maximum, minimum and clamp with a constant: by a comparison, which zeros and NaN must survive."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo

BOUNDS = [0.0, -0.0, 1.0, -1.5, float("inf"), float("-inf"), float("nan")]
TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


def special(dtype: Any, size: int) -> np.ndarray[Any, Any]:
    values = [0.0, -0.0, 1.0, -1.5, 1.5, -1.0, 1e-7, -1e-7, *BOUNDS]
    return np.resize(np.array(values), size).astype(dtype)


def literal(value: float) -> str:
    """A float in MLIR's text, exactly."""
    return f"0x{np.float64(value).view(np.uint64):016X}"


def program(kind: str, size: int, bound: float) -> str:
    whole = f"tensor<{size}x{kind}>"
    two = f"({whole}, {whole}) -> {whole}"
    return f"""func.func @main(%x: {whole}) -> ({", ".join([whole] * 5)}) {{
      %w = "hlo.constant"() {{value = dense<{literal(bound)}> : tensor<{size}xf64>}}
        : () -> tensor<{size}xf64>
      %b = "hlo.convert"(%w) : (tensor<{size}xf64>) -> {whole}
      %0 = "hlo.maximum"(%x, %b) : {two}
      %1 = "hlo.maximum"(%b, %x) : {two}
      %2 = "hlo.minimum"(%x, %b) : {two}
      %3 = "hlo.minimum"(%b, %x) : {two}
      %4 = "hlo.clamp"(%b, %x, %b) : ({whole}, {whole}, {whole}) -> {whole}
      return %0, %1, %2, %3, %4 : {", ".join([whole] * 5)} }}"""


def expected(x: np.ndarray[Any, Any], bound: float, largest: bool) -> np.ndarray[Any, Any]:
    """IEEE 754-2019 maximum or minimum, from the order of (value, not sign bit)."""
    wide, other = x.astype(np.float64), np.full(x.shape, bound)
    above = (wide > other) | ((wide == other) & (np.signbit(wide) <= np.signbit(other)))
    chosen = np.where(above if largest else ~above, wide, other)
    return np.where(np.isnan(wide) | np.isnan(other), np.nan, chosen).astype(x.dtype)


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_extrema_of_a_value_and_a_constant(kind: str, bound: float) -> None:
    for size in (1, 16, 37):
        x = special(TYPES[kind], size)
        high, low = expected(x, bound, True), expected(x, bound, False)
        held = expected(high, bound, False)
        found = hlo.compile(program(kind, size, bound))(x)
        for result, right in zip(found, [high, high, low, low, held], strict=True):
            a, b = np.asarray(result).astype(np.float64), right.astype(np.float64)
            assert np.array_equal(a, b, equal_nan=True)
            numbers = ~np.isnan(b)
            assert np.array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers])
