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
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.accumulators import Accumulators
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elemental.contractions import Contraction, contraction_of, product_type
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import Kernel, argument_buffers, function_text
from hlo.passes.hlo_to_loops.matrix_vector_kernel import matrix_vector_of
from hlo.passes.hlo_to_loops.padded_windows import PaddedTile, reaches_padding
from hlo.passes.hlo_to_loops.product_blocking import packs
from hlo.passes.hlo_to_loops.product_factors import word_instruction

VECTOR_BYTES = 64
REGISTERS = 28  # accumulators at the most
# Rows of a tile for its vectors across, measured. Where rows are a multiple of 4 KiB apart, their
# elements fall into one set of the first-level cache, which holds 8: three vectors have 8 rows.
MOST_ROWS = {1: 14, 2: 14, 3: 8, 4: 6}
WIDE_VECTORS, WIDE_ROWS = 6, 2
MULTIPLIES_A_BYTE = 3  # that take as long as one byte from or to memory
PANEL_BYTES = 400 << 10  # of a run of columns of a kernel, about half of the second-level cache
LARGE_OPERAND = 1 << 18  # elements of an operand that does not stay in the second-level cache


@dataclass(frozen=True)
class Tiling:
    """How the result is cut into register tiles.

    Attributes:
        shape: the result's.
        row_dim: dimension that the rows of a tile walk; -1 if there is only one position.
        rows: positions along it in a tile.
        lanes: elements in a vector.
        vectors: vectors along the minor dimension in a tile.
    """

    shape: tuple[int, ...]
    row_dim: int
    rows: int
    lanes: int
    vectors: int

    @property
    def row_blocks(self) -> int:
        return -(-self.row_extent // self.rows)

    @property
    def row_extent(self) -> int:
        return self.shape[self.row_dim] if self.row_dim >= 0 else 1

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def column_blocks(self) -> int:
        return -(-self.shape[-1] // self.width)

    @property
    def outer(self) -> list[int]:
        """The other dimensions."""
        return [d for d in range(len(self.shape) - 1) if d != self.row_dim]

    @property
    def units(self) -> int:
        return self.row_blocks * self.column_blocks * math.prod(self.shape[d] for d in self.outer)


def tiling_of(
    shape: Sequence[int],
    lanes: int,
    *,
    row_dims: Sequence[int] = (),
    narrow: bool = False,
    wide: bool = False,
) -> Tiling | None:
    """Tiles for a result of `shape`; None if the minor dimension is shorter than half a vector.

    `row_dims`: dimensions that rows should walk; empty for any. `narrow`: two vectors across at the
    most, for the sake of the cache. `wide`: few rows, long runs of columns, for the sake of memory
    that is read and written along with the result.
    """
    if not shape or shape[-1] * 2 < lanes:
        return None
    row_dim = _row_dim(shape, row_dims)
    extent = shape[row_dim] if row_dim >= 0 else 1
    columns = -(-shape[-1] // lanes)
    if extent <= 3 or (wide and columns >= WIDE_VECTORS):
        extent = min(extent, WIDE_ROWS)
        # Few rows leave registers for long runs of columns, which stream the other operand.
        most = REGISTERS // (extent + 1)
        vectors = _even_part(columns, min(most, columns))
    else:
        most = 4 if extent <= MOST_ROWS[4] or columns == 4 else 3
        most = 2 if narrow else most
        vectors = min(most, columns)
    most_rows = MOST_ROWS.get(vectors, WIDE_ROWS)
    rows = _even_part(extent, min(extent, most_rows))
    return Tiling(tuple(shape), row_dim, rows, lanes, vectors)


def _row_dim(shape: Sequence[int], preferred: Sequence[int]) -> int:
    """The last dimension with enough rows for a tile, else the one with most; -1 if all are 1."""
    wide = [d for d in range(len(shape) - 1) if shape[d] > 1]
    if not (choice := [d for d in wide if d in preferred]):
        return max(wide, default=-1)
    enough = [d for d in choice if shape[d] >= MOST_ROWS[3]]
    return max(enough) if enough else max(choice, key=lambda d: shape[d])


def _left_dims(node: Node) -> range:
    """Dimensions of a dot's result that only its left operand has: they share vectors of the right.

    Empty for a convolution.
    """
    numbers = node.attributes.get("dot_dimension_numbers")
    if numbers is None:
        return range(0)
    batch = len(numbers.get("lhs_batching_dimensions", ()))
    summed = len(numbers.get("lhs_contracting_dimensions", ()))
    return range(batch, node.operands[0].rank - summed)


def depth_of(node: Node) -> int:
    """Products summed for each element of a contraction's result."""
    if node.name == "convolution":
        kernel = node.operands[1]
        return kernel.size // max(
            1, kernel.shape[node.attributes["dimension_numbers"]["kernel"].index("o")]
        )
    summed = node.attributes["dot_dimension_numbers"].get("lhs_contracting_dimensions", ())
    return math.prod(node.operands[0].shape[d] for d in summed)


def _is_narrow(node: Node) -> bool:
    """Whether runs of three vectors of a convolution's kernel leave the cache between rows."""
    return node.name == "convolution" and depth_of(node) * 3 * VECTOR_BYTES > PANEL_BYTES


def _waits_for_memory(region: Region, node: Node) -> bool:
    """Whether what follows a contraction moves more bytes than can be had while it multiplies."""
    size = node.results[0].size
    moved = [t for t in (*region.arguments, *region.results) if t.size == size]
    around = [t for t in moved if t not in node.operands]
    if size < LARGE_OPERAND or len(around) < 2:
        return False
    return depth_of(node) <= MULTIPLIES_A_BYTE * sum(t.type.memory_bytes for t in around)


def _even_part(extent: int, most: int) -> int:
    """The largest divisor of `extent` up to `most`; `most` if that is less than its half."""
    even = max(r for r in range(1, most + 1) if extent % r == 0)
    return even if even * 2 > most else most


def takes_elementwise(node: Node) -> bool:
    """Whether the kernel of a convolution or dot takes in what follows it element by element."""
    if (plan := matrix_vector_of(node)) is not None:
        return plan.by_rows
    return packs(node) or fits_register_tiles(node)


def takes_prologue(node: Node, operand: int) -> bool:
    """Whether the kernel of a dot computes an operand where it reads it, few times at the most."""
    if node.name != "dot_general" or node.operands[0] is node.operands[1]:
        return False
    if (plan := matrix_vector_of(node)) is not None:
        return node.operands[operand] is plan.matrix
    if word_instruction(node, depth_of(node)) is not None:
        return False  # words are loaded as they lie in memory
    if operand == 0:
        return packs(node)
    return packs(node, computed=True) or _tiles_hold_all_rows(node)


def _tiles_hold_all_rows(node: Node) -> bool:
    """Whether register tiles read each element of the right operand about once."""
    if not fits_register_tiles(node):
        return False
    tiling = tiling_of(node.results[0].shape, _lanes(node.results[0].type))
    return tiling is not None and tiling.row_blocks <= 2


def fits_register_tiles(node: Node) -> bool:
    """Whether register tiles can compute a convolution or dot."""
    tensor = node.results[0]
    if tensor.size == 0 or not takes_width(tensor.type, tensor.shape):
        return False
    if node.name == "convolution":
        labels = node.attributes["dimension_numbers"]
        return (
            labels["kernel"][-1] == "o"
            and labels["output"][-1] == "f"
            and node.attributes["batch_group_count"] == 1
        )
    return minor_is_free(node)


def takes_width(element: ElementType, shape: Sequence[int]) -> bool:
    """Whether a result has elements for register tiles, and enough of them side by side."""
    kind = product_type(element).name
    return kind in ("f32", "f64") and tiling_of(shape, _lanes(element)) is not None


def _lanes(element: ElementType) -> int:
    return 16 if product_type(element).name == "f32" else 8


def minor_is_free(node: Node) -> bool:
    """Whether the right operand of a dot walks the result's minor dimension contiguously."""
    rhs, numbers = node.operands[1], node.attributes["dot_dimension_numbers"]
    taken = (
        *numbers.get("rhs_batching_dimensions", ()),
        *numbers.get("rhs_contracting_dimensions", ()),
    )
    return rhs.rank > 0 and rhs.rank - 1 not in taken


def emit_contraction(region: Region) -> Kernel | None:
    """A kernel for one convolution or dot of floats and elementwise ops after it; None if unfit."""
    nodes = [n for n in region.nodes if n.name in ("convolution", "dot_general")]
    if len(nodes) != 1 or any(n.name in ("reduce", "reduce_window") for n in region.nodes):
        return None
    node, root = nodes[0], region.results[0]
    if root.size != node.results[0].size or not fits_register_tiles(node):
        return None
    tiling = tiling_of(
        node.results[0].shape,
        _lanes(node.results[0].type),
        row_dims=_left_dims(node),
        narrow=_is_narrow(node),
        wide=_waits_for_memory(region, node),
    )
    assert tiling is not None
    try:
        return _Tiles(region, node, tiling).emit()
    except NotVectorizableError:
        return None


class _Tiles:
    def __init__(self, region: Region, node: Node, tiling: Tiling) -> None:
        self.region, self.node, self.tiling = region, node, tiling
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        self.kind = product_type(node.results[0].type)
        self.prefetch_line: Affine | None = None
        self.prefetched = -(-tiling.vectors // tiling.row_blocks)  # lines for each step
        self.written: set[Affine] = set()

    def emit(self) -> Kernel:
        em, b, tiling = self.em, self.builder, self.tiling
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, tiling.units) if tiling.units > 1 else ZERO
            rest, row_block = em.divmod(unit, tiling.row_blocks)
            sizes = [tiling.shape[d] for d in tiling.outer]
            column_block, rest = em.divmod(rest, max(1, math.prod(sizes)))
            outer = em.dims(Position.of_offset(rest), sizes)
            self.prefetch_line = self._prefetch_line(row_block)
            self._edges(outer, row_block, column_block)
        return Kernel(
            function_text(b, list(self.inputs.values()), self.outputs),
            tiling.units,
            tuple(buffer.memref for buffer in self.inputs.values()),
            tuple(buffer.memref for buffer in self.outputs),
            in_place=tuple(
                i
                for i, buffer in enumerate(self.inputs.values())
                if em.loaded.get(buffer, set()) <= self.written
            ),
        )

    def _prefetch_line(self, row_block: Affine) -> Affine | None:
        """Which vectors of the next columns of a large right operand this tile brings into cache.

        The first tiles of a run of columns would wait for memory: while earlier ones are made, each
        step of the contracted space fetches lines of the same step of the next ones.
        """
        right, tiling = self.node.operands[1], self.tiling
        if right.size < LARGE_OPERAND or right not in self.inputs or tiling.row_blocks < 2:
            return None
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
        """Whole tiles, and the cut-off ones at the ends of the rows and of the columns."""
        tiling = self.tiling
        last_rows = tiling.row_extent - (tiling.row_blocks - 1) * tiling.rows
        last_columns = tiling.shape[-1] - (tiling.column_blocks - 1) * tiling.width

        def with_rows(block: Affine, rows: int) -> None:
            self._either(
                column_block, tiling.column_blocks, last_columns != tiling.width,
                lambda column: self._tile(outer, block, column, rows, tiling.width),
                lambda column: self._tile(outer, block, column, rows, last_columns),
            )  # fmt: skip

        self._either(
            row_block, tiling.row_blocks, last_rows != tiling.rows,
            lambda block: with_rows(block, tiling.rows), lambda block: with_rows(block, last_rows),
        )  # fmt: skip

    def _either(
        self,
        block: Affine,
        blocks: int,
        uneven: bool,
        whole: Callable[[Affine], None],
        cut: Callable[[Affine], None],
    ) -> None:
        """Calls back with the block, of which more is known where the last one is not whole."""
        b, em = self.builder, self.em
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

    def _tile(
        self,
        outer: Sequence[Affine],
        row_block: Affine,
        column_block: Affine,
        rows: int,
        columns: int,
    ) -> None:
        em, b, tiling = self.em, self.builder, self.tiling
        lanes = tiling.lanes
        vectors = -(-columns // lanes)
        rest = columns - (vectors - 1) * lanes
        mask = None
        if rest != lanes:
            mask = b.op(f"vector.constant_mask [{rest}] : vector<{lanes}xi1>")
        column = column_block * tiling.width
        names: list[str] = []
        for v in range(vectors):
            name = b.load(f"arith.addi {em.index(column)}, {b.index(v * lanes)} : index")
            em.variable(name, tiling.shape[-1])
            names.append(name)
        masks = [mask if v == vectors - 1 else None for v in range(vectors)]
        places: list[list[Affine]] = []
        for r in range(rows):
            place = [ZERO] * len(tiling.shape)
            for d, index in zip(tiling.outer, outer, strict=True):
                place[d] = index
            if tiling.row_dim >= 0:
                place[tiling.row_dim] = em.bounded(row_block * tiling.rows + r, tiling.row_extent)
            places.append(place)
        totals = self._accumulate(places, names, masks)
        self._finish(places, names, masks, totals)

    def _accumulate(
        self, places: Sequence[list[Affine]], names: Sequence[str], masks: Sequence[str | None]
    ) -> list[list[Value]]:
        """The contraction at every position of the tile: [row][vector]."""
        sums = Accumulators(self.em, self.kind, self.tiling.lanes)
        if reaches_padding(self.node):
            tile = PaddedTile(sums, self.node, self.tiling.row_dim, places, names, masks)
            right_at = tile.windows[0][0].right_at
            totals = tile.total(lambda indices: self._prefetch(right_at(indices)))
        else:
            totals = self._unpadded(sums, places, names, masks)
        return [totals[r * len(names) : (r + 1) * len(names)] for r in range(len(places))]

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
                    row.append(contraction_of(em, self.node, [*place[:-1], Affine.variable(name)]))
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

        zeros = sums.zeros(len(places) * len(names))
        return sums.nest(contractions[0][0].extents, zeros, step)

    def _finish(
        self, places: Sequence[list[Affine]], names: Sequence[str], masks: Sequence[str | None],
        totals: Sequence[Sequence[Value]],
    ) -> None:  # fmt: skip
        """Rounds, applies what follows the contraction, stores."""
        em, b, tensor = self.em, self.builder, self.node.results[0]
        strides = suffix_products(tensor.shape)
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
