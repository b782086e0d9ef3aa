"""Memory that kernels read and write."""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_loops.element_types import ElementType


@dataclass(frozen=True, slots=True)
class Buffer:
    """A memref in scope: `name : memref<elements x memory type>`, row-major."""

    name: str
    elements: int
    type: ElementType

    @property
    def memref(self) -> str:
        return f"memref<{self.elements * self.type.parts}x{self.type.memory}>"
