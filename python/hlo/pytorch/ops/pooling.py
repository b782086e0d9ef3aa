"""Pooling, with PyTorch's rule for windows that reach over the end (`ceil_mode`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, Windows, tensor, widened
from hlo.pytorch.ops.products import per_dimension
from hlo.pytorch.ops.registry import aten


def windows_of(
    extents: Sequence[int],
    kernel: Any,
    stride: Any,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Windows:
    """The windows of PyTorch's arguments: a number, or one a dimension; without a stride they lie
    side by side."""
    rank = len(extents)
    sizes = per_dimension(kernel, rank)
    strides = per_dimension(stride, rank) if stride not in ([], None, ()) else sizes
    pads = [(p, p) for p in per_dimension(padding, rank)]
    return Windows(extents, sizes, strides, pads, per_dimension(dilation, rank), round_up=ceil_mode)


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
    windows = windows_of(extents, kernel_size, stride, padding, dilation, ceil_mode)
    return windows.largest(self)


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
    windows = windows_of(extents, kernel_size, stride, padding, dilation, ceil_mode)
    plane = lax.reshape(lax.iota(INT64, int(np.prod(extents))), extents)
    places = hnp.broadcast_to(plane, self.shape)
    return windows.largest(self), windows.of_largest(self, places)


def divisors(windows: Windows, include_pad: bool, override: int | None) -> Any:
    """What the sum of each window is divided by: one number, or one a window."""
    return windows.covered(padding=include_pad) if override is None else float(override)


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
    windows = windows_of(extents, kernel_size, stride, padding, 1, ceil_mode)
    x = widened(self)
    by = divisors(windows, count_include_pad, divisor_override)
    return convert(hnp.divide(windows.total(x), tensor(by, x.dtype)), self.dtype)


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
