"""join-small-steps: a tiny kernel becomes the first step of the launch that reads its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.launch_time import launch_choice
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.composites import compose, wrap
from hlo.passes.fusion.function_blocks import in_each_function
from hlo.passes.fusion.fuse_horizontally import may_be_member
from hlo.passes.fusion.join_reduction_steps import KIND
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, captured
from hlo.passes.hlo_to_loops.work import work_of

LARGEST = 256  # element operations of a kernel whose code another launch may hold
MOST_MEMBERS = 64
MOST_WAITING = 1 << 16  # bytes that are kept for longer, for a launch fewer


def _ready(region: Region, small: Set[Node]) -> dict[Node, int]:
    """The position of the last op, small ones apart, that each op waits for."""
    position = {node: i for i, node in enumerate(region.nodes) if node not in small}
    found: dict[Node, int] = {}
    for node in region.nodes:
        makers = [t.producer for t in captured(node) if t.producer is not None]
        found[node] = max((position.get(maker, -1) for maker in makers), default=-1)
    return found


def _waiting_bytes(
    small: Node, first: Node, readers: Mapping[Node, Sequence[Node]], ready: Mapping[Node, int]
) -> int:
    """Bytes that other readers of a kernel could free before its first reader can run."""
    freed = {
        operand
        for reader in readers[small]
        if ready[reader] < ready[first]
        for operand in captured(reader)
        if (maker := operand.producer) is not None
        and maker in readers
        and readers[maker][-1] is reader
    }
    return sum(map(bytes_of, freed))


@dataclass(frozen=True)
class JoinSmallSteps(Pass):
    """Puts kernels of a few elements into the `hlo.fusion` that first reads what they make.

    They become members that run before the others, on one thread. A chain of them becomes one
    kernel step by step.

    That is done where the cost model says that it takes less time: not within loops, where a launch
    costs next to nothing, and not if several threads would be faster at what one does then.
    Nor is it done if other readers could run before the first one, and would free more than
    `most_waiting` bytes: they would wait for the launch.

    Requires: `fuse` ran.
    Guarantees: kernels stay in their order; what is joined does `largest` element operations at
    the most.

        %s = hlo.fusion(%step) kind "loop" {...}        %0 = hlo.fusion(%x, %step) kind "steps" {
        %0 = hlo.fusion(%x, %s) kind "loop" {...}  ==>      %s = hlo.fusion(%step) ...
                                                            hlo.fusion(%x, %s) ...
                                                          }
    """

    largest: int = LARGEST
    most_members: int = MOST_MEMBERS
    most_waiting: int = MOST_WAITING

    def run(self, module: ir.Module) -> bool:
        return in_each_function(module, self._block)

    def _block(self, region: Region, in_loop: bool = False) -> bool:
        changed = False
        for node in region.nodes:
            if node.name in CONTROL_FLOW:
                for inner in node.regions:
                    changed |= self._block(inner, in_loop or node.name == "while")
        return self._join(region, in_loop) or changed

    def _join(self, region: Region, in_loop: bool) -> bool:
        """Joins the kernels of one block, from the last to the first."""
        position = {node: i for i, node in enumerate(region.nodes)}
        readers: dict[Node, list[Node]] = {node: [] for node in region.nodes}
        for node in region.nodes:
            for operand in captured(node):
                if operand.producer in readers:
                    readers[operand.producer].append(node)
        small = {node for node in region.nodes if readers[node] and self._is_small(node)}
        ready = _ready(region, small)
        launch: dict[Node, list[Node]] = {}
        for node in reversed(region.nodes):
            launch[node] = [node]
            if node not in small:
                continue
            # Launches run where their last members stand; this one must run before all others.
            members = min((launch[r] for r in readers[node]), key=lambda m: position[m[-1]])
            if not may_be_member(members[-1]) or len(members) >= self.most_members:
                continue
            waiting = 0 if in_loop else _waiting_bytes(node, members[-1], readers, ready)
            if waiting <= self.most_waiting and launch_choice([[node], members], in_loop).joins:
                members.insert(0, node)
                launch[node] = members
        joined = {id(members): members for members in launch.values() if len(members) > 1}
        for members in joined.values():
            ops = [n.source if n.name == "fusion" else wrap(n.source) for n in members]
            first = launch_choice([members[:1], members[1:]], in_loop)
            tiny = "tiny kernels ahead of the one that reads what they make"
            compose(ops, KIND, f"{tiny}: {first.reason}")
        return bool(joined)

    def _is_small(self, node: Node) -> bool:
        if not may_be_member(node):
            return False
        region = node.regions[0] if node.name == "fusion" else Region(nodes=[node])
        size = max(result.size for result in node.results)
        return max(work_of(region), size) <= self.largest
