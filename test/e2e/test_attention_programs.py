"""Attention as frameworks write it: one kernel each, and no buffer of scores in the program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import nn

import hlo
import hlo.lax
import hlo.nn
import hlo.numpy as hnp

ROOT = Path(__file__).parents[2]
# Name, elements of the scores of a layer, and how many attentions there are.
MODELS = [
    ("attention", 12 * 1024 * 1024, 1),
    ("bert_base", 12 * 128 * 128, 12),
    ("gpt2_decode", 12 * 1024, 12),
    ("gpt2_prefill", 12 * 128 * 128, 12),
    ("minilm", 8 * 12 * 64 * 64, 6),
    ("nnx_gpt_decode", 12 * 1024, 12),
    ("vit_b16", 12 * 197 * 197, 12),
]
FOLDERS = [ROOT / "benchmarks" / "programs", ROOT.parent / "shared" / "programs"]
FOUND = [
    (folder / f"{name}.mlir", scores, count)
    for name, scores, count in MODELS
    for folder in FOLDERS
    if (folder / f"{name}.mlir").exists()
]


def attentions(compiled: Any) -> int:
    kernels = json.loads(compiled.explain().to_json())["kernels"]
    return sum(kernel["kind"] == "attention" for kernel in kernels)


def buffers(compiled: Any) -> set[int]:
    """Elements of the buffers that the host program allocates."""
    allocations = re.findall(r"memref\.alloc\(\).*: memref<(\d+)x", compiled.as_text("host"))
    return {int(n) for n in allocations}


def operands(q: int, k: int, heads: int = 4, shared: int = 4, kind: Any = np.float32) -> list[Any]:
    rng = np.random.default_rng(5)
    shapes = [(2, q, heads, 32), (2, k, shared, 32), (2, k, shared, 32)]
    return [rng.standard_normal(shape).astype(kind) for shape in shapes]


def check(function: Any, *arguments: Any, tolerance: float = 2e-5) -> None:
    compiled = hlo.compile(hlo.from_jax(function, *arguments))
    assert attentions(compiled) == 1, compiled.explain()
    expected = np.asarray(jax.jit(function)(*arguments)).astype(np.float64)
    found = compiled(*arguments)[0].astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("queries", [1, 20, 130])
def test_jax(queries: int, causal: bool) -> None:
    check(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=causal), *operands(queries, 130)
    )


def test_jax_with_bias_and_mask() -> None:
    arguments = operands(130, 130)
    bias = np.random.default_rng(1).standard_normal((2, 4, 130, 130)).astype(np.float32)
    mask = np.random.default_rng(2).integers(0, 2, (2, 1, 130, 130)).astype(bool)
    check(
        lambda q, k, v, b, m: nn.dot_product_attention(q, k, v, bias=b, mask=m),
        *arguments, bias, mask,
    )  # fmt: skip


def test_jax_with_lengths() -> None:
    lengths = np.array([100, 37], np.int32)
    check(
        lambda q, k, v, n: nn.dot_product_attention(q, k, v, key_value_seq_lengths=n),
        *operands(130, 130), lengths,
    )  # fmt: skip


@pytest.mark.parametrize("queries", [1, 64])
def test_jax_with_grouped_queries(queries: int) -> None:
    check(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=queries > 1),
        *operands(queries, 64, heads=8, shared=2),
    )


def test_jax_in_a_sliding_window() -> None:
    check(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True, local_window_size=16),
        *operands(96, 96),
    )


def test_jax_in_bf16() -> None:
    arguments = [jnp.asarray(a, jnp.bfloat16) for a in operands(96, 96)]
    arguments = [np.asarray(a) for a in arguments]
    check(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), *arguments,
        tolerance=3e-2,
    )  # fmt: skip


def test_softmax_spelled_out() -> None:
    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(32.0)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)

    check(attend, *operands(70, 90))


def test_softmax_in_f16_whose_sums_are_f32() -> None:
    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * jnp.float16(0.2)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)

    check(attend, *operands(70, 90, kind=np.float16), tolerance=4e-3)


def check_gradients(attend: Any, arguments: list[Any]) -> None:
    """Forward pass and backward pass are a kernel each; neither stores scores."""

    def loss(q: Any, k: Any, v: Any, g: Any) -> Any:
        return (jnp.sin(attend(q, k, v)) * g).sum()

    arguments = [*arguments, np.cos(arguments[0])]
    function = jax.value_and_grad(loss, argnums=(0, 1, 2))
    compiled = hlo.compile(hlo.from_jax(function, *arguments))
    assert attentions(compiled) == 2, compiled.explain()
    query, key = arguments[:2]
    batch, rows, heads, _ = query.shape
    assert batch * heads * rows * key.shape[1] not in buffers(compiled)
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, wanted in zip(compiled(*arguments), expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=3e-4, atol=3e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [64, 77, 160])
def test_gradients(size: int, causal: bool) -> None:
    check_gradients(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=causal), operands(size, size)
    )


@pytest.mark.parametrize(("queries", "keys"), [(64, 64), (100, 37), (40, 33)])
@pytest.mark.parametrize("shared", [1, 2])
def test_gradients_with_grouped_queries(queries: int, keys: int, shared: int) -> None:
    """What all heads of a group add to the gradients of their keys and values is summed."""
    check_gradients(nn.dot_product_attention, operands(queries, keys, heads=8, shared=shared))


@pytest.mark.parametrize("size", [64, 50])
def test_gradients_with_capped_scores(size: int) -> None:
    """The slope of the cap needs the scores again."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = 2.0 * jnp.tanh(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (0.2 / 2.0))
        scores = jnp.where(jnp.tril(jnp.ones((size, size), bool)), scores, -jnp.inf)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)

    check_gradients(attend, operands(size, size))


def test_gradients_are_stored_as_the_projections_read_them() -> None:
    """The gradients of query, key and value of a layer are written in place: no transpose."""

    def layer(x: Any, q: Any, k: Any, v: Any, o: Any) -> Any:
        query, key, value = (jnp.einsum("bsm,mhd->bshd", x, w) for w in (q, k, v))
        out = nn.dot_product_attention(query, key, value, is_causal=True)
        return jnp.sin(jnp.einsum("bshd,hdm->bsm", out, o)).sum()

    rng = np.random.default_rng(11)
    shapes = [(2, 64, 96), *[(96, 4, 32)] * 3, (4, 32, 96)]
    arguments = [0.2 * rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    function = jax.grad(layer, argnums=(0, 1, 2, 3, 4))
    compiled = hlo.compile(hlo.from_jax(function, *arguments))
    kernels = json.loads(compiled.explain().to_json())["kernels"]
    assert sum(kernel["kind"] == "attention" for kernel in kernels) == 2
    assert not [kernel["name"] for kernel in kernels if "transpose" in kernel["name"]]
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, wanted in zip(compiled(*arguments), expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=3e-4, atol=3e-5)


def test_memory_does_not_grow_with_the_square() -> None:
    arguments = operands(1024, 1024)
    compiled = hlo.compile(hlo.from_jax(nn.dot_product_attention,
                                        *arguments))  # fmt: skip
    assert compiled.statistics.arena_bytes < 2 * 4 * 1024 * 1024 * 4 / 4


@pytest.mark.parametrize(("keys", "packed"), [(64, False), (256, True)])
def test_keys_and_values_that_three_blocks_read_are_packed_on_the_stack(
    keys: int, packed: bool
) -> None:
    """And so is what a block works in: nothing of either is in the arena."""
    arguments = operands(keys, keys)
    compiled = hlo.compile(hlo.from_jax(nn.dot_product_attention, *arguments))
    assert compiled.statistics.arena_bytes == 0
    assert compiled.as_text("host").count("memref.alloca") == (3 if packed else 1)
    check(nn.dot_product_attention, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "scores", "count"), FOUND, ids=lambda x: getattr(x, "stem", ""))
def test_models(path: Path, scores: int, count: int) -> None:
    compiled = hlo.compile(path.read_text())
    assert attentions(compiled) == count
    assert scores not in buffers(compiled)


def test_decoding_attends_in_one_kernel_though_the_zero_is_around_the_loop() -> None:
    """The zero that the cache starts as and the one that sums start as are one constant."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 8), dtype=np.float32)

    @hlo.jit
    def decode(x: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            cache, out = carry
            cache = hlo.lax.dynamic_update_slice(cache, out[:, None], (0, i, 0, 0))
            scores = hnp.einsum("bhd,bthd->bht", out, cache)
            weights = hlo.nn.softmax(hnp.where(hnp.arange(16) <= i, scores, -1e9), -1)
            return cache, hnp.einsum("bht,bthd->bhd", weights, cache) + 0.5

        return hlo.lax.fori_loop(0, 16, step, (hnp.zeros((2, 16, 3, 8), hnp.float32), x))[1]

    out, cache = x, np.zeros((2, 16, 3, 8), np.float32)
    for i in range(16):
        cache[:, i] = out
        scores = np.einsum("bhd,bthd->bht", out, cache[:, : i + 1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out = np.einsum("bht,bthd->bhd", weights, cache[:, : i + 1]) + np.float32(0.5)
    np.testing.assert_allclose(decode(x), out, rtol=1e-4)
    lowered = decode.lower(x)
    (kernel,) = re.findall(
        r'"hlo.fusion"\(([^)]*)\) <\{kind = "attention"', lowered.as_text("fused")
    )
    assert "cst" not in kernel
