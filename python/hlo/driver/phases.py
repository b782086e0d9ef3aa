"""The phases of compilation: where `hlo-opt --compile-to=PHASE` and `Compiled.as_text(PHASE)`
can stop.
"""

from __future__ import annotations

import enum
from functools import cached_property

from hlo.diagnostics import CompileError


class Phase(enum.Enum):
    """What the program is after a stage. The order of definition is the order of compilation."""

    INPUT = ("input", "the program as it was read or traced, in the hlo dialect")
    LEGALIZED = (
        "legalized",
        "only the core operations: no tuples, calls, composites, or derived operations",
    )
    SIMPLIFIED = (
        "simplified",
        "identities applied, constants folded, common subexpressions shared, dead code gone",
    )
    FUSED = (
        "fused",
        "every operation that becomes a kernel is in an hlo.fusion with a kind and a name",
    )
    HOST = (
        "host",
        "kernels are functions; @main is a host program on memrefs that allocates and calls them",
    )
    DEALLOCATED = (
        "deallocated",
        "aliases share a buffer, and each buffer is freed at its last use",
    )
    PLACED = ("placed", "buffers are offsets into one arena, or an argument's or a result's memory")
    LLVM = (
        "llvm",
        "the host program and its kernels in the llvm dialect, as they go to the code generator",
    )

    def __init__(self, label: str, description: str) -> None:
        self.label = label
        self.description = description

    @cached_property
    def order(self) -> int:
        """The position of the phase in compilation, from 0."""
        return list(Phase).index(self)

    @classmethod
    def parse(cls, label: str) -> Phase:
        """The phase with that label.

        Raises:
            CompileError: there is none; the message lists the phases.
        """
        for phase in cls:
            if phase.label == label:
                return phase
        known = ", ".join(phase.label for phase in cls)
        raise CompileError(f"expected a phase, found {label!r}; the phases are: {known}")
