"""How the gradient of a convolution by its weights is computed in blocks of positions.

Each element of that gradient is a sum over the batch and all positions; few elements share much
data. A work unit goes through the positions in blocks that stay in a core's own cache, and adds
what a block gives to the sums of all its tiles, which wait in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.contraction_tiling import (
    VECTOR_BYTES,
    Tiling,
    fits_register_tiles,
    groups_of,
    lanes_of,
    word_of,
)
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.input_blocks import InputBlock

# Rows of a tile for its vectors across: accumulators, a row of vectors and one factor in registers.
MOST_ROWS = {1: 14, 2: 14, 3: 9, 4: 6}
LATENCY = 4  # cycles from one sum of an accumulator to the next
BLOCK_BYTES = 48 << 10  # of both operands in a block, for the tiles of one block of rows
# Positions of a block for whose sake it may be larger: sums are loaded and stored for each block.
FEW_OF_BLOCK, LARGE_BLOCK_BYTES = 128, 160 << 10
APART_BYTES = 1 << 10  # rows a multiple of this apart are in few sets of the first-level cache
SUMS_BYTES = 192 << 10  # of a unit's tiles, beside a block
FEW_RESULTS, SOME_RESULTS = 1 << 14, 1 << 16  # elements of which units have sums of their own
MOST_PARTS = 8  # of all positions, each with such sums
POSITIONS_OF_PART = 256  # at the least: sums are cleared, and added up
WANTED_UNITS = 8  # that threads share
FEWER_RESULTS = 4  # places of a window for one of the result
FEWEST_POSITIONS = 256  # of a gradient
FEWEST_SIDE_BY_SIDE = 8  # input features that rows walk
MOST_APART = 4  # taps: blocks of few lines read many lines of the input for those further apart
PACKING = 3  # cycles for a vector of the input that is packed
MOST_PACKING = 0.25  # of the time of the tiles that read it


@dataclass(frozen=True)
class GradientPlan:
    """The blocks and work units of a gradient.

    Attributes:
        tiling: of the result.
        extents: of the positions: of the batch, then the result of the forward convolution.
        sizes: of a block along each of those.
        block: what it reads of the convolution's input.
        parts: of the positions, each a unit's, with sums of its own for all of the result; 1 if
            units have parts of the result, and all positions.
        row_groups: in how many parts, in the latter case, the blocks of rows are.
        by_rows: whether the rows are input features, and each block of them packs its own.
    """

    tiling: Tiling
    extents: tuple[int, ...]
    sizes: tuple[int, ...]
    block: InputBlock
    parts: int
    row_groups: int
    by_rows: bool

    @property
    def copies_columns(self) -> bool:
        """Whether a run of columns of the result's gradient is copied for each block: where it
        lies, its rows share sets of a cache.
        """
        row = self.tiling.shape[-1] * VECTOR_BYTES // self.tiling.lanes
        return self.parts == 1 and row % APART_BYTES == 0

    @property
    def grid(self) -> list[int]:
        """Blocks along each dimension of the positions."""
        return [-(-extent // size) for extent, size in zip(self.extents, self.sizes, strict=True)]

    @property
    def rows_of_group(self) -> int:
        """Blocks of rows that a unit has."""
        return -(-self.tiling.row_blocks // self.row_groups)

    @property
    def outer(self) -> list[int]:
        """Extents of the other dimensions but the columns."""
        return [self.tiling.shape[d] for d in self.tiling.outer]

    @property
    def columns_of_unit(self) -> int:
        """Runs of columns that a unit has."""
        return self.tiling.column_blocks if self.parts > 1 else 1

    @property
    def tiles_of_unit(self) -> int:
        """Tiles whose sums a unit keeps."""
        return self.columns_of_unit * math.prod(self.outer) * self.rows_of_group


def gradient_plan(node: Node) -> GradientPlan | None:
    """How a convolution is computed in blocks; None if it is no such gradient, or too small."""
    if node.name != "convolution" or not _sums_over_positions(node) or groups_of(node) > 1:
        return None
    labels = node.attributes["dimension_numbers"]
    if not fits_register_tiles(node) or word_of(node) is not None or labels["input"][-1] == "f":
        return None
    if 0 in (node.operands[0].size, node.operands[1].size):
        return None
    if any(node.attributes.get("window_reversal") or ()):
        return None
    if max(node.attributes.get("window_strides") or (), default=1) > MOST_APART:
        return None
    positions = node.operands[1].size // node.results[0].shape[-1]
    tiling = _tiling(node)
    if positions < FEWEST_POSITIONS or tiling is None:
        return None
    return _Planner(node, tiling).plan()


def _sums_over_positions(node: Node) -> bool:
    """Whether windows have many more places than the result along each spatial dimension."""
    labels, rank = node.attributes["dimension_numbers"], node.operands[0].rank - 2
    places, results = (
        [tensor.shape[labels[of].index(str(k))] for k in range(rank)]
        for of, tensor in (("kernel", node.operands[1]), ("output", node.results[0]))
    )
    fewer = all(n <= m for n, m in zip(results, places, strict=True))
    return fewer and FEWER_RESULTS * math.prod(results) <= math.prod(places)


def _tiling(node: Node) -> Tiling | None:
    """The tiles that take the fewest cycles for a position."""
    shape, lanes = node.results[0].shape, lanes_of(node.results[0].type)
    columns = -(-shape[-1] // lanes)
    found: dict[tuple[int, int, int], float] = {}
    features = node.attributes["dimension_numbers"]["output"].index("b")
    walked = [d for d in range(len(shape) - 1) if shape[d] > 1]
    if shape[features] >= FEWEST_SIDE_BY_SIDE:
        walked = [features]
    for d in walked:
        others = math.prod(shape[:-1]) // shape[d]
        for vectors in range(1, min(columns, max(MOST_ROWS)) + 1):
            for rows in range(1, min(shape[d], MOST_ROWS[vectors]) + 1):
                found[d, rows, vectors] = others * _cycles(shape[d], rows, columns, vectors)
    if not found:
        return None
    row_dim, rows, vectors = min(found, key=lambda tile: (found[tile], -tile[0], -tile[1]))
    return Tiling(tuple(shape), row_dim, rows, lanes, vectors)


def _cycles(rows: int, of_tile: int, columns: int, across: int) -> float:
    """Of the tiles of all rows and columns, for a position: two multiply-adds or loads a cycle."""
    sizes = [(of_tile, rows // of_tile), (rows % of_tile, 1)]
    widths = [(across, columns // across), (columns % across, 1)]
    total = sum(
        n * m * (max(r * v / 2, (r + v) / 2, LATENCY) + 0.5)
        for r, n in sizes for v, m in widths if r and v
    )  # fmt: skip
    uneven = (rows % of_tile > 0) + (columns % across > 0)
    return total * (1 + 0.02 * uneven)


class _Planner:
    def __init__(self, node: Node, tiling: Tiling) -> None:
        self.node, self.tiling = node, tiling
        labels = node.attributes["dimension_numbers"]
        self.input, rank = labels["input"], len(labels["input"]) - 2
        self.spatial = [str(k) for k in range(rank)]
        kernel = dict(zip(labels["kernel"], node.operands[1].shape, strict=True))
        output = dict(zip(labels["output"], node.results[0].shape, strict=True))
        self.extents = [kernel["i"], *(kernel[label] for label in self.spatial)]
        self.features_dim = labels["output"].index("b")
        self.features = output["b"]
        self.taps = [output[label] for label in self.spatial]
        self.strides = node.attributes.get("window_strides") or (1,) * rank
        self.spread = node.attributes.get("rhs_dilation") or (1,) * rank
        self.bytes_each = VECTOR_BYTES // tiling.lanes
        self.positions = math.prod(self.extents)

    def plan(self) -> GradientPlan | None:
        parts = self._parts()
        groups = self._row_groups() if parts == 1 else 1
        if groups is None:
            return None
        tiling = self.tiling
        features = tiling.rows if tiling.row_dim == self.features_dim else self.features
        across = tiling.width
        sizes = self._sizes(features, across, -(-self.positions // parts))
        columns = tiling.column_blocks if parts > 1 else 1
        if self._packing(sizes, features) > MOST_PACKING * self._work(sizes) * columns:
            return None  # windows lie apart, or have few taps
        plan = GradientPlan(
            tiling, tuple(self.extents), tuple(sizes), self._box(sizes, features), parts, groups,
            by_rows=tiling.row_dim == self.features_dim,
        )  # fmt: skip
        parts = min(parts, math.prod(plan.grid))
        return plan if parts == plan.parts else None

    def _parts(self) -> int:
        """Into how many parts the positions are cut, each with sums for all of the result."""
        size = math.prod(self.tiling.shape)
        if size > SOME_RESULTS:
            return 1
        most = MOST_PARTS if size <= FEW_RESULTS else MOST_PARTS // 2
        return max(1, min(most, self.positions // POSITIONS_OF_PART))

    def _row_groups(self) -> int | None:
        """Into how many parts the blocks of rows are cut where units have parts of the result."""
        tiling, taps = self.tiling, math.prod(self.tiling.shape[d] for d in self.tiling.outer)
        most = tiling.row_blocks if tiling.row_dim == self.features_dim else 1
        for groups in range(1, most + 1):
            tiles = taps * -(-tiling.row_blocks // groups)
            fits = tiles * tiling.rows * tiling.vectors * VECTOR_BYTES <= SUMS_BYTES
            if fits and (groups == most or groups * tiling.column_blocks >= WANTED_UNITS):
                return groups
        return None

    def _sizes(self, features: int, across: int, most: int) -> list[int]:
        """Of a block, grown from the innermost dimension on."""
        sizes = [1] * len(self.extents)
        for d in reversed(range(len(sizes))):
            for size in _even_sizes(self.extents[d]):
                larger = [*sizes[:d], size, *sizes[d + 1 :]]
                count = math.prod(larger)
                room = BLOCK_BYTES if count > FEW_OF_BLOCK else LARGE_BLOCK_BYTES
                if self._bytes(larger, features, across) <= room and count <= most:
                    sizes = larger
                    break
            if sizes[d] < self.extents[d]:
                break
        return sizes

    def _packing(self, sizes: Sequence[int], features: int) -> float:
        """Cycles in which the input is packed for a block of positions."""
        extents = self._box(sizes, features).extents
        minor = features if self._together else extents[self.spatial[-1]]
        lines = math.prod(extents.values()) // minor
        return PACKING * lines * -(-minor // self.tiling.lanes)

    def _work(self, sizes: Sequence[int]) -> float:
        """Cycles of the tiles of a run of columns that read what is packed once."""
        tiling = self.tiling
        others = math.prod(tiling.shape[:-1]) // tiling.row_extent
        rows = tiling.rows if self._together else tiling.row_extent
        return math.prod(sizes) * others * rows * tiling.vectors / 2

    @property
    def _together(self) -> bool:
        """Whether the rows' input features are packed side by side."""
        return self.tiling.row_dim == self.features_dim and self.input[-1] == "b"

    def _bytes(self, sizes: Sequence[int], features: int, across: int) -> int:
        size = self._box(sizes, features).size
        return (size + math.prod(sizes) * across) * self.bytes_each

    def _box(self, sizes: Sequence[int], features: int) -> InputBlock:
        extents = {"f": sizes[0], "b": features}
        for k, label in enumerate(self.spatial):
            reach = (sizes[1 + k] - 1) * self.spread[k] + (self.taps[k] - 1) * self.strides[k]
            extents[label] = reach + 1
        together = ("f", *self.spatial, "b")
        order = together if self._together else ("f", "b", *self.spatial)
        pitches, pitch = dict[str, int](), 1
        for label in reversed(order):
            pitches[label] = pitch
            pitch *= extents[label]
            if label == order[-1] == "b":  # whole vectors
                pitch = -(-pitch // self.tiling.lanes) * self.tiling.lanes
        count = math.prod(-(-e // s) for e, s in zip(self.extents, sizes, strict=True))
        blocks = -(-self.features // features) * count
        times = math.prod(extents.values()) * blocks / self.node.operands[0].size
        return InputBlock((), (), extents, order, pitches, by_lane=False, size=pitch, times=times)


def _even_sizes(extent: int) -> Iterator[int]:
    """Sizes of parts of an extent that differ little, the largest first."""
    last = 0
    for count in range(1, extent + 1):
        if (size := -(-extent // count)) != last:
            yield size
        last = size
