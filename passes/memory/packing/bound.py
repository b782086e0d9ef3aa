"""A lower bound of the height of every placement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo.passes.memory.packing.columns import Columns
from hlo.passes.memory.packing.model import Buffer, check_buffers

# Looking at more moments of nearly the same bytes is not worth its time.
_MOMENTS = 64


def lower_bound(buffers: Sequence[Buffer]) -> int:
    """Bytes that any placement of the buffers needs: the most that are live at once, padded.

    Offsets are multiples of the alignments' greatest common divisor, so each live buffer takes a
    multiple of it, but for the one on top, which may end where it likes.

    Raises:
        InvalidBufferError: the buffers are no packing problem.
    """
    check_buffers(buffers)
    largest = max((b.size for b in buffers), default=0)
    conflicting = [b for b in buffers if b.size > 0 and b.start < b.end]
    return max(largest, columns_bound(Columns.of(conflicting))) if conflicting else largest


def columns_bound(columns: Columns) -> int:
    """`lower_bound` of at least one buffer, all of them live for some time and not empty."""
    padding = columns.padded_size - columns.size
    live = columns.live_bytes
    peak = int(live.max())
    best = peak - (columns.unit - 1)
    # The top buffer saves less than a unit, so only moments this close to the peak can do better.
    for index in np.flatnonzero(live > best)[:_MOMENTS]:
        moment = columns.moments[index]
        top = padding[(columns.start <= moment) & (moment < columns.end)].max(initial=0)
        best = max(best, int(live[index]) - int(top))
        if best == peak:
            break
    return best
