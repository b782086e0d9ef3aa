"""Interpolation of images and signals to another size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import (
    CUBIC,
    Taps,
    cubic_taps,
    grid_sampled,
    grid_sampled_gradients,
    linear_taps,
    normalised_taps,
    smooth_taps,
    weighted,
    widened,
)
from hlo.pytorch.ops.registry import aten

Floats = Sequence[float] | None
Array = np.ndarray[Any, Any]
PILLOW = -0.5  # Keys' coefficient of the filters that smooth


def _sizes(self: Tracer, output_size: Sequence[int] | None, scales: Floats) -> list[int]:
    if output_size is not None:
        return list(output_size)
    extents = self.shape[2:]
    assert scales is not None
    return [int(e * s) for e, s in zip(extents, scales, strict=True)]


def _given(scales: Floats, rank: int, scale: Sequence[float | None]) -> list[float | None]:
    if scales is not None:
        return list(scales)
    return list(scale)[:rank] if any(scale) else [None] * rank


def nearest_places(size: int, extent: int, scale: float | None, half: float) -> Array:
    """Which of `extent` elements each of `size` results is: at floor((i + half) / scale)."""
    step = np.float32(1 / scale) if scale else np.float32(extent / size)
    places = np.floor((np.arange(size, dtype=np.float32) + np.float32(half)) * step)
    return np.minimum(places.astype(np.int64), extent - 1)


def _nearest(self: Tracer, sizes: Sequence[int], scales: Any, half: float) -> Tracer:
    for i, size in enumerate(sizes):
        extent = self.shape[2 + i]
        if size != extent or half:
            places = nearest_places(size, extent, scales[i], half)
            self = hnp.take(self, places, axis=2 + i)
    return self


def _entry(resample: Callable[[Tracer, Sequence[int], Any, bool], Tracer]) -> Callable[..., Tracer]:
    """The arguments that all these operators share, under both of their spellings."""

    def call(
        self: Tracer | None = None,
        output_size: Sequence[int] | None = None,
        align_corners: bool = False,
        scales: float | None = None,
        input: Tracer | None = None,
        scale_factors: Floats = None,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tracer:
        x = self if self is not None else input
        assert x is not None
        rank = x.ndim - 2
        named = [scales] if rank == 1 else [scales_d, scales_h, scales_w][3 - rank :]
        sizes = _sizes(x, output_size, scale_factors)
        return resample(x, sizes, _given(scale_factors, rank, named), align_corners)

    return call


def step_between(extent: int, size: int, align_corners: bool, scale: float | None) -> float:
    """How far apart in the input results lie, in elements."""
    if align_corners:
        return (extent - 1) / (size - 1) if size > 1 else 0.0
    return 1 / scale if scale else extent / size


def _interpolated(
    x: Tracer,
    sizes: Sequence[int],
    align_corners: bool,
    scales: Sequence[float | None],
    *,
    cubic: bool = False,
    smooth: bool = False,
) -> Tracer:
    found = widened(x)
    for i, size in enumerate(sizes):
        extent = x.shape[2 + i]
        step = step_between(extent, size, align_corners, scales[i])
        if smooth:
            taps = filter_taps(size, extent, step, cubic=cubic)
        else:
            places = (np.arange(size) + 0.5) * step - 0.5
            if align_corners:
                places = np.arange(size) * step
            elif not cubic:
                places = np.maximum(places, 0.0)
            taps = cubic_taps(places, CUBIC) if cubic else linear_taps(places)
        found = weighted(found, 2 + i, taps)
    return convert(found, x.dtype)


def filter_taps(size: int, extent: int, step: float, *, cubic: bool) -> Taps:
    """Elements and weights of which `size` results `step` elements apart are sums, as Pillow
    smooths.
    """
    places = (np.arange(size) + 0.5) * step - 0.5
    # Pillow's cubic is of another coefficient.
    taps = smooth_taps(places, 1 / step if step else inf, PILLOW if cubic else None)
    return normalised_taps(taps, extent, exclude=True)


# The element at floor(i / scale), or at floor((i + 1/2) / scale).
_at_start = _entry(lambda x, sizes, scales, _: _nearest(x, sizes, scales, 0.0))
_at_middle = _entry(lambda x, sizes, scales, _: _nearest(x, sizes, scales, 0.5))
for _rank in (1, 2, 3):
    aten(f"upsample_nearest{_rank}d", f"upsample_nearest{_rank}d.vec")(_at_start)
    _exact = f"_upsample_nearest_exact{_rank}d"
    aten(_exact, f"{_exact}.vec")(_at_middle)
_linear = _entry(lambda x, sizes, scales, corners: _interpolated(x, sizes, corners, scales))
_cubic = _entry(
    lambda x, sizes, scales, corners: _interpolated(x, sizes, corners, scales, cubic=True)
)
aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")(_linear)
aten("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")(_linear)
aten("upsample_bicubic2d", "upsample_bicubic2d.vec")(_cubic)


def _smoothed(*, cubic: bool) -> Callable[..., Tracer]:
    return _entry(
        lambda x, sizes, scales, corners: _interpolated(
            x, sizes, corners, scales, cubic=cubic, smooth=True
        )
    )


aten("_upsample_bilinear2d_aa", "_upsample_bilinear2d_aa.vec")(_smoothed(cubic=False))
aten("_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa.vec")(_smoothed(cubic=True))


@aten("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def grid_sampler(
    input: Tracer,
    grid: Tracer,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tracer:
    """Images read at the places of a grid."""
    mode = ("linear", "nearest", "cubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    return grid_sampled(input, grid, mode, padding, corners=align_corners)


@aten("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(
    grad_output: Tracer,
    input: Tracer,
    grid: Tracer,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tracer | None, Tracer]:
    """Gradients by the images, if they are asked for, and by the grid."""
    mode = ("linear", "nearest", "cubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    by_input, by_grid = grid_sampled_gradients(
        grad_output, input, grid, mode, padding, corners=align_corners
    )
    return by_input if output_mask[0] else None, by_grid
