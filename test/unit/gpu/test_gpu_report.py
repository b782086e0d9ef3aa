"""The roofline report, against figures worked out by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax, nn

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.driver.gpu_report import LaunchEstimate, estimates, gpu_named, gpu_report
from hlo.gpu.ptxas import find_ptxas

pytestmark = pytest.mark.skipif(find_ptxas() is None, reason="the assembler is not installed")
MIB = 1 << 20


def array(*shape: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.dtype(kind))


def compiled(f: Any, *arguments: Any, chip: str = "sm_90", **options: Any) -> GpuCompiled:
    program = hlo.compile(hlo.from_jax(f, *arguments), target=f"nvptx:{chip}", **options)
    assert isinstance(program, GpuCompiled)
    return program


def rows(f: Any, *arguments: Any, gpu: str = "h100", **options: Any) -> list[LaunchEstimate]:
    return estimates(compiled(f, *arguments, **options), gpu_named(gpu))


def test_a_sum_moves_three_arrays() -> None:
    (row,) = rows(lambda x, y: x + y, array(1024, 1024), array(1024, 1024))
    assert (row.bytes, row.flops, row.bound) == (12 * MIB, MIB, "memory")
    assert row.seconds == pytest.approx(12 * MIB / 3.35e12)


def test_a_product_is_bound_by_tensor_cores() -> None:
    x = array(2048, 2048, kind="bfloat16")
    (row,) = rows(lambda x, y: x @ y, x, x, vendor=False)
    assert row.flops == 2 * 2048**3
    assert row.bound == "tensor bf16"
    assert row.seconds == pytest.approx(2 * 2048**3 / 989e12)


def test_f32_by_tf32_has_half_the_rate_and_without_none_of_tensor_cores() -> None:
    x = array(1024, 1024)
    options: dict[str, Any] = {"gpu": "a100", "chip": "sm_80", "vendor": False}
    (fast,) = rows(lambda x, y: x @ y, x, x, tf32=True, **options)
    (plain,) = rows(lambda x, y: x @ y, x, x, **options)
    assert (fast.unit, plain.unit) == ("tensor tf32", "f32")
    assert fast.seconds == pytest.approx(2 * 1024**3 / 156e12)
    assert plain.seconds == pytest.approx(2 * 1024**3 / 19.5e12)


def test_a_softmax_is_read_once_and_written_once() -> None:
    (row,) = rows(nn.softmax, array(4096, 1024))
    assert (row.bytes, row.bound) == (32 * MIB, "memory")
    # 4 Mi elements: a maximum, a difference, a sum, a quotient, and an exponential of 20.
    assert row.flops == pytest.approx(24 * 4 * MIB, rel=0.01)


def test_only_what_a_slice_takes_is_moved() -> None:
    (row,) = rows(
        lambda x, i: lax.dynamic_slice(x, (i, 0), (16, 1024)) * 2,
        array(65536, 1024), array(kind="int32"),
    )  # fmt: skip
    assert row.bytes == pytest.approx(2 * 16 * 1024 * 4, rel=0.001)


def test_stages_move_what_their_code_names() -> None:
    # Keys of 65536 x 4 bytes: each stage reads one buffer of three and writes another.
    stages = rows(jnp.sort, array(65536))
    assert [row.bytes for row in stages] == [2 * 65536 * 4] * len(stages)
    assert len({row.launch.number for row in stages}) == 1


def test_a_scan_ahead_of_an_attention_computes_none_of_it() -> None:
    x = array(1, 1024, 2, 64, kind="bfloat16")
    scan, tiles = rows(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), x, x, x, chip="sm_90a"
    )
    assert (scan.flops, scan.bound) == (0, "memory")
    assert tiles.unit == "tensor bf16"
    assert tiles.flops > 2 * 2 * 2 * 1024 * 1024 * 64  # two products of each of two heads


def test_loops_count_their_turns() -> None:
    program = compiled(
        lambda x: lax.fori_loop(0, 10, lambda i, c: jnp.sin(c), x), array(1000, 1000)
    )
    found = estimates(program, gpu_named("h100"))
    assert sum(row.calls for row in found if "sine" in row.launch.kernel) == 10
    total = 1e6 * sum(row.calls * row.seconds for row in found)
    assert f"{total:9.2f} in all" in gpu_report(program, gpu_named("h100"))
