"""Why kernels share a launch, or do not: what the passes that compose kernels did, edge by edge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hlo.passes.cost.launch_time import launch_choice, tail_choice
from hlo.passes.fusion.composites import REASON
from hlo.passes.fusion.fuse_horizontally import may_be_member
from hlo.passes.fusion.join_reduction_steps import is_worth_apart
from hlo.passes.fusion.join_small_steps import LARGEST
from hlo.passes.hlo_to_host.liveness import VIEWS
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor, captured, is_composite
from hlo.passes.hlo_to_loops.work import work_of
from hlo.passes.kernel_forms.split_reductions import PARTIAL


@dataclass(frozen=True)
class LaunchEdge:
    """Two kernels: one that reads what the other makes, or neighbours in one launch."""

    producer: Node
    consumer: Node
    joined: bool
    reason: str


def launch_edges(region: Region, in_loop: bool = False) -> Iterator[LaunchEdge]:
    """The decisions on the kernels of a fused block, and of the blocks in it, in program order."""
    makers: dict[Tensor, Node] = {}
    for node in region.nodes:
        if node.name in CONTROL_FLOW:
            for inner in node.regions:
                yield from launch_edges(inner, in_loop or node.name == "while")
            continue
        if node.name == "constant":
            continue
        if node.name in VIEWS:
            makers.update((r, makers[o]) for r, o in _views(node) if o in makers)
            continue
        composite = node.name == "fusion" and is_composite(node.regions[0])
        for maker in dict.fromkeys(makers[t] for t in captured(node) if t in makers):
            yield LaunchEdge(maker, node, False, _why_apart(maker, node, in_loop))
        if composite:
            yield from _joined(node)
        makers.update(dict.fromkeys(node.results, node))


def name_of(node: Node) -> str:
    """The name of a kernel."""
    return str(node.attributes.get("name") or node.name) if node.name == "fusion" else node.name


def _views(node: Node) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(node.results, node.operands, strict=False)


def _joined(launch: Node) -> Iterator[LaunchEdge]:
    """Members of a launch that read one another, or else stand beside one another."""
    reason = str(launch.attributes[REASON])
    members = launch.regions[0].nodes
    fed: set[Node] = set()
    for member in members:
        makers = {o.producer: None for o in member.operands if o.producer in members}
        for maker in makers:
            fed |= {maker, member}
            yield LaunchEdge(maker, member, True, reason)
    for before, after in pairwise(members):
        if not {before, after} <= fed:
            yield LaunchEdge(before, after, True, reason)


def _why_apart(maker: Node, reader: Node, in_loop: bool) -> str:
    """Why a kernel is not a step of the launch that reads what it makes."""
    for node in (maker, reader):
        if not may_be_member(node):
            return f"{name_of(node)} is a kernel that no other may share its launch with"
    if _is_split(maker) and is_worth_apart(choice := tail_choice(maker, [reader])):
        return f"divided over threads it is done sooner: {choice.reason}"
    region = maker.regions[0] if maker.name == "fusion" else Region(nodes=[maker])
    amount = max(work_of(region), *(r.size for r in maker.results))
    if amount > LARGEST:
        return (
            f"the other would wait for its {amount} element operations on one thread, "
            f"more than {LARGEST}"
        )
    choice = launch_choice([[maker], [reader]], in_loop)
    if not choice.joins:
        return f"in a loop {choice.reason}" if in_loop else choice.reason
    return "what reads it first is another launch"


def _is_split(kernel: Node) -> bool:
    """Whether a kernel makes partial results of a reduction."""
    inside = kernel.regions[0].nodes if kernel.name == "fusion" else [kernel]
    return any(PARTIAL in node.attributes for node in inside)
