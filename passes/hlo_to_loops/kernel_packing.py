"""A convolution's kernel, computed into scratch for the register tiles of a run of columns.

The kernel may come from other tensors: turned around and transposed, as in the gradient by the
input, dequantised, converted. Each work unit packs the columns of its tiles once, in the type of
the sums; loads that are contiguous across the columns are transposed in registers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.contraction_tiling import Tiling, packed_elements
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.tiled_kernel import Range, Tile

ROWS_AHEAD = 64  # of a kernel in memory, fetched while those before them are copied


class KernelPacking:
    """The packed columns of the work unit that is emitted.

    Args:
        kind: element type of the sums.
    """

    def __init__(self, em: Emitter, node: Node, tiling: Tiling, kind: ElementType) -> None:
        self.em, self.tensor, self.tiling = em, node.operands[1], tiling
        size = packed_elements(node, tiling)
        self.buffer = Buffer(em.b.stack_buffer(size, kind.memory), size, kind)
        features = self.tensor.shape[-1]
        # The space of the kernel, in loops along which all that makes it is affine.
        self.extents = merge_cuts({features, *em.cuts(self.tensor)}, self.tensor.size)
        if features == 1:
            self.extents.append(1)
        if self.extents[-1] != features:
            raise NotVectorizableError("what makes the kernel is not affine in its features")
        self.first = ZERO

    def pack(self, first: Affine, columns: int) -> None:
        """Packs `columns` features from the `first` on, and takes the kernel from there."""
        self.first = first
        self.em.sources.pop(self.tensor, None)
        gathers, self.em.gathers = self.em.gathers, True
        self._rows(self.extents[:-1], ZERO, columns)
        self.em.gathers = gathers
        self.em.provide(self.tensor, self._packed)

    def _packed(self, position: Position) -> Value:
        assert position.dims is not None, "convolutions ask for their kernel by dimensions"
        *rest, feature = position.dims
        row = Position.of_dims(tuple(rest)).linear(self.tensor.shape[:-1])
        return self.em.load(self.buffer, row * self.tiling.width + feature + self.first * -1)

    def _rows(self, extents: Sequence[int], row: Affine, columns: int) -> None:
        """Loops over rows of the kernel, of all its features; the innermost by squares."""
        em, b = self.em, self.em.b
        if not extents:
            self._square(Range(b.index(0), 1), row, columns)
            return
        extent, below = extents[0], math.prod(extents[1:])
        if len(extents) > 1:
            with b.loop(b.index(0), b.index(extent), b.index(1)) as loop:
                index = em.variable(loop.iv, extent)
                self._rows(extents[1:], row + index * below, columns)
            return
        lanes = self.tiling.lanes
        whole = extent // lanes * lanes
        if whole:
            with b.loop(b.index(0), b.index(whole), b.index(lanes)) as loop:
                em.variable(loop.iv, extent)
                self._square(Range(loop.iv, lanes), row, columns)
        if whole < extent:
            name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
            em.variable(name, extent)
            self._square(Range(name, extent - whole), row, columns)

    def _square(self, across: Range, row: Affine, columns: int) -> None:
        """Every vector of some neighbouring rows."""
        b, em, lanes = self.em.b, self.em, self.tiling.lanes
        features = self.tensor.shape[-1]
        for v in range(-(-columns // lanes)):
            count = min(lanes, columns - v * lanes)
            mask = None
            if count < lanes:
                mask = b.first_lanes(count, lanes)
            at = em.index(self.first + v * lanes)
            column = b.load(f"arith.addi {at}, {b.index(0)} : index")
            em.variable(column, features)
            level = b.level
            with b.loop(b.index(0), b.index(across.count), b.index(1)) as loop:
                name = b.op(f"arith.addi {across.start}, {loop.iv} : index")
                em.variable(loop.iv, lanes)
                at_row = row + em.variable(name, self._innermost)
                if across.count > 1:
                    along = Range(column, count)
                    em.tile = Tile(
                        level, Affine.variable(name), loop.iv, lanes, across, along, mask
                    )
                with em.vector(column, lanes, mask):
                    em.hoist_from_here()
                    self._put(at_row, Affine.variable(column), v * lanes)
                em.tile = None

    @property
    def _innermost(self) -> int:
        return self.extents[-2] if len(self.extents) > 1 else 1

    def _put(self, row: Affine, feature: Affine, column: int) -> None:
        position = Position.of_offset(row * self.tensor.shape[-1] + feature)
        b, buffer = self.em.b, self.buffer
        if (source := self.em.buffers.get(self.tensor)) is not None:
            ahead = self.em.index((row + ROWS_AHEAD) * self.tensor.shape[-1] + feature)
            place = f"{source.name}[{ahead}]"
            b.effect(f"memref.prefetch {place}, read, locality<2>, data : {source.memref}")
        value = elementwise.convert(b, self.em.element(self.tensor, position), buffer.type)
        place = f"{buffer.name}[{self.em.index(row * self.tiling.width + column)}]"
        vector = b.type_of(buffer.type.memory)
        b.effect(f"vector.store {value.name}, {place} : {buffer.memref}, {vector}")
