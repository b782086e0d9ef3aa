"""Sorting, searching and order statistics."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import BOOL, INT32, kind, promote_types
from hlo.frontend.operands import (
    broadcast_to,
    convert,
    normalized_axes,
    normalized_axis,
    shape_error,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy import elementwise as ew
from hlo.numpy.manipulation import moveaxis, ravel
from hlo.numpy.reductions import Axis


@operation
def sort(
    x: ArrayLike, axis: int | None = -1, stable: bool = True, descending: bool = False
) -> Tracer:
    """Ascending (or descending) order along an axis, NaNs last; of the flat array for None."""
    operand = to_tracer(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    place = normalized_axis("sort", axis, operand.ndim)
    result = lax.sort(operand, place, stable)
    return lax.rev(result, (place,)) if descending else result


@operation
def argsort(
    x: ArrayLike, axis: int | None = -1, stable: bool = True, descending: bool = False
) -> Tracer:
    """Indices (int32) that sort along an axis; equal elements keep their order."""
    operand = to_tracer(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    place = normalized_axis("argsort", axis, operand.ndim)
    index = lax.broadcasted_iota(INT32, operand.shape, place)
    if not descending:
        return lax.sort_key_val(operand, index, place, stable)[1]
    # Reversed twice, equal elements stay in order.
    flipped = lax.rev(operand, (place,))
    order = lax.sort_key_val(flipped, lax.rev(index, (place,)), place, stable)[1]
    return lax.rev(order, (place,))


@operation
def lexsort(keys: Sequence[ArrayLike], axis: int = -1) -> Tracer:
    """Indices that sort by the last key, ties by the one before, and so on."""
    arrays = [to_tracer(key) for key in keys]
    place = normalized_axis("lexsort", axis, arrays[0].ndim)
    index = lax.broadcasted_iota(INT32, arrays[0].shape, place)
    return lax.sort((*reversed(arrays), index), place, num_keys=len(arrays))[-1]


@operation
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left") -> Tracer:
    """Where values would go into a sorted vector, before equal elements or after them (right).

    Bisection, for all values at once.
    """
    table, values = to_tracer(a), to_tracer(v)
    if table.ndim != 1 or side not in ("left", "right"):
        raise shape_error(
            "searchsorted", f"expected a vector and a side, found {table.aval}, {side}"
        )
    table, values = _alike(table, values)
    count = table.shape[0]
    low = lax.full(values.shape, 0, INT32)
    high = lax.full(values.shape, count, INT32)
    if not count:
        return low

    def halve(_: Tracer, bounds: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
        low, high = bounds
        middle = lax.shift_right_logical(lax.add(low, high), 1)
        probe = table[lax.min(middle, count - 1)]
        before = _precedes(probe, values) if side == "left" else _not_after(probe, values)
        go_right = lax.bitwise_and(before, lax.lt(low, high))
        shrink = lax.bitwise_and(lax.bitwise_not(before), lax.lt(low, high))
        return (
            lax.select(go_right, lax.add(middle, 1), low),
            lax.select(shrink, middle, high),
        )

    return lax.fori_loop(0, count.bit_length(), halve, (low, high))[0]


def _alike(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
    dtype = promote_types((a.dtype, b.dtype))
    return convert(a, dtype), convert(b, dtype)


def _precedes(x: Tracer, y: Tracer) -> Tracer:
    """x < y where NaN comes after all numbers."""
    less = lax.lt(x, y)
    if kind(x.dtype) != "f":
        return less
    return lax.bitwise_or(less, lax.bitwise_and(ew.isnan(y), lax.bitwise_not(ew.isnan(x))))


def _not_after(x: Tracer, y: Tracer) -> Tracer:
    """x <= y where NaN comes after all numbers."""
    return lax.bitwise_not(_precedes(y, x))


@operation
def quantile(x: ArrayLike, q: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Quantiles along one or more axes (of the flat array by default), linearly interpolated; NaN
    spreads.

    The result has q's dimensions first.
    """
    operand = ew.inexact("quantile", x)[0]
    rank = operand.ndim
    places = range(rank) if axis is None else normalized_axes("quantile", axis, rank)
    moved = moveaxis(operand, tuple(places), tuple(range(len(places))))
    values = lax.reshape(moved, (prod(moved.shape[: len(places)]), *moved.shape[len(places) :]))
    fractions = convert(to_tracer(q), values.dtype)
    ordered = lax.sort(values, 0)
    last = values.shape[0] - 1
    if last < 0:
        raise shape_error("quantile", f"no element along the axis of {operand.aval}")
    position = lax.mul(fractions, float(last))
    below = lax.floor(position)
    weight = lax.sub(position, below)
    index = convert(below, INT32)
    low, high = ordered[index], ordered[lax.min(lax.add(index, 1), last)]
    weight = lax.reshape(weight, (*weight.shape, *(1,) * (values.ndim - 1)))
    weight = broadcast_to(weight, values.dtype, low.shape)
    mixed = lax.add(lax.mul(low, lax.sub(1.0, weight)), lax.mul(high, weight))
    missing = lax.reduce_or(ew.isnan(values), (0,))
    mixed = lax.select(
        broadcast_to(missing, BOOL, mixed.shape), lax.full_like(mixed, np.nan), mixed
    )
    if keepdims:
        shape = [1 if i in places else extent for i, extent in enumerate(operand.shape)]
        mixed = lax.reshape(mixed, (*fractions.shape, *shape))
    return mixed


@operation
def percentile(x: ArrayLike, q: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """`quantile` of hundredths."""
    return quantile(x, ew.divide(q, 100), axis, keepdims)


@operation
def median(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """The middle of the ordered elements along one or more axes, of the flat array by default."""
    return quantile(x, 0.5, axis, keepdims)


@operation
def isin(element: ArrayLike, test_elements: ArrayLike, invert: bool = False) -> Tracer:
    """Whether each element is among others."""
    elements, others = ravel(element), ravel(test_elements)
    equal = ew.equal(elements[:, None], others[None, :])
    found = lax.reshape(lax.reduce_or(equal, (1,)), to_tracer(element).shape)
    return lax.bitwise_not(found) if invert else found


@operation
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Tracer:
    """For each element the number of ascending bin edges at or below it (below it, if right)."""
    return searchsorted(bins, x, side="left" if right else "right")


@operation
def bincount(x: ArrayLike, weights: ArrayLike = None, *, length: int) -> Tracer:
    """How often each number below `length` occurs; larger ones are dropped, negative ones are 0."""
    index = to_tracer(x)
    ones = lax.full(index.shape, 1, INT32) if weights is None else to_tracer(weights)
    zeros = lax.full((length,), 0, ones.dtype)
    return zeros.at[ew.maximum(index, 0)].add(ones)


@operation
def nonzero(x: ArrayLike, *, size: int, fill_value: int = 0) -> tuple[Tracer, ...]:
    """Indices of the first `size` elements that are not zero, one array a dimension.

    Places left over hold `fill_value`: results have shapes known when tracing.
    """
    operand = to_tracer(x)
    flat = ew.as_bool(ravel(operand))
    number = lax.sub(lax.cumsum(convert(flat, INT32)), 1)
    place = lax.select(flat, number, lax.full_like(number, size))
    count = lax.reduce_sum(convert(flat, INT32), (0,))
    found = lax.full((size,), 0, INT32).at[place].set(lax.iota(INT32, flat.size))
    missing = lax.ge(lax.iota(INT32, size), count)
    results: list[Tracer] = []
    stride = flat.size
    for extent in operand.shape:
        stride = stride // extent if extent else 1
        index = lax.rem(lax.div(found, stride or 1), extent or 1)
        results.append(lax.select(missing, lax.full_like(index, fill_value), index))
    return tuple(results)
