"""Ops that keep the lanes of vectors idle: those that fold or join along a short minor dimension.

The coordinates of points, the state of each of many systems: kernels for these have loops of three
or four elements, one after another, unless the short dimension is not the minor one.
"""

from __future__ import annotations

from hlo.passes.cost.layout_cost import LANES, idle_bytes
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.layouts.family import Orders
from hlo.passes.layouts.op_orders import walked
from hlo.passes.layouts.orders import Order, normal

SHORT = 8  # elements of a dimension that a vector of any kind is wider than


def has_short_rows(node: Node) -> bool:
    """Whether an op may be one of those, in some order of its operand or result."""
    if node.name not in ("reduce", "concatenate"):
        return False
    tensor = _walked_tensor(node)
    return any(1 < size <= SHORT for size in tensor.shape) and max(tensor.shape) >= LANES


def short_bytes(node: Node, orders: Orders) -> int:
    """What its idle lanes cost, in bytes; 0 if there are none."""
    tensor, order = _walked_tensor(node), _order(node, orders)
    wide = [d for d in order if tensor.shape[d] != 1]
    if not wide or tensor.shape[wide[-1]] > SHORT:
        return 0
    if node.name == "concatenate" and wide[-1] != node.attributes["dimension"]:
        return 0
    return idle_bytes(tensor)


def wish(node: Node, orders: Orders) -> tuple[Tensor, Order]:
    """The value that had better have another order, and that order: short dimensions major."""
    tensor = _walked_tensor(node)
    order = sorted(_order(node, orders), key=lambda d: tensor.shape[d] > SHORT)
    return tensor, normal(tensor.shape, order)


def _walked_tensor(node: Node) -> Tensor:
    """What a kernel walks in rows: what is folded, or what is made."""
    return node.operands[0] if node.name == "reduce" else node.results[0]


def _order(node: Node, orders: Orders) -> Order:
    return walked(node, orders) if node.name == "reduce" else orders[node.results[0]]
