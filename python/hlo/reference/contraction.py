"""dot_general, dot, ragged_dot and einsum-like contraction, with exact or wide accumulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hlo.reference.conversion import convert
from hlo.reference.element_types import (
    BOOL,
    Array,
    DType,
    is_complex,
    is_float,
    round_to,
    storage_type,
    widen,
    wrap_integers,
)


@dataclass(frozen=True)
class DotDimensionNumbers:
    """Which dimensions of a dot's operands are batched over and which are contracted."""

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """The dimensions of a dot, the ragged dimension of lhs, and the group dimensions of rhs."""

    dot: DotDimensionNumbers = field(default_factory=DotDimensionNumbers)
    lhs_ragged_dimensions: tuple[int, ...] = ()
    rhs_group_dimensions: tuple[int, ...] = ()


def to_accumulator(values: Array, dtype: DType) -> Array:
    """Operand of a contraction with result type `dtype`, in the type it is accumulated in."""
    if is_float(dtype) or is_complex(dtype):
        wide = widen(values) if values.dtype != BOOL else values.astype(np.float64)
        if is_complex(dtype):
            return wide.astype(np.complex128)
        return wide.astype(np.float64)
    if is_float(values.dtype):
        return widen(convert(values, dtype=dtype)).astype(np.int64)
    return values.astype(storage_type(values.dtype)).astype(np.int64)


def from_accumulator(values: Array, dtype: DType) -> Array:
    """An accumulated result as `dtype`: rounded once, wrapped, or, of booleans, whether any product
    held.
    """
    if is_float(dtype) or is_complex(dtype):
        return round_to(values, dtype)
    if dtype == BOOL:
        return np.asarray(values != 0)
    return wrap_integers(values, dtype)


def batched_matmul(lhs: Array, rhs: Array) -> Array:
    """[..., m, k] x [..., k, n] in the accumulator types of `to_accumulator`; integers are exact
    modulo 2^64.

    Integers go through float64 products, which are fast, wherever no sum can exceed 2^53.
    """
    with np.errstate(all="ignore"):
        if lhs.dtype != np.int64:
            return np.matmul(lhs, rhs)
        if lhs.size == 0 or rhs.size == 0:
            return np.matmul(lhs, rhs)
        bound = float(np.abs(lhs.astype(np.float64)).max()) * float(
            np.abs(rhs.astype(np.float64)).max()
        )
        if bound * lhs.shape[-1] < 2.0**53:
            return np.matmul(lhs.astype(np.float64), rhs.astype(np.float64)).astype(np.int64)
        return np.matmul(lhs, rhs)


def dot_general(
    lhs: Array,
    rhs: Array,
    *,
    dot_dimension_numbers: DotDimensionNumbers,
    dtype: DType | None = None,
) -> Array:
    """Sums of products over the contracting dimensions; result dimensions are batch, then lhs',
    then rhs' own.

    Products and sums are in wide precision and rounded once to `dtype` (lhs' type by default).
    """
    numbers = dot_dimension_numbers
    target = lhs.dtype if dtype is None else dtype
    lhs_free = [
        d
        for d in range(lhs.ndim)
        if d not in numbers.lhs_batching_dimensions and d not in numbers.lhs_contracting_dimensions
    ]
    rhs_free = [
        d
        for d in range(rhs.ndim)
        if d not in numbers.rhs_batching_dimensions and d not in numbers.rhs_contracting_dimensions
    ]
    batch = [lhs.shape[d] for d in numbers.lhs_batching_dimensions]
    rows, columns = [lhs.shape[d] for d in lhs_free], [rhs.shape[d] for d in rhs_free]
    depth = math.prod(lhs.shape[d] for d in numbers.lhs_contracting_dimensions)
    left = lhs.transpose(
        (*numbers.lhs_batching_dimensions, *lhs_free, *numbers.lhs_contracting_dimensions)
    ).reshape(math.prod(batch), math.prod(rows), depth)
    right = rhs.transpose(
        (*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions, *rhs_free)
    ).reshape(math.prod(batch), depth, math.prod(columns))
    product = batched_matmul(to_accumulator(left, target), to_accumulator(right, target))
    return from_accumulator(product, target).reshape((*batch, *rows, *columns))


def dot(lhs: Array, rhs: Array, *, dtype: DType | None = None) -> Array:
    """Product of vectors and matrices: lhs' last dimension with rhs' first."""
    numbers = DotDimensionNumbers(
        lhs_contracting_dimensions=(lhs.ndim - 1,), rhs_contracting_dimensions=(0,)
    )
    return dot_general(lhs, rhs, dot_dimension_numbers=numbers, dtype=dtype)


def _group_bounds(group_sizes: Array) -> list[tuple[int, int]]:
    ends = np.cumsum(group_sizes.astype(np.int64)).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _sections(operand: Array, dimension: int, start: int, end: int) -> Array:
    bounds = [slice(None)] * operand.ndim
    bounds[dimension] = slice(start, end)
    return operand[tuple(bounds)]


def _ragged_result(
    lhs: Array, rhs: Array, group_sizes: Array, numbers: RaggedDotDimensionNumbers, dtype: DType
) -> Array:
    dot_numbers = numbers.dot
    (ragged,) = numbers.lhs_ragged_dimensions
    bounds = _group_bounds(group_sizes)
    if ragged in dot_numbers.lhs_contracting_dimensions:
        position = dot_numbers.lhs_contracting_dimensions.index(ragged)
        other = dot_numbers.rhs_contracting_dimensions[position]
        return np.stack(
            [
                dot_general(
                    _sections(lhs, ragged, start, end),
                    _sections(rhs, other, start, end),
                    dot_dimension_numbers=dot_numbers,
                    dtype=dtype,
                )
                for start, end in bounds
            ]
        )
    if ragged in dot_numbers.lhs_batching_dimensions:
        return dot_general(lhs, rhs, dot_dimension_numbers=dot_numbers, dtype=dtype)
    (group,) = numbers.rhs_group_dimensions
    lhs_free = [
        d
        for d in range(lhs.ndim)
        if d not in (*dot_numbers.lhs_batching_dimensions, *dot_numbers.lhs_contracting_dimensions)
    ]
    axis = len(dot_numbers.lhs_batching_dimensions) + lhs_free.index(ragged)
    without_group = DotDimensionNumbers(
        dot_numbers.lhs_batching_dimensions,
        tuple(d - (d > group) for d in dot_numbers.rhs_batching_dimensions),
        dot_numbers.lhs_contracting_dimensions,
        tuple(d - (d > group) for d in dot_numbers.rhs_contracting_dimensions),
    )
    last = bounds[-1][1] if bounds else 0
    parts = [
        dot_general(
            _sections(lhs, ragged, start, end),
            rhs.take(index, axis=group),
            dot_dimension_numbers=without_group,
            dtype=dtype,
        )
        for index, (start, end) in enumerate(bounds)
    ]
    shape = list(parts[0].shape)
    shape[axis] = max(0, lhs.shape[ragged] - last)
    return np.concatenate([*parts, np.zeros(shape, dtype)], axis=axis)


def ragged_dot(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    dtype: DType | None = None,
) -> Array:
    """A dot in which consecutive groups of lhs' ragged dimension meet their own part of rhs.

    A ragged free dimension picks rhs' slice along its group dimension (rows past the last group
    give zero); a ragged contracting dimension gives one dot a group, stacked first; a ragged batch
    dimension is an ordinary dot. Group sizes may have leading batch dimensions, in which case
    batches are done one by one.
    """
    target = lhs.dtype if dtype is None else dtype
    numbers = ragged_dot_dimension_numbers
    if group_sizes.ndim <= 1:
        return _ragged_result(lhs, rhs, group_sizes, numbers, target)
    return _batched_ragged(lhs, rhs, group_sizes, numbers, target)


def _without(dimensions: Sequence[int], removed: int) -> tuple[int, ...]:
    return tuple(d - (d > removed) for d in dimensions if d != removed)


def _batched_ragged(
    lhs: Array, rhs: Array, group_sizes: Array, numbers: RaggedDotDimensionNumbers, dtype: DType
) -> Array:
    """Split over the first lhs batch dimension, which leads the group sizes."""
    dot_numbers = numbers.dot
    lhs_batch, rhs_batch = (
        dot_numbers.lhs_batching_dimensions[0],
        dot_numbers.rhs_batching_dimensions[0],
    )
    inner = RaggedDotDimensionNumbers(
        DotDimensionNumbers(
            _without(dot_numbers.lhs_batching_dimensions, lhs_batch),
            _without(dot_numbers.rhs_batching_dimensions, rhs_batch),
            _without(dot_numbers.lhs_contracting_dimensions, lhs_batch),
            _without(dot_numbers.rhs_contracting_dimensions, rhs_batch),
        ),
        _without(numbers.lhs_ragged_dimensions, lhs_batch),
        _without(numbers.rhs_group_dimensions, rhs_batch),
    )
    parts = [
        ragged_dot(
            lhs.take(index, axis=lhs_batch),
            rhs.take(index, axis=rhs_batch),
            group_sizes[index],
            ragged_dot_dimension_numbers=inner,
            dtype=dtype,
        )
        for index in range(lhs.shape[lhs_batch])
    ]
    stack_axis = (
        1 if numbers.lhs_ragged_dimensions[0] in dot_numbers.lhs_contracting_dimensions else 0
    )
    return np.stack(parts, axis=stack_axis)


def einsum(*operands: Array, einsum_config: str, dtype: DType | None = None) -> Array:
    """Products of the operands summed as `einsum_config` says, such as "ab,bc->ac"."""
    target = operands[0].dtype if dtype is None else dtype
    with np.errstate(all="ignore"):
        total = np.einsum(einsum_config, *(to_accumulator(x, target) for x in operands))
    return from_accumulator(np.asarray(total), target)
