"""Facts about a compiled program that the tools report."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class ProgramStatistics:
    """Counts and sizes of one executable.

    Attributes:
        kernels: calls of kernels and library functions that one run of the entry dispatches, loops
            counted once.
        distinct_kernels: kernels that were compiled.
        arena_bytes: bytes of scratch memory for intermediates, planned scratch included.
        argument_bytes, result_bytes: bytes of the arguments and results as NumPy arrays.
        alias_bytes: bytes of results that are written into donated arguments.
        stage_seconds: seconds of each stage of compilation, in order.
        cache: whether the machine code was in the compilation cache: `hit`, `miss`, or `off` where
            that was not asked.
    """

    kernels: int
    distinct_kernels: int
    arena_bytes: int
    argument_bytes: int
    result_bytes: int
    alias_bytes: int
    stage_seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    cache: str = "off"
