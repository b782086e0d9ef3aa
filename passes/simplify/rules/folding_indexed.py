"""Gathers, scatters, reductions and sorts of small constants are computed: programs that index by
tables compute their indices this way. Integers and booleans only, but for ops that move elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, shape_of, size_of
from hlo.passes.rewrite.walk import body_of, terminator_of
from hlo.passes.simplify.rules.indexing import combiner_of_scatter, index_vectors, window_sizes
from hlo.passes.simplify.rules.reduction import combiner_of
from hlo.passes.simplify.simplifier import Array, RuleTable, Simplifier

TABLE = RuleTable()
_MOST_ELEMENTS = 1024
_MOST_STEPS = 1 << 15
_MOST_IOTA = 16

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _small(op: ir.Operation, s: Simplifier) -> list[Array] | None:
    """The operands, if all are constants of few elements."""
    arrays: list[Array] = []
    for operand in op.operands:
        array = s.constant(operand)
        if array is None or array.size > _MOST_ELEMENTS:
            return None
        arrays.append(array)
    if sum(size_of(shape_of(result)) for result in op.results) > _MOST_ELEMENTS:
        return None
    return arrays


def _are_integers(arrays: list[Array]) -> bool:
    return all(array.dtype.kind in "biu" for array in arrays)


@TABLE.rule("maximum", "minimum")
def fold_bounds(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The larger and the smaller of integers."""
    arrays = _small(op, s)
    if arrays is None or not _are_integers(arrays):
        return None
    result = _COMBINE[op.name.removeprefix("hlo.")](*arrays)
    return s.constant_of(result.astype(arrays[0].dtype), op.results[0])


@TABLE.rule("divide", "remainder")
def fold_division(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Quotients rounded to zero, and remainders with the dividend's sign, of integers by numbers
    other than zero and, where it would overflow, minus one.
    """
    arrays = _small(op, s)
    if arrays is None or not _are_integers(arrays) or not np.all(arrays[1]):
        return None
    lhs, rhs = arrays
    if lhs.dtype.kind == "b" or np.any((rhs == -1) & (lhs == np.iinfo(lhs.dtype).min)):
        return None
    remainder = np.fmod(lhs, rhs)
    result = remainder if op.name == "hlo.remainder" else (lhs - remainder) // rhs
    return s.constant_of(result.astype(lhs.dtype), op.results[0])


@TABLE.rule("sort")
def sort_of_one(op: ir.Operation, s: Simplifier) -> list[ir.Value] | None:
    """Slices of at most one element are sorted."""
    del s
    shape = shape_of(op.operands[0])
    dimension = ir.attributes.integer(op, "dimension", -1)
    return list(op.operands) if shape[dimension] <= 1 else None


@TABLE.rule("sort")
def fold_sort(op: ir.Operation, s: Simplifier) -> list[ir.Value] | None:
    """A sort of integers by the first operand, compared by < or >."""
    arrays = _small(op, s)
    if arrays is None or arrays[0].dtype.kind not in "iu":
        return None
    block = body_of(op)
    compare = block.operations[0].operation
    returned = list(terminator_of(block).operands)
    if len(block.operations) != 2 or compare.name != "hlo.compare":
        return None
    if list(compare.operands) != list(block.arguments)[:2] or returned != list(compare.results):
        return None
    direction = ir.attributes.enum(compare, "comparison_direction")
    if direction not in ("LT", "GT"):
        return None
    axis = ir.attributes.integer(op, "dimension", -1)
    # Ranks are small and signed, so that they can be negated for descending order, stably.
    _, ranks = np.unique(arrays[0], return_inverse=True)
    ranks = ranks.reshape(arrays[0].shape)
    order = np.argsort(ranks if direction == "LT" else -ranks, axis=axis, kind="stable")
    return [
        s.constant_of(np.take_along_axis(array, order, axis), result)
        for array, result in zip(arrays, op.results, strict=True)
    ]


@TABLE.rule("gather")
def fold_gather(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Slices of a constant at constant indices, clamped."""
    arrays = _small(op, s)
    numbers = ir.attributes.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    if arrays is None or numbers.operand_batching_dims or 0 in arrays[0].shape:
        return None
    operand, indices = arrays
    sizes = ir.attributes.ints(op, "slice_sizes")
    shape = shape_of(op.results[0])
    vectors = index_vectors(indices, numbers.index_vector_dim)
    slices: list[Array] = []
    for vector in vectors:
        starts = [0] * operand.ndim
        for dimension, start in zip(numbers.start_index_map, vector, strict=True):
            starts[dimension] = min(max(int(start), 0), operand.shape[dimension] - sizes[dimension])
        part = operand[tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))]
        slices.append(np.squeeze(part, axis=numbers.collapsed_slice_dims))
    if not slices:
        return None
    batch = [shape[d] for d in range(len(shape)) if d not in numbers.offset_dims]
    stacked = np.stack(slices).reshape([*batch, *slices[0].shape])
    order = [d for d in range(len(shape)) if d not in numbers.offset_dims] + list(
        numbers.offset_dims
    )
    result = np.empty(shape, operand.dtype)
    result.transpose(order)[...] = stacked
    return s.constant_of(result, op.results[0])


@TABLE.rule("scatter")
def fold_scatter(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Constant slices combined into a constant, in order; those out of bounds are dropped."""
    arrays = _small(op, s) if len(op.results) == 1 else None
    numbers = ir.attributes.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    combiner = None if arrays is None else combiner_of_scatter(op)
    if arrays is None or combiner is None or numbers.input_batching_dims:
        return None
    operand, indices, updates = arrays
    if combiner != "update" and (combiner not in _COMBINE or not _are_integers([operand])):
        return None
    window = window_sizes(operand.shape, updates.shape, numbers)
    result = operand.copy()
    batch = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
    moved = updates.transpose([*batch, *numbers.update_window_dims])
    vectors = index_vectors(indices, numbers.index_vector_dim)
    slices = moved.reshape([len(vectors), *window])
    for vector, update in zip(vectors, slices, strict=True):
        starts = [0] * operand.ndim
        for dimension, start in zip(numbers.scatter_dims_to_operand_dims, vector, strict=True):
            starts[dimension] = int(start)
        ends = [a + n for a, n in zip(starts, window, strict=True)]
        if any(a < 0 or e > n for a, e, n in zip(starts, ends, operand.shape, strict=True)):
            continue
        place = tuple(slice(a, e) for a, e in zip(starts, ends, strict=True))
        result[place] = (
            update if combiner == "update" else _combine(combiner, result[place], update)
        )
    return s.constant_of(result, op.results[0])


def _combine(combiner: str, lhs: Array, rhs: Array) -> Array:
    if lhs.dtype == np.bool_ and combiner in ("add", "multiply"):
        combiner = {"add": "or", "multiply": "and"}[combiner]
    with np.errstate(over="ignore"):
        return _COMBINE[combiner](lhs, rhs).astype(lhs.dtype)


@TABLE.rule("reduce")
def fold_reduce(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Integers along dimensions combined into one."""
    arrays = _small(op, s) if len(op.results) == 1 else None
    combiner = None if arrays is None else combiner_of(op)
    if arrays is None or combiner is None or not _are_integers(arrays):
        return None
    operand, initial = arrays
    axes = ir.attributes.ints(op, "dimensions")
    kept = [d for d in range(operand.ndim) if d not in axes]
    count = size_of([operand.shape[d] for d in axes])
    rows = operand.transpose([*axes, *kept]).reshape([count, *(operand.shape[d] for d in kept)])
    result = np.broadcast_to(initial, rows.shape[1:])
    for row in rows:
        result = _combine(combiner, result, row)
    return s.constant_of(np.asarray(result), op.results[0])


@TABLE.rule("reduce_window")
def fold_reduce_window(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Integers of each window combined into one, for windows without dilation."""
    arrays = _small(op, s) if len(op.results) == 1 else None
    combiner = None if arrays is None else combiner_of(op)
    if arrays is None or combiner is None or not _are_integers(arrays):
        return None
    operand, initial = arrays
    ones = (1,) * operand.ndim
    window = ir.attributes.ints(op, "window_dimensions")
    if any(
        d != 1
        for name in ("base_dilations", "window_dilations")
        for d in ir.attributes.ints(op, name, ones)
    ):
        return None
    strides = ir.attributes.ints(op, "window_strides", ones)
    padding = ir.attributes.pairs(op, "padding", tuple((0, 0) for _ in ones))
    shape = shape_of(op.results[0])
    if size_of(shape) * size_of(window) > _MOST_STEPS or any(
        p < 0 for pair in padding for p in pair
    ):
        return None
    padded = np.pad(operand, padding, constant_values=initial[()])
    result = np.broadcast_to(initial, shape)
    for offset in np.ndindex(*window):
        place = tuple(
            slice(o, o + (n - 1) * step + 1, step)
            for o, n, step in zip(offset, shape, strides, strict=True)
        )
        result = _combine(combiner, result, padded[place])
    return s.constant_of(np.asarray(result), op.results[0])


@TABLE.rule("reverse")
def fold_reverse(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A small constant's elements in reverse order."""
    arrays = _small(op, s)
    if arrays is None:
        return None
    return s.constant_of(np.flip(arrays[0], ir.attributes.ints(op, "dimensions")), op.results[0])


@TABLE.rule("pad")
def fold_pad(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A small constant with elements added around it and between."""
    arrays = _small(op, s)
    if arrays is None:
        return None
    low = ir.attributes.ints(op, "edge_padding_low")
    high = ir.attributes.ints(op, "edge_padding_high")
    gaps = ir.attributes.ints(op, "interior_padding")
    if any(x < 0 for x in (*low, *high)) or 0 in arrays[0].shape:
        return None
    shape = shape_of(op.results[0])
    result = np.full(shape, arrays[1][()], arrays[0].dtype)
    ends = (n - h for n, h in zip(shape, high, strict=True))
    place = tuple(slice(a, e, g + 1) for a, e, g in zip(low, ends, gaps, strict=True))
    result[place] = arrays[0]
    return s.constant_of(result, op.results[0])


@TABLE.rule("iota")
def fold_small_iota(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An iota of up to 16 integers is a constant, so that indices computed from it are."""
    shape = shape_of(op.results[0])
    element = element_of(op.results[0])
    if len(shape) != 1 or shape[0] > _MOST_IOTA or not isinstance(element, ir.IntegerType):
        return None
    array = np.arange(shape[0]).astype(ir.types.to_dtype(element))
    return s.constant_of(array, op.results[0])
