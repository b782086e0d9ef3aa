"""materialize-layouts: tensors with layouts become row-major, of the shape they have in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.ir.attributes import Layout
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Region, Tensor, reading
from hlo.passes.layouts.flow import SEPARATE, returned_orders
from hlo.passes.layouts.op_orders import Orders, family_of
from hlo.passes.layouts.orders import Order, normal, row_major
from hlo.passes.layouts.physical_ops import PhysicalOps, physical_type
from hlo.passes.rewrite.signature import update_function_type
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import body_of, functions, operations, terminator_of


@dataclass(frozen=True)
class MaterializeLayouts(Pass):
    """Gives each value with a layout the shape that it has in memory, and no layout.

    Ops go on the new shapes: dimension numbers, windows, slices and the like are renumbered, the
    operands of a dot change places, and a transpose between layouts that make it none goes. A copy
    from one layout to another becomes a transpose; one of a constant is a constant.

    Requires: the core op set, static shapes. A layout that an op cannot have, as on arguments,
    counts as row-major.
    Guarantees: no type has a layout; the shapes of arguments and results are unchanged.

        %0 = hlo.dot_general %a, %b ... -> tensor<4x8xf32, #hlo.layout<[0, 1]>>
        %1 = hlo.transpose %0, dims = [1, 0] : (...) -> tensor<8x4xf32>
      ==>
        %1 = hlo.dot_general %b, %a ... -> tensor<8x4xf32>
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            if any(map(_has_layout, _values(function))):
                _materialize(function)
                changed = True
        return changed


def _materialize(function: ir.Operation) -> None:
    block = body_of(function)
    with reading(block) as region:
        orders = Orders()
        _read_layouts(region, orders)
        _rewrite(block, region, orders)
    for value in _values(function):
        if _has_layout(value):
            shape = list(shape_of(value))
            value.set_type(ir.RankedTensorType.get(shape, element_of(value), loc=value.location))
    results = terminator_of(block).operands
    update_function_type(function, range(len(block.arguments)), range(len(results)))


def _rewrite(
    block: ir.Block, region: Region, orders: Orders, wanted: Sequence[Order] | None = None
) -> None:
    """Rewrites the ops of a block, which returns values in the orders `wanted`, or row-major."""
    physical = PhysicalOps(orders)
    for node in region.nodes:
        for outer, inner in zip(node.source.regions, node.regions, strict=True):
            arguments = outer.blocks[0].arguments
            for tensor, value in zip(inner.arguments, arguments, strict=True):
                if tensor in orders:
                    value.set_type(physical_type(value, tensor, orders[tensor]))
            returned = returned_orders(node, inner, orders) if node.name in CONTROL_FLOW else None
            _rewrite(outer.blocks[0], inner, orders, returned)
        if any(tensor in orders for tensor in (*node.operands, *node.results)):
            physical.rewrite(node)
    end = terminator_of(block)
    for i, tensor in enumerate(region.results):
        physical.arrange(end, i, tensor, wanted[i] if wanted else row_major(tensor.rank))


def _read_layouts(region: Region, orders: Orders) -> None:
    """The layouts in the IR that ops can have, of a block and those in it."""
    for node in region.nodes:
        for i, (tensor, value) in enumerate(zip(node.results, node.source.results, strict=True)):
            order = _order_of(tensor, value)
            if order is None:
                continue
            if node.name in SEPARATE:
                orders[tensor] = order
                if node.name == "while":
                    orders.update((inner.arguments[i], order) for inner in node.regions)
            elif family_of(node).allows(node, order):
                orders[tensor] = order
        for inner in node.regions:
            _read_layouts(inner, orders)


def _order_of(tensor: Tensor, value: ir.Value) -> Order | None:
    """The order that a value's type has a layout for; None if that is row-major."""
    if not _has_layout(value):
        return None
    order = normal(tensor.shape, ir.attributes.layout_of(value.type)[::-1])
    return None if order == row_major(tensor.rank) else order


def _values(function: ir.Operation) -> list[ir.Value]:
    found: list[ir.Value] = []
    for op in operations(function):
        found += op.results
        found += [a for region in op.regions for block in region.blocks for a in block.arguments]
    return found


def _has_layout(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and isinstance(kind.encoding, Layout)
