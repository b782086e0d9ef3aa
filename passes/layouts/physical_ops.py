"""Ops on tensors with layouts, rewritten in place to ops on the shapes those have in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from hlo import ir
from hlo.ir.attributes import ConvDimensionNumbers, DotDimensionNumbers
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.layouts.dot_dimensions import (
    batch_dimensions,
    free_dimensions,
    result_dimension,
    summed_dimensions,
)
from hlo.passes.layouts.flow import SEPARATE
from hlo.passes.layouts.indexed_orders import (
    gather_orders,
    physical_gather_numbers,
    physical_scatter_numbers,
    update_chains,
)
from hlo.passes.layouts.op_orders import (
    ALIKE,
    FREE_TO_ARRANGE,
    Orders,
    family_of,
    order_of_alike,
    swaps_operands,
    walked,
)
from hlo.passes.layouts.orders import (
    Order,
    after_reduction,
    arranged_shape,
    before_transpose,
    normal,
    row_major,
    threaded,
)
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of

# Bytes up to which a constant is stored in another order; larger ones are transposed at run time.
LARGEST_CONSTANT = 1 << 26
# Attributes with a number, or a row of numbers, for each dimension.
_PER_DIMENSION = frozenset(
    [
        "base_dilations",
        "edge_padding_high",
        "edge_padding_low",
        "interior_padding",
        "limit_indices",
        "padding",
        "slice_sizes",
        "start_indices",
        "strides",
        "window_dilations",
        "window_dimensions",
        "window_strides",
    ]
)
# The first of the operands that are indices, one for each dimension.
_FIRST_INDEX = {"dynamic_slice": 1, "dynamic_update_slice": 2}


class PhysicalOps:
    """Rewrites ops whose operands are rewritten already."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def rewrite(self, node: Node) -> None:
        """Puts an op on the physical shapes of its operands and results."""
        rewrite = _REWRITES.get(node.name)
        if rewrite is None and node.name in ALIKE:
            rewrite = PhysicalOps._alike
        if node.name in SEPARATE:
            rewrite = PhysicalOps._separate
        elif rewrite is None or not family_of(node).takes_layouts:
            rewrite = PhysicalOps._row_major
        rewrite(self, node)

    def arrange(self, op: ir.Operation, i: int, tensor: Tensor, order: Order) -> None:
        """Has an op read one of its operands in an order."""
        if self._orders[tensor] != order:
            op.operands[i] = self._arranged(op, op.operands[i], tensor, order)

    # ---- Values ----
    def _arranged(
        self, op: ir.Operation, value: ir.Value, tensor: Tensor, order: Order
    ) -> ir.Value:
        """A physical value, in front of an op, with exactly another order."""
        own = self._orders[tensor]
        if own == order:
            return value
        b = Builder.before(op)
        if normal(tensor.shape, own) == normal(tensor.shape, order):
            return b.reshape(value, arranged_shape(tensor.shape, order))
        return b.transpose(value, [own.index(d) for d in order])

    def _arrange(self, node: Node, i: int, order: Order) -> None:
        self.arrange(node.source, i, node.operands[i], order)

    def _as_needed(self, node: Node) -> list[Order]:
        """Rearranges operands that an op cannot read as they are; the orders they have then."""
        found: list[Order] = []
        needs = family_of(node).needs(node, self._orders)
        for i, (operand, need) in enumerate(zip(node.operands, needs, strict=True)):
            if need is not None:
                self._arrange(node, i, need)
            found.append(self._orders[operand] if need is None else need)
        return found

    def _settle(self, node: Node, order: Order) -> None:
        """Gives the results the shape that comes of `order`, and their readers the one expected."""
        for tensor, value in zip(node.results, node.source.results, strict=True):
            value.set_type(physical_type(value, tensor, order))
            expected = self._orders[tensor]
            b = Builder(ir.InsertionPoint.after(node.source), node.source.location)
            if normal(tensor.shape, order) != normal(tensor.shape, expected):
                seen = b.transpose(value, [order.index(d) for d in expected])
            elif list(shape_of(value)) != arranged_shape(tensor.shape, expected):
                seen = b.reshape(value, arranged_shape(tensor.shape, expected))
            else:
                continue
            value.replace_all_uses_except(seen, [b.created[-1]])

    def _replace(self, node: Node, value: ir.Value) -> None:
        node.source.results[0].replace_all_uses_with(value)
        node.source.erase()

    # ---- Ops ----
    def _separate(self, node: Node) -> None:
        """Each result is arranged for itself, and so is an operand that there is for each."""
        if node.name in ("while", "optimization_barrier"):
            for i, result in enumerate(node.results):
                self._arrange(node, i, self._orders[result])
        for tensor, value in zip(node.results, node.source.results, strict=True):
            value.set_type(physical_type(value, tensor, self._orders[tensor]))

    def _row_major(self, node: Node) -> None:
        for i, operand in enumerate(node.operands):
            self._arrange(node, i, row_major(operand.rank))

    def _alike(self, node: Node) -> None:
        order, op = order_of_alike(node, self._orders), node.source
        for i, operand in enumerate(node.operands):
            if operand.rank == len(order):
                self._arrange(node, i, order)
        for name in _PER_DIMENSION & set(op.attributes.keys()):
            op.attributes[name] = _permuted(op.attributes[name], order)
        if (first := _FIRST_INDEX.get(node.name)) is not None:
            indices = list(op.operands)[first:]
            for i, d in enumerate(order):
                op.operands[first + i] = indices[d]
        self._settle(node, order)

    def _concatenate(self, node: Node) -> None:
        self._alike(node)
        self._set_position(node, "dimension", self._orders[node.results[0]])

    def _reverse(self, node: Node) -> None:
        self._alike(node)
        order = self._orders[node.results[0]]
        self._set_positions(node, "dimensions", order, node.attributes["dimensions"])

    def _set_positions(self, node: Node, name: str, order: Order, dims: Sequence[int]) -> None:
        positions = [order.index(d) for d in dims]
        node.source.attributes[name] = ir.DenseI64ArrayAttr.get(positions, node.source.context)

    def _copy(self, node: Node) -> None:
        operand, order = node.operands[0], self._orders[node.results[0]]
        source = operand.producer
        made = None
        if source is not None and source.name == "constant":
            made = _constant_in(node.source, source.source, order)
        elif source is not None and source.name == "iota" and operand not in self._orders:
            made = Builder.before(node.source).iota(
                arranged_shape(operand.shape, order),
                element_of(node.source.operands[0]),
                order.index(source.attributes["iota_dimension"]),
            )
        if made is None:
            made = self._arranged(node.source, node.source.operands[0], operand, order)
        self._replace(node, made)
        if source is not None and source.name in FREE_TO_ARRANGE and _is_unused(source.source):
            source.source.erase()

    def _transpose(self, node: Node) -> None:
        order = before_transpose(node.attributes["permutation"], self._orders[node.results[0]])
        value = self._arranged(node.source, node.source.operands[0], node.operands[0], order)
        self._replace(node, value)

    def _iota(self, node: Node) -> None:
        order = self._orders[node.results[0]]
        self._set_position(node, "iota_dimension", order)
        self._settle(node, order)

    def _broadcast(self, node: Node) -> None:
        order, own = self._orders[node.results[0]], self._orders[node.operands[0]]
        placed = node.attributes["broadcast_dimensions"]
        self._set_positions(node, "broadcast_dimensions", order, [placed[d] for d in own])
        self._settle(node, order)

    def _reshape(self, node: Node) -> None:
        self._as_needed(node)
        self._settle(node, self._orders[node.results[0]])

    def _reduce(self, node: Node) -> None:
        order, reduced = walked(node, self._orders), node.attributes["dimensions"]
        self._as_needed(node)
        self._set_positions(node, "dimensions", order, reduced)
        self._settle(node, after_reduction(order, reduced))

    def _dot(self, node: Node) -> None:
        order, op = self._orders[node.results[0]], node.source
        orders = self._as_needed(node)
        batch = [d for d in order if d < len(batch_dimensions(node, 0))]
        numbers: list[tuple[list[int], list[int]]] = []
        natural = list(batch)
        swapped = swaps_operands(node, order)
        sides = (1, 0) if swapped else (0, 1)
        for side in sides:
            own = orders[side]
            stacked = [own.index(batch_dimensions(node, side)[d]) for d in batch]
            numbers.append((stacked, [own.index(d) for d in summed_dimensions(node, side)]))
            free = free_dimensions(node, side)
            natural += [result_dimension(node, side, d) for d in own if d in free]
        if swapped:
            _swap_operands(op)
        (left, left_summed), (right, right_summed) = numbers
        op.attributes["dot_dimension_numbers"] = DotDimensionNumbers.get(
            left, right, left_summed, right_summed, context=op.context
        )
        self._settle(node, tuple(natural))

    def _gather(self, node: Node) -> None:
        operand, indices = self._as_needed(node)
        natural = gather_orders(node, operand, indices, self._orders[node.results[0]])
        op = node.source
        op.attributes["dimension_numbers"] = physical_gather_numbers(
            node, operand, indices, natural
        )
        op.attributes["slice_sizes"] = _permuted(op.attributes["slice_sizes"], operand)
        self._settle(node, natural)

    def _scatter(self, node: Node) -> None:
        orders = self._as_needed(node)
        order, count = self._orders[node.results[0]], len(node.results)
        updates = threaded(node.operands[-1].shape, orders[-1], update_chains(node, order))
        for i in range(count + 1, len(node.operands)):
            own = arranged_shape(node.operands[i].shape, orders[i])
            shape = arranged_shape(node.operands[i].shape, updates)
            if own != shape:
                b = Builder.before(node.source)
                node.source.operands[i] = b.reshape(node.source.operands[i], shape)
        node.source.attributes["scatter_dimension_numbers"] = physical_scatter_numbers(
            node, order, updates
        )
        self._settle(node, order)

    def _sort(self, node: Node) -> None:
        order = self._orders[node.results[0]]
        self._as_needed(node)
        self._set_position(node, "dimension", order)
        self._settle(node, order)

    def _set_position(self, node: Node, name: str, order: Order) -> None:
        kind = ir.IntegerAttr(node.source.attributes[name]).type
        position = order.index(node.attributes[name])
        node.source.attributes[name] = ir.IntegerAttr.get(kind, position)

    def _convolution(self, node: Node) -> None:
        op, numbers = node.source, node.attributes["dimension_numbers"]
        left, right = self._as_needed(node)
        order = self._orders[node.results[0]]
        found = [
            [labels[d] for d in own]
            for labels, own in zip(
                (numbers["input"], numbers["kernel"], numbers["output"]),
                (left, right, order),
                strict=True,
            )
        ]
        op.attributes["dimension_numbers"] = _convolution_numbers(found, op.context)
        self._settle(node, order)


_Rewrite: TypeAlias = Callable[[PhysicalOps, Node], None]
# pyright: reportPrivateUsage=false
_REWRITES: dict[str, _Rewrite] = {
    "broadcast_in_dim": PhysicalOps._broadcast,
    "concatenate": PhysicalOps._concatenate,
    "convolution": PhysicalOps._convolution,
    "copy": PhysicalOps._copy,
    "dot_general": PhysicalOps._dot,
    "gather": PhysicalOps._gather,
    "iota": PhysicalOps._iota,
    "reduce": PhysicalOps._reduce,
    "reshape": PhysicalOps._reshape,
    "reverse": PhysicalOps._reverse,
    "scatter": PhysicalOps._scatter,
    "sort": PhysicalOps._sort,
    "transpose": PhysicalOps._transpose,
}


def _is_unused(op: ir.Operation) -> bool:
    return not any(len(list(result.uses)) for result in op.results)


def physical_type(value: ir.Value, tensor: Tensor, order: Order) -> ir.Type:
    """The type of a value whose dimensions lie in memory in an order."""
    shape = arranged_shape(tensor.shape, order)
    return ir.RankedTensorType.get(shape, element_of(value), loc=value.location)


def _permuted(attribute: ir.Attribute, order: Order) -> ir.Attribute:
    """An attribute with an entry, or a row, for each dimension in another order."""
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return ir.DenseI64ArrayAttr.get([attribute[d] for d in order], attribute.context)
    rows = ir.constants.to_numpy(attribute)[list(order)]
    element = ir.RankedTensorType(ir.DenseElementsAttr(attribute).type).element_type
    return ir.constants.from_numpy(np.ascontiguousarray(rows), element)


def _constant_in(point: ir.Operation, op: ir.Operation, order: Order) -> ir.Value | None:
    """A constant in another order, if its elements are known and not too many."""
    value = op.results[0]
    shape, b = shape_of(value), Builder.before(point)
    try:
        array = ir.constants.to_numpy(op.attributes["value"])
    except TypeError:
        return None
    if ir.constants.splat_value(op.attributes["value"]) is None and array.nbytes > LARGEST_CONSTANT:
        return None
    return b.constant_array(array.transpose(order), element_of(value)) if shape else value


def _swap_operands(op: ir.Operation) -> None:
    """Exchanges a dot's operands, and what its attributes say of each."""
    lhs, rhs = op.operands
    op.operands[0], op.operands[1] = rhs, lhs
    if "precision_config" in op.attributes:
        pair = list(ir.ArrayAttr(op.attributes["precision_config"]))
        op.attributes["precision_config"] = ir.ArrayAttr.get(pair[::-1], op.context)


def _convolution_numbers(
    labels: Sequence[Sequence[str]], context: ir.Context
) -> ConvDimensionNumbers:
    sides, kernel = (labels[0], labels[2]), labels[1]
    spatial = sorted((x for x in kernel if x.isdigit()), key=int)
    (batch, features, lines), (out_batch, out_features, out_lines) = (
        (side.index("b"), side.index("f"), [side.index(x) for x in spatial]) for side in sides
    )
    return ConvDimensionNumbers.get(
        batch, features, lines,
        kernel.index("i"), kernel.index("o"), [kernel.index(x) for x in spatial],
        out_batch, out_features, out_lines, context=context,
    )  # fmt: skip
