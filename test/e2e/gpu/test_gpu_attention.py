"""Attention on the emulated device: one kernel, no scores in memory, results as the evaluator's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import nn

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.plan import Launch
from hlo.gpu.ptxas import assemble, find_ptxas
from hlo.reference.evaluate import evaluate

BF16 = ml_dtypes.bfloat16
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-6, "float64": 1e-14}


def operands(
    q: int, k: int, heads: int = 2, shared: int = 2, depth: int = 16, kind: Any = np.float32,
    width: int = 0,
) -> list[Any]:  # fmt: skip
    rng = np.random.default_rng([q, k, depth])
    shapes = [(1, q, heads, depth), (1, k, shared, depth), (1, k, shared, width or depth)]
    return [rng.standard_normal(shape).astype(kind) for shape in shapes]


def attend(q: Any, k: Any, v: Any, mask: Any = None, fill: float = -np.inf) -> Any:
    """Softmax attention in the type of its operands."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * jnp.asarray(0.25, q.dtype)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.asarray(fill, q.dtype))
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)


def check(
    function: Callable[..., Any], *arguments: Any, launches: int = 1, schedules: int = 2
) -> GpuCompiled:
    with jax.enable_x64(arguments[0].dtype == np.float64):
        module = hlo.from_jax(function, *arguments)
    program = hlo.compile(module, target="nvptx:sm_80")
    assert isinstance(program, GpuCompiled)
    steps = [step for step in program.plan.walk() if isinstance(step, Launch)]
    assert sum("attention" in step.kernel for step in steps) == launches, program.as_text()
    expected = np.asarray(evaluate(module, [np.array(a) for a in arguments])[0])
    bound = TOLERANCE[expected.dtype.name]
    for schedule in range(schedules):
        found = program.emulated(schedule)(*arguments)[0].astype(np.float64)
        np.testing.assert_allclose(found, expected.astype(np.float64), rtol=bound, atol=bound)
    if find_ptxas() is not None:
        for module_ in program.plan.modules.values():
            kernels = assemble(module_.ptx, "sm_80").kernels
            assert not any(k.spills for k in kernels.values()), kernels
    return program


@pytest.mark.parametrize("depth", [8, 20, 64])
def test_f32(depth: int) -> None:
    # 20 rows are a block of 32; 70 keys are two tiles of 32 and 6 of a third.
    check(attend, *operands(20, 70, depth=depth))


def test_f64() -> None:
    check(attend, *operands(20, 40, depth=24, kind=np.float64))


def test_values_of_another_width() -> None:
    check(attend, *operands(33, 40, depth=16, width=48))


@pytest.mark.parametrize("kind", [np.float16, BF16])
@pytest.mark.parametrize("depth", [40, 64, 128])
def test_tensor_cores(depth: int, kind: Any) -> None:
    # 40 is 2 1/2 steps of 16: the tile is filled up with zeros.
    program = check(attend, *operands(40, 70, heads=1, shared=1, depth=depth, kind=kind))
    code = program.as_text("ptx")
    assert "mma.sync.aligned.m16n8k16" in code
    assert "cp.async.cg.shared.global" in code


def causal(q: Any, k: Any, v: Any, fill: float = -np.inf) -> Any:
    rows, keys = q.shape[1], k.shape[1]
    return attend(q, k, v, jnp.tril(jnp.ones((rows, keys), bool)), fill)


@pytest.mark.parametrize("kind", [np.float32, BF16])
def test_a_causal_mask_leaves_out_keys(kind: Any) -> None:
    check(causal, *operands(130, 130, heads=1, shared=1, kind=kind))


def test_many_values_for_tensor_cores_have_a_launch_that_looks_at_them() -> None:
    # 1056 x 64 x 2 bytes of values are 132 KiB.
    q, k, v = operands(64, 1056, heads=1, shared=1, depth=16, width=64, kind=BF16)
    v[0, 1000, 0, 3] = np.nan
    check(causal, q, k, v, launches=2, schedules=1)


@pytest.mark.parametrize("fill", [-1.0, -1e30])
def test_hidden_keys_that_count(fill: float) -> None:
    # Logits of hidden keys are near those of the others, or above those of some rows.
    q, k, v = operands(130, 130, heads=1, shared=1)
    if fill == -1e30:
        q[:, 70] *= -1e33
        k = np.abs(k)
    check(lambda q, k, v: causal(q, k, v, fill), q, k, v)


@pytest.mark.parametrize("kind", [np.float32, BF16])
@pytest.mark.parametrize("place", [(129, 3), (64, 0), (97, 15)])
@pytest.mark.parametrize("what", [np.nan, -np.inf])
def test_values_that_are_no_numbers_behind_the_mask(
    what: float, place: tuple[int, int], kind: Any
) -> None:
    # 0 times what a hidden key has is NaN.
    q, k, v = operands(130, 130, heads=1, shared=1, kind=kind)
    v[0, place[0], 0, place[1]] = what
    check(causal, q, k, v, schedules=1)


def test_values_of_an_odd_width_behind_the_mask() -> None:
    # 13 runs of one element: 32 keys have 416 of them, for 256 threads.
    q, k, v = operands(130, 130, heads=1, shared=1, width=13)
    v[0, 127, 0, 12] = np.nan
    check(causal, q, k, v, schedules=1)


def test_rows_without_a_key() -> None:
    mask = np.ones((1, 1, 20, 40), bool)
    mask[..., 3, :] = False
    mask[..., 5, :33] = False
    check(attend, *operands(20, 40), mask)
    check(lambda q, k, v, m: attend(q, k, v, m, -1e30), *operands(20, 40), mask)


def test_bias_and_mask() -> None:
    bias = np.random.default_rng(1).standard_normal((1, 2, 20, 40)).astype(np.float32)
    mask = np.random.default_rng(2).integers(0, 2, (1, 1, 20, 40)).astype(bool)
    check(
        lambda q, k, v, b, m: nn.dot_product_attention(q, k, v, bias=b, mask=m),
        *operands(20, 40), bias, mask,
    )  # fmt: skip


def test_lengths() -> None:
    check(
        lambda q, k, v, n: nn.dot_product_attention(q, k, v, key_value_seq_lengths=n),
        *operands(20, 40), np.array([37], np.int32),
    )  # fmt: skip


def test_dropped_probabilities() -> None:
    kept = np.random.default_rng(2).integers(0, 2, (1, 2, 20, 40)).astype(np.float32) * 2

    def dropping(q: Any, k: Any, v: Any, kept: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores) * kept, v)

    check(dropping, *operands(20, 40), kept)


def test_weights_divided_after_the_product() -> None:
    def late(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        weights = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
        product = jnp.einsum("bhqk,bkhd->bhqd", weights, v)
        return product / weights.sum(axis=-1, keepdims=True)

    check(late, *operands(20, 40))


def test_a_maximum_that_is_made_finite() -> None:
    mask = np.ones((1, 1, 20, 40), bool)
    mask[..., 3, :] = False

    def safe(q: Any, k: Any, v: Any, m: Any) -> Any:
        scores = jnp.where(m, jnp.einsum("bqhd,bkhd->bhqk", q, k), -jnp.inf)
        peak = scores.max(axis=-1, keepdims=True)
        weights = jnp.exp(scores - jnp.where(jnp.isfinite(peak), peak, 0.0))
        total = weights.sum(axis=-1, keepdims=True)
        return jnp.einsum("bhqk,bkhd->bqhd", weights / jnp.where(total == 0, 1, total), v)

    check(safe, *operands(20, 40), mask)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_one_query(kind: Any) -> None:
    check(attend, *operands(1, 70, depth=24, kind=kind))


def test_many_keys_are_split_among_blocks() -> None:
    # 16 lanes a key of 64: 8 groups of 4 keys a step, 1500 keys are 47 steps, 5 a block.
    program = check(attend, *operands(1, 1500, heads=1, shared=1, depth=64), launches=2)
    first, second = (s for s in program.plan.walk() if isinstance(s, Launch))
    assert (first.grid[0], second.grid[0]) == (10, 1)


@pytest.mark.parametrize("queries", [1, 20])
def test_grouped_queries(queries: int) -> None:
    check(
        nn.dot_product_attention,
        *operands(queries, 40, heads=4, shared=2),
    )


def test_scores_are_in_no_buffer() -> None:
    program = check(attend, *operands(64, 96))
    assert program.plan.arena_bytes == 0
