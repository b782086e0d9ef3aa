"""Values between the elements of an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import numpy as hnp
from hlo.frontend.tracer import Tracer
from hlo.model_ops.values import tensor

Array = np.ndarray[Any, Any]
Taps = Sequence[tuple[Array, Array]]
"""(indices, weights): a pair for each element that a result reads along an axis."""


def linear_taps(places: Array) -> Taps:
    """The two elements beside each place."""
    low = np.floor(places)
    part, at = places - low, low.astype(np.int64)
    return [(at, 1 - part), (at + 1, part)]


def cubic_weights(t: Any, a: float) -> list[Any]:
    """Keys' cubic convolution: weights of four neighbours, a place `t` behind the second."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def cubic_taps(places: Array, a: float) -> Taps:
    """The four elements around each place."""
    low = np.floor(places)
    at = low.astype(np.int64)
    return [(at + i - 1, weight) for i, weight in enumerate(cubic_weights(places - low, a))]


def smooth_taps(places: Array, scale: float, a: float | None) -> Taps:
    """Taps of a filter as wide as the results lie apart, if that is more than an element.

    Args:
        places: of the results, in elements.
        scale: results for an element.
        a: Keys' coefficient; None for the linear filter.
    """
    scale = min(scale, 1.0)
    reach = (1 if a is None else 2) / scale
    low = np.floor(places)
    count = int(np.ceil(reach))
    taps: list[tuple[Array, Array]] = []
    for offset in range(-count, count + 1):
        at = low + offset
        distance = np.abs(at - places) * scale
        if a is None:
            weight = np.maximum(1 - distance, 0.0)
        else:
            near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
            far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
            weight = np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
        taps.append((at.astype(np.int64), weight))
    return taps


def normalised_taps(taps: Taps, extent: int, *, exclude: bool) -> Taps:
    """Weights that add up to one, without those outside where they are excluded."""
    weights = [
        np.where((at >= 0) & (at < extent), weight, 0.0) if exclude else weight
        for at, weight in taps
    ]
    total = np.sum(weights, axis=0)
    return [(at, weight / total) for (at, _), weight in zip(taps, weights, strict=True)]


def weighted(x: Tracer, axis: int, taps: Taps) -> Tracer:
    """The sum of elements along an axis by weight; those outside are the ones at the ends."""
    line = [1] * x.ndim
    line[axis] = -1
    total: Tracer | None = None
    for at, weight in taps:
        part = hnp.take(x, np.clip(at, 0, x.shape[axis] - 1), axis=axis)
        if not (weight == 1).all():
            part = hnp.multiply(part, tensor(weight.reshape(line), x.dtype))
        total = part if total is None else hnp.add(total, part)
    assert total is not None
    return total
