"""Calls of LAPACK in programs for GPUs: steps that the host runs on copies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
from hlo.diagnostics import CompileError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.emulated_device import EmulatedDevice
from hlo.gpu.plan import HostCall, Launch
from hlo.gpu.plan_json import from_json, to_json
from hlo.gpu.plan_program import PlanProgram


def solved(a: jax.Array, b: jax.Array) -> tuple[jax.Array, ...]:
    """Kernels before, between and after factorisations."""
    spd = a @ a.swapaxes(-1, -2) + 4 * jnp.eye(6)
    lower = jnp.linalg.cholesky(spd)
    return jnp.linalg.solve(spd, b) + 1, lower * 2, jnp.linalg.eigvalsh(spd)


def program(*shape: int) -> tuple[GpuCompiled, list[np.ndarray], list[Any]]:
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal((*shape, 6, n)).astype(np.float32) for n in (6, 2)]
    f = jax.jit(solved)
    compiled = hlo.compile(f.lower(*arguments).as_text(), target="nvptx:sm_80")
    assert isinstance(compiled, GpuCompiled)
    return compiled, arguments, list(f(*arguments))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_factorisations_run_on_the_host_between_kernels(shape: tuple[int, ...]) -> None:
    compiled, arguments, expected = program(*shape)
    kinds = {type(step) for step in compiled.plan.walk()}
    assert {HostCall, Launch} <= kinds
    assert not compiled.plan.is_static
    stored = PlanProgram(from_json(to_json(compiled.plan)), EmulatedDevice())
    for run in (compiled.emulated(1), compiled.on_fibers(2), stored):
        for found, wanted in zip(run(*arguments), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_function_that_is_none_of_the_runtime_is_refused() -> None:
    compiled, arguments, _ = program()
    steps = tuple(
        replace(step, function="hlo_rt_lapack_none") if isinstance(step, HostCall) else step
        for step in compiled.plan.steps
    )
    broken = PlanProgram(replace(compiled.plan, steps=steps), EmulatedDevice())
    with pytest.raises(CompileError, match="calls hlo_rt_lapack_none, which this runtime has not"):
        broken(*arguments)
