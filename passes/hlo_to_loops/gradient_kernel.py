"""Gradients of convolutions by their weights, by register tiles, in blocks of positions.

What a block reads of the forward convolution's input is packed with the zeros around it in place,
so that no tile looks where it is; the gradient of its result is read where it lies. The sums of a
work unit's tiles wait in scratch from block to block. Where the result is small, units have a part
of the positions each, and sums of their own for all of the result, which one thread adds up at
the end; else they have a part of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops.accumulators import Accumulators
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.elemental.contractions import Contraction, contraction_of
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.gates import provide_gates
from hlo.passes.hlo_to_loops.gradient_blocks import GradientPlan, gradient_plan
from hlo.passes.hlo_to_loops.gradient_columns import ColumnsCopy, Range
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.input_packing import InputPacking
from hlo.passes.hlo_to_loops.kernel_function import (
    Kernel,
    argument_buffers,
    kernel_of,
    read_where_written,
)
from hlo.passes.hlo_to_loops.product_factors import sums_type
from hlo.passes.hlo_to_loops.sums_in_parts import WaitingSums
from hlo.passes.hlo_to_loops.tile_results import TileResults

# (index of each outer dimension, block of rows, run of columns, number among a unit's tiles)
OnTile = Callable[[Sequence[Affine], Affine, Affine, Affine], None]


def emit_gradient(region: Region) -> Kernel | None:
    """A kernel for one gradient of a convolution by its weights and elementwise ops after it."""
    nodes = [n for n in region.nodes if n.name in ("convolution", "dot_general")]
    if len(nodes) != 1 or any(n.name in ("reduce", "reduce_window") for n in region.nodes):
        return None
    node = nodes[0]
    if region.results[0].size != node.results[0].size:
        return None
    if node.operands[1] not in region.arguments or (plan := gradient_plan(node)) is None:
        return None
    return _Gradient(region, node, plan).emit()


class _Gradient:
    def __init__(self, region: Region, node: Node, plan: GradientPlan) -> None:
        self.plan, self.tiling = plan, plan.tiling
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        provide_gates(self.em, region)
        self.kind = sums_type(node.results[0].type)
        self.packing = InputPacking(self.em, node, plan.tiling, self.kind, plan.block)
        self.results = TileResults(self.em, region, node.results[0], plan.tiling, self.outputs)
        self.waiting = WaitingSums(self.em, self.kind, plan.tiling, plan.tiles_of_unit, plan.parts)
        self.sums = Accumulators(self.em, self.kind, plan.tiling.lanes)
        self.columns: ColumnsCopy | None = None
        if plan.copies_columns:
            self.columns = ColumnsCopy(self.em, node, plan, self.kind)

    def emit(self) -> Kernel:
        em, b, plan = self.em, self.builder, self.plan
        shared = plan.parts > 1
        units = plan.parts + 1 if shared else plan.row_groups * self.tiling.column_blocks
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            if shared:
                self._part_or_total(unit)
            else:
                self._part_of_result(*em.divmod(unit, plan.row_groups))
        return kernel_of(
            b, self.inputs.values(), self.outputs, units,
            in_place=read_where_written(em, self.inputs.values(), self.results.written),
            scratch=[self.waiting.buffer] if shared else [],
            tail=int(shared),
        )  # fmt: skip

    def _part_of_result(self, column_block: Affine, row_group: Affine) -> None:
        """A unit that has all positions."""
        self.waiting.clear()
        blocks = self.builder.index(math.prod(self.plan.grid))
        self._blocks((self.builder.index(0), blocks), row_group, column_block, ZERO)
        self._tiles(row_group, column_block, self._finish)

    def _part_or_total(self, unit: Affine) -> None:
        """A unit that has a part of the positions, or the one behind those, for all sums."""
        em, b, plan = self.em, self.builder, self.plan
        blocks = math.prod(plan.grid)
        is_last = b.op(f"arith.cmpi eq, {em.index(unit)}, {b.index(plan.parts)} : index")
        is_part = b.op(f"arith.cmpi ne, {em.index(unit)}, {b.index(plan.parts)} : index")
        with b.when(is_part):
            name = b.load(f"arith.addi {em.index(unit)}, {b.index(0)} : index")
            part = em.variable(name, plan.parts)
            self.waiting.clear(part)
            start, end = (
                b.op(
                    f"arith.divui {em.index((part + more) * blocks)}, {b.index(plan.parts)} : index"
                )
                for more in (0, 1)
            )
            self._blocks((start, end), ZERO, None, part * plan.tiles_of_unit)
        with b.when(is_last):
            self._tiles(ZERO, None, self._total)

    def _blocks(
        self, numbers: Range, row_group: Affine, column_block: Affine | None, first_tile: Affine
    ) -> None:
        """Adds what some blocks of positions give to the sums of a unit's tiles."""
        em, b, plan = self.em, self.builder, self.plan
        with b.loop(*numbers, b.index(1)) as loop:
            number = em.variable(loop.iv, math.prod(plan.grid))
            at = em.dims(Position.of_offset(number), plan.grid)
            firsts = [i * size for i, size in zip(at, plan.sizes, strict=True)]
            ranges = [self._range(d, first) for d, first in enumerate(firsts)]
            if not plan.by_rows:
                self._pack(firsts, ZERO)
            if self.columns is not None and column_block is not None:
                self.columns.copy(firsts, ranges, column_block)

            def add(
                outer: Sequence[Affine], row_block: Affine, column: Affine, tile: Affine
            ) -> None:
                self.waiting.tile = first_tile + tile
                self._add(ranges, outer, row_block, column)

            def rows(row_block: Affine) -> None:
                if plan.by_rows:
                    self._pack(firsts, row_block * self.tiling.rows)

            self._tiles(row_group, column_block, add, rows)

    def _range(self, d: int, first: Affine) -> Range:
        """The positions of a block along a dimension."""
        b, size, extent = self.builder, self.plan.sizes[d], self.plan.extents[d]
        end = self.em.index(first + size)
        if extent % size:
            end = b.op(f"arith.minui {end}, {b.index(extent)} : index")
        return self.em.index(first), end

    def _pack(self, firsts: Sequence[Affine], feature: Affine) -> None:
        """Packs what a block of positions reads of the input features from one on."""
        packing = self.packing
        spread = packing.node.attributes.get("rhs_dilation") or (1,) * (len(firsts) - 1)
        starts = {str(k): i * spread[k] for k, i in enumerate(firsts[1:])}
        packing.pack_box({**starts, "f": firsts[0], "b": feature})

    def _tiles(
        self, row_group: Affine, column_block: Affine | None, on_tile: OnTile,
        on_rows: Callable[[Affine], None] = lambda _: None,
    ) -> None:  # fmt: skip
        """All tiles of a unit, those of a block of rows one after another."""
        em, b, plan = self.em, self.builder, self.plan
        columns, inner = plan.columns_of_unit, math.prod(plan.outer)
        each = columns * inner
        start = em.index(row_group * plan.rows_of_group)
        end = b.op(f"arith.addi {start}, {b.index(plan.rows_of_group)} : index")
        if self.tiling.row_blocks % plan.rows_of_group:
            end = b.op(f"arith.minui {end}, {b.index(self.tiling.row_blocks)} : index")
        with b.loop(start, end, b.index(1)) as loop:
            row_block = em.name_index(loop.iv, self.tiling.row_blocks)
            on_rows(row_block)
            first = (row_block + row_group * -plan.rows_of_group) * each
            with b.loop(b.index(0), b.index(each), b.index(1)) as tiles:
                tile = em.name_index(tiles.iv, each)
                *at, _ = em.dims(Position.of_offset(tile), [columns, *plan.outer, 1])
                column = at[0] if column_block is None else column_block
                on_tile(at[1:], row_block, column, first + tile)

    def _add(
        self, ranges: Sequence[Range], outer: Sequence[Affine], row_block: Affine, column: Affine
    ) -> None:
        """Adds the products of a block of positions to the sums of a tile."""

        def make(block: Affine, column: Affine, rows: int, columns: int) -> None:
            names, masks = self.results.lanes_of(column, columns)
            places = self.results.places((ZERO, *outer), block, rows)
            begun = self.waiting.take(rows, len(names))
            contractions: list[list[Contraction]] = []
            for place in places:
                row: list[Contraction] = []
                for name, mask in zip(names, masks, strict=True):
                    with self.em.vector(name, self.tiling.lanes, mask):
                        dims = self.results.dims(place, name)
                        row.append(contraction_of(self.em, self.packing.node, dims))
                contractions.append(row)

            def step(at: Sequence[Affine], acc: list[Value]) -> list[Value]:
                sums: list[Value] = []
                for r, row in enumerate(contractions):
                    for v, (name, mask) in enumerate(zip(names, masks, strict=True)):
                        with self.em.vector(name, self.tiling.lanes, mask):
                            left, right = row[v].factors([*at[1:], at[0]], self.kind)
                        sums.append(self.sums.multiply_add(left, right, acc[r * len(names) + v]))
                return sums

            self.waiting.put(rows, len(names), self._nest(ranges, [], begun, step))

        self.results.edges(row_block, column, make)

    def _nest(
        self, ranges: Sequence[Range], at: list[Affine], acc: list[Value],
        step: Callable[[Sequence[Affine], list[Value]], list[Value]],
    ) -> list[Value]:  # fmt: skip
        """Takes a step at every position of some ranges, the batch outermost."""
        if not ranges:
            return step(at, acc)
        extent, ((start, end), *rest) = self.plan.extents[len(at)], ranges
        if extent == 1:
            return self._nest(rest, [*at, ZERO], acc, step)
        return self.sums.between(
            (start, end), extent, acc, lambda i, acc: self._nest(rest, [*at, i], acc, step)
        )

    def _finish(
        self, outer: Sequence[Affine], row_block: Affine, column: Affine, tile: Affine
    ) -> None:
        """Stores what the sums of a tile give."""
        self.waiting.tile = tile

        def make(block: Affine, column: Affine, rows: int, columns: int) -> None:
            names, masks = self.results.lanes_of(column, columns)
            places = self.results.places((ZERO, *outer), block, rows)
            found = self.waiting.take(rows, len(names))
            self.results.finish(places, names, masks, _by_rows(found, rows))

        self.results.edges(row_block, column, make)

    def _total(
        self, outer: Sequence[Affine], row_block: Affine, column: Affine, tile: Affine
    ) -> None:
        """Stores what the sums of all parts for a tile give."""

        def make(block: Affine, column: Affine, rows: int, columns: int) -> None:
            names, masks = self.results.lanes_of(column, columns)
            places = self.results.places((ZERO, *outer), block, rows)

            def add(part: Affine, acc: list[Value]) -> list[Value]:
                self.waiting.tile = part * self.plan.tiles_of_unit + tile
                found = self.waiting.take(rows, len(names))
                return [self.sums.add(old, new) for old, new in zip(acc, found, strict=True)]

            totals = self.sums.loop(self.plan.parts, self.sums.zeros(rows * len(names)), add)
            self.results.finish(places, names, masks, _by_rows(totals, rows))

        self.results.edges(row_block, column, make)


def _by_rows(sums: Sequence[Value], rows: int) -> list[list[Value]]:
    across = len(sums) // rows
    return [list(sums[r * across : (r + 1) * across]) for r in range(rows)]
