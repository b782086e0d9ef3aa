"""A run of columns of a gradient, copied for the tiles of a block of positions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.gradient_blocks import GradientPlan
from hlo.passes.hlo_to_loops.graph import Node

Range = tuple[str, str]  # SSA indices: from, to


class ColumnsCopy:
    """The columns that the tiles of a work unit multiply by, at the positions of one block.

    Args:
        node: a convolution whose kernel is the gradient of another one's result.
        kind: that they are copied in.
    """

    def __init__(self, em: Emitter, node: Node, plan: GradientPlan, kind: ElementType) -> None:
        self.em, self.plan, self.tensor = em, plan, node.operands[1]
        labels = node.attributes["dimension_numbers"]["kernel"]
        spatial = sorted(label for label in labels if label not in "io")
        # The dimension of the tensor of each of the plan's.
        self.order = [labels.index(label) for label in ("i", *spatial)]
        size = math.prod(plan.sizes) * plan.tiling.width
        self.buffer = Buffer(em.b.stack_buffer(size, kind.memory), size, kind)
        self.firsts: Sequence[Affine] = ()
        self.column: Affine = ZERO

    def copy(self, firsts: Sequence[Affine], ranges: Sequence[Range], column_block: Affine) -> None:
        """Copies a block that begins at some positions; from here on they come from the copy.

        Args:
            ranges: the positions of the block.
            column_block: the run of columns.
        """
        self.firsts, self.column = firsts, column_block * self.plan.tiling.width
        self.em.sources.pop(self.tensor, None)
        self._along(ranges, [])
        self.em.provide(self.tensor, self._copied)

    def _along(self, ranges: Sequence[Range], at: list[Affine]) -> None:
        em, b = self.em, self.em.b
        if not ranges:
            self._row(at)
            return
        extent, ((start, end), *rest) = self.plan.extents[len(at)], ranges
        with b.loop(start, end, b.index(1)) as loop:
            self._along(rest, [*at, em.name_index(loop.iv, extent)])

    def _row(self, at: Sequence[Affine]) -> None:
        """The vectors of one position."""
        em, b, tiling = self.em, self.em.b, self.plan.tiling
        for v in range(tiling.vectors):
            name = b.load(
                f"arith.addi {em.index(self.column)}, {b.index(v * tiling.lanes)} : index"
            )
            em.variable(name, tiling.shape[-1])
            left = b.op(f"arith.subi {b.index(tiling.shape[-1])}, {name} : index")
            mask = None
            if tiling.shape[-1] % tiling.width:
                mask = b.lanes_below(left, tiling.lanes)
            with em.vector(name, tiling.lanes, mask):
                em.hoist_from_here()
                value = em.element(self.tensor, self._position(at, Affine.variable(name)))
                value = elementwise.convert(b, value, self.buffer.type)
                place = em.index(self._place(at, ZERO + v * tiling.lanes))
                kind = b.type_of(self.buffer.type.memory)
                to = f"{self.buffer.name}[{place}] : {self.buffer.memref}"
                b.effect(f"vector.store {value.name}, {to}, {kind}")

    def _position(self, at: Sequence[Affine], feature: Affine) -> Position:
        dims = [feature] * self.tensor.rank
        for d, index in zip(self.order, at, strict=True):
            dims[d] = index
        return Position.of_dims(dims)

    def _place(self, at: Sequence[Affine], column: Affine) -> Affine:
        """Where in the buffer a column of a position is."""
        row = ZERO
        for index, first, size in zip(at, self.firsts, self.plan.sizes, strict=True):
            row = row * size + index + first * -1
        return row * self.plan.tiling.width + column

    def _copied(self, position: Position) -> Value:
        assert position.dims is not None, "convolutions ask for their kernel by dimensions"
        at = [position.dims[d] for d in self.order]
        feature = next(i for d, i in enumerate(position.dims) if d not in self.order)
        return self.em.load(self.buffer, self._place(at, feature + self.column * -1))
