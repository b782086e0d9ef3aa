"""Training steps of a language model on the emulated GPUs, against XLA:CPU."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo

VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, LENGTH = 96, 48, 3, 2, 2, 24
PTX = {"emulate": True}
FIBERS = {"emulate": True, "emulator": "fibers"}
Tree = Any


def parameters() -> Tree:
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> Any:
        return (rng.standard_normal(shape) * shape[0] ** -0.5).astype(np.float32)

    layers = [
        {
            "attend": matrix(WIDTH, 3 * WIDTH), "project": matrix(WIDTH, WIDTH),
            "widen": matrix(WIDTH, 4 * WIDTH), "narrow": matrix(4 * WIDTH, WIDTH),
            "first": np.ones(WIDTH, np.float32), "second": np.ones(WIDTH, np.float32),
        }
        for _ in range(LAYERS)
    ]  # fmt: skip
    return {"embed": matrix(VOCABULARY, WIDTH), "layers": layers}


def normalized(x: jax.Array, scale: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    return scale * (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def layer(x: jax.Array, w: Tree) -> jax.Array:
    parts = jnp.split(normalized(x, w["first"]) @ w["attend"], 3, axis=-1)
    q, k, v = (p.reshape(BATCH, LENGTH, HEADS, -1).transpose(0, 2, 1, 3) for p in parts)
    scores = q @ k.swapaxes(-1, -2) * (WIDTH // HEADS) ** -0.5
    scores = jnp.where(jnp.tri(LENGTH, dtype=bool), scores, -1e30)
    attended = jax.nn.softmax(scores) @ v
    x = x + attended.transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH) @ w["project"]
    return x + jax.nn.gelu(normalized(x, w["second"]) @ w["widen"]) @ w["narrow"]


def step(remat: bool) -> Any:
    apply = jax.checkpoint(layer) if remat else layer  # pyright: ignore[reportUnknownMemberType]

    def loss(weights: Tree, tokens: jax.Array) -> jax.Array:
        x = weights["embed"][tokens[:, :-1]]
        for w in weights["layers"]:
            x = apply(x, w)
        logits = jax.nn.log_softmax(x @ weights["embed"].T)
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    def run(weights: Tree, moments: Tree, tokens: jax.Array) -> Tree:
        value, gradients = jax.value_and_grad(loss)(weights, tokens)

        def moved(w: jax.Array, m: jax.Array, g: jax.Array) -> tuple[jax.Array, jax.Array]:
            mean = 0.9 * m + 0.1 * g
            return w - 1e-2 * mean / (jnp.sqrt(0.1 * g * g) + 1e-3), mean

        pairs = jax.tree.map(moved, weights, moments, gradients)
        return value, pairs

    return jax.jit(run)


@pytest.mark.parametrize(
    ("options", "remat"),
    [
        pytest.param(PTX, False, marks=pytest.mark.slow, id="ptx"),
        pytest.param(PTX, True, marks=pytest.mark.slow, id="ptx-remat"),
        pytest.param(FIBERS, False, marks=pytest.mark.slow, id="fibers"),
        pytest.param(FIBERS, True, id="fibers-remat"),
    ],
)
def test_a_step_of_a_language_model(options: dict[str, object], remat: bool) -> None:
    weights = parameters()
    moments = jax.tree.map(np.zeros_like, weights)
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, LENGTH + 1), np.int32)
    lowered = step(remat).lower(weights, moments, tokens)
    expected = jax.tree.leaves(lowered.compile()(weights, moments, tokens))
    arguments = jax.tree.leaves((weights, moments, tokens))
    found = hlo.compile(lowered.as_text(), target="nvptx:sm_80", **options)(*arguments)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        largest = np.abs(np.asarray(other)).max()
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3 * largest)
