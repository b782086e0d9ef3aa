"""Operators that read or write where an index says, and those that sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import BOOL
from hlo.frontend.operands import convert, to_tracer
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Array, Call, op


@op("Gather")
def gather(call: Call, x: Tracer, index: Tracer) -> Tracer:
    """Slices along an axis, in the shape of the indices."""
    return hnp.take(x, index, axis=call.get("axis", 0))


@op("GatherElements")
def gather_elements(call: Call, x: Tracer, index: Tracer) -> Tracer:
    """One element for each index, which stands at the element's place along the other axes."""
    return x[_coordinates(index, call.get("axis", 0) % x.ndim)]


def _coordinates(index: Tracer, axis: int) -> tuple[Tracer, ...]:
    """Where elements of an index point: to where they stand, but for one axis."""
    return tuple(
        index if i == axis else lax.broadcasted_iota(INT64, index.shape, i)
        for i in range(index.ndim)
    )


@op("GatherND")
def gather_nd(call: Call, x: Tracer, index: Tracer) -> Tracer:
    """Slices at the positions in the last axis of the indices; leading axes may be a batch."""
    shape = index.shape[:-1]
    batch = [lax.broadcasted_iota(INT64, shape, i) for i in range(call.get("batch_dims", 0))]
    return x[(*batch, *_positions(index))]


def _positions(index: Tracer) -> list[Tracer]:
    return [index[..., i] for i in range(index.shape[-1])]


@op("ScatterElements", "Scatter")
def scatter_elements(call: Call, x: Tracer, index: Tracer, updates: Tracer) -> Tracer:
    """Elements written, or combined, at each index along an axis."""
    return _combined(call, x, _coordinates(index, call.get("axis", 0) % x.ndim), updates)


@op("ScatterND")
def scatter_nd(call: Call, x: Tracer, index: Tracer, updates: Tracer) -> Tracer:
    """Slices written, or combined, at the positions in the last axis of the indices."""
    return _combined(call, x, tuple(_positions(index)), updates)


def _combined(call: Call, x: Tracer, place: tuple[Tracer, ...], updates: Tracer) -> Tracer:
    at, reduction = x.at[place], call.get("reduction", "none")
    if reduction == "none":
        return at.set(updates)
    return {"add": at.add, "mul": at.multiply, "min": at.min, "max": at.max}[reduction](updates)


@op("TensorScatter")
def tensor_scatter(
    call: Call, past: Tracer, update: Tracer, starts: Tracer | None = None
) -> Tracer:
    """A cache of keys or values with new ones written from a position on, for each of the batch."""
    axis = call.get("axis", -2) % past.ndim
    first = hnp.zeros((past.shape[0],), INT64) if starts is None else starts
    lines = lax.reshape(first, (first.size, *(1,) * (update.ndim - 1)))
    index = hnp.add(lines, lax.broadcasted_iota(first.dtype, update.shape, axis))
    if call.get("mode", "linear") == "circular":
        index = hnp.remainder(index, number(past.shape[axis], index))
    return past.at[_coordinates(index, axis)].set(update)


@op("OneHot", static=(1,))
def one_hot(call: Call, index: Tracer, depth: Array, values: Tracer) -> Tracer:
    """`on` where the index is, `off` elsewhere, along a further axis."""
    count = int(np.asarray(depth).item())
    axis = call.get("axis", -1) % (index.ndim + 1)
    at = convert(index, INT64)
    at = hnp.expand_dims(hnp.where(hnp.less(at, 0), hnp.add(at, count), at), axis)
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
    line = hnp.moveaxis(x, axis, -1)
    if call.get("largest", 1):
        values, places = lax.top_k(line, count)
    else:
        index = lax.broadcasted_iota(INT64, line.shape, line.ndim - 1)
        ordered = lax.sort((line, index), num_keys=1)
        values, places = (each[..., :count] for each in ordered)
    return hnp.moveaxis(values, -1, axis), hnp.moveaxis(convert(places, INT64), -1, axis)


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
