"""Kernels whose reductions fold the columns that their results are computed along.

A softmax over a dimension that is not the minor one, or a batch normalisation: the elements are
outer x length x columns in memory, reductions fold `length`, and what they give is spread over
it again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hlo.passes.cost.caches import ALIASING_BYTES, FAR_BYTES
from hlo.passes.cost.op_cost import SLOW
from hlo.passes.hlo_to_loops.affine import merge_cuts
from hlo.passes.hlo_to_loops.elementwise import EMITTERS
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES
from hlo.passes.hlo_to_loops.graph import Node, Tensor, users
from hlo.passes.hlo_to_loops.loop_space import required_cuts

FEWEST_LANES = 8  # columns that lie side by side: fewer would be scalar code
FEWEST_UNITS = 16  # cache lines of columns that are work for several threads
SMALL = 1 << 17  # elements, below which one thread is as good
LONGEST = 4096  # elements of a column, of which a few side by side stay in the cache
SHORT = 32  # those of a column that is as fast to read as rows are

Columns = tuple[int, int]  # elements of a column, columns side by side


@dataclass(frozen=True)
class ColumnSpace:
    """Elements in loops, outermost first; those of a column are between `row` and `column`.

    Attributes:
        extents: of the loops.
        row, column: the first of the loops along a column, and of those across columns.
    """

    extents: tuple[int, ...]
    row: int
    column: int

    @property
    def length(self) -> int:
        """Elements of a column."""
        return math.prod(self.extents[self.row : self.column])

    @property
    def columns(self) -> int:
        """Columns side by side."""
        return math.prod(self.extents[self.column :])


def column_space(nodes: Iterable[Node], results: Sequence[Tensor]) -> ColumnSpace | None:
    """The loops of a kernel that folds columns ahead of its elements; None if it is not one.

    Args:
        nodes: of the kernel.
        results: its results, of one element for each place or each column.
    """
    held = set(nodes)
    size = max((t.size for t in results), default=0)
    folds = [n for n in held if n.name in ("reduce", "reduce_window")]
    splits = {folded_columns(n) for n in folds}
    if len(splits) != 1 or (split := next(iter(splits))) is None:
        return None
    length, columns = split
    if any(n.operands[0].size != size for n in folds):
        return None
    if any(t.size not in (size, size // length) for t in results):
        return None
    memo: dict[Tensor, frozenset[int]] = {
        o: frozenset() for n in held for o in n.operands if o.producer not in held
    }
    cuts = {c for t in results if t.size == size for c in required_cuts(t, memo) if 1 < c < size}
    cuts |= {columns, columns * length}
    ordered = [1, *sorted(cuts), size]
    if any(b % a for a, b in pairwise(ordered)):
        return None
    extents = merge_cuts(cuts, size)
    if extents[-1] < FEWEST_LANES:
        return None
    column = _first_within(extents, columns)
    return ColumnSpace(tuple(extents), _first_within(extents, columns * length), column)


def _first_within(extents: Sequence[int], inner: int) -> int:
    """The first of the loops whose extents have `inner` as their product."""
    place, product = len(extents), 1
    while product < inner:
        place -= 1
        product *= extents[place]
    return place


def folded_columns(node: Node) -> Columns | None:
    """What a reduction folds, if it keeps what lies side by side: dimensions in one run."""
    if node.name != "reduce":
        return None
    shape = node.operands[0].shape
    return _middle(shape, {d for d in node.attributes["dimensions"] if shape[d] != 1})


def spread_columns(node: Node) -> Columns | None:
    """Along what a broadcast repeats what it spreads over columns."""
    if node.name != "broadcast_in_dim":
        return None
    operand, shape = node.operands[0].shape, node.results[0].shape
    dims = node.attributes["broadcast_dimensions"]
    kept = [d for d, size in zip(dims, operand, strict=True) if size != 1]
    if kept != sorted(kept):
        return None
    return _middle(shape, {d for d, size in enumerate(shape) if size != 1} - set(kept))


def _middle(shape: Sequence[int], taken: Collection[int]) -> Columns | None:
    """Elements in some dimensions, if they are a run ahead of others; and in those behind it."""
    wide = [d for d, size in enumerate(shape) if size != 1]
    places = [i for i, d in enumerate(wide) if d in taken]
    if 0 in shape or not places or places[-1] == len(wide) - 1:
        return None
    if places[-1] - places[0] != len(places) - 1:
        return None
    sizes = [shape[d] for d in wide]
    return math.prod(sizes[i] for i in places), math.prod(sizes[places[-1] + 1 :])


def folds_spread_again(
    nodes: Iterable[Node], longest: int = LONGEST
) -> tuple[set[Node], set[Node]]:
    """Reductions of columns that a kernel had better go over several times; what spreads them.

    Their results are spread over the columns again. Rows are faster to read than columns: several
    reductions must need one another, or what they read come from memory. Elements of a column that
    lie in the same sets of the first-level cache are worth that only if they come from memory, or
    if what is folded is dear and read again, and so kept.

    Args:
        nodes: the ops of a block, in program order.
        longest: how many elements a column may have.
    """
    behind: dict[Tensor, frozenset[Node]] = {}  # of what has one element for each column
    within: dict[Tensor, frozenset[Node]] = {}  # of what these are spread over
    chained: set[Node] = set()
    dear: set[Tensor] = set()
    nodes = list(nodes)
    readers = users(nodes)
    spread: dict[Node, frozenset[Node]] = {}
    for node in nodes:
        if _keeps_place(node) and (node.name in SLOW or not dear.isdisjoint(node.operands)):
            dear.update(node.results)
        if _is_candidate(node, longest):
            before = _union(node, within)
            behind[node.results[0]] = frozenset((node,))
            again = (n.operands[0] for n in (node, *before) if len(readers[n.operands[0]]) > 1)
            if before and (_is_far(node) or not _aliases(node) or not dear.isdisjoint(again)):
                chained |= {node, *before}
            continue
        before, inside = _union(node, behind), _union(node, within)
        if not before and not inside:
            continue
        result = node.results[0]
        if before and (split := spread_columns(node)) is not None:
            same = (n for n in before if folded_columns(n) == split)
            over = frozenset(n for n in same if n.operands[0].size == result.size)
            spread[node] = within[result] = over
        elif _keeps_place(node):
            behind[result] = frozenset(n for n in before if n.results[0].size == result.size)
            within[result] = frozenset(n for n in inside if n.operands[0].size == result.size)
    found = {n for over in spread.values() for n in over if n in chained or _is_short_and_far(n)}
    return found, {node for node, over in spread.items() if not found.isdisjoint(over)}


def _union(node: Node, sets: Mapping[Tensor, frozenset[Node]]) -> frozenset[Node]:
    return frozenset[Node]().union(*(sets.get(operand, ()) for operand in node.operands))


def _keeps_place(node: Node) -> bool:
    return node.name in EMITTERS or node.name == "reshape"


def _is_far(fold: Node) -> bool:
    """Whether what is folded comes from memory."""
    operand = fold.operands[0]
    return operand.size * operand.type.memory_bytes >= FAR_BYTES


def _aliases(fold: Node) -> bool:
    """Whether neighbours in a column lie in the same sets of the first-level cache."""
    split = folded_columns(fold)
    return split is not None and split[1] * fold.operands[0].type.memory_bytes % ALIASING_BYTES == 0


def _is_short_and_far(fold: Node) -> bool:
    return fold.operands[0].size // fold.results[0].size <= SHORT and _is_far(fold)


def _is_candidate(node: Node, longest: int) -> bool:
    """Whether a kernel could fold the columns that a reduction folds, and go over them again."""
    if (split := folded_columns(node)) is None or len(node.results) != 1:
        return False
    operand, (length, columns) = node.operands[0], split
    enough = operand.size // length * operand.type.memory_bytes >= FEWEST_UNITS * LINE_BYTES
    return length <= longest and columns >= FEWEST_LANES and (enough or operand.size < SMALL)
