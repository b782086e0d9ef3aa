"""Convolutions and dots by register tiles: rows x vectors of accumulators, one pass over the sum.

A tile is `rows` positions along one dimension of the result times `vectors` vectors along its minor
dimension. Each step of the contracted space loads `rows` factors of one operand (scalars, splatted)
and `vectors` of the other and does rows x vectors fused multiply-adds in registers (the
outer-product scheme of BLIS, applied to convolution as in Georganas et al., "Anatomy of
High-Performance Deep Learning Convolutions on SIMD Architectures", 2018). What follows the
contraction in the region, element by element, is applied to the tile before it is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops.accumulators import Accumulators
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.contraction_tiling import (
    FEWEST_SHARING,
    LARGE_OPERAND,
    PACKED_BYTES,
    SMALL_KERNEL,
    Tiling,
    columns_leave_cache,
    depth_of,
    features_near,
    fits_register_tiles,
    groups_of,
    inputs_lead,
    packed_elements,
    tiling_for,
    walks_features,
    word_of,
)
from hlo.passes.hlo_to_loops.elemental.contractions import Contraction, contraction_of
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.gates import provide_gates
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.input_blocks import InputBlock, input_block, packs_input
from hlo.passes.hlo_to_loops.input_packing import InputPacking
from hlo.passes.hlo_to_loops.kernel_function import (
    Kernel,
    argument_buffers,
    kernel_of,
    read_where_written,
)
from hlo.passes.hlo_to_loops.kernel_packing import KernelPacking
from hlo.passes.hlo_to_loops.kernel_panels import KernelPanels, columns_of, panels_of
from hlo.passes.hlo_to_loops.lines_below import LinesBelow
from hlo.passes.hlo_to_loops.padded_windows import PaddedTile, takes_padded_tiles
from hlo.passes.hlo_to_loops.product_factors import sums_type
from hlo.passes.hlo_to_loops.sums_in_parts import (
    Inputs,
    WaitingSums,
    chunks_in_parts,
    inputs_of,
    part_of,
)
from hlo.passes.hlo_to_loops.tile_results import TileResults
from hlo.passes.hlo_to_loops.word_tile import WordTiles

# Steps of a dot's depth between two looks at the end of a loop, and multiply-adds from which they
# are worth the time that code takes to compile: 64 x 64 x 64 takes 1 to 4% less.
UNROLLED, UNROLLED_WORK = 2, 1 << 18


def emit_contraction(region: Region) -> Kernel | None:
    """A kernel for one convolution or dot of floats and elementwise ops after it; None if unfit."""
    nodes = [n for n in region.nodes if n.name in ("convolution", "dot_general")]
    if len(nodes) != 1 or any(n.name in ("reduce", "reduce_window") for n in region.nodes):
        return None
    node, root = nodes[0], region.results[0]
    if root.size != node.results[0].size or not fits_register_tiles(node):
        return None
    if node.results[0].type.is_integer and _span_of(region, node) == 1:
        return None  # only words of integers are multiplied by tiles
    block = _packed_block(region, node)
    apart = block is not None or panels_of(node.operands[1]) is not None
    tiling = tiling_for(node, None if apart else region)
    try:
        return _Tiles(region, node, tiling, block).emit()
    except NotVectorizableError:
        return None


def _packed_block(region: Region, node: Node) -> InputBlock | None:
    """How a convolution's input is packed, if its kernel computes it or is faster so."""
    if node.name != "convolution":
        return None
    computed = node.operands[0] not in region.arguments
    packed = computed or packs_input(node) or _span_of(region, node) > 1
    return input_block(node) if packed else None


def _span_of(region: Region, node: Node) -> int:
    """Input features of a convolution in a word of its kernel's panels."""
    panels = panels_of(node.operands[1])
    return columns_of(node.operands[1], panels)[1] if panels in region.arguments else 1


class _Tiles:
    def __init__(
        self, region: Region, node: Node, tiling: Tiling, block: InputBlock | None
    ) -> None:
        self.region, self.node, self.tiling = region, node, tiling
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        provide_gates(self.em, region)
        self.kind = sums_type(node.results[0].type)
        self.prefetch_line: Affine | None = None
        self.prefetched = -(-tiling.vectors // tiling.row_blocks)  # lines for each step
        self.results = TileResults(self.em, region, node.results[0], tiling, self.outputs)
        self.packing: KernelPacking | None = None
        self.panels = self._panels()
        if self.panels is None and self._packs_columns():
            self.packing = KernelPacking(self.em, node, tiling, self.kind)
        self.chunks = tiling.positions if self.packing is None else tiling.chunks
        self.input: InputPacking | None = None
        self.words: WordTiles | None = None
        if block is not None:
            words = self._takes_words()
            kind = node.operands[0].type if words else self.kind
            flips = words and kind.is_integer
            self.input = InputPacking(self.em, node, tiling, kind, block, flips=flips)
            self.node = self.input.node
            if words:
                self.words = self._words(self.input)
            blocks = math.prod(block.blocks)
            self.chunks = blocks if self.packing is None else min(blocks, tiling.chunks)
        self.inputs_met = Inputs(ZERO, inputs_of(node))
        self.waiting = self._waiting()
        if self.kind.is_integer and self.words is None:
            raise NotVectorizableError("the kernel's panels are not those of these tiles")
        self.lines_below: LinesBelow | None = None
        if self.input is None and self.waiting is None:
            self.lines_below = LinesBelow.of(self.em, node, tiling)
        self.units = tiling.runs * self.chunks
        # A small kernel: positions are walked once, with all their features.
        self.columns_inside = walks_features(node) or (
            node.name == "convolution"
            and self.packing is None
            and self.chunks == tiling.positions
            and self.node.operands[1].size * self.kind.memory_bytes <= SMALL_KERNEL
        )

    def _waiting(self) -> WaitingSums | None:
        """Room for the sums of a work unit's tiles, if its operands are read a part at a time."""
        tiling = self.tiling
        where_it_lies = self.packing is None and self.panels is None and self.input is None
        chunks = chunks_in_parts(self.node, tiling) if where_it_lies else 0
        if not chunks:
            return None
        tiles = -(-tiling.positions // chunks)
        if not WaitingSums.fit(self.em, self.kind, tiling, tiles):
            return None
        self.chunks = chunks
        return WaitingSums(self.em, self.kind, tiling, tiles)

    def _panels(self) -> KernelPanels | None:
        """The kernel of a convolution, if it lies in memory in panels of these tiles' columns."""
        kernel, width = self.node.operands[1], self.tiling.width
        panels = panels_of(kernel)
        if panels not in self.inputs:
            return None
        columns, span = columns_of(kernel, panels)
        if columns != width or (span > 1 and not self._takes_words()):
            return None
        return KernelPanels(self.em, kernel, self.inputs[panels], width)

    def _packs_columns(self) -> bool:
        """Whether work units pack the columns of a convolution's kernel: it is computed, or read
        better where they lie side by side.
        """
        node, tiling = self.node, self.tiling
        if node.name != "convolution":
            return False
        if node.operands[1] not in self.inputs:
            return True
        if self.kind.is_integer or walks_features(node) or groups_of(node) > 1:
            return False
        if packed_elements(node, tiling) * self.kind.memory_bytes > PACKED_BYTES:
            return False  # they would leave the cache as well
        enough = tiling.positions // tiling.chunks >= FEWEST_SHARING
        return enough and columns_leave_cache(node, tiling)

    def _takes_words(self) -> bool:
        """Whether instructions on words multiply the factors, the kernel's being packed so."""
        return _span_of(self.region, self.node) > 1 and word_of(self.node) is not None

    def _words(self, packing: InputPacking) -> WordTiles:
        instruction = word_of(self.node)
        assert instruction is not None and self.panels is not None, "the panels are of words"
        sums = Accumulators(self.em, self.kind, self.tiling.lanes)
        return WordTiles(sums, self.node, instruction, packing, self.panels)

    def emit(self) -> Kernel:
        em, b, units = self.em, self.builder, self.units
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            if self.columns_inside:
                chunk, run = em.divmod(unit, self.tiling.runs)
            else:
                run, chunk = em.divmod(unit, self.chunks)
            group, column_block = em.divmod(run, self.tiling.column_blocks)
            if self.packing is not None:
                self._pack_columns(self.packing, group, column_block)
            if self.words is not None:
                self.words.take(column_block)
            elif self.panels is not None:
                self.panels.take(column_block)
            self._chunk(group, column_block, chunk)
        return kernel_of(
            b,
            self.inputs.values(),
            self.outputs,
            units,
            in_place=read_where_written(em, self.inputs.values(), self.results.written),
        )

    def _pack_columns(self, packing: KernelPacking, group: Affine, column_block: Affine) -> None:
        tiling = self.tiling
        first = group * tiling.shape[-1] + column_block * tiling.width
        self.results.either(
            column_block, tiling.column_blocks, tiling.last_columns != tiling.width,
            lambda _: packing.pack(first, tiling.width),
            lambda _: packing.pack(first, tiling.last_columns),
        )  # fmt: skip

    def _chunk(self, group: Affine, column_block: Affine, chunk: Affine) -> None:
        """Some tiles of a run of columns, or blocks of them that share their packed input."""
        em, b, tiling = self.em, self.builder, self.tiling
        total = tiling.positions if self.input is None else math.prod(self.input.block.blocks)

        def make(index: Affine) -> None:
            if self.input is None:
                self._tile_at(group, column_block, index)
            else:
                self._block(self.input, group, column_block, index)

        if self.chunks == total:
            make(chunk)
            return
        each = -(-total // self.chunks)
        start = em.index(chunk * each)
        end = b.op(f"arith.addi {start}, {b.index(each)} : index")
        if total % self.chunks:
            end = b.op(f"arith.minui {end}, {b.index(total)} : index")

        def make_all() -> None:
            with b.loop(start, end, b.index(1)) as loop:
                if self.waiting is not None:
                    tile = b.op(f"arith.subi {loop.iv}, {start} : index")
                    self.waiting.tile = em.name_index(tile, each)
                make(em.variable(loop.iv, total))

        if self.waiting is not None:
            self._add_parts(self.waiting, make_all)
        make_all()

    def _add_parts(self, waiting: WaitingSums, make_all: Callable[[], None]) -> None:
        """All sums of the unit's tiles, part after part of the input features."""
        b, inputs, part = self.builder, self.inputs_met.count, part_of(self.node)
        waiting.clear()
        with b.loop(b.index(0), b.index(inputs), b.index(part)) as loop:
            self.inputs_met = Inputs(self.em.variable(loop.iv, inputs), part)
            make_all()
        self.inputs_met = Inputs(ZERO, 0)

    def _block(
        self, packing: InputPacking, group: Affine, column_block: Affine, index: Affine
    ) -> None:
        """Packs the input of a block of positions and makes its tiles."""
        tiling, block = self.tiling, packing.block
        walked = [*tiling.outer, *([tiling.row_dim] if tiling.row_dim >= 0 else [])]
        numbers = self.em.dims(Position.of_offset(index), block.blocks)
        first = {d: n * size for d, n, size in zip(walked, numbers, block.positions, strict=True)}
        packing.pack(first, group, column_block * tiling.width)
        self._tiles_of_block(
            [(d, first[d], size) for d, size in zip(walked, block.positions, strict=True)],
            {}, group, column_block,
        )  # fmt: skip

    def _tiles_of_block(
        self, ranges: Sequence[tuple[int, Affine, int]], at: dict[int, Affine], group: Affine,
        column_block: Affine,
    ) -> None:  # fmt: skip
        """Tiles at every position of ranges: (dimension, first position, how many)."""
        em, b, tiling = self.em, self.builder, self.tiling
        if not ranges:
            row_block = at.get(tiling.row_dim, ZERO)
            self.prefetch_line = self._prefetch_line(row_block)
            self._edges((group, *(at[d] for d in tiling.outer)), row_block, column_block)
            return
        (d, first, size), *rest = ranges
        extent = tiling.shape[d]
        if d == tiling.row_dim:  # by tiles
            first, _ = em.divmod(first, tiling.rows)
            size, extent = size // tiling.rows, tiling.row_blocks
        start = em.index(first)
        end = b.op(f"arith.addi {start}, {b.index(size)} : index")
        if extent % size:
            end = b.op(f"arith.minui {end}, {b.index(extent)} : index")
        with b.loop(start, end, b.index(1)) as loop:
            inside = {**at, d: em.variable(loop.iv, extent)}
            self._tiles_of_block(rest, inside, group, column_block)

    def _tile_at(self, group: Affine, column_block: Affine, position: Affine) -> None:
        em, tiling = self.em, self.tiling
        rest, row_block = em.divmod(position, tiling.row_blocks)
        outer = em.dims(Position.of_offset(rest), [tiling.shape[d] for d in tiling.outer])
        self.prefetch_line = self._prefetch_line(row_block)
        if self.lines_below is not None:
            self.lines_below.fetch(outer, row_block)
        self._edges((group, *outer), row_block, column_block)

    def _prefetch_line(self, row_block: Affine) -> Affine | None:
        """Which vectors of the next columns of a large right operand this tile brings into cache.

        The first tiles of a run of columns would wait for memory: while earlier ones are made, each
        step of the contracted space fetches lines of the same step of the next ones.
        """
        right, tiling = self.node.operands[1], self.tiling
        if right.size < LARGE_OPERAND or right not in self.inputs or tiling.row_blocks < 2:
            return None
        if self.waiting is not None:
            return None  # the next columns are another unit's
        em, b = self.em, self.builder
        groups = -(-tiling.vectors // self.prefetched)
        index = em.index(row_block)
        group = b.op(f"arith.remui {index}, {b.index(groups)} : index")
        return em.name_index(group, groups) * self.prefetched

    def _prefetch(self, right: Position) -> None:
        """Fetches lines ahead of a position in the right operand."""
        if self.prefetch_line is None:
            return
        em, b, tiling = self.em, self.builder, self.tiling
        buffer = self.inputs[self.node.operands[1]]
        at = right.linear(self.node.operands[1].shape)
        for line in range(self.prefetched):
            ahead = at + tiling.width + (self.prefetch_line + line) * tiling.lanes
            place = f"{buffer.name}[{em.index(ahead)}]"
            b.effect(f"memref.prefetch {place}, read, locality<2>, data : {buffer.memref}")

    def _edges(self, outer: Sequence[Affine], row_block: Affine, column_block: Affine) -> None:
        """Whole tiles, and those at the ends."""
        self.results.edges(
            row_block, column_block,
            lambda block, column, rows, columns: self._tile(outer, block, column, rows, columns),
        )  # fmt: skip

    def _tile(
        self,
        outer: Sequence[Affine],
        row_block: Affine,
        column_block: Affine,
        rows: int,
        columns: int,
    ) -> None:
        results = self.results
        names, masks = results.lanes_of(column_block, columns)
        places = results.places(outer, row_block, rows)
        waiting, count = self.waiting, len(names)
        if waiting is not None and not self.inputs_met.count:
            found = waiting.take(rows, count)
            totals = [found[r * count : (r + 1) * count] for r in range(rows)]
        else:
            totals = self._accumulate(places, names, masks)
        if waiting is not None and self.inputs_met.count:
            waiting.put(rows, count, [total for row in totals for total in row])
        else:
            results.finish(places, names, masks, totals)

    def _accumulate(
        self, places: Sequence[list[Affine]], names: Sequence[str], masks: Sequence[str | None]
    ) -> list[list[Value]]:
        """The contraction at every position of the tile: [row][vector]."""
        sums = Accumulators(self.em, self.kind, self.tiling.lanes)
        if self.words is not None:
            first = [self.results.dims(place, names[0]) for place in places]
            totals = self.words.total(first, len(names))
        elif takes_padded_tiles(self.node):
            dims = [[self.results.dims(place, name) for name in names] for place in places]
            tile = PaddedTile(sums, self.node, self.tiling.row_dim, dims, names, masks)
            right_at = tile.windows[0][0].right_at
            begun = self._begun(sums, len(places), len(names))
            totals = tile.total(
                lambda indices: self._prefetch(right_at(indices)), begun, self.inputs_met
            )
        else:
            totals = self._unpadded(sums, places, names, masks)
        return [totals[r * len(names) : (r + 1) * len(names)] for r in range(len(places))]

    def _unrolled(self, rows: int, vectors: int) -> int:
        """Steps of a dot's depth between two looks at the end of a loop: of whole tiles whose
        factors are in memory.
        """
        if self.node.results[0].size * depth_of(self.node) < UNROLLED_WORK:
            return 1
        whole = rows == self.tiling.rows and vectors == self.tiling.vectors
        read = all(operand in self.inputs for operand in self.node.operands)
        return UNROLLED if whole and read else 1

    def _begun(self, sums: Accumulators, rows: int, vectors: int) -> list[Value]:
        """The sums of a tile before its products are added."""
        if self.waiting is None:
            return sums.zeros(rows * vectors)
        return self.waiting.take(rows, vectors)

    def _unpadded(
        self, sums: Accumulators, places: Sequence[list[Affine]], names: Sequence[str],
        masks: Sequence[str | None],
    ) -> list[Value]:  # fmt: skip
        em, lanes = self.em, self.tiling.lanes
        contractions: list[list[Contraction]] = []
        for place in places:
            row: list[Contraction] = []
            for name, mask in zip(names, masks, strict=True):
                with em.vector(name, lanes, mask):
                    row.append(contraction_of(em, self.node, self.results.dims(place, name)))
            contractions.append(row)

        def step(indices: Sequence[Affine], acc: list[Value]) -> list[Value]:
            result: list[Value] = []
            self._prefetch(contractions[0][0].right_at(indices))
            for r in range(len(places)):
                for v, (name, mask) in enumerate(zip(names, masks, strict=True)):
                    with em.vector(name, lanes, mask):
                        left, right = contractions[r][v].factors(indices, self.kind)
                    result.append(sums.multiply_add(left, right, acc[r * len(names) + v]))
            return result

        begun, extents = self._begun(sums, len(places), len(names)), contractions[0][0].extents
        if self.node.name != "convolution":
            depth = extents[-1] if extents else 1
            unrolled = math.gcd(depth, self._unrolled(len(places), len(names)))
            if unrolled == 1:
                return sums.nest(extents, begun, step)

            def steps(indices: Sequence[Affine], acc: list[Value]) -> list[Value]:
                for i in range(unrolled):
                    acc = step([*indices[:-1], indices[-1] * unrolled + i], acc)
                return acc

            return sums.nest([*extents[:-1], depth // unrolled], begun, steps)
        if not inputs_lead(self.node):
            near = features_near(self.node)
            by_parts = [extents[-1] // near, *extents[:-1], near]
            return sums.nest(
                by_parts, begun, lambda at, acc: step([*at[1:-1], at[0] * near + at[-1]], acc)
            )
        inputs = self.inputs_met
        outermost = [inputs.count, *extents[:-1]]
        return sums.nest(
            outermost, begun, lambda at, acc: step([*at[1:], inputs.first + at[0]], acc)
        )
