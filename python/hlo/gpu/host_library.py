"""Calls of the CPU runtime's functions, for what no GPU has a kernel of, and of Python's."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from hlo.diagnostics import CompileError, ExecutionError
from hlo.executable import callbacks, runtime
from hlo.gpu.device import Bytes

_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
    ctypes.c_void_p, ctypes.c_int64,
)  # fmt: skip


def call_library(function: str, buffers: Sequence[Bytes], parameters: Sequence[int]) -> None:
    """Calls an `HloLibraryFn` of runtime/kernel_abi.h.

    Args:
        buffers: operands, then results, in memory of the host.
        parameters: its numbers.

    Raises:
        CompileError: the runtime has no such function.
        ExecutionError: it fails; what a function of Python raises is not caught.
    """
    if function == callbacks.FUNCTION:
        _call_python(buffers, parameters)
        return
    address = runtime.symbols().get(function)
    known = function.startswith("hlo_rt_lapack_") or function == runtime.RANDOM_STATE_FUNCTION
    if address is None or not known:
        raise CompileError(f"the launch plan calls {function}, which this runtime has not")
    state = runtime.CallState()
    pointers = (ctypes.c_void_p * len(buffers))(*(b.ctypes.data for b in buffers))
    numbers = np.array(parameters, np.int64)
    if _FUNCTION(address)(state.address, pointers, numbers.ctypes.data, None, 0) != 0:
        raise ExecutionError(f"{function} fails: {state.error}")


def _call_python(buffers: Sequence[Bytes], parameters: Sequence[int]) -> None:
    number, operands, results, *sizes = parameters  # of results one may be the order of effects
    callback = callbacks.find(number)
    if callback is None or len(callback.operands) != operands or len(callback.results) > results:
        raise CompileError(
            f"the launch plan calls the Python function {number} of another process; compile the "
            "program in this one"
        )
    parts = [buffer[:size].data for buffer, size in zip(buffers, sizes, strict=True)]
    callbacks.run(number, tuple(parts))
