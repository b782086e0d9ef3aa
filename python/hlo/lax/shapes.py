"""Operations that move elements at places known when tracing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import DtypeLike, canonical_dtype, dtype_name, is_python_scalar, kind
from hlo.frontend.operands import (
    broadcast_in_dim as _broadcast_in_dim,
)
from hlo.frontend.operands import (
    broadcast_to,
    dtype_error,
    normalized_axes,
    normalized_axis,
    shape_error,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer


@operation
def broadcast_in_dim(
    operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Tracer:
    """Dimension i of the operand becomes dimension broadcast_dimensions[i] of the result.

    Extents of 1 and missing dimensions are repeated.
    """
    x = to_tracer(operand)
    dimensions = tuple(broadcast_dimensions)
    if len(dimensions) != x.ndim or len(set(dimensions)) != x.ndim:
        raise shape_error(
            "hlo.broadcast_in_dim",
            f"expected {x.ndim} distinct dimensions for an operand {x.aval}, found {dimensions}",
        )
    for extent, dimension in zip(x.shape, dimensions, strict=True):
        if not 0 <= dimension < len(shape) or extent not in (1, shape[dimension]):
            raise shape_error(
                "hlo.broadcast_in_dim",
                f"cannot broadcast {x.aval} to {tuple(shape)} along dimensions {dimensions}",
            )
    if x.shape == tuple(shape) and dimensions != tuple(range(x.ndim)):
        return transpose(x, np.argsort(dimensions).tolist())
    return _broadcast_in_dim(x, shape, dimensions)


@operation
def broadcast(operand: ArrayLike, sizes: Sequence[int]) -> Tracer:
    """The operand repeated along new leading dimensions of these extents."""
    x = to_tracer(operand)
    shape = (*sizes, *x.shape)
    return _broadcast_in_dim(x, shape, range(len(sizes), len(shape)))


@operation
def reshape(operand: ArrayLike, new_sizes: Sequence[int]) -> Tracer:
    """The elements in row-major order in another shape."""
    x = to_tracer(operand)
    shape = tuple(int(size) for size in new_sizes)
    if x.shape == shape:
        return x
    if prod(shape) != x.size or any(size < 0 for size in shape):
        raise shape_error(
            "hlo.reshape",
            f"cannot reshape {x.aval} ({x.size} elements) to {shape} ({prod(shape)} elements)",
        )
    return emit("reshape", (x,), (x.aval.with_shape(shape),))[0]


@operation
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Tracer:
    """Dimension i of the result is dimension permutation[i] of the operand."""
    x = to_tracer(operand)
    permutation = tuple(int(p) for p in permutation)
    if sorted(permutation) != list(range(x.ndim)):
        raise shape_error(
            "hlo.transpose",
            f"expected a permutation of {tuple(range(x.ndim))} for {x.aval}, found {permutation}",
        )
    if permutation == tuple(range(x.ndim)):
        return x
    shape = [x.shape[p] for p in permutation]
    attribute = {"permutation": attributes.i64s(permutation)}
    return emit("transpose", (x,), (x.aval.with_shape(shape),), attribute)[0]


@operation
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Tracer:
    """The order of the elements reversed along dimensions."""
    x = to_tracer(operand)
    axes = normalized_axes("hlo.reverse", tuple(dimensions), x.ndim)
    if not axes:
        return x
    return emit("reverse", (x,), (x.aval,), {"dimensions": attributes.i64s(axes)})[0]


@operation
def squeeze(operand: ArrayLike, dimensions: Sequence[int]) -> Tracer:
    """The operand without these dimensions, which have extent 1."""
    x = to_tracer(operand)
    axes = normalized_axes("hlo.reshape", tuple(dimensions), x.ndim)
    wrong = [axis for axis in axes if x.shape[axis] != 1]
    if wrong:
        raise shape_error(
            "hlo.reshape", f"cannot squeeze axes {wrong} of {x.aval}: their extent is not 1"
        )
    return reshape(x, [extent for axis, extent in enumerate(x.shape) if axis not in axes])


@operation
def expand_dims(operand: ArrayLike, dimensions: Sequence[int]) -> Tracer:
    """The operand with dimensions of extent 1 at these places of the result."""
    x = to_tracer(operand)
    rank = x.ndim + len(tuple(dimensions))
    axes = set(normalized_axes("hlo.reshape", tuple(dimensions), rank))
    extents = iter(x.shape)
    return reshape(x, [1 if axis in axes else next(extents) for axis in range(rank)])


@operation
def concatenate(operands: Sequence[ArrayLike], dimension: int) -> Tracer:
    """Operands of one dtype joined along a dimension."""
    parts = [to_tracer(operand) for operand in operands]
    if not parts:
        raise shape_error("hlo.concatenate", "expected at least one operand, found none")
    first = parts[0]
    axis = normalized_axis("hlo.concatenate", dimension, first.ndim)
    for part in parts[1:]:
        if part.dtype != first.dtype:
            raise dtype_error(
                "hlo.concatenate",
                f"expected operands of one element type, found {dtype_name(first.dtype)} and "
                f"{dtype_name(part.dtype)}",
            )
        same = [a == b for a, b in zip(part.shape, first.shape, strict=False)]
        if part.ndim != first.ndim or not all(s for i, s in enumerate(same) if i != axis):
            raise shape_error(
                "hlo.concatenate",
                f"expected operands equal in all dimensions but {axis}, found {first.aval} and "
                f"{part.aval}",
            )
    if len(parts) == 1:
        return first
    shape = list(first.shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    attribute = {"dimension": attributes.i64(axis)}
    return emit("concatenate", parts, (first.aval.with_shape(shape),), attribute)[0]


@operation
def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Tracer:
    """Padding of each dimension by (low, high, interior) elements; low and high may be negative."""
    x = to_tracer(operand)
    value = to_tracer(padding_value, x.dtype)
    config = [tuple(int(v) for v in triple) for triple in padding_config]
    if len(config) != x.ndim or any(len(t) != 3 or t[2] < 0 for t in config):
        raise shape_error(
            "hlo.pad",
            f"expected {x.ndim} triples (low, high, interior >= 0) for {x.aval}, found {config}",
        )
    if value.shape != () or value.dtype != x.dtype:
        raise shape_error(
            "hlo.pad", f"expected a padding value {ShapeDtype((), x.dtype)}, found {value.aval}"
        )
    if all(t == (0, 0, 0) for t in config):
        return x
    lows, highs, interiors = ([t[i] for t in config] for i in range(3))
    shape = [
        low + extent + max(extent - 1, 0) * interior + high
        for extent, low, high, interior in zip(x.shape, lows, highs, interiors, strict=True)
    ]
    if any(extent < 0 for extent in shape):
        raise shape_error("hlo.pad", f"padding {config} of {x.aval} leaves a negative extent")
    attribute = {
        "edge_padding_low": attributes.i64s(lows),
        "edge_padding_high": attributes.i64s(highs),
        "interior_padding": attributes.i64s(interiors),
    }
    return emit("pad", (x, value), (x.aval.with_shape(shape),), attribute)[0]


@operation
def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Tracer:
    """Elements start, start + stride, ... below limit of each dimension."""
    x = to_tracer(operand)
    starts = [int(v) for v in start_indices]
    limits = [int(v) for v in limit_indices]
    steps = [1] * x.ndim if strides is None else [int(v) for v in strides]
    if not len(starts) == len(limits) == len(steps) == x.ndim:
        raise shape_error("hlo.slice", f"expected {x.ndim} starts, limits and strides for {x.aval}")
    for extent, start, limit, step in zip(x.shape, starts, limits, steps, strict=True):
        if not 0 <= start <= limit <= extent or step < 1:
            raise shape_error(
                "hlo.slice",
                f"expected 0 <= start <= limit <= extent and stride >= 1 in each dimension of "
                f"{x.aval}, found starts {starts}, limits {limits}, strides {steps}",
            )
    spans = zip(starts, limits, steps, strict=True)
    shape = [-(-(limit - start) // step) for start, limit, step in spans]
    if tuple(shape) == x.shape:
        return x
    attribute = {
        "start_indices": attributes.i64s(starts),
        "limit_indices": attributes.i64s(limits),
        "strides": attributes.i64s(steps),
    }
    return emit("slice", (x,), (x.aval.with_shape(shape),), attribute)[0]


@operation
def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Tracer:
    """`slice` along one dimension; negative bounds count from the end."""
    x = to_tracer(operand)
    axis = normalized_axis("hlo.slice", axis, x.ndim)
    extent = x.shape[axis]
    start = 0 if start_index is None else start_index + extent * (start_index < 0)
    limit = extent if limit_index is None else limit_index + extent * (limit_index < 0)
    starts, limits, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], steps[axis] = start, limit, stride
    return slice(x, starts, limits, steps)


@operation
def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DtypeLike = None) -> Tracer:
    """An array that holds one value everywhere."""
    if dtype is not None:
        target: np.dtype[Any] = canonical_dtype(dtype)
    elif is_python_scalar(fill_value):
        target = canonical_dtype(type(fill_value))
    else:
        target = to_tracer(fill_value).dtype
    return broadcast_to(fill_value, target, tuple(shape))


@operation
def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DtypeLike = None) -> Tracer:
    """`full` of an array's shape and dtype."""
    like = to_tracer(x)
    return full(like.shape, fill_value, like.dtype if dtype is None else dtype)


@operation
def broadcasted_iota(dtype: DtypeLike, shape: Sequence[int], dimension: int) -> Tracer:
    """Each element's index along a dimension."""
    aval = ShapeDtype(shape, dtype)
    if kind(aval.dtype) == "b":
        raise dtype_error("hlo.iota", "expected a numeric element type, found bool")
    axis = normalized_axis("hlo.iota", dimension, aval.ndim)
    return emit("iota", (), (aval,), {"iota_dimension": attributes.i64(axis)})[0]


@operation
def iota(dtype: DtypeLike, size: int) -> Tracer:
    """0, 1, ..., size - 1."""
    return broadcasted_iota(dtype, (size,), 0)
