"""Pooling."""

from __future__ import annotations

from math import prod

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import Windows, widened
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.products import window_pads
from hlo.onnx.ops.registry import Array, Call, integers, op


def _windows(call: Call, x: Tracer) -> Windows:
    kernel = call.get("kernel_shape")
    rank = len(kernel)
    strides = call.get("strides") or [1] * rank
    dilations = call.get("dilations") or [1] * rank
    extents = x.shape[2:]
    pads = window_pads(call, extents, kernel, strides, dilations)
    up = bool(call.get("ceil_mode", 0)) and call.get("auto_pad", "NOTSET") == "NOTSET"
    return Windows(extents, kernel, strides, pads, dilations, round_up=up)


@op("MaxPool")
def max_pool(call: Call, x: Tracer) -> Tracer | tuple[Tracer, Tracer]:
    """The largest of each window, and where it was in the whole tensor."""
    windows = _windows(call, x)
    found = windows.largest(x)
    if not call.wants(1):
        return found
    return found, windows.of_largest(x, _numbered(x, bool(call.get("storage_order", 0))))


def _numbered(x: Tracer, column_major: bool) -> Tracer:
    """The elements' numbers; column-major within an image, where that is asked for."""
    image = x.shape[2:]
    numbers = np.arange(prod(image), dtype=np.int64).reshape(
        image, order="F" if column_major else "C"
    )
    images = np.arange(prod(x.shape[:2]), dtype=np.int64).reshape(x.shape[:2] + (1,) * len(image))
    return hnp.add(hnp.broadcast_to(images * prod(image), x.shape), numbers)


@op("MaxUnpool", static=(2,))
def max_unpool(call: Call, x: Tracer, index: Tracer, shape: Array | None = None) -> Tracer:
    """Elements at the places they were found at by pooling, zeros elsewhere."""
    kernel = call.get("kernel_shape")
    rank = len(kernel)
    strides = call.get("strides") or [1] * rank
    flat = call.get("pads") or [0] * (2 * rank)
    extents = [
        (e - 1) * s - flat[i] - flat[i + rank] + k
        for i, (e, s, k) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    found = (*x.shape[:2], *extents)
    wanted = tuple(integers(shape)) if shape is not None else found
    zeros = hnp.zeros((prod(found),), x.dtype)
    spread = lax.reshape(zeros.at[hnp.ravel(index)].set(hnp.ravel(x)), found)
    if wanted == found:
        return spread
    around = [(0, w - e, 0) for w, e in zip(wanted, found, strict=True)]
    return lax.pad(spread, number(0, spread), around)


@op("AveragePool")
def average_pool(call: Call, x: Tracer) -> Tracer:
    """The mean of each window, with or without the padding in it."""
    windows = _windows(call, x)
    wide = widened(x)
    counts = windows.covered(padding=bool(call.get("count_include_pad", 0)))
    return convert(hnp.divide(windows.total(wide), number(counts, wide)), x.dtype)


@op("LpPool")
def lp_pool(call: Call, x: Tracer) -> Tracer:
    """The norm of each window."""
    windows, p = _windows(call, x), call.get("p", 2)
    wide = widened(x)
    powers = hnp.power(hnp.abs(wide), number(p, wide))
    return convert(hnp.power(windows.total(powers), number(1 / p, wide)), x.dtype)


def _plane(x: Tracer) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@op("GlobalAveragePool")
def global_average_pool(call: Call, x: Tracer) -> Tracer:
    """The mean of each channel."""
    return hnp.mean(x, axis=_plane(x), keepdims=True)


@op("GlobalMaxPool")
def global_max_pool(call: Call, x: Tracer) -> Tracer:
    """The largest of each channel."""
    return hnp.amax(x, axis=_plane(x), keepdims=True)


@op("GlobalLpPool")
def global_lp_pool(call: Call, x: Tracer) -> Tracer:
    """The norm of each channel."""
    p = call.get("p", 2)
    wide = widened(x)
    total = hnp.sum(hnp.power(hnp.abs(wide), number(p, wide)), axis=_plane(x), keepdims=True)
    return convert(hnp.power(total, number(1 / p, wide)), x.dtype)
