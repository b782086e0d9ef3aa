"""How the orders of an op's operands and result go together, family by family.

A family answers for its ops: which orders the result may have, which order each operand must have
then, and which order the result gets if an operand's order is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hlo.passes.cost.layout_cost import copy_bytes, dot_bytes, wants_features_last
from hlo.passes.cost.op_cost import has_places_minor, is_depthwise_gradient
from hlo.passes.hlo_to_loops.graph import Node, Tensor, monoid_of
from hlo.passes.layouts.dot_dimensions import (
    BATCH,
    batch_dimensions,
    free_dimensions,
    result_dimension,
    side_of,
    size_of,
    summed_dimensions,
)
from hlo.passes.layouts.family import ROW_MAJOR, Family, Orders
from hlo.passes.layouts.indexed_orders import Gather, Scatter, Sort
from hlo.passes.layouts.orders import (
    Order,
    after_reduction,
    after_reshape,
    after_transpose,
    before_broadcast,
    before_reduction,
    before_transpose,
    normal,
    row_major,
)
from hlo.passes.rewrite import elementwise

# Walk their operands and their result alike, dimension by dimension.
ALIKE = frozenset(name.removeprefix("hlo.") for name in elementwise.ELEMENTWISE) | {
    "bitcast_convert",
    "concatenate",
    "copy",
    "dynamic_slice",
    "dynamic_update_slice",
    "pad",
    "reduce_window",
    "reverse",
    "select_and_scatter",
    "slice",
}
COMMUTATIVE = frozenset({"add", "and", "maximum", "minimum", "multiply", "or", "xor"})
# Constants are stored, and iotas made, in the order they are read in.
FREE_TO_ARRANGE = frozenset({"constant", "iota"})


class Alike(Family):
    """Elementwise ops and others whose result has the operands' order."""

    def allows(self, node: Node, order: Order) -> bool:
        if node.name not in ("reduce_window", "select_and_scatter"):
            return True
        window = node.attributes.get("window_dimensions") or ()
        return may_fold(node, order, [d for d, size in enumerate(window) if size != 1])

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        order = order_of_alike(node, orders)
        return [
            normal(operand.shape, order) if operand.rank == len(order) else None
            for operand in node.operands
        ]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        result = node.results[0]
        if node.operands[operand].rank != result.rank:
            return None
        return normal(result.shape, order)


def order_of_alike(node: Node, orders: Orders) -> Order:
    """The order in which an op of `Alike` walks its operands and its result.

    A slice goes by its operand's own order where that arranges its result as wanted: a column of a
    matrix lies the same whichever dimension is minor.
    """
    result, own = node.results[0], orders[node.operands[0]]
    if node.name in ("slice", "dynamic_slice") and normal(result.shape, own) == orders[result]:
        return own
    return orders[result]


class Transpose(Family):
    """A transpose moves nothing if the orders of both sides say so."""

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        order = before_transpose(_permutation(node), orders[node.results[0]])
        return [normal(node.operands[0].shape, order)]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        return normal(node.results[0].shape, after_transpose(_permutation(node), order))


class Broadcast(Family):
    """A broadcast places its operand's dimensions in any order of the result."""

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        dimensions = node.attributes["broadcast_dimensions"]
        order = before_broadcast(dimensions, orders[node.results[0]])
        return [normal(node.operands[0].shape, order)]


class Reshape(Family):
    """A reshape carries an order over if what it merges and splits stays together."""

    def allows(self, node: Node, order: Order) -> bool:
        return self._before(node, order) is not None

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        return [self._before(node, orders[node.results[0]])]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        return after_reshape(node.operands[0].shape, node.results[0].shape, order)

    @staticmethod
    def _before(node: Node, order: Order) -> Order | None:
        if order == row_major(len(order)):
            return row_major(node.operands[0].rank)
        return after_reshape(node.results[0].shape, node.operands[0].shape, order)


class Reduce(Family):
    """A reduction keeps the order of the dimensions it leaves."""

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        order = walked(node, orders)
        inputs = len(node.operands) // 2
        return [*([order] * inputs), *([None] * inputs)]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        if operand >= len(node.operands) // 2:
            return None
        return normal(node.results[0].shape, after_reduction(order, node.attributes["dimensions"]))


def may_fold(node: Node, order: Order, folded: Sequence[int]) -> bool:
    """Whether an op may fold elements along some dimensions in an order of memory.

    A reducer of one commutative op takes its elements in any sequence; others, and the selection of
    the first of equal elements, take them in that of the indices.
    """
    wide = [d for d in order if d in folded]
    if wide == sorted(wide):
        return True
    return node.name != "select_and_scatter" and monoid_of(node.regions[0]) in COMMUTATIVE


def walked(node: Node, orders: Orders) -> Order:
    """The order in which a reduction reads its operands: the first one's, if the result's order
    follows from it and the elements may be folded so.
    """
    reduced, operand, result = node.attributes["dimensions"], node.operands[0], node.results[0]
    wanted, own = orders[result], orders[operand]
    follows = normal(result.shape, after_reduction(own, reduced)) == wanted
    if follows and may_fold(node, own, [d for d in reduced if operand.shape[d] != 1]):
        return own
    if wanted == row_major(result.rank):
        return row_major(operand.rank)
    return normal(operand.shape, before_reduction(wanted, reduced, operand.rank))


class Dot(Family):
    """A dot reads its operands in any order; its result has the batch dimensions, then the free
    ones of one operand in that operand's order, then those of the other. In another order it is
    transposed, which takes a copy unless the kernel stores its rows there.
    """

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def makes(self, node: Node, order: Order, orders: Orders) -> bool:
        if self._split(node, order) is not None:
            return True
        minor = [d for d in order if node.results[0].shape[d] != 1][-1]
        return node in orders.spread and side_of(node, minor) != BATCH

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        order = orders[node.results[0]]
        found: list[Order | None] = []
        for side, operand in enumerate(node.operands):
            free = free_dimensions(node, side)
            rank = {d: order.index(result_dimension(node, side, d)) for d in free}
            own = [d for d in orders[operand] if d in free and operand.shape[d] != 1]
            fits = own == sorted(own, key=rank.__getitem__)
            others = [d for d in range(operand.rank) if d not in free]
            ordered = (*others, *sorted(free, key=rank.__getitem__))
            found.append(None if fits else normal(operand.shape, ordered))
        return found

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        free = [d for d in order if d in free_dimensions(node, operand)]
        ordered = iter([result_dimension(node, operand, d) for d in free])
        own = {result_dimension(node, operand, d) for d in free}
        found = [next(ordered) if d in own else d for d in orders[node.results[0]]]
        return normal(node.results[0].shape, found)

    def extra_bytes(self, node: Node, orders: Orders) -> int:
        sides = (1, 0) if self.swaps(node, orders[node.results[0]]) else (0, 1)
        lhs, rhs = (node.operands[side] for side in sides)
        columns = size_of(rhs, free_dimensions(node, sides[1]))
        rows = size_of(lhs, free_dimensions(node, sides[0]))
        depth = size_of(rhs, summed_dimensions(node, sides[1]))
        minor = [d for d in orders[rhs] if rhs.shape[d] != 1][-1:]
        packed = any(d in summed_dimensions(node, sides[1]) for d in minor) and rows != 1
        scattered = not self._is_matrix(node, sides[1], orders[rhs])
        copied = copy_bytes(rhs) if scattered else 0
        return dot_bytes(lhs, rhs, (rows, columns, depth), packed) + copied

    @staticmethod
    def _is_matrix(node: Node, side: int, order: Order) -> bool:
        """Whether an operand's free dimensions are neighbours in memory, and so are the contracted
        ones: kernels get a copy of a right operand that is not so.
        """
        operand, batch = node.operands[side], batch_dimensions(node, side)
        summed = summed_dimensions(node, side)
        runs = [d in summed for d in order if operand.shape[d] != 1 and d not in batch]
        return sum(a != b for a, b in itertools.pairwise(runs)) <= 1

    def swaps(self, node: Node, order: Order) -> bool:
        """Whether the result has the free dimensions of the right operand first."""
        split = self._split(node, order)
        return split is not None and split

    @staticmethod
    def _split(node: Node, order: Order) -> bool | None:
        """Whether the right operand's free dimensions come first; None for an order no dot has."""
        shape = node.results[0].shape
        sides: list[int] = []
        for d in (d for d in order if shape[d] != 1):
            side = side_of(node, d)
            if not sides or sides[-1] != side:
                sides.append(side)
        if sides[:1] == [BATCH]:
            sides = sides[1:]
        if len(set(sides)) != len(sides) or BATCH in sides:
            return None
        swapped = sides == [1, 0]
        return None if swapped and "algorithm" in node.attributes else swapped


class Convolution(Family):
    """A convolution names its dimensions: any order will do, with features minor in the result and
    output features minor in the kernel. Gradients of depthwise ones by the weights are sums along
    places too, if those are minor in both operands, or else have features minor in both.
    """

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        numbers = node.attributes["dimension_numbers"]
        lhs, rhs = node.operands
        labels = [numbers["input"][d] for d in orders[lhs]]
        kernel = [numbers["kernel"][d] for d in orders[rhs]]
        last = kernel[-1] == "o"
        if is_depthwise_gradient(node):
            if has_places_minor(labels, kernel):
                return [None, None]
            left = None if labels[-1] == "b" else _with_last(lhs, numbers["input"], "b")
            return [left, None if last else _kernel_order(rhs, numbers["kernel"])]
        left = _with_last(lhs, numbers["input"], "f") if wants_features_last(node, labels) else None
        return [left, None if last else _kernel_order(rhs, numbers["kernel"])]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        if operand != 0:
            return None
        numbers = node.attributes["dimension_numbers"]
        names = [x for d in order if (x := numbers["input"][d]) != "f"]
        found = [numbers["output"].index(name) for name in (*names, "f")]
        return normal(node.results[0].shape, found)

    def extra_bytes(self, node: Node, orders: Orders) -> int:
        result = node.results[0]
        if is_depthwise_gradient(node):
            return 0
        last = node.attributes["dimension_numbers"]["output"][orders[result][-1]]
        return 0 if last == "f" else copy_bytes(result)


class Source(Family):
    """Ops that make their result in any order."""

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True


_ALIKE, _DOT = Alike(), Dot()
_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(ALIKE, _ALIKE),
    "broadcast_in_dim": Broadcast(),
    "carry": _ALIKE,
    "convolution": Convolution(),
    "dot_general": _DOT,
    "gather": Gather(),
    "iota": Source(),
    "join": _ALIKE,
    "reduce": Reduce(),
    "reshape": Reshape(),
    "scatter": Scatter(),
    "sort": Sort(),
    "transpose": Transpose(),
}


def family_of(node: Node) -> Family:
    """The family that answers for an op."""
    if node.name == "bitcast_convert" and node.operands[0].rank != node.results[0].rank:
        return ROW_MAJOR
    return _FAMILIES.get(node.name, ROW_MAJOR)


def swaps_operands(node: Node, order: Order) -> bool:
    """Whether a dot's result with this order has the right operand's dimensions first."""
    return _DOT.swaps(node, order)


def _permutation(node: Node) -> tuple[int, ...]:
    return node.attributes["permutation"]


def _with_last(tensor: Tensor, labels: Sequence[str], last: str) -> Order:
    """Row-major but for one dimension, which is minor."""
    order = sorted(range(tensor.rank), key=lambda d: labels[d] == last)
    return normal(tensor.shape, order)


def _kernel_order(tensor: Tensor, labels: Sequence[str]) -> Order:
    """Spatial dimensions, input features, output features: the order of a product's operand."""
    order = sorted(range(tensor.rank), key=lambda d: (labels[d] == "o", labels[d] == "i"))
    return normal(tensor.shape, order)
