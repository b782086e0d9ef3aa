"""Small programs in the llvm dialect, for tests of the runtime below the compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np
from mlir import ir

from hlo.executable import runtime

FRAME = """
    %args_slot = llvm.getelementptr %frame[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %args = llvm.load %args_slot : !llvm.ptr -> !llvm.ptr
    %results_slot = llvm.getelementptr %frame[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %results = llvm.load %results_slot : !llvm.ptr -> !llvm.ptr
    %arena_slot = llvm.getelementptr %frame[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %arena = llvm.load %arena_slot : !llvm.ptr -> !llvm.ptr
    %runtime_slot = llvm.getelementptr %frame[32] : (!llvm.ptr) -> !llvm.ptr, i8
    %runtime = llvm.load %runtime_slot : !llvm.ptr -> !llvm.ptr
    %constants_slot = llvm.getelementptr %frame[40] : (!llvm.ptr) -> !llvm.ptr, i8
    %constants = llvm.load %constants_slot : !llvm.ptr -> !llvm.ptr
"""

DECLARATIONS = """
  llvm.func @hlo_rt_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)
  llvm.func @hlo_rt_set_error(!llvm.ptr, !llvm.ptr)
  llvm.func @hlo_rt_threads(!llvm.ptr) -> i32
"""


def parse(text: str) -> ir.Module:
    context = ir.Context()
    runtime.register_llvm_translation(context)
    return ir.Module.parse(text, context)


def entry_module(body: str, declarations: str = "") -> ir.Module:
    """A module whose `hlo_main` has the frame's fields as %args, %results, ... and returns 0."""
    return parse(
        f"module {{ {DECLARATIONS} {declarations}\n"
        f"  llvm.func @hlo_main(%frame: !llvm.ptr) -> i32 {{ {FRAME} {body}\n"
        "    %success = llvm.mlir.constant(0 : i32) : i32\n"
        "    llvm.return %success : i32\n  }\n}"
    )


def pointer(name: str, table: str, index: int) -> str:
    """Text that defines %name as entry `index` of a table of pointers."""
    return f"""
    %{name}_slot = llvm.getelementptr %{table}[{index}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %{name} = llvm.load %{name}_slot : !llvm.ptr -> !llvm.ptr
"""


def add_one_body(count: int) -> str:
    """Text that writes the f32 argument 0 plus one to result 0, in a loop without a pool."""
    return (
        pointer("x", "args", 0)
        + pointer("y", "results", 0)
        + f"""
    %zero = llvm.mlir.constant(0 : i64) : i64
    %unit = llvm.mlir.constant(1 : i64) : i64
    %n = llvm.mlir.constant({count} : i64) : i64
    %one = llvm.mlir.constant(1.0 : f32) : f32
    llvm.br ^head(%zero : i64)
  ^head(%i: i64):
    %more = llvm.icmp "slt" %i, %n : i64
    llvm.cond_br %more, ^body, ^done
  ^body:
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %px {{alignment = 4 : i64}} : !llvm.ptr -> f32
    %w = llvm.fadd %v, %one : f32
    llvm.store %w, %py {{alignment = 4 : i64}} : f32, !llvm.ptr
    %next = llvm.add %i, %unit : i64
    llvm.br ^head(%next : i64)
  ^done:
"""
    )


def copy_body(size: int) -> str:
    """Text that copies `size` bytes of argument 0 to result 0."""
    return (
        pointer("x", "args", 0)
        + pointer("y", "results", 0)
        + f"""
    %size = llvm.mlir.constant({size} : i64) : i64
    "llvm.intr.memmove"(%y, %x, %size) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
"""
    )


def runtime_function(name: str, result: object, *arguments: object) -> Callable[..., object]:
    """A C function of the runtime, callable through ctypes."""
    return ctypes.CFUNCTYPE(result, *arguments)(runtime.symbols()[name])  # type: ignore[arg-type]


def call_library(
    name: str,
    arrays: Sequence[np.ndarray | None],
    numbers: Sequence[int],
    *rest: object,
    threads: int = 2,
) -> None:
    """Calls a library function in exactly the scratch that it asks for; RuntimeError if it fails.

    It must take no other memory, and write nowhere else.
    """
    size = runtime.library_scratch_bytes(name, [a is not None for a in arrays], numbers, threads)
    around, fill = 64, 0xA5
    room = np.full(size + 3 * around, fill, np.uint8)
    begin = -room.ctypes.data % around + around
    state = runtime.CallState(threads)
    types = [ctypes.c_void_p] * 4 + [ctypes.c_int64] + [type(x) for x in rest]
    before = runtime.memory_statistics()["allocations"]
    code = runtime_function(name, ctypes.c_int32, *types)(
        state.address,
        (ctypes.c_void_p * len(arrays))(*[None if a is None else a.ctypes.data for a in arrays]),
        (ctypes.c_int64 * len(numbers))(*numbers),
        room.ctypes.data + begin,
        size,
        *rest,
    )
    if code:
        raise RuntimeError(state.error)
    assert runtime.memory_statistics()["allocations"] == before
    assert (room[:begin] == fill).all()
    assert (room[begin + size :] == fill).all()
