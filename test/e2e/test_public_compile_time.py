"""Programs on which a leading compiler took minutes, or memory without bound, to compile or run.
The bounds, on processor time, are a hundred times what is needed: they tell linear from quadratic,
not fast from slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from call_counts import calls_of
from jax import lax

import hlo
import hlo.numpy as hnp
from hlo import lax as hlax

COMPILE_SECONDS = 60.0
STEPS = 200_000


def timed(f: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a call returns, and its seconds of processor time."""
    start = time.process_time()
    result = f(*arguments)
    return result, time.process_time() - start


def test_updates_in_a_loop_are_in_place() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, STEPS, lambda t, x: x.at[t + 1].set(x[t] * 0.5 + 1.0), x)

    x = np.zeros(STEPS + 1, np.float32)
    compiled = hlo.compile(hlo.from_jax(f, x))
    (found,), seconds = timed(compiled, x)
    expected = np.float32(0)
    for t in range(60):
        assert found[t] == expected
        expected = np.float32(expected * np.float32(0.5) + np.float32(1))
    np.testing.assert_array_equal(found[60:], np.full(STEPS - 59, 2, np.float32))
    # A copy of the array a step would move 160 GB.
    assert seconds < 1.0


def test_updates_in_a_loop_of_the_front_end_are_in_place() -> None:
    def f(x: Any) -> Any:
        return hlax.fori_loop(0, STEPS, lambda t, x: x.at[t + 1].set(hnp.sin(x[t]) + 1.0), x)

    x = np.zeros(STEPS + 1, np.float32)
    compiled = hlo.jit(f).lower(x).compile()
    found, seconds = timed(compiled, x)
    np.testing.assert_allclose(
        found[1:4], [1.0, np.sin(1) + 1, np.sin(np.sin(1) + 1) + 1], rtol=1e-6
    )
    assert seconds < 1.0


def test_scan_writes_its_rows_in_place() -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, row: (c + row, c * 2), jnp.zeros(4), x)

    x = np.ones((50_000, 4), np.float32)
    (last, rows), seconds = timed(hlo.compile(hlo.from_jax(f, x)), x)
    np.testing.assert_array_equal(last, np.full(4, 50_000, np.float32))
    np.testing.assert_array_equal(rows[:, 0], 2 * np.arange(50_000, dtype=np.float32))
    assert seconds < 1.0


@pytest.mark.parametrize("steps", [1000, 3000])
def test_unrolled_loop_of_thousands_of_steps(steps: int) -> None:
    def f(x: Any) -> Any:
        for k in range(steps):
            x = x * 0.999 + np.float32(k % 3)
        return x

    x = np.ones(8, np.float32)
    program = hlo.from_jax(f, x)
    compiled, seconds = timed(hlo.compile, program)
    np.testing.assert_allclose(compiled(x)[0], np.asarray(jax.jit(f)(x)), rtol=1e-4)
    assert seconds < COMPILE_SECONDS


def test_update_of_a_large_constant_is_not_folded() -> None:
    def f() -> Any:
        return jnp.ones((500, 500, 500)).at[3, 4, 5].set(7.0).at[::100].add(1.0)

    program = hlo.from_jax(f)
    compiled, seconds = timed(hlo.compile, program)
    assert seconds < COMPILE_SECONDS
    found = compiled()[0]
    assert found[3, 4, 5] == 7.0
    assert found[100, 0, 0] == 2.0
    assert float(found.sum(dtype=np.float64)) == 500.0**3 + 6 + 5 * 500 * 500


def test_sum_of_captured_zeros_is_not_folded() -> None:
    with jax.enable_x64(True):
        zeros = np.zeros((200_000, 10, 10))
        program = hlo.from_jax(lambda: jax.vmap(jnp.sum)(zeros + 0.0))
    compiled, seconds = timed(hlo.compile, program)
    assert seconds < COMPILE_SECONDS
    np.testing.assert_array_equal(compiled()[0], np.zeros(200_000))


def test_broadcasts_and_iotas_of_gigabytes_are_not_folded() -> None:
    text = """
    func.func @main() -> tensor<i64> {
      %0 = hlo.iota dim = 1 : tensor<40000x40000xi64>
      %1 = hlo.constant dense<3> : tensor<40000x40000xi64>
      %2 = hlo.add %0, %1 : tensor<40000x40000xi64>
      %3 = hlo.slice %2 [39999:40000, 39999:40000] : (tensor<40000x40000xi64>) -> tensor<1x1xi64>
      %4 = hlo.reshape %3 : (tensor<1x1xi64>) -> tensor<i64>
      return %4 : tensor<i64>
    }"""
    compiled, seconds = timed(hlo.compile, text)
    assert seconds < COMPILE_SECONDS
    assert compiled()[0] == 40002


def test_the_work_of_compiling_grows_with_the_program() -> None:
    def chain(steps: int) -> str:
        lines = [
            f"  %{k + 1} = hlo.{('sine', 'abs', 'negate')[k % 3]} %{k} : tensor<1000xf32>"
            for k in range(steps)
        ]
        return (
            "func.func @main(%0: tensor<1000xf32>) -> tensor<1000xf32> {\n"
            + "\n".join(lines)
            + f"\n  return %{steps} : tensor<1000xf32>\n}}"
        )

    hlo.compile(chain(10))
    small, large = (calls_of(hlo.compile, chain(steps)) for steps in (300, 1200))
    # Four times the program: sixteen times the work would be quadratic.
    assert large < 6 * small
