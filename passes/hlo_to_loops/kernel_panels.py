"""Kernels of convolutions that lie in memory as the register tiles of a run of columns read them.

A panel is all of a kernel for the columns of one tile: taps, then input features, then the columns
side by side. Tiles read it from one end to the other, where rows of a kernel with many output
features would be far apart and share sets of the caches. In the IR panels are a tensor
`[panels, taps..., i, columns]`, and the convolution's kernel is a view of it that moves nothing:
ops marked with `hlo.panels`. Where factors are words, those of a column lie side by side:
`[panels, taps..., i / span, columns, span]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Tensor

PANELS = "hlo.panels"  # on the ops that take panels for a kernel


def is_view_of_panels(node: Node) -> bool:
    """Whether an op takes panels for the kernel of a convolution."""
    return PANELS in node.attributes


def panels_of(kernel: Tensor) -> Tensor | None:
    """The panels that a kernel is a view of; None if it is none."""
    found = kernel
    while found.producer is not None and is_view_of_panels(found.producer):
        found = found.producer.operands[0]
    return None if found is kernel else found


def columns_of(kernel: Tensor, panels: Tensor) -> tuple[int, int]:
    """The columns of a panel of a kernel, and how many elements of each are a word."""
    if panels.rank == kernel.rank + 2:
        return panels.shape[-2], panels.shape[-1]
    return panels.shape[-1], 1


@dataclass
class KernelPanels:
    """The panel of one run of columns, in the memory of a kernel's input.

    Attributes:
        kernel: the convolution's.
        buffer: of the panels.
        width: columns of a panel.
    """

    em: Emitter
    kernel: Tensor
    buffer: Buffer
    width: int
    _column_block: Affine = ZERO

    @property
    def depth(self) -> int:
        """Rows of a panel."""
        return self.kernel.size // self.kernel.shape[-1]

    def take(self, column_block: Affine) -> None:
        """From here on the kernel's elements come from the panel of that run of columns."""
        self._column_block = column_block
        self.em.sources.pop(self.kernel, None)
        self.em.provide(self.kernel, self._element)

    def row(self, row: Affine) -> Affine:
        """A row of the panel, among those of all panels."""
        return self._column_block * self.depth + row

    def _element(self, position: Position) -> Value:
        assert position.dims is not None, "convolutions ask for their kernel by dimensions"
        *rest, feature = position.dims
        row = self.row(Position.of_dims(tuple(rest)).linear(self.kernel.shape[:-1]))
        inside = feature + self._column_block * -self.width
        return self.em.load(self.buffer, row * self.width + inside)
