"""Machine code from the llvm dialect: translation, text forms, loading, and every way they fail."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from native_programs import parse

from hlo.diagnostics import CompileError
from hlo.executable import runtime
from hlo.executable.runtime import CodegenOptions

ADD = """module {
  llvm.func @add(%a: f32, %b: f32) -> f32 {
    %sum = llvm.fadd %a, %b : f32
    llvm.return %sum : f32
  }
}"""

CALL_SINF = """module {
  llvm.func @sinf(f32) -> f32
  llvm.func @f(%a: f32) -> f32 {
    %r = llvm.call @sinf(%a) : (f32) -> f32
    llvm.return %r : f32
  }
}"""


def function(library: runtime.Library, name: str, result: object, *arguments: object):
    return ctypes.CFUNCTYPE(result, *arguments)(library.lookup(name))


def test_object_code_runs() -> None:
    library = runtime.Library([runtime.compile_to_object(parse(ADD))])
    assert function(library, "add", ctypes.c_float, ctypes.c_float, ctypes.c_float)(1.5, 2) == 3.5


def test_objects_of_one_library_see_each_other() -> None:
    caller = """module {
      llvm.func @add(f32, f32) -> f32
      llvm.func @twice(%a: f32) -> f32 {
        %r = llvm.call @add(%a, %a) : (f32, f32) -> f32
        llvm.return %r : f32
      }
    }"""
    objects = [runtime.compile_to_object(parse(text)) for text in (ADD, caller)]
    library = runtime.Library(objects)
    assert function(library, "twice", ctypes.c_float, ctypes.c_float)(4) == 8


def test_libraries_are_separate_name_spaces() -> None:
    other = ADD.replace("fadd", "fsub")
    libraries = [runtime.Library([runtime.compile_to_object(parse(t))]) for t in (ADD, other)]
    call = [function(lib, "add", ctypes.c_float, *[ctypes.c_float] * 2) for lib in libraries]
    assert [f(5, 3) for f in call] == [8, 2]


def test_libm_is_found() -> None:
    library = runtime.Library([runtime.compile_to_object(parse(CALL_SINF))])
    assert function(library, "f", ctypes.c_float, ctypes.c_float)(1) == np.float32(np.sin(1.0))


def test_freed_libraries_are_reused_cleanly() -> None:
    code = runtime.compile_to_object(parse(ADD))
    for _ in range(50):
        assert runtime.Library([code]).lookup("add") != 0


def test_threads_look_up_side_by_side() -> None:
    """One thread links what another one looks up, which has to wait for it."""
    code = runtime.compile_to_object(parse(ADD))

    def load(_: int) -> bool:
        return all(runtime.Library([code]).lookup("add") for _ in range(1000))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(load, range(4)))


def test_text_forms() -> None:
    assert "define float @add" in runtime.compile_to_llvm_ir(parse(ADD))
    assert "add:" in runtime.compile_to_assembly(parse(ADD))


def test_passes_run() -> None:
    text = """module {
      llvm.func @f(%a: i32) -> i32 {
        %x = llvm.add %a, %a : i32
        %y = llvm.add %a, %a : i32
        %z = llvm.sub %x, %y : i32
        llvm.return %z : i32
      }
    }"""
    before = runtime.compile_to_llvm_ir(parse(text), CodegenOptions(passes=""))
    after = runtime.compile_to_llvm_ir(parse(text), CodegenOptions(passes="instcombine,gvn"))
    assert "sub i32" in before
    assert "ret i32 0" in after


def test_another_target() -> None:
    options = CodegenOptions(passes="", triple="nvptx64-nvidia-cuda", cpu="sm_90", features="")
    assert ".target sm_90" in runtime.compile_to_assembly(parse(ADD), options)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("module { func.func @f() { return } }", CodegenOptions(), "func.func"),
        (ADD, CodegenOptions(passes="no-such-pass"), "no-such-pass"),
        (ADD, CodegenOptions(level=4), "codegen_level must be 0..3"),
        (ADD, CodegenOptions(triple="pdp11-dec-unix", cpu="x", features=""), "pdp11"),
        (ADD, CodegenOptions(triple="aarch64-linux-gnu"), "cpu and features must be given"),
    ],
)
def test_what_cannot_be_compiled_is_an_error(
    text: str, options: CodegenOptions, message: str
) -> None:
    with pytest.raises(CompileError, match=message):
        runtime.compile_to_object(parse(text), options)


def test_what_llvm_calls_fatal_is_an_error() -> None:
    # An intrinsic of another processor cannot be selected: LLVM takes it for its caller's bug.
    text = """module {
      llvm.func @f() -> i32 {
        %r = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
        llvm.return %r : i32
      }
    }"""
    with pytest.raises(CompileError, match="LLVM cannot compile this module"):
        runtime.compile_to_object(parse(text))
    library = runtime.Library([runtime.compile_to_object(parse(ADD))])
    assert library.lookup("add") != 0


def test_unresolved_symbols_are_named() -> None:
    text = ADD.replace("llvm.func @add", "llvm.func @missing()\n llvm.func @add").replace(
        "llvm.return", "llvm.call @missing() : () -> ()\n llvm.return"
    )
    library = runtime.Library([runtime.compile_to_object(parse(text))])
    with pytest.raises(RuntimeError, match="missing"):
        library.lookup("add")


def test_damaged_objects_are_refused() -> None:
    with pytest.raises(RuntimeError, match="not recognized"):
        runtime.Library([b"not an object file"])
    code = runtime.compile_to_object(parse(ADD))
    with pytest.raises(RuntimeError):
        runtime.Library([code[: len(code) // 2]]).lookup("add")


def test_not_a_module() -> None:
    with pytest.raises(TypeError, match="Module"):
        runtime.compile_to_object(3)


def test_compiling_on_several_threads() -> None:
    def build(i: int) -> float:
        text = ADD.replace("fadd", ("fadd", "fmul", "fsub")[i % 3])
        library = runtime.Library([runtime.compile_to_object(parse(text))])
        return function(library, "add", ctypes.c_float, *[ctypes.c_float] * 2)(6, 3)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(build, range(24))) == [9, 18, 3] * 8


@pytest.mark.parametrize("name", ["__truncsfhf2", "__truncdfhf2"])
def test_half_rounding_is_numpys(name: str) -> None:
    kind = np.float32 if "sf" in name else np.float64
    argument = ctypes.c_float if "sf" in name else ctypes.c_double
    convert = ctypes.CFUNCTYPE(ctypes.c_float, argument)(runtime.symbols()[name])
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        exact = np.arange(0, 2**16, 37, dtype=np.uint16).view(np.float16).astype(kind)
    tricky = [0.0, -0.0, 65519.99, 65520, 2**-25, 2**-24 * 1.5, 3e-8, 1e-40, np.inf, -np.inf]
    near = exact[np.isfinite(exact)] * kind(1 + 2.0**-11)
    random = rng.normal(size=500).astype(kind) * kind(10.0) ** rng.integers(-8, 6, 500)
    for value in [*exact, *near, *random, *np.array(tricky, kind)]:
        got = np.float32(convert(value)).view(np.uint32) & 0xFFFF
        with np.errstate(all="ignore"):
            expected = value.astype(np.float16)
        if np.isnan(expected):
            assert np.uint16(got).view(np.float16) != np.uint16(got).view(np.float16)
        else:
            assert got == expected.view(np.uint16), value


def test_spilled_vectors_lie_on_an_aligned_stack() -> None:
    vector, count = "vector<8xi64>", 40
    lines = [
        f"%p{i} = llvm.getelementptr %a[{i}] : (!llvm.ptr) -> !llvm.ptr, {vector}"
        for i in range(count)
    ]
    lines += [
        f"%v{i} = llvm.load volatile %p{i} {{alignment = 8 : i64}} : !llvm.ptr -> {vector}"
        for i in range(count)
    ]
    lines += [
        f"llvm.store volatile %v{i}, %p{i} {{alignment = 8 : i64}} : {vector}, !llvm.ptr"
        for i in reversed(range(count))
    ]
    text = f"module {{ llvm.func @f(%a: !llvm.ptr) {{ {chr(10).join(lines)} llvm.return }} }}"
    assembly = runtime.compile_to_assembly(
        parse(text), CodegenOptions(cpu="znver4", features="", triple="x86_64-unknown-linux-gnu")
    )
    assert "(%rsp)" in assembly, "nothing was spilled"
    assert "andq\t$-64, %rsp" in assembly
