"""Packing of the operands of a matrix product: what a tile reads, contiguous, in scratch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers
from hlo.passes.hlo_to_loops.matrix_multiply import MatrixOperand
from hlo.passes.hlo_to_loops.product_blocking import blocking_of, is_transposed_left, lanes_of
from hlo.passes.hlo_to_loops.register_transpose import transpose_square

ALIASING_BYTES = 4096  # lines a multiple of this apart share the 8 ways of a set of the cache
WAYS = 8


@dataclass(frozen=True)
class Part:
    """A part of the depth.

    Attributes:
        index: its number.
        at: where it begins.
        steps: SSA name of how many steps it has.
        next: SSA name of where in the right operand what is packed after it begins.
    """

    index: Affine
    at: Affine
    steps: str
    next: str


class PanelPacking:
    """The operands of one product and their packed copies, of the work unit being emitted.

    Attributes:
        kind: element type of the sums.
        item, items: index of the product in the batch, and in each batch dimension.
        first_tile, first_panel: where the unit's block begins.
        tile_count, panel_count: SSA names of the block's extents.
    """

    def __init__(
        self, region: Region, node: Node, left: MatrixOperand, right: MatrixOperand
    ) -> None:
        self.region, self.node, self.left, self.right = region, node, left, right
        self.kind = product_type(node.results[0].type)
        self.batch = tuple(axis.extent for axis in left.batch)
        self.left_is_transposed = is_transposed_left(left)
        self.right_is_turned = right.summed.stride == 1 and right.free.stride != 1
        self.blocking = blocking_of(
            left.free.extent, right.free.extent, left.summed.extent, lanes_of(node),
            batch=math.prod(self.batch), packs_left=self.left_is_transposed,
        )  # fmt: skip
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        lhs, step = node.operands[0], left.free.stride * (4 if self.kind.name == "f32" else 8)
        self.copies_left = (
            self.left_is_transposed
            or lhs.type != self.kind
            or (self.blocking.rows > WAYS and step % ALIASING_BYTES == 0)
        )
        self.item, self.items = ZERO, list[Affine]()
        self.first_tile = self.first_panel = ZERO
        self.tile_count = self.panel_count = ""

    # -- scratch -----------------------------------------------------------------------------------
    def make_scratch(self) -> None:
        """Buffers for the packed operands, on the stack."""
        s = self.blocking
        # Copied rows, or runs of rows, are some lines more than a power of two apart.
        self.left_pitch = -(-s.depth // s.lanes) * s.lanes + s.lanes
        self.left_size = s.rows * self.left_pitch
        if self.left_is_transposed:
            self.left_pitch = s.depth * s.lanes + s.lanes
            self.left_size = -(-s.tiles * s.rows // s.lanes) * self.left_pitch
        self.packed_size = s.panels * s.depth * s.width
        self.packed = self.scratch(self.packed_size)
        self.copied = self.scratch(self.left_size) if self.copies_left else ""

    def scratch(self, elements: int) -> str:
        """A buffer of sums' elements on the stack."""
        return self.builder.load(
            f"memref.alloca() {{alignment = 64 : i64}} : {self._memref(elements)}"
        )

    def _memref(self, elements: int) -> str:
        return f"memref<{elements}x{self.kind.memory}>"

    def vector(self) -> str:
        return f"vector<{self.blocking.lanes}x{self.kind.memory}>"

    def zero(self) -> str:
        with self.builder.width(self.blocking.lanes):
            return elementwise.constant(self.builder, self.kind, 0).name

    def put(self, value: str, buffer: str, size: int, at: Affine) -> None:
        """Stores a vector in scratch."""
        place = f"{buffer}[{self.em.index(at)}]"
        self.builder.effect(
            f"vector.store {value}, {place} : {self._memref(size)}, {self.vector()}"
        )

    def get(self, buffer: str, size: int, at: Affine) -> str:
        """Loads a vector from scratch."""
        place = f"{buffer}[{self.em.index(at)}]"
        return self.builder.load(f"vector.load {place} : {self._memref(size)}, {self.vector()}")

    # -- places ------------------------------------------------------------------------------------
    def right_at(self, column: Affine, depth: Affine) -> Affine:
        """Offset in the right operand."""
        return self._at(self.right, column, depth)

    def left_at(self, row: Affine, depth: Affine) -> Affine:
        """Offset in the left operand."""
        return self._at(self.left, row, depth)

    def _at(self, walk: MatrixOperand, free: Affine, depth: Affine) -> Affine:
        total = free * walk.free.stride + depth * walk.summed.stride
        for axis, index in zip(walk.batch, self.items, strict=True):
            total = total + index * axis.stride
        return total

    def _load(self, side: int, offset: Affine) -> Value:
        value = self.em.element(self.node.operands[side], Position.of_offset(offset))
        return elementwise.convert(self.builder, value, self.kind)

    def columns(self, cut: bool) -> int:
        """Columns of a panel; `cut`: of the last one."""
        return self.blocking.last_columns if cut else self.blocking.width

    def left_element(self, tile: Affine, row: int, step: Affine, part: Part) -> str:
        """The left operand in a row of a tile at a step of a part of the depth."""
        b, em, s = self.builder, self.em, self.blocking
        if not self.copies_left:
            row_at = (self.first_tile + tile) * s.rows + row
            return self._load(0, self.left_at(row_at, part.at + step)).name
        at = step + row * self.left_pitch
        if self.left_is_transposed:
            run, lane = em.divmod(tile * s.rows + row, s.lanes)
            at = run * self.left_pitch + step * s.lanes + lane
        place = f"{self.copied}[{em.index(at)}]"
        return b.load(f"memref.load {place} : {self._memref(self.left_size)}")

    def right_vector(self, panel: Affine, step: Affine, vector: int) -> str:
        """A vector of a panel of the right operand at a step of the part that is packed."""
        s = self.blocking
        at = panel * (s.depth * s.width) + step * s.width + vector * s.lanes
        return self.get(self.packed, self.packed_size, at)

    # -- control -----------------------------------------------------------------------------------
    def is_part(self, part: Part, number: int) -> str:
        """Whether a part of the depth is that one."""
        b = self.builder
        return b.op(f"arith.cmpi eq, {self.em.index(part.index)}, {b.index(number)} : index")

    def at_last(
        self, index: Affine, count: int, uneven: bool, body: Callable[[bool], None]
    ) -> None:
        """`body(True)` for the last of `count`, which is cut off, `body(False)` for the others."""
        if not uneven:
            body(False)
            return
        if count == 1:
            body(True)
            return
        b, em = self.builder, self.em
        name = em.index(index)
        for cut, predicate in ((False, "ne"), (True, "eq")):
            condition = b.op(f"arith.cmpi {predicate}, {name}, {b.index(count - 1)} : index")
            with b.when(condition):
                body(cut)

    def lanes_from(
        self, index: Affine, extent: int, valid: int, body: Callable[[Affine], None]
    ) -> None:
        """`body` in vector mode, lanes along `index`, the first `valid` of them."""
        b, em, lanes = self.builder, self.em, self.blocking.lanes
        mask = None
        if valid < lanes:
            mask = b.op(f"vector.constant_mask [{valid}] : vector<{lanes}xi1>")
        with b.width(0):
            name = b.load(f"arith.addi {em.index(index)}, {b.index(0)} : index")
        em.variable(name, extent)
        with em.vector(name, lanes, mask):
            em.hoist_from_here()
            body(Affine.variable(name))

    def _in_vectors(self, part: Part, body: Callable[[Affine, int], None]) -> None:
        """`body(step, count)` for whole vectors of steps of a part, and for the last one's rest."""
        b, em, s = self.builder, self.em, self.blocking
        rest = s.k % s.lanes
        end = part.steps
        if rest and s.depth_blocks == 1:
            end = b.index(s.k - rest)
        elif rest:
            lanes = b.index(s.lanes)
            vectors = b.op(f"arith.divui {end}, {lanes} : index")
            end = b.op(f"arith.muli {vectors}, {lanes} : index")
        if s.depth >= s.lanes:
            with b.loop(b.index(0), end, b.index(s.lanes)) as loop:
                body(em.variable(loop.iv, s.depth), s.lanes)
        if not rest:
            return
        last = ZERO + (s.last_depth - rest)
        if s.depth_blocks == 1:
            body(last, rest)
            return
        with b.when(self.is_part(part, s.depth_blocks - 1)):
            body(last, rest)

    # -- the right operand -------------------------------------------------------------------------
    def pack_right(self, part: Part) -> None:
        """Panels of the right operand: their columns side by side for each step of the depth."""
        b, em, s = self.builder, self.em, self.blocking
        pack = self._pack_square if self.right_is_turned else self._pack_row

        def steps(step: Affine, count: int) -> None:
            with b.loop(b.index(0), self.panel_count, b.index(1)) as loop:
                panel = em.variable(loop.iv, s.panels)
                self.at_last(
                    self.first_panel + panel, s.all_panels, s.last_columns != s.width,
                    lambda cut: pack(panel, part.at, step, count, cut),
                )  # fmt: skip

        if self.right_is_turned:
            self._in_vectors(part, steps)
            return
        with b.loop(b.index(0), part.steps, b.index(1)) as loop:
            steps(em.variable(loop.iv, s.depth), 1)

    def _pack_row(self, panel: Affine, depth_at: Affine, step: Affine, _: int, cut: bool) -> None:
        """One step of the depth: a row of the panel."""
        s, columns = self.blocking, self.columns(cut)
        first = (self.first_panel + panel) * s.width
        for v in range(-(-columns // s.lanes)):
            at = panel * (s.depth * s.width) + step * s.width + v * s.lanes

            def store(column: Affine, at: Affine = at) -> None:
                value = self._load(1, self.right_at(column, depth_at + step))
                self.put(value.name, self.packed, self.packed_size, at)

            valid = min(s.lanes, columns - v * s.lanes)
            self.lanes_from(first + v * s.lanes, s.n, valid, store)

    def _pack_square(
        self, panel: Affine, depth_at: Affine, step: Affine, steps: int, cut: bool
    ) -> None:
        """The same from columns that are contiguous along the depth: squares are turned."""
        b, s, columns = self.builder, self.blocking, self.columns(cut)
        first = (self.first_panel + panel) * s.width
        for v in range(-(-columns // s.lanes)):
            valid = min(s.lanes, columns - v * s.lanes)
            rows: list[str] = [self.zero()] * s.lanes

            def load(lane: Affine, v: int = v, valid: int = valid, rows: list[str] = rows) -> None:
                for c in range(valid):
                    column = first + (v * s.lanes + c)
                    rows[c] = self._load(1, self.right_at(column, lane)).name

            self.lanes_from(depth_at + step, s.k, steps, load)
            with b.width(s.lanes):
                rows = transpose_square(b, rows, self.kind.register)
            for d in range(steps):
                at = panel * (s.depth * s.width) + (step + d) * s.width + v * s.lanes
                self.put(rows[d], self.packed, self.packed_size, at)

    # -- the left operand --------------------------------------------------------------------------
    def pack_left(self, part: Part) -> None:
        """The block of a transposed left operand, in runs of as many rows as a vector has lanes."""
        b, em, s = self.builder, self.em, self.blocking
        first = self.first_tile * s.rows
        beyond = b.op(f"arith.subi {b.index(s.m)}, {em.index(first)} : index")
        rows = b.op(f"arith.minui {beyond}, {b.index(s.tiles * s.rows)} : index")
        whole = s.m % s.lanes == 0 and s.tiles * s.rows % s.lanes == 0
        with b.loop(b.index(0), part.steps, b.index(1)) as loop:
            step = em.variable(loop.iv, s.depth)
            with b.loop(b.index(0), rows, b.index(s.lanes)) as inner:
                row = em.variable(inner.iv, s.tiles * s.rows)
                mask = None
                if not whole:
                    left = b.op(f"arith.subi {beyond}, {inner.iv} : index")
                    mask = b.op(f"vector.create_mask {left} : vector<{s.lanes}xi1>")
                name = b.load(f"arith.addi {em.index(first + row)}, {b.index(0)} : index")
                em.variable(name, s.m)
                with em.vector(name, s.lanes, mask):
                    em.hoist_from_here()
                    value = self._load(0, self.left_at(Affine.variable(name), part.at + step))
                run, _ = em.divmod(row, s.lanes)
                at = run * self.left_pitch + step * s.lanes
                self.put(value.name, self.copied, self.left_size, at)

    def copy_left(self, tile: Affine, rows: int, part: Part) -> None:
        """A tile of the left operand, next to one another in cache."""
        b, em, s = self.builder, self.em, self.blocking
        row_at = (self.first_tile + tile) * s.rows

        def copy(step: Affine, valid: int) -> None:
            def store(lane: Affine) -> None:
                value = self._load(0, self.left_at(row_at + row, lane))
                at = row * self.left_pitch + step
                self.put(value.name, self.copied, self.left_size, at)

            self.lanes_from(part.at + step, s.k, valid, store)

        with b.loop(b.index(0), b.index(rows), b.index(1)) as loop:
            row = em.variable(loop.iv, rows)
            self._in_vectors(part, copy)
