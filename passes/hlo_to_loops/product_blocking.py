"""How packed matrix products are cut into tiles, panels, blocks and work units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.matrix_multiply import (
    MatrixOperand,
    matrix_operands,
    operands_by_rows,
)
from hlo.passes.hlo_to_loops.product_factors import WORD_BYTES, sums_type, word_instruction

VECTOR_BYTES = 64
# Rows of a tile for its vectors across: 24 accumulators, and registers for what they are fed from.
MOST_ROWS = {1: 14, 2: 12, 3: 8, 4: 6}
# A tile's row of one vector loads nearly as much as it multiplies.
COST_OF_VECTORS = {1: 1.3, 2: 2.1, 3: 3.0, 4: 4.0}
PANEL_BYTES = 36 << 10  # of one part of the depth of a panel of the right operand
PACKED_BYTES = 192 << 10  # of a block of panels: it stays in the second-level cache
LEFT_BYTES = 384 << 10  # of a part of the depth of a block of rows: second-level cache
SUMS_BYTES = 512 << 10  # of sums that wait for the next part of the depth
UNIT_WORK = 1 << 20  # multiply-adds of a work unit that is worth making
HALF_WORK = 1 << 18  # the same of one of two
MOST_UNITS = 64
THREADS = (2, 4, 8)  # for which work units are made of even size
# Packing a panel for a block of one tile takes as long as the tile; packing, computing or fetching
# a tile's rows of the left operand for one panel is a tenth of it.
COST_OF_PACKING, COST_OF_LEFT = 1.0, 0.1
UNROLLED = 4  # steps of the depth: more instructions between them than products alone
FETCHING_STEPS = 32  # of the depth, at the most, between lines fetched ahead

SMALLEST_PRODUCT = 1 << 15  # multiply-adds below which packing does not pay
SMALLEST_TURNED = 1 << 12  # the same of a turned right operand, whose tiles are packed or none
# Work for several blocks, whose rows are fetched ahead; register tiles wait for them.
BLOCK_ROWS, BLOCK_VECTORS, BLOCK_WORK = 64, 8, 1 << 21
# Rows of the left operand that share what is packed of a right operand in rows, and the elements of
# one that is read better when packed: it leaves the first-level cache, where few rows share it the
# second-level one. Packing costs a store for as many products as there are rows.
SHARING_ROWS, SHARED_VECTORS, SHARED_RIGHT = 17, 4, 1 << 15
FEWEST_ROWS, LARGE_RIGHT = 13, 1 << 20
LARGE_LEFT = 1 << 20  # elements of a left operand that is not read again for every few columns
FEWEST_ROWS_TURNED = 13  # that tiles take, the right operand being turned: fewer are vectors
FEWEST_ROWS_OF_WORDS = 2
FEWEST_COLUMNS = 128  # that it is read for
DEEP = 512  # steps whose lines of a transposed left operand leave the first-level cache
DEEP_BATCH, DEEP_VECTORS = 4, 4  # deep products that are work for threads; their vectors across
FAR_BYTES = 3072  # between steps of the depth beyond which a tile's columns are read with misses


@dataclass(frozen=True)
class Blocking:
    """How a product [m, k] x [k, n] is cut.

    Attributes:
        lanes, vectors: elements in a vector, vectors across a tile.
        rows: of a tile.
        tiles: tiles below one another in a work unit's block.
        panels: tiles side by side in a work unit's block.
        depth: of a part: what is packed and multiplied at a time.
    """

    m: int
    n: int
    k: int
    lanes: int
    vectors: int
    rows: int
    tiles: int
    panels: int
    depth: int

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def all_tiles(self) -> int:
        return -(-self.m // self.rows)

    @property
    def all_panels(self) -> int:
        return -(-self.n // self.width)

    @property
    def row_blocks(self) -> int:
        return -(-self.all_tiles // self.tiles)

    @property
    def column_blocks(self) -> int:
        return -(-self.all_panels // self.panels)

    @property
    def depth_blocks(self) -> int:
        return -(-self.k // self.depth)

    @property
    def units(self) -> int:
        """Work units of one product."""
        return self.row_blocks * self.column_blocks

    @property
    def last_depth(self) -> int:
        return self.k - (self.depth_blocks - 1) * self.depth

    @property
    def last_rows(self) -> int:
        """Rows of the last tile."""
        return self.m - (self.all_tiles - 1) * self.rows

    @property
    def last_columns(self) -> int:
        """Columns of the last panel."""
        return self.n - (self.all_panels - 1) * self.width

    @property
    def unrolled(self) -> int:
        """Steps of the depth between two looks at the end of a loop."""
        return math.gcd(self.k, UNROLLED)

    @property
    def fetching_steps(self) -> int:
        """Steps of the depth between lines fetched ahead: a power of two, no more than tiles."""
        return min(FETCHING_STEPS, 1 << max(self.tiles.bit_length() - 1, 2))

    @property
    def cuts_a_run(self) -> bool:
        """Whether a part of the depth ends between two lines fetched ahead."""
        return any(steps % self.fetching_steps for steps in (self.depth, self.last_depth))


@cache
def blocking_of(m: int, n: int, k: int, lanes: int, *, batch: int = 1) -> Blocking:
    """Blocks in cache, of which some threads have the same work."""
    columns = -(-n // lanes)
    vectors = min((3, 4, 2, 1), key=lambda v: _cost_across(columns, v))
    rows = even_part(m, MOST_ROWS[vectors])
    depth = even_part(k, PANEL_BYTES // (vectors * VECTOR_BYTES))
    if depth < k:
        depth = -(-depth // lanes) * lanes  # only the last part may end within a vector
    panels, tiles = -(-columns // vectors), -(-m // rows)
    panel_bytes = vectors * VECTOR_BYTES
    tile_bytes = rows * panel_bytes  # of sums
    vectors_deep = -(-depth // lanes)
    most_tiles = max(1, LEFT_BYTES // (woven_rows_of(rows) * vectors_deep * VECTOR_BYTES))
    most_panels = max(1, PACKED_BYTES // (depth * panel_bytes))
    work = batch * m * n * k
    most_units = max(min(2, work // HALF_WORK), min(MOST_UNITS, work // UNIT_WORK))

    def sizes() -> Iterator[tuple[int, int]]:
        for panel_block in _even_parts(panels, most_panels):
            held = most_tiles
            if depth < k:
                held = min(held, SUMS_BYTES // (panel_block * tile_bytes))
            for tile_block in _even_parts(tiles, max(1, held)):
                yield tile_block, panel_block
                if batch * -(-panels // panel_block) * -(-tiles // tile_block) >= most_units:
                    break

    tile_block, panel_block = min(sizes(), key=lambda size: _cost_of(*size, tiles, panels, batch))
    return Blocking(m, n, k, lanes, vectors, rows, tile_block, panel_block, depth)


def woven_rows_of(rows: int) -> int:
    """Rows that a tile has room for where they are packed: a power of two."""
    return 1 << (rows - 1).bit_length()


def _even_parts(count: int, most: int) -> Iterator[int]:
    """Sizes of parts that cut `count` evenly, the largest, of at most `most`, first."""
    parts, size = -(-count // most), 0
    while size != 1:
        if (even := -(-count // parts)) != size:
            size = even
            yield size
        parts += 1


def _cost_of(tile_block: int, panel_block: int, tiles: int, panels: int, batch: int) -> float:
    """The time that blocks take beside that of their products alone, on some threads."""
    units = batch * -(-tiles // tile_block) * -(-panels // panel_block)
    unit, total = tile_block * panel_block, batch * tiles * panels
    longest = [
        min(-(-units // threads) * unit, total / threads + unit * (1 - 1 / threads)) * threads
        for threads in THREADS
    ]
    around = 1 + COST_OF_PACKING / tile_block + COST_OF_LEFT / panel_block
    return around * sum(longest) / (len(THREADS) * total)


def packed_units(node: Node) -> int:
    """Work units of a dot_general that `packs`."""
    operands = operands_by_rows(node)
    assert operands is not None, "packs has asked"
    left, right = operands
    instruction = word_instruction(node, left.summed.extent)
    span = 1 if instruction is None else WORD_BYTES // node.operands[0].type.memory_bytes
    batch = math.prod(axis.extent for axis in left.batch)
    blocking = blocking_of(
        left.free.extent, right.free.extent, left.summed.extent // span, lanes_of(node),
        batch=batch,
    )  # fmt: skip
    return batch * blocking.units


def _cost_across(columns: int, vectors: int) -> float:
    whole, rest = divmod(columns, vectors)
    return whole * COST_OF_VECTORS[vectors] + (COST_OF_VECTORS[rest] if rest else 0)


def even_part(count: int, most: int) -> int:
    """The size of parts of at most `most` that cut `count` evenly."""
    return -(-count // -(-count // most))


def lanes_of(node: Node) -> int:
    """Elements of a vector of a product's sums."""
    return 8 if sums_type(node.results[0].type).bits == 64 else 16


def is_transposed_left(operand: MatrixOperand) -> bool:
    """Whether a left operand's rows lie across memory."""
    return operand.summed.stride != 1 and operand.summed.extent > 1


def _has_types(node: Node) -> bool:
    """Whether a product has floats, or integers of whole bytes, throughout."""
    result, operands = node.results[0].type, [o.type for o in node.operands]
    if result.is_float:
        return all(t.is_float for t in operands)
    return all(t.is_integer and t.bits >= 8 for t in (result, *operands))


def is_deep(m: int, n: int, k: int, node: Node) -> bool:
    """Whether a product's columns leave the first-level cache before the next tile reads them."""
    return k >= DEEP and m >= BLOCK_ROWS and n >= DEEP_VECTORS * lanes_of(node)


def packs(node: Node, computed: bool = False) -> bool:
    """Whether a dot_general is computed with packed operands.

    Args:
        computed: whether an operand is not in memory: packing is then its only pass.
    """
    if node.name != "dot_general" or not _has_types(node):
        return False
    if (operands := operands_by_rows(node)) is None:
        return False
    left, right = operands
    m, n, k = left.free.extent, right.free.extent, left.summed.extent
    wide = n >= BLOCK_VECTORS * lanes_of(node)
    is_blocks = m >= BLOCK_ROWS and wide and m * n * k >= BLOCK_WORK
    if any(axis.extent > 1 and axis.stride == 0 for axis in right.batch) and not is_blocks:
        return False  # the right operand is packed for each block of rows
    if node.results[0].type.is_integer or word_instruction(node, k) is not None:
        # There are no other tiles for them.
        return m >= FEWEST_ROWS_OF_WORDS and n >= lanes_of(node) and m * n * k >= SMALLEST_PRODUCT
    turned = right.summed.stride == 1 and right.free.stride != 1
    fewest = FEWEST_ROWS_TURNED if turned else min(lanes_of(node), FEWEST_ROWS)
    smallest = SMALLEST_TURNED if turned else SMALLEST_PRODUCT
    if m < fewest or min(n, k) < lanes_of(node) or math.prod((m, n, k)) < smallest:
        return False
    if computed or turned:
        return True
    count = math.prod(axis.extent for axis in left.batch)
    far = left.summed.stride * node.operands[0].type.memory_bytes >= FAR_BYTES
    if far or (is_transposed_left(left) and k >= DEEP):
        return True
    if left.summed.stride == 1 and m * k >= LARGE_LEFT and n >= FEWEST_COLUMNS:
        return True
    if is_blocks or (count >= DEEP_BATCH and is_deep(m, n, k, node)):
        return True
    shared = m >= SHARING_ROWS and n >= SHARED_VECTORS * lanes_of(node)
    return m >= FEWEST_ROWS and k * n >= (SHARED_RIGHT if shared else LARGE_RIGHT)


def repacks(node: Node) -> bool:
    """Whether work units of a dot would pack the same part of an operand, each for itself. Those of
    a batch of products, of which each has a part of the depth, would not.
    """
    if not _has_types(node) or (operands := matrix_operands(node)) is None:
        return False
    left, right = operands
    m, n, k = left.free.extent, right.free.extent, left.summed.extent
    if not packs(node) and not is_deep(m, n, k, node):
        return False
    s = blocking_of(m, n, k, lanes_of(node))
    return s.row_blocks > 1 or (is_transposed_left(left) and s.column_blocks > 1)
