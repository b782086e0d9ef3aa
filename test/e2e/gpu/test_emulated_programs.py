"""Programs compiled for a GPU, run on the emulated device, against the reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
from hlo.diagnostics import ArgumentError, CompileError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.emulated_device import EmulatedDevice, EmulationError
from hlo.gpu.plan_program import PlanProgram
from hlo.importers.program import load_program
from hlo.passes.hlo_to_gpu.target import TARGETS
from hlo.reference.evaluate import evaluate

SCHEDULES = (0, 1, 2, 3)
SOFTMAX = """
func.func @main(%x: tensor<5x1000xf32>) -> tensor<5x1000xf32> {
  %low = "hlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %m = "hlo.reduce"(%x, %low) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = "hlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%r) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<5x1000xf32>, tensor<f32>) -> tensor<5xf32>
  %mb = "hlo.broadcast_in_dim"(%m) {broadcast_dimensions = array<i64: 0>}
    : (tensor<5xf32>) -> tensor<5x1000xf32>
  %d = "hlo.subtract"(%x, %mb) : (tensor<5x1000xf32>, tensor<5x1000xf32>) -> tensor<5x1000xf32>
  %e = "hlo.exponential"(%d) : (tensor<5x1000xf32>) -> tensor<5x1000xf32>
  %s = "hlo.reduce"(%e, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%r) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<5x1000xf32>, tensor<f32>) -> tensor<5xf32>
  %sb = "hlo.broadcast_in_dim"(%s) {broadcast_dimensions = array<i64: 0>}
    : (tensor<5xf32>) -> tensor<5x1000xf32>
  %y = "hlo.divide"(%e, %sb) : (tensor<5x1000xf32>, tensor<5x1000xf32>) -> tensor<5x1000xf32>
  return %y : tensor<5x1000xf32>
}
"""
# 1 doubled until it is at least the argument.
LOOP = """
func.func @main(%limit: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %r:2 = "hlo.while"(%one, %limit) ({
    ^bb0(%x: tensor<i32>, %l: tensor<i32>):
      %c = "hlo.compare"(%x, %l) {comparison_direction = #hlo<comparison_direction LT>}
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
    ^bb0(%x: tensor<i32>, %l: tensor<i32>):
      %y = "hlo.add"(%x, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "hlo.return"(%y, %l) : (tensor<i32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}
"""
CASE = """
func.func @main(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %r = "hlo.case"(%i) ({
      %a = "hlo.negate"(%x) : (tensor<3xf32>) -> tensor<3xf32>
      "hlo.return"(%a) : (tensor<3xf32>) -> ()
  }, {
      %a = "hlo.exponential"(%x) : (tensor<3xf32>) -> tensor<3xf32>
      "hlo.return"(%a) : (tensor<3xf32>) -> ()
  }) : (tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
"""


def gpu_program(text: str) -> GpuCompiled:
    program = hlo.compile(text, target="nvptx:sm_80")
    assert isinstance(program, GpuCompiled)
    return program


def check(text: str, *arguments: Any) -> None:
    program = gpu_program(text)
    expected = evaluate(load_program(text), arguments)
    for schedule in SCHEDULES:
        found = program.emulated(schedule)(*arguments)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


def test_a_row_softmax_under_every_schedule() -> None:
    x = np.random.default_rng(0).standard_normal((5, 1000)).astype(np.float32)
    check(SOFTMAX, x)


@pytest.mark.parametrize("chip", sorted(TARGETS))
def test_the_code_of_every_chip_runs(chip: str) -> None:
    x = np.random.default_rng(0).standard_normal((5, 1000)).astype(np.float32)
    program = hlo.compile(SOFTMAX, target=f"nvptx:{chip}", emulate=True)
    (expected,) = evaluate(load_program(SOFTMAX), [x])
    np.testing.assert_allclose(program(x)[0], expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_a_loop_runs_as_often_as_the_device_says(limit: int) -> None:
    check(LOOP, np.array(limit, np.int32))


@pytest.mark.parametrize("index", [-1, 0, 1, 7])
def test_an_index_out_of_range_takes_the_last_branch(index: int) -> None:
    check(CASE, np.array(index, np.int32), np.array([1, 2, 3], np.float32))


def test_compile_with_emulate_gives_something_to_call() -> None:
    program = hlo.compile(CASE, target="nvptx:sm_90", emulate=True, schedule=2)
    (result,) = program(np.int32(0), np.array([1, 2, 3], np.float32))
    np.testing.assert_array_equal(result, [-1, -2, -3])


def test_only_gpu_programs_are_emulated() -> None:
    with pytest.raises(CompileError, match="is not emulated"):
        hlo.compile(CASE, emulate=True)


def test_arguments_are_checked() -> None:
    program = gpu_program(CASE).emulated()
    with pytest.raises(ArgumentError, match=r"argument 1: expected .* shape \(3,\)"):
        program(np.int32(0), np.zeros(4, np.float32))
    with pytest.raises(ArgumentError, match="expected 2 arguments, found 1"):
        program(np.int32(0))


def test_a_kernel_may_touch_only_what_its_launch_names() -> None:
    # The same code for arrays twice as large: its accesses leave the slices that the plan names.
    program = gpu_program(SOFTMAX)
    small, large = program.plan, gpu_program(SOFTMAX.replace("5x", "10x").replace("<5", "<10")).plan
    assert list(small.kernels) == list(large.kernels)
    broken = type(small)(
        **{**vars(small), "modules": large.modules,
           "steps": tuple(type(s)(**{**vars(s), "grid": t.grid})
                          for s, t in zip(small.steps, large.steps, strict=True))}
    )  # fmt: skip
    with pytest.raises(EmulationError, match=r"\[bounds\].*past"):
        PlanProgram(broken, EmulatedDevice())(np.zeros((5, 1000), np.float32))
