"""What kernels keep on the stack, and how much that may be.

Packed panels, rows that are read again, accumulators of columns: each thread has its own, for as
long as it works on one unit, in memory that is still in its caches from the unit before. The
runtime sees to it that every thread that runs a program has room (runtime/stack.h).
"""

from __future__ import annotations

import re

KERNEL_STACK_BYTES = 2 << 20
"""Most bytes that one kernel may keep on the stack; as in runtime/stack.h."""

_BUFFER = re.compile(r"memref\.alloca\(\).*: memref<(\d+)x(\w+)>")


def element_bytes(scalar: str) -> int:
    """Bytes of an element of a buffer, by its MLIR type: `f32`, `i1`, `index`."""
    digits = scalar.lstrip("abcdefghijklmnopqrstuvwxyz")
    return max(int(digits) // 8, 1) if digits else 8


def stack_bytes(text: str) -> int:
    """Bytes on the stack of the function of a kernel's text that keeps most there.

    The functions of a text call one another only from those that keep nothing.
    """
    return max(
        sum(int(size) * element_bytes(scalar) for size, scalar in _BUFFER.findall(function))
        for function in text.split("func.func")
    )
