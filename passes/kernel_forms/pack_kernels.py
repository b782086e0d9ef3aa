"""pack-kernels: kernels of convolutions in panels, once, ahead of the convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.contraction_tiling import (
    Tiling,
    columns_leave_cache,
    fits_register_tiles,
    groups_of,
    tiling_for,
    walks_features,
    word_of,
)
from hlo.passes.hlo_to_loops.gradient_blocks import gradient_plan
from hlo.passes.hlo_to_loops.graph import Node, node_of
from hlo.passes.hlo_to_loops.kernel_panels import PANELS
from hlo.passes.hlo_to_loops.product_factors import WORD_BYTES
from hlo.passes.kernel_forms.constants import MOVES, constant_behind, elements_of
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named
from hlo.passes.simplify.dead_code import erase_dead_ops

FEWEST_TILES = 96  # of a run of columns that make up for a copy of the kernel
MOST_EMPTY = 8  # one in so many columns of constants
MOST_PACKED_AGAIN = 1 << 16  # elements that work units pack beyond the first time: some 15 us


@dataclass(frozen=True)
class PackKernels(Pass):
    """Lays kernels of convolutions out as register tiles read them, a run of columns at a time.

    A kernel that is a constant is packed here, and so costs a program nothing when it runs. One
    that is made of another tensor (turned around, transposed from the order of another framework)
    is packed ahead of the convolution if otherwise many work units would each do it. What is in
    memory in the right order is read where it lies, unless its rows are so far apart that a run of
    columns does not stay in the second-level cache, and many tiles read it or work units would pack
    it again and again.

    Where instructions on words multiply, of 8-bit integers and bf16 (prepare-words), the kernel is
    always packed: the features of a word lie side by side.

    Requires: the core op set, static shapes, prepared convolutions (prepare-convolutions).
    Guarantees: a kernel in panels is read through a view of ops marked `hlo.panels`. A constant
    that something else reads is not packed: it would be in memory twice.

        %k = hlo.transpose %w, dims = [2, 3, 1, 0] : tensor<3x3x64x128xf32>
        %0 = hlo.convolution(%x, %k)
      ==>
        %a = hlo.reshape %k : tensor<3x3x64x4x32xf32>
        %b = hlo.transpose %a, dims = [3, 0, 1, 2, 4] : tensor<4x3x3x64x32xf32>
        %p = hlo.optimization_barrier %b
        %c = hlo.transpose %p, dims = [1, 2, 3, 0, 4] {hlo.panels} : tensor<3x3x64x4x32xf32>
        %d = hlo.reshape %c {hlo.panels} : tensor<3x3x64x128xf32>
        %0 = hlo.convolution(%x, %d)
    """

    def run(self, module: ir.Module) -> bool:
        found = operations_named(module, ("hlo.convolution",))
        packable = [(op, node) for op in found if _has_panels(node := node_of(op))]
        readers = {op: _form_of(node) for op, node in packable}
        constants: dict[ir.Value, ir.Value] = {}
        changed = [_pack(op, node, readers, constants) for op, node in packable]
        if any(changed):
            erase_dead_ops(module)  # constants as they were
        return any(changed)


@dataclass(frozen=True)
class _Form:
    """The shape of a kernel and of its panels.

    Attributes:
        kernel: `[taps..., i, o]`.
        columns: of a panel.
        span: input features that are a word of a column.
    """

    kernel: tuple[int, ...]
    columns: int
    span: int = 1

    @property
    def panels(self) -> int:
        return -(-self.kernel[-1] // self.columns)

    @property
    def missing(self) -> int:
        """Columns that the last panel has beyond the kernel's."""
        return self.panels * self.columns - self.kernel[-1]

    @property
    def is_mostly_empty(self) -> bool:
        """Whether those columns would take much more memory than the kernel has."""
        return MOST_EMPTY * self.missing > self.kernel[-1]

    @property
    def split(self) -> list[int]:
        """The kernel's shape with panels apart."""
        *taps, inputs, _ = self.kernel
        rows = [inputs] if self.span == 1 else [inputs // self.span, self.span]
        return [*taps, *rows, self.panels, self.columns]

    @property
    def order(self) -> list[int]:
        """The dimensions of `split` in the order of panels."""
        rows = len(self.kernel) - 1  # ahead of what words have: taps and features
        if self.span == 1:
            return [rows, *range(rows), rows + 1]
        return [rows + 1, *range(rows), rows + 2, rows]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the panels."""
        return tuple(self.split[d] for d in self.order)

    @property
    def order_back(self) -> list[int]:
        """The dimensions of panels in the order of `split`."""
        return [self.order.index(d) for d in range(len(self.order))]


def _has_panels(node: Node) -> bool:
    """Whether register tiles compute a convolution, and its kernel has panels of columns."""
    if groups_of(node) > 1 or walks_features(node) or gradient_plan(node) is not None:
        return False
    return node.operands[1].size > 0 and fits_register_tiles(node)


def _form_of(node: Node) -> _Form:
    word = word_of(node)
    span = 1 if word is None else WORD_BYTES // node.operands[0].type.memory_bytes
    return _Form(node.operands[1].shape, tiling_for(node).width, span)


def _pack(
    op: ir.Operation, node: Node, packable: Mapping[ir.Operation, _Form],
    constants: dict[ir.Value, ir.Value],
) -> bool:  # fmt: skip
    tiling, kernel, form = tiling_for(node), op.operands[1], packable[op]
    panels = _constant_panels(kernel, form, packable, constants)
    again = _is_packed_often(kernel, node, tiling) or _leaves_cache(kernel, node, tiling)
    if panels is None and (form.span > 1 or again):
        panels = _stored(Builder.before(op), kernel, form)
    if panels is None:
        return False
    op.operands[1] = _view(Builder.before(op), panels, form)
    return True


def _constant_panels(
    kernel: ir.Value, form: _Form, packable: Mapping[ir.Operation, _Form],
    constants: dict[ir.Value, ir.Value],
) -> ir.Value | None:  # fmt: skip
    """A kernel that is a constant, packed; None if it is none, or stays as it is."""
    if kernel in constants:
        return constants[kernel] if shape_of(constants[kernel]) == form.shape else None
    source = constant_behind(kernel)
    if source is None or form.is_mostly_empty or not _is_for_kernel(source, kernel, form, packable):
        return None
    if kernel.owner == source and form.panels == form.span == 1:
        return None  # it lies so
    constants[kernel] = _constant(source, kernel, form)
    return constants[kernel]


def _is_packed_often(kernel: ir.Value, node: Node, tiling: Tiling) -> bool:
    """Whether many work units would pack a kernel that a convolution alone reads."""
    made, again = kernel.owner, (tiling.chunks - 1) * node.operands[1].size
    if isinstance(made, ir.Block) or made.name not in MOVES:
        return False
    return again > MOST_PACKED_AGAIN and len(list(kernel.uses)) == 1


def _leaves_cache(kernel: ir.Value, node: Node, tiling: Tiling) -> bool:
    """Whether the columns of tiles, read where they lie, leave the cache from tile to tile: rows so
    far apart share few of its sets. Many tiles make up for a copy, and so do work units that would
    each make one of the same columns, whose rows come from further away every time.
    """
    made = kernel.owner
    if not isinstance(made, ir.Block) and made.name != "hlo.reshape":
        return False  # what computes it has to store it for this
    again = (tiling.chunks - 1) * node.operands[1].size
    many = tiling.positions >= FEWEST_TILES or again > MOST_PACKED_AGAIN
    return many and columns_leave_cache(node, tiling)


def _is_for_kernel(
    source: ir.Operation, kernel: ir.Value, form: _Form, packable: Mapping[ir.Operation, _Form]
) -> bool:
    """Whether a constant is read by convolutions that pack it alone, all in the same order."""
    pending = [source.results[0]]
    while pending:
        value = pending.pop()
        for use in value.uses:
            if use.owner.name in MOVES:
                pending.append(use.owner.results[0])
            elif (
                value != kernel
                or use.operand_number != 1
                or packable.get(use.owner.operation) != form
            ):
                return False
    return True


def _constant(source: ir.Operation, kernel: ir.Value, form: _Form) -> ir.Value:
    array = elements_of(kernel)
    array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, form.missing)])
    array = array.reshape(form.split).transpose(form.order)
    return Builder.before(source).constant_array(array, element_of(kernel))


def _stored(b: Builder, kernel: ir.Value, form: _Form) -> ir.Value:
    """A kernel made of another tensor, in panels in memory."""
    if form.missing:
        zeros = [0] * len(form.kernel)
        zero = b.constant(0, element_of(kernel))
        kernel = b.pad(kernel, zero, zeros, [*zeros[:-1], form.missing], zeros)
    value = b.transpose(b.reshape(kernel, form.split), form.order)
    return b.one("optimization_barrier", [value], value.type)


def _view(b: Builder, panels: ir.Value, form: _Form) -> ir.Value:
    first = len(b.created)
    kernel = b.transpose(panels, form.order_back)
    kernel = b.reshape(kernel, [*form.kernel[:-1], form.panels * form.columns])
    if form.missing:
        kernel = b.slice(kernel, [0] * len(form.kernel), form.kernel)
    for op in b.created[first:]:
        op.attributes[PANELS] = ir.UnitAttr.get(op.context)
    return kernel
