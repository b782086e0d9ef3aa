"""Calls of compiled programs from machine code, in a loop: what they take without Python around."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from timing import Run, machine_code

from hlo.driver.compile import Compiled
from hlo.executable import runtime

Array = np.ndarray[Any, Any]

_TEXT = """func.func @calls(%entry: !llvm.ptr, %frame: !llvm.ptr, %count: i64) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.index_cast %count : i64 to index
  scf.for %i = %first to %end step %step {
    %code = llvm.call %entry(%frame) : !llvm.ptr, (!llvm.ptr) -> i32
  }
  return
}
"""


class _Frame(ctypes.Structure):
    """`HloCallFrame` of runtime/kernel_abi.h."""

    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("arguments", ctypes.c_void_p),
        ("results", ctypes.c_void_p),
        ("arena", ctypes.c_void_p),
        ("runtime", ctypes.c_void_p),
        ("constants", ctypes.c_void_p),
    )


class EntryCalls:
    """A program's entry, called again and again with the same arguments, results and arena.

    Attributes:
        results: of the last call.
    """

    def __init__(self, program: Compiled, arguments: Sequence[Array], threads: int) -> None:
        stored = program.stored
        self._code = machine_code(_TEXT)
        self._library = runtime.Library(stored.objects)
        self._state = runtime.CallState(threads)
        self.results = [aligned(r.shape, r.dtype) for r in stored.signature.results]
        arena = aligned((stored.statistics.arena_bytes,), np.dtype(np.uint8))
        self._held = (*arguments, *self.results, *stored.constants, arena)
        self._places = [_addresses(a) for a in (arguments, self.results, stored.constants)]
        given, made, constants = map(ctypes.addressof, self._places)
        self._frame = _Frame(
            runtime.ABI_VERSION, 0, given, made, arena.ctypes.data, self._state.address, constants
        )

    def run(self, count: int) -> Run:
        """A run of so many calls."""
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        function = kind(self._code.lookup("calls"))
        entry = ctypes.c_void_p(self._library.lookup(runtime.ENTRY_POINT))
        frame, times = ctypes.c_void_p(ctypes.addressof(self._frame)), ctypes.c_int64(count)

        def run() -> object:
            assert self._held  # what the function works on
            return function(entry, frame, times)

        return run


def _addresses(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array at the start of a cache line, as results and arenas are."""
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(dtype).reshape(shape)
