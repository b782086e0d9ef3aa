"""What the ops of a family say of the orders of their operands and results."""

from __future__ import annotations

from collections.abc import Collection

from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.layouts.orders import Order, row_major


class Orders(dict[Tensor, Order]):
    """The order of each value from major to minor; row-major unless it is held.

    Attributes:
        spread: dots whose kernels store each row of their result anywhere.
    """

    def __init__(self, spread: Collection[Node] = ()) -> None:
        super().__init__()
        self.spread = frozenset(spread)

    def __missing__(self, tensor: Tensor) -> Order:
        return row_major(tensor.rank)


class Family:
    """Ops that have all their values row-major: what no other family takes.

    Attributes:
        takes_layouts: whether values may have another order.
    """

    @property
    def takes_layouts(self) -> bool:
        return self is not ROW_MAJOR

    def allows(self, node: Node, order: Order) -> bool:
        """Whether the results may have an order."""
        return order == row_major(node.results[0].rank)

    def makes(self, node: Node, order: Order, orders: Orders) -> bool:
        """Whether an op makes its results in an order without a copy."""
        del orders
        return self.allows(node, order)

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        """The order each operand must have, the results having theirs; None where any will do."""
        del orders
        return [row_major(operand.rank) for operand in node.operands]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        """The order of the results if an operand has `order`; None if it decides nothing."""
        del node, operand, order, orders
        return None

    def extra_bytes(self, node: Node, orders: Orders) -> int:
        """What the op costs with these orders beyond copies, in bytes."""
        del node, orders
        return 0


ROW_MAJOR = Family()
