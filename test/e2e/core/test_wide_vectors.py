"""Vectors of several registers give the bits that those of one register give."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features

FEW = 1000  # elements, for which kernels take one register at a time
REPEATS = 5  # makes them enough, in several work units, with a rest of every kind
FUNCTIONS = {
    "chain": lambda x: hnp.tanh(hnp.exp(x * x) * x + x) * x,
    "where": lambda x: hnp.where(x > 0, hnp.log(x), hnp.sin(x)),
    "maximum": lambda x: hnp.maximum(hnp.exp(x), hnp.cos(x)),
    "root": lambda x: hnp.sqrt(x) / (1 + hnp.abs(x)),
}


def operands(dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of many sizes and both signs, zeros, infinities and NaN."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(FEW) * 10.0 ** rng.uniform(-6, 4, FEW)
    x[::97] = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan], x[::97].size)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def most_lanes(compiled: Any) -> int:
    """Lanes of the longest vector of a program's kernels."""
    return max(map(int, re.findall(r"vector<(\d+)x", compiled.as_text("llvm"))), default=0)


def check(function: Callable[..., Any], *xs: np.ndarray[Any, Any]) -> None:
    """Compares a function of repeated elements with its results for the few."""
    few = hlo.jit(function)
    expected = np.tile(few(*xs), REPEATS)
    many = hlo.jit(function)
    repeated = [np.tile(x, REPEATS) for x in xs]
    found = np.asarray(many(*repeated))
    lanes = most_lanes(few.lower(*xs).compile())
    assert most_lanes(many.lower(*repeated).compile()) >= 2 * lanes
    np.testing.assert_array_equal(
        found.view(f"u{found.itemsize}"), expected.view(f"u{expected.itemsize}")
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dear_functions(name: str) -> None:
    check(FUNCTIONS[name], operands(np.float32))


def test_functions_in_pieces_take_eight_registers() -> None:
    """Where coefficients are looked up in registers, of 16 lanes; other functions take four."""
    x = np.zeros(1 << 16, np.float32)
    gelu, sine = (hlo.jit(f).lower(x).compile() for f in (lambda x: x * hnp.tanh(x), hnp.sin))
    assert most_lanes(sine) == 4 * 16
    assert most_lanes(gelu) == (8 if "avx512f" in host_features() else 4) * 16


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_every_width_of_floats(dtype: Any) -> None:
    check(FUNCTIONS["chain"], operands(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_narrow_integers_fill_registers(dtype: Any) -> None:
    x = np.random.default_rng(2).integers(0, 100, FEW).astype(dtype)
    check(lambda x, y: x * y + x, x, x[::-1].copy())


def test_conversions_of_bytes() -> None:
    x = np.random.default_rng(3).integers(0, 256, FEW).astype(np.uint8)
    check(lambda x: (x.astype(np.float32) - 127) / 64, x)


def test_truth_values() -> None:
    x = operands(np.float32)
    check(lambda x, y: (x > y) | (x < 0), x, x[::-1].copy())
