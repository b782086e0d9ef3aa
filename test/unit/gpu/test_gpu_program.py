"""Programs for a GPU: their reports, the compilation cache, and launch plans that are stored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hlo
from hlo import knobs
from hlo.diagnostics import CompileError
from hlo.driver.gpu_compile import STAGES, GpuCompiled
from hlo.driver.memory_report import DonationError
from hlo.driver.run_program import RunOptions, run_command
from hlo.gpu.plan_json import to_json

# 20000 elements: the second sum needs an intermediate.
PROGRAM = """
func.func @main(%x: tensor<20000xf32>, %y: tensor<3xi32>) -> (tensor<20000xf32>, tensor<f32>) {
  %table = "hlo.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %i = "hlo.slice"(%y) {start_indices = array<i64: 1>, limit_indices = array<i64: 2>,
    strides = array<i64: 1>} : (tensor<3xi32>) -> tensor<1xi32>
  %s = "hlo.reshape"(%i) : (tensor<1xi32>) -> tensor<i32>
  %one = "hlo.dynamic_slice"(%table, %s) {slice_sizes = array<i64: 1>}
    : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
  %t = "hlo.reshape"(%one) : (tensor<1xf32>) -> tensor<f32>
  %b = "hlo.broadcast_in_dim"(%t) {broadcast_dimensions = array<i64>}
    : (tensor<f32>) -> tensor<20000xf32>
  %p = "hlo.multiply"(%x, %b) : (tensor<20000xf32>, tensor<20000xf32>) -> tensor<20000xf32>
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %sum = "hlo.reduce"(%p, %zero) ({
    ^bb0(%a: tensor<f32>, %c: tensor<f32>):
      %r = "hlo.add"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%r) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
  return %p, %sum : tensor<20000xf32>, tensor<f32>
}
"""
X = np.ones(20000, np.float32)
Y = np.array([0, 1, 0], np.int32)


def compiled(**options: object) -> GpuCompiled:
    program = hlo.compile(PROGRAM, target="nvptx:sm_80", emulate=True, **options)
    assert isinstance(program, GpuCompiled)
    return program


def test_reports_are_those_of_the_plan() -> None:
    program = compiled(donate=(0,))
    plan, memory = program.plan, program.memory_analysis()
    assert program.statistics.kernels == plan.launches == len(program.cost_analysis().kernels)
    assert memory.arena_bytes == plan.arena_bytes
    assert memory.result_bytes == 20000 * 4 + 4
    assert "not fused because" in program.explain().as_text()
    # x is read and the product written, 80000 bytes each: no less can be.
    assert program.cost_analysis().bytes_accessed >= 160000
    program.assert_donated()


def test_what_is_donated_in_vain_is_named() -> None:
    with pytest.raises(DonationError, match=r"argument 1 .* no result has its shape and dtype"):
        compiled(donate=(1,)).assert_donated()


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_a_text(stage: str) -> None:
    marks = {"gpu": "nvvm.read.ptx", "llvm": "gpu.module", "ptx": ".entry", "plan": "launch "}
    late = {"host", "deallocated", "placed"}
    wanted = marks.get(stage, "nvvm.read.ptx" if stage in late else "@main")
    assert wanted in compiled().as_text(stage)


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(CompileError, match="no stage 'cubin'; its stages are: input,"):
        compiled().as_text("cubin")


def test_the_plan_is_kept_in_the_cache(tmp_path: Path) -> None:
    with knobs.scope(cache=True, cache_dir=tmp_path):
        first = compiled()
        # How a plan is run makes no difference to what is stored.
        second = compiled(schedule=1)
        other = hlo.compile(PROGRAM, target="nvptx:sm_90", emulate=True)
    assert (first.from_cache, second.from_cache, other.from_cache) == (False, True, False)
    assert second.plan == first.plan
    product, total = second(X, Y)
    np.testing.assert_array_equal(product, 2 * X)
    assert total == 40000
    assert second.memory_analysis().arena_bytes == first.plan.arena_bytes


def test_phases_are_written_where_the_environment_says(tmp_path: Path) -> None:
    with knobs.scope(dump_dir=tmp_path):
        name = compiled().name
    found = sorted(path.name for path in (tmp_path / name).iterdir())
    assert found == sorted(f"{i}-{stage}.mlir" for i, stage in enumerate(STAGES))


def write_plan(folder: Path) -> str:
    path = folder / "plan.json"
    path.write_text(to_json(compiled().plan))
    return str(path)


def test_a_stored_plan_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "results.npz"
    options = RunOptions(
        write_plan(tmp_path), seed=0, output=saved, json=True,
        compile_options={"emulate": True, "schedule": 2},
    )  # fmt: skip
    assert run_command(options) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["kernels"] == compiled().plan.launches
    results = np.load(saved)
    np.testing.assert_allclose(results["result1"], results["result0"].sum(), rtol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"check": "reference"}, "no program to compare with"),
        ({"target": "nvptx:sm_90"}, "is for sm_80"),
        ({"compile_options": {"donate": (0,)}}, "compiled already"),
    ],
)
def test_what_a_stored_plan_cannot_do_is_said(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(CompileError, match=message):
        run_command(RunOptions(write_plan(tmp_path), seed=0, **changes))  # type: ignore[arg-type]
