"""Exponentials that round to zero are left out of the work, and those that just do not are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.lax as hlax
import hlo.numpy as hnp

# The least argument whose exponential is not zero, about.
LEAST = {np.float32: -103.972, np.float64: -745.133}


def arguments(dtype: type[np.floating[Any]], size: int) -> np.ndarray[Any, Any]:
    """In the same vectors: far below the least, around it, infinite, no number, and common ones."""
    least = LEAST[dtype]
    special = [-np.inf, np.nan, np.inf, -1e30, 0.0, least - 0.02, least + 0.02, 1.0]
    around = np.linspace(least - 0.1, least + 20, size)
    mixed = np.where(np.arange(size) % 3 == 0, around, np.resize(special, size))
    return mixed.astype(dtype)


def check_positive(
    found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], units: float
) -> None:
    """Within so many units in the last place, never negative, not even zeros."""
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    gap = np.abs(found[finite] - expected[finite])
    assert (gap <= units * np.spacing(expected[finite])).all()
    assert not np.signbit(found[~np.isnan(expected)]).any()


@pytest.mark.parametrize("size", [1, 4, 8, 13, 16, 37, 4099])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_around_the_least(dtype: type[np.floating[Any]], size: int) -> None:
    x = arguments(dtype, size)
    found = np.asarray(hlo.jit(hnp.exp)(x))
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x.astype(np.longdouble)).astype(dtype)
    check_positive(found, expected, units=1)


@pytest.mark.parametrize("size", [1, 4, 8, 13, 16, 37, 4099])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_around_the_least(dtype: type[np.floating[Any]], size: int) -> None:
    """Far below 0 it is the exponential; within its usual 2.5 units in the last place."""
    x = arguments(dtype, size)
    found = np.asarray(hlo.jit(hlax.logistic)(x))
    with np.errstate(over="ignore", under="ignore"):
        expected = (1 / (1 + np.exp(-x.astype(np.longdouble)))).astype(dtype)
    check_positive(found, expected, units=2.5)


@pytest.mark.parametrize("function", [hnp.exp, hlax.logistic])
def test_a_scaling_that_may_vanish_has_a_mask(function: Callable[..., Any]) -> None:
    """Where the processor has one: its result is 0 there, which is not computed."""
    x = np.zeros(4096, np.float32)
    text = hlo.jit(function).lower(x).compile().as_text("llvm")
    calls = re.findall(r"mask\.scalef\.ps\.\d+\"\(([^)]*)\)", text)
    constants = dict(re.findall(r"(%\w+) = llvm\.mlir\.constant\((-?\d+) : i\d+\)", text))
    assert all(constants.get(call.split(", ")[3]) != "-1" for call in calls)
    assert calls or "scalef" not in text
