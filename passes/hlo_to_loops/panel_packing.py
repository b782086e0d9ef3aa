"""Packing of the operands of a matrix product: what a tile reads, contiguous, in scratch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hlo.passes.cost.caches import ALIASING_BYTES
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.gates import provide_gates
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.matrix_multiply import MatrixOperand
from hlo.passes.hlo_to_loops.product_blocking import (
    blocking_of,
    is_transposed_left,
    lanes_of,
    woven_rows_of,
)
from hlo.passes.hlo_to_loops.product_factors import WordFactors, factors_of
from hlo.passes.hlo_to_loops.register_transpose import transpose_square, woven_rows

WAYS = 8  # of a set of the first-level cache that rows may fill
SMALL_LEFT_BYTES = 32 << 10  # of a transposed left operand that stays in the first-level cache


@dataclass(frozen=True)
class Scratch:
    """A buffer on the stack: its SSA name, how many elements it has, and their MLIR type."""

    name: str
    size: int
    scalar: str

    @property
    def memref(self) -> str:
        return f"memref<{self.size}x{self.scalar}>"


@dataclass(frozen=True)
class Part:
    """A part of the depth.

    Attributes:
        index: its number.
        at: where it begins, in steps.
        steps: SSA name of how many steps it has.
        next: SSA names of where in each operand what is packed after it begins.
    """

    index: Affine
    at: Affine
    steps: str
    next: tuple[str, str]


class PanelPacking:
    """The operands of one product and their packed copies, of the work unit being emitted.

    Steps of the depth are those of the factors, of one element or more.

    Attributes:
        kind: element type of the sums.
        item, items: index of the product in the batch, and in each batch dimension.
        packs_left: whether the left operand, transposed, is packed as a block.
        widens_last: whether the last tile, which is cut off, computes as many rows as others do.
        first_tile, first_panel: where the unit's block begins.
        tile_count, panel_count: SSA names of the block's extents.
    """

    def __init__(
        self, region: Region, node: Node, left: MatrixOperand, right: MatrixOperand
    ) -> None:
        self.region, self.node, self.left, self.right = region, node, left, right
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        provide_gates(self.em, region)
        self.factors = factors_of(self.em, node, left.summed.extent)
        self.kind = self.factors.kind
        self.batch = tuple(axis.extent for axis in left.batch)
        lhs = node.operands[0]
        self.packs_left = is_transposed_left(left) and not (
            self.factors.span == 1
            and self.factors.in_place(lhs)
            and left.free.extent * left.summed.extent * lhs.type.memory_bytes <= SMALL_LEFT_BYTES
        )
        self.right_is_turned = right.summed.stride == 1 and right.free.stride != 1
        self.blocking = blocking_of(
            left.free.extent, right.free.extent, left.summed.extent // self.factors.span,
            lanes_of(node), batch=math.prod(self.batch),
        )  # fmt: skip
        row_bytes = left.free.stride * lhs.type.memory_bytes
        self.copies_left = (
            self.packs_left
            or not self.factors.in_place(lhs)
            or (self.blocking.rows > WAYS and row_bytes % ALIASING_BYTES == 0)
        )
        self.widens_last = self._can_widen_last()
        self.item, self.items = ZERO, list[Affine]()
        self.first_tile = self.first_panel = ZERO
        self.tile_count = self.panel_count = ""

    def _can_widen_last(self) -> bool:
        """Whether the last tile may have as many rows as the others: what is computed for nothing
        is at most half of it, and a second tile in the code takes longer to compile.
        """
        s = self.blocking
        if self.factors.biased or not 0 < s.rows - s.last_rows <= s.last_rows:
            return False
        if not self.packs_left:
            return s.all_tiles > 1
        # What is packed ends with a run of lanes.
        first = (s.all_tiles - 1) % s.tiles * s.rows
        return -(-(first + s.rows) // s.lanes) == -(-(first + s.last_rows) // s.lanes)

    # -- scratch -----------------------------------------------------------------------------------
    def make_scratch(self) -> None:
        """Buffers for the packed operands, on the stack."""
        s, packed = self.blocking, self.factors.packed
        # Tiles, or runs of rows, are a line more than a power of two apart.
        if self.packs_left:
            self.left_pitch = s.depth * s.lanes + s.lanes
            left_size = -(-s.tiles * s.rows // s.lanes) * self.left_pitch
        else:
            self.woven = woven_rows_of(s.rows)
            self.left_pitch = -(-s.depth // s.lanes) * s.lanes * self.woven + s.lanes
            left_size = s.tiles * self.left_pitch
        self.packed = self.scratch(s.panels * s.depth * s.width, packed)
        if self.copies_left:
            self.copied = self.scratch(left_size, packed)
        if self.factors.biased:
            runs = -(-s.tiles * s.rows // s.lanes)
            self.row_sums = self.scratch(runs * s.lanes, self.kind.memory)
            self.row_total = self.scratch(s.lanes, self.kind.memory)

    def scratch(self, elements: int, scalar: str) -> Scratch:
        """A buffer on the stack."""
        return Scratch(self.builder.stack_buffer(elements, scalar), elements, scalar)

    def vector(self) -> str:
        """MLIR type of a vector of sums."""
        return f"vector<{self.blocking.lanes}x{self.kind.memory}>"

    def zero(self) -> str:
        with self.builder.width(self.blocking.lanes):
            return elementwise.constant(self.builder, self.kind, 0).name

    def put(self, value: str, buffer: Scratch, at: Affine) -> None:
        """Stores a vector in scratch."""
        self.builder.effect(
            f"vector.store {value}, {buffer.name}[{self.em.index(at)}] : {buffer.memref}, "
            f"vector<{self.blocking.lanes}x{buffer.scalar}>"
        )

    def get(self, buffer: Scratch, at: Affine) -> str:
        """Loads a vector from scratch."""
        return self.builder.load(
            f"vector.load {buffer.name}[{self.em.index(at)}] : {buffer.memref}, "
            f"vector<{self.blocking.lanes}x{buffer.scalar}>"
        )

    def get_one(self, buffer: Scratch, at: Affine) -> str:
        """Loads an element from scratch."""
        return self.builder.load(
            f"memref.load {buffer.name}[{self.em.index(at)}] : {buffer.memref}"
        )

    # -- places ------------------------------------------------------------------------------------
    def right_at(self, column: Affine, step: Affine) -> Affine:
        """Offset of a step's first element in the right operand."""
        return self._at(self.right, column, step)

    def left_at(self, row: Affine, step: Affine) -> Affine:
        """Offset of a step's first element in the left operand."""
        return self._at(self.left, row, step)

    def _at(self, walk: MatrixOperand, free: Affine, step: Affine) -> Affine:
        total = free * walk.free.stride + step * (walk.summed.stride * self.factors.span)
        for axis, index in zip(walk.batch, self.items, strict=True):
            total = total + index * axis.stride
        return total

    def _across(self, side: int, free: Affine, step: Affine) -> str:
        """In vector mode: a step of neighbours along an operand's free dimension."""
        walk = (self.left, self.right)[side]
        first = self._at(walk, free, step)
        return self.factors.across(
            side, [first + j * walk.summed.stride for j in range(self.factors.span)]
        )

    def _along(self, side: int, free: Affine, step: Affine) -> str:
        """In vector mode: neighbouring steps of one row or column."""
        return self.factors.along(side, self._at((self.left, self.right)[side], free, step))

    def columns(self, cut: bool) -> int:
        """Columns of a panel; `cut`: of the last one."""
        return self.blocking.last_columns if cut else self.blocking.width

    def left_element(self, tile: Affine, row: int, step: Affine, part: Part) -> str:
        """The left operand in a row of a tile at a step of a part of the depth."""
        s = self.blocking
        if not self.copies_left:
            return self.factors.left(self.left_at(self.row_of(tile) + row, part.at + step))
        if self.packs_left:
            run, lane = self.em.divmod(tile * s.rows + row, s.lanes)
            return self.get_one(self.copied, run * self.left_pitch + step * s.lanes + lane)
        return self.get_one(self.copied, tile * self.left_pitch + step * self.woven + row)

    def row_of(self, tile: Affine) -> Affine:
        """The row of the operand that a tile's first row is of: that of a widened one, whose rows
        are read in place, is as far before its own as it has rows too many.
        """
        s, b = self.blocking, self.builder
        row = (self.first_tile + tile) * s.rows
        if not self.widens_last or self.copies_left:
            return row
        last = s.m - s.rows
        name = b.op(f"arith.minui {self.em.index(row)}, {b.index(last)} : index")
        return self.em.variable(name, last + 1)

    def right_vector(self, panel: Affine, step: Affine, vector: int) -> str:
        """A vector of a panel of the right operand at a step of the part that is packed."""
        return self.get(self.packed, self._packed_at(panel, step, vector))

    def _packed_at(self, panel: Affine, step: Affine, vector: int) -> Affine:
        s = self.blocking
        return panel * (s.depth * s.width) + step * s.width + vector * s.lanes

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
            mask = b.first_lanes(valid, lanes)
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
    def pack_turned_right(self, part: Part) -> None:
        """Panels of a right operand whose columns are contiguous along the depth.

        Some columns from one end to the other, then the next: where columns are a multiple of 4 KiB
        apart, lines of many of them do not stay in a cache together.
        """
        b, em, s = self.builder, self.em, self.blocking
        vectors = -(-s.n // s.lanes)
        rest = s.n - (vectors - 1) * s.lanes
        with b.loop(b.index(0), self.panel_count, b.index(1)) as loop:
            panel = em.variable(loop.iv, s.panels)
            first = (self.first_panel + panel) * s.vectors
            across = b.index(s.vectors)
            if vectors % s.vectors:
                left = b.op(f"arith.subi {b.index(vectors)}, {em.index(first)} : index")
                across = b.op(f"arith.minui {left}, {across} : index")
            with b.loop(b.index(0), across, b.index(1)) as inner:
                vector = em.variable(inner.iv, s.vectors)
                at = panel * (s.depth * s.width) + vector * s.lanes
                self.at_last(
                    first + vector, vectors, rest != s.lanes,
                    lambda cut: self._pack_columns(
                        part, (first + vector) * s.lanes, rest if cut else s.lanes, at
                    ),
                )  # fmt: skip

    def _pack_columns(self, part: Part, column: Affine, columns: int, at: Affine) -> None:
        """A vector of columns, by squares along the depth."""
        width = self.blocking.width
        self._in_vectors(
            part,
            lambda step, count: self._pack_square(
                column, columns, part.at + step, count, at + step * width
            ),
        )

    def pack_right_row(self, panel: Affine, step: Affine, columns: int, part: Part) -> None:
        """A step of a panel of a right operand in rows."""
        s = self.blocking
        for v in range(-(-columns // s.lanes)):

            def store(column: Affine, v: int = v) -> None:
                value = self.factors.for_panel(self._across(1, column, part.at + step))
                self.put(value, self.packed, self._packed_at(panel, step, v))

            column = (self.first_panel + panel) * s.width + v * s.lanes
            self.lanes_from(column, s.n, min(s.lanes, columns - v * s.lanes), store)

    def _pack_square(
        self, column: Affine, columns: int, step: Affine, count: int, at: Affine
    ) -> None:
        """A square of columns and steps is turned."""
        b, s = self.builder, self.blocking
        with b.width(s.lanes):
            rows = [b.constant(0, self.factors.packed)] * s.lanes

        def load(lane: Affine) -> None:
            for c in range(columns):
                rows[c] = self._along(1, column + c, lane)

        self.lanes_from(step, s.k, count, load)
        with b.width(s.lanes):
            turned = transpose_square(b, rows, self.factors.packed)[:count]
            turned = [self.factors.for_panel(row) for row in turned]
        for d, row in enumerate(turned):
            self.put(row, self.packed, at + d * s.width)

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
                    mask = b.lanes_below(left, s.lanes)
                name = b.load(f"arith.addi {em.index(first + row)}, {b.index(0)} : index")
                em.variable(name, s.m)
                with em.vector(name, s.lanes, mask):
                    em.hoist_from_here()
                    value = self._across(0, Affine.variable(name), part.at + step)
                run, _ = em.divmod(row, s.lanes)
                self.put(value, self.copied, run * self.left_pitch + step * s.lanes)

    def weave_left(self, part: Part) -> None:
        """The block of a left operand in rows: of a tile, the elements of a step side by side."""
        b, em, s = self.builder, self.em, self.blocking
        with b.loop(b.index(0), self.tile_count, b.index(1)) as loop:
            tile = em.variable(loop.iv, s.tiles)
            self.at_last(
                self.first_tile + tile, s.all_tiles, s.last_rows != s.rows,
                lambda cut: self._in_vectors(
                    part, lambda step, valid: self._weave(
                        tile, s.last_rows if cut else s.rows, part, step, valid
                    ),
                ),
            )  # fmt: skip

    def _weave(self, tile: Affine, rows: int, part: Part, step: Affine, valid: int) -> None:
        """A vector of steps of a tile's rows."""
        b, s = self.builder, self.blocking
        row_at = (self.first_tile + tile) * s.rows
        with b.width(s.lanes):
            found = [b.constant(0, self.factors.packed)] * self.woven

        def load(lane: Affine) -> None:
            found[:rows] = [self._along(0, row_at + r, lane) for r in range(rows)]

        self.lanes_from(part.at + step, s.k, valid, load)
        woven = woven_rows(b, found, s.lanes, self.factors.packed)
        for i, vector in enumerate(woven):
            at = tile * self.left_pitch + step * self.woven + i * s.lanes
            self.put(vector, self.copied, at)

    # -- sums of rows ------------------------------------------------------------------------------
    def sum_rows(self, part: Part) -> None:
        """Where factors are biased: what sums of each row of the block miss, for a part."""
        factors = self.factors
        if not isinstance(factors, WordFactors) or not factors.biased:
            return
        b, em, s = self.builder, self.em, self.blocking
        if self.packs_left:
            with b.loop(b.index(0), b.index(self.row_sums.size), b.index(s.lanes)) as loop:
                row = em.variable(loop.iv, self.row_sums.size)
                total = self._sum_run(factors, row, part)
                with b.width(s.lanes):
                    total = factors.missing(total)
                self.put(total, self.row_sums, row)
            return
        with b.loop(b.index(0), self.tile_count, b.index(1)) as loop:
            tile = em.variable(loop.iv, s.tiles)
            self.at_last(
                self.first_tile + tile, s.all_tiles, s.last_rows != s.rows,
                lambda cut: self._sum_tile(factors, tile, s.last_rows if cut else s.rows, part),
            )  # fmt: skip

    def _sum_run(self, factors: WordFactors, row: Affine, part: Part) -> str:
        """Sums of as many rows as there are lanes, of a packed left operand."""
        b, em, s = self.builder, self.em, self.blocking
        run, _ = em.divmod(row, s.lanes)
        with b.loop(b.index(0), part.steps, b.index(1), [(self.zero(), self.vector())]) as loop:
            step = em.variable(loop.iv, s.depth)
            words = self.get(self.copied, run * self.left_pitch + step * s.lanes)
            with b.width(s.lanes):
                loop.yielded = [factors.add_row(words, loop.carried[0])]
        return loop.results[0]

    def _sum_tile(self, factors: WordFactors, tile: Affine, rows: int, part: Part) -> None:
        """Sums of a tile's rows, read in place."""
        b, em, s = self.builder, self.em, self.blocking
        row_at = (self.first_tile + tile) * s.rows

        def add(step: Affine, valid: int) -> None:
            def words(lane: Affine) -> None:
                total = self.get(self.row_total, ZERO)
                total = factors.add_row(self._along(0, row_at + row, lane), total)
                self.put(total, self.row_total, ZERO)

            self.lanes_from(part.at + step, s.k, valid, words)

        with b.loop(b.index(0), b.index(rows), b.index(1)) as loop:
            row = em.variable(loop.iv, rows)
            self.put(self.zero(), self.row_total, ZERO)
            self._in_vectors(part, add)
            total = self.get(self.row_total, ZERO)
            total = b.op(f"vector.reduction <add>, {total} : {self.vector()} into i32")
            place = f"{self.row_sums.name}[{em.index(tile * s.rows + row)}]"
            b.effect(f"memref.store {factors.missing(total)}, {place} : {self.row_sums.memref}")
