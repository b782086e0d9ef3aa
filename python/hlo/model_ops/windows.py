"""Where the windows of a pooling lie, and the largest element of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import is_float, lowest
from hlo.frontend.tracer import Tracer
from hlo.model_ops.values import tensor


class Windows:
    """Windows over the last dimensions of a tensor, one entry for each of these.

    Attributes:
        extents: of the tensor.
        kernel, strides, dilation: numbers.
        given: (low, high), the padding that was asked for.
        pads: the same with what the last windows reach over, or less what none reaches.
        counts: how many windows there are.
    """

    def __init__(
        self,
        extents: Sequence[int],
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[tuple[int, int]],
        dilation: Sequence[int],
        *,
        round_up: bool = False,
    ) -> None:
        self.extents = tuple(extents)
        self.kernel = tuple(kernel)
        self.strides = tuple(strides)
        self.dilation = tuple(dilation)
        self.given = list(pads)
        self.counts: list[int] = []
        self.pads: list[tuple[int, int]] = []
        for extent, k, s, d, (low, high) in zip(
            extents, kernel, strides, dilation, pads, strict=True
        ):
            reach = d * (k - 1) + 1
            spare = extent + low + high - reach
            count = (-(-spare // s) if round_up else spare // s) + 1
            # A window begins inside the tensor or the padding ahead of it.
            if round_up and (count - 1) * s >= extent + low:
                count -= 1
            self.counts.append(count)
            self.pads.append((low, (count - 1) * s + reach - extent - low))

    def full(self, rank: int) -> dict[str, Any]:
        """The keywords of `reduce_window` for a tensor of `rank` dimensions."""
        lead = rank - len(self.kernel)
        return {
            "window_dimensions": (1,) * lead + self.kernel,
            "window_strides": (1,) * lead + self.strides,
            "padding": [(0, 0)] * lead + self.pads,
            "window_dilation": (1,) * lead + self.dilation,
        }

    def covered(self, *, padding: bool) -> Any:
        """How many elements each window covers, the given padding counted or not: one number, or
        an array if they differ."""
        table = np.ones(())
        for i, extent in enumerate(self.extents):
            low, high = self.given[i] if padding else (0, 0)
            starts = np.arange(self.counts[i]) * self.strides[i] - self.pads[i][0]
            taps = starts[:, None] + np.arange(self.kernel[i]) * self.dilation[i]
            inside = (taps >= -low) & (taps < extent + high)
            table = table[..., None] * inside.sum(axis=1)
        same = table.size > 0 and bool((table == table.flat[0]).all())
        return float(table.flat[0]) if same else table

    def total(self, x: Tracer) -> Tracer:
        """The sum of each window."""
        return lax.reduce_window(x, tensor(0, x.dtype), lax.add, **self.full(x.ndim))

    def largest(self, x: Tracer) -> Tracer:
        """The largest element of each window."""
        return lax.reduce_window(x, _lowest(x), lax.max, **self.full(x.ndim))

    def of_largest(self, x: Tracer, places: Tracer) -> Tracer:
        """What `places`, numbers of at least 0 in the shape of x, has where the largest element of
        each window is, NaN before all others."""

        def larger(a: tuple[Tracer, Tracer], b: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
            take = lax.gt(b[0], a[0])
            if is_float(x.dtype):
                take = lax.bitwise_or(take, lax.ne(b[0], b[0]))
            # Padding has no place: whatever is read first replaces it.
            take = lax.bitwise_or(take, lax.lt(a[1], tensor(0, places.dtype)))
            take = lax.bitwise_and(take, lax.ge(b[1], tensor(0, places.dtype)))
            return lax.select(take, b[0], a[0]), lax.select(take, b[1], a[1])

        first = (_lowest(x), tensor(-1, places.dtype))
        return lax.reduce_window((x, places), first, larger, **self.full(x.ndim))[1]


def _lowest(x: Tracer) -> Tracer:
    return tensor(lowest(x.dtype), x.dtype)
