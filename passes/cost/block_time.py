"""How long a block takes in the order its ops have: the sum of its kernels' estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hlo.passes.cost.estimate import estimate
from hlo.passes.cost.kernel_cost import TRIP_COUNT
from hlo.passes.cost.machine import HOST, Machine
from hlo.passes.cost.residence import Traffic, residence
from hlo.passes.hlo_to_loops.graph import Node, Region


@dataclass
class BlockTime:
    """The estimated time of one run of a block, in seconds, in one order of its ops or another.

    Only where the bytes are found depends on the order. Loops count as often as their trip counts
    say, of a conditional the slowest branch.

    Attributes:
        donated: result -> argument whose memory it takes over.
    """

    region: Region
    donated: Mapping[int, int] = field(default_factory=dict[int, int])
    machine: Machine = HOST
    _known: dict[tuple[Node, Traffic], float] = field(
        default_factory=dict[tuple[Node, Traffic], float]
    )

    def seconds(self, order: list[Node] | None = None) -> float:
        """The time in an order of the ops; the one they have by default."""
        nodes = self.region.nodes if order is None else order
        ordered = Region(self.region.arguments, nodes, self.region.results)
        return self._of_block(ordered, residence(ordered, self.machine, self.donated))

    def _of_block(self, region: Region, traffic: Mapping[Node, Traffic]) -> float:
        total = 0.0
        for node in region.nodes:
            if node.name == "while":
                times = int(node.attributes.get(TRIP_COUNT, 1))
                total += times * sum(self._of_block(inner, traffic) for inner in node.regions)
            elif node.name in ("if", "case"):
                total += max(self._of_block(inner, traffic) for inner in node.regions)
            elif node in traffic:
                total += self._of_kernel(node, traffic[node])
        return total

    def _of_kernel(self, node: Node, traffic: Traffic) -> float:
        key = node, traffic
        if key not in self._known:
            self._known[key] = estimate(node, traffic, self.machine).seconds
        return self._known[key]
