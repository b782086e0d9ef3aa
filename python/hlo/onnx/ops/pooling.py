"""Pooling."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.onnx.ops.elementwise import number, widened
from hlo.onnx.ops.products import window_pads
from hlo.onnx.ops.registry import Array, Call, integers, op

INT64: Final = np.dtype(np.int64)


@dataclass(frozen=True)
class _Windows:
    """Where windows lie over the dimensions behind (N, C): one number, or pair, a dimension."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    given: list[tuple[int, int]]
    pads: list[tuple[int, int]]
    counts: list[int]

    def full(self) -> dict[str, Any]:
        """The keywords of `reduce_window`."""
        return {
            "window_dimensions": (1, 1, *self.kernel),
            "window_strides": (1, 1, *self.strides),
            "padding": [(0, 0), (0, 0), *self.pads],
            "window_dilation": (1, 1, *self.dilations),
        }


def _windows(call: Call, x: Tracer) -> _Windows:
    kernel = list(call.get("kernel_shape"))
    rank = len(kernel)
    strides = list(call.get("strides") or [1] * rank)
    dilations = list(call.get("dilations") or [1] * rank)
    extents = x.shape[2:]
    given = window_pads(call, extents, kernel, strides, dilations)
    up = bool(call.get("ceil_mode", 0)) and call.get("auto_pad", "NOTSET") == "NOTSET"
    pads: list[tuple[int, int]] = []
    counts: list[int] = []
    for extent, k, s, d, (low, high) in zip(
        extents, kernel, strides, dilations, given, strict=True
    ):
        reach = d * (k - 1) + 1
        spare = extent + low + high - reach
        count = (-(-spare // s) if up else spare // s) + 1
        # A window begins inside the input or the padding ahead of it.
        if up and (count - 1) * s >= extent + low:
            count -= 1
        counts.append(count)
        pads.append((low, (count - 1) * s + reach - extent - low))
    return _Windows(kernel, strides, dilations, given, pads, counts)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


@op("MaxPool")
def max_pool(call: Call, x: Tracer) -> Tracer | tuple[Tracer, Tracer]:
    """The largest of each window, and where it was in the whole tensor."""
    windows = _windows(call, x)
    found = lax.reduce_window(x, number(_lowest(x.dtype), x), lax.max, **windows.full())
    if not call.wants(1):
        return found
    return found, _places_of_largest(x, windows, column_major=bool(call.get("storage_order", 0)))


def _places_of_largest(x: Tracer, windows: _Windows, *, column_major: bool) -> Tracer:
    order = range(x.ndim - 1, 1, -1) if not column_major else range(2, x.ndim)
    steps = dict.fromkeys(range(x.ndim), 0)
    step = 1
    for axis in order:
        steps[axis] = step
        step *= x.shape[axis]
    steps[1], steps[0] = step, step * x.shape[1]
    parts = [np.arange(extent, dtype=np.int64) * steps[i] for i, extent in enumerate(x.shape)]
    table = hnp.zeros(x.shape, INT64)
    for axis, part in enumerate(parts):
        line = [1] * x.ndim
        line[axis] = x.shape[axis]
        table = hnp.add(table, part.reshape(line))

    def larger(a: tuple[Tracer, Tracer], b: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
        take = lax.gt(b[0], a[0])
        if is_float(x.dtype):
            take = lax.bitwise_or(take, lax.ne(b[0], b[0]))
        take = lax.bitwise_or(take, lax.lt(a[1], number(0, a[1])))  # padding is nowhere
        take = lax.bitwise_and(take, lax.ge(b[1], number(0, b[1])))
        return lax.select(take, b[0], a[0]), lax.select(take, b[1], a[1])

    first = (number(_lowest(x.dtype), x), number(-1, table))
    return lax.reduce_window((x, table), first, larger, **windows.full())[1]


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
    places = lax.reshape(index, (index.size, 1))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    spread = lax.scatter(zeros, places, lax.reshape(x, (x.size,)), numbers, "set")
    spread = lax.reshape(spread, found)
    if wanted == found:
        return spread
    around = [(0, w - e, 0) for w, e in zip(wanted, found, strict=True)]
    return lax.pad(spread, number(0, spread), around)


@op("AveragePool")
def average_pool(call: Call, x: Tracer) -> Tracer:
    """The mean of each window, with or without the padding in it."""
    windows = _windows(call, x)
    wide = widened(x)
    total = lax.reduce_window(wide, number(0, wide), lax.add, **windows.full())
    counts = _covered(windows, x.shape[2:], include_pad=bool(call.get("count_include_pad", 0)))
    same = counts.size and (counts == counts.flat[0]).all()
    by = number(counts.flat[0] if same else counts, wide)
    return convert(hnp.divide(total, by), x.dtype)


def _covered(windows: _Windows, extents: tuple[int, ...], *, include_pad: bool) -> Array:
    """How many elements each window covers."""
    table = np.ones(())
    for i, extent in enumerate(extents):
        low, high = windows.given[i] if include_pad else (0, 0)
        starts = np.arange(windows.counts[i]) * windows.strides[i] - windows.pads[i][0]
        taps = starts[:, None] + np.arange(windows.kernel[i]) * windows.dilations[i]
        inside = (taps >= -low) & (taps < extent + high)
        table = table[..., None] * inside.sum(axis=1)
    return table


@op("LpPool")
def lp_pool(call: Call, x: Tracer) -> Tracer:
    """The norm of each window."""
    windows, p = _windows(call, x), call.get("p", 2)
    wide = widened(x)
    powers = hnp.power(hnp.abs(wide), number(p, wide))
    total = lax.reduce_window(powers, number(0, wide), lax.add, **windows.full())
    return convert(hnp.power(total, number(1 / p, wide)), x.dtype)


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
