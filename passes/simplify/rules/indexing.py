"""Gathers, scatters, and slices at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, shape_of, size_of
from hlo.passes.rewrite.walk import body_of, terminator_of
from hlo.passes.simplify.ranges import limits_of, range_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
Array = np.ndarray[Any, np.dtype[Any]]


def known_starts(values: list[ir.Value], s: Simplifier) -> list[int] | None:
    """Start indices that constants or bounds determine."""
    starts: list[int] = []
    for value in values:
        bounds = range_of(value, s)
        if bounds is None or bounds[0] != bounds[1]:
            return None
        starts.append(bounds[0])
    return starts


def known_indices(value: ir.Value, s: Simplifier, depth: int = 0) -> Array | None:
    """Indices that are constants, or made of iotas by sums with constants and by data movement."""
    found = s.constant(value)
    op = s.producer(value)
    if found is not None or op is None or depth > _DEEPEST:
        return found
    shape = shape_of(value)
    if size_of(shape) > MOST_INDICES or op.name not in _MADE_OF_INDICES:
        return None
    if op.name == "hlo.iota":
        along = ir.attributes.integer(op, "iota_dimension")
        column = [n if d == along else 1 for d, n in enumerate(shape)]
        numbers = np.arange(shape[along], dtype=np.int64).reshape(column)
        largest = limits_of(element_of(value))[1]
        return np.broadcast_to(numbers, shape) if shape[along] <= largest else None
    parts = [known_indices(operand, s, depth + 1) for operand in op.operands]
    known = [part for part in parts if part is not None]
    if len(known) != len(parts):
        return None
    if op.name == "hlo.reshape":
        return known[0].reshape(shape)
    if op.name == "hlo.transpose":
        return known[0].transpose(ir.attributes.ints(op, "permutation"))
    if op.name == "hlo.concatenate":
        along = ir.attributes.integer(op, "dimension")
        return np.concatenate([part.astype(np.int64) for part in known], along)
    if op.name == "hlo.broadcast_in_dim":
        column = [1] * len(shape)
        for d, n in zip(
            ir.attributes.ints(op, "broadcast_dimensions"), known[0].shape, strict=True
        ):
            column[d] = n
        return np.broadcast_to(known[0].reshape(column), shape)
    total = known[0].astype(np.int64) + known[1].astype(np.int64)
    low, high = limits_of(element_of(value))
    return total if total.size and low <= total.min() and total.max() <= high else None


# Indices up to which a pattern in them is looked for, and ops that they may be made by.
MOST_INDICES = 1 << 14
_DEEPEST = 6
_MADE_OF_INDICES = frozenset(
    f"hlo.{name}"
    for name in ["iota", "reshape", "transpose", "concatenate", "broadcast_in_dim", "add"]
)


# ---- dynamic_slice, dynamic_update_slice ----
@TABLE.rule("dynamic_slice")
def dynamic_slice_of_everything(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The start is clamped, so that a slice as large as its operand is the operand."""
    del s
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


@TABLE.rule("dynamic_slice")
def dynamic_slice_at_known_start(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice, its start clamped into the operand."""
    operand, *indices = op.operands
    starts = known_starts(indices, s)
    if starts is None:
        return None
    sizes = shape_of(op.results[0])
    bounded = [
        min(max(start, 0), full - size)
        for start, full, size in zip(starts, shape_of(operand), sizes, strict=True)
    ]
    limits = [start + size for start, size in zip(bounded, sizes, strict=True)]
    return s.builder.slice(operand, bounded, limits)


@TABLE.rule("dynamic_slice")
def dynamic_slice_of_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """What a broadcast repeats needs no index: a slice of repeated dimensions is a smaller
    broadcast.
    """
    operand, *indices = op.operands
    inner = s.producer(operand, "hlo.broadcast_in_dim")
    if inner is None:
        return None
    source, sizes = inner.operands[0], shape_of(op.results[0])
    full, shape = shape_of(operand), shape_of(source)
    placed = ir.attributes.ints(inner, "broadcast_dimensions")
    taken = [sizes[d] if n == full[d] else 1 for d, n in zip(placed, shape, strict=True)]
    starts = [
        indices[d] if n == full[d] else s.builder.constant(0, element_of(indices[d]))
        for d, n in zip(placed, shape, strict=True)
    ]
    part = source if tuple(taken) == shape else s.builder.dynamic_slice(source, starts, taken)
    return s.builder.broadcast_in_dim(part, sizes, placed)


@TABLE.rule("dynamic_update_slice")
def update_everything_or_nothing(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An update as large as the operand replaces it; one without elements changes nothing."""
    del s
    operand, update = op.operands[0], op.operands[1]
    if operand.type == update.type:
        return update
    return operand if size_of(shape_of(update)) == 0 else None


@TABLE.rule("dynamic_update_slice")
def update_of_splat(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An update of a constant that repeats one number, at a known place, is a pad of the update."""
    operand, update, *indices = op.operands
    number = s.splat(operand)
    starts = None if number is None else known_starts(indices, s)
    if starts is None:
        return None
    sizes, shape = shape_of(update), shape_of(operand)
    low = [min(max(a, 0), n - m) for a, n, m in zip(starts, shape, sizes, strict=True)]
    high = [n - a - m for a, n, m in zip(low, shape, sizes, strict=True)]
    element = element_of(operand)
    value = s.builder.constant_array(np.asarray(number, ir.types.to_dtype(element)), element)
    return s.builder.pad(update, value, low, high, [0] * len(shape))


# ---- gather ----
@TABLE.rule("gather")
def gather_of_one_index(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A gather of one slice is a slice at a computed place, under another shape: both clamp.

    Needs an operand with elements.
    """
    operand, indices = op.operands
    numbers = ir.attributes.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    sizes = ir.attributes.ints(op, "slice_sizes")
    if size_of(sizes) == 0 or 0 in shape_of(operand):
        return None
    if size_of(sizes) != size_of(shape_of(op.results[0])):
        return None  # several slices
    b = s.builder
    components = numbers.start_index_map
    flat = b.reshape(indices, (len(components),))
    zero = b.constant(0, element_of(indices))
    starts = [zero] * len(sizes)
    for position, dimension in enumerate(components):
        part = b.slice_dimension(flat, 0, position, position + 1)
        starts[dimension] = b.reshape(part, ())
    # A batching dimension's index is the position in the batch; with one slice that is 0.
    part = b.dynamic_slice(operand, starts, sizes)
    return b.reshape(part, shape_of(op.results[0]))


@TABLE.rule("gather")
def gather_of_one_index_repeated(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """One slice at the same constant index again and again is the slice, broadcast."""
    operand, indices = op.operands
    array = known_indices(indices, s)
    numbers = ir.attributes.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    if (
        array is None
        or numbers.operand_batching_dims
        or 0 in (array.size, size_of(shape_of(operand)))
    ):
        return None
    vectors = index_vectors(array, numbers.index_vector_dim)
    if np.any(vectors != vectors[0]):
        return None
    sizes, shape = ir.attributes.ints(op, "slice_sizes"), shape_of(operand)
    starts = [0] * len(shape)
    for dimension, start in zip(numbers.start_index_map, vectors[0], strict=True):
        starts[dimension] = min(max(int(start), 0), shape[dimension] - sizes[dimension])
    limits = [a + n for a, n in zip(starts, sizes, strict=True)]
    part = s.builder.slice(operand, starts, limits)
    kept = [n for d, n in enumerate(sizes) if d not in numbers.collapsed_slice_dims]
    part = s.builder.reshape(part, kept)
    return s.builder.broadcast_in_dim(part, shape_of(op.results[0]), numbers.offset_dims)


@TABLE.rule("gather")
def gather_of_constant_steps(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Slices of size 1 at constant indices with equal steps, along one dimension, are a strided
    slice; so are those at indices made of iotas.

    Needs indices in bounds of which only one component varies, along one dimension of the batch,
    with a positive step; the slices' other dimensions come whole.
    """
    operand, indices = op.operands
    array = known_indices(indices, s)
    numbers = ir.attributes.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    if array is None or numbers.operand_batching_dims or array.size == 0:
        return None
    sizes, shape = ir.attributes.ints(op, "slice_sizes"), shape_of(operand)
    vectors = index_vectors(array, numbers.index_vector_dim)
    count, components = vectors.shape
    if count < 2:
        return None
    steps = np.diff(vectors, axis=0)
    varying = [c for c in range(components) if np.any(steps[:, c])]
    if len(varying) != 1 or np.any(steps[:, varying[0]] != steps[0, varying[0]]):
        return None
    step, along = int(steps[0, varying[0]]), numbers.start_index_map[varying[0]]
    if step < 1 or sizes[along] != 1 or along not in numbers.collapsed_slice_dims:
        return None
    starts = [0] * len(shape)
    for component, dimension in enumerate(numbers.start_index_map):
        starts[dimension] = int(vectors[0, component])
    last = starts[along] + (count - 1) * step
    limits = [a + n for a, n in zip(starts, sizes, strict=True)]
    limits[along] = last + 1
    if any(a < 0 or e > n for a, e, n in zip(starts, limits, shape, strict=True)):
        return None
    return _arrange_steps(op, s, operand, starts, limits, step, along)


def index_vectors(array: Array, vector_dimension: int) -> Array:
    """[number of slices, components], in the order of the batch."""
    if vector_dimension == array.ndim:
        return array.reshape(-1, 1).astype(np.int64)
    moved = np.moveaxis(array, vector_dimension, -1)
    return moved.reshape(size_of(moved.shape[:-1]), moved.shape[-1]).astype(np.int64)


def _arrange_steps(
    op: ir.Operation,
    s: Simplifier,
    operand: ir.Value,
    starts: list[int],
    limits: list[int],
    step: int,
    along: int,
) -> ir.Value | None:
    numbers = ir.attributes.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    strides = [step if d == along else 1 for d in range(len(starts))]
    part = s.builder.slice(operand, starts, limits, strides)
    # The batch's dimensions come first or stay where the sliced dimension is; elsewhere they move.
    result = shape_of(op.results[0])
    batch = [d for d in range(len(result)) if d not in numbers.offset_dims]
    offsets = [d for d in range(len(starts)) if d not in numbers.collapsed_slice_dims]
    order: list[int] = []
    placed = iter(offsets)
    for dimension in range(len(result)):
        if dimension in numbers.offset_dims:
            order.append(next(placed))
        elif dimension == batch[0]:
            order.append(along)
    rest = [d for d in range(len(starts)) if d not in order]
    if batch != list(range(batch[0], batch[0] + len(batch))):
        return None
    arranged = s.builder.transpose(part, [*order, *rest])
    return s.builder.reshape(arranged, result)


# ---- scatter ----
@TABLE.rule("scatter")
def scatter_of_one_known_index(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A scatter of one slice at a known place in bounds is an update of that slice.

    Needs one input, and a computation that returns the update or one operation of both.
    """
    if len(op.results) != 1:
        return None
    operand, indices, updates = op.operands
    numbers = ir.attributes.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    if numbers.input_batching_dims:
        return None
    window = window_sizes(shape_of(operand), shape_of(updates), numbers)
    if size_of(window) != size_of(shape_of(updates)) or size_of(window) == 0:
        return None  # several slices, or none
    components = numbers.scatter_dims_to_operand_dims
    places = s.constant(indices)
    if places is None or places.size != len(components):
        return None
    starts = [0] * len(window)
    for dimension, place in zip(components, places.reshape(-1), strict=True):
        starts[dimension] = int(place)
    limits = [a + n for a, n in zip(starts, window, strict=True)]
    if any(a < 0 or e > n for a, e, n in zip(starts, limits, shape_of(operand), strict=True)):
        return None
    combiner = combiner_of_scatter(op)
    if combiner is None:
        return None
    return _update(s, operand, s.builder.reshape(updates, window), starts, limits, combiner)


@TABLE.rule("scatter")
def scatter_of_constant_steps(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A scatter of slices of size 1 at neighbouring constant places along one dimension, or places
    made of an iota, is an update of that part.

    Needs one input, places in bounds, one dimension of the batch, and a computation that returns
    the update or one operation of both.
    """
    if len(op.results) != 1:
        return None
    operand, indices, updates = op.operands
    places = known_indices(indices, s)
    numbers = ir.attributes.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    if places is None or places.size == 0 or numbers.input_batching_dims:
        return None
    shape, update_shape = shape_of(operand), shape_of(updates)
    window = window_sizes(shape, update_shape, numbers)
    vectors = index_vectors(places, numbers.index_vector_dim)
    batch = [d for d in range(len(update_shape)) if d not in numbers.update_window_dims]
    steps = np.diff(vectors, axis=0)
    varying = [c for c in range(vectors.shape[1]) if np.any(steps[:, c])]
    if len(batch) != 1 or len(varying) != 1 or np.any(steps[:, varying[0]] != 1):
        return None
    along = numbers.scatter_dims_to_operand_dims[varying[0]]
    combiner = combiner_of_scatter(op)
    if along not in numbers.inserted_window_dims or combiner is None:
        return None
    starts = [0] * len(shape)
    for dimension, start in zip(numbers.scatter_dims_to_operand_dims, vectors[0], strict=True):
        starts[dimension] = int(start)
    window[along] = len(vectors)
    limits = [a + n for a, n in zip(starts, window, strict=True)]
    if any(a < 0 or e > n for a, e, n in zip(starts, limits, shape, strict=True)):
        return None
    # The update's dimensions in the operand's order, the batch where the places are.
    windows = iter(numbers.update_window_dims)
    order = [
        batch[0] if d == along else next(windows)
        for d in range(len(shape))
        if d == along or d not in numbers.inserted_window_dims
    ]
    update = s.builder.reshape(s.builder.transpose(updates, order), window)
    return _update(s, operand, update, starts, limits, combiner)


def _update(
    s: Simplifier,
    operand: ir.Value,
    update: ir.Value,
    starts: Sequence[int],
    limits: Sequence[int],
    combiner: str,
) -> ir.Value:
    """The operand with the part from `starts` to `limits` updated."""
    b = s.builder
    if combiner != "update":
        update = b.binary(combiner, b.slice(operand, starts, limits), update)
    index = b.integer_type(32)
    places = [b.constant(start, index) for start in starts]
    return b.one("dynamic_update_slice", [operand, update, *places], operand.type)


def window_sizes(
    operand: Sequence[int],
    updates: Sequence[int],
    numbers: ir.attributes.ScatterDimensionNumbers,
) -> list[int]:
    """The shape of the operand's slice that an update covers; inserted dimensions have size 1."""
    sizes = iter(updates[d] for d in numbers.update_window_dims)
    inserted = set(numbers.inserted_window_dims)
    return [1 if d in inserted else next(sizes) for d in range(len(operand))]


def combiner_of_scatter(op: ir.Operation) -> str | None:
    """`update` for a computation that returns its second argument, or the op of both arguments."""
    block = body_of(op)
    old, new = block.arguments
    (returned,) = terminator_of(block).operands
    if returned == new:
        return "update"
    owner = returned.owner
    if isinstance(owner, ir.Block) or len(block.operations) != 2:
        return None
    inner = owner.operation
    operands = list(inner.operands)
    if len(operands) != 2 or operands != [old, new] or len(inner.results) != 1:
        return None
    return inner.name.removeprefix("hlo.") if inner.name in _COMBINERS else None


_COMBINERS = frozenset(
    f"hlo.{name}"
    for name in ["add", "multiply", "subtract", "maximum", "minimum", "and", "or", "xor", "divide"]
)
