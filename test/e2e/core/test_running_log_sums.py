"""Running logarithms of sums of exponentials are one pass, like running sums."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

import hlo
from hlo.importers import load_program
from hlo.reference.evaluate import evaluate

SPECIAL = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 88, -88, 1e-40, 3, 3])


def values(shape: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape, dtype=np.float32) * 20
    x[..., 1] = generator.choice(SPECIAL, x[..., 1].shape)
    return x


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_every_axis_both_ways(axis: int, reverse: bool) -> None:
    x = values((3, 70, 32))

    def f(x: jax.Array) -> jax.Array:
        return lax.cumlogsumexp(x, axis, reverse) * 2

    program = hlo.compile(hlo.from_jax(f, x))
    (found,) = program(x)
    np.testing.assert_allclose(found, jax.jit(f)(x), rtol=2e-6, atol=2e-6)
    assert "a running total is made in one pass" in str(program.explain())


def test_on_a_gpu() -> None:
    x = values((2, 100, 3))

    def f(x: jax.Array) -> jax.Array:
        return lax.cumlogsumexp(x, 1)

    (found,) = hlo.compile(hlo.from_jax(f, x), target="nvptx:sm_80", emulate=True)(x)
    np.testing.assert_allclose(found, jax.jit(f)(x), rtol=2e-6, atol=2e-6)


def test_other_starts_are_no_running_sums() -> None:
    """The initial value pads the windows: unless it is neutral, it counts more than once."""
    x = values((5, 9))
    x[:, 1] = 2
    text = str(hlo.from_jax(lambda x: lax.cumlogsumexp(x, 1), x)).replace("0xFF800000", "1.0")
    (found,) = hlo.compile(text)(x)
    np.testing.assert_allclose(found, evaluate(load_program(text), [x])[0], rtol=1e-5)
