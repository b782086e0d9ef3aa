"""Images read at the places of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
    wide_x = widened(x) if is_float(x.dtype) else convert(x, FLOAT32)
    total: Tracer | None = None
    for tap in _taps(x.shape[2:], grid, mode, padding, corners=corners):
        part = _sampled(x if mode == "nearest" else wide_x, tap.at, padding, corners=corners)
        if mode != "nearest":
            part = hnp.multiply(part, convert(hnp.expand_dims(tap.weight(), 1), part.dtype))
        total = part if total is None else hnp.add(total, part)
    assert total is not None
    return convert(total, x.dtype)


def grid_sampled_gradients(
    grad: Tracer, x: Tracer, grid: Tracer, mode: str, padding: str, *, corners: bool
) -> tuple[Tracer, Tracer]:
    """Gradients of `grid_sampled` by the images and by the grid.

    Args:
        grad: (N, C, ...), by the result.
    """
    rank = x.ndim - 2
    last = (0, *range(2, x.ndim), 1)  # channels behind
    wide_x, wide_grad = widened(x), widened(grad)
    given = lax.transpose(wide_grad, last)
    by_x = hnp.zeros([x.shape[d] for d in last], wide_x.dtype)
    by_places: list[Tracer | None] = [None] * rank
    for tap in _taps(x.shape[2:], grid, mode, padding, corners=corners, sloped=True):
        index, inside = _indices(x.shape[2:], tap.at, padding, corners=corners)
        weight = convert(tap.weight(), wide_x.dtype)
        counted = weight if inside is None else hnp.where(inside, weight, 0)
        batch = lax.broadcasted_iota(INT64, index[0].shape, 0)
        by_x = by_x.at[(batch, *index)].add(hnp.multiply(given, hnp.expand_dims(counted, -1)))
        if mode == "nearest":
            continue
        read = _sampled(wide_x, tap.at, padding, corners=corners)
        along = hnp.sum(hnp.multiply(read, wide_grad), axis=1)
        for axis in range(rank):
            part = hnp.multiply(along, convert(tap.weight(slope=axis), along.dtype))
            known = by_places[axis]
            by_places[axis] = part if known is None else hnp.add(known, part)
    slopes = _slopes(x.shape[2:], grid, mode, padding, corners=corners)
    parts = [
        hnp.zeros(slope.shape, slope.dtype) if part is None else hnp.multiply(part, slope)
        for part, slope in zip(by_places, slopes, strict=True)
    ]
    by_grid = hnp.stack(parts[::-1], axis=-1)
    first = (0, x.ndim - 1, *range(1, x.ndim - 1))
    return convert(lax.transpose(by_x, first), x.dtype), convert(by_grid, grid.dtype)


@dataclass(frozen=True)
class _Tap:
    """One of the elements that each result is a sum of.

    Attributes:
        at: places by axis.
        weights: by axis.
        slopes: of the weights, by the place on their axis, if they are asked for.
    """

    at: Sequence[Tracer]
    weights: Sequence[Tracer]
    slopes: Sequence[Tracer] = ()

    def weight(self, slope: int | None = None) -> Tracer:
        """The product of the weights, of which that of an axis gives its slope."""
        parts = list(self.weights)
        if slope is not None:
            parts[slope] = self.slopes[slope]
        product = parts[0]
        for part in parts[1:]:
            product = hnp.multiply(product, part)
        return product


def _places(extents: Sequence[int], grid: Tracer, *, corners: bool) -> list[Tracer]:
    wide = grid if grid.dtype.itemsize > 2 else widened(grid)
    rank = len(extents)
    return [
        _unnormalised(wide[..., rank - 1 - i], extent, corners=corners)
        for i, extent in enumerate(extents)
    ]


def _taps(
    extents: Sequence[int],
    grid: Tracer,
    mode: str,
    padding: str,
    *,
    corners: bool,
    sloped: bool = False,
) -> Iterator[_Tap]:
    places = _places(extents, grid, corners=corners)
    rank = len(extents)
    if mode == "nearest":
        one = [hnp.ones(p.shape, p.dtype) for p in places]
        yield _Tap([lax.round_even(p) for p in places], one)
        return
    cubic = mode == "cubic"
    offsets = range(-1, 3) if cubic else range(2)
    if not cubic and padding != "zeros":
        places = [
            _folded(p, e, padding, corners=corners) for p, e in zip(places, extents, strict=True)
        ]
    lows = [lax.floor(p) for p in places]
    parts = [hnp.subtract(p, low) for p, low in zip(places, lows, strict=True)]
    weights = [_weights(t, cubic=cubic) for t in parts]
    slopes = [_weight_slopes(t, cubic=cubic) for t in parts] if sloped else []
    for corner in np.ndindex(*[len(offsets)] * rank):
        yield _Tap(
            [hnp.add(low, offsets[c]) for low, c in zip(lows, corner, strict=True)],
            [weights[i][c] for i, c in enumerate(corner)],
            [slope[c] for slope, c in zip(slopes, corner, strict=False)],
        )


def _slopes(
    extents: Sequence[int], grid: Tracer, mode: str, padding: str, *, corners: bool
) -> list[Tracer]:
    """How places change with the coordinates of the grid, by axis: not where they are clipped."""
    found: list[Tracer] = []
    for place, extent in zip(_places(extents, grid, corners=corners), extents, strict=True):
        slope = hnp.zeros(place.shape, place.dtype) + (extent - corners) / 2
        if padding != "zeros" and mode == "linear":
            if padding == "reflection":
                slope = hnp.multiply(slope, _direction(place, extent, corners=corners))
            folded = _unclipped(place, extent, padding, corners=corners)
            within = hnp.logical_and(lax.gt(folded, 0), lax.lt(folded, extent - 1))
            slope = hnp.where(within, slope, 0)
        found.append(slope)
    return found


def _weights(t: Tracer, *, cubic: bool) -> list[Tracer]:
    if not cubic:
        return [hnp.subtract(1, t), t]
    return cubic_weights(t, CUBIC)


def _weight_slopes(t: Tracer, *, cubic: bool) -> list[Tracer]:
    """Of `_weights`, by `t`."""
    if not cubic:
        one = hnp.ones(t.shape, t.dtype)
        return [hnp.negative(one), one]
    a = CUBIC

    def near(x: Any) -> Any:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> Any:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [far(t + 1), near(t), -near(1 - t), -far(2 - t)]


def _unnormalised(grid: Tracer, extent: int, *, corners: bool) -> Tracer:
    moved = hnp.add(grid, 1)
    if corners:
        return hnp.multiply(moved, (extent - 1) / 2)
    scaled = hnp.multiply(moved, extent / 2)
    return hnp.subtract(scaled, 0.5)


def _folded(at: Tracer, extent: int, padding: str, *, corners: bool) -> Tracer:
    """Places outside of the image moved to its border, or reflected into it."""
    return hnp.clip(_unclipped(at, extent, padding, corners=corners), 0, extent - 1)


def _unclipped(at: Tracer, extent: int, padding: str, *, corners: bool) -> Tracer:
    """Places reflected into the image, up to its outer sides, if that is the padding."""
    low, span = _reflecting(extent, corners=corners)
    if padding == "border":
        return at
    if span <= 0:
        return hnp.zeros(at.shape, at.dtype)
    turned = hnp.remainder(hnp.subtract(at, low), 2 * span)
    back = hnp.minimum(turned, hnp.subtract(2 * span, turned))
    return hnp.add(back, low)


def _direction(at: Tracer, extent: int, *, corners: bool) -> Tracer:
    """1 where a reflected place goes the way that the place goes, else -1."""
    low, span = _reflecting(extent, corners=corners)
    if span <= 0:
        return hnp.zeros(at.shape, at.dtype)
    turned = hnp.remainder(hnp.subtract(at, low), 2 * span)
    return convert(hnp.where(lax.le(turned, span), 1, -1), at.dtype)


def _reflecting(extent: int, *, corners: bool) -> tuple[float, float]:
    """Where an image begins that reflects places outside of it, and how long it is."""
    return (0.0, extent - 1.0) if corners else (-0.5, float(extent))


def _indices(
    extents: Sequence[int], at: Sequence[Tracer], padding: str, *, corners: bool
) -> tuple[list[Tracer], Tracer | None]:
    """Whole places as indices by axis, and which of them are inside if what is outside is zero."""
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
    return index, inside


def _sampled(x: Tracer, at: Sequence[Tracer], padding: str, *, corners: bool) -> Tracer:
    """(N, C, ...): the elements at whole places, zeros outside or those that are folded in."""
    extents = x.shape[2:]
    index, inside = _indices(extents, at, padding, corners=corners)
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
