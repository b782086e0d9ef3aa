"""Machine code from the text of modules, made on threads beside the caller's."""

from __future__ import annotations

import ctypes

import pytest

import hlo.ir  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers MLIR's passes
from hlo.diagnostics import CompileError
from hlo.executable import runtime
from hlo.executable.runtime import CodegenOptions


def scaled(factor: int) -> str:
    return f"""module {{
      func.func @scale{factor}(%a: i64) -> i64 {{
        %f = arith.constant {factor} : i64
        %r = arith.muli %a, %f : i64
        return %r : i64
      }}
    }}"""


TO_LLVM = "builtin.module(convert-to-llvm,reconcile-unrealized-casts)"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_queue_gives_objects_in_order(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "hardware_threads", lambda: threads)
    queue = runtime.CodegenQueue()
    for factor in range(20):
        queue.add(scaled(factor), TO_LLVM, CodegenOptions())
    objects = queue.finish()
    assert len(objects) == 20
    for factor, code in enumerate(objects):
        library = runtime.Library([code])
        address = library.lookup(f"scale{factor}")
        assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(7) == 7 * factor


def test_the_longest_module_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "hardware_threads", lambda: 1)  # no other thread has begun
    queue = runtime.CodegenQueue()
    for name in ("short", "much_longer", "medium"):
        queue.add(f"module {{ {name} }}", TO_LLVM, CodegenOptions())
    with pytest.raises(CompileError, match="much_longer"):  # the first error that is met
        queue.finish()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module { oops }", "cannot read the module"),
        (
            "module { func.func @f(%a: i64) -> i32 { return %a : i64 } }",
            "cannot read the module.*type of return operand",
        ),
        (
            'module { func.func @f() { "test.op"() : () -> () return } }',
            "cannot read the module.*unregistered dialect",
        ),
        ("module { llvm.func @f(%a: !llvm.ptr) attributes {passthrough = [0]} }", "translate"),
    ],
)
def test_a_module_that_cannot_be_compiled_is_an_error(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=f"(?s){message}"):
        runtime.compile_text(text, TO_LLVM, CodegenOptions())
    queue = runtime.CodegenQueue()
    for code in (scaled(1), text, scaled(2)):
        queue.add(code, TO_LLVM, CodegenOptions())
    with pytest.raises(CompileError, match=f"(?s){message}"):
        queue.finish()
    assert runtime.compile_text(scaled(3), TO_LLVM, CodegenOptions())


def test_a_queue_may_be_dropped_with_work_left() -> None:
    queue = runtime.CodegenQueue()
    for factor in range(20):
        queue.add(scaled(factor), TO_LLVM, CodegenOptions())
    del queue
    assert runtime.compile_text(scaled(3), TO_LLVM, CodegenOptions())


def test_an_unknown_pipeline_is_an_error() -> None:
    with pytest.raises(CompileError, match="cannot read the pass pipeline"):
        runtime.compile_text(scaled(1), "builtin.module(no-such-pass)", CodegenOptions())
