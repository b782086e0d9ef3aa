"""How much work a kernel is: used for work units, grain and fusion."""

from __future__ import annotations

from hlo.passes.cost.op_cost import work
from hlo.passes.hlo_to_loops.graph import Region


def work_of(region: Region) -> int:
    """Element operations of a region: results and folded elements, transcendentals as several."""
    return sum(
        work_of(node.regions[0]) if node.name == "fusion" else work(node) for node in region.nodes
    )
