"""arrange-selections: windows of few channels that are last choose from planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.window_choice import Windows
from hlo.passes.hlo_to_loops.window_groups import change_selections, collects, surroundings
from hlo.passes.kernel_forms.building import integers, transposed
from hlo.passes.rewrite.walk import replace

# Attributes of the ops that are moved, with a number a dimension.
_BY_DIMENSION = frozenset({
    "window_dimensions", "window_strides", "edge_padding_low", "edge_padding_high",
    "interior_padding", "start_indices", "limit_indices", "strides",
})  # fmt: skip


@dataclass(frozen=True)
class ArrangeSelections(Pass):
    """Puts the dimensions that windows of a select_and_scatter walk last, where those behind them
    are too short for vectors: lanes are then neighbouring windows.

    The padding ahead of the op and the slice behind it, which `fuse-selections` takes, move too.
    Windows keep their order along each dimension that they walk, so elements combine their sources
    in the same order.

    Requires: the core op set, static shapes.

        %0 = hlo.select_and_scatter %x, %dy, windows of 1x2x2x1 : tensor<1x112x112x3xf32>
        ==>
        %1 = hlo.transpose %x, dims = [0, 3, 1, 2]
        %2 = hlo.transpose %dy, dims = [0, 3, 1, 2]
        %3 = hlo.select_and_scatter %1, %2, windows of 1x1x2x2 : tensor<1x3x112x112xf32>
        %0 = hlo.transpose %3, dims = [0, 2, 3, 1]
    """

    def run(self, module: ir.Module) -> bool:
        return change_selections(module, _arrange)


def _arrange(node: Node, nodes: dict[ir.Operation, Node]) -> bool:
    if not node.operands[0].size:
        return False
    padding, part = surroundings(node, nodes)
    windows = Windows.of(node, padding, part)
    dims = range(len(windows.sizes))
    order = [*(d for d in dims if d not in windows.walked), *windows.walked]
    if windows.lanes or order == list(dims) or not collects(node, windows.in_order(order)):
        return False
    operand, source, initial = node.source.operands
    with node.source.location, ir.InsertionPoint(node.source):
        if padding is None:
            operand = transposed(operand, order)
        else:
            inner, filler = padding.source.operands
            operand = _permuted(padding, [transposed(inner, order), filler], order)
        result = _permuted(node, [operand, transposed(source, order), initial], order)
    last = node if part is None else part
    with last.source.location, ir.InsertionPoint(last.source):
        if part is not None:
            result = _permuted(part, [result], order)
        result = transposed(result, [order.index(d) for d in dims])
    replace(last.source, [result])
    if part is not None:
        node.source.erase()
    if padding is not None:
        padding.source.erase()
    return True


def _permuted(node: Node, operands: Sequence[ir.Value], order: Sequence[int]) -> ir.Value:
    """The result of a copy of an op whose dimensions have another order, as its operands have."""
    op = node.source.clone(ip=ir.InsertionPoint.current)
    for i, operand in enumerate(operands):
        op.operands[i] = operand
    for name in _BY_DIMENSION.intersection(op.attributes):
        op.attributes[name] = integers([node.attributes[name][d] for d in order])
    if (padding := node.attributes.get("padding")) is not None:
        pairs = padding_pairs(padding, len(order))
        rows = [list(pairs[d]) for d in order]
        text = f"dense<{rows}> : tensor<{len(rows)}x2xi64>"
        op.attributes["padding"] = ir.Attribute.parse(text, op.context)
    kind = ir.RankedTensorType(op.results[0].type)
    shape = [kind.shape[d] for d in order]
    op.results[0].set_type(ir.RankedTensorType.get(shape, kind.element_type))
    return op.results[0]
