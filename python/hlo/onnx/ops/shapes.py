"""Operators that move elements and do not look at them, and those that make tensors of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import to_tracer
from hlo.frontend.tracer import Tracer
from hlo.onnx.model import dtype_of
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Array, Call, integers, op


@op("Constant", raw=True)
def constant(call: Call) -> Array:
    """A stored value."""
    for name, value in call.node.attributes.items():
        if name == "value":
            return np.asarray(value)
        if name in ("value_float", "value_floats"):
            return np.asarray(value, np.float32)
        if name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
    raise call.refuse(
        "expected a tensor, a float or an integer; sparse tensors and strings are not taken"
    )


@op("Identity", raw=True)
def identity(call: Call, x: Any) -> Any:
    """The operand: a tensor or a sequence."""
    return x


@op("Shape", raw=True)
def shape(call: Call, x: Any) -> Array:
    """The extents from `start` to `end`, known when the program is compiled."""
    return np.asarray(x.shape[call.get("start", 0) : call.get("end")], np.int64)


@op("Size", raw=True)
def size(call: Call, x: Any) -> Array:
    """How many elements there are."""
    return np.asarray(prod(x.shape), np.int64)


@op("Reshape", static=(1,))
def reshape(call: Call, x: Tracer, extents: Array | None = None) -> Tracer:
    """Another shape: 0 keeps the operand's extent, unless `allowzero`, and -1 is what is left."""
    wanted = integers(call.get("shape") if extents is None else extents)
    if not call.get("allowzero", 0):
        wanted = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(wanted)]
    if -1 in wanted:
        rest = prod(extent for extent in wanted if extent != -1)
        wanted[wanted.index(-1)] = x.size // rest if rest else 0
    return lax.reshape(x, wanted)


@op("Flatten")
def flatten(call: Call, x: Tracer) -> Tracer:
    """Two dimensions: what is ahead of an axis, and the rest."""
    axis = call.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return lax.reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


@op("Squeeze", static=(1,))
def squeeze(call: Call, x: Tracer, axes: Array | None = None) -> Tracer:
    """Without axes of extent 1: those that are named, or all."""
    named = call.get("axes") if axes is None else axes
    if named is None:
        return hnp.squeeze(x)
    return hnp.squeeze(x, tuple(integers(named)))


@op("Unsqueeze", static=(1,))
def unsqueeze(call: Call, x: Tracer, axes: Array | None = None) -> Tracer:
    """With further axes of extent 1, which are counted in the result."""
    named = integers(call.get("axes") if axes is None else axes)
    return hnp.expand_dims(x, tuple(named)) if named else x


@op("Transpose")
def transpose(call: Call, x: Tracer) -> Tracer:
    """Axes in another order, by default the reverse."""
    order = call.get("perm") or list(reversed(range(x.ndim)))
    return lax.transpose(x, tuple(order)) if x.ndim else x


@op("Concat")
def concatenate(call: Call, *values: Tracer) -> Tracer:
    """Tensors one after another along an axis."""
    return hnp.concatenate(values, axis=call.get("axis", 1))


@op("Split", static=(1,))
def split(call: Call, x: Tracer, sizes: Array | None = None) -> tuple[Tracer, ...]:
    """Parts along an axis: of given extents, or equal ones, the last as long as is left."""
    axis = call.get("axis", 0) % x.ndim
    extents = call.get("split") if sizes is None else integers(sizes)
    if extents is None:
        count = call.get("num_outputs") or call.outputs
        each = -(-x.shape[axis] // count)
        extents = [min(each, x.shape[axis] - i * each) for i in range(count)]
    ends = np.cumsum(extents).tolist()
    starts = [0, *ends[:-1]]
    return tuple(
        lax.slice_in_dim(x, start, end, axis=axis) for start, end in zip(starts, ends, strict=True)
    )


@op("Slice", static=(1, 2, 3, 4))
def slices(
    call: Call,
    x: Tracer,
    starts: Array | None = None,
    ends: Array | None = None,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Tracer:
    """A range with a step of each named axis, as Python slices."""
    first = integers(call.get("starts") if starts is None else starts)
    last = integers(call.get("ends") if ends is None else ends)
    named = call.get("axes") if axes is None else integers(axes)
    by = [1] * len(first) if steps is None else integers(steps)
    index = [slice(None)] * x.ndim
    for axis, a, b, step in zip(named or range(len(first)), first, last, by, strict=False):
        extent = x.shape[axis]
        # A backward slice that ends before the first element has no end in Python.
        end = None if step < 0 and b < -extent else b
        index[axis] = slice(a, end, step)
    return x[tuple(index)]


@op("Expand", static=(1,))
def expand(call: Call, x: Tracer, extents: Array) -> Tracer:
    """Broadcast with a shape, by both sides' rules."""
    return hnp.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(integers(extents))))


@op("Tile", static=(1, 2))
def tile(call: Call, x: Tracer, repeats: Array, axis: Array | None = None) -> Tracer:
    """The tensor repeated along each axis; in version 1 along one."""
    counts = integers(repeats)
    if axis is not None:
        counts = [counts[0] if i == int(axis) else 1 for i in range(x.ndim)]
    return hnp.tile(x, counts)


@op("Pad", static=(1, 3))
def pad(
    call: Call,
    x: Tracer,
    pads: Array | None = None,
    value: Tracer | None = None,
    axes: Array | None = None,
) -> Tracer:
    """Elements ahead of and behind each axis; negative counts take some away."""
    counts = integers(call.get("pads", call.get("paddings")) if pads is None else pads)
    named = list(range(x.ndim)) if axes is None else [a % x.ndim for a in integers(axes)]
    around = [(0, 0)] * x.ndim
    for i, axis in enumerate(named):
        around[axis] = (counts[i], counts[i + len(named)])
    mode = call.get("mode", "constant")
    if mode == "constant":
        fill = number(call.get("value", 0.0), x) if value is None else lax.reshape(value, ())
        return lax.pad(x, fill, [(low, high, 0) for low, high in around])
    x = x[
        tuple(
            slice(max(0, -low), e - max(0, -high))
            for e, (low, high) in zip(x.shape, around, strict=True)
        )
    ]
    for axis, (low, high) in enumerate(around):
        places = np.arange(-max(low, 0), x.shape[axis] + max(high, 0))
        if max(low, high) > 0:
            x = hnp.take(x, _inside(places, x.shape[axis], mode), axis=axis)
    return x


def _inside(places: Array, extent: int, mode: str) -> Array:
    """Where the elements outside of an axis come from."""
    if mode == "edge":
        return np.clip(places, 0, extent - 1)
    if mode == "wrap":
        return places % extent
    period = max(2 * (extent - 1), 1)
    folded = places % period
    return np.minimum(folded, period - folded) if extent > 1 else np.zeros_like(places)


@op("DepthToSpace")
def depth_to_space(call: Call, x: Tracer) -> Tracer:
    """Channels into blocks of the image."""
    n, c, h, w = x.shape
    b = call.get("blocksize")
    if call.get("mode", "DCR") == "DCR":
        parts = lax.transpose(lax.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = lax.transpose(lax.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return lax.reshape(parts, (n, c // b**2, h * b, w * b))


@op("SpaceToDepth")
def space_to_depth(call: Call, x: Tracer) -> Tracer:
    """Blocks of the image into channels."""
    n, c, h, w = x.shape
    b = call.get("blocksize")
    parts = lax.transpose(lax.reshape(x, (n, c, h // b, b, w // b, b)), (0, 3, 5, 1, 2, 4))
    return lax.reshape(parts, (n, c * b * b, h // b, w // b))


@op("ConstantOfShape", raw=True)
def constant_of_shape(call: Call, extents: Any) -> Any:
    """One value everywhere."""
    value = np.asarray(call.get("value", np.zeros(1, np.float32))).reshape(())
    wanted = tuple(integers(call.known(0, extents)))
    if prod(wanted) <= 4096:
        return np.full(wanted, value)
    return hnp.broadcast_to(to_tracer(value), wanted)


@op("Range", static=(0, 1, 2))
def ranges(call: Call, start: Array, limit: Array, step: Array) -> Tracer:
    """Numbers from start, up to limit."""
    return to_tracer(np.arange(start.item(), limit.item(), step.item(), dtype=start.dtype))


@op("EyeLike")
def eye_like(call: Call, x: Tracer) -> Tracer:
    """Ones on a diagonal, in the operand's shape."""
    kind = call.get("dtype")
    return hnp.eye(*x.shape, k=call.get("k", 0), dtype=x.dtype if kind is None else dtype_of(kind))


@op("Trilu", static=(1,))
def triangle(call: Call, x: Tracer, diagonal: Array | None = None) -> Tracer:
    """The upper or lower triangle, zeros elsewhere."""
    k = 0 if diagonal is None else int(diagonal.item())
    return hnp.triu(x, k) if call.get("upper", 1) else hnp.tril(x, k)


@op("ReverseSequence")
def reverse_sequence(call: Call, x: Tracer, lengths: Tracer) -> Tracer:
    """The first so many elements along the time axis in reverse, for each of the batch."""
    batch, time = call.get("batch_axis", 1), call.get("time_axis", 0)
    step = [1] * x.ndim
    step[time] = x.shape[time]
    places = lax.reshape(hnp.arange(x.shape[time], dtype=lengths.dtype), step)
    line = [1] * x.ndim
    line[batch] = x.shape[batch]
    counts = lax.reshape(lengths, line)
    turned = hnp.subtract(hnp.subtract(counts, number(1, counts)), places)
    index = hnp.where(hnp.less(places, counts), turned, places)
    return hnp.take_along_axis(x, hnp.broadcast_to(index, x.shape), axis=time)


@op("Compress", static=(1,))
def compress(call: Call, x: Tracer, condition: Array) -> Tracer:
    """The slices along an axis, or the elements, where a known condition holds."""
    places = np.flatnonzero(condition)
    axis = call.get("axis")
    return hnp.take(hnp.ravel(x), places) if axis is None else hnp.take(x, places, axis=axis)


@op("Col2Im", static=(1, 2))
def columns_to_image(call: Call, x: Tracer, image: Array, block: Array) -> Tracer:
    """Adds up blocks, which are columns, where they lie in an image: (N, C block, L)."""
    extents, sizes = integers(image), integers(block)
    rank = len(extents)
    strides = call.get("strides") or [1] * rank
    dilations = call.get("dilations") or [1] * rank
    pads = call.get("pads") or [0] * (2 * rank)
    channels = x.shape[1] // prod(sizes)
    padded = [e + pads[i] + pads[i + rank] for i, e in enumerate(extents)]
    counts = [
        (p - d * (s - 1) - 1) // t + 1
        for p, d, s, t in zip(padded, dilations, sizes, strides, strict=True)
    ]
    blocks = lax.reshape(x, (x.shape[0], channels, *sizes, *counts))
    total = hnp.zeros((x.shape[0], channels, *padded), x.dtype)
    for place in np.ndindex(*sizes):
        part = blocks[(slice(None), slice(None), *place)]
        total = hnp.add(total, _spread(part, place, padded, counts, strides, dilations))
    inside = [slice(pads[i], pads[i] + e) for i, e in enumerate(extents)]
    return total[(slice(None), slice(None), *inside)]


def _spread(
    part: Tracer,
    place: Sequence[int],
    padded: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Tracer:
    """One element of each block where it lies in the padded image, zeros elsewhere."""
    around = [(0, 0, 0), (0, 0, 0)]
    for i, extent in enumerate(padded):
        low = place[i] * dilations[i]
        reach = (counts[i] - 1) * strides[i] + 1
        around.append((low, extent - low - reach, strides[i] - 1))
    return lax.pad(part, number(0, part), around)
