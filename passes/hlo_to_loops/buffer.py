"""Memory that kernels read and write."""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.element_types import ElementType


@dataclass(frozen=True, slots=True)
class Buffer:
    """A memref in scope: `name : memref<elements x memory type>`, row-major.

    Attributes:
        layout: of one that does not begin where its memory does, as MLIR writes it.
    """

    name: str
    elements: int
    type: ElementType
    layout: str = ""

    @property
    def memref(self) -> str:
        layout = f", {self.layout}" if self.layout else ""
        return f"memref<{self.elements * self.type.parts}x{self.type.memory}{layout}>"


def pointer_to(b: Builder, buffer: Buffer) -> str:
    """The address of a buffer as an `!llvm.ptr`, where any width is emitted."""
    with b.width(0):
        address = b.op(
            f"memref.extract_aligned_pointer_as_index {buffer.name} : {buffer.memref} -> index"
        )
        integer = b.op(f"arith.index_cast {address} : index to i64")
        return b.op(f"llvm.inttoptr {integer} : i64 to !llvm.ptr")
