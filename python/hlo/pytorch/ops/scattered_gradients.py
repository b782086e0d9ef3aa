"""Gradients added at the places that values were taken from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import tensor, widened
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.ops.resampling import filter_taps, nearest_places, step_between

Array = np.ndarray[Any, Any]


def _added(grad: Tracer, axis: int, places: Array, extent: int) -> Tracer:
    """The transpose of taking elements `places` of `extent` along an axis."""
    count = len(places)
    lead, rest = grad.shape[:axis], grad.shape[axis + 1 :]
    each = count // extent
    if each * extent == count and np.array_equal(places, np.arange(count) // max(each, 1)):
        return hnp.sum(lax.reshape(grad, (*lead, extent, each, *rest)), axis=axis + 1)
    zeros = hnp.broadcast_to(tensor(0, grad.dtype), (*lead, extent, *rest))
    return zeros.at[(slice(None),) * axis + (places,)].add(grad)


def _nearest(half: float) -> Callable[..., Tracer]:
    def backward(
        grad_output: Tracer,
        output_size: Sequence[int],
        input_size: Sequence[int],
        scales: float | None = None,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tracer:
        """Each gradient added to the element that its result is."""
        rank = len(output_size)
        given = [scales] if rank == 1 else [scales_d, scales_h, scales_w][3 - rank :]
        found = widened(grad_output)
        for i, (size, extent) in enumerate(zip(output_size, input_size[2:], strict=True)):
            if size != extent or half:
                places = nearest_places(size, extent, given[i], half)
                found = _added(found, 2 + i, places, extent)
        return convert(found, grad_output.dtype)

    return backward


for _rank in (1, 2, 3):
    aten(f"upsample_nearest{_rank}d_backward")(_nearest(0.0))
    aten(f"_upsample_nearest_exact{_rank}d_backward")(_nearest(0.5))


def _smoothed(*, cubic: bool) -> Callable[..., Tracer]:
    def backward(
        grad_output: Tracer,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tracer:
        """Each gradient added by weight to the elements that its result is a sum of."""
        found = widened(grad_output)
        for i, scale in enumerate((scales_h, scales_w)):
            extent, size = input_size[2 + i], output_size[i]
            step = step_between(extent, size, align_corners, scale)
            weights = np.zeros((extent, size))
            for at, weight in filter_taps(size, extent, step, cubic=cubic):
                np.add.at(weights, (np.clip(at, 0, extent - 1), np.arange(size)), weight)
            line = hnp.tensordot(found, tensor(weights, found.dtype), axes=([2 + i], [1]))
            found = hnp.moveaxis(line, -1, 2 + i)
        return convert(found, grad_output.dtype)

    return backward


aten("_upsample_bilinear2d_aa_backward")(_smoothed(cubic=False))
aten("_upsample_bicubic2d_aa_backward")(_smoothed(cubic=True))


@aten("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def replication_pad_backward(grad_output: Tracer, self: Tracer, padding: Sequence[int]) -> Tracer:
    """Gradients of the padding added to the edge that it repeats."""
    found = widened(grad_output)
    for i, (low, high) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        axis = self.ndim - 1 - i
        extent = self.shape[axis]
        places = np.clip(np.arange(-low, extent + high), 0, extent - 1)
        found = _added(found, axis, places, extent)
    return convert(found, self.dtype)


@aten("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_max_pool_backward(grad_output: Tracer, self: Tracer, indices: Tracer) -> Tracer:
    """Each gradient added where its window's largest element was."""
    return added_in_planes(grad_output, self, indices, 2 if indices.ndim < 5 else 3)


def added_in_planes(grad: Tracer, self: Tracer, indices: Tracer, rank: int) -> Tracer:
    """Zeros of the shape of `self`, to which gradients are added at `indices` into the last `rank`
    dimensions taken as one.
    """
    lead = self.shape[: self.ndim - rank]
    rows, plane = int(np.prod(lead)), int(np.prod(self.shape[self.ndim - rank :]))
    places = lax.reshape(indices, (rows, indices.size // max(rows, 1)))
    line = lax.reshape(lax.iota(places.dtype, rows), (rows, 1))
    zeros = hnp.broadcast_to(tensor(0, self.dtype), (rows, plane))
    found = zeros.at[(line, places)].add(lax.reshape(grad, places.shape))
    return lax.reshape(found, self.shape)


@aten("masked_scatter_backward")
def masked_scatter_backward(grad_output: Tracer, mask: Tracer, sizes: Sequence[int]) -> Tracer:
    """Gradients where the mask holds, one after another, in the source's shape."""
    size = int(np.prod(sizes))
    flat = lax.reshape(grad_output, (grad_output.size,))
    held = lax.reshape(hnp.broadcast_to(mask, grad_output.shape), flat.shape)
    place = hnp.subtract(hnp.cumsum(convert(held, np.dtype(np.int64))), 1)
    zeros = hnp.broadcast_to(tensor(0, flat.dtype), (size,))
    # What the mask leaves out goes past the end, where updates are dropped.
    found = zeros.at[hnp.where(held, place, size)].set(flat)
    return lax.reshape(found, tuple(sizes))
