"""Attention by warpgroups on sm_90a: right on both emulated devices, and broken ones are caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import nn
from test_gpu_attention import BF16, TOLERANCE, attend, causal, operands
from test_mutations import is_caught, mutants
from test_warpgroup_products import MUTATIONS

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.plan import Launch, LaunchPlan
from hlo.gpu.ptxas import assemble, find_ptxas
from hlo.reference.evaluate import evaluate


def compiled(module: Any) -> GpuCompiled:
    program = hlo.compile(module, target="nvptx:sm_90a")
    assert isinstance(program, GpuCompiled)
    return program


def check(function: Callable[..., Any], *arguments: Any, launches: int = 1) -> GpuCompiled:
    """Both devices give what the evaluator gives; nothing is spilled, no product waits."""
    module = hlo.from_jax(function, *arguments)
    program = compiled(module)
    names = [step.kernel for step in program.plan.walk() if isinstance(step, Launch)]
    assert sum("attention" in name for name in names) == launches, program.as_text()
    assert "wgmma.mma_async" in program.as_text("ptx")
    expected = np.asarray(evaluate(module, [np.array(a) for a in arguments])[0])
    bound = TOLERANCE[expected.dtype.name]
    for run in (program.emulated(1), program.on_fibers(0)):
        found = run(*arguments)[0].astype(np.float64)
        np.testing.assert_allclose(found, expected.astype(np.float64), rtol=bound, atol=bound)
    if find_ptxas() is not None:
        for part in program.plan.modules.values():
            assembly = assemble(part.ptx, "sm_90a")
            assert not assembly.warnings
            assert not any(k.spills for k in assembly.kernels.values()), assembly.kernels
    return program


@pytest.mark.parametrize("kind", [np.float16, BF16])
def test_whole_tiles(kind: Any) -> None:
    check(attend, *operands(128, 256, heads=1, shared=1, depth=64, kind=kind))


@pytest.mark.parametrize(("depth", "width"), [(128, 128), (80, 24), (16, 112)])
def test_rows_of_several_panels_or_of_parts_of_one(depth: int, width: int) -> None:
    # 70 rows: a warpgroup and 6 more; 150 keys: a tile of 128 and 22, or two of 64 and 22.
    q, k, v = operands(70, 150, heads=2, depth=depth, width=width, kind=np.float16)
    check(attend, q * np.float16(0.25), k, v)


def test_groups_of_queries_share_keys() -> None:
    check(nn.dot_product_attention, *operands(40, 70, heads=2, shared=1, kind=BF16))


def test_batches_are_dimensions_of_the_maps() -> None:
    arrays = [np.concatenate([x, -x, x * 2]) for x in operands(64, 80, depth=32, kind=np.float16)]
    program = check(attend, *arrays)
    (kernel,) = program.plan.kernels.values()
    # 16 bits: keys 2 heads x 32 apart, heads 32, batches 80 keys of both heads.
    assert [m.strides for m in kernel.tensor_maps] == [(128, 64, 10240)] * 2


def test_a_causal_mask_leaves_out_keys() -> None:
    check(causal, *operands(300, 300, heads=1, shared=1, depth=64, kind=BF16), launches=2)


@pytest.mark.parametrize("fill", [-1.0, -1e4])
def test_hidden_keys_that_count(fill: float) -> None:
    # The second round takes in what was left out of the first, in the next places of the ring.
    q, k, v = operands(300, 300, heads=1, shared=1, kind=np.float16)
    if fill == -1e4:
        q[:, 70] *= -1000
        k = np.abs(k)
    check(lambda q, k, v: causal(q, k, v, fill), q, k, v, launches=2)


def test_bias_mask_and_rows_without_a_key() -> None:
    rng = np.random.default_rng(1)
    bias = rng.standard_normal((1, 2, 70, 90)).astype(np.float16)
    mask = rng.integers(0, 2, (1, 1, 70, 90)).astype(bool)
    mask[..., 3, :] = False
    check(
        lambda q, k, v, b, m: attend(q, k, v + b[..., :1, :1, :1], m) + b.sum() * 0,
        *operands(70, 90, kind=np.float16), bias, mask,
    )  # fmt: skip


def test_what_warpgroups_leave_to_warps() -> None:
    few = compiled(hlo.from_jax(attend, *operands(40, 70, heads=1, shared=1, kind=np.float16)))
    assert "wgmma" not in few.as_text("ptx") and "mma.sync" in few.as_text("ptx")
    assert "40 rows that share keys do not fill a warpgroup" in str(few.explain())

    def turned(q: Any, k: Any, v: Any) -> Any:
        # Keys lie along memory: their rows are no lines of it.
        scores = jnp.einsum("bqhd,bhdk->bhqk", q, k)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)

    q, k, v = operands(128, 128, kind=np.float16)
    other = compiled(hlo.from_jax(turned, q, np.ascontiguousarray(k.transpose(0, 2, 3, 1)), v))
    assert "wgmma.mma_async.sync.aligned.m64n128k16" not in other.as_text("ptx")


# -- broken code -----------------------------------------------------------------------------------
# 1100 keys are 9 tiles of 128: each of the four places of the ring is used twice, and one again.
KEYS = 1100
NOT_HERE = {"a barrier", "the fence of barriers"}
MORE = {"the fence of the query and of barriers": (r"fence\.proxy\.async\.shared::cta;", "")}


@pytest.fixture(scope="module")
def broken() -> tuple[str, LaunchPlan]:
    arrays = operands(64, KEYS, heads=1, shared=1, depth=16, kind=np.float16)
    text = str(hlo.from_jax(attend, *arrays))
    plan = compiled(text).plan
    assert not is_caught(text, plan)
    return text, plan


@pytest.mark.parametrize("what", [*sorted(MUTATIONS.keys() - NOT_HERE), *MORE])
def test_what_is_removed_is_missed(what: str, broken: tuple[str, LaunchPlan]) -> None:
    text, plan = broken
    pattern, by = (MORE.get(what) or MUTATIONS[what])[:2]
    made = list(mutants(plan, pattern, by))
    assert made
    assert [where for where, mutant in made if not is_caught(text, mutant)] == []
