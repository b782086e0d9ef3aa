"""Scatters that compute their updates from look-ups, as the messages along a graph's edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo

NODES, EDGES = 37, 211

Array = np.ndarray[Any, Any]


def edges(seed: int, *, outside: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.integers(-outside, NODES + outside, EDGES).astype(np.int32)


def sample(*shape: int, dtype: Any = np.float32) -> Array:
    return (np.random.default_rng(shape).integers(-8, 9, shape) / 4).astype(dtype)


def sums(x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
    return jnp.zeros_like(x).at[target].add(x[source], mode="drop")


def weighted(x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
    weights = jnp.where(source > target, 2, 3).astype(x.dtype)
    return x.at[target * 2 - source].max(x[source] * weights[:, None] - 1, mode="drop")


def own_rows(x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
    y = x * 2  # updated where it is, and read meanwhile
    return y.at[target].add(y[source], mode="drop")


def part_of_own(x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
    y = (x * 2).reshape(-1)  # the updates are a view of what is updated
    updates = y[: x.size].reshape(x.shape)[:9] * 3
    return y.reshape(x.shape).at[target[:9]].add(updates, mode="drop")


def in_a_loop(x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
    def step(_: int, carried: jax.Array) -> jax.Array:
        return carried.at[target].add(x[source] - carried[:1], mode="drop")

    return jax.lax.fori_loop(0, 3, step, x)


FUNCTIONS = [sums, weighted, own_rows, part_of_own, in_a_loop]


def check(function: Callable[..., Any], columns: int, dtype: Any, threads: int) -> None:
    x = sample(NODES, columns, dtype=dtype)
    arguments = (x, edges(1), edges(2, outside=3))
    expected = np.asarray(jax.jit(function)(*arguments))
    found = hlo.compile(hlo.from_jax(function, *arguments), threads=threads)(*arguments)[0]
    assert found.dtype == expected.dtype
    # Sums of quarters are exact, and so is their order.
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 15, 20, 33, 64, 130])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_of_f32(function: Callable[..., Any], columns: int) -> None:
    check(function, columns, np.float32, threads=2)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16, np.int8, np.int32, np.uint16])
@pytest.mark.parametrize("columns", [3, 11, 64])
def test_of_other_types(dtype: Any, columns: int) -> None:
    check(sums, columns, dtype, threads=1)


def test_one_kernel_makes_the_messages_and_adds_them() -> None:
    arguments = (sample(NODES, 16), edges(1), edges(2))
    compiled = hlo.compile(hlo.from_jax(sums, *arguments))
    assert "gather_scatter_fusion" in compiled.as_text("fused")
    stored = EDGES * 16 * 4  # bytes of all messages
    assert compiled.statistics.arena_bytes < stored
