"""The orders of gathers, scatters and sorts.

A gather's result has the dimensions of its indices and those of its slices; in memory either may
come first, or anywhere between the others, if each keep their own sequence. A scatter's updates are
such a tensor too.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.ir.attributes import GatherDimensionNumbers, ScatterDimensionNumbers
from hlo.passes.cost.layout_cost import copy_bytes
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.layouts.family import Family, Orders
from hlo.passes.layouts.orders import (
    Order,
    in_sequence,
    normal,
    resequenced,
    row_major,
    threaded,
)


def gather_numbers(node: Node) -> GatherDimensionNumbers:
    """The dimension numbers of a gather."""
    return GatherDimensionNumbers(node.source.attributes["dimension_numbers"])


def scatter_numbers(node: Node) -> ScatterDimensionNumbers:
    """The dimension numbers of a scatter."""
    return ScatterDimensionNumbers(node.source.attributes["scatter_dimension_numbers"])


class Gather(Family):
    """A gather reads an operand, and indices, whose dimensions lie as its result has them."""

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        order = orders[node.results[0]]
        return [
            _needed(operand, orders[operand], [own for own, _ in pairs], _by_result(pairs, order))
            for operand, pairs in zip(node.operands, _pairs_of(node), strict=True)
        ]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        result = node.results[0]
        pairs = dict(_pairs_of(node)[operand])
        return normal(
            result.shape, resequenced(orders[result], [pairs[d] for d in order if d in pairs])
        )

    def extra_bytes(self, node: Node, orders: Orders) -> int:
        """Slices whose neighbours are apart in the operand, or in the result, are not rows."""
        operand, result = node.operands[0], node.results[0]
        kept = dict(_pairs_of(node)[0])
        last = [d for d in orders[operand] if operand.shape[d] != 1][-1:]
        minor = [d for d in orders[result] if result.shape[d] != 1][-1:]
        by_rows = bool(last and minor) and kept.get(last[0]) == minor[0]
        return 0 if by_rows else copy_bytes(result)


def gather_orders(node: Node, operand: Order, indices: Order, result: Order) -> Order:
    """The result's order with all its dimensions in the sequence of those of both operands."""
    chains = [
        [dict(pairs)[d] for d in order if d in dict(pairs)]
        for pairs, order in zip(_pairs_of(node), (operand, indices), strict=True)
    ]
    return threaded(node.results[0].shape, result, chains)


def physical_gather_numbers(
    node: Node, operand: Order, indices: Order, result: Order
) -> GatherDimensionNumbers:
    """The numbers of a gather whose dimensions are those that its values have in memory."""
    old = gather_numbers(node)
    batching = sorted(
        (operand.index(d), indices.index(e))
        for d, e in zip(old.operand_batching_dims, old.start_indices_batching_dims, strict=True)
    )
    return GatherDimensionNumbers.get(
        offset_dims=sorted(result.index(d) for d in old.offset_dims),
        collapsed_slice_dims=sorted(operand.index(d) for d in old.collapsed_slice_dims),
        operand_batching_dims=[d for d, _ in batching],
        start_indices_batching_dims=[e for _, e in batching],
        start_index_map=[operand.index(d) for d in old.start_index_map],
        index_vector_dim=_position(old.index_vector_dim, indices),
        context=node.source.context,
    )


def _position(dimension: int, order: Order) -> int:
    """Where a dimension of the indices lies; behind the last one is none."""
    return order.index(dimension) if dimension < len(order) else dimension


def _pairs_of(node: Node) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(dimension, dimension of the result) of the operand and of the indices."""
    numbers = gather_numbers(node)
    operand, indices = node.operands
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    kept = [d for d in range(operand.rank) if d not in gone]
    batch = [d for d in range(indices.rank) if d != numbers.index_vector_dim]
    others = [d for d in range(node.results[0].rank) if d not in numbers.offset_dims]
    return (
        list(zip(kept, numbers.offset_dims, strict=True)),
        list(zip(batch, others, strict=True)),
    )


def _by_result(pairs: Sequence[tuple[int, int]], order: Order) -> list[int]:
    """An operand's dimensions in the sequence in which a result has them."""
    return [own for own, _ in sorted(pairs, key=lambda pair: order.index(pair[1]))]


def _needed(tensor: Tensor, own: Order, kept: Sequence[int], wanted: Sequence[int]) -> Order | None:
    """The order of a value some of whose dimensions must lie in a sequence; None if they do."""
    if in_sequence(tensor.shape, own, wanted):
        return None
    others = [d for d in range(tensor.rank) if d not in kept]
    return normal(tensor.shape, [*others, *wanted])


class Scatter(Family):
    """A scatter's results lie as its inputs do; windows of the updates too.

    What is scattered to one place is combined in the sequence of the indices, which stay row-major.
    """

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        count = len(node.results)
        inputs, indices, updates = (
            node.operands[:count],
            node.operands[count],
            node.operands[count + 1 :],
        )
        order = orders[node.results[0]]
        windows, places = update_chains(node, order)
        own = orders[updates[0]]
        alike = all(orders[update] == own for update in updates)
        shape = updates[0].shape
        fits = alike and in_sequence(shape, own, windows) and in_sequence(shape, own, places)
        wanted = None if fits else normal(shape, [*places, *windows])
        return [
            *(normal(t.shape, order) for t in inputs),
            row_major(indices.rank),
            *(wanted for _ in updates),
        ]

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        if operand >= len(node.results):
            return None
        return normal(node.results[0].shape, order)


def update_chains(node: Node, order: Order) -> tuple[list[int], list[int]]:
    """The updates' window dimensions in the sequence of the inputs' order, and the others."""
    numbers = scatter_numbers(node)
    gone = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    kept = [d for d in range(node.operands[0].rank) if d not in gone]
    windows = dict(zip(kept, numbers.update_window_dims, strict=True))
    rank = node.operands[-1].rank
    places = [d for d in range(rank) if d not in numbers.update_window_dims]
    return [windows[d] for d in order if d in windows], places


def physical_scatter_numbers(node: Node, order: Order, updates: Order) -> ScatterDimensionNumbers:
    """The numbers of a scatter whose dimensions are those that its values have in memory."""
    old = scatter_numbers(node)
    batching = sorted(
        (order.index(d), e)
        for d, e in zip(old.input_batching_dims, old.scatter_indices_batching_dims, strict=True)
    )
    return ScatterDimensionNumbers.get(
        update_window_dims=sorted(updates.index(d) for d in old.update_window_dims),
        inserted_window_dims=sorted(order.index(d) for d in old.inserted_window_dims),
        input_batching_dims=[d for d, _ in batching],
        scatter_indices_batching_dims=[e for _, e in batching],
        scatter_dims_to_operand_dims=[order.index(d) for d in old.scatter_dims_to_operand_dims],
        index_vector_dim=old.index_vector_dim,
        context=node.source.context,
    )


class Sort(Family):
    """A sort has all its values in one order; lines that are not contiguous are moved there."""

    def allows(self, node: Node, order: Order) -> bool:
        del node, order
        return True

    def needs(self, node: Node, orders: Orders) -> list[Order | None]:
        return [orders[node.results[0]]] * len(node.operands)

    def gives(self, node: Node, operand: int, order: Order, orders: Orders) -> Order | None:
        del node, operand, orders
        return order

    def extra_bytes(self, node: Node, orders: Orders) -> int:
        result = node.results[0]
        minor = [d for d in orders[result] if result.shape[d] != 1][-1:]
        if minor == [node.attributes["dimension"]]:
            return 0
        return sum(copy_bytes(operand) for operand in node.operands)
