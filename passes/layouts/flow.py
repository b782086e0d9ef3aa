"""The ops of a function in one list, with loops and branches opened: where orders carry through.

A value that a loop carries is one thing outside and inside: an op `carry` stands for each, which
reads what goes in and what an iteration returns, and gives what the condition, the body and the
code behind the loop see. An op `join` stands for a result of a branch.
"""

from __future__ import annotations

from hlo.passes.cost.kernel_cost import TRIP_COUNT
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor
from hlo.passes.layouts.op_orders import Orders
from hlo.passes.layouts.orders import Order, row_major

# Ops each of whose results has an order of its own.
SEPARATE = CONTROL_FLOW | {"optimization_barrier"}
# Loops whose trips are not known count as so many iterations.
UNKNOWN_TRIPS = 8
_MOST_RUNS = 1 << 24


class Flow:
    """A function's ops, and how often what they compute is computed.

    Attributes:
        nodes: in program order; instead of loops, branches and barriers the ops that stand for
            their values.
        runs: how often the block runs that a value is defined in.
        fixed: values that are read row-major whatever reads them.
    """

    def __init__(self, region: Region) -> None:
        self.nodes: list[Node] = []
        self.runs: dict[Tensor, int] = dict.fromkeys(region.arguments, 1)
        self.fixed: set[Tensor] = set(region.results)
        self._open(region, 1)

    def _open(self, region: Region, runs: int) -> None:
        for node in region.nodes:
            self.runs.update(dict.fromkeys(node.results, runs))
            if node.name == "while":
                self._open_loop(node, runs)
            elif node.name in CONTROL_FLOW:
                for inner in node.regions:
                    self._open(inner, runs)
                for i, result in enumerate(node.results):
                    returned = tuple(inner.results[i] for inner in node.regions)
                    self.nodes.append(Node("join", returned, node.source, (result,)))
            elif node.name == "optimization_barrier":
                for operand, result in zip(node.operands, node.results, strict=True):
                    self.nodes.append(Node("join", (operand,), node.source, (result,)))
            else:
                self.nodes.append(node)
                for inner in node.regions:
                    self.fixed.update(inner.free)

    def _open_loop(self, node: Node, runs: int) -> None:
        condition, body = node.regions
        trips = int(node.attributes.get(TRIP_COUNT, UNKNOWN_TRIPS))
        inside = min(runs * max(trips, 1), _MOST_RUNS)
        for i, operand in enumerate(node.operands):
            values = node.results[i], condition.arguments[i], body.arguments[i]
            self.runs.update(dict.fromkeys(values[1:], inside))
            self.nodes.append(Node("carry", (operand, body.results[i]), node.source, values))
        self.fixed.update(condition.results)
        self._open(condition, inside)
        self._open(body, inside)


def returned_orders(node: Node, region: Region, orders: Orders) -> list[Order]:
    """The orders in which a block of a loop or branch returns its values."""
    if node.name == "while" and region is node.regions[0]:
        return [row_major(t.rank) for t in region.results]
    return [orders[t] for t in node.results]
