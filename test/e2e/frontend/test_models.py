"""Small models written once and run by hlo and by JAX."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp

OURS = SimpleNamespace(np=hnp, lax=hlo.lax, nn=hlo.nn, random=hlo.random, jit=hlo.jit)
THEIRS = SimpleNamespace(np=jnp, lax=jax.lax, nn=jax.nn, random=jax.random, jit=jax.jit)
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return (RNG.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)


def transformer(lib: Any) -> tuple[Any, tuple[Any, ...]]:
    layers, tokens, width, heads, vocabulary = 2, 16, 32, 4, 50

    def norm(x: Any, scale: Any) -> Any:
        mean = lib.np.mean(x, -1, keepdims=True)
        spread = lib.np.var(x, -1, keepdims=True)
        return (x - mean) * lib.lax.rsqrt(spread + 1e-6) * scale

    @lib.jit
    def block(p: Any, x: Any) -> Any:
        y = norm(x, p["scale1"])
        q, k, v = lib.np.split(y @ p["qkv"], 3, axis=-1)
        q, k, v = (z.reshape(z.shape[0], z.shape[1], heads, -1) for z in (q, k, v))
        attended = lib.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + attended.reshape(x.shape) @ p["out"]
        hidden = lib.nn.gelu(norm(x, p["scale2"]) @ p["up"] + p["bias"])
        return x + hidden @ p["down"]

    def loss(params: Any, ids: Any) -> Any:
        x = params["embedding"][ids] + params["positions"]
        for p in params["blocks"]:
            x = block(p, x)
        logits = x @ params["embedding"].T
        scores = lib.nn.log_softmax(logits[:, :-1])
        chosen = lib.np.take_along_axis(scores, ids[:, 1:, None], -1)
        return -lib.np.mean(chosen), logits

    blocks = [
        {
            "scale1": np.ones(width, np.float32),
            "scale2": np.ones(width, np.float32),
            "qkv": normal(width, 3 * width),
            "out": normal(width, width),
            "up": normal(width, 4 * width),
            "bias": normal(4 * width),
            "down": normal(4 * width, width),
        }
        for _ in range(layers)
    ]
    params = {
        "embedding": normal(vocabulary, width),
        "positions": normal(tokens, width),
        "blocks": blocks,
    }
    ids = RNG.integers(0, vocabulary, (2, tokens)).astype(np.int32)
    return loss, (params, ids)


def convolutional(lib: Any) -> tuple[Any, tuple[Any, ...]]:
    def network(params: Any, images: Any) -> Any:
        x = images
        for kernel, bias in params["layers"]:
            x = lib.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = lib.nn.relu(x + bias)
            x = lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = x.reshape(x.shape[0], -1) @ params["dense"]
        return lib.nn.softmax(x)

    layers = [(normal(3, 3, 1, 8), normal(8)), (normal(3, 3, 8, 16), normal(16))]
    params = {"layers": layers, "dense": normal(7 * 7 * 16, 10)}
    return network, (params, normal(3, 28, 28, 1))


def recurrent(lib: Any) -> tuple[Any, tuple[Any, ...]]:
    def run(params: Any, xs: Any, state: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            update = lib.nn.sigmoid(x @ params["xz"] + h @ params["hz"])
            proposal = lib.np.tanh(x @ params["xh"] + (h * update) @ params["hh"])
            h = (1 - update) * h + update * proposal
            return h, h.sum(-1)

        return lib.lax.scan(step, state, xs)

    params = {"xz": normal(5, 8), "hz": normal(8, 8), "xh": normal(5, 8), "hh": normal(8, 8)}
    return run, (params, normal(12, 3, 5), np.zeros((3, 8), np.float32))


def kmeans(lib: Any) -> tuple[Any, tuple[Any, ...]]:
    def fit(points: Any, key: Any) -> Any:
        order = lib.random.permutation(key, points.shape[0])
        centers = points[order[:4]]

        def step(_: Any, centers: Any) -> Any:
            distances = lib.np.sum((points[:, None] - centers[None]) ** 2, -1)
            labels = lib.np.argmin(distances, 1)
            counts = lib.np.zeros(4).at[labels].add(1.0)
            sums = lib.np.zeros_like(centers).at[labels].add(points)
            return sums / lib.np.maximum(counts, 1)[:, None]

        centers = lib.lax.fori_loop(0, 10, step, centers)
        return centers[lib.np.lexsort((centers[:, 1], centers[:, 0]))]

    return fit, (normal(60, 2), np.array([0, 7], np.uint32))


@pytest.mark.parametrize("model", [transformer, convolutional, recurrent, kmeans])
def test_model(model: Any) -> None:
    state = RNG.bit_generator.state
    function, arguments = model(OURS)
    RNG.bit_generator.state = state
    reference, _ = model(THEIRS)
    found, expected = hlo.jit(function)(*arguments), jax.jit(reference)(*arguments)
    for ours, theirs in zip(hlo.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_training_step_with_donated_state() -> None:
    """Gradient descent on a line, the gradient by hand; the state's memory is used again."""

    def step(state: Any, x: Any, y: Any) -> Any:
        error = x * state["w"] + state["b"] - y
        gradient = {"w": 2 * hnp.mean(error * x), "b": 2 * hnp.mean(error)}
        return {k: state[k] - 0.1 * gradient[k] for k in state}, hnp.mean(error**2)

    train = hlo.jit(step, donate_argnums=0)
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    state: Any = {"w": np.float32(0), "b": np.float32(0)}
    loss = np.inf
    for _ in range(200):
        state, loss = train(state, x, 3 * x - 1)
    assert loss < 1e-6
    np.testing.assert_allclose([state["w"], state["b"]], [3, -1], atol=1e-3)
