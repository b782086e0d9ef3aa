"""sort by a comparator, and top_k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo.reference.comparison import total_order_key
from hlo.reference.computation import Computation
from hlo.reference.element_types import BOOL, Array, is_float, storage_type


def _interleave(inputs: Sequence[Array]) -> list[Array]:
    """Comparator arguments: left and right of each input, in turn, for inputs given as all left,
    then all right.
    """
    half = len(inputs) // 2
    return [x for pair in zip(inputs[:half], inputs[half:], strict=True) for x in pair]


def _less(rows: Sequence[Array], lhs: Array, rhs: Array, comparator: Computation) -> Array:
    """Whether the element at position lhs of each row orders strictly before the one at rhs."""
    left = [np.take_along_axis(x, lhs, axis=1) for x in rows]
    right = [np.take_along_axis(x, rhs, axis=1) for x in rows]
    (result,) = comparator(*_interleave([*left, *right]))
    return np.broadcast_to(np.asarray(result, np.bool_), lhs.shape)


def _merge_positions(
    rows: Sequence[Array], order: Array, width: int, comparator: Computation
) -> Array:
    """For each element of runs of `width` sorted ones, its position after neighbouring runs are
    merged, stably.

    An element moves past the elements of the sibling run that come before it, counted by binary
    search.
    """
    count = order.shape[1]
    index = np.arange(count)
    in_right = (index // width) % 2 == 1
    base = index // (2 * width) * (2 * width)
    sibling = np.where(in_right, base, base + width)
    limit = np.minimum(np.where(in_right, base + width, base + 2 * width), count)
    low = np.broadcast_to(np.minimum(sibling, limit), order.shape).copy()
    high = np.broadcast_to(limit, order.shape).copy()
    start = low.copy()
    while np.any(low < high):
        active = low < high
        middle = np.where(active, (low + high) // 2, 0)
        other = np.take_along_axis(order, middle, axis=1)
        # A right element passes left ones that are not after it; a left one passes right ones
        # strictly before it.
        first = np.where(in_right, order, other)
        second = np.where(in_right, other, order)
        before = _less(rows, first, second, comparator)
        passes = np.where(in_right, ~before, before)
        low = np.where(active & passes, middle + 1, low)
        high = np.where(active & ~passes, middle, high)
    own = index - np.where(in_right, base + width, base)
    return base + own + (low - start)


def _sorted_order(rows: Sequence[Array], comparator: Computation) -> Array:
    """Per row, the stable permutation that sorts it: a bottom-up merge sort, each level a few
    comparator calls.
    """
    shape = rows[0].shape
    order = np.broadcast_to(np.arange(shape[1]), shape).copy()
    width = 1
    while width < shape[1]:
        positions = _merge_positions(rows, order, width, comparator)
        merged = np.empty_like(order)
        np.put_along_axis(merged, positions, order, axis=1)
        order = merged
        width *= 2
    return order


def sort(
    inputs: Sequence[Array], comparator: Computation, *, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, ...]:
    """Inputs, of one shape, reordered together along `dimension` so that `comparator` holds for no
    later, earlier pair.

    `comparator` takes, for each input, a left and a right element. The order is stable whatever
    `is_stable` says.
    """
    del is_stable
    moved = [np.moveaxis(x, dimension, -1) for x in inputs]
    shape = moved[0].shape
    if moved[0].size == 0:
        return tuple(inputs)
    rows = [np.ascontiguousarray(x).reshape(-1, shape[-1]) for x in moved]
    order = _sorted_order(rows, comparator)
    return tuple(
        np.moveaxis(np.take_along_axis(x, order, axis=1).reshape(shape), -1, dimension)
        for x in rows
    )


def top_k(
    operand: Array, *, k: int, index_dtype: np.dtype[np.signedinteger] | None = None
) -> tuple[Array, Array]:
    """The k largest elements along the last dimension, in descending order, and their indices
    (int32).

    Floats are in total order, so a positive NaN is the largest; equal elements keep their order.
    """
    if is_float(operand.dtype):
        key = total_order_key(operand)
    elif operand.dtype == BOOL:
        key = operand.astype(np.int8)
    else:
        key = operand.astype(storage_type(operand.dtype))
    # Complement, unlike negation, reverses the order of every integer without overflow.
    order = np.argsort(np.invert(key), axis=-1, kind="stable")[..., :k]
    values = np.take_along_axis(operand, order, axis=-1)
    return values, order.astype(np.int32 if index_dtype is None else index_dtype)
