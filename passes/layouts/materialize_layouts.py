"""materialize-layouts: tensors with layouts become row-major, of the shape they have in memory."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.ir.attributes import Layout
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.graph import Region, reading
from hlo.passes.layouts.op_orders import Orders, family_of
from hlo.passes.layouts.orders import normal, row_major
from hlo.passes.layouts.physical_ops import PhysicalOps
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


def _rewrite(block: ir.Block, region: Region, orders: Orders) -> None:
    physical = PhysicalOps(orders)
    for node in region.nodes:
        for outer, inner in zip(node.source.regions, node.regions, strict=True):
            _rewrite(outer.blocks[0], inner, orders)
        if any(tensor in orders for tensor in (*node.operands, *node.results)):
            physical.rewrite(node)
    end = terminator_of(block)
    for i, tensor in enumerate(region.results):
        if tensor in orders:
            physical.row_major_operand(end, i, tensor)


def _read_layouts(region: Region, orders: Orders) -> None:
    """The layouts in the IR that ops can have, of a block and those in it."""
    for node in region.nodes:
        for tensor, value in zip(node.results, node.source.results, strict=True):
            if _has_layout(value):
                minor_to_major = ir.attributes.layout_of(value.type)
                order = normal(tensor.shape, minor_to_major[::-1])
                if order != row_major(tensor.rank) and family_of(node).allows(node, order):
                    orders[tensor] = order
        for inner in node.regions:
            _read_layouts(inner, orders)


def _values(function: ir.Operation) -> list[ir.Value]:
    found: list[ir.Value] = []
    for op in operations(function):
        found += op.results
        found += [a for region in op.regions for block in region.blocks for a in block.arguments]
    return found


def _has_layout(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and isinstance(kind.encoding, Layout)
