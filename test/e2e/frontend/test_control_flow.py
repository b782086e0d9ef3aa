"""Conditionals and loops, against the Python they stand for and against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import lax

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("pred", [True, False])
def test_cond(pred: bool) -> None:
    @hlo.jit
    def f(p: Any, x: Any) -> Any:
        return lax.cond(p, lambda y: {"a": hnp.sin(y), "b": x}, lambda y: {"a": y, "b": y + 1}, x)

    found = f(pred, X)
    np.testing.assert_allclose(found["a"], np.sin(X) if pred else X, rtol=1e-6)
    np.testing.assert_allclose(found["b"], X if pred else X + 1, rtol=1e-6)


def test_cond_of_a_number_and_python_results() -> None:
    f = hlo.jit(lambda p, x: lax.cond(p, lambda: x, lambda: 0))
    assert f(3, np.float32(2.5)) == 2.5
    assert f(0, np.float32(2.5)) == 0.0
    assert f(0, np.float32(2.5)).dtype == np.float32


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_switch(index: int) -> None:
    branches = [lambda x: x, lambda x: x * 2, lambda x: x - 1]
    found = hlo.jit(lambda i, x: lax.switch(i, branches, x))(np.int32(index), X)
    np.testing.assert_array_equal(found, branches[min(max(index, 0), 2)](X))


def test_while_loop() -> None:
    @hlo.jit
    def collatz(n: Any) -> Any:
        def step(state: Any) -> Any:
            n, count = state
            return hnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    assert collatz(np.int32(27)) == 111


def test_fori_loop_uses_enclosing_arrays_and_takes_its_dtype_from_the_body() -> None:
    @hlo.jit
    def power(x: Any, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, total: total * x + i, 0)

    found = power(np.float32(2), 4)
    assert found.dtype == np.float32
    assert found == 11.0  # ((0*2 + 0)*2 + 1)*2 + 2)*2 + 3 = 11


def test_fori_loop_without_iterations() -> None:
    assert hlo.jit(lambda x: lax.fori_loop(3, 3, lambda _, c: c * 2, x))(np.float32(5)) == 5


def test_updates_in_a_loop() -> None:
    @hlo.jit
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 99, lambda t, x: x.at[t + 1].set(x[t] * 0.5 + 1), x)

    expected = np.zeros(100, np.float32)
    for t in range(99):
        expected[t + 1] = expected[t] * np.float32(0.5) + 1
    np.testing.assert_allclose(f(np.zeros(100, np.float32)), expected, rtol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 100, True])
def test_scan(reverse: bool, unroll: Any) -> None:
    xs = {"a": np.arange(7, dtype=np.float32), "b": X.reshape(-1)[:7]}

    def step(carry: Any, x: Any) -> Any:
        total = carry * 0.5 + x["a"]
        return total, (total + x["b"], x["a"])

    found = hlo.jit(lambda xs: lax.scan(step, 1.0, xs, reverse=reverse, unroll=unroll))(xs)
    expected = jax.jit(lambda xs: jax.lax.scan(step, 1.0, xs, reverse=reverse))(xs)
    for ours, theirs in zip(hlo.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_scan_without_inputs_or_outputs() -> None:
    found = hlo.jit(lambda x: lax.scan(lambda c, _: (c + 1, None), x, length=4))(np.int32(3))
    assert found == (7, None)


def test_scan_of_nothing() -> None:
    empty = np.zeros((0, 3), np.float32)
    carry, ys = hlo.jit(lambda xs: lax.scan(lambda c, x: (c + x, x * 2), X[0, :3], xs))(empty)
    np.testing.assert_array_equal(carry, X[0, :3])
    assert ys.shape == (0, 3)


def test_map() -> None:
    np.testing.assert_allclose(hlo.jit(lambda x: lax.map(hnp.sum, x))(X), X.sum(1), rtol=1e-6)


def test_nested_loops() -> None:
    @hlo.jit
    def f(x: Any) -> Any:
        def outer(i: Any, total: Any) -> Any:
            return lax.fori_loop(0, i, lambda j, t: t + x[j] * i, total)

        return lax.fori_loop(0, 4, outer, 0.0)

    x = np.arange(4, dtype=np.float32)
    assert f(x) == sum(x[j] * i for i in range(4) for j in range(i))


def test_condition_in_a_loop_of_a_nested_function() -> None:
    @hlo.jit
    def inner(x: Any, scale: Any) -> Any:
        return lax.cond(x > 0, lambda: x * scale, lambda: x)

    @hlo.jit
    def f(xs: Any) -> Any:
        return lax.scan(lambda c, x: (c + inner(x, 3.0), inner(x, c)), 0.0, xs)

    total, outs = f(X.reshape(-1))
    carry, expected = np.float32(0), []
    for x in X.reshape(-1):
        expected.append(x * carry if x > 0 else x)
        carry += x * 3 if x > 0 else x
    np.testing.assert_allclose(total, carry, rtol=1e-5)
    np.testing.assert_allclose(outs, expected, rtol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_totals(name: str, reverse: bool) -> None:
    found = hlo.jit(lambda x: getattr(lax, name)(x, 1, reverse))(X)
    expected = getattr(jax.lax, name)(jnp.asarray(X), 1, reverse)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["cumsum", "cummax"])
def test_running_totals_keep_negative_zero(name: str) -> None:
    found = hlo.jit(getattr(lax, name))(np.array([-0.0, -0.0, -0.0, -0.0], np.float32))
    assert np.signbit(found).all()


def test_associative_scan_keeps_negative_zero() -> None:
    scan = hlo.jit(lambda x: lax.associative_scan(lax.max, x))
    assert np.signbit(scan(np.full(5, -0.0, np.float32))).all()


def test_carry_that_changes() -> None:
    with pytest.raises(
        hlo.ShapeError, match=r"carry\['x'\] is float32\[4\] and becomes float32\[2\]"
    ):
        hlo.jit(lambda x: lax.fori_loop(0, 3, lambda _, c: {"x": c["x"][:2]}, {"x": x}))(X[0])
    with pytest.raises(hlo.TreeError, match="to return its carry's structure"):
        hlo.jit(lambda x: lax.while_loop(lambda c: True, lambda c: (c, c), x))(X)
    with pytest.raises(hlo.ShapeError, match="scalar bool"):
        hlo.jit(lambda x: lax.while_loop(lambda c: c, lambda c: c, x))(X)


def test_branches_that_differ() -> None:
    with pytest.raises(
        hlo.ShapeError, match=r"found for result\[0\]: float32\[3,4\], float32\[4\]"
    ):
        hlo.jit(lambda p, x: lax.cond(p, lambda: (x,), lambda: (x[0],)))(True, X)
    with pytest.raises(hlo.TreeError, match="branches to return one structure"):
        hlo.jit(lambda p, x: lax.cond(p, lambda: (x,), lambda: x))(True, X)


def test_scan_of_different_lengths() -> None:
    with pytest.raises(hlo.ShapeError, match=r"xs\[0\]: 3, xs\[1\]: 4"):
        hlo.jit(lambda x: lax.scan(lambda c, x: (c, x), 0, (x, x.T)))(X)
