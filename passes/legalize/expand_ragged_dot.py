"""`hlo.ragged_dot` becomes dots and selections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.legalize.ragged_loops import pays, rows_by_group, sums_by_group
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, is_complex, is_float, shape_of
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class ExpandRaggedDot(Pass):
    """Replaces dots of groups of different sizes by dots of everything, of which each group keeps
    its own part; or, where that is much more, by a loop over blocks of rows of one group each.

    A ragged row that no group has gives zero. Elements of other groups are selected away, not
    multiplied by zero, so that infinities and NaN stay in their group.

        "hlo.ragged_dot"(%x, %w, %sizes)
            : (tensor<6x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<6x8xf32>
      ==>
        %0 = hlo.dot_general %x, %w : 2 groups x 6 rows x 8
        %1 = hlo.select %row_in_group, %0, %minus_zero
        the sum of %1 over groups
    """

    def run(self, module: ir.Module) -> bool:
        """Expands by where the ragged dimension is: free, contracted, or batching."""
        return expand(module, {"hlo.ragged_dot": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    numbers = _numbers(op)
    (ragged,) = numbers.lhs_ragged_dimensions
    if ragged in numbers.lhs_batching_dimensions:
        return [_dot(op, builder, op.operands[0], op.operands[1])]
    loop = pays(op, numbers, ragged)
    if ragged not in numbers.lhs_contracting_dimensions:
        if loop:
            return [rows_by_group(op, builder, _row_ends(op, builder), ragged)]
        return [_free(op, builder, ragged)]
    if loop and len(numbers.lhs_contracting_dimensions) == 1:
        (other,) = numbers.rhs_contracting_dimensions
        return [sums_by_group(op, builder, _row_ends(op, builder), ragged, other)]
    return [_contracted(op, builder, ragged)]


def _row_ends(op: ir.Operation, builder: Builder) -> ir.Value:
    """Where each group ends, in i32."""
    return _ends(builder, builder.convert(op.operands[2], builder.integer_type(32)))


def _numbers(op: ir.Operation) -> ir.attributes.RaggedDotDimensionNumbers:
    return ir.attributes.RaggedDotDimensionNumbers(op.attributes["ragged_dot_dimension_numbers"])


def _dot(op: ir.Operation, builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    numbers, attributes = _numbers(op), op.attributes
    return builder.dot_general(
        lhs,
        rhs,
        batching=(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions),
        contracting=(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions),
        element=element_of(op.results[0]),
        attributes={"precision_config": attributes["precision_config"]}
        if "precision_config" in attributes
        else {},
    )


def _ends(builder: Builder, sizes: ir.Value) -> ir.Value:
    """ends[..., g] is the sum of sizes[..., h] for h up to g."""
    shape = shape_of(sizes)
    rank, groups = len(shape), shape[-1]
    index = element_of(sizes)
    square = [*shape[:-1], groups, groups]
    spread = builder.broadcast_in_dim(sizes, square, [*range(rank - 1), rank])
    until = builder.compare(
        builder.iota(square, index, rank), builder.iota(square, index, rank - 1), "LE"
    )
    zero = builder.constant(0, index, square)
    return builder.sum(builder.select(until, spread, zero), [rank])


def _membership(builder: Builder, sizes: ir.Value, extent: int) -> ir.Value:
    """Whether position p along the ragged dimension is in group g: [batch..., groups, extent]."""
    shape = shape_of(sizes)
    rank, index = len(shape), element_of(sizes)
    ends = _ends(builder, sizes)
    starts = builder.subtract(ends, sizes)
    wide = [*shape, extent]
    position = builder.iota(wide, index, rank)
    first = builder.broadcast_in_dim(starts, wide, range(rank))
    last = builder.broadcast_in_dim(ends, wide, range(rank))
    return builder.binary(
        "and", builder.compare(position, first, "GE"), builder.compare(position, last, "LT")
    )


def _free(op: ir.Operation, builder: Builder, ragged: int) -> ir.Value:
    lhs, rhs, sizes = op.operands
    numbers = _numbers(op)
    (group,) = numbers.rhs_group_dimensions
    batch = len(numbers.lhs_batching_dimensions)
    taken = {*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions}
    lhs_free = [d for d in range(len(shape_of(lhs))) if d not in taken]
    taken = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions}
    rhs_free = [d for d in range(len(shape_of(rhs))) if d not in taken]
    products = _dot(op, builder, lhs, rhs)  # batch, free of lhs, free of rhs with the group
    group_axis = batch + len(lhs_free) + rhs_free.index(group)
    ragged_axis = batch + lhs_free.index(ragged)
    member = _membership(builder, sizes, shape_of(lhs)[ragged])
    axes = [*range(len(shape_of(sizes)) - 1), group_axis, ragged_axis]
    mask = _spread(builder, member, axes, shape_of(products))
    return _sum_of_selected(builder, mask, products, group_axis)


def _spread(
    builder: Builder, mask: ir.Value, axes: Sequence[int], shape: Sequence[int]
) -> ir.Value:
    """The mask with its dimension i as dimension axes[i]."""
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    mask = builder.transpose(mask, order)
    return builder.broadcast_in_dim(mask, shape, sorted(axes))


def _sum_of_selected(builder: Builder, mask: ir.Value, values: ir.Value, axis: int) -> ir.Value:
    """The one selected value along an axis, bit for bit, and 0 where none is."""
    element = element_of(values)
    # -0 is the neutral element of addition; 0 would turn a -0 that is selected into 0.
    neutral = -0.0 if is_float(element) else complex(-0.0, -0.0) if is_complex(element) else 0
    selected = builder.select(mask, values, builder.constant_like(neutral, values))
    total = builder.reduce(selected, builder.constant(neutral, element), [axis], "add")
    some = builder.reduce(mask, builder.constant(False, builder.integer_type(1)), [axis], "or")
    return builder.select(some, total, builder.constant_like(0, total))


def _contracted(op: ir.Operation, builder: Builder, ragged: int) -> ir.Value:
    """A group dimension is added to both operands as a batching one, and each group's elements are
    selected."""
    lhs, rhs, sizes = op.operands
    numbers = _numbers(op)
    position = list(numbers.lhs_contracting_dimensions).index(ragged)
    other = numbers.rhs_contracting_dimensions[position]
    groups = shape_of(sizes)[-1]
    member = _membership(builder, sizes, shape_of(lhs)[ragged])
    sides = (
        (lhs, ragged, numbers.lhs_batching_dimensions),
        (rhs, other, numbers.rhs_batching_dimensions),
    )
    masked = [
        _select_groups(builder, value, member, [*batch[: len(shape_of(sizes)) - 1], axis], groups)
        for value, axis, batch in sides
    ]
    attributes = op.attributes
    return builder.dot_general(
        masked[0],
        masked[1],
        batching=(
            [0, *(d + 1 for d in numbers.lhs_batching_dimensions)],
            [0, *(d + 1 for d in numbers.rhs_batching_dimensions)],
        ),
        contracting=(
            [d + 1 for d in numbers.lhs_contracting_dimensions],
            [d + 1 for d in numbers.rhs_contracting_dimensions],
        ),
        element=element_of(op.results[0]),
        attributes={"precision_config": attributes["precision_config"]}
        if "precision_config" in attributes
        else {},
    )


def _select_groups(
    builder: Builder, value: ir.Value, member: ir.Value, axes: Sequence[int], groups: int
) -> ir.Value:
    """[groups, value...]: the value's elements in each group, zeros elsewhere."""
    shape = [groups, *shape_of(value)]
    wide = builder.broadcast_in_dim(value, shape, range(1, len(shape)))
    *batch, along = (axis + 1 for axis in axes)
    mask = _spread(builder, member, [*batch, 0, along], shape)
    return builder.select(mask, wide, builder.constant_like(0, wide))
