"""gather and scatter in their full generality, after the index arithmetic of the StableHLO
specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo.reference.computation import Computation, accumulated, accumulator_of
from hlo.reference.element_types import Array, widen


@dataclass(frozen=True)
class GatherDimensionNumbers:
    """Which dimensions of operand, indices and result correspond in a gather.

    With `offset_dims` of the result, and the rest as the specification names it.
    """

    offset_dims: tuple[int, ...] = ()
    collapsed_slice_dims: tuple[int, ...] = ()
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    start_index_map: tuple[int, ...] = ()
    index_vector_dim: int = 0


@dataclass(frozen=True)
class ScatterDimensionNumbers:
    """Which dimensions of input, indices and update correspond in a scatter."""

    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: int = 0


def _index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """Indices as int64 with the index vector along the last dimension."""
    if index_vector_dim == indices.ndim:
        indices = indices[..., np.newaxis]
    wide = indices.astype(np.int64) if indices.dtype != np.uint64 else indices
    # An index past int64 is past every tensor.
    limited = np.minimum(wide, np.iinfo(np.int64).max).astype(np.int64)
    return np.moveaxis(limited, index_vector_dim, -1)


def _full_starts(
    vectors: Array,
    rank: int,
    index_map: Sequence[int],
    batching_dims: Sequence[int],
    indices_batching_dims: Sequence[int],
    *,
    index_vector_dim: int,
) -> list[Array]:
    """For each operand dimension, its start index for each batch position (batch shape, or
    broadcastable to it).
    """
    batch_rank = vectors.ndim - 1
    starts = [np.zeros((1,) * batch_rank, np.int64) for _ in range(rank)]
    for position, dimension in enumerate(index_map):
        starts[dimension] = vectors[..., position]
    for dimension, indices_dimension in zip(batching_dims, indices_batching_dims, strict=True):
        axis = indices_dimension - (indices_dimension > index_vector_dim)
        shape = [1] * batch_rank
        shape[axis] = vectors.shape[axis]
        starts[dimension] = np.arange(shape[axis], dtype=np.int64).reshape(shape)
    return starts


def _spread(batch_values: Array, batch_axes: Sequence[int], rank: int) -> Array:
    """Values over the batch shape as an array of `rank` dimensions in which batch_axes[i] holds
    batch dimension i.
    """
    shape = [1] * rank
    for axis, extent in zip(batch_axes, batch_values.shape, strict=True):
        shape[axis] = extent
    return batch_values.reshape(shape)


def gather(
    operand: Array,
    start_indices: Array,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
) -> Array:
    """Slices of `slice_sizes` at the given start indices, clamped so that each slice lies within
    the operand.
    """
    numbers = dimension_numbers
    vectors = _index_vectors(start_indices, numbers.index_vector_dim)
    batch_rank = vectors.ndim - 1
    result_rank = batch_rank + len(numbers.offset_dims)
    batch_axes = [d for d in range(result_rank) if d not in numbers.offset_dims]
    starts = _full_starts(
        vectors,
        operand.ndim,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        index_vector_dim=numbers.index_vector_dim,
    )
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    offset_of = dict(
        zip([d for d in range(operand.ndim) if d not in dropped], numbers.offset_dims, strict=True)
    )
    shape = [1] * result_rank
    for axis, extent in zip(batch_axes, vectors.shape[:-1], strict=True):
        shape[axis] = extent
    for dimension, axis in offset_of.items():
        shape[axis] = slice_sizes[dimension]
    positions: list[Array] = []
    for dimension in range(operand.ndim):
        last = operand.shape[dimension] - slice_sizes[dimension]
        position = _spread(np.clip(starts[dimension], 0, last), batch_axes, result_rank)
        if dimension in offset_of:
            offsets = np.arange(slice_sizes[dimension], dtype=np.int64)
            position = position + _spread(offsets, [offset_of[dimension]], result_rank)
        positions.append(position)
    if 0 in shape:
        return np.zeros(shape, operand.dtype)
    return np.broadcast_to(operand[tuple(positions)], shape)


def dynamic_gather(
    operand: Array,
    start_indices: Array,
    slice_sizes: Array,
    *,
    dimension_numbers: GatherDimensionNumbers,
) -> Array:
    """gather whose slice sizes are an operand."""
    sizes = [int(size) for size in slice_sizes]
    return gather(operand, start_indices, dimension_numbers=dimension_numbers, slice_sizes=sizes)


def _destinations(
    input_shape: Sequence[int],
    scatter_indices: Array,
    update_shape: Sequence[int],
    numbers: ScatterDimensionNumbers,
) -> tuple[Array, Array]:
    """Flat index into the input for each element of the update, in row-major order, and whether it
    is in bounds.

    Bounds are those of the element's own index, as the specification has it.
    """
    vectors = _index_vectors(scatter_indices, numbers.index_vector_dim)
    rank, update_rank = len(input_shape), len(update_shape)
    batch_axes = [d for d in range(update_rank) if d not in numbers.update_window_dims]
    starts = _full_starts(
        vectors,
        rank,
        numbers.scatter_dims_to_operand_dims,
        numbers.input_batching_dims,
        numbers.scatter_indices_batching_dims,
        index_vector_dim=numbers.index_vector_dim,
    )
    dropped = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    window = [d for d in range(rank) if d not in dropped]
    window_of = dict(zip(window, numbers.update_window_dims, strict=True))
    flat = np.zeros((1,) * update_rank, np.int64)
    valid = np.ones((1,) * update_rank, np.bool_)
    for dimension, extent in enumerate(input_shape):
        position = _spread(starts[dimension], batch_axes, update_rank)
        inside = (position >= 0) & (position < extent)
        if dimension in window_of:
            offsets = np.arange(update_shape[window_of[dimension]], dtype=np.int64)
            # The start is bounded first: its sum with an offset must not overflow.
            position = np.clip(position, -(1 << 40), 1 << 40)
            position = position + _spread(offsets, [window_of[dimension]], update_rank)
            inside = (position >= 0) & (position < extent)
        flat = flat * extent + np.where(inside, position, 0)
        valid = valid & inside
    shape = tuple(update_shape)
    return np.broadcast_to(flat, shape).reshape(-1), np.broadcast_to(valid, shape).reshape(-1)


def _rounds(destinations: Array) -> list[Array]:
    """Positions grouped so that no group holds a destination twice, and a destination's positions
    keep their order.
    """
    order = np.argsort(destinations, kind="stable")
    ordered = destinations[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, ordered.size))
    occurrence = np.arange(ordered.size) - np.repeat(starts, lengths)
    by_round = np.argsort(occurrence, kind="stable")
    counts = np.bincount(occurrence)
    return [order[chunk] for chunk in np.split(by_round, np.cumsum(counts)[:-1])]


def _accumulate(ufunc: np.ufunc, values: Array, destinations: Array, updates: Array) -> Array:
    wide = np.array(widen(values))
    with np.errstate(all="ignore"):
        ufunc.at(wide, destinations, widen(updates))
    return accumulated(wide, values.dtype)


def scatter(
    inputs: Sequence[Array],
    scatter_indices: Array,
    updates: Sequence[Array],
    update_computation: Computation,
    *,
    scatter_dimension_numbers: ScatterDimensionNumbers,
) -> tuple[Array, ...]:
    """Inputs with updates combined in at the given indices; an update out of bounds is dropped.

    Updates of one destination are applied in the order of the update's elements. A sum of floats is
    rounded once.
    """
    destinations, valid = _destinations(
        inputs[0].shape, scatter_indices, updates[0].shape, scatter_dimension_numbers
    )
    destinations = destinations[valid]
    results = [np.array(x).reshape(-1) for x in inputs]
    flat_updates = [np.asarray(x).reshape(-1)[valid] for x in updates]
    if destinations.size > 0:
        ufunc = accumulator_of(update_computation, results[0].dtype)
        if ufunc is not None and len(inputs) == 1:
            results = [_accumulate(ufunc, results[0], destinations, flat_updates[0])]
        else:
            for chunk in _rounds(destinations):
                where = destinations[chunk]
                current = [x[where] for x in results]
                new = update_computation(*current, *(x[chunk] for x in flat_updates))
                for result, value in zip(results, new, strict=True):
                    result[where] = value
    return tuple(result.reshape(x.shape) for result, x in zip(results, inputs, strict=True))


def torch_index_select(operand: Array, index: Array, *, dim: int, batch_dims: int) -> Array:
    """Slices of `operand` along `dim` at each index, per batch.

    Indices out of bounds are clamped.
    """
    if batch_dims > 0:
        pairs = zip(operand, index, strict=True)
        parts = [torch_index_select(x, i, dim=dim - 1, batch_dims=batch_dims - 1) for x, i in pairs]
        return np.stack(parts)
    return np.take(operand, index.astype(np.int64), axis=dim, mode="clip")
