"""Images at another size, or read between their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import (
    Taps,
    cubic_taps,
    grid_sampled,
    linear_taps,
    normalised_taps,
    smooth_taps,
    weighted,
    widened,
)
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.products import saturated
from hlo.onnx.ops.registry import Array, Call, integers, op


@dataclass(frozen=True)
class _Axis:
    """One axis on its way to another extent."""

    extent: int
    size: int
    scale: float
    begin: float = 0.0
    end: float = 1.0


def _places(axis: _Axis, mode: str) -> Array:
    """Where in the input each result lies, in elements."""
    x = np.arange(axis.size, dtype=np.float64)
    if mode == "asymmetric":
        return x / axis.scale
    if mode == "align_corners":
        wide = axis.scale * axis.extent  # not rounded
        return x * (axis.extent - 1) / (wide - 1) if wide != 1 else np.zeros_like(x)
    if mode == "pytorch_half_pixel" and axis.size == 1:
        return np.full_like(x, -0.5)
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / axis.scale
    if mode == "tf_crop_and_resize":
        span = axis.end - axis.begin
        if axis.size == 1:
            return np.full_like(x, 0.5 * (axis.begin + axis.end) * (axis.extent - 1))
        step = span * (axis.extent - 1) / (axis.size - 1)
        return axis.begin * (axis.extent - 1) + x * step
    if mode == "half_pixel_symmetric":
        adjusted = axis.size / (axis.scale * axis.extent)
        centre = axis.extent / 2
        return centre * (1 - adjusted) + (x + 0.5) / axis.scale - 0.5
    return (x + 0.5) / axis.scale - 0.5


def _nearest(places: Array, mode: str) -> Taps:
    low = np.floor(places)
    if mode == "floor":
        found = low
    elif mode == "ceil":
        found = np.ceil(places)
    else:
        half = places - low == 0.5
        rounded = np.floor(places + 0.5)
        found = np.where(half & (mode == "round_prefer_floor"), low, rounded)
    return [(found.astype(np.int64), np.ones_like(places))]


@op("Resize", static=(1, 2, 3))
def resize(
    call: Call,
    x: Tracer,
    region: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
) -> Tracer:
    """Another extent of some axes, by neighbours, lines or cubics."""
    if call.version < 11:
        return _enlarged(call, x, region if scales is None else scales)
    axes = [a % x.ndim for a in call.get("axes") or range(x.ndim)]
    mode, nearest = call.get("mode", "nearest"), call.get("nearest_mode", "round_prefer_floor")
    coordinates = call.get("coordinate_transformation_mode", "half_pixel")
    cropped = coordinates == "tf_crop_and_resize"
    lines = _lines(call, x, axes, scales, sizes, region if cropped else None)
    found = x if mode == "nearest" else _floats(x)
    for axis, line in lines.items():
        places = _places(line, coordinates)
        if line.size == line.extent and (places == np.arange(line.size)).all():
            continue
        taps = _taps(call, line, places, mode, nearest)
        moved = weighted(found, axis, taps)
        if cropped:
            moved = _outside(call, moved, axis, places, line.extent)
        found = moved
    if is_float(x.dtype) or mode == "nearest":
        return convert(found, x.dtype)
    return saturated(lax.round_even(found), x.dtype)


def _floats(x: Tracer) -> Tracer:
    return widened(x) if is_float(x.dtype) else convert(x, np.dtype(np.float32))


def _lines(
    call: Call,
    x: Tracer,
    axes: Sequence[int],
    scales: Array | None,
    sizes: Array | None,
    region: Array | None,
) -> dict[int, _Axis]:
    count = len(axes)
    spans = [(0.0, 1.0)] * count
    if region is not None and region.size:
        spans = [(float(region[i]), float(region[i + count])) for i in range(count)]
    if sizes is not None and sizes.size:
        wanted = integers(sizes)
        factors = [w / x.shape[a] for w, a in zip(wanted, axes, strict=True)]
        policy = call.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            one = min(factors) if policy == "not_larger" else max(factors)
            factors = [one] * count
            wanted = [int(np.floor(one * x.shape[a] + 0.5)) for a in axes]
    else:
        if scales is None:
            raise call.refuse("expected either scales or sizes, found neither")
        factors = [float(s) for s in scales.ravel()]
        wanted = [
            int(np.floor(f * x.shape[a] * (high - low)))
            for f, a, (low, high) in zip(factors, axes, spans, strict=True)
        ]
    return {
        a: _Axis(x.shape[a], w, f, *span)
        for a, w, f, span in zip(axes, wanted, factors, spans, strict=True)
    }


def _taps(call: Call, line: _Axis, places: Array, mode: str, nearest: str) -> Taps:
    if mode == "nearest":
        return _nearest(places, nearest)
    a = call.get("cubic_coeff_a", -0.75)
    exclude = bool(call.get("exclude_outside", 0))
    if call.get("antialias", 0) and line.scale < 1:
        taps = smooth_taps(places, line.scale, a if mode == "cubic" else None)
        return normalised_taps(taps, line.extent, exclude=exclude)
    taps = cubic_taps(places, a) if mode == "cubic" else linear_taps(places)
    return normalised_taps(taps, line.extent, exclude=exclude) if exclude else taps


def _outside(call: Call, x: Tracer, axis: int, places: Array, extent: int) -> Tracer:
    """Results that lie outside of the input have a value of their own."""
    out = (places < 0) | (places > extent - 1)
    if not out.any():
        return x
    line = [1] * x.ndim
    line[axis] = -1
    return hnp.where(out.reshape(line), number(call.get("extrapolation_value", 0.0), x), x)


@op("Upsample", static=(1,))
def upsample(call: Call, x: Tracer, scales: Array | None = None) -> Tracer:
    """An enlarged image, by neighbours or lines; what became Resize."""
    return _enlarged(call, x, np.asarray(call.get("scales")) if scales is None else scales)


def _enlarged(call: Call, x: Tracer, scales: Array | None) -> Tracer:
    if scales is None:
        raise call.refuse("expected scales")
    nearest = call.get("mode", "nearest") == "nearest"
    found = x if nearest else _floats(x)
    for axis, scale in enumerate(scales.ravel().tolist()):
        line = _Axis(x.shape[axis], int(np.floor(x.shape[axis] * scale)), scale)
        if scale != 1:
            places = _places(line, "asymmetric")
            taps = _nearest(places, "floor") if nearest else linear_taps(places)
            found = weighted(found, axis, taps)
    return convert(found, x.dtype)


@op("GridSample")
def grid_sample(call: Call, x: Tracer, grid: Tracer) -> Tracer:
    """Images read at the places of a grid."""
    mode = call.get("mode", "linear").removeprefix("bi")
    padding = call.get("padding_mode", "zeros")
    return grid_sampled(x, grid, mode, padding, corners=bool(call.get("align_corners", 0)))
