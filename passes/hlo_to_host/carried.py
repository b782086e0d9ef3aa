"""What results would best share storage with: what loops, branches and updates change."""

from __future__ import annotations

from hlo.passes.hlo_to_host.liveness import BlockLiveness
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor

BRANCHES = ("if", "case")


def carried_through(node: Node) -> list[tuple[Tensor, Tensor]]:
    """(operand, result) pairs that would best share storage: carries of loops, updated operands."""
    if node.name == "while":
        inside = {t for region in node.regions for t in region.free}
        pairs = zip(node.operands, node.results, strict=True)
        return [pair for pair in pairs if pair[0] not in inside]
    if node.name == "dynamic_update_slice":
        return [(node.operands[0], node.results[0])]
    if node.name == "scatter":
        return list(zip(node.operands, node.results, strict=False))
    if node.name != "fusion" or len(node.results) != 1:
        return []
    region = node.regions[0]
    root = region.results[0].producer
    updates = root is not None and root.name in ("dynamic_update_slice", "scatter")
    if root is None or not updates or root.operands[0] not in region.arguments:
        return []
    return [(node.operands[region.arguments.index(root.operands[0])], node.results[0])]


def branch_source(region: Region, k: int) -> Tensor | None:
    """The value from around a branch that its result `k` shows, or that it is made of by updates
    in place; None if there is none."""
    live = BlockLiveness(region.nodes, region.results)
    tensor = live.root(region.results[k])
    while (node := tensor.producer) is not None and node in region.nodes:
        sources = [operand for operand, result in carried_through(node) if result is tensor]
        if not sources:
            return None
        tensor = live.root(sources[0])
    return tensor
