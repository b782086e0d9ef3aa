"""JAX programs, imported and evaluated by the reference, against XLA's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp
from reference_oracles import random_floats

from hlo.importers.stablehlo import from_jax
from hlo.reference.evaluate import evaluate

X = random_floats((6, 8), np.float32, 1)
SQUARE = random_floats((5, 5), np.float32, 2)
SPD = (SQUARE @ SQUARE.T + 5 * np.eye(5)).astype(np.float32)
VECTOR = random_floats((33,), np.float32, 3)
IMAGE = random_floats((2, 8, 8, 3), np.float32, 4)
KERNEL = random_floats((3, 3, 3, 4), np.float32, 5)
KEY = np.array([1, 2], np.uint32)


def softmax_gradient(x: jax.Array) -> jax.Array:
    return jax.grad(lambda y: (jax.nn.softmax(y) ** 2).sum())(x)


def newton(x: jax.Array) -> jax.Array:
    return lax.fori_loop(0, 20, lambda _, y: y - (y * y - x) / (2 * y), x)


def collatz(n: jax.Array) -> jax.Array:
    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        value, count = state
        return jnp.where(value % 2 == 0, value // 2, 3 * value + 1), count + 1

    return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]


def running_mean(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        carry = 0.9 * carry + row
        return carry, carry.mean()

    return lax.scan(step, jnp.zeros(x.shape[1:]), x)


def pool_gradient(x: jax.Array) -> jax.Array:
    def pool(y: jax.Array) -> jax.Array:
        init = -jnp.inf
        return lax.reduce_window(y, init, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    return jax.grad(pool)(x)


def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(
        x, w, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def convolution_gradient(x: jax.Array, w: jax.Array) -> tuple[jax.Array, ...]:
    return jax.grad(lambda a, b: (convolution(a, b) ** 2).sum(), argnums=(0, 1))(x, w)


EXACT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "random bits": (lambda k: jax.random.bits(k, (7, 3)), (KEY,)),
    "random split": (lambda k: jax.random.split(k, 5), (KEY,)),
    "random integers": (lambda k: jax.random.randint(k, (50,), -7, 9), (KEY,)),
    "random permutation": (lambda k: jax.random.permutation(k, 30), (KEY,)),
    "sort": (lambda x: jnp.sort(x, axis=0), (X,)),
    "argsort": (lambda x: jnp.argsort(x, axis=1), (X,)),
    "top k": (lambda x: lax.top_k(x, 3), (X,)),
    "approximate maximum": (lambda x: lax.approx_max_k(x, 3), (X,)),
    "argmax": (lambda x: jnp.argmax(x, axis=1), (X,)),
    "set out of bounds": (lambda x: x.at[jnp.array([1, 9, -3])].set(7), (X,)),
    "take": (lambda x: jnp.take(x, jnp.array([1, 9, -3]), axis=0), (X,)),
    "collatz": (collatz, (np.int32(27),)),
    "max pool gradient": (pool_gradient, (IMAGE,)),
    "cumulative maximum": (lambda x: lax.cummax(x, axis=1), (X,)),
    "unique": (lambda x: jnp.unique(x.round(), size=9), (VECTOR,)),
    "bit cast": (lambda x: lax.bitcast_convert_type(x, np.uint8), (X,)),
}
CLOSE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax gradient": (softmax_gradient, (X,)),
    "newton": (newton, (np.abs(X) + 1,)),
    "running mean": (running_mean, (X,)),
    "random normal": (lambda k: jax.random.normal(k, (100,)), (KEY,)),
    "convolution": (convolution, (IMAGE, KERNEL)),
    "convolution gradient": (convolution_gradient, (IMAGE, KERNEL)),
    "cumulative sum": (lambda x: jnp.cumsum(x, axis=0), (X,)),
    "log sum exp": (lambda x: jax.nn.logsumexp(x, axis=1), (X,)),
    "cholesky": (jnp.linalg.cholesky, (SPD,)),
    "solve": (jnp.linalg.solve, (SPD, SQUARE)),
    "determinant": (jnp.linalg.det, (SQUARE,)),
    "qr": (jnp.linalg.qr, (SQUARE,)),
    "eigh": (jnp.linalg.eigh, (SPD,)),
    "svd": (jnp.linalg.svd, (SQUARE,)),
    "eig": (jnp.linalg.eig, (SQUARE,)),
    "triangular solve": (
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        (SPD, SQUARE),
    ),
    "fft": (jnp.fft.rfft2, (X,)),
    "einsum": (lambda x: jnp.einsum("ab,cb->ac", x, x), (X,)),
    "special functions": (lambda x: lax.erf(x) + lax.lgamma(x) + lax.digamma(x + 9), (X,)),
    "variance of bfloat16": (lambda x: jnp.var(x.astype(jnp.bfloat16), axis=0), (X,)),
}


def both(function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    expected = [np.asarray(x) for x in jax.tree.leaves(jax.jit(function)(*arguments))]
    found = evaluate(from_jax(function, *arguments), [np.asarray(x) for x in arguments])
    return list(zip(found, expected, strict=True))


@pytest.mark.parametrize("name", EXACT)
def test_programs_that_must_agree_exactly(name: str) -> None:
    for found, expected in both(*EXACT[name]):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CLOSE)
def test_programs_that_agree_within_rounding(name: str) -> None:
    for found, expected in both(*CLOSE[name]):
        assert found.dtype == expected.dtype
        tolerance = 2e-2 if found.dtype.itemsize == 2 else 2e-5
        wide = expected.astype(np.complex128)
        scale = max(1.0, float(np.abs(wide).max()))
        np.testing.assert_allclose(
            found.astype(np.complex128), wide, rtol=tolerance, atol=tolerance * scale
        )
