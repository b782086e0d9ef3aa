"""Dots on the emulated device: every tensor-core type, ways that operands lie in memory, tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.ptxas import assemble, find_ptxas
from hlo.passes.hlo_to_gpu import matrix_tiles
from hlo.reference.evaluate import evaluate

Array = np.ndarray[Any, Any]
LAYOUTS = [(1, 0), (1, 1), (0, 0)]  # the dimension that is summed, of either operand


def dot(
    m: int, k: int, n: int, kind: str, result: str, layout: tuple[int, int] = (1, 0),
    precision: str = "",
) -> str:  # fmt: skip
    left, right = layout
    a = f"tensor<{m}x{k}x{kind}>" if left else f"tensor<{k}x{m}x{kind}>"
    b = f"tensor<{n}x{k}x{kind}>" if right else f"tensor<{k}x{n}x{kind}>"
    asked = f", precision_config = [{precision}, {precision}]" if precision else ""
    return f"""
func.func @main(%a: {a}, %b: {b}) -> tensor<{m}x{n}x{result}> {{
  %0 = "hlo.dot_general"(%a, %b) {{dot_dimension_numbers = #hlo.dot<
    lhs_contracting_dimensions = [{left}], rhs_contracting_dimensions = [{right}]>{asked}}}
    : ({a}, {b}) -> tensor<{m}x{n}x{result}>
  return %0 : tensor<{m}x{n}x{result}>
}}"""


def numbers(text: str, low: int = -16, high: int = 17, step: float = 1.0) -> list[Array]:
    """Integers times `step`, for each argument."""
    program = hlo.compile(text, target="nvptx:sm_80")
    assert isinstance(program, GpuCompiled)
    rng = np.random.default_rng(0)
    return [
        (rng.integers(low, high, t.shape) * step).astype(ir.types.to_dtype(t.element))
        for t in program.plan.arguments
    ]


def check(text: str, arguments: list[Array], tolerance: float = 0.0, **options: Any) -> str:
    """Compares with the evaluator, warps in order and backwards; gives the code."""
    program = hlo.compile(text, target="nvptx:sm_80", **options)
    assert isinstance(program, GpuCompiled)
    (expected,) = evaluate(ir.parse_module(text), arguments)
    want = np.asarray(expected).astype(np.float64)
    for schedule in (0, 1):
        found = program.emulated(schedule)(*arguments)[0].astype(np.float64)
        bound = tolerance * np.abs(want).max(initial=0.0)
        np.testing.assert_allclose(found, want, rtol=0, atol=bound)
    code = program.as_text("ptx")
    if find_ptxas() is not None:
        assert not any(k.spills for k in assemble(code, "sm_80").kernels.values())
    return code


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("kind", "result", "instruction"),
    [
        ("f16", "f32", "m16n8k16.row.col.f32.f16"),
        ("bf16", "bf16", "m16n8k16.row.col.f32.bf16"),
        ("i8", "i32", "m16n8k32.row.col.s32.s8.s8"),
        ("ui8", "i32", "m16n8k32.row.col.s32.u8.u8"),
        ("f64", "f64", "m8n8k4.row.col.f64"),
        ("f8E4M3FN", "f32", "m16n8k16.row.col.f32.f16"),
        ("f8E5M2", "f16", "m16n8k16.row.col.f32.f16"),
    ],
)
def test_tensor_cores(kind: str, result: str, instruction: str, layout: tuple[int, int]) -> None:
    # 80 and 96 are no multiples of a tile's 64; 112 is 3 1/2 tiles of 32, 1 3/4 of 64, 14 of 8.
    text = dot(80, 112, 96, kind, result, layout)
    low = 0 if kind.startswith("u") else -16
    assert instruction in check(text, numbers(text, low), 2.0**-8 if result == "bf16" else 1e-3)


@pytest.mark.parametrize("kind", ["f16", "f64", "i8"])
def test_sums_are_exact_where_all_products_are(kind: str) -> None:
    result = "i32" if kind == "i8" else "f64" if kind == "f64" else "f32"
    text = dot(72, 80, 64, kind, result)
    check(text, numbers(text, -128, 128) if kind == "i8" else numbers(text))


def test_sums_of_bytes_wrap() -> None:
    text = dot(64, 64, 64, "i8", "i32")
    a, b = (np.full((64, 64), -128, np.int8) for _ in range(2))
    check(text, [a, b])


@pytest.mark.parametrize("kind", ["f32", "i32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_multiply_adds(kind: str, layout: tuple[int, int]) -> None:
    text = dot(72, 52, 88, kind, kind, layout)
    code = check(text, numbers(text))
    assert "cp.async.cg.shared.global" in code
    assert "mma.sync" not in code


@pytest.mark.parametrize("kind", ["f16", "f32", "i8", "f64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_tiles(kind: str, layout: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_tiles, "ENOUGH_BLOCKS", 0)
    monkeypatch.setenv("HLO_CACHE", "0")
    result = {"f16": "f32", "i8": "i32"}.get(kind, kind)
    text = dot(144, 96, 160, kind, result, layout)
    check(text, numbers(text))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tf32_is_asked_for(layout: tuple[int, int]) -> None:
    text = dot(80, 40, 96, "f32", "f32", layout)
    code = check(text, numbers(text), tf32=True)
    assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" in code
    assert "mma.sync" not in check(text, numbers(text))


@pytest.mark.parametrize("emulator", ["ptx", "fibers"])
def test_tf32_rounds_to_the_nearest(emulator: str) -> None:
    # 1 + 2^-11 is half way between 1 and 1 + 2^-10, and goes away from zero; less goes to 1.
    text = dot(64, 16, 64, "f32", "f32")
    program = hlo.compile(text, target="nvptx:sm_80", tf32=True, emulate=True, emulator=emulator)
    ones = np.ones((16, 64), np.float32)
    for extra, expected in ((2.0**-11, 1 + 2.0**-10), (2.0**-12, 1.0), (-(2.0**-12), 1.0)):
        a = np.full((64, 16), 1 + extra, np.float32)
        np.testing.assert_array_equal(program(a, ones)[0], np.full((64, 64), 16 * expected))


def test_tf32_does_not_override_a_precision() -> None:
    text = dot(80, 40, 96, "f32", "f32", precision="#hlo<precision HIGHEST>")
    assert "mma.sync" not in check(text, numbers(text), tf32=True)


@pytest.mark.parametrize("emulator", ["ptx", "fibers"])
def test_tf32_keeps_what_is_no_number(emulator: str) -> None:
    text = dot(64, 16, 64, "f32", "f32")
    program = hlo.compile(text, target="nvptx:sm_80", tf32=True, emulate=True, emulator=emulator)
    a = np.zeros((64, 16), np.float32)
    a[0, 0], a[1, 0] = np.inf, np.frombuffer(b"\xff\xff\xff\x7f", np.float32)[0]
    found = program(a, np.ones((16, 64), np.float32))[0]
    assert np.isposinf(found[0]).all()
    assert np.isnan(found[1]).all()
    assert not found[2:].any()


def test_tf32_is_refused_without_tensor_cores() -> None:
    with pytest.raises(CompileError, match="option tf32: the target 'cpu' has no tensor cores"):
        hlo.compile(dot(8, 8, 8, "f32", "f32"), tf32=True)


def test_batches_and_several_summed_dimensions() -> None:
    # Of 2 batches, (3 x 4 x 8) times (4 x 8 x 24): a depth of 32, copied in pieces of 4.
    a, b, c = "tensor<2x24x4x8xf32>", "tensor<2x4x8x24xf32>", "tensor<2x24x24xf32>"
    text = f"""
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %0 = "hlo.dot_general"(%a, %b) {{dot_dimension_numbers = #hlo.dot<
    lhs_batching_dimensions = [0], rhs_batching_dimensions = [0],
    lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [1, 2]>}}
    : ({a}, {b}) -> {c}
  return %0 : {c}
}}"""
    assert "cp.async" in check(text, numbers(text))


def test_an_operand_that_is_computed_on_the_way() -> None:
    a, b, c = "tensor<64x48xf32>", "tensor<48x64xf32>", "tensor<64x64xf32>"
    text = f"""
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %n = "hlo.negate"(%a) : ({a}) -> {a}
  %0 = "hlo.dot_general"(%n, %b) {{dot_dimension_numbers = #hlo.dot<
    lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}} : ({a}, {b}) -> {c}
  return %0 : {c}
}}"""
    check(text, numbers(text))
