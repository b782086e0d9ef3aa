"""Kernels of rows that also store what there is one of for each row: means, maxima, sums.

A reduction along rows and a kernel over the same rows become one: whether it feeds the other, reads
what the other stores, or reads the same tensor. Rows are then read from memory once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hlo.passes.cost.caches import CORE_BYTES
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_loops.affine import merge_cuts
from hlo.passes.hlo_to_loops.column_space import (
    FEWEST_UNITS,
    LONGEST,
    column_space,
    folded_columns,
)
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.hlo_to_loops.index_maps import ROOT
from hlo.passes.hlo_to_loops.joint_folds import may_be_joint
from hlo.passes.hlo_to_loops.loop_space import required_cuts

if TYPE_CHECKING:
    from hlo.passes.fusion.group import Group
    from hlo.passes.fusion.groups import BlockFusion

FEWEST_ROWS = 32  # that are work for all threads


def rows_agree(fusion: BlockFusion, whole: Group, rows: Group) -> dict[Node, frozenset[int]] | None:
    """Where the ops of both groups are computed in one kernel over the elements of `whole`.

    None if that is not one: each result of `rows` must belong to a row of `whole`, of one length,
    that stays in the cache, and all that the two have in common be read where it is made.
    """
    size, count = whole.root.results[0].size, rows.root.results[0].size
    if count < FEWEST_ROWS or size % count or size // count < 2:
        return None
    length, kind = size // count, whole.root.results[0].type
    if length * kind.memory_bytes > CORE_BYTES // 4:
        return None
    sizes = {n: n.results[0].size for n in (*_roots(whole), *_roots(rows))}
    if not set(sizes.values()) <= {size, count}:
        return None
    roots = {n: ROOT if own == size else fusion.maps.row(count) for n, own in sizes.items()}
    places = _places(fusion, whole.nodes | rows.nodes, roots)
    allowed = {frozenset((place,)) for place in roots.values()}
    if any(places[n] != frozenset((place,)) for n, place in roots.items()):
        return None
    folds = [n for n in places if n.name in ("reduce", "reduce_window")]
    if any(folded_columns(n) is not None for n in folds) or not all(
        may_be_joint(n) and places[n] in allowed and n.results[0].size == count for n in folds
    ):
        return None
    cuts = {length}
    held = set(places)
    memo: dict[Tensor, frozenset[int]] = {
        o: frozenset() for n in held for o in n.operands if o.producer not in held
    }
    for root, place in roots.items():
        if place == ROOT:
            cuts |= required_cuts(root.results[0], memo)
    extents = merge_cuts(cuts, size)
    exact = all(size % cut == 0 for cut in cuts)
    return places if exact and extents[-1] == length and _nested(cuts) else None


def columns_agree(
    fusion: BlockFusion, whole: Group, rows: Group
) -> dict[Node, frozenset[int]] | None:
    """Where the ops of both groups are computed in one kernel that folds columns of `whole`.

    None if that is not one: each result of `rows` must be a fold of columns of one length, and all
    that the two have in common be read where it is made. What is spread over the columns again is
    the fusion's to choose.
    """
    size = whole.root.results[0].size
    if (split := folded_columns(rows.root)) is None or rows.root.operands[0].size != size:
        return None
    nodes, roots = whole.nodes | rows.nodes, [*_roots(whole), *_roots(rows)]
    folds = [n for n in nodes if n.name in ("reduce", "reduce_window")]
    made = {n.results[0] for n in _roots(rows)}
    spread = any(not made.isdisjoint(n.operands) for n in whole.nodes)
    if spread and not fusion.column_folds.issuperset(folds):
        return None
    lines = size // split[0] * whole.root.results[0].type.memory_bytes // LINE_BYTES
    if (
        lines < FEWEST_UNITS
        or split[0] > LONGEST
        or any(n.results[0].size != size // split[0] for n in folds)
    ):
        return None
    if column_space(nodes, [n.results[0] for n in roots]) is None:
        return None
    at = fusion.maps.column(split)
    known = {n: ROOT if n.results[0].size == size else at for n in roots}
    places = _places(fusion, nodes, known)
    if any(places[n] != frozenset((place,)) for n, place in known.items()):
        return None
    return places if all(places[n] == frozenset((at,)) for n in folds) else None


def shared_bytes(whole: Group, rows: Group) -> int:
    """Bytes of the tensors of whole rows that both groups read, or that one makes for the other."""
    size = whole.root.results[0].size
    made = {n.results[0] for n in _roots(whole)}
    read = {o for n in whole.nodes for o in n.operands if o.producer not in whole.nodes}
    both = {o for n in rows.nodes for o in n.operands if o in read | made and o.size == size}
    return sum(bytes_of(o) for o in both)


def _nested(cuts: set[int]) -> bool:
    """Whether each cut divides the next: none is dropped."""
    ordered = sorted(c for c in cuts if c > 1)
    return all(b % a == 0 for a, b in pairwise(ordered))


def _roots(group: Group) -> list[Node]:
    return [group.root, *group.more_roots]


def _places(
    fusion: BlockFusion, nodes: set[Node], roots: dict[Node, int]
) -> dict[Node, frozenset[int]]:
    """The index maps that ops are computed at, given the roots'."""
    found: dict[Node, set[int]] = {n: set() for n in nodes}
    for node, place in roots.items():
        found[node].add(place)
    for node in sorted(nodes, key=fusion.position.__getitem__, reverse=True):
        for operand in dict.fromkeys(node.operands):
            if operand.producer in found:
                found[operand.producer] |= fusion.maps.all_through(node, operand, found[node])
    return {n: frozenset(places) for n, places in found.items()}
