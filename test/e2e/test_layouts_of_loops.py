"""Orders go through loops, branches, gathers, scatters and sorts: nothing is turned each time."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlo

RNG = np.random.default_rng(9)
IMAGES = RNG.standard_normal((2, 16, 10, 10)).astype(np.float32)
KERNEL = (0.1 * RNG.standard_normal((16, 16, 3, 3))).astype(np.float32)
ROWS = RNG.integers(-3, 60, (4, 8)).astype(np.int32)
TABLE = RNG.standard_normal((50, 32)).astype(np.float32)


def convolved(x: Any, w: Any) -> Any:
    numbers = ("NCHW", "OIHW", "NCHW")
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)


def iterated(x: Any, w: Any) -> Any:
    return lax.fori_loop(0, 5, lambda _, c: jnp.tanh(convolved(c, w)) + c, x)


def scanned(x: Any, w: Any) -> Any:
    def step(carry: Any, image: Any) -> Any:
        carry = jnp.tanh(convolved(carry, w) + image)
        return carry, 2 * carry

    return lax.scan(step, x, jnp.stack([x, 2 * x, x]))


def stacked_kernels(x: Any, w: Any) -> Any:
    kernels = jnp.stack([w, 2 * w, -w])
    return lax.scan(lambda c, k: (jnp.tanh(convolved(c, k)), c.sum()), x, kernels)


def until_small(x: Any, w: Any) -> Any:
    """A condition that reads what is carried, and a loop in a loop."""

    def body(carry: Any) -> Any:
        return lax.fori_loop(0, 2, lambda _, c: 0.5 * convolved(c, w), carry)

    return lax.while_loop(lambda c: jnp.abs(c[0, :, 3, 4]).sum() > 0.1, body, x)


def exchanged(x: Any, w: Any) -> Any:
    """Two values of which each becomes the other."""

    def body(_: int, pair: tuple[Any, Any]) -> tuple[Any, Any]:
        return convolved(pair[1], w), pair[0] + 1

    return lax.fori_loop(0, 4, body, (x, 3 * x))


def turned(x: Any, w: Any) -> Any:
    """A value that is another way round after each step cannot keep one order."""
    return lax.fori_loop(0, 3, lambda _, c: jnp.swapaxes(convolved(c, w), 2, 3), x)


def check(function: Any, *arguments: Any) -> list[tuple[str, int]]:
    """Compares with XLA; returns the kernels that only move data, and how often each is called."""
    compiled = hlo.compile(hlo.from_jax(function, *arguments))
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, wanted in zip(compiled(*arguments), expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=2e-5, atol=2e-5)
    kernels = json.loads(compiled.explain().to_json())["kernels"]
    return [(k["name"], k["calls"]) for k in kernels if "transpose" in k["name"]]


@pytest.mark.parametrize(
    "function",
    [iterated, scanned, stacked_kernels, until_small, exchanged],
    ids=lambda f: f.__name__,
)
def test_nothing_is_turned_in_a_loop(function: Any) -> None:
    assert all(calls == 1 for _, calls in check(function, IMAGES, KERNEL))


def test_a_value_that_turns_each_time() -> None:
    check(turned, IMAGES, KERNEL)


@pytest.mark.parametrize("which", [0, 1, 2, 7])
def test_branches_return_one_order(which: int) -> None:
    def chosen(x: Any, w: Any, i: Any) -> Any:
        branches = [
            lambda c: convolved(c, w),
            lambda c: c * 2,
            lambda c: convolved(jnp.sin(c), w),
        ]
        return convolved(lax.switch(i, branches, convolved(x, w)), w)

    # The image on its way in and out, and the kernel: never in between.
    assert len(check(chosen, IMAGES, KERNEL, np.int32(which))) <= 3


def test_gathered_rows_are_not_turned() -> None:
    def looked_up(table: Any, rows: Any) -> Any:
        return jnp.tanh(jnp.swapaxes(table.at[rows].get(mode="clip"), 0, 1))

    moves = check(looked_up, TABLE, ROWS)
    assert not moves, moves


def test_scattered_rows() -> None:
    def added(table: Any, rows: Any, values: Any) -> Any:
        turned = jnp.tanh(table).T
        return turned.at[:, rows[:, 0]].add(jnp.swapaxes(values, 0, 1)).T

    values = RNG.standard_normal((4, 32)).astype(np.float32)
    assert not check(added, TABLE, ROWS, values)


def test_sorted_columns() -> None:
    def largest(x: Any) -> Any:
        keys, places = lax.sort_key_val(jnp.tanh(x), lax.broadcasted_iota(jnp.int32, x.shape, 0), 0)
        return keys[-3:], places[-3:]

    check(largest, TABLE)


def test_barriers_keep_orders() -> None:
    def kept(x: Any, w: Any) -> Any:
        return convolved(lax.optimization_barrier((convolved(x, w), w))[0], w)

    assert len(check(kept, IMAGES, KERNEL)) <= 3


def many_systems(states: Any) -> Any:
    """The states of many systems, a row each, that are put together anew in each step."""

    def step(s: Any, _: Any) -> Any:
        x, y, z = s[:, 0], s[:, 1], s[:, 2]
        s = s + 0.01 * jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 2.5 * z], 1)
        return s, s.sum(1)

    return lax.scan(step, states, None, length=5)


def pulled_points(points: Any) -> Any:
    """All pairs of points: sums over both of them, and over their coordinates."""

    def energy(r: Any) -> Any:
        d = r[:, None] - r[None]
        return jnp.sqrt((d * d).sum(-1) + 0.1).sum()

    return lax.fori_loop(0, 3, lambda _, r: r - 0.01 * jax.grad(energy)(r), points)


@pytest.mark.parametrize(
    ("function", "argument"),
    [(many_systems, IMAGES.reshape(-1)[:120]), (pulled_points, IMAGES.reshape(-1)[:96])],
)
def test_short_rows_are_turned_once(function: Any, argument: Any) -> None:
    moved = check(function, argument.reshape(-1, 3))
    assert len(moved) == 2, moved
    assert all(calls == 1 for _, calls in moved), moved
