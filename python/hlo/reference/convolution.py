"""convolution with every dimension number, grouping, dilation, padding and reversal of the
specification.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo.reference.contraction import batched_matmul, from_accumulator, to_accumulator
from hlo.reference.data_movement import pad
from hlo.reference.element_types import Array, DType
from hlo.reference.reduction import dilated_extent, window_count


@dataclass(frozen=True)
class ConvDimensionNumbers:
    """Where batch (or output), feature and spatial dimensions lie in input, kernel and output."""

    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: tuple[int, ...]
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: tuple[int, ...]
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: tuple[int, ...]


def _sum_over_kernel(
    image: Array, kernel: Array, strides: Sequence[int], steps: Sequence[int], shape: Sequence[int]
) -> Array:
    """[g, n, *spatial, c] with [g, *spatial, c, o] to [g, n, *shape, o], a matrix product a kernel
    position.
    """
    groups, batch, channels = image.shape[0], image.shape[1], image.shape[-1]
    points = batch * math.prod(shape)
    total = np.zeros((groups, points, kernel.shape[-1]), image.dtype)
    positions = [range(n) for n in kernel.shape[1:-2]] if points else [range(0)]
    for position in itertools.product(*positions):
        region = tuple(
            slice(p * step, p * step + (n - 1) * stride + 1, stride)
            for p, step, stride, n in zip(position, steps, strides, shape, strict=True)
        )
        rows = image[(slice(None), slice(None), *region)].reshape(groups, points, channels)
        total += batched_matmul(rows, kernel[(slice(None), *position)])
    return total.reshape((groups, batch, *shape, kernel.shape[-1]))


def convolution(
    lhs: Array,
    rhs: Array,
    *,
    dimension_numbers: ConvDimensionNumbers,
    window_strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    dtype: DType | None = None,
) -> Array:
    """Dot products of windows of lhs with slices of rhs, in wide precision, rounded once to `dtype`
    (lhs' by default).
    """
    numbers = dimension_numbers
    target = lhs.dtype if dtype is None else dtype
    rank = len(numbers.input_spatial_dimensions)
    ones = [1] * rank
    strides, holes, steps = window_strides or ones, lhs_dilation or ones, rhs_dilation or ones
    edges = (
        [(int(low), int(high)) for low, high in padding] if padding is not None else [(0, 0)] * rank
    )
    image = lhs.transpose(
        (
            numbers.input_batch_dimension,
            *numbers.input_spatial_dimensions,
            numbers.input_feature_dimension,
        )
    )
    kernel = rhs.transpose(
        (
            *numbers.kernel_spatial_dimensions,
            numbers.kernel_input_feature_dimension,
            numbers.kernel_output_feature_dimension,
        )
    )
    for axis, reversed_axis in enumerate(window_reversal or ()):
        kernel = np.flip(kernel, axis) if reversed_axis else kernel
    image = to_accumulator(image, target)
    kernel = to_accumulator(kernel, target)
    image = pad(
        image,
        np.zeros((), image.dtype),
        edge_padding_low=[0, *(low for low, _ in edges), 0],
        edge_padding_high=[0, *(high for _, high in edges), 0],
        interior_padding=[0, *(hole - 1 for hole in holes), 0],
    )
    shape = [
        window_count(extent, dilated_extent(window, step), stride)
        for extent, window, step, stride in zip(
            image.shape[1:-1], kernel.shape[:rank], steps, strides, strict=True
        )
    ]
    grouped_image, grouped_kernel = _group(image, kernel, feature_group_count, batch_group_count)
    total = _sum_over_kernel(grouped_image, grouped_kernel, strides, steps, shape)
    # [g, n, *spatial, o] -> [n, *spatial, g * o]
    joined = np.moveaxis(total, 0, -2)
    joined = joined.reshape((*joined.shape[:-2], -1 if joined.size else kernel.shape[-1]))
    order = (
        numbers.output_batch_dimension,
        *numbers.output_spatial_dimensions,
        numbers.output_feature_dimension,
    )
    return from_accumulator(joined.transpose(tuple(np.argsort(order))), target)


def _group(
    image: Array, kernel: Array, feature_groups: int, batch_groups: int
) -> tuple[Array, Array]:
    """Image and kernel with a leading group dimension: features, or batches, in consecutive
    runs.
    """
    groups = max(feature_groups, batch_groups)
    outputs = kernel.shape[-1] // groups
    split_kernel = kernel.reshape((*kernel.shape[:-1], groups, outputs))
    grouped_kernel = np.moveaxis(split_kernel, -2, 0)
    if batch_groups > 1:
        batch = image.shape[0] // batch_groups
        return image.reshape((batch_groups, batch, *image.shape[1:])), grouped_kernel
    channels = image.shape[-1] // feature_groups
    split_image = image.reshape((*image.shape[:-1], feature_groups, channels))
    return np.moveaxis(split_image, -2, 0), grouped_kernel


def dynamic_conv(
    lhs: Array,
    rhs: Array,
    padding: Array,
    *,
    dimension_numbers: ConvDimensionNumbers,
    window_strides: Sequence[int] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    dtype: DType | None = None,
) -> Array:
    """convolution whose padding is an operand."""
    return convolution(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        window_strides=window_strides,
        padding=[(int(low), int(high)) for low, high in np.asarray(padding).reshape(-1, 2)],
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        window_reversal=window_reversal,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        dtype=dtype,
    )
