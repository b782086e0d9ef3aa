"""How kernels are put into modules for LLVM: balanced, merged with the calling convention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
from hlo.driver import codegen
from hlo.driver.codegen import balanced
from hlo.passes.hlo_to_loops.loop_kernel import Kernel
from hlo.passes.lower_to_llvm.modules import kernels_text, program_text

PLAIN = """func.func @NAME(%in0: memref<4xf32>, %out0: memref<4xf32>, %begin: index, %end: index) {
  %1 = arith.constant 0 : index
  return
}
"""
ENTRY = """module {
  llvm.func @hlo_rt_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)
  llvm.func @k__packed(!llvm.ptr, i64, i64)
  func.func @hlo_main(%frame: !llvm.ptr) -> i32  {
  }
}
"""


def kernel(text: str, **more: object) -> Kernel:
    return Kernel(text, 1, ("memref<4xf32>",), ("memref<4xf32>",), **more)  # pyright: ignore


def test_a_plain_kernel_takes_the_packed_convention_itself() -> None:
    text = kernels_text({"k": kernel(PLAIN)}, merged=True)
    assert "llvm.func @k__packed(%args: !llvm.ptr" in text
    assert "%out0 = builtin.unrealized_conversion_cast" in text
    assert "@k(" not in text and "  return" not in text


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("memref<4xf32>,", "memref<4xf32> {llvm.noalias},", 1),
        PLAIN.replace("index) {", 'index) attributes {passthrough = ["cold"]} {'),
        PLAIN + "llvm.func @NAME__callback() {\n  llvm.return\n}\n",
    ],
)
def test_a_kernel_with_attributes_or_helpers_is_called(text: str) -> None:
    found = kernels_text({"k": kernel(text)}, merged=True)
    assert "func.func @k(" in found and "func.call @k(" in found
    assert program_text(ENTRY, {"k": kernel(text)}) is None


def test_a_small_program_is_one_module() -> None:
    text = program_text(ENTRY, {"k": kernel(PLAIN, declarations=("llvm.func @hlo_rt_fft()",))})
    assert text is not None
    assert text.count("@k__packed") == 1
    assert text.index("llvm.func @hlo_rt_fft()") < text.index("@hlo_main")


def test_groups_are_balanced_and_complete() -> None:
    sizes = {f"k{i}": size for i, size in enumerate([50, 10, 10, 10, 10, 10, 200])}
    groups = balanced(sizes, most=100)
    assert sorted(name for group in groups for name in group) == sorted(sizes)
    totals = sorted(sum(sizes[name] for name in group) for group in groups)
    assert totals == [50, 50, 200]  # 300 in all: 3 groups, and 200 is one kernel
    assert balanced({}) == []
    assert balanced({"a": 1}) == [["a"]]


@pytest.mark.parametrize(("loop", "level"), [(False, 0), (True, 2)])
def test_only_entries_with_loops_are_optimised(
    loop: bool, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[int] = []
    real = codegen.runtime.compile_to_object

    def noted(module: Any, options: Any) -> bytes:
        if "@hlo_main" in str(module):
            levels.append(options.level)
        return real(module, options)

    def step(x: Any) -> Any:
        for i in range(12):  # too much for one module
            x = hlo.numpy.cumsum(hlo.numpy.sin(x) * 0.5)[::-1] + i
        return x

    def program(x: Any) -> Any:
        return hlo.lax.fori_loop(0, 3, lambda _, x: step(x), x) if loop else step(x)

    monkeypatch.setattr(codegen.runtime, "compile_to_object", noted)
    hlo.jit(program)(np.ones(9, np.float32))
    assert levels == [level]


def test_programs_on_both_sides_of_the_limits_run() -> None:
    def chain(x: np.ndarray, kernels: int) -> np.ndarray:
        for i in range(kernels):
            x = hlo.numpy.cumsum(x * 0.5)[::-1] / 4 + i
        return x

    x = np.linspace(0, 1, 9, dtype=np.float32)
    for kernels in (1, 40):
        found = hlo.jit(lambda x, kernels=kernels: chain(x, kernels))(x)
        expected = x
        for i in range(kernels):
            expected = np.cumsum(expected * np.float32(0.5))[::-1] / 4 + np.float32(i)
        np.testing.assert_allclose(found, expected, rtol=1e-4)
