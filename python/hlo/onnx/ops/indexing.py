"""Operators that read or write where an index says, and those that sort."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import BOOL
from hlo.frontend.operands import convert, to_tracer
from hlo.frontend.tracer import Tracer
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Array, Call, op

INT64: Final = np.dtype(np.int64)
_COMBINE: Final = {"none": "set", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def wrapped(index: Tracer, extent: int) -> Tracer:
    """Indices that count from the end as indices from the start."""
    if index.dtype.kind == "u":
        return index
    return hnp.where(lax.lt(index, number(0, index)), hnp.add(index, number(extent, index)), index)


@op("Gather")
def gather(call: Call, x: Tracer, index: Tracer) -> Tracer:
    """Slices along an axis, in the shape of the indices."""
    return hnp.take(x, index, axis=call.get("axis", 0))


@op("GatherElements")
def gather_elements(call: Call, x: Tracer, index: Tracer) -> Tracer:
    """One element for each index, which stands at the element's place along the other axes."""
    axis = call.get("axis", 0) % x.ndim
    places = _places(index, axis, x.shape[axis])
    return _point_gather(x, places)


def _places(index: Tracer, axis: int, extent: int) -> Tracer:
    """(..., rank): the whole position of each element, by its index along one axis."""
    parts = [
        wrapped(index, extent) if i == axis else lax.broadcasted_iota(index.dtype, index.shape, i)
        for i in range(index.ndim)
    ]
    return hnp.stack(parts, axis=-1)


def _point_gather(x: Tracer, places: Tracer) -> Tracer:
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=tuple(range(x.ndim)),
        start_index_map=tuple(range(x.ndim)),
    )
    return lax.gather(x, places, numbers, (1,) * x.ndim)


@op("GatherND")
def gather_nd(call: Call, x: Tracer, index: Tracer) -> Tracer:
    """Slices at the positions in the last axis of the indices; leading axes may be a batch."""
    batch = call.get("batch_dims", 0)
    full = _with_batch(index, batch)
    depth = full.shape[-1]
    parts = [wrapped(full[..., i], x.shape[i]) for i in range(depth)]
    places = hnp.stack(parts, axis=-1)
    lead = places.ndim - 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(lead, lead + x.ndim - depth)),
        collapsed_slice_dims=tuple(range(depth)),
        start_index_map=tuple(range(depth)),
    )
    return lax.gather(x, places, numbers, (*(1,) * depth, *x.shape[depth:]))


def _with_batch(index: Tracer, batch: int) -> Tracer:
    """Indices that begin with the position in the batch they stand at."""
    if not batch:
        return index
    shape = (*index.shape[:-1], 1)
    lead = [lax.broadcasted_iota(index.dtype, shape, i) for i in range(batch)]
    return hnp.concatenate([*lead, index], axis=-1)


@op("ScatterElements", "Scatter")
def scatter_elements(call: Call, x: Tracer, index: Tracer, updates: Tracer) -> Tracer:
    """Elements written, or combined, at each index along an axis."""
    axis = call.get("axis", 0) % x.ndim
    places = _places(index, axis, x.shape[axis])
    rank = x.ndim
    numbers = lax.ScatterDimensionNumbers((), tuple(range(rank)), tuple(range(rank)))
    return lax.scatter(x, places, updates, numbers, _combine(call))


@op("ScatterND")
def scatter_nd(call: Call, x: Tracer, index: Tracer, updates: Tracer) -> Tracer:
    """Slices written, or combined, at the positions in the last axis of the indices."""
    depth = index.shape[-1]
    parts = [wrapped(index[..., i], x.shape[i]) for i in range(depth)]
    lead = index.ndim - 1
    numbers = lax.ScatterDimensionNumbers(
        tuple(range(lead, updates.ndim)), tuple(range(depth)), tuple(range(depth))
    )
    return lax.scatter(x, hnp.stack(parts, axis=-1), updates, numbers, _combine(call))


def _combine(call: Call) -> str:
    return _COMBINE[call.get("reduction", "none")]


@op("TensorScatter")
def tensor_scatter(
    call: Call, past: Tracer, update: Tracer, starts: Tracer | None = None
) -> Tracer:
    """A cache of keys or values with new ones written from a position on, for each of the batch."""
    axis = call.get("axis", -2) % past.ndim
    extent = past.shape[axis]
    first = hnp.zeros((past.shape[0],), INT64) if starts is None else starts
    line = [1] * update.ndim
    line[axis] = update.shape[axis]
    steps = lax.reshape(hnp.arange(update.shape[axis], dtype=first.dtype), line)
    index = hnp.add(lax.reshape(first, (first.size, *(1,) * (update.ndim - 1))), steps)
    if call.get("mode", "linear") == "circular":
        index = hnp.remainder(index, number(extent, index))
    places = _places(hnp.broadcast_to(index, update.shape), axis, extent)
    every = tuple(range(past.ndim))
    return lax.scatter(past, places, update, lax.ScatterDimensionNumbers((), every, every), "set")


@op("OneHot", static=(1,))
def one_hot(call: Call, index: Tracer, depth: Array, values: Tracer) -> Tracer:
    """`on` where the index is, `off` elsewhere, along a further axis."""
    count = int(np.asarray(depth).item())
    axis = call.get("axis", -1) % (index.ndim + 1)
    at = hnp.expand_dims(wrapped(convert(index, INT64), count), axis)
    line = [1] * (index.ndim + 1)
    line[axis] = count
    hot = hnp.equal(at, lax.reshape(hnp.arange(count, dtype=INT64), line))
    return hnp.where(hot, values[1], values[0])


@op("NonZero", raw=True)
def nonzero(call: Call, x: Any) -> Array:
    """Where a known tensor is not zero."""
    return np.asarray(np.nonzero(np.atleast_1d(call.known(0, x))), np.int64)


@op("Unique", raw=True)
def unique(call: Call, x: Any) -> tuple[Array, ...]:
    """The different elements of a known tensor, or slices along an axis."""
    axis = call.get("axis")
    found, first, inverse, counts = np.unique(
        call.known(0, x), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.ravel()
    if not call.get("sorted", 1):
        order = np.argsort(first)
        rank = np.argsort(order)
        found = np.take(found, order, axis=axis or 0)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    return found, *(each.astype(np.int64) for each in (first, inverse, counts))


@op("TopK", static=(1,))
def top_k(call: Call, x: Tracer, k: Array | None = None) -> tuple[Tracer, Tracer]:
    """The largest or smallest elements along an axis, sorted, and where they are; of equals the
    first."""
    count = call.get("k") if k is None else int(np.asarray(k).item())
    axis = call.get("axis", -1) % x.ndim
    places = lax.broadcasted_iota(INT64, x.shape, axis)
    values, order = _sorted_pair(x, places, axis, largest=bool(call.get("largest", 1)))
    return tuple(lax.slice_in_dim(each, 0, count, axis=axis) for each in (values, order))  # pyright: ignore


def _sorted_pair(x: Tracer, places: Tracer, axis: int, *, largest: bool) -> tuple[Tracer, Tracer]:
    if not largest:
        found = lax.sort((x, places), dimension=axis, num_keys=1)
        return found[0], found[1]
    # In reverse and back: among equals the first stays first.
    turned = (hnp.flip(x, axis), hnp.flip(places, axis))
    found = lax.sort(turned, dimension=axis, num_keys=1)
    return hnp.flip(found[0], axis), hnp.flip(found[1], axis)


# --- sequences and optionals ------------------------------------------------------------------


@op("SequenceConstruct", raw=True)
def sequence(call: Call, *values: Any) -> list[Any]:
    """A sequence of tensors, whose length is known when the program is compiled."""
    return list(values)


@op("SequenceEmpty", raw=True)
def sequence_empty(call: Call) -> list[Any]:
    """A sequence of no tensors."""
    return []


@op("SequenceAt", raw=True)
def sequence_at(call: Call, values: list[Any], position: Any) -> Any:
    """One tensor of a sequence."""
    return values[call.known(1, position).item()]


@op("SequenceInsert", raw=True)
def sequence_insert(call: Call, values: list[Any], value: Any, position: Any = None) -> list[Any]:
    """A sequence with one tensor more."""
    at = len(values) if position is None else call.known(2, position).item()
    at = at + len(values) if at < 0 else at
    return [*values[:at], value, *values[at:]]


@op("SequenceErase", raw=True)
def sequence_erase(call: Call, values: list[Any], position: Any = None) -> list[Any]:
    """A sequence with one tensor less."""
    at = (-1 if position is None else call.known(1, position).item()) % len(values)
    return [*values[:at], *values[at + 1 :]]


@op("SequenceLength", raw=True)
def sequence_length(call: Call, values: list[Any]) -> Array:
    """How many tensors there are."""
    return np.asarray(len(values), np.int64)


@op("SplitToSequence", raw=True)
def split_to_sequence(call: Call, x: Any, split: Any = None) -> list[Any]:
    """Parts along an axis: of one extent, of given ones, or slices."""
    axis = call.get("axis", 0) % x.ndim
    extent = x.shape[axis]
    x = to_tracer(x) if isinstance(x, np.ndarray) else x
    if split is None:
        parts = [lax.slice_in_dim(x, i, i + 1, axis=axis) for i in range(extent)]
        return parts if call.get("keepdims", 1) else [hnp.squeeze(part, axis) for part in parts]
    given = call.known(1, split)
    if given.ndim:
        ends = np.cumsum(given).tolist()
    else:
        step = int(given.item())
        ends = [min(i + step, extent) for i in range(0, extent, step)]
    return [
        lax.slice_in_dim(x, start, end, axis=axis)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


@op("ConcatFromSequence", raw=True)
def concatenate_sequence(call: Call, values: list[Any]) -> Any:
    """The tensors of a sequence one after another, or along a further axis."""
    join = hnp.stack if call.get("new_axis", 0) else hnp.concatenate
    return join(values, axis=call.get("axis"))


@op("Optional", raw=True)
def optional(call: Call, value: Any = None) -> Any:
    """The value, or nothing."""
    return value


@op("OptionalHasElement", raw=True)
def has_element(call: Call, value: Any = None) -> Array:
    """Whether there is a value."""
    return np.asarray(value is not None, BOOL)


@op("OptionalGetElement", raw=True)
def get_element(call: Call, value: Any) -> Any:
    """The value."""
    return value
