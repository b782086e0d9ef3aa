"""The optimizer's work is near-linear in the program's size."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import optimizer_time


@pytest.mark.parametrize("shape", optimizer_time.SHAPES)
def test_four_times_the_ops_take_about_four_times_the_calls(shape: str) -> None:
    """A loose bound, 4 ** 1.3 = 6.1, for searches with a budget; quadratic would be 16."""
    small, large = (optimizer_time.calls(shape, n) for n in (500, 2000))
    assert large <= 4**1.3 * small


@pytest.mark.slow
@pytest.mark.parametrize("shape", optimizer_time.SHAPES)
def test_slope_on_logarithmic_axes(shape: str) -> None:
    sizes = optimizer_time.SIZES
    calls = [optimizer_time.calls(shape, n) for n in sizes]
    assert optimizer_time.slope(sizes, calls) <= 1.1


def test_slope_is_the_exponent() -> None:
    assert optimizer_time.slope([1, 10, 100], [3.0, 30.0, 300.0]) == pytest.approx(1.0)
    assert optimizer_time.slope([1, 10, 100], [1.0, 100.0, 1e4]) == pytest.approx(2.0)
