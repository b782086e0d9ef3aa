"""Gradients that PyTorch leaves whole; it takes the others apart into the operators above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import conv_transposed, tensor, widened
from hlo.pytorch.ops.pooling import averaging, divisors, windows_of
from hlo.pytorch.ops.products import conv_forward, per_dimension
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.ops.scattered_gradients import added_in_planes


def _weight_gradient(
    input: Tracer,
    grad: Tracer,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tracer:
    """The gradient of `conv_forward` by its kernel: the input correlated with the result's
    gradient, features taken as the batch and the batch as features."""
    around = [
        (p, d * (k - 1) + (n - 1) * s + 1 - extent - p)
        for p, d, k, n, s, extent in zip(
            pads, dilation, window, grad.shape[2:], strides, input.shape[2:], strict=True
        )
    ]
    swapped = (1, 0, *range(2, input.ndim))
    return lax.conv_general_dilated(
        input,
        grad,
        dilation,
        around,
        rhs_dilation=strides,
        dimension_numbers=lax.ConvDimensionNumbers(swapped, swapped, swapped),
        batch_group_count=groups,
    )


@aten("convolution_backward")
def convolution_backward(
    grad_output: Tracer,
    input: Tracer,
    weight: Tracer,
    bias_sizes: Sequence[int] | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tracer | None, Tracer | None, Tracer | None]:
    """Gradients by input, kernel and bias, those that are asked for."""
    rank = weight.ndim - 2
    strides, pads = per_dimension(stride, rank), per_dimension(padding, rank)
    spacing = per_dimension(dilation, rank)
    window = weight.shape[2:]
    by_input = by_weight = by_bias = None
    if output_mask[0] and transposed:
        by_input = conv_forward(
            grad_output, weight, strides, [(p, p) for p in pads], spacing, groups
        )
    elif output_mask[0]:
        extra = [
            extent - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
            for extent, n, s, p, d, k in zip(
                input.shape[2:], grad_output.shape[2:], strides, pads, spacing, window, strict=True
            )
        ]
        cut = [(p, p) for p in pads]
        by_input = conv_transposed(grad_output, weight, strides, cut, spacing, extra, groups)
    if output_mask[1]:
        pair = (grad_output, input) if transposed else (input, grad_output)
        by_weight = _weight_gradient(*pair, window, strides, pads, spacing, groups)
    if output_mask[2]:
        by_bias = hnp.sum(widened(grad_output), axis=(0, *range(2, grad_output.ndim)))
        by_bias = convert(by_bias, grad_output.dtype)
    return by_input, by_weight, by_bias


@aten("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(
    grad_output: Tracer,
    self: Tracer,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tracer,
) -> Tracer:
    """Each gradient added where its window's largest element was."""
    rank = len(kernel_size)
    extents = self.shape[self.ndim - rank :]
    windows = windows_of(extents, kernel_size, stride, padding, dilation, ceil_mode)
    if set(windows.dilation) == {1}:
        full = windows.full(self.ndim)
        return lax.select_and_scatter(
            self,
            lax.ge,
            full["window_dimensions"],
            full["window_strides"],
            full["padding"],
            grad_output,
            tensor(0, self.dtype),
            lax.add,
        )
    return added_in_planes(grad_output, self, indices, rank)


@aten("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    grad_output: Tracer,
    self: Tracer,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tracer:
    """Each gradient spread evenly over its window."""
    rank = len(kernel_size)
    lead = self.ndim - rank
    extents = self.shape[lead:]
    windows = windows_of(extents, kernel_size, stride, padding, 1, ceil_mode)
    by = divisors(windows, count_include_pad, divisor_override)
    share = hnp.divide(widened(grad_output), tensor(by, widened(grad_output).dtype))
    zero = tensor(0, share.dtype)
    config = [(0, 0, 0)] * lead
    for extent, n, k, s, (low, _) in zip(
        extents, windows.counts, windows.kernel, windows.strides, windows.pads, strict=True
    ):
        before = k - 1 - low
        config.append((before, extent + k - 1 - before - ((n - 1) * s + 1), s - 1))
    spread = lax.pad(share, zero, config)
    window = (1,) * lead + windows.kernel
    return convert(lax.reduce_window(spread, zero, lax.add, window), self.dtype)


@aten("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(grad_output: Tracer, self: Tracer) -> Tracer:
    """Each gradient spread evenly over its window."""
    rank = 2 if self.ndim < 5 else 3
    found = widened(grad_output)
    for axis in range(self.ndim - rank, self.ndim):
        extent, size = self.shape[axis], grad_output.shape[axis]
        if size == 1:
            shape = (*found.shape[:axis], extent, *found.shape[axis + 1 :])
            found = hnp.broadcast_to(hnp.divide(found, float(extent)), shape)
            continue
        weights = tensor(averaging(extent, size), found.dtype)
        found = hnp.moveaxis(hnp.tensordot(found, weights, axes=([axis], [0])), -1, axis)
    return convert(found, self.dtype)


@aten("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Tracer,
    indices: Tracer,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Tracer:
    """Gradients of the rows of a table, summed over their uses."""
    features = grad_output.shape[-1]
    flat = lax.reshape(indices, (indices.size,))
    rows = lax.reshape(grad_output, (indices.size, features))
    if scale_grad_by_freq:
        counts = hnp.bincount(flat, length=num_weights)
        rows = hnp.divide(rows, lax.expand_dims(hnp.take(counts, flat, axis=0), (1,)))
    if 0 <= padding_idx < num_weights:
        rows = hnp.where(hnp.equal(flat, padding_idx)[:, None], tensor(0, rows.dtype), rows)
    table = hnp.broadcast_to(tensor(0, grad_output.dtype), (num_weights, features))
    return table.at[flat].add(rows)
