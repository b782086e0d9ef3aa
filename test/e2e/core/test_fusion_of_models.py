"""Parts of models as people write them in JAX: few kernels, little traffic, no buffer of scores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, nn

import hlo

Arrays = list[Any]


def floats(*shapes: tuple[int, ...]) -> Arrays:
    rng = np.random.default_rng(2)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def check(function: Callable[..., Any], arguments: Arrays, kernels: int, traffic: float) -> Any:
    """The results are jax's, in so many kernels at the most.

    Args:
        traffic: most bytes moved for each byte of the arguments and results.
    """
    lowered = jax.jit(function).lower(*arguments)
    compiled = hlo.compile(lowered.as_text())
    expected = [np.asarray(x) for x in jax.tree.leaves(lowered.compile()(*arguments))]
    results = compiled(*arguments)
    for found, wanted in zip(results, expected, strict=True):
        scale = max(float(np.abs(wanted).max()), 1e-3)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5 * scale)
    cost = json.loads(compiled.cost_analysis().to_json())
    assert len(cost["kernels"]) <= kernels, compiled.explain()
    floor = sum(x.nbytes for x in (*arguments, *expected))
    assert cost["bytes_accessed"] <= traffic * floor
    return compiled


def buffers(compiled: Any) -> set[int]:
    """Elements of the buffers that the host program allocates."""
    allocations = re.findall(r"memref\.alloc\(\).*: memref<(\d+)x", compiled.as_text("host"))
    return {int(n) for n in allocations}


# -- losses ----------------------------------------------------------------------------------------
def focal(x: Any, t: Any) -> Any:
    entropy = jnp.maximum(x, 0) - x * t + jnp.log1p(jnp.exp(-jnp.abs(x)))
    p = nn.sigmoid(x)
    right = p * t + (1 - p) * (1 - t)
    return jnp.mean((0.25 * t + 0.75 * (1 - t)) * (1 - right) ** 2 * entropy)


def huber(x: Any, t: Any) -> Any:
    gap = jnp.abs(x - t)
    return jnp.mean(jnp.where(gap <= 1.0, 0.5 * gap * gap, gap - 0.5))


def divergence(x: Any, t: Any) -> Any:
    """Kullback and Leibler's, of two softmaxes."""
    return jnp.mean(jnp.sum(nn.softmax(t) * (nn.log_softmax(t) - nn.log_softmax(x)), -1))


@pytest.mark.parametrize(
    ("loss", "kernels", "traffic"), [(focal, 1, 1.01), (huber, 1, 1.01), (divergence, 4, 3.1)]
)
def test_losses(loss: Callable[..., Any], kernels: int, traffic: float) -> None:
    check(loss, floats((256, 512), (256, 512)), kernels, traffic)


# -- normalisations --------------------------------------------------------------------------------
def normal(x: Any, axes: tuple[int, ...]) -> Any:
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5)


def modulated(x: Any, scale: Any, shift: Any) -> Any:
    return x + nn.silu(normal(x, (-1,)) * (1 + scale) + shift)


NORMALISATIONS = [
    ("instance", lambda x: normal(x, (2, 3)), ((4, 16, 24, 24),)),
    ("layer", lambda x, g, b: normal(x, (-1,)) * g + b, ((256, 384), (384,), (384,))),
    ("root mean square", lambda x: x * lax.rsqrt((x * x).mean(-1, keepdims=True)), ((256, 384),)),
    ("modulated", modulated, ((4, 64, 128), (128,), (128,))),
]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [case[1:] for case in NORMALISATIONS],
    ids=[c[0] for c in NORMALISATIONS],
)
def test_normalisations(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    """Once to read, once to write."""
    check(function, floats(*shapes), 1, 1.03)


def test_softmax_over_features() -> None:
    """Not along rows: what is folded is read again, from a cache."""
    check(lambda x: nn.softmax(x, 1), floats((4, 64, 24, 24)), 4, 3.1)


# -- attention -------------------------------------------------------------------------------------
SIZE = 96


def attention(q: Any, k: Any, v: Any, change: Callable[[Any], Any]) -> Any:
    scores = change(jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.2)
    return jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(scores), v)


def ahead() -> Any:
    return jnp.arange(SIZE)[:, None] - jnp.arange(SIZE)[None]


ATTENTIONS = {
    "linear biases": lambda s: s - (2.0 ** -jnp.arange(1, 5))[:, None, None] * jnp.abs(ahead()),
    "sliding window": lambda s: jnp.where((ahead() >= 0) & (ahead() < 32), s, -1e30),
    "capped": lambda s: jnp.where(ahead() >= 0, 5 * jnp.tanh(s / 5), -1e30),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attentions_forward_and_backward(name: str) -> None:
    def loss(q: Any, k: Any, v: Any) -> Any:
        return jnp.sin(attention(q, k, v, ATTENTIONS[name])).sum()

    compiled = check(
        jax.value_and_grad(loss, argnums=(0, 1, 2)), floats(*[(2, 4, SIZE, 32)] * 3), 6, 3.0
    )
    assert 2 * 4 * SIZE * SIZE not in buffers(compiled)


def test_sinks() -> None:
    def attend(q: Any, k: Any, v: Any, sink: Any) -> Any:
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.2
        sink = sink[None, :, None, None]
        peak = jnp.maximum(scores.max(-1, keepdims=True), sink)
        weights = jnp.exp(scores - peak)
        total = weights.sum(-1, keepdims=True) + jnp.exp(sink - peak)
        return jnp.einsum("bhqk,bhkd->bhqd", weights / total, v)

    check(attend, [*floats(*[(2, 4, SIZE, 32)] * 3), *floats((4,))], 1, 1.01)


def test_dropout_of_probabilities() -> None:
    """The random numbers are a kernel that stores a byte for each score; scores stay in scratch."""

    def attend(q: Any, k: Any, v: Any, seed: Any) -> Any:
        probabilities = nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.2)
        key = jax.random.wrap_key_data(seed)
        kept = jax.random.bernoulli(key, 0.9, probabilities.shape)
        return jnp.einsum("bhqk,bhkd->bhqd", jnp.where(kept, probabilities / 0.9, 0), v)

    arguments = [*floats(*[(2, 4, SIZE, 32)] * 3), np.asarray([3, 7], np.uint32)]
    floor = 2 * 4 * SIZE * (4 * 32 * 4 + 2 * SIZE)  # operands, result, and the bytes twice
    check(attend, arguments, 2, floor / (2 * 4 * SIZE * 4 * 32 * 4) + 0.01)


# -- optimizers ------------------------------------------------------------------------------------
def test_lion() -> None:
    """Updates of all parameters are one launch."""

    def update(parameters: Arrays, gradients: Arrays, moments: Arrays) -> Any:
        steps = [jnp.sign(0.9 * m + 0.1 * g) for m, g in zip(moments, gradients, strict=True)]
        new = [p - 1e-4 * (s + 0.01 * p) for p, s in zip(parameters, steps, strict=True)]
        return new, [0.99 * m + 0.01 * g for m, g in zip(moments, gradients, strict=True)]

    shapes = ((64, 64), (64,), (64, 128), (128,))
    arguments = [x for _ in range(3) for x in floats(*shapes)]
    check(lambda *a: update(list(a[:4]), list(a[4:8]), list(a[8:])), arguments, 1, 1.01)
