"""Operations that move elements without computing: shapes, slices, padding, and what creates
constants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo.reference.element_types import (
    Array,
    DType,
    is_complex,
    is_float,
    round_to,
    storage_type,
    wrap_integers,
)


def broadcast_in_dim(
    operand: Array, *, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Array:
    """`operand` expanded to `shape`; its dimension i becomes dimension broadcast_dimensions[i]."""
    expanded = [1] * len(shape)
    for source, target in enumerate(broadcast_dimensions):
        expanded[target] = operand.shape[source]
    order = sorted(range(operand.ndim), key=lambda i: broadcast_dimensions[i])
    return np.broadcast_to(operand.transpose(order).reshape(expanded), tuple(shape))


def dynamic_broadcast_in_dim(
    operand: Array, output_dimensions: Array, *, broadcast_dimensions: Sequence[int]
) -> Array:
    """broadcast_in_dim to a shape that is an operand."""
    shape = _integers(output_dimensions)
    return broadcast_in_dim(operand, shape=shape, broadcast_dimensions=broadcast_dimensions)


def broadcast(operand: Array, *, broadcast_sizes: Sequence[int]) -> Array:
    """`operand` repeated along new leading dimensions."""
    return np.broadcast_to(operand, (*broadcast_sizes, *operand.shape))


def reshape(operand: Array, *, shape: Sequence[int]) -> Array:
    """The same elements in row-major order in another shape."""
    return operand.reshape(tuple(shape))


def dynamic_reshape(operand: Array, output_shape: Array) -> Array:
    """reshape to a shape that is an operand."""
    return operand.reshape(_integers(output_shape))


def transpose(operand: Array, *, permutation: Sequence[int]) -> Array:
    """Result dimension i is operand dimension permutation[i]."""
    return operand.transpose(tuple(permutation))


def reverse(operand: Array, *, dimensions: Sequence[int]) -> Array:
    """Elements in opposite order along `dimensions`."""
    return np.flip(operand, tuple(dimensions))


def concatenate(*inputs: Array, dimension: int) -> Array:
    """Operands one after another along `dimension`."""
    return np.concatenate(inputs, axis=dimension)


def slice_(
    operand: Array,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int],
) -> Array:
    """Elements at start, start + stride, ... below limit, in each dimension."""
    bounds = zip(start_indices, limit_indices, strides, strict=True)
    return operand[tuple(slice(start, limit, stride) for start, limit, stride in bounds)]


def real_dynamic_slice(
    operand: Array, start_indices: Array, limit_indices: Array, strides: Array
) -> Array:
    """slice whose bounds are operands."""
    return slice_(
        operand,
        start_indices=_integers(start_indices),
        limit_indices=_integers(limit_indices),
        strides=_integers(strides),
    )


def _clamped_starts(
    shape: Sequence[int], start_indices: Sequence[Array], sizes: Sequence[int]
) -> list[int]:
    starts = [int(index) for index in start_indices]
    return [
        max(0, min(start, extent - size))
        for start, extent, size in zip(starts, shape, sizes, strict=True)
    ]


def dynamic_slice(operand: Array, *start_indices: Array, slice_sizes: Sequence[int]) -> Array:
    """A slice of `slice_sizes` at scalar start indices, clamped so that it lies within the
    operand.
    """
    starts = _clamped_starts(operand.shape, start_indices, slice_sizes)
    window = zip(starts, slice_sizes, strict=True)
    return operand[tuple(slice(start, start + size) for start, size in window)]


def dynamic_update_slice(operand: Array, update: Array, *start_indices: Array) -> Array:
    """`operand` with `update` written at scalar start indices, clamped so that it lies within."""
    starts = _clamped_starts(operand.shape, start_indices, update.shape)
    window = zip(starts, update.shape, strict=True)
    result = np.array(operand)
    result[tuple(slice(start, start + size) for start, size in window)] = update
    return result


def pad(
    operand: Array,
    padding_value: Array,
    *,
    edge_padding_low: Sequence[int],
    edge_padding_high: Sequence[int],
    interior_padding: Sequence[int],
) -> Array:
    """`operand` with padding between elements and at the edges; negative edges remove."""
    spread = [
        extent + max(extent - 1, 0) * interior
        for extent, interior in zip(operand.shape, interior_padding, strict=True)
    ]
    shape = [
        low + extent + high
        for low, extent, high in zip(edge_padding_low, spread, edge_padding_high, strict=True)
    ]
    result = np.full(shape, padding_value, operand.dtype)
    target: list[slice] = []
    source: list[slice] = []
    for extent, size, low, interior in zip(
        operand.shape, shape, edge_padding_low, interior_padding, strict=True
    ):
        step = interior + 1
        first = max(0, -(low // step))
        last = min(extent, (size - 1 - low) // step + 1)
        if first >= last:
            return result
        source.append(slice(first, last))
        target.append(slice(low + first * step, low + (last - 1) * step + 1, step))
    result[tuple(target)] = operand[tuple(source)]
    return result


def dynamic_pad(
    operand: Array,
    padding_value: Array,
    edge_padding_low: Array,
    edge_padding_high: Array,
    interior_padding: Array,
) -> Array:
    """pad whose amounts are operands."""
    return pad(
        operand,
        padding_value,
        edge_padding_low=_integers(edge_padding_low),
        edge_padding_high=_integers(edge_padding_high),
        interior_padding=_integers(interior_padding),
    )


def iota(*, shape: Sequence[int], dtype: DType, iota_dimension: int) -> Array:
    """0, 1, 2, ... along `iota_dimension`, as `dtype`; integers wrap."""
    count = np.arange(shape[iota_dimension], dtype=np.int64)
    if is_float(dtype) or is_complex(dtype):
        values = round_to(count.astype(np.float64), dtype)
    else:
        values = wrap_integers(count.astype(storage_type(dtype)), dtype)
    expanded = [1] * len(shape)
    expanded[iota_dimension] = shape[iota_dimension]
    return np.broadcast_to(values.reshape(expanded), tuple(shape))


def dynamic_iota(output_shape: Array, *, dtype: DType, iota_dimension: int) -> Array:
    """iota of a shape that is an operand."""
    return iota(shape=_integers(output_shape), dtype=dtype, iota_dimension=iota_dimension)


def get_dimension_size(operand: Array, *, dimension: int) -> Array:
    """Extent of one dimension as a 32-bit scalar."""
    return np.asarray(operand.shape[dimension], np.int32)


def set_dimension_size(operand: Array, size: Array, *, dimension: int) -> Array:
    """The first `size` elements along `dimension`."""
    bounds = [slice(None)] * operand.ndim
    bounds[dimension] = slice(0, int(size))
    return operand[tuple(bounds)]


def _integers(values: Array) -> list[int]:
    return [int(value) for value in np.asarray(values).reshape(-1)]
