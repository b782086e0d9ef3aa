"""What is rarely needed is a function of a kernel, emitted once, called where lanes need it."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.lax
import hlo.numpy as hnp


def angles(dtype: type[np.floating[Any]]) -> np.ndarray[Any, Any]:
    """Common and huge ones, of both signs, in the same vectors."""
    largest = np.log10(np.finfo(dtype).max) - 1
    huge = np.logspace(3, largest, 500)
    mixed = np.stack([np.linspace(-40, 40, 500), huge, -huge], axis=1)
    return mixed.reshape(-1).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles_are_reduced_exactly(name: str, dtype: type[np.floating[Any]]) -> None:
    x = angles(dtype)
    found = hlo.jit(getattr(hnp, name))(x)
    expected = getattr(np, name)(x.astype(np.float64))
    np.testing.assert_allclose(found, expected.astype(dtype), rtol=4 * np.finfo(dtype).eps, atol=0)


def test_unrolled_sums_have_one_function_for_far_angles() -> None:
    def total(x: Any) -> Any:
        return hnp.sum(hnp.sin(x))

    x = angles(np.float32)
    text = hlo.jit(total).lower(x).compile().as_text("llvm")
    assert text.count("llvm.func internal @") == 1
    assert len(re.findall(r"llvm\.call @\w+__far_sine_f32_16\(", text)) >= 4  # a vector each
    np.testing.assert_allclose(
        hlo.jit(total)(x), np.sin(x.astype(np.float64)).sum(), rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_angles_that_are_none_are_nan(value: float) -> None:
    x = np.full(19, 1e30, np.float32)
    x[3] = value
    found = np.asarray(hlo.jit(lambda x: hnp.sin(x) + hnp.cos(x))(x))
    assert np.isnan(found[3]) and np.isfinite(np.delete(found, 3)).all()


def test_lanes_beside_far_angles_keep_their_bits() -> None:
    x = np.concatenate([np.linspace(-9, 9, 4096), [-0.0, 0.0] * 64]).astype(np.float32)
    near = [np.asarray(hlo.jit(f)(x)) for f in (hnp.sin, hnp.cos)]
    assert np.signbit(near[0][4096:]).tolist() == [True, False] * 64
    x[::5] = 1e9
    for function, before in zip((hnp.sin, hnp.cos), near, strict=True):
        found = np.asarray(hlo.jit(function)(x))
        held = np.arange(x.size) % 5 != 0
        np.testing.assert_array_equal(found[held].view(np.int32), before[held].view(np.int32))


def test_erfc_far_above_zero_keeps_its_precision_beside_common_values() -> None:
    """The pieces end at 3.375; below -4 it is 2, above 10.06 it rounds to 0."""
    edges = [3.375, np.nextafter(np.float32(3.375), np.float32(4)), -4.0, 10.05, 10.06, 0.0, -0.0]
    special = [np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30]
    x = np.concatenate([np.linspace(-6, 12, 5000), edges, special]).astype(np.float32)
    found = np.asarray(hlo.jit(hlo.lax.erfc)(x))
    expected = np.vectorize(math.erfc)(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x))
    held = ~np.isnan(x)
    assert (np.abs(found - expected)[held] <= 2.5 * np.spacing(expected[held])).all()
    near = np.where(x > 3.375, np.float32(1.0), x)
    alone = np.asarray(hlo.jit(hlo.lax.erfc)(near))
    common = x <= 3.375
    np.testing.assert_array_equal(found[common].view(np.int32), alone[common].view(np.int32))


def test_erfc_of_common_values_has_no_exponential() -> None:
    """Where coefficients are looked up in registers, it is in a function that is seldom called."""
    text = hlo.jit(hlo.lax.erfc).lower(np.zeros(4096, np.float32)).compile().as_text("llvm")
    common = text[: text.index("llvm.func internal @")] if "vpermi2var" in text else ""
    assert "scalef" not in common
    assert "vpermi2var" not in text or re.search(r"__far_erfc_f32_\d+\(", common)
