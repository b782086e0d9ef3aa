"""`hlo.nn` against `jax.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
from hlo import nn

X = np.linspace(-6, 6, 24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "relu6",
        "leaky_relu",
        "sigmoid",
        "log_sigmoid",
        "softplus",
        "silu",
        "swish",
        "gelu",
        "elu",
        "celu",
        "selu",
        "hard_tanh",
        "hard_sigmoid",
        "softmax",
        "log_softmax",
        "logsumexp",
        "glu",
    ],
)
def test_activation(name: str, dtype: str) -> None:
    x = X.astype(jnp.dtype(dtype))
    if dtype == "int32" and name in ("sigmoid", "silu", "swish", "glu"):
        return  # jax takes floats alone
    theirs = getattr(jax.nn, name, None) or jax.scipy.special.logsumexp
    expected = np.asarray(jax.jit(theirs)(x))
    found = hlo.jit(getattr(nn, name))(x)
    assert found.dtype == expected.dtype
    tolerance = 3e-2 if dtype == "bfloat16" else 2e-6
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance
    )


CASES: dict[str, Callable[[Any], Any]] = {
    "gelu_exact": lambda n: n.gelu(X, approximate=False),
    "softmax_axes": lambda n: n.softmax(X, axis=(0, 1)),
    "softmax_where": lambda n: n.softmax(X, where=X > -2),
    "one_hot": lambda n: n.one_hot(np.array([[0, 2], [5, -1]]), 4),
    "one_hot_first": lambda n: n.one_hot(np.array([0, 2]), 3, axis=0),
    "standardize": lambda n: n.standardize(X),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    expected = CASES[name](jax.nn)
    np.testing.assert_allclose(CASES[name](nn), expected, rtol=2e-6, atol=2e-6)


def test_logsumexp_of_infinities() -> None:
    found = hlo.jit(lambda x: nn.logsumexp(x, -1))(
        np.array([[-np.inf, -np.inf], [np.inf, 1.0]], np.float32)
    )
    np.testing.assert_array_equal(found, [-np.inf, np.inf])


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(is_causal: bool, masked: bool) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 5, 3, 4)).astype(np.float32) for _ in range(3))
    mask = rng.random((2, 1, 5, 5)) > 0.3 if masked else None
    if mask is not None:
        mask[..., 0] = True
    found = nn.dot_product_attention(q, k, v, mask, is_causal=is_causal)
    expected = jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=is_causal)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
