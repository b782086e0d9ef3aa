"""Rows that vectors cannot be loaded of: what a row shares is computed once for it."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo


def normalised(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Layer normalisation of a sum with a transposed array."""
    h = x + y.swapaxes(1, 2)
    mean = h.mean(-1, keepdims=True)
    variance = ((h - mean) ** 2).mean(-1, keepdims=True)
    return (h - mean) * jax.lax.rsqrt(variance + 1e-5), h


@pytest.mark.parametrize("width", [1, 3, 16, 32, 33])
def test_normalisation_of_transposed_rows(width: int) -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((4, 64, width), dtype=np.float32)
    y = generator.standard_normal((4, width, 64), dtype=np.float32)
    program = hlo.compile(hlo.from_jax(normalised, x, y))
    for found, expected in zip(program(x, y), jax.jit(normalised)(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_reductions_are_ahead_of_the_loop_over_elements() -> None:
    x, y = np.zeros((4, 64, 32), np.float32), np.zeros((4, 32, 64), np.float32)
    text = hlo.compile(hlo.from_jax(normalised, x, y)).as_text("host")
    depth, deepest = 0, 0
    for line in text.split("func.func @main")[1].splitlines():
        depth += len(re.findall(r"scf\.for", line))
        deepest = max(deepest, depth)
        depth -= line.strip() == "}" and depth > 0
    assert deepest == 2  # rows, and in it the folds and the elements


def test_softmax_of_row_sums_is_linear() -> None:
    x = np.random.default_rng(0).standard_normal((64, 8), dtype=np.float32)
    program = hlo.compile(hlo.from_jax(lambda x: jax.nn.softmax(-x.sum(1)), x))
    np.testing.assert_allclose(program(x)[0], jax.nn.softmax(-jnp.asarray(x).sum(1)), rtol=1e-5)
