"""Text of calls of the runtime's library functions (runtime/kernel_abi.h, `HloLibraryFn`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hlo.executable import runtime
from hlo.passes.hlo_to_loops.buffer import Buffer, pointer_to
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of


def _pointer_or_null(b: Builder, buffer: Buffer | None) -> str:
    return b.op("llvm.mlir.zero : !llvm.ptr") if buffer is None else pointer_to(b, buffer)


def array_of(b: Builder, values: Sequence[str], kind: str) -> str:
    """The address of a stack array holding `values`."""
    count = b.op(f"llvm.mlir.constant({max(len(values), 1)} : i64) : i64")
    base = b.load(f"llvm.alloca {count} x {kind} : (i64) -> !llvm.ptr")
    for i, value in enumerate(values):
        at = b.op(f"llvm.getelementptr {base}[{i}] : (!llvm.ptr) -> !llvm.ptr, {kind}")
        b.effect(f"llvm.store {value}, {at} : {kind}, !llvm.ptr")
    return base


def library_kernel(
    region: Region,
    function: str,
    buffers: Sequence[Buffer | None],
    parameters: Sequence[int],
    *,
    callback: str = "",
    replaces: Sequence[tuple[int, int]] = (),
) -> Kernel:
    """A kernel that calls `function(runtime, buffers, parameters, scratch, bytes[, comparator])`.

    The scratch is what the function says it works in on all processors of this process.

    Args:
        region: gives the kernel's inputs and outputs.
        buffers: operands and results in the order the function wants them; None is a null pointer.
        replaces: (result, operand) places in `buffers` that may be the same memory; dropped where
            the operand occurs more than once.
        callback: text of an `llvm.func @NAME__callback` passed as last argument; empty for none.
    """
    inputs, outputs = argument_buffers(region)
    b = Builder()
    pointers = array_of(b, [_pointer_or_null(b, buffer) for buffer in buffers], "!llvm.ptr")
    numbers = array_of(b, [b.constant(p, "i64") for p in parameters], "i64")
    scratch = _scratch(function, [buffer is not None for buffer in buffers], parameters)
    memory = b.op("llvm.mlir.zero : !llvm.ptr") if scratch is None else pointer_to(b, scratch)
    size = b.constant(0 if scratch is None else scratch.elements, "i64")
    arguments = ["%runtime", pointers, numbers, memory, size]
    kinds = ["!llvm.ptr"] * 4 + ["i64"]
    if callback:
        arguments.append(b.op("llvm.mlir.addressof @NAME__callback : !llvm.ptr"))
        kinds.append("!llvm.ptr")
    b.load(f"llvm.call @{function}({', '.join(arguments)}) : ({', '.join(kinds)}) -> i32")
    own = [] if scratch is None else [scratch]
    kernel = kernel_of(
        b, inputs.values(), outputs, 1,
        runtime=True,
        replaces=_pairs(region, buffers, replaces),
        scratch=own,
        declarations=[f"llvm.func @{function}({', '.join(kinds)}) -> i32"],
    )  # fmt: skip
    return replace(kernel, text=callback + kernel.text)


def _scratch(function: str, present: Sequence[bool], parameters: Sequence[int]) -> Buffer | None:
    size = runtime.library_scratch_bytes(function, present, parameters, runtime.hardware_threads())
    return Buffer("%scratch0", size, element_type("ui8")) if size else None


def _pairs(
    region: Region, buffers: Sequence[Buffer | None], replaces: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Pairs of places in `buffers` as pairs of (output, input) of the kernel."""
    inputs, outputs = argument_buffers(region)
    names_in, names_out = [b.name for b in inputs.values()], [b.name for b in outputs]
    names = ["" if b is None else b.name for b in buffers]
    return tuple(
        (names_out.index(names[result]), names_in.index(names[operand]))
        for result, operand in replaces
        if names[result] and names[operand] and names.count(names[operand]) == 1
    )
