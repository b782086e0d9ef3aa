"""Calls of LAPACK and of Python in programs for GPUs: steps that the host runs on copies."""

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


def test_functions_of_python_run_between_kernels() -> None:
    seen: list[float] = []

    def double(x: np.ndarray) -> np.ndarray:
        return np.asarray(x) * 2

    def f(x: jax.Array) -> jax.Array:
        y = jnp.sin(x)
        jax.debug.callback(lambda s: seen.append(float(s)), y.sum())
        z = jax.pure_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype), y)
        return jax.lax.fori_loop(0, 3, lambda _, c: c + jnp.abs(c), z)

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = hlo.compile(hlo.from_jax(f, x), target="nvptx:sm_80")
    assert isinstance(compiled, GpuCompiled)
    steps = list(compiled.plan.walk())
    assert sum(isinstance(step, HostCall) for step in steps) == 2
    for run in (compiled.emulated(1), compiled.on_fibers(2)):
        y = 2 * np.sin(x)
        for _ in range(3):
            y = y + np.abs(y)
        np.testing.assert_allclose(run(x)[0], y, rtol=1e-5)
    np.testing.assert_allclose(seen, [np.sin(x).sum()] * 2, rtol=1e-5)


def test_what_a_function_of_python_raises_is_raised() -> None:
    def fails(_: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("no such number")

    def f(x: jax.Array) -> jax.Array:
        return jax.pure_callback(fails, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1

    x = np.ones(3, np.float32)
    compiled = hlo.compile(hlo.from_jax(f, x), target="nvptx:sm_80")
    assert isinstance(compiled, GpuCompiled)
    with pytest.raises(ZeroDivisionError, match="no such number"):
        compiled.emulated()(x)


def test_a_plan_of_another_process_calls_none_of_this_one() -> None:
    def f(x: jax.Array) -> jax.Array:
        return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    x = np.ones(3, np.float32)
    compiled = hlo.compile(hlo.from_jax(f, x), target="nvptx:sm_80")
    assert isinstance(compiled, GpuCompiled)
    steps = tuple(
        replace(step, parameters=(10**9, *step.parameters[1:]))
        if isinstance(step, HostCall)
        else step
        for step in compiled.plan.steps
    )
    with pytest.raises(CompileError, match="Python function 1000000000 of another process"):
        PlanProgram(replace(compiled.plan, steps=steps), EmulatedDevice())(x)
