"""The places of register tiles in a contraction's result, and what is stored there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.contraction_tiling import Tiling
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Region, Tensor

Places = list[list[Affine]]


class TileResults:
    """The results of the tiles of one kernel.

    Args:
        tensor: what the tiles add up; the region's results are made of it, element by element.

    Attributes:
        written: offsets of what was stored.
    """

    def __init__(
        self, em: Emitter, region: Region, tensor: Tensor, tiling: Tiling, outputs: Sequence[Buffer]
    ) -> None:
        self.em, self.region, self.tensor, self.tiling = em, region, tensor, tiling
        self.outputs = outputs
        self.written: set[Affine] = set()

    def edges(
        self, row_block: Affine, column_block: Affine,
        make: Callable[[Affine, Affine, int, int], None],
    ) -> None:  # fmt: skip
        """Whole tiles, and the cut-off ones at the ends of the rows and of the columns: `make` is
        given the blocks, of which more is known where tiles are cut off, rows and columns.
        """
        tiling = self.tiling
        last_rows = tiling.row_extent - (tiling.row_blocks - 1) * tiling.rows

        def with_rows(block: Affine, rows: int) -> None:
            self.either(
                column_block, tiling.column_blocks, tiling.last_columns != tiling.width,
                lambda column: make(block, column, rows, tiling.width),
                lambda column: make(block, column, rows, tiling.last_columns),
            )  # fmt: skip

        self.either(
            row_block, tiling.row_blocks, last_rows != tiling.rows,
            lambda block: with_rows(block, tiling.rows), lambda block: with_rows(block, last_rows),
        )  # fmt: skip

    def either(
        self, block: Affine, blocks: int, uneven: bool, whole: Callable[[Affine], None],
        cut: Callable[[Affine], None],
    ) -> None:  # fmt: skip
        """Calls back with the block, of which more is known where the last one is not whole."""
        b, em = self.em.b, self.em
        if not uneven:
            whole(block)
        elif blocks == 1:
            cut(block)
        else:
            index = em.index(block)
            inner = b.op(f"arith.cmpi ne, {index}, {b.index(blocks - 1)} : index")
            with b.when(inner):
                name = b.load(f"arith.addi {index}, {b.index(0)} : index")
                whole(em.name_index(name, blocks - 1))
            last = b.op(f"arith.cmpi eq, {index}, {b.index(blocks - 1)} : index")
            with b.when(last):
                cut(ZERO + (blocks - 1))

    def lanes_of(self, column_block: Affine, columns: int) -> tuple[list[str], list[str | None]]:
        """The lane variable of each vector of a tile, and which of its lanes there are."""
        em, b, lanes = self.em, self.em.b, self.tiling.lanes
        vectors = -(-columns // lanes)
        rest = columns - (vectors - 1) * lanes
        mask = b.first_lanes(rest, lanes) if rest != lanes else None
        column = column_block * self.tiling.width
        names: list[str] = []
        for v in range(vectors):
            name = b.load(f"arith.addi {em.index(column)}, {b.index(v * lanes)} : index")
            em.variable(name, self.tiling.shape[-1])
            names.append(name)
        return names, [mask if v == vectors - 1 else None for v in range(vectors)]

    def places(self, outer: Sequence[Affine], row_block: Affine, rows: int) -> Places:
        """The index of each row of a tile in every dimension of the tiling but the last.

        Args:
            outer: the group, then the index in each outer dimension.
        """
        em, tiling = self.em, self.tiling
        places: Places = []
        for r in range(rows):
            place = [ZERO] * len(tiling.shape)
            for d, index in zip(tiling.outer, outer[1:], strict=True):
                place[d] = index
            if tiling.grouped:
                place[-2] = outer[0]
            if tiling.row_dim >= 0:
                place[tiling.row_dim] = em.bounded(row_block * tiling.rows + r, tiling.row_extent)
            places.append(place)
        return places

    def dims(self, place: Sequence[Affine], name: str) -> list[Affine]:
        """The index in each dimension of the result at a place of the tiling and a lane."""
        if not self.tiling.grouped:
            return [*place[:-1], Affine.variable(name)]
        feature = place[-2] * self.tiling.shape[-1] + Affine.variable(name)
        return [*place[:-2], feature]

    def finish(
        self, places: Places, names: Sequence[str], masks: Sequence[str | None],
        totals: Sequence[Sequence[Value]],
    ) -> None:  # fmt: skip
        """Rounds sums, [row][vector], applies what follows the contraction, stores."""
        em, b, tensor = self.em, self.em.b, self.tensor
        strides = suffix_products(self.tiling.shape)
        for place, row in zip(places, totals, strict=True):
            for name, mask, total in zip(names, masks, row, strict=True):
                with em.vector(name, self.tiling.lanes, mask):
                    em.hoist_from_here()
                    offset = Affine.variable(name)
                    for index, stride in zip(place[:-1], strides, strict=False):
                        offset = offset + index * stride
                    position = Position.of_offset(offset)
                    self.written.add(offset)
                    em.pin(tensor, position, elementwise.convert(b, total, tensor.type))
                    values = [em.element(root, position) for root in self.region.results]
                    for value, buffer in zip(values, self.outputs, strict=True):
                        em.store(value, buffer, offset)
