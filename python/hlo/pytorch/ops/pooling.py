"""Pooling, with PyTorch's rule for windows that reach over the end (`ceil_mode`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import finfo, iinfo, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.pytorch.ops.pointwise import widened
from hlo.pytorch.ops.products import per_dimension
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.types import INT64, tensor


class Windows:
    """Where the windows of a pooling lie over the last `rank` dimensions.

    Attributes:
        kernel, stride, dilation: one number a dimension.
        pads: (low, high) a dimension, as the windows need them.
        counts: how many windows a dimension has.
    """

    def __init__(
        self,
        extents: Sequence[int],
        kernel: Any,
        stride: Any,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> None:
        rank = len(extents)
        self.kernel = per_dimension(kernel, rank)
        self.stride = per_dimension(stride, rank) if stride not in ([], None, ()) else self.kernel
        self.padding = per_dimension(padding, rank)
        self.dilation = per_dimension(dilation, rank)
        self.counts: list[int] = []
        self.pads: list[tuple[int, int]] = []
        for extent, k, s, p, d in zip(
            extents, self.kernel, self.stride, self.padding, self.dilation, strict=True
        ):
            reach = d * (k - 1) + 1
            spare = extent + 2 * p - reach
            count = (-(-spare // s) if ceil_mode else spare // s) + 1
            # A window must begin inside the input or the padding before it.
            if ceil_mode and (count - 1) * s >= extent + p:
                count -= 1
            self.counts.append(count)
            self.pads.append((p, (count - 1) * s + reach - extent - p))

    def full(self, rank: int) -> dict[str, Any]:
        """The keywords of `reduce_window` for a tensor of `rank` dimensions."""
        lead = rank - len(self.kernel)
        return {
            "window_dimensions": (1,) * lead + self.kernel,
            "window_strides": (1,) * lead + self.stride,
            "padding": [(0, 0)] * lead + self.pads,
            "window_dilation": (1,) * lead + self.dilation,
        }


def _lowest(dtype: np.dtype[Any]) -> Any:
    if is_float(dtype):
        return -np.inf if np.isinf(float(finfo(dtype).max) * 2) else float(finfo(dtype).min)
    return iinfo(dtype).min


def _max_pool(self: Tracer, windows: Windows) -> Tracer:
    low = tensor(_lowest(self.dtype), self.dtype)
    return lax.reduce_window(self, low, lax.max, **windows.full(self.ndim))


@aten("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    self: Tracer,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tracer:
    """The largest of each window."""
    extents = self.shape[self.ndim - len(kernel_size) :]
    return _max_pool(self, Windows(extents, kernel_size, stride, padding, dilation, ceil_mode))


@aten("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d_with_indices")
def max_pool_with_indices(
    self: Tracer,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tracer, Tracer]:
    """The largest of each window, and where it was in the plane."""
    extents = self.shape[self.ndim - len(kernel_size) :]
    windows = Windows(extents, kernel_size, stride, padding, dilation, ceil_mode)
    plane = lax.reshape(lax.iota(INT64, int(np.prod(extents))), extents)
    places = hnp.broadcast_to(plane, self.shape)
    low = tensor(_lowest(self.dtype), self.dtype)

    def larger(a: tuple[Tracer, Tracer], b: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
        take = lax.gt(b[0], a[0])
        if is_float(self.dtype):
            take = lax.bitwise_or(take, lax.ne(b[0], b[0]))
        # Padding has no place: whatever is read first replaces it.
        take = lax.bitwise_or(take, lax.lt(a[1], tensor(0, INT64)))
        take = lax.bitwise_and(take, lax.ge(b[1], tensor(0, INT64)))
        return lax.select(take, b[0], a[0]), lax.select(take, b[1], a[1])

    found = lax.reduce_window(
        (self, places), (low, tensor(-1, INT64)), larger, **windows.full(self.ndim)
    )
    return _max_pool(self, windows), found[1]


def _covered(windows: Windows, extents: Sequence[int], include_pad: bool) -> list[Any]:
    """How many elements each window covers along each dimension."""
    counts: list[Any] = []
    for i, extent in enumerate(extents):
        pad = windows.padding[i]
        starts = np.arange(windows.counts[i]) * windows.stride[i] - pad
        ends = starts + windows.kernel[i]
        if include_pad:
            counts.append(np.minimum(ends, extent + pad) - starts)
        else:
            counts.append(np.minimum(ends, extent) - np.maximum(starts, 0))
    return counts


def divisors(
    windows: Windows, extents: Sequence[int], include_pad: bool, override: int | None
) -> Any:
    """What the sum of each window is divided by: one number, or one a window."""
    if override is not None:
        return float(override)
    table = np.ones(())
    for line in _covered(windows, extents, include_pad):
        table = table[..., None] * line
    if table.size and (table == table.flat[0]).all():
        return float(table.flat[0])
    return table


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    self: Tracer,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tracer:
    """The mean of each window."""
    extents = self.shape[self.ndim - len(kernel_size) :]
    windows = Windows(extents, kernel_size, stride, padding, 1, ceil_mode)
    x = widened(self)
    total = lax.reduce_window(x, tensor(0, x.dtype), lax.add, **windows.full(x.ndim))
    by = divisors(windows, extents, count_include_pad, divisor_override)
    return convert(hnp.divide(total, tensor(by, x.dtype)), self.dtype)


def averaging(extent: int, count: int) -> np.ndarray[Any, Any]:
    """(count, extent): the weights of each window of adaptive pooling."""
    weights = np.zeros((count, extent))
    for i in range(count):
        first, last = i * extent // count, -(-(i + 1) * extent // count)
        weights[i, first:last] = 1 / (last - first)
    return weights


def _even(self: Tracer, sizes: Sequence[int]) -> tuple[Tracer, tuple[int, ...]] | None:
    """The last dimensions split into windows of one extent, and the axes inside them."""
    lead = self.ndim - len(sizes)
    shape: list[int] = list(self.shape[:lead])
    axes: list[int] = []
    for extent, size in zip(self.shape[lead:], sizes, strict=True):
        if not size or extent % size:
            return None
        axes.append(len(shape) + 1)
        shape += [size, extent // size]
    return lax.reshape(self, shape), tuple(axes)


def _sizes(self: Tracer, output_size: Sequence[int | None]) -> list[int]:
    extents = self.shape[self.ndim - len(output_size) :]
    return [e if size is None else size for size, e in zip(output_size, extents, strict=True)]


@aten("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d")
@aten("_adaptive_avg_pool3d")
def adaptive_avg_pool(self: Tracer, output_size: Sequence[int]) -> Tracer:
    """The mean of windows that give so many results a dimension."""
    sizes = _sizes(self, output_size)
    x = widened(self)
    even = _even(x, sizes)
    if even is not None:
        return convert(hnp.mean(even[0], axis=even[1]), self.dtype)
    for i, size in enumerate(sizes):
        axis = x.ndim - len(sizes) + i
        weights = tensor(averaging(x.shape[axis], size), x.dtype)
        x = hnp.moveaxis(hnp.tensordot(x, weights, axes=([axis], [1])), -1, axis)
    return convert(x, self.dtype)


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(self: Tracer, output_size: Sequence[int]) -> tuple[Tracer, Tracer]:
    """The largest of windows that give so many results a dimension, and where they were."""
    sizes = _sizes(self, output_size)
    rank = len(sizes)
    extents = self.shape[self.ndim - rank :]
    found: list[tuple[Tracer, Tracer]] = []
    plane = lax.reshape(lax.iota(INT64, int(np.prod(extents))), extents)
    for place in np.ndindex(*sizes):
        spans = [
            slice(i * e // n, -(-(i + 1) * e // n))
            for i, e, n in zip(place, extents, sizes, strict=True)
        ]
        window = self[(..., *spans)]
        lead = self.shape[: self.ndim - rank]
        flat = lax.reshape(window, (*lead, int(np.prod(window.shape[self.ndim - rank :]))))
        where = convert(hnp.argmax(flat, axis=-1), INT64)
        places = lax.reshape(plane[tuple(spans)], (flat.shape[-1],))
        found.append((hnp.amax(flat, axis=-1), hnp.take(places, where, axis=0)))
    shape = (*self.shape[: self.ndim - rank], *sizes)
    values, index = (
        lax.reshape(hnp.stack([pair[i] for pair in found], axis=-1), shape) for i in (0, 1)
    )
    return values, index
