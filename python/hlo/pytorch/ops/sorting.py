"""Sorts, selections and searches."""

from __future__ import annotations

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor, widened
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.ops.views import normalized
from hlo.pytorch.types import inexact


@aten("sort", "sort.stable")
def sort(
    self: Tracer, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Tracer, Tracer]:
    """Sorted along a dimension, and where each element was; stable, NaN last (first descending)."""
    if self.ndim == 0:
        return self, tensor(0, INT64)
    place = normalized(dim, self.ndim)
    index = lax.broadcasted_iota(INT64, self.shape, place)
    if not descending:
        values, places = lax.sort((self, index), dimension=place, num_keys=1, is_stable=True)
        return values, places
    # Reversed twice, so that equal elements keep their order.
    backwards = (lax.rev(self, (place,)), lax.rev(index, (place,)))
    values, places = lax.sort(backwards, dimension=place, num_keys=1, is_stable=True)
    return lax.rev(values, (place,)), lax.rev(places, (place,))


@aten("argsort", "argsort.stable")
def argsort(self: Tracer, dim: int = -1, descending: bool = False, stable: bool = False) -> Tracer:
    """Where each element of the sorted tensor was."""
    return sort(self, dim, descending)[1]


@aten("topk")
def topk(
    self: Tracer, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tracer, Tracer]:
    """The k largest (or smallest) along a dimension in order, and their places."""
    if self.ndim == 0:
        return self, tensor(0, INT64)
    place = normalized(dim, self.ndim)
    moved = hnp.moveaxis(self, place, -1)
    if largest:
        values, index = lax.top_k(moved, k)
    else:
        ordered, places = sort(moved, -1)
        values = lax.slice_in_dim(ordered, 0, k, axis=moved.ndim - 1)
        index = lax.slice_in_dim(places, 0, k, axis=moved.ndim - 1)
    return hnp.moveaxis(values, -1, place), hnp.moveaxis(convert(index, INT64), -1, place)


@aten("kthvalue")
def kthvalue(self: Tracer, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The k-th smallest along a dimension, and its place."""
    values, places = sort(self, dim)
    place = normalized(dim, self.ndim)
    found = (lax.slice_in_dim(x, k - 1, k, axis=place) for x in (values, places))
    value, index = (x if keepdim else lax.squeeze(x, (place,)) for x in found)
    return value, index


@aten("median")
def median_of_all(self: Tracer) -> Tracer:
    """The lower median of all elements; NaN if there is one."""
    values, _ = sort(lax.reshape(self, (self.size,)))
    middle = values[(self.size - 1) // 2]
    if not is_float(self.dtype):
        return middle
    last = values[self.size - 1]
    return hnp.where(hnp.isnan(last), last, middle)


@aten("median.dim")
def median(self: Tracer, dim: int, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The lower median along a dimension, and its place."""
    if self.ndim == 0:
        return self, tensor(0, INT64)
    return kthvalue(self, (self.shape[normalized(dim, self.ndim)] + 1) // 2, dim, keepdim)


@aten("nanmedian")
def nanmedian_of_all(self: Tracer) -> Tracer:
    """The lower median of the elements that are not NaN."""
    return nanmedian(lax.reshape(self, (self.size,)), 0)[0]


@aten("nanmedian.dim")
def nanmedian(self: Tracer, dim: int, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The lower median of what is not NaN along a dimension, and its place."""
    if not is_float(self.dtype) or self.ndim == 0:
        return median(self, dim, keepdim)
    place = normalized(dim, self.ndim)
    values, places = sort(self, dim)  # NaN are last
    counts = hnp.sum(convert(hnp.logical_not(hnp.isnan(self)), INT64), axis=place, keepdims=True)
    middle = hnp.maximum(hnp.floor_divide(hnp.subtract(counts, 1), 2), 0)
    return _picked(values, places, middle, place, keepdim)


def _picked(
    values: Tracer, places: Tracer, at: Tracer, dim: int, keepdim: bool
) -> tuple[Tracer, Tracer]:
    """One of the values along a dimension and its place, from where `at` says."""
    found = (hnp.take_along_axis(x, at, axis=dim) for x in (values, places))
    value, index = (x if keepdim else lax.squeeze(x, (dim,)) for x in found)
    return value, index


@aten("mode")
def mode(self: Tracer, dim: int = -1, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The smallest of the most frequent elements along a dimension, and its last place."""
    if self.ndim == 0:
        return self, tensor(0, INT64)
    place = normalized(dim, self.ndim)
    values, places = sort(self, dim)
    index = lax.broadcasted_iota(INT64, self.shape, place)
    ahead = hnp.roll(values, 1, axis=place)
    first = hnp.logical_or(hnp.not_equal(values, ahead), hnp.equal(index, 0))
    begins = lax.cummax(hnp.where(first, index, 0), axis=place)
    length = hnp.subtract(index, begins)
    return _picked(values, places, hnp.argmax(length, axis=place, keepdims=True), place, keepdim)


@aten("histc")
def histc(self: Tracer, bins: int = 100, min: float = 0, max: float = 0) -> Tracer:
    """How many elements lie in each of so many equal parts of [min, max], or of what they span."""
    flat = lax.reshape(self, (self.size,))
    x = widened(inexact(flat))
    if min == max == 0:
        low, high = hnp.amin(x), hnp.amax(x)
        same = hnp.equal(low, high)
        low, high = (
            hnp.where(same, hnp.subtract(low, 1), low),
            hnp.where(same, hnp.add(high, 1), high),
        )
    else:
        low, high = tensor(min, x.dtype), tensor(max, x.dtype)
    place = hnp.divide(hnp.multiply(hnp.subtract(x, low), bins), hnp.subtract(high, low))
    inside = hnp.logical_and(hnp.greater_equal(x, low), hnp.less_equal(x, high))
    index = hnp.minimum(convert(lax.floor(place), INT64), bins - 1)
    counts = hnp.broadcast_to(tensor(0, self.dtype), (bins,))
    # What lies outside goes past the end, where updates are dropped.
    return counts.at[hnp.where(inside, index, bins)].add(tensor(1, self.dtype))


@aten("bincount")
def bincount(self: Tracer, weights: Tracer | None = None, minlength: int = 0) -> Tracer:
    """The size of its result depends on the values."""
    raise UnsupportedError(
        "the shape of its result depends on the values of its operand, which are not known when "
        "compiling; use scatter_add into a tensor of a fixed size",
        op="aten.bincount",
    )


@aten("searchsorted.Tensor", "bucketize.Tensor")
def searchsorted(
    self: Tracer,
    sorted_sequence: Tracer | None = None,
    boundaries: Tracer | None = None,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tracer | None = None,
) -> Tracer:
    """Where elements would be entered into a sorted vector."""
    edges = sorted_sequence if sorted_sequence is not None else boundaries
    assert edges is not None
    dtype = np.dtype(np.int32) if out_int32 else INT64
    after = right or side == "right"
    if edges.ndim == 1:
        return convert(hnp.searchsorted(edges, self, side="right" if after else "left"), dtype)
    below = hnp.less_equal if after else hnp.less
    edges_ = lax.expand_dims(edges, (edges.ndim - 1,))
    held = below(edges_, lax.expand_dims(self, (self.ndim,)))
    return hnp.sum(convert(held, dtype), axis=-1)
