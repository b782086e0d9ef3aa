"""Matrix products with packed operands: large ones, and those with a turned right operand.

The scheme of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008). A
work unit makes a block of the result, rows x columns, from one part of the depth after the other:
the right operand's part is packed into panels of the tile's width, contiguous and in the type of
the sums, of which each stays in the first-level cache while register tiles run over the rows. The
left operand stays in the second-level cache: its rows are read in place, or packed as a block where
they are of another type, share sets of the first-level cache or are transposed. An operand that is
computed from others element by element, such as dequantised weights, is computed as it is packed.
While tiles are multiplied, what is packed next, the next tile's rows, what is read beside the last
sums and the lines of large results are fetched into the caches.
What follows the product, element by element, is applied to a tile of sums before it is stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel, kernel_of, read_where_written
from hlo.passes.hlo_to_loops.matrix_multiply import MatrixOperand, operands_by_rows
from hlo.passes.hlo_to_loops.panel_packing import PanelPacking, Part
from hlo.passes.hlo_to_loops.product_blocking import packs

# Bytes of a left operand whose rows are fetched: one that few blocks of columns read, or many.
FETCHED_LEFT, LARGE_LEFT, FEW_BLOCKS = 512 << 10, 4 << 20, 4
FETCHED_RESULTS = 1 << 20  # bytes of results whose lines are fetched before they are written
FETCHED_BYTES = 128 << 10  # of operands beyond which what is packed next is fetched ahead


def emit_packed_product(region: Region) -> Kernel | None:
    """A kernel for one dot of matrices and elementwise ops after it; None if it is no such."""
    dots = [n for n in region.nodes if n.name == "dot_general"]
    if len(dots) != 1:
        return None
    node, root = dots[0], region.results[0]
    computed = any(operand not in region.arguments for operand in node.operands)
    if not packs(node, computed) or root.size != node.results[0].size:
        return None
    operands = operands_by_rows(node)
    assert operands is not None
    try:
        return _Product(region, node, *operands).emit()
    except NotVectorizableError:
        return None


class _Product(PanelPacking):
    def __init__(
        self, region: Region, node: Node, left: MatrixOperand, right: MatrixOperand
    ) -> None:
        super().__init__(region, node, left, right)
        self.written: set[Affine] = set()
        self.has_epilogue = region.results != [node.results[0]]
        after = {o for n in region.nodes[region.nodes.index(node) + 1 :] for o in n.operands}
        read = [
            self.inputs[tensor]
            for tensor in region.arguments
            if tensor in after and tensor.size == node.results[0].size
        ]
        made_bytes = sum(made.elements * made.type.memory_bytes for made in self.outputs)
        made = self.outputs if made_bytes >= FETCHED_RESULTS else ()
        self.beside = [(b, "read") for b in read] + [(b, "write") for b in made]
        self.fetched = tuple(self._source_of(operand) for operand in node.operands)

    def _source_of(self, operand: Tensor) -> Buffer | None:
        """The memory that an operand is computed from element by element; None if there is none."""
        while operand not in self.inputs:
            made = operand.producer
            same = [o for o in made.operands if o.size == operand.size] if made else []
            if made is None or not same or made.name in ("broadcast_in_dim", "iota"):
                return None
            operand = next((o for o in same if o in self.inputs), same[0])
        return self.inputs[operand]

    def emit(self) -> Kernel:
        em, b, s = self.em, self.builder, self.blocking
        self.make_scratch()
        waiting = s.tiles * s.panels if s.depth_blocks > 1 else 1
        if s.depth_blocks > 1 or self.has_epilogue:
            self.sums = self.scratch(waiting * s.rows * s.width, self.kind.memory)
        units = math.prod(self.batch) * s.units
        operands = sum(o.size * o.type.memory_bytes for o in self.node.operands)
        several = units * s.depth_blocks > 1 and operands > FETCHED_BYTES
        self.fetches = several or bool(self.beside)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            rest, row_block = em.divmod(unit, s.row_blocks)
            self.item, column_block = em.divmod(rest, s.column_blocks)
            self.items = list(em.dims(Position.of_offset(self.item), self.batch))
            self._block(row_block, column_block)
        return kernel_of(
            b,
            self.inputs.values(),
            self.outputs,
            units,
            in_place=read_where_written(em, self.inputs.values(), self.written),
        )

    # -- loops -------------------------------------------------------------------------------------
    def _block(self, row_block: Affine, column_block: Affine) -> None:
        """One work unit: all of the depth for a block of the result."""
        b, em, s = self.builder, self.em, self.blocking
        self.first_tile = row_block * s.tiles
        self.first_panel = column_block * s.panels
        self.tile_count = self._count(self.first_tile, s.tiles, s.all_tiles)
        self.panel_count = self._count(self.first_panel, s.panels, s.all_panels)
        beyond = (
            em.index(self.left_at((self.first_tile + s.tiles) * s.rows, ZERO)),
            em.index(self.right_at((self.first_panel + s.panels) * s.width, ZERO)),
        )
        if s.depth_blocks == 1:
            self._part(Part(ZERO, ZERO, b.index(s.k), beyond))
            return
        with b.loop(b.index(0), b.index(s.depth_blocks), b.index(1)) as loop:
            first = em.variable(loop.iv, s.depth_blocks) * s.depth
            below = (
                em.index(self.left_at(self.first_tile * s.rows, first + s.depth)),
                em.index(self.right_at(self.first_panel * s.width, first + s.depth)),
            )
            last = b.op(f"arith.cmpi eq, {loop.iv}, {b.index(s.depth_blocks - 1)} : index")
            left, right = (
                b.op(f"arith.select {last}, {after}, {inside} : index")
                for after, inside in zip(beyond, below, strict=True)
            )
            steps = self._count(first, s.depth, s.k)
            self._part(Part(Affine.variable(loop.iv), first, steps, (left, right)))

    def _count(self, first: Affine, most: int, total: int) -> str:
        b, em = self.builder, self.em
        if total % most == 0:
            return b.index(most)
        left = b.op(f"arith.subi {b.index(total)}, {em.index(first)} : index")
        return b.op(f"arith.minsi {left}, {b.index(most)} : index")

    def _part(self, part: Part) -> None:
        """A part of the depth: packs operands and runs over tiles, those of a panel together: it
        stays in the first-level cache.

        A right operand in rows is packed as the first row of tiles reads it: the stores take place
        while products are added, and what lies side by side in memory is read together. The other
        tiles are a second round through the panels.
        """
        b, s = self.builder, self.blocking
        if self.packs_left:
            self.pack_left(part)
        elif self.copies_left:
            self.weave_left(part)
        self.sum_rows(part)
        if self.right_is_turned:
            self.pack_turned_right(part)
            self._panels(b.index(0), self.tile_count, part, packs=False)
            return
        if s.tiles == 1:
            self._panels(b.index(0), self.tile_count, part, packs=True)
            return
        with b.loop(b.index(0), b.index(2), b.index(1)) as rounds:
            is_first = b.op(f"arith.cmpi eq, {rounds.iv}, {b.index(0)} : index")
            end = b.op(f"arith.select {is_first}, {b.index(1)}, {self.tile_count} : index")
            self._panels(rounds.iv, end, part, packs=is_first)

    def _panels(self, first: str, end: str, part: Part, packs: bool | str) -> None:
        """The tiles `[first, end)` of each panel of the block.

        Args:
            packs: whether they pack the right operand: known, or an SSA name.
        """
        b, em, s = self.builder, self.em, self.blocking
        with b.loop(b.index(0), self.panel_count, b.index(1)) as loop:
            panel = em.variable(loop.iv, s.panels)
            self.at_last(
                self.first_panel + panel, s.all_panels, s.last_columns != s.width,
                lambda cut: self._tiles(first, end, panel, self.columns(cut), part, packs),
            )  # fmt: skip

    def _tiles(
        self, first: str, end: str, panel: Affine, columns: int, part: Part, packs: bool | str
    ) -> None:
        b, em, s = self.builder, self.em, self.blocking
        with b.loop(first, end, b.index(1)) as loop:
            tile = em.variable(loop.iv, s.tiles)
            self.at_last(
                self.first_tile + tile, s.all_tiles,
                s.last_rows != s.rows and not self.widens_last,
                lambda cut: self._tile(
                    tile, panel, s.last_rows if cut else s.rows, columns, part, packs
                ),
            )  # fmt: skip

    # -- tiles -------------------------------------------------------------------------------------
    def _tile(
        self, tile: Affine, panel: Affine, rows: int, columns: int, part: Part, packs: bool | str
    ) -> None:
        s = self.blocking
        at = ZERO
        if s.depth_blocks > 1:
            at = (tile * s.panels + panel) * (s.rows * s.width)
        vectors = -(-columns // s.lanes)
        places = [at + (r * s.vectors + v) * s.lanes for r in range(rows) for v in range(vectors)]
        start = self._with_missing(tile, rows, self._start(places, part))
        sums = self._multiply(tile, panel, rows, columns, part, packs, start)
        if s.depth_blocks == 1:
            if self.has_epilogue:
                self._keep(sums, places)
            self._finish(tile, panel, rows, columns, sums, places)
            return
        if self.has_epilogue:
            self._keep(sums, places)  # in every part: once in the code
            with self.builder.when(self.is_part(part, s.depth_blocks - 1)):
                self._finish(tile, panel, rows, columns, sums, places)
            return
        self.at_last(
            part.index, s.depth_blocks, True,
            lambda last: self._finish(tile, panel, rows, columns, sums, places)
            if last else self._keep(sums, places),
        )  # fmt: skip

    def _keep(self, sums: Sequence[str], places: Sequence[Affine]) -> None:
        for value, place in zip(sums, places, strict=True):
            self.put(value, self.sums, place)

    def _start(self, places: Sequence[Affine], part: Part) -> list[str]:
        """The sums so far: zero at the first part of the depth."""
        b = self.builder
        zeros = [self.zero()] * len(places)
        if self.blocking.depth_blocks == 1:
            return zeros
        with b.choice(self.is_part(part, 0), [self.vector()] * len(places)) as choice:
            with choice.then():
                choice.yielded = zeros
            with choice.otherwise():
                choice.yielded = [self.get(self.sums, place) for place in places]
        return choice.results

    def _with_missing(self, tile: Affine, rows: int, sums: list[str]) -> list[str]:
        """Sums with what biased factors leave out of them."""
        if not self.factors.biased:
            return sums
        b, s = self.builder, self.blocking
        vectors, result = len(sums) // rows, list[str]()
        for r in range(rows):
            missing = self.get_one(self.row_sums, tile * s.rows + r)
            with b.width(s.lanes):
                wide = b.splat(missing, self.kind.register)
                result += [
                    b.op(f"arith.addi {value}, {wide} : {self.vector()}")
                    for value in sums[r * vectors : (r + 1) * vectors]
                ]
        return result

    def _multiply(
        self, tile: Affine, panel: Affine, rows: int, columns: int, part: Part, packs: bool | str,
        sums: Sequence[str],
    ) -> list[str]:  # fmt: skip
        """The sums of a tile with the products of a part of the depth; fetches ahead between."""
        b, em, s = self.builder, self.em, self.blocking

        def run(first: Affine, count: str, most: int, packs: bool, sums: list[str]) -> list[str]:
            rare = rows < s.rows or columns < s.width or (packs and s.tiles > 1)
            unrolled = 1 if rare else s.unrolled  # code takes time to compile
            carried = [(value, self.vector()) for value in sums]
            with b.loop(b.index(0), count, b.index(unrolled), carried) as loop:
                step, sums = first + em.variable(loop.iv, most), loop.carried
                for i in range(unrolled):
                    sums = self._step(tile, panel, rows, columns, part, step + i, packs, sums)
                loop.yielded = sums
            return loop.results

        def steps(first: Affine, count: str, most: int, sums: list[str]) -> list[str]:
            if isinstance(packs, bool):
                return run(first, count, most, packs, sums)
            with b.choice(packs, [self.vector()] * len(sums)) as choice:
                with choice.then():
                    choice.yielded = run(first, count, most, True, sums)
                with choice.otherwise():
                    choice.yielded = run(first, count, most, False, sums)
            return choice.results

        if not self.fetches:
            return steps(ZERO, part.steps, s.depth, list(sums))
        together, carried = b.index(s.fetching_steps), [(value, self.vector()) for value in sums]
        with b.loop(b.index(0), part.steps, together, carried) as outer:
            first = em.variable(outer.iv, s.depth)
            self._fetch_left(tile, panel, first, part)
            self._fetch_right(tile, panel, first, part)
            self._fetch_beside(tile, panel, rows, columns, first, part)
            count = together
            if s.cuts_a_run:
                left = b.op(f"arith.subi {part.steps}, {outer.iv} : index")
                count = b.op(f"arith.minui {left}, {together} : index")
            outer.yielded = steps(first, count, s.fetching_steps, outer.carried)
        return outer.results

    def _step(
        self, tile: Affine, panel: Affine, rows: int, columns: int, part: Part, step: Affine,
        packs: bool, sums: Sequence[str],
    ) -> list[str]:  # fmt: skip
        """One step of the depth: products of rows and vectors are added."""
        if packs:
            self.pack_right_row(panel, step, columns, part)
        right = [
            self.right_vector(panel, step, v) for v in range(-(-columns // self.blocking.lanes))
        ]
        b, count = self.builder, len(right)
        result: list[str] = []
        for r in range(rows):
            left = self.left_element(tile, r, step, part)
            with b.width(self.blocking.lanes):
                wide = b.splat(left, self.factors.packed)
                result += [
                    self.factors.multiply_add(wide, value, sums[r * count + v])
                    for v, value in enumerate(right)
                ]
        return result

    # -- fetching ahead ----------------------------------------------------------------------------
    def _fetch_right(self, tile: Affine, panel: Affine, first: Affine, part: Part) -> None:
        """Fetches lines of the panels that are packed next."""
        s, walk = self.blocking, self.right
        source = self.fetched[1]
        if source is None:
            return
        lines, along, stride = s.panels * s.width, s.depth * self.factors.span, walk.free.stride
        if not self.right_is_turned:
            lines, along, stride = along, lines, walk.summed.stride
        self._fetch_block(1, source, (lines, along, stride), (tile, panel, first), part)

    def _fetch_left(self, tile: Affine, panel: Affine, first: Affine, part: Part) -> None:
        """Fetches lines of the left operand that are read or packed next."""
        b, em, s = self.builder, self.em, self.blocking
        source = self.fetched[0]
        if source is None:
            return
        block, depth = s.tiles * s.rows, s.depth * self.factors.span
        if self.packs_left:
            if self.left.free.stride == 1:
                lines = depth, block, self.left.summed.stride
                self._fetch_block(0, source, lines, (tile, panel, first), part)
            return
        left_bytes = self.node.operands[0].size * source.type.memory_bytes // math.prod(self.batch)
        if left_bytes < (FETCHED_LEFT if s.column_blocks <= FEW_BLOCKS else LARGE_LEFT):
            return  # it stays in the second-level cache, or is read from there most of the time
        if self.copies_left:
            lines = block, depth, self.left.free.stride
            self._fetch_block(0, source, lines, (tile, panel, first), part)
            return
        is_first = b.op(f"arith.cmpi eq, {em.index(panel)}, {b.index(0)} : index")
        with b.when(is_first) if s.panels > 1 else nullcontext():
            row = (self.first_tile + tile + 1) * s.rows
            in_line = LINE_BYTES // (source.type.memory_bytes * self.factors.span)
            for i in range(s.rows):
                for line in range(0, s.fetching_steps, in_line):
                    self._fetch(source, self.left_at(row + i, part.at + first + line), 2)

    def _fetch_block(
        self, side: int, source: Buffer, lines: tuple[int, int, int],
        place: tuple[Affine, Affine, Affine], part: Part,
    ) -> None:  # fmt: skip
        """Of an operand's block that is packed next: each tile its share.

        Args:
            lines: how many runs of elements there are, of how many, and how far apart.
            place: the tile, the panel and the step that are multiplied.
        """
        em, s = self.em, self.blocking
        (count, along, stride), (tile, panel, first) = lines, place
        runs = -(-s.depth // s.fetching_steps)
        in_line = LINE_BYTES // source.type.memory_bytes
        across = -(-along // in_line)
        share = -(-count * across // (s.tiles * s.panels * runs))
        rows, columns = -(-share // across), min(share, across)
        number, _ = em.divmod(first, s.fetching_steps)
        number = (panel * s.tiles + tile) * runs + number
        row, run = em.divmod(number, -(-across // columns))
        elements = self.node.operands[side].size
        start = em.name_index(part.next[side], elements) + run * (columns * in_line)
        start = em.name_index(em.index(start + row * (rows * stride)), elements)
        for i in range(rows):
            for column in range(columns):
                self._fetch(source, start + i * stride + column * in_line, 2)

    def _fetch_beside(
        self, tile: Affine, panel: Affine, rows: int, columns: int, first: Affine, part: Part
    ) -> None:
        """Fetches what is read and written with a tile's last sums, a few rows at a time."""
        b, em, s = self.builder, self.em, self.blocking
        if not self.beside:
            return
        number, _ = em.divmod(first, s.fetching_steps)
        runs = max(1, s.last_depth // s.fetching_steps)
        share = -(-rows // runs)

        def fetch() -> None:
            row = em.index(number * share)
            row = b.op(f"arith.minui {row}, {b.index(rows - share)} : index")
            row_at = (self.first_tile + tile) * s.rows + em.variable(row, rows)
            place = self.item * (s.m * s.n) + (self.first_panel + panel) * s.width
            for buffer, how in self.beside:
                in_line = LINE_BYTES // buffer.type.memory_bytes
                for r, column in itertools.product(range(share), range(0, columns, in_line)):
                    self._fetch(buffer, place + (row_at + r) * s.n + column, 3, how)

        if s.depth_blocks == 1:
            fetch()
            return
        with b.when(self.is_part(part, s.depth_blocks - 1)):
            fetch()

    def _fetch(self, buffer: Buffer, place: Affine, locality: int, how: str = "read") -> None:
        self.builder.effect(
            f"memref.prefetch {buffer.name}[{self.em.index(place)}], {how}, locality<{locality}>, "
            f"data : {buffer.memref}"
        )

    # -- results -----------------------------------------------------------------------------------
    def _finish(
        self, tile: Affine, panel: Affine, rows: int, columns: int, sums: Sequence[str],
        places: Sequence[Affine],
    ) -> None:  # fmt: skip
        """Rounds a tile of sums, applies what follows the product, stores: a row at a time, from
        scratch, where they are kept, or all from registers where nothing follows.
        """
        b, em, s = self.builder, self.em, self.blocking
        vectors = -(-columns // s.lanes)

        def store(cut: bool) -> None:
            first, end = self._own_rows(rows) if cut else (0, rows)
            for i, value in enumerate(sums[first * vectors : end * vectors], first * vectors):
                row, v = divmod(i, vectors)
                self._finish_vector(tile, panel, ZERO + row, columns, v, lambda value=value: value)

        index = self.first_tile + tile
        if not self.has_epilogue:
            self.at_last(index, s.all_tiles, self.widens_last, store)
            return
        first, end = b.index(0), b.index(rows)
        if self.widens_last:
            last = b.op(f"arith.cmpi eq, {em.index(index)}, {b.index(s.all_tiles - 1)} : index")
            first, end = (
                b.op(f"arith.select {last}, {b.index(cut)}, {whole} : index")
                for cut, whole in zip(self._own_rows(rows), (first, end), strict=True)
            )
        with b.loop(first, end, b.index(1)) as loop:
            row = em.variable(loop.iv, rows)
            for v in range(vectors):
                at = places[v] + row * s.width
                self._finish_vector(
                    tile, panel, row, columns, v, lambda at=at: self.get(self.sums, at)
                )

    def _own_rows(self, rows: int) -> tuple[int, int]:
        """Where in a widened tile the rows begin and end that no other tile has."""
        own = self.blocking.last_rows
        return (0, own) if self.copies_left else (rows - own, rows)

    def _finish_vector(
        self, tile: Affine, panel: Affine, row: Affine, columns: int, vector: int,
        total: Callable[[], str],
    ) -> None:  # fmt: skip
        """Of a vector of a tile's row."""
        b, em, s, tensor = self.builder, self.em, self.blocking, self.node.results[0]
        first = vector * s.lanes
        place = em.bounded(self.row_of(tile) + row, s.m)

        def store(column: Affine) -> None:
            offset = self.item * (s.m * s.n) + place * s.n + column
            position = Position.of_offset(offset)
            self.written.add(offset)
            value = Value(self.kind, (total(),), s.lanes)
            em.pin(tensor, position, elementwise.convert(b, value, tensor.type))
            values = [em.element(root, position) for root in self.region.results]
            for value, buffer in zip(values, self.outputs, strict=True):
                em.store(value, buffer, offset)

        column_at = (self.first_panel + panel) * s.width + first
        self.lanes_from(column_at, s.n, min(s.lanes, columns - first), store)
