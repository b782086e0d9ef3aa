"""The backward pass of an attention on both emulated devices: no scores in memory."""

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
# Of the largest element of a gradient.
TOLERANCE = {"float16": 3e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-14}


def operands(
    q: int, k: int, heads: int = 2, shared: int = 0, depth: int = 16, kind: Any = np.float32,
    width: int = 0,
) -> list[Any]:  # fmt: skip
    rng = np.random.default_rng([q, k, depth])
    keys = shared or heads
    shapes = [(1, q, heads, depth), (1, k, keys, depth), (1, k, keys, width or depth)]
    return [rng.standard_normal(shape).astype(kind) for shape in shapes]


def attend(q: Any, k: Any, v: Any, mask: Any = None, fill: float = -1e30) -> Any:
    """Softmax attention in the type of its operands."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * jnp.asarray(0.25, q.dtype)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.asarray(fill, q.dtype))
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)


def gradient(attention: Callable[..., Any]) -> Callable[..., Any]:
    def loss(q: Any, k: Any, v: Any, *rest: Any) -> Any:
        out = attention(q, k, v, *rest)
        return jnp.sin(out if q.dtype == np.float64 else out.astype(jnp.float32)).sum()

    return jax.grad(loss, argnums=(0, 1, 2))


def compiled(module: hlo.Module, chip: str = "sm_80") -> GpuCompiled:
    program = hlo.compile(module, target=f"nvptx:{chip}")
    assert isinstance(program, GpuCompiled)
    return program


def attention_launches(program: GpuCompiled) -> int:
    steps = [step for step in program.plan.walk() if isinstance(step, Launch)]
    return sum("attention" in step.kernel for step in steps)


def check(attention: Callable[..., Any], *arguments: Any) -> GpuCompiled:
    with jax.enable_x64(arguments[0].dtype == np.float64):
        module = hlo.from_jax(gradient(attention), *arguments)
    program = compiled(module)
    # The forward pass, and two of the backward pass.
    assert attention_launches(program) == 3, program.as_text()
    expected = evaluate(module, [np.array(a) for a in arguments])
    for device in (program.on_fibers(2), program.emulated(5)):
        for found, wanted in zip(device(*arguments), expected, strict=True):
            assert found.dtype == wanted.dtype
            exact = np.asarray(wanted).astype(np.float64)
            bound = TOLERANCE[wanted.dtype.name] * np.abs(exact).max()
            np.testing.assert_allclose(found.astype(np.float64), exact, rtol=0, atol=bound)
    if find_ptxas() is not None:
        for module_ in program.plan.modules.values():
            kernels = assemble(module_.ptx, "sm_80").kernels
            assert not any(k.spills for k in kernels.values()), kernels
    return program


@pytest.mark.parametrize(("depth", "width"), [(20, 12), (64, 64), (128, 40)])
def test_f32(depth: int, width: int) -> None:
    # 20 rows and 70 keys: neither is a whole number of tiles.
    program = check(attend, *operands(20, 70, heads=1, depth=depth, width=width))
    assert "nounroll" in program.as_text("ptx")  # unrolled, the loops need too many registers


def test_f64() -> None:
    check(attend, *operands(20, 40, depth=24, kind=np.float64))


@pytest.mark.parametrize(("depth", "kind"), [(24, BF16), (128, np.float16)])
def test_tensor_cores(depth: int, kind: Any) -> None:
    # 24 is 1 1/2 steps of 16: tiles are filled up with zeros.
    program = check(attend, *operands(20, 40, heads=1, depth=depth, kind=kind))
    code = program.as_text("ptx")
    assert "mma.sync.aligned.m16n8k16" in code
    assert "cp.async.cg.shared.global" in code


def causal(q: Any, k: Any, v: Any) -> Any:
    return attend(q, k, v, jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool)))


@pytest.mark.parametrize(("rows", "kind"), [(70, np.float32), (40, BF16)])
def test_a_causal_mask(rows: int, kind: Any) -> None:
    check(causal, *operands(rows, rows, heads=1, kind=kind))


def test_grouped_queries() -> None:
    # The gradients of key and value sum over the rows of all heads that share them.
    check(nn.dot_product_attention, *operands(20, 40, heads=4, shared=2))


def test_a_mask_and_a_bias_from_memory() -> None:
    mask = np.random.default_rng(2).integers(0, 2, (1, 1, 20, 40)).astype(bool)
    mask[..., 0] = True
    bias = np.random.default_rng(1).standard_normal((1, 2, 20, 40)).astype(np.float32)
    check(
        lambda q, k, v, m, b: nn.dot_product_attention(q, k, v, bias=b, mask=m),
        *operands(20, 40), mask, bias,
    )  # fmt: skip


def test_a_row_without_a_key() -> None:
    mask = np.ones((1, 1, 20, 40), bool)
    mask[..., 3, :] = False
    check(attend, *operands(20, 40), mask)


def test_rows_that_are_no_numbers() -> None:
    """A row whose logits are all -inf has gradients that are NaN, and so have its keys."""
    mask = np.ones((1, 1, 20, 40), bool)
    mask[..., 3, :] = False
    arguments = [*operands(20, 40), mask]
    function = gradient(lambda q, k, v, m: attend(q, k, v, m, -np.inf))
    module = hlo.from_jax(function, *arguments)
    expected = evaluate(module, [np.array(a) for a in arguments])
    for found, wanted in zip(compiled(module).emulated()(*arguments), expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=3e-5, atol=3e-6)


def test_dropped_probabilities() -> None:
    kept = np.random.default_rng(2).integers(0, 2, (1, 2, 20, 40)).astype(np.float32) * 2

    def dropping(q: Any, k: Any, v: Any, kept: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores) * kept, v)

    check(dropping, *operands(20, 40), kept)


def test_gradients_too_wide_for_shared_memory_are_other_kernels() -> None:
    module = hlo.from_jax(gradient(attend), *operands(20, 20, heads=1, depth=640))
    assert attention_launches(compiled(module)) == 0


def test_results_are_the_same_in_every_order() -> None:
    arguments = operands(70, 70, heads=1)
    program = compiled(hlo.from_jax(gradient(causal), *arguments))
    first = program.on_fibers(0)(*arguments)
    for schedule in (1, 3, 7):
        for a, b in zip(first, program.on_fibers(schedule)(*arguments), strict=True):
            np.testing.assert_array_equal(a, b)


def test_scores_are_in_no_buffer() -> None:
    rows, depth = 256, 16
    program = compiled(hlo.from_jax(gradient(causal), *operands(rows, rows, heads=1, depth=depth)))
    # The output and its gradient, and three numbers of each row.
    assert program.plan.arena_bytes <= 4 * (2 * rows * depth + 3 * rows) + 256 < 4 * rows * rows
