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
