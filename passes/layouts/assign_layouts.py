"""assign-layouts: every value gets the order of dimensions in memory that moves least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.ir.attributes import Layout
from hlo.passes.base import Pass
from hlo.passes.cost.kernel_cost import readers_in
from hlo.passes.fusion.attention import find_attention
from hlo.passes.fusion.attention_gradient import find_gradients
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, reading, region_of
from hlo.passes.layouts.choose import BlockLayouts, LayoutDecision
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
_MOVERS = frozenset({"hlo.transpose", "hlo.convolution", "hlo.reduce"})


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Chooses layouts, minor to major, for the values of each block, and copies where they meet.

    Arguments and results of functions, loops and branches stay row-major. An order spreads from
    where it saves something (a transpose, a convolution, a fold along a dimension that is not
    minor) through elementwise ops, reductions, broadcasts, pads, slices, reshapes that leave it
    whole, dots and convolutions, and is kept if the bytes that copies and transposes move get
    fewer. Each such attempt is a decision with a reason: `hlo-opt --explain-fusion` shows them.

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
        gpu: whether kernels are a GPU's: those of attention store results in one order.
    """

    gpu: bool = False

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            if _may_gain(function):
                with reading(body_of(function)) as region:
                    changed |= self._assign(region)
        return changed

    def decisions(self, module: ir.Module) -> list[LayoutDecision]:
        """Every order that was tried, block by block, without changing the module."""
        found: list[LayoutDecision] = []
        for function in functions(module).values():
            if _may_gain(function):
                self._decide(region_of(body_of(function)), found)
        return found

    def _layouts_of(self, region: Region) -> BlockLayouts:
        hidden, spread = ((), ()) if self.gpu else _attention_ops(region)
        layouts = BlockLayouts(region, hidden, spread)
        layouts.run()
        return layouts

    def _decide(self, region: Region, found: list[LayoutDecision]) -> None:
        found += self._layouts_of(region).decisions
        for inner in _inner_regions(region):
            self._decide(inner, found)

    def _assign(self, region: Region) -> bool:
        """Writes the layouts of a block, and of the blocks in it, into the IR."""
        changed = False
        for inner in _inner_regions(region):
            changed |= self._assign(inner)
        layouts = self._layouts_of(region)
        if not layouts.orders and not any(n.name == "convolution" for n in region.nodes):
            return changed
        return _Writer(layouts).write(region.nodes) or changed


def _may_gain(function: ir.Operation) -> bool:
    return any(op.name in _MOVERS for op in operations(function))


def _inner_regions(region: Region) -> Iterator[Region]:
    """The blocks of loops and branches in a block."""
    for node in region.nodes:
        if node.name in ("while", "if", "case"):
            yield from node.regions


def _attention_ops(region: Region) -> tuple[set[Node], set[Node]]:
    """(ops whose results stay within kernels of attention, dots whose results those store)."""
    block = region.nodes, readers_in(region.nodes), set(region.results)
    gradients = find_gradients(*block)
    attentions, _ = find_attention(*block, gradients)
    hidden, stored = set[Node](), set[Node]()
    for found in (*gradients, *attentions):
        behind = {product.results[0] for product in found.products}
        for node in found.core:
            if not behind.isdisjoint(node.operands):
                behind.update(node.results)
            elif node not in found.products:
                hidden.add(node)
        stored.update(found.products)
    return hidden, stored


class _Writer:
    """Puts the chosen orders of a block into its types, and copies in front of their readers."""

    def __init__(self, layouts: BlockLayouts) -> None:
        self._layouts = layouts
        self._copies: dict[tuple[ir.Value, Order], ir.Value] = {}
        self._laid_out: dict[ir.Value, Tensor] = {}
        for tensor in layouts.orders:
            assert tensor.producer is not None
            self._laid_out[tensor.producer.source.results[tensor.index]] = tensor

    def write(self, nodes: Sequence[Node]) -> bool:
        """Rewrites the block of these ops; says whether it changed."""
        for node in nodes:
            needs = self._layouts.copies_for(node)
            for i, need in enumerate(needs):
                if need is not None and node.name != "transpose":
                    self._read_copy(node.source, node.source, i, need)
            if node.regions:
                self._make_row_major_inside(node.source, reads_from_outside(node.source))
        end = terminator_of(nodes[-1].source.block)
        self._make_row_major_inside(end, [(end, i, v) for i, v in enumerate(end.operands)])
        for value, tensor in self._laid_out.items():
            value.set_type(laid_out(value.type, self._layouts.orders[tensor], value.owner.location))
        return bool(self._laid_out or self._copies)

    def _make_row_major_inside(
        self, point: ir.Operation, reads: Sequence[tuple[ir.Operation, int, ir.Value]]
    ) -> None:
        for reader, i, value in reads:
            if value in self._laid_out and (reader != point or not point.regions):
                self._read_copy(point, reader, i, row_major(len(shape_of(value))))

    def _read_copy(self, point: ir.Operation, reader: ir.Operation, i: int, order: Order) -> None:
        """Has an op read a copy of its operand, made in front of `point` unless there is one."""
        value = reader.operands[i]
        if (value, order) not in self._copies:
            kind = laid_out(value.type, order, point.location)
            self._copies[value, order] = Builder.before(point).one("copy", [value], kind)
        reader.operands[i] = self._copies[value, order]


def laid_out(kind: ir.Type, order: Order, location: ir.Location) -> ir.Type:
    """A tensor type with the layout of an order, major to minor; without one if row-major."""
    tensor = ir.RankedTensorType(kind)
    if order == row_major(len(order)):
        return ir.RankedTensorType.get(tensor.shape, tensor.element_type, loc=location)
    encoding = Layout.get(list(reversed(order)), tensor.context)
    return ir.RankedTensorType.get(tensor.shape, tensor.element_type, encoding, location)
