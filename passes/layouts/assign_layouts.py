"""assign-layouts: every value gets the order of dimensions in memory that moves least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.ir.attributes import Layout
from hlo.passes.base import Pass
from hlo.passes.cost.kernel_cost import readers_in
from hlo.passes.fusion.attentions import find_attentions
from hlo.passes.hlo_to_loops.graph import (
    CONTROL_FLOW,
    Node,
    Region,
    Tensor,
    blocks_in,
    reading,
    region_of,
)
from hlo.passes.layouts.choose import FunctionLayouts, LayoutDecision
from hlo.passes.layouts.flow import Flow, returned_orders
from hlo.passes.layouts.orders import Order, row_major
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.rewrite.walk import (
    body_of,
    functions,
    operations,
    reads_from_outside,
    terminator_of,
)

# Without one of these a block has nothing that another order could save.
_MOVERS = frozenset({"hlo.transpose", "hlo.convolution", "hlo.reduce", "hlo.concatenate"})


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Chooses layouts, minor to major, for the values of a function, and copies where they meet.

    Arguments and results of functions stay row-major. An order spreads from
    where it saves something (a transpose, a convolution, a fold along a dimension that is not
    minor, folds and concatenations along a short one that is) through elementwise ops, reductions,
    broadcasts, pads, slices, reshapes that leave it whole, dots and convolutions, what loops carry
    and branches return, and is kept if the bytes that copies and transposes move get fewer, an
    iteration's as often as there are iterations.
    Each such attempt is a decision with a reason: `hlo-opt --explain-fusion` shows them.

    Requires: the core op set, static shapes.
    Guarantees: types but for layouts are unchanged; an op finds its operands in the layouts that
    it reads them in, transposes and arguments of convolutions apart.

        %c = hlo.convolution(%x, %k) ... -> [b, f, 0, 1]
        %0 = hlo.tanh %c : tensor<8x16x32x32xf32>
      ==>
        %c = hlo.convolution(%x, %k) ... -> tensor<8x16x32x32xf32, #hlo.layout<[1, 3, 2, 0]>>
        %t = hlo.tanh %c : tensor<8x16x32x32xf32, #hlo.layout<[1, 3, 2, 0]>>
        %0 = hlo.copy %t : (tensor<8x16x32x32xf32, ...>) -> tensor<8x16x32x32xf32>

    Attributes:
        gpu: whether kernels are a GPU's, which decides what attentions are kernels.
    """

    gpu: bool = False

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            if _may_gain(function):
                block = body_of(function)
                with reading(block) as region:
                    changed |= _Writer(self._layouts_of(region)).write_function(block, region)
        return changed

    def decisions(self, module: ir.Module) -> list[LayoutDecision]:
        """Every order that was tried, without changing the module."""
        found: list[LayoutDecision] = []
        for function in functions(module).values():
            if _may_gain(function):
                found += self._layouts_of(region_of(body_of(function))).decisions
        return found

    def _layouts_of(self, region: Region) -> FunctionLayouts:
        hidden, spread = set[Node](), set[Node]()
        for block in blocks_in(region):
            _add_attention_ops(block, self.gpu, hidden, spread)
        layouts = FunctionLayouts(Flow(region), hidden, spread, vectors=not self.gpu)
        layouts.run()
        return layouts


def _may_gain(function: ir.Operation) -> bool:
    return any(op.name in _MOVERS for op in operations(function))


def _add_attention_ops(region: Region, gpu: bool, hidden: set[Node], stored: set[Node]) -> None:
    """Adds the ops whose results stay within kernels of attention, and the dots whose results
    those store.
    """
    attentions = find_attentions(
        region.nodes, readers_in(region.nodes), set(region.results), gpu=gpu
    )
    for found in attentions.found:
        behind = {product.results[0] for product in found.products}
        for node in found.core:
            if not behind.isdisjoint(node.operands):
                behind.update(node.results)
            elif node not in found.products:
                hidden.add(node)
        stored.update(found.products)


class _Writer:
    """Puts the chosen orders of a function into its types, and copies in front of readers.

    A copy of what a loop only reads is made in front of the loop; one for a branch in the branch.
    """

    def __init__(self, layouts: FunctionLayouts) -> None:
        self._layouts, self._orders = layouts, layouts.orders
        # Of each value and order the copies there are, in which blocks.
        self._copies: dict[tuple[ir.Value, Order], list[tuple[ir.Block, ir.Value]]] = {}
        self._laid_out: dict[ir.Value, Order] = {}

    def write_function(self, block: ir.Block, region: Region) -> bool:
        """Rewrites a function's block; says whether it changed."""
        self._write(block, region, [row_major(t.rank) for t in region.results])
        for value, order in self._laid_out.items():
            value.set_type(laid_out(value.type, order, value.location))
        return bool(self._laid_out or self._copies)

    def _write(self, block: ir.Block, region: Region, wanted: Sequence[Order]) -> None:
        for node in region.nodes:
            self._read(node)
            for tensor, value in zip(node.results, node.source.results, strict=True):
                self._note(tensor, value)
            for inner, outer in zip(node.regions, node.source.regions, strict=True):
                if node.name in CONTROL_FLOW:
                    self._write_inner(
                        outer.blocks[0], inner, returned_orders(node, inner, self._orders)
                    )
        end = terminator_of(block)
        for i, (tensor, order) in enumerate(zip(region.results, wanted, strict=True)):
            self._read_as(end, end, i, tensor, order)

    def _write_inner(self, block: ir.Block, region: Region, wanted: Sequence[Order]) -> None:
        for tensor, value in zip(region.arguments, block.arguments, strict=True):
            self._note(tensor, value)
        self._write(block, region, wanted)

    def _note(self, tensor: Tensor, value: ir.Value) -> None:
        if tensor in self._orders:
            self._laid_out[value] = self._orders[tensor]

    def _read(self, node: Node) -> None:
        """Has an op read its operands in the orders it needs."""
        op = node.source
        if node.name in ("while", "optimization_barrier"):
            for i, (operand, result) in enumerate(zip(node.operands, node.results, strict=True)):
                self._read_as(op, op, i, operand, self._orders[result])
        elif node.name not in CONTROL_FLOW and node.name != "transpose":
            for i, need in enumerate(self._layouts.copies_for(node)):
                if need is not None:
                    self._read_copy(op, op, i, need)
        if node.regions and node.name not in CONTROL_FLOW:
            for reader, i, value in reads_from_outside(op):
                if value in self._laid_out and reader != op:
                    self._read_copy(op, reader, i, row_major(len(shape_of(value))))

    def _read_as(
        self, point: ir.Operation, reader: ir.Operation, i: int, tensor: Tensor, order: Order
    ) -> None:
        if self._orders[tensor] != order:
            self._read_copy(point, reader, i, order)

    def _read_copy(self, point: ir.Operation, reader: ir.Operation, i: int, order: Order) -> None:
        """Has an op read a copy of its operand, made ahead of `point` unless there is one."""
        value = reader.operands[i]
        point = _ahead_of_loops(point, value)
        copies = self._copies.setdefault((value, order), [])
        copy = next((made for block, made in copies if block == point.block), None)
        if copy is None:
            kind = laid_out(value.type, order, value.location)
            copy = Builder(ir.InsertionPoint(point), value.location).one("copy", [value], kind)
            copies.append((point.block, copy))
        reader.operands[i] = copy


def _ahead_of_loops(point: ir.Operation, value: ir.Value) -> ir.Operation:
    """The outermost loop around an op that does not hold a value's definition; else the op."""
    owner = value.owner
    home = owner if isinstance(owner, ir.Block) else owner.operation.block
    while point.block != home:
        around = point.parent
        if around is None or around.operation.name != "hlo.while":
            break
        point = around.operation
    return point


def laid_out(kind: ir.Type, order: Order, location: ir.Location) -> ir.Type:
    """A tensor type with the layout of an order, major to minor; without one if row-major."""
    tensor = ir.RankedTensorType(kind)
    if order == row_major(len(order)):
        return ir.RankedTensorType.get(tensor.shape, tensor.element_type, loc=location)
    encoding = Layout.get(list(reversed(order)), tensor.context)
    return ir.RankedTensorType.get(tensor.shape, tensor.element_type, encoding, location)
