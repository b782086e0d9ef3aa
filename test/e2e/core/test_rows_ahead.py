"""Where a kernel goes over rows from memory again, it fetches the next ones: once, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp

UNROLLED = 4  # vectors of a turn of a loop over a row
CACHES = 2  # each line is asked into the second-level cache, then into the nearest


def softmax(x: Any) -> Any:
    weights = hnp.exp(x - hnp.max(x, axis=1, keepdims=True))
    return weights / hnp.sum(weights, axis=1, keepdims=True)


def root_mean_square(x: Any) -> Any:
    return x / hnp.sqrt(hnp.mean(x * x, axis=1, keepdims=True))


def fetches(function: Any, rows: int, columns: int) -> int:
    """Prefetch instructions in the kernels for an operand of a shape."""
    x = np.zeros((rows, columns), np.float32)
    return hlo.jit(function).lower(x).compile().as_text("llvm").count("llvm.intr.prefetch")


@pytest.mark.parametrize(("function", "vectors"), [(softmax, UNROLLED), (root_mean_square, 1)])
def test_of_rows_from_memory(function: Any, vectors: int) -> None:
    """16 MiB: the kernel is there twice, with and without stores past the caches."""
    assert fetches(function, 4096, 1024) == 2 * CACHES * vectors


def test_not_of_rows_from_the_caches() -> None:
    assert fetches(softmax, 256, 1024) == 0


def test_lines_of_rows_that_fill_the_nearest_cache() -> None:
    """In each of three passes, of which the last has a vector a turn."""
    assert fetches(softmax, 128, 32768) == 2 * CACHES * (2 * UNROLLED + 1)


@pytest.mark.parametrize("function", [softmax, root_mean_square])
def test_results_with_a_rest_of_a_row(function: Any) -> None:
    x = np.random.default_rng(0).standard_normal((2100, 1009), dtype=np.float32)
    wide = x.astype(np.float64)
    expected = {
        softmax: lambda: (e := np.exp(wide)) / e.sum(1, keepdims=True),
        root_mean_square: lambda: wide / np.sqrt((wide * wide).mean(1, keepdims=True)),
    }[function]()
    np.testing.assert_allclose(hlo.jit(function)(x), expected, rtol=2e-6)
