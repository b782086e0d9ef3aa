"""Reductions of one kernel that share their loops, so that what all of them read is read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.extremum import extremum_of
from hlo.passes.hlo_to_loops.folds import accumulator_type, identity_of
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, captured, monoid_of
from hlo.passes.hlo_to_loops.index_maps import ROOT, IndexMaps

MOST_ACCUMULATORS = 8  # for each element that reductions of one loop make


def may_be_joint(node: Node) -> bool:
    """Whether a `reduce` may share its loop: its elements may be folded in any order."""
    if node.name != "reduce":
        return False
    if extremum_of(node) is not None:
        return True
    op = monoid_of(node.regions[0]) if len(node.results) == 1 else None
    return (
        op is not None and identity_of(op, accumulator_type(op, node.results[0].type)) is not None
    )


def same_loops(node: Node, other: Node) -> bool:
    """Whether two reductions fold the same dimensions of operands of one shape."""
    return node.operands[0].shape == other.operands[0].shape and sorted(
        node.attributes["dimensions"]
    ) == sorted(other.attributes["dimensions"])


@dataclass(frozen=True)
class Folds:
    """How the reductions of a kernel's region go together.

    Attributes:
        joint: for each reduction that shares its loop those in it, itself included. They fold the
            same dimensions of operands of one shape, are needed at the same elements, and none
            needs another's result.
        earlier: for each reduction those whose results it needs at the elements that it makes.
    """

    joint: dict[Node, tuple[Node, ...]]
    earlier: dict[Node, tuple[Node, ...]]

    @staticmethod
    def of(region: Region) -> Folds:
        """Of a kernel whose results are computed element by element."""
        folds = [node for node in region.nodes if node.name == "reduce"]
        if len(folds) < 2:
            return Folds({}, {})
        needed_at = _needed_at(region)
        behind = folds_behind(region.nodes)
        earlier = {
            node: tuple(
                n
                for n in folds
                if n in behind[node]
                and needed_at[n] == needed_at[node]
                and n.results[0].size == node.results[0].size
            )
            for node in folds
        }
        loops: list[list[Node]] = []
        for node in folds:
            loop = next((loop for loop in loops if _fits(node, loop, needed_at, behind)), None)
            if loop is None:
                loops.append([node])
            else:
                loop.append(node)
        return Folds({n: tuple(loop) for loop in loops if len(loop) > 1 for n in loop}, earlier)


def _fits(
    node: Node,
    loop: Sequence[Node],
    needed_at: Mapping[Node, frozenset[int]],
    behind: Mapping[Node, frozenset[Node]],
) -> bool:
    """Whether a reduction may be done in the loop of others that come ahead of it."""
    return (
        all(map(may_be_joint, (loop[0], node)))
        and same_loops(loop[0], node)
        and needed_at[loop[0]] == needed_at[node]
        and behind[node].isdisjoint(loop)
        and sum(len(n.results) for n in (*loop, node)) <= MOST_ACCUMULATORS
    )


def folds_behind(nodes: Sequence[Node]) -> Mapping[Node, frozenset[Node]]:
    """The reductions among some ops, in program order, that each of them needs, near or far."""
    behind: dict[Node, frozenset[Node]] = {}
    for node in nodes:
        found: set[Node] = set()
        for operand in captured(node):
            producer = operand.producer
            if producer in behind:
                found |= behind[producer]
                if producer.name == "reduce":
                    found.add(producer)
        behind[node] = frozenset(found)
    return behind


def _needed_at(region: Region) -> dict[Node, frozenset[int]]:
    """The index maps that each op of a region is computed at."""
    maps = IndexMaps()
    at: dict[Tensor, set[int]] = {}
    needed: dict[Node, frozenset[int]] = {}
    size = max(result.size for result in region.results)
    for result in region.results:
        at.setdefault(result, set()).add(ROOT if result.size == size else maps.row(result.size))
    for node in reversed(region.nodes):
        numbers = frozenset(n for result in node.results for n in at.get(result, ()))
        needed[node] = numbers
        for operand in dict.fromkeys(node.operands):
            at.setdefault(operand, set()).update(maps.all_through(node, operand, numbers))
    return needed
