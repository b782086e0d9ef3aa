"""Rows of 2 to 12 elements, folded or not: lanes are rows, whose elements are woven together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo

ROWS = 75  # several vectors and a rest


def unit(x: jax.Array) -> jax.Array:
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def scaled(x: jax.Array) -> jax.Array:
    return jnp.exp(x * jnp.arange(1.0, x.shape[-1] + 1, dtype=x.dtype))


def joint(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    centred = x - x.mean(-1, keepdims=True)
    return centred, centred / (1 + x.max(-1, keepdims=True))


def upsampled(x: jax.Array) -> jax.Array:
    return jnp.repeat(x, 2, 0)


def from_planes(x: jax.Array) -> jax.Array:
    return jnp.moveaxis(x.reshape(x.shape[-1], -1), 0, -1) + 1


FUNCTIONS: list[Callable[..., Any]] = [
    jax.nn.softmax,
    unit,
    scaled,
    joint,
    from_planes,
    upsampled,
]


def check(function: Callable[..., Any], x: np.ndarray[Any, Any], rtol: float) -> None:
    expected = jax.tree.leaves(jax.jit(function)(x))
    found = hlo.compile(hlo.from_jax(function, x))(x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            one.astype(np.float64), np.asarray(other, np.float64), rtol=rtol, atol=rtol
        )


@pytest.mark.parametrize("width", range(2, 14))
def test_of_f32(width: int) -> None:
    x = np.random.default_rng(width).standard_normal((2, ROWS, width), dtype=np.float32)
    for function in FUNCTIONS:
        check(function, x, 1e-5)


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_of_other_floats(dtype: Any) -> None:
    x = np.random.default_rng(5).standard_normal((ROWS, 5)).astype(dtype)
    for function in (scaled, from_planes):
        check(function, x, 1e-2)


@pytest.mark.parametrize("width", [3, 4, 7])
def test_of_bytes(width: int) -> None:
    x = np.random.default_rng(width).integers(0, 256, (ROWS, width)).astype(np.uint8)
    check(lambda x: x * jnp.arange(1, width + 1, dtype=jnp.uint8), x, 0)
    check(lambda x: x.astype(jnp.int32).sum(-1, keepdims=True) - x, x, 0)


@pytest.mark.parametrize("width", [3, 12])
def test_rows_are_lanes(width: int) -> None:
    x = np.zeros((ROWS, width), np.float32)
    text = hlo.compile(hlo.from_jax(unit, x)).as_text("host")
    assert ": vector<16xf32>" in next(line for line in text.splitlines() if "math.sqrt" in line)


def test_pixels_that_are_repeated_are_woven() -> None:
    """Six elements of a result, two pixels of three, for each lane."""
    x = np.random.default_rng(0).integers(0, 256, (20, ROWS, 3)).astype(np.uint8)
    check(lambda x: jnp.repeat(x, 2, 1), x, 0)
    text = hlo.compile(hlo.from_jax(lambda x: jnp.repeat(x, 2, 1), x)).as_text("host")
    assert "vector<16xi8>" in text and "vector.gather" not in text


@pytest.mark.parametrize("width", [9, 12])
def test_the_first_extremum_of_a_row(width: int) -> None:
    x = np.random.default_rng(width).integers(0, 4, (ROWS, width)).astype(np.float32)
    x[3, 2] = np.nan
    check(lambda x: (x.argmin(-1), x.argmax(-1)), x, 0)
    text = hlo.compile(hlo.from_jax(lambda x: x.argmin(-1), x)).as_text("host")
    assert "vector.reduction" not in text  # across the lanes of a row


def test_a_maximum_of_a_row_with_nan_is_nan() -> None:
    x = np.arange(ROWS * 5, dtype=np.float32).reshape(ROWS, 5)
    x[3, 2] = np.nan
    found = np.asarray(hlo.compile(hlo.from_jax(lambda x: x / x.max(-1, keepdims=True), x))(x)[0])
    assert np.isnan(found[3]).all() and np.isfinite(np.delete(found, 3, 0)).all()
