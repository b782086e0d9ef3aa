"""What LLVM ends the process for is an error of the compiler, with the kernel and its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import hlo
from hlo import ir
from hlo.diagnostics import CompileError
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.lower_to_ptx import modules

MODULE = """
module attributes {gpu.container_module} {
  gpu.module @m [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">] {
    llvm.func @k(%p: !llvm.ptr) attributes {nvvm.kernel} {
      BODY
      llvm.return
    }
  }
}
"""
# Each ends the process of mlir-opt: what sm_80 has not, no library function, bad assembly.
FATAL = {
    "Cannot select": "nvvm.cluster.arrive",
    "unsupported library call": """%x = llvm.load %p : !llvm.ptr -> f128
      %s = llvm.fadd %x, %x : f128
      llvm.store %s, %p : f128, !llvm.ptr""",
    "operand number": 'llvm.inline_asm has_side_effects "x $9;", "l" %p : (!llvm.ptr) -> ()',
}  # fmt: skip
TWO_DOTS = """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "hlo.dot_general"(%x, %x) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "hlo.dot_general"(%0, %0) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>}
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
"""


def serialize(body: str, form: str = "isa") -> None:
    module = ir.parse_module(MODULE.replace("BODY", body), ir.make_gpu_context())
    ir.run_guarded(module, f"gpu-module-to-binary{{format={form}}}")


@pytest.mark.parametrize("message", FATAL)
def test_a_fatal_error_of_llvm_is_raised_and_code_is_made_after_it(message: str) -> None:
    for _ in range(2):
        with pytest.raises(ir.PassCrashError, match=message):
            serialize(FATAL[message])
        serialize("")


def test_what_ends_in_code_that_cannot_be_reached_is_raised() -> None:
    with pytest.raises(CompileError):
        serialize("", "offload")
    serialize("")


def test_passes_that_fail_say_what_mlir_says() -> None:
    with pytest.raises(CompileError, match="no-such-pass"):
        ir.run_guarded(ir.parse_module("module {}", ir.make_gpu_context()), "no-such-pass")


def test_the_kernel_and_its_place_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "dots.mlir"
    source.write_text(TWO_DOTS)
    arguments = (np.ones((64, 64), np.float32),)
    expected = hlo.compile(TWO_DOTS)(*arguments)
    original = modules.kernels_text
    at = TWO_DOTS[: TWO_DOTS.index("%1 =")].count("\n") + 1

    def broken(kernels: Mapping[str, GpuKernel]) -> str:
        """The second product ends with an instruction that sm_80 does not have."""
        text = original(kernels)
        if "dot_general_1" not in kernels:
            return text
        start = text.index("@dot_general_1")
        end = text.index("return", start)
        return f"{text[:end]}nvvm.cluster.arrive\n{text[end:]}"

    monkeypatch.setenv("HLO_CACHE", "0")
    monkeypatch.setattr(modules, "kernels_text", broken)
    with pytest.raises(CompileError, match=r"no code for sm_80: LLVM .*: Cannot select") as caught:
        hlo.compile(source, target="nvptx:sm_80")
    assert caught.value.op == "dot_general_1"
    assert caught.value.location is not None and f'dots.mlir":{at}:' in caught.value.location
    monkeypatch.undo()
    found = hlo.compile(TWO_DOTS, target="nvptx:sm_80", emulate=True)(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
