"""Programs on which a compiler was once wrong or slow, written with the front end."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import lax


def test_dynamic_slice_clamps_its_start() -> None:
    x = np.roll(10 * np.arange(9, dtype=np.int32), 4)
    found = hlo.jit(lambda x: lax.dynamic_slice(x, [np.int32(12)], (4,)))(x)
    np.testing.assert_array_equal(found, [10, 20, 30, 40])


def test_updates_in_a_long_loop_are_in_place() -> None:
    steps = 200_000

    @hlo.jit
    def f(x: Any) -> Any:
        return lax.fori_loop(0, steps - 1, lambda t, x: x.at[t + 1].set(x[t] * 0.5 + 1), x)

    x = np.zeros(steps, np.float32)
    f(x)
    start = time.process_time()
    found = f(x)
    seconds = time.process_time() - start
    np.testing.assert_allclose(found[:3], [0, 1, 1.5])
    assert found[-1] == 2.0
    # A copy an iteration would move 200,000 * 800 kB = 160 GB.
    assert seconds < 2.0


def test_two_updates_of_one_array_share_no_buffer() -> None:
    def f(x: Any) -> Any:
        left = lax.dynamic_update_slice(x, x[:2] * 2, (3,))
        right = lax.dynamic_update_slice(x, x[2:4] * 3, (0,))
        return left + right, left, right

    x = np.arange(1, 7, dtype=np.float32)
    left, right = x.copy(), x.copy()
    left[3:5] = x[:2] * 2
    right[:2] = x[2:4] * 3
    for found, expected in zip(hlo.jit(f)(x), (left + right, left, right), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("length", [1, 2, 7, 64, 1000])
def test_scan_of_slices_and_pads_compiles_in_time_linear_in_its_depth(length: int) -> None:
    x = np.random.default_rng(0).normal(size=length).astype(np.float32)
    weights = np.tri(length, dtype=np.float32)
    scan = hlo.jit(lambda x: (lax.associative_scan(lax.add, x), hnp.cumsum(x)))
    for found in scan(x):
        np.testing.assert_allclose(found, weights @ x, rtol=1e-4, atol=1e-4)


def test_cumulative_sum_takes_linear_time() -> None:
    x = np.ones(1_000_000, np.float32)
    f = hlo.jit(hnp.cumsum)
    f(x)
    start = time.process_time()
    found = f(x)
    assert time.process_time() - start < 1  # a sum for each element would be 5e11 additions
    np.testing.assert_array_equal(found[[0, 1, -1]], [1, 2, 1_000_000])


def test_chain_of_pads_and_slices() -> None:
    def f(x: Any) -> Any:
        for _ in range(12):
            x = hnp.concatenate([x[1:], x[:1]]) + hnp.pad(x[:-1], (1, 0))
        return x

    def expected(x: Any) -> Any:
        for _ in range(12):
            x = np.concatenate([x[1:], x[:1]]) + np.pad(x[:-1], (1, 0))
        return x

    x = np.arange(40, dtype=np.float32)
    np.testing.assert_allclose(hlo.jit(f)(x), expected(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda x: lax.clamp(0.0, x, 1.0), (np.float32("nan"),), np.nan),
        (lambda x: hnp.maximum(x, hnp.sqrt(x)), (np.float16(-0.09),), np.nan),
        (
            lambda a, b: hnp.mean(a) + 0 * hnp.mean(b),
            (np.float32([1]), np.float32(["nan"])),
            np.nan,
        ),
        (lambda x: hnp.exp(x) * hnp.exp(-x), (np.float32(100),), np.inf),
        (lambda a, b, x: a * x + b * x, (np.float32(1e20), np.float32(-1e20), np.float32(1e10)), 0),
        (hnp.log, (np.float32(1e-40),), np.float32(-92.1034)),
        (lambda x, y: x**y, (np.int32(0), np.int32(64)), 0),
    ],
)
def test_value(function: Any, arguments: tuple[Any, ...], expected: Any) -> None:
    np.testing.assert_allclose(hlo.jit(function)(*arguments), expected, rtol=1e-6)


def test_ceil_keeps_negative_zero() -> None:
    found = hlo.jit(hnp.ceil)(np.array([-0.25, -0.0], np.float32))
    assert np.signbit(found).all()


def test_angle_of_positive_zeros() -> None:
    def f(p: Any) -> Any:
        y = (p ^ p).astype(np.float32)
        return hnp.arctan2(y, y)

    assert hlo.jit(f)(np.int32(7)) == 0.0


def test_argmax_of_nothing_is_an_error() -> None:
    with pytest.raises(hlo.ShapeError, match="no element along axis 0"):
        hlo.jit(hnp.argmax)(np.zeros(0, np.float32))


def test_long_unrolled_loop_compiles_in_seconds() -> None:
    def f(x: Any) -> Any:
        for _ in range(2000):
            x = x * 0.999 + 0.5
        return x

    start = time.process_time()
    found = hlo.jit(f)(np.ones(16, np.float32))
    assert time.process_time() - start < 60
    np.testing.assert_allclose(found, 500 - 499 * 0.999**2000, rtol=1e-3)


def test_large_update_of_ones_folds_nothing() -> None:
    f = hlo.jit(lambda: hnp.ones((500, 500, 500)).at[3, 4, 5].set(7.0)[3, 4, 3:7])
    np.testing.assert_array_equal(f(), [1, 1, 7, 1])
