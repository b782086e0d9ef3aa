"""fuse-horizontally: independent small kernels, and updates of arguments, become one launch."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.launch_time import launch_choice
from hlo.passes.cost.op_cost import multiply_adds
from hlo.passes.cost.product_choice import product_choice
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.composites import compose, wrap
from hlo.passes.fusion.function_blocks import in_each_function
from hlo.passes.fusion.op_traits import CONTRACTIONS, FUSIBLE
from hlo.passes.hlo_to_host.liveness import VIEWS, is_part
from hlo.passes.hlo_to_loops.contraction_tiling import fits_register_tiles
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor, captured

KIND = "horizontal"
MAX_MEMBERS = 64  # more need too many pointers, and compile slowly as one function
MAX_MOVED_BYTES = 1 << 16
# Where no value takes up more bytes, all ops may be moved: what is in memory is in the cache.
SMALL_PROGRAM = 1 << 18
# Larger dots are members where a launch divides their register tiles among its threads.
LARGEST_DOT = 1 << 16
_KINDS = frozenset({"loop", "reduce", "row", "steps", KIND})


@dataclass(frozen=True)
class FuseHorizontally(Pass):
    """Puts kernels of one block that do not depend on one another into one `hlo.fusion`.

    Two kernels are joined if as many steps follow them on the longest path to the block's results:
    then neither reads what comes of the other. Joined kernels run at the place of the last of them,
    so what the others read lives longer: values made in the block, the arguments and results of the
    block apart, may take up `max_moved_bytes` in each.

    That is done where the cost model says that it takes less time: within loops, where launches
    cost next to nothing, only where it gives several threads work.

    Requires: `fuse` ran.
    Guarantees: the kernels' code is unchanged; work units of the new kernel are split over them.

        %0 = hlo.fusion(%p, %g) kind "loop" {...}       %0:2 = hlo.fusion(%p, %g, %q, %h)
        %1 = hlo.fusion(%q, %h) kind "loop" {...}  ==>      kind "horizontal" {
                                                          hlo.fusion(%p, %g) ...
                                                          hlo.fusion(%q, %h) ...
                                                        }
    """

    max_members: int = MAX_MEMBERS
    max_moved_bytes: int = MAX_MOVED_BYTES
    small_program: int = SMALL_PROGRAM

    def run(self, module: ir.Module) -> bool:
        return in_each_function(module, self._block)

    def _block(self, region: Region, in_loop: bool = False) -> bool:
        changed = False
        for node in region.nodes:
            if node.name in CONTROL_FLOW:
                for inner in node.regions:
                    changed |= self._block(inner, in_loop or node.name == "while")
        found = self._groups(region)
        choices = [launch_choice([[node] for node in g.members], in_loop) for g in found]
        joined = [(g, choice) for g, choice in zip(found, choices, strict=True) if choice.joins]
        if not joined:
            return changed
        _reorder(region, [group for group, _ in joined])
        for group, choice in joined:
            nodes = group.members
            members = [n.source if n.name == "fusion" else wrap(n.source) for n in nodes]
            independent = f"{len(members)} kernels that do not depend on one another"
            compose(members, KIND, f"{independent}: {choice.reason}")
        return True

    def _groups(self, region: Region) -> list[Group]:
        """Kernels to join."""
        by_height: dict[int, list[Node]] = {}
        leaving = set(region.results)
        heights = _heights(region)
        for node in region.nodes:
            if may_be_member(node) and _moved_bytes(node, leaving) <= self.max_moved_bytes:
                by_height.setdefault(heights[node], []).append(node)
        windows = _windows(region)
        if all(bytes_of(t) <= self.small_program for n in region.nodes for t in n.results):
            windows = {node: (0, len(region.nodes)) for node in region.nodes}
        groups: list[Group] = []
        for nodes in by_height.values():
            groups += _overlapping(nodes, windows, self.max_members)
        return [group for group in groups if len(group.members) > 1]


@dataclass(frozen=True)
class Group:
    """Kernels that become one, in program order, and the position of the op they go before."""

    members: list[Node]
    at: int


def _overlapping(
    nodes: Sequence[Node], windows: dict[Node, tuple[int, int]], most: int
) -> list[Group]:
    """Groups of kernels that share a place where each of them may stand: as few as can be."""
    groups: list[Group] = []
    waiting = sorted(nodes, key=lambda node: windows[node][1])
    while waiting:
        at = windows[waiting[0]][1]
        chosen = [node for node in waiting if windows[node][0] <= at][:most]
        taken = set(chosen)
        waiting = [node for node in waiting if node not in taken]
        groups.append(Group([node for node in nodes if node in taken], at))
    return groups


def _windows(region: Region) -> dict[Node, tuple[int, int]]:
    """Where each op may stand while no other moves: (after its operands, before its readers)."""
    position = {node: i for i, node in enumerate(region.nodes)}
    first = dict.fromkeys(region.nodes, 0)
    last = dict.fromkeys(region.nodes, len(region.nodes))
    for node, i in position.items():
        for operand in captured(node):
            if operand.producer in position:
                first[node] = max(first[node], position[operand.producer] + 1)
                last[operand.producer] = min(last[operand.producer], i)
    return {node: (first[node], last[node]) for node in region.nodes}


def _heights(region: Region) -> dict[Node, int]:
    """Kernels on the longest path from each op's results to an op that nothing reads."""
    height: dict[Node, int] = {}
    after: dict[Node, int] = {}
    for node in reversed(region.nodes):
        height[node] = after.get(node, 0) + (node.name not in VIEWS)
        for operand in captured(node):
            if (producer := operand.producer) is not None:
                after[producer] = max(after.get(producer, 0), height[node])
    return height


def may_be_member(node: Node) -> bool:
    """Whether a kernel may be computed together with others: it must write all its results."""
    if node.name in VIEWS or node.name == "constant" or is_part(node):
        return False
    if node.name != "fusion":
        return node.name in FUSIBLE and _is_small(node)
    if node.attributes["kind"] not in _KINDS:
        return False
    parts = [n.regions[0].nodes if n.name == "fusion" else [n] for n in node.regions[0].nodes]
    return all(_is_small(n) for nodes in parts for n in nodes)


def _is_small(node: Node) -> bool:
    if node.name == "dynamic_update_slice":
        return False
    if node.name not in CONTRACTIONS:
        return True
    if node.name == "dot_general" and product_choice(node).calls_library:
        return False  # the library divides its own work
    return multiply_adds(node) <= LARGEST_DOT or fits_register_tiles(node)


def _moved_bytes(node: Node, leaving: set[Tensor]) -> int:
    """Bytes of what a kernel takes and gives that is made and used within the block."""
    made = [t for t in node.operands if _is_made_here(t)]
    made += [t for t in node.results if t not in leaving]
    return sum(bytes_of(t) for t in dict.fromkeys(made))


def _is_made_here(tensor: Tensor) -> bool:
    producer = tensor.producer
    while producer is not None and producer.name in VIEWS:
        tensor = producer.operands[tensor.index]
        producer = tensor.producer
    return producer is not None and producer.name != "constant"


def _reorder(region: Region, groups: Sequence[Group]) -> None:
    """Puts the ops of a block in an order in which each group's members are neighbours.

    Ops go in their old order, a group at its place, unless they wait for another.
    """
    unit: dict[Node, int] = {}
    members: list[list[Node]] = []
    turn: list[tuple[int, int]] = []
    for group in groups:
        unit.update(dict.fromkeys(group.members, len(members)))
        members.append(group.members)
        turn.append((group.at, 0))
    for i, node in enumerate(region.nodes):
        if node not in unit:
            unit[node] = len(members)
            members.append([node])
            turn.append((i, 1))
    waiting: list[set[int]] = [set() for _ in members]
    readers: list[set[int]] = [set() for _ in members]
    for node in region.nodes:
        for operand in captured(node):
            if operand.producer in unit and unit[operand.producer] != unit[node]:
                waiting[unit[node]].add(unit[operand.producer])
                readers[unit[operand.producer]].add(unit[node])
    ready = [(turn[k], k) for k, needs in enumerate(waiting) if not needs]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        _, done = heapq.heappop(ready)
        order += members[done]
        for reader in readers[done]:
            waiting[reader].discard(done)
            if not waiting[reader]:
                heapq.heappush(ready, (turn[reader], reader))
    assert len(order) == len(region.nodes), "kernels of one launch depend on one another"
    for before, node in itertools.pairwise(order):
        node.source.move_after(before.source)
