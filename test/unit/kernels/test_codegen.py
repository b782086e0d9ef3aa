"""How kernels are put into modules for LLVM: grouped, merged with the calling convention."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlo
from hlo import knobs
from hlo.driver import codegen
from hlo.driver.codegen import MODULE_CHARACTERS, OWN_MODULE_CHARACTERS, grouped
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.lower_to_llvm.merged_members import MOST_CHARACTERS, with_members_inside
from hlo.passes.lower_to_llvm.modules import entry_text, kernels_text, program_text
from hlo.passes.lower_to_llvm.rare_functions import with_rare_apart

PLAIN = """func.func @NAME(%in0: memref<4xf32>, %out0: memref<4xf32>, %begin: index, %end: index) {
  %1 = arith.constant 0 : index
  return
}
"""
ENTRY = """module {
  llvm.func @hlo_rt_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)
  llvm.func @k__packed(!llvm.ptr, i64, i64)
  func.func @hlo_main(%frame: !llvm.ptr) -> i32  {
    llvm.call @k__packed(%slots, %v0, %v1) : (!llvm.ptr, i64, i64) -> ()
  }
}
"""
INLINING = """module {
  llvm.func @hlo_rt_fft()
  llvm.func @k__packed(!llvm.ptr, i64, i64)
  func.func @hlo_main(%frame: !llvm.ptr) -> i32  {
    llvm.call @k__inlined(%a, %b) : (!llvm.ptr, !llvm.ptr) -> ()
    llvm.call @k__inlined(%b, %a) : (!llvm.ptr, !llvm.ptr) -> ()
  }
}
"""
RARE = """func.func private @NAME__far_0(%in0: f32) -> (f32) attributes {a} {
  return %in0 : f32
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


def test_a_kernel_with_rare_functions_is_merged() -> None:
    rare = (
        "func.func private @NAME__far_0(%in0: f32) -> (f32) attributes {a} {\n"
        "  return %in0 : f32\n}\n"
    )
    called = PLAIN.replace(
        "  return", "  %2 = func.call @NAME__far_0(%1) : (f32) -> (f32)\n  return"
    )
    text = kernels_text({"k": kernel(called + rare)}, merged=True)
    assert "llvm.func @k__packed(%args: !llvm.ptr" in text
    assert "func.call @k__far_0(" in text and "func.func private @k__far_0(" in text
    assert "@k(" not in text and "NAME" not in text


# A call of a kernel behind another's, for which it waits.
TWICE = ENTRY.replace("  }\n}", ENTRY.splitlines(keepends=True)[4] + "  }\n}")


def test_a_small_program_is_one_module() -> None:
    text = program_text(TWICE, {"k": kernel(PLAIN, declarations=("llvm.func @hlo_rt_fft()",))})
    assert text is not None
    assert text.count("@k__packed") == 3  # made and called twice, but not declared
    assert text.index("llvm.func @hlo_rt_fft()") < text.index("@hlo_main")


def test_kernels_that_are_called_once_are_part_of_the_entry() -> None:
    rare = PLAIN.replace("  return", "  %2 = func.call @NAME__far_0(%1) : (f32) -> (f32)\n  return")
    stored = ENTRY.replace(
        "    llvm.call",
        "    llvm.store %a, %slot0 : !llvm.ptr, !llvm.ptr\n"
        "    llvm.store %b, %slot1 : !llvm.ptr, !llvm.ptr\n    llvm.call",
    )
    text = program_text(stored, {"k": kernel(rare + RARE)})
    assert text is not None and "packed(" not in text and "%slot" not in text
    assert "%k0_packed_d1 = llvm.insertvalue %b, %k0_packed_none[1]" in text
    assert "%k0_end = arith.index_cast %v1 : i64 to index" in text
    assert "%k0_2 = func.call @k__far_0(%k0_1)" in text
    assert text.index("@hlo_main") < text.index("func.func private @k__far_0(")
    branching = stored.replace("    llvm.store %a", "    scf.if %c {\n    }\n    llvm.store %a")
    assert "@k__packed(%args" in str(program_text(branching, {"k": kernel(PLAIN)}))


@pytest.mark.parametrize("join", [program_text, entry_text])
def test_what_the_entry_inlines_is_in_its_module_once(join: Callable[..., str]) -> None:
    declared = kernel(PLAIN + RARE, declarations=("llvm.func @hlo_rt_fft()",))
    text = join(INLINING, {"k": declared, "unused": kernel(PLAIN)})
    assert text.count("llvm.func internal @k__inlined(%packed_p0: !llvm.ptr, %packed_p1") == 1
    assert "attributes {always_inline}" in text and "%end = arith.constant 1 : index" in text
    assert text.count("func.func private @k__far_0(") == 1
    assert text.count("@hlo_rt_fft()") == 1 and "unused" not in text
    assert ("@k__packed(" in text) == (join is entry_text)  # declared there, though not called


def test_a_kernel_is_inlined_where_it_is_called_as_well() -> None:
    both = INLINING.replace("@k__inlined(%b, %a)", "@k__packed(%b, %a)")
    text = program_text(both, {"k": kernel(PLAIN + RARE)})
    assert text is not None and text.count("func.func private @k__far_0(") == 1
    assert "llvm.func @k__packed(%args" in text and "llvm.func internal @k__inlined(" in text


def test_an_inlined_function_calls_a_kernel_with_attributes() -> None:
    text = entry_text(INLINING, {"k": kernel(PLAIN.replace("index) {", "index) attributes {a} {"))})
    assert "func.func private @k(" in text and "func.call @k(%m0, %m1, %b, %e)" in text


def test_an_entry_that_inlines_nothing_stays_as_it_is() -> None:
    assert entry_text(ENTRY, {"k": kernel(PLAIN)}) is ENTRY


def test_small_kernels_are_grouped_in_order_and_large_ones_alone() -> None:
    sixth = kernel("x" * (MODULE_CHARACTERS // 6))  # six of 6666 characters do not reach the size
    kernels = {f"k{i}": sixth for i in range(9)}
    first, second = ([f"k{i}" for i in part] for part in (range(7), range(7, 9)))
    assert [list(group) for group in grouped(kernels)] == [first, second]
    large = kernel("x" * OWN_MODULE_CHARACTERS)
    mixed = {"a": large, "b": sixth, "c": large, "d": sixth}
    assert [list(group) for group in grouped(mixed)] == [["a"], ["b", "d"], ["c"]]
    assert grouped({}) == []


def test_large_kernels_go_to_other_threads_at_once_and_small_ones_as_a_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[list[str]] = []
    code = codegen.ProgramCode()
    monkeypatch.setattr(code, "_begin", lambda group: begun.append(list(group)))
    small, large = kernel("x" * 6000), kernel("x" * OWN_MODULE_CHARACTERS)
    code.add("a", small)
    code.add("b", large)  # 14,000 characters: all may yet be one module with the entry
    assert begun == []
    code.add("c", small)  # 20,000
    assert begun == [["b"]]
    code.add("d", large)
    assert begun == [["b"], ["d"]]
    for i in range(4):  # a, c and these are 36,000
        code.add(f"e{i}", small)
    assert begun == [["b"], ["d"]]
    code.add("f", small)  # 42,000
    assert begun == [["b"], ["d"], ["a", "c", "e0", "e1", "e2", "e3", "f"]]


def test_the_first_program_of_a_process_has_tables_made_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: list[str] = []

    class Noted(codegen.runtime.CodegenQueue):
        def add(self, text: str, pipeline: str, options: codegen.runtime.CodegenOptions) -> None:
            added.append(text)
            super().add(text, pipeline, options)

    monkeypatch.setattr(codegen.runtime, "CodegenQueue", Noted)
    monkeypatch.setattr(codegen.runtime, "hardware_threads", lambda: 2)
    monkeypatch.setattr(codegen, "_warm", threading.Event())
    x = np.ones(9, np.float32)

    def program(x: Any) -> Any:
        for i in range(40):  # too much for one module with the entry
            x = hlo.numpy.cumsum(x * 0.5)[::-1] + i
        return x

    with knobs.scope(cache=False):
        first, second = (hlo.jit(program)(x) for _ in range(2))
        hlo.jit(hlo.numpy.sin)(x)
    assert added[0] == codegen.WARM_UP and added.count(codegen.WARM_UP) == 1
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("loop", "level"), [(False, 0), (True, 2)])
def test_only_entries_with_loops_are_optimised(
    loop: bool, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[int] = []

    class Noted(codegen.runtime.CodegenQueue):
        def add(self, text: str, pipeline: str, options: codegen.runtime.CodegenOptions) -> None:
            if "@hlo_main" in text:
                levels.append(options.level)
            super().add(text, pipeline, options)

    def step(x: Any) -> Any:
        for i in range(12):  # too much for one module
            x = hlo.numpy.cumsum(hlo.numpy.sin(x) * 0.5)[::-1] + i
        return x

    def program(x: Any) -> Any:
        return hlo.lax.fori_loop(0, 3, lambda _, x: step(x), x) if loop else step(x)

    monkeypatch.setattr(codegen.runtime, "CodegenQueue", Noted)
    hlo.jit(program)(np.ones(9, np.float32))
    assert levels == [level]


def test_programs_on_both_sides_of_the_limits_run() -> None:
    def chain(x: Any, kernels: int) -> Any:
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


def test_kernels_of_attempts_given_up_are_left_out() -> None:
    """Under a budget several host programs are made, whose kernels may have the same names."""
    x = np.linspace(0, 1, 1 << 14, dtype=np.float32)

    def program(x: Any) -> Any:
        kept = [hlo.numpy.cumsum(hlo.numpy.sin(x) + i) for i in range(12)]
        total = kept[0]
        for value in kept[1:]:
            total = hlo.numpy.cumsum(total * 0.5) + value[::-1]
        return total

    free = hlo.jit(program).lower(x).compile()
    peak = free.memory_analysis().peak_bytes
    bounded = hlo.jit(program).lower(x).compile(max_bytes=peak - x.nbytes)
    assert bounded.memory_analysis().peak_bytes < peak
    np.testing.assert_array_equal(bounded(x), free(x))


STEPS = """func.func @NAME(%in0: memref<4xf32>, %out0: memref<4xf32>, %begin: index, %end: index) {
  %low0 = arith.constant 0 : index
  func.call @NAME__member0(%in0, %low0) : (memref<4xf32>, index) -> ()
  func.call @NAME__member1(%out0, %low0) : (memref<4xf32>, index) -> ()
  return
}
func.func @NAME__member0(%in0: memref<4xf32>, %begin: index) {
  %1 = memref.load %in0[%begin] : memref<4xf32>
  return
}
func.func @NAME__member1(%in0: memref<4xf32>, %begin: index) {
  %1 = memref.load %in0[%begin] : memref<4xf32>
  return
}
"""


def test_members_of_a_small_launch_are_inside() -> None:
    assert with_members_inside(kernel(STEPS)).text == PLAIN.replace(
        "  %1 = arith.constant 0 : index\n",
        "  %low0 = arith.constant 0 : index\n"
        "  %member0_1 = memref.load %in0[%low0] : memref<4xf32>\n"
        "  %member1_1 = memref.load %out0[%low0] : memref<4xf32>\n",
    )


@pytest.mark.parametrize(
    "text",
    [
        STEPS.replace("@NAME__member1(%out0", "@NAME__member0(%out0"),  # called twice
        STEPS.replace("  func.call", "    func.call"),  # not always
        STEPS.replace("%1 = memref.load %in0[%begin]", "%1 = memref.alloca()"),
        STEPS.replace("@NAME__member1(%in0: memref<4xf32>,", "@NAME__member1(%in0: index {a},"),
        STEPS + "// " + "-" * MOST_CHARACTERS,
    ],
)
def test_other_members_are_called(text: str) -> None:
    assert with_members_inside(kernel(text)) == kernel(text)


def test_a_product_and_the_scalar_behind_it_are_one_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []
    compiled = codegen.runtime.compile_text

    def noted(text: str, *more: Any) -> bytes:
        texts.append(text)
        return compiled(text, *more)

    monkeypatch.setattr(codegen.runtime, "compile_text", noted)
    program = hlo.compile("""func.func @main(%x: tensor<16xf32>) -> tensor<f32> {
      %0 = hlo.dot_general %x, %x, contracting_dims = [0] x [0]
        : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %1 = hlo.constant dense<1.5> : tensor<f32>
      %2 = hlo.multiply %0, %1 : tensor<f32>
      return %2 : tensor<f32>
    }""")
    (text,) = texts
    assert text.count("func.func @") == 1 and "@hlo_main" in text
    assert program(np.arange(16, dtype=np.float32))[0] == 1860  # 1.5 * 1240


SINE = """func.func @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %0 = hlo.sine %x : tensor<{n}xf32>
  return %0 : tensor<{n}xf32>
}}
"""


def test_rare_functions_are_modules_of_their_own() -> None:
    cold = 'passthrough = ["cold", "noinline"]'
    marks = f"llvm.linkage = #llvm.linkage<internal>, {cold}"
    body = PLAIN.replace("  return", "  %2 = func.call @NAME__far_0(%1) : (f32) -> (f32)\n  return")
    rare = RARE.replace("{a}", f"{{{marks}}}")
    own, modules = with_rare_apart(kernel(body + rare))
    _, others = with_rare_apart(kernel(body + rare.replace("%in0", "%x")))
    ((symbol, text),) = modules.items()
    assert f"func.call @{symbol}(%1)" in own.text and "NAME__" not in own.text
    assert own.declarations == (f"func.func private @{symbol}(f32) -> (f32) attributes {{{cold}}}",)
    assert f"func.func @{symbol}(%in0: f32) -> (f32)" in text
    assert others.keys() != modules.keys()  # another text
    assert with_rare_apart(kernel(PLAIN)) == (kernel(PLAIN), {})


@pytest.mark.parametrize("small", [True, False])
def test_a_rare_function_is_compiled_once_in_a_process(
    small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(codegen, "_RARE_CODE", kept)
    if not small:
        monkeypatch.setattr(codegen, "WITH_ENTRY_CHARACTERS", 0)
    codes: list[bytes] = []
    for size in (16, 32):
        angles = np.linspace(-1e30, 1e30, size, dtype=np.float32)
        (found,) = hlo.compile(SINE.format(n=size))(angles)
        np.testing.assert_allclose(found, np.sin(angles.astype(np.float64)), atol=1e-6)
        codes += kept.values()
    assert len(codes) == 2 and codes[0] is codes[1]
