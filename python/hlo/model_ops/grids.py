"""Images read at the places of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import FLOAT32, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops.interpolation import cubic_weights
from hlo.model_ops.values import INT64, widened

CUBIC = -0.75  # Keys' coefficient, as PyTorch and ONNX have it


def grid_sampled(x: Tracer, grid: Tracer, mode: str, padding: str, *, corners: bool) -> Tracer:
    """Images read at the places of a grid.

    Args:
        x: (N, C, ...).
        grid: (N, ..., rank), where -1 and 1 are the ends and the last coordinate is that of the
            first axis behind the channels.
        mode: ``linear``, ``nearest`` or ``cubic``.
        padding: what lies outside: ``zeros``, ``border`` or ``reflection``.
        corners: whether -1 and 1 are the centres of the first and the last element, or their outer
            sides.

    Returns:
        (N, C, ...) of the grid's extents.
    """
    rank = x.ndim - 2
    wide = grid if grid.dtype.itemsize > 2 else widened(grid)
    places = [
        _unnormalised(wide[..., rank - 1 - i], x.shape[2 + i], corners=corners) for i in range(rank)
    ]
    if mode == "nearest":
        picked = [lax.round_even(p) for p in places]
        return _sampled(x, picked, padding, corners=corners)
    cubic = mode == "cubic"
    offsets = range(-1, 3) if cubic else range(2)
    if not cubic and padding != "zeros":
        places = [
            _folded(p, e, padding, corners=corners)
            for p, e in zip(places, x.shape[2:], strict=True)
        ]
    lows = [lax.floor(p) for p in places]
    parts = [hnp.subtract(p, low) for p, low in zip(places, lows, strict=True)]
    weights = [_weights(t, cubic=cubic) for t in parts]
    wide_x = widened(x) if is_float(x.dtype) else convert(x, FLOAT32)
    total: Tracer | None = None
    for corner in np.ndindex(*[len(offsets)] * rank):
        at = [hnp.add(low, offsets[c]) for low, c in zip(lows, corner, strict=True)]
        weight = weights[0][corner[0]]
        for i in range(1, rank):
            weight = hnp.multiply(weight, weights[i][corner[i]])
        read = _sampled(wide_x, at, padding, corners=corners)
        part = hnp.multiply(read, convert(hnp.expand_dims(weight, 1), read.dtype))
        total = part if total is None else hnp.add(total, part)
    assert total is not None
    return convert(total, x.dtype)


def _weights(t: Tracer, *, cubic: bool) -> list[Tracer]:
    if not cubic:
        return [hnp.subtract(1, t), t]
    return cubic_weights(t, CUBIC)


def _unnormalised(grid: Tracer, extent: int, *, corners: bool) -> Tracer:
    moved = hnp.add(grid, 1)
    if corners:
        return hnp.multiply(moved, (extent - 1) / 2)
    scaled = hnp.multiply(moved, extent / 2)
    return hnp.subtract(scaled, 0.5)


def _folded(at: Tracer, extent: int, padding: str, *, corners: bool) -> Tracer:
    """Places outside of the image moved to its border, or reflected into it."""
    if padding == "border":
        return hnp.clip(at, 0, extent - 1)
    low, high = (0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)
    span = high - low
    if span <= 0:
        return hnp.zeros(at.shape, at.dtype)
    period = 2 * span
    turned = hnp.remainder(hnp.subtract(at, low), period)
    back = hnp.minimum(turned, hnp.subtract(period, turned))
    inside = hnp.add(back, low)
    return hnp.clip(inside, 0, extent - 1)


def _sampled(x: Tracer, at: Sequence[Tracer], padding: str, *, corners: bool) -> Tracer:
    """(N, C, ...): the elements at whole places, zeros outside or those that are folded in."""
    extents = x.shape[2:]
    inside: Tracer | None = None
    index: list[Tracer] = []
    for found, extent in zip(at, extents, strict=True):
        place = found
        if padding == "zeros":
            here = hnp.logical_and(
                lax.ge(place, 0),
                lax.le(place, extent - 1),
            )
            inside = here if inside is None else hnp.logical_and(inside, here)
            place = hnp.clip(place, 0, extent - 1)
        else:
            place = lax.round_even(_folded(place, extent, padding, corners=corners))
        index.append(convert(place, INT64))
    batch = lax.broadcasted_iota(INT64, index[0].shape, 0)
    starts = hnp.stack([batch, *index], axis=-1)
    rank = len(extents)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(1,),
        collapsed_slice_dims=(0, *range(2, rank + 2)),
        start_index_map=(0, *range(2, rank + 2)),
    )
    found = lax.gather(x, starts, numbers, (1, x.shape[1], *[1] * rank))
    if inside is None:
        return found
    return hnp.where(hnp.expand_dims(inside, 1), found, 0)
