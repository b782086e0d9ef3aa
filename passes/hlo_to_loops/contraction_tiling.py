"""Which convolutions and dots register tiles compute, and how their results are cut into tiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.matrix_vector_kernel import matrix_vector_of
from hlo.passes.hlo_to_loops.product_blocking import packs
from hlo.passes.hlo_to_loops.product_factors import (
    WordInstruction,
    sums_type,
    word_instruction,
)

VECTOR_BYTES = 64
REGISTERS = 28  # accumulators at the most
# Rows of a tile for its vectors across, measured. Where rows are a multiple of 4 KiB apart, their
# elements fall into one set of the first-level cache, which holds 8: three vectors have 8 rows.
MOST_ROWS = {1: 14, 2: 14, 3: 8, 4: 6}
IN_FOURS = (7, 10)  # vectors of a product's row that tiles of four take: 4 + 3, 4 + 4 + 2
WIDE_VECTORS, WIDE_ROWS = 6, 2
TILES_A_PACK = 12  # that use packed columns at the least: packing takes some percent of the time
FEWEST_SHARING = 8  # tiles that make up for a copy of their columns
PACKED_BYTES = 768 << 10  # of such a copy, at the most
SETS, WAYS = 1024, 16  # of lines in the second-level cache
FEWEST_PACKED_UNITS = 32  # for the sake of threads, where that leaves enough tiles to each
SMALL_KERNEL = 256 << 10  # bytes of a convolution's kernel that stay in the second-level cache
FEWEST_NEAR, NEAR_FEATURES = 64, 128  # input features that tiles take at all taps together
MULTIPLIES_A_BYTE = 3  # that take as long as one byte from or to memory
PANEL_BYTES = 400 << 10  # of a run of columns of a kernel, about half of the second-level cache
WORD_BOX_BYTES = 512 << 10  # of the input that a tile of words reads, which is packed
ALIASING_BYTES = 4 << 10  # lines so far apart share a set of the first-level cache
_FILTERED = 64  # places in a row that fill vectors
LARGE_OPERAND = 1 << 18  # elements of an operand that does not stay in the second-level cache


@dataclass(frozen=True)
class Tiling:
    """How the result is cut into register tiles.

    Attributes:
        shape: the result's; the features of a convolution with groups are two dimensions, the
            group and the feature in it.
        row_dim: dimension that the rows of a tile walk; -1 if there is only one position.
        rows: positions along it in a tile.
        lanes: elements in a vector.
        vectors: vectors along the minor dimension in a tile.
        grouped: whether the last dimension but one is the group.
    """

    shape: tuple[int, ...]
    row_dim: int
    rows: int
    lanes: int
    vectors: int
    grouped: bool = False

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
    def last_columns(self) -> int:
        """Columns of the last tile."""
        return self.shape[-1] - (self.column_blocks - 1) * self.width

    @property
    def groups(self) -> int:
        return self.shape[-2] if self.grouped else 1

    @property
    def outer(self) -> list[int]:
        """The other dimensions of positions."""
        last = len(self.shape) - (2 if self.grouped else 1)
        return [d for d in range(last) if d != self.row_dim]

    @property
    def runs(self) -> int:
        """Runs of columns that tiles have, in all groups."""
        return self.groups * self.column_blocks

    @property
    def positions(self) -> int:
        """Tiles of one run of columns."""
        return self.row_blocks * math.prod(self.shape[d] for d in self.outer)

    @property
    def chunks(self) -> int:
        """Into how many parts the tiles of a run are cut where each packs its columns."""
        wanted = -(-FEWEST_PACKED_UNITS // self.runs)
        return max(1, min(wanted, self.positions // TILES_A_PACK))


def tiling_of(
    shape: Sequence[int], lanes: int, *, row_dims: Sequence[int] = (), narrow: bool = False,
    wide: bool = False, tall: bool = False, grouped: bool = False,
) -> Tiling:  # fmt: skip
    """Tiles for a result of `shape`.

    Args:
        row_dims: dimensions that rows should walk; empty for any.
        narrow: two vectors across at the most, for the sake of the cache.
        wide: few rows, long runs of columns, for the sake of memory that is read and written along
            with the result.
        grouped: whether the last dimension but one is the group.
    """
    row_dim = _row_dim(shape[: len(shape) - (2 if grouped else 1)], row_dims)
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
        here = vectors * _rows_of(extent, vectors)
        if tall and vectors > 2 and 2 * _rows_of(extent, 2, tall=True) > here:
            vectors = 2
    rows = _rows_of(extent, vectors, tall=tall and vectors == 2)
    return Tiling(tuple(shape), row_dim, rows, lanes, vectors, grouped)


def _rows_of(extent: int, vectors: int, *, tall: bool = False) -> int:
    """Rows of a tile of so many vectors across.

    Args:
        tall: the last tile has fewer, if whole ones would all have few.
    """
    most = min(extent, MOST_ROWS.get(vectors, WIDE_ROWS))
    even = _even_part(extent, most)
    alike = -(-extent // -(-extent // most))
    return alike if tall and 4 * even < 3 * alike else even


def tiling_for(node: Node, region: Region | None = None) -> Tiling:
    """The tiles of a convolution or dot that they compute, in the kernel of `region`."""
    shape, lanes = node.results[0].shape, lanes_of(node.results[0].type)
    wide = region is not None and _waits_for_memory(region, node)
    if node.name == "dot_general":
        tiling = tiling_of(shape, lanes, row_dims=_left_dims(node), wide=wide)
        return _in_fours(tiling)
    groups = groups_of(node)
    grouped = groups not in (1, shape[-1]) and not walks_small_groups(node)
    if grouped:
        shape = (*shape[:-1], groups, shape[-1] // groups)
    row_dims: Sequence[int] = range(node.results[0].rank - 1)
    by_group = node.attributes["batch_group_count"] > 1 and walks_small_groups(node)
    if by_group:
        row_dims = [node.attributes["dimension_numbers"]["output"].index("b")]
    tiling = tiling_of(
        shape, lanes, row_dims=row_dims, narrow=_is_narrow(node), wide=wide,
        tall=not _rows_alias(node), grouped=grouped,
    )  # fmt: skip
    if by_group:  # rows are the features of a group, all of them in each tile
        rows = tiling.row_extent
        return replace(tiling, rows=rows, vectors=min(tiling.vectors, REGISTERS // rows))
    if node.attributes["batch_group_count"] == shape[-1] > 1 and tiling.row_extent == 3:
        return _over_all_rows(tiling)
    return tiling


def _over_all_rows(tiling: Tiling) -> Tiling:
    """Tiles of a depthwise gradient by the weights with three taps a line.

    Each goes through all of both operands: one for the last tap alone would take as long.
    """
    rows, columns = tiling.row_extent, -(-tiling.shape[-1] // tiling.lanes)
    return replace(tiling, rows=rows, vectors=_even_part(columns, min(REGISTERS // rows, columns)))


def _in_fours(tiling: Tiling) -> Tiling:
    """Tiles of four vectors across, where tiles of three would leave one of a single vector."""
    if tiling.vectors != 3 or -(-tiling.shape[-1] // tiling.lanes) not in IN_FOURS:
        return tiling
    return replace(tiling, rows=_even_part(tiling.row_extent, MOST_ROWS[4]), vectors=4)


def groups_of(node: Node) -> int:
    """The number of parts of a convolution's features that meet parts of its input alone."""
    return node.attributes["feature_group_count"] * node.attributes["batch_group_count"]


def _row_dim(positions: Sequence[int], preferred: Sequence[int]) -> int:
    """The last dimension with enough rows for a tile, else the one with most; -1 if all are 1."""
    wide = [d for d, extent in enumerate(positions) if extent > 1]
    if not (choice := [d for d in wide if d in preferred]):
        return max(wide, default=-1)
    enough = [d for d in choice if positions[d] >= MOST_ROWS[3]]
    return max(enough) if enough else max(choice, key=lambda d: (positions[d], d))


def _left_dims(node: Node) -> range:
    """Dimensions of a dot's result that its left operand alone has: they share right vectors."""
    numbers = node.attributes["dot_dimension_numbers"]
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


def inputs_lead(node: Node) -> bool:
    """Whether a convolution's kernel has its input features outermost, as where they are the batch
    of a gradient by the weights: taps are then summed over inside of them, as memory has them.
    """
    kernel = node.attributes["dimension_numbers"]["kernel"]
    return kernel[0] == "i" and not walks_small_groups(node)


def features_near(node: Node) -> int:
    """Input features of a convolution that a tile multiplies at all taps before it takes the next.

    What neighbouring taps read of the input overlaps: of 14 rows and 128 features it is 7 KiB, and
    with the 16 KiB of the kernel between two taps it stays in the first-level cache. All of them
    where that is no matter: of taps that lie apart.
    """
    labels = node.attributes["dimension_numbers"]
    kernel = dict(zip(labels["kernel"], node.operands[1].shape, strict=True))
    inputs = max(1, kernel["i"])
    taps = node.operands[1].size // (inputs * max(1, kernel["o"]))
    apart = any(spread != 1 for spread in node.attributes.get("rhs_dilation") or ())
    if taps == 1 or apart or labels["input"][-1] != "f" or inputs_lead(node):
        return inputs
    if inputs <= NEAR_FEATURES:
        return inputs
    near = [n for n in range(FEWEST_NEAR, NEAR_FEATURES + 1) if inputs % n == 0]
    return max(near, default=inputs)


def _is_narrow(node: Node) -> bool:
    """Whether runs of three vectors of a convolution's kernel leave the cache between rows."""
    return depth_of(node) * 3 * VECTOR_BYTES > PANEL_BYTES


def _rows_alias(node: Node) -> bool:
    """Whether what rows of a convolution's tiles read falls into one set of a cache."""
    data = node.operands[0]
    apart = data.shape[-1] * data.type.memory_bytes
    apart *= (node.attributes.get("window_strides") or (1,))[-1]
    return node.attributes["dimension_numbers"]["input"][-1] == "f" and apart % ALIASING_BYTES == 0


def columns_leave_cache(node: Node, tiling: Tiling) -> bool:
    """Whether the columns of tiles, read where a convolution's kernel lies, leave the second-level
    cache from tile to tile: rows so far apart share few of its sets.
    """
    lines = tiling.vectors
    apart = math.gcd(max(1, tiling.shape[-1] // tiling.lanes), SETS)
    fit = SETS // apart * lines * WAYS
    rows = node.operands[1].size // tiling.shape[-1]
    return 2 * rows * lines > fit


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


def packed_elements(node: Node, tiling: Tiling) -> int:
    """Elements of the columns of a convolution's kernel that tiles share."""
    return math.prod(node.operands[1].shape[:-1]) * tiling.width


def fits_register_tiles(node: Node) -> bool:
    """Whether register tiles can compute a convolution or dot."""
    tensor = node.results[0]
    if tensor.size == 0 or is_filter(node):
        return False
    if node.name == "convolution":
        labels = node.attributes["dimension_numbers"]
        gaps = node.attributes.get("lhs_dilation") or ()
        return (
            all(gap == 1 for gap in gaps)  # prepare-convolutions leaves no others
            and labels["kernel"][-1] == "o"
            and labels["output"][-1] == "f"
            and (
                takes_features(tensor.type, tensor.shape[-1], groups_of(node))
                or walks_small_groups(node)
                or word_of(node) is not None
            )
        )
    return minor_is_free(node) and _beats_library(tensor.type, tensor.shape[-1])


def word_of(node: Node) -> WordInstruction | None:
    """What multiplies a convolution's factors by words, neighbouring input features; None where
    they are multiplied one by one.
    """
    if node.name != "convolution" or groups_of(node) > 1:
        return None
    labels = node.attributes["dimension_numbers"]
    if labels["input"][-1] != "f" or tuple(labels["kernel"][-2:]) != ("i", "o"):
        return None
    if 0 in (node.operands[0].size, node.operands[1].size):
        return None
    gaps = node.attributes.get("lhs_dilation") or ()
    kernel = dict(zip(labels["kernel"], node.operands[1].shape, strict=True))
    if any(gap != 1 for gap in gaps) or _word_box(node, kernel) > WORD_BOX_BYTES:
        return None
    return word_instruction(node, kernel["i"])


def _word_box(node: Node, kernel: Mapping[str, int]) -> int:
    """Bytes of the input that one tile of a convolution reads, at the most."""
    rank = node.operands[0].rank - 2
    strides = node.attributes.get("window_strides") or (1,) * rank
    spread = node.attributes.get("rhs_dilation") or (1,) * rank
    reach = [(kernel[str(k)] - 1) * spread[k] + 1 for k in range(rank)]
    rows = (
        max((reach[k] + (MOST_ROWS[1] - 1) * strides[k]) / reach[k] for k in range(rank))
        if rank
        else MOST_ROWS[1]
    )
    return math.ceil(rows * math.prod(reach)) * kernel["i"] * node.operands[0].type.memory_bytes


def is_filter(node: Node) -> bool:
    """Whether a convolution, of one feature into one, has its places in lanes: those of a row."""
    if node.name != "convolution" or node.attributes["feature_group_count"] != 1:
        return False
    labels, result, kernel = node.attributes["dimension_numbers"], node.results[0], node.operands[1]
    features = [kernel.shape[labels["kernel"].index(label)] for label in "io"]
    strides, gaps = (node.attributes.get(k) or () for k in ("window_strides", "lhs_dilation"))
    # Dimensions of one feature are anywhere.
    minor, *others = ([d for d in labels[of] if d != "f"][-1] for of in ("output", "input"))
    return (
        features == [1, 1]
        and node.attributes["batch_group_count"] == 1
        and minor == others[0] != "b"
        and int(minor) == result.rank - 3  # the last of those that strides and gaps are given for
        and result.shape[labels["output"].index(minor)] >= _FILTERED
        and all(step == 1 for step in (*strides[-1:], *gaps[-1:]))
        and result.type.is_float
    )


def takes_features(element: ElementType, features: int, groups: int) -> bool:
    """Whether tiles have vectors for a convolution's result of that type and number of features.

    Without groups, few features leave lanes idle, but products are added side by side all the same.
    """
    per_group = features // groups
    if groups == 1 or per_group == 1:
        return has_tiles(element)
    return _fills_vectors(element, per_group)


def walks_features(node: Node) -> bool:
    """Whether the lanes of a convolution's tiles are features of its input too."""
    if node.name != "convolution" or node.attributes["batch_group_count"] > 1:
        return False
    groups = groups_of(node)
    return (groups > 1 and groups == node.results[0].shape[-1]) or walks_small_groups(node)


def walks_small_groups(node: Node) -> bool:
    """Whether vectors of a convolution's features hold several groups; see `are_small_groups`."""
    attributes = node.attributes
    if attributes["batch_group_count"] == 1:
        inputs = node.operands[1].shape[attributes["dimension_numbers"]["kernel"].index("i")]
    else:
        batch = node.operands[0].shape[attributes["dimension_numbers"]["input"].index("b")]
        inputs = batch // attributes["batch_group_count"]
    result = node.results[0]
    return are_small_groups(result.type, result.shape[-1], groups_of(node), inputs)


def are_small_groups(element: ElementType, features: int, groups: int, inputs: int) -> bool:
    """Whether each vector holds whole groups, each of as many features in as out.

    Their input is then a vector too, whose lanes change places within their groups.
    """
    per_group = features // groups
    if groups == 1 or per_group == 1 or per_group != inputs or not has_tiles(element):
        return False
    lanes = lanes_of(element)
    return per_group < lanes and lanes % per_group == 0 and features % lanes == 0


def has_tiles(element: ElementType) -> bool:
    """Whether there are register tiles of products for results of a type."""
    return product_type(element).name in ("f32", "f64")


def _fills_vectors(element: ElementType, columns: int) -> bool:
    """Whether there are elements for at least half a vector side by side."""
    return has_tiles(element) and 2 * columns >= lanes_of(element)


def _beats_library(element: ElementType, columns: int) -> bool:
    """Whether a dot's tiles with idle lanes are faster than the vendor's code for few columns.

    That makes 5 multiply-adds a cycle of 7 columns of f32, on one thread; tiles 14.
    """
    return has_tiles(element) and 4 * columns >= lanes_of(element)


def lanes_of(element: ElementType) -> int:
    """Elements of a vector of sums for results of a type."""
    return 8 if sums_type(element).bits == 64 else 16


def minor_is_free(node: Node) -> bool:
    """Whether the right operand of a dot walks the result's minor dimension contiguously."""
    rhs, numbers = node.operands[1], node.attributes["dot_dimension_numbers"]
    taken = (
        *numbers.get("rhs_batching_dimensions", ()),
        *numbers.get("rhs_contracting_dimensions", ()),
    )
    return rhs.rank > 0 and rhs.rank - 1 not in taken
