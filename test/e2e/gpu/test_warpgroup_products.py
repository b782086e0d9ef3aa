"""Products by warpgroups on sm_90a: right on both emulated devices, and broken ones are caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_mutations import arguments_of, is_caught, mutants

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.driver.gpu_report import estimates, gpu_named
from hlo.gpu.emulated_device import EmulatedDevice, EmulationError
from hlo.gpu.plan import LaunchPlan
from hlo.gpu.plan_program import PlanProgram
from hlo.gpu.ptxas import assemble, find_ptxas
from hlo.gpu.run_plan import dtype_of
from hlo.passes.hlo_to_gpu import products
from hlo.passes.hlo_to_gpu.target import gpu_target
from hlo.passes.hlo_to_gpu.warpgroup_shapes import WarpgroupShape, shapes

LARGEST_SHARED = gpu_target("nvptx:sm_90a").largest_shared_bytes


def dot(
    rows: int, columns: int, depth: int, kind: str, result: str, *, along: tuple[int, int] = (1, 1),
    batch: tuple[int, ...] = (), after: str = "", right: str = "",
) -> str:  # fmt: skip
    """A dot.

    Args:
        along: of each operand whether its lines in memory are along the depth.
        after: an elementwise op on the result.
        right: element type of the right operand, if another.
    """
    outer = "".join(f"{size}x" for size in batch)
    sides = [
        (f"{side}x{depth}" if lines else f"{depth}x{side}")
        for side, lines in zip((rows, columns), along, strict=True)
    ]
    types = [
        f"tensor<{outer}{side}x{one}>"
        for side, one in zip(sides, (kind, right or kind), strict=True)
    ]
    made, count = f"tensor<{outer}{rows}x{columns}x{result}>", len(batch)
    batches = list(range(count))
    numbers = f"lhs_batching_dimensions = {batches}, rhs_batching_dimensions = {batches}, "
    numbers += f"lhs_contracting_dimensions = [{count + along[0]}], "
    numbers += f"rhs_contracting_dimensions = [{count + along[1]}]"
    follow = f'  %1 = "hlo.{after}"(%0) : ({made}) -> {made}\n' if after else ""
    return (
        f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> {made} {{\n"
        f'  %0 = "hlo.dot_general"(%a, %b) {{dot_dimension_numbers = #hlo.dot<{numbers}>}} : '
        f"({types[0]}, {types[1]}) -> {made}\n{follow}"
        f"  return %{1 if after else 0} : {made}\n}}\n"
    )


def compiled(text: str, **options: Any) -> GpuCompiled:
    program = hlo.compile(text, target="nvptx:sm_90a", vendor=False, **options)
    assert isinstance(program, GpuCompiled)
    return program


def values_for(plan: LaunchPlan) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    types = [dtype_of(kind) for kind in plan.arguments]
    found: list[np.ndarray[Any, Any]] = []
    for kind, dtype in zip(plan.arguments, types, strict=True):
        numbers = rng.standard_normal(kind.shape)
        if dtype.kind in "iu":
            numbers = rng.integers(0 if dtype.kind == "u" else -90, 90, kind.shape)
        found.append(numbers.astype(dtype))
    return found


def product(
    left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], along: tuple[int, int]
) -> np.ndarray[Any, Any]:
    left, right = (x.astype(np.float64) for x in (left, right))
    return (left if along[0] else np.swapaxes(left, -1, -2)) @ (
        np.swapaxes(right, -1, -2) if along[1] else right
    )


def choose(monkeypatch: pytest.MonkeyPatch, shape: WarpgroupShape) -> None:
    """Makes every product one by warpgroups, of this shape."""
    monkeypatch.setattr(products, "best_shape", lambda *_: shape)
    monkeypatch.setattr(products, "warp_cycles", lambda *_: float("inf"))


# Ragged in all three: rows and columns past whole tiles, a depth past whole steps, several rounds
# of the ring. tf32 has 10 bits behind the point: 2^-11 relative of each factor.
CASES = {
    "f16": (dot(152, 136, 520, "f16", "f32"), (1, 1), 1e-4),
    "f16_few": (dot(24, 40, 72, "f16", "f32"), (1, 1), 1e-4),
    "f16_sides": (dot(152, 136, 520, "f16", "f32", along=(0, 0)), (0, 0), 1e-4),
    "bf16": (dot(152, 136, 520, "bf16", "f32", along=(1, 0)), (1, 0), 1e-4),
    "bf16_left": (dot(152, 136, 520, "bf16", "f32", along=(0, 1)), (0, 1), 1e-4),
    "tf32": (dot(152, 136, 260, "f32", "f32"), (1, 1), 0.1),
    "i8": (dot(152, 136, 1040, "i8", "i32"), (1, 1), 0.0),
    "ui8": (dot(152, 136, 1040, "ui8", "ui32"), (1, 1), 0.0),
    "f8": (dot(152, 136, 1040, "f8E4M3FN", "f32", right="f8E5M2"), (1, 1), 1e-4),
}


@pytest.mark.parametrize("name", CASES)
def test_ragged_products(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, along, tolerance = CASES[name]
    (shape,) = (s for s in shapes(LARGEST_SHARED, True) if s.name == "64 x 64")
    choose(monkeypatch, shape)
    program = compiled(text, tf32=name == "tf32")
    assert "wgmma.mma_async" in program.as_text("ptx")
    arguments = values_for(program.plan)
    expected = product(*arguments, along)
    for run in (program.emulated(0), program.emulated(2), program.on_fibers(3)):
        (found,) = run(*arguments)
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("shape", shapes(LARGEST_SHARED, False)[::2], ids=lambda s: s.name)
def test_every_shape_of_tiles(shape: WarpgroupShape, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, shape)
    program = compiled(dot(200, 264, 520, "f16", "f32", along=(1, 0), after="negate"))
    arguments = values_for(program.plan)
    expected = -product(*arguments, (1, 0))
    for run in (program.emulated(3), program.on_fibers(1)):
        (found,) = run(*arguments)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)
    if find_ptxas() is not None:
        assembly = assemble(program.as_text("ptx"), "sm_90a")
        (taken,) = assembly.kernels.values()
        assert not taken.spills and not assembly.warnings  # C7510: products one after another


@pytest.mark.parametrize("batch", [(3,), (2, 2)])
def test_batches_are_dimensions_of_the_maps(
    batch: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, shapes(LARGEST_SHARED, True)[-1])
    program = compiled(dot(72, 64, 72, "bf16", "f32", along=(1, 0), batch=batch))
    arguments = values_for(program.plan)
    (found,) = program.emulated(1)(*arguments)
    np.testing.assert_allclose(found, product(*arguments, (1, 0)), rtol=0, atol=1e-4)


def test_products_of_a_horizontal_fusion_share_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, shapes(LARGEST_SHARED, True)[-1])
    text = """
func.func @main(%a: tensor<128x512xf16>, %b: tensor<512x128xf16>, %c: tensor<192x256xf16>,
    %d: tensor<256x64xf16>, %e: tensor<64xf32>)
    -> (tensor<128x128xf32>, tensor<192x64xf32>, tensor<64xf32>) {
  %0 = "hlo.dot_general"(%a, %b) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
    : (tensor<128x512xf16>, tensor<512x128xf16>) -> tensor<128x128xf32>
  %1 = "hlo.dot_general"(%c, %d) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
    : (tensor<192x256xf16>, tensor<256x64xf16>) -> tensor<192x64xf32>
  %2 = "hlo.negate"(%e) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1, %2 : tensor<128x128xf32>, tensor<192x64xf32>, tensor<64xf32>
}
"""
    program = compiled(text)
    arguments = values_for(program.plan)
    a, b, c, d, e = (x.astype(np.float64) for x in arguments)
    both = [k for k in program.plan.kernels.values() if k.tensor_maps]
    assert [[m.argument for m in k.tensor_maps] for k in both] == [[0, 1, 2, 3]]
    for run in (program.emulated(2), program.on_fibers(1)):
        found = run(*arguments)
        for one, expected in zip(found, (a @ b, c @ d, -e), strict=True):
            np.testing.assert_allclose(one, expected, rtol=0, atol=1e-4)


def test_the_chip_and_the_size_decide() -> None:
    large = dot(512, 512, 512, "bf16", "bf16")
    assert "wgmma" in compiled(large).as_text("ptx")
    (choice,) = compiled(large).explain().choices
    assert "by warpgroups" in choice.reason
    plain = hlo.compile(large, target="nvptx:sm_90")
    assert isinstance(plain, GpuCompiled)
    assert "mma.sync" in plain.as_text("ptx") and "wgmma" not in plain.as_text("ptx")
    small = compiled(dot(64, 64, 64, "bf16", "bf16"))
    assert "mma.sync" in small.as_text("ptx")
    assert "warpgroups would take" in str(small.explain())


@pytest.mark.skipif(find_ptxas() is None, reason="the assembler is not installed")
def test_the_roofline_counts_the_shared_memory_of_the_launch() -> None:
    (row,) = estimates(compiled(dot(512, 512, 512, "f16", "f16")), gpu_named("h100"))
    assert row.resources.shared_bytes == 65600  # 4 x 128 x 128 and 8 barriers
    assert row.occupancy == 3 * 160 / 2048  # 228 KiB hold three blocks of 160 threads


def test_a_stored_plan_states_its_maps() -> None:
    program = compiled(dot(512, 512, 512, "f16", "f16", along=(1, 0)))
    (kernel,) = program.plan.kernels.values()
    assert [m.argument for m in kernel.tensor_maps] == [0, 1]
    assert "tensor map of buffer 1: f16 512 x 512, strides 1024, tiles 64 x 64" in str(
        program.as_text("plan")
    )


# -- broken code -----------------------------------------------------------------------------------
MUTATIONS = {
    "a wait for products": (r"wgmma\.wait_group\.sync\.aligned \d;", "", 2),
    "a fence of sums": (r"wgmma\.fence\.sync\.aligned;", "", 2),
    "the end of a group": (r"wgmma\.commit_group\.sync\.aligned;", "", 2),
    "the fence of barriers": (r"fence\.mbarrier_init\.release\.cluster;", "", 1),
    "expected bytes": (
        r"mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, (\[%rd\d+\]), \d+;",
        r"mbarrier.arrive.shared::cta.b64 _, \1;", 1,
    ),
    "an arrival": (r"mbarrier\.arrive\.(expect_tx\.)?shared::cta\.b64 _, [^;]*;", "", 2),
    "a wait for a phase": (
        r"mbarrier\.try_wait\.parity\.shared::cta\.b64 p, [^;]*;", "setp.eq.b32 p, 0, 0;", 3,
    ),
    "a barrier": (r"^\s*bar\.sync\s+\d+(, \d+)?;", "", 3),
    "a copy": (r"cp\.async\.bulk\.tensor[^;]*;", "", 2),
    "the arrivals that a barrier counts": (
        r"(mbarrier\.init\.shared::cta\.b64 \[%rd\d+\]), \d+;", r"\1, 2;", 2,
    ),
}  # fmt: skip
# 16 steps of the depth: each place of the ring is used four times.
BROKEN = dot(64, 64, 1024, "f16", "f16", along=(1, 0))


@pytest.fixture(scope="module")
def whole() -> LaunchPlan:
    with pytest.MonkeyPatch.context() as patch:
        choose(patch, shapes(LARGEST_SHARED, True)[-1])
        plan = compiled(BROKEN).plan
    assert not is_caught(BROKEN, plan)
    return plan


@pytest.mark.parametrize("what", MUTATIONS)
def test_what_is_removed_is_missed(what: str, whole: LaunchPlan) -> None:
    pattern, by, least = MUTATIONS[what]
    made = list(mutants(whole, pattern, by))
    assert len(made) >= least
    assert [where for where, mutant in made if not is_caught(BROKEN, mutant)] == []


@pytest.mark.parametrize(
    ("pattern", "by", "kind"),
    [
        (r"fence\.mbarrier_init\.release\.cluster;", "", "proxy"),
        (r"mbarrier\.arrive\.shared::cta\.b64 _, [^;]*;", "", "barrier"),
        (r"wgmma\.wait_group\.sync\.aligned 0;", "", "async"),
    ],
)
def test_errors_say_what_kind_they_are(pattern: str, by: str, kind: str, whole: LaunchPlan) -> None:
    made = list(mutants(whole, pattern, by))
    assert made
    for _, mutant in made:
        with pytest.raises(EmulationError) as caught:
            PlanProgram(mutant, EmulatedDevice())(*arguments_of(mutant))
        assert caught.value.kind == kind
