"""Fetches the next row of a matrix while a kernel goes over one for the second time.

A kernel that folds a row before it computes its elements, such as a softmax, reads memory in the
first pass alone and computes in the others. Asked for during the second pass, the next row comes
from memory meanwhile, and across the pages of 4 KiB at which the processor's own prefetching stops;
those behind it are asked into the core's larger cache.
"""

from __future__ import annotations

from collections.abc import Iterable

from hlo.passes.cost.caches import FAR_BYTES
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.emitter import Emitter, Fetcher
from hlo.passes.hlo_to_loops.lines_ahead import FARTHER, fetch_lines

_LONGEST_ROW = 16 << 10  # bytes: one row and the next stay in the nearest cache


class RowsAhead:
    """The passes over the rows of one buffer.

    Args:
        extent: elements of a row.
        folds: how many passes fold it, ahead of the one that computes its elements.
    """

    def __init__(self, extent: int, folds: int) -> None:
        self._extent, self._folds = extent, folds
        # For each place where rows begin the loops that fold one, in order.
        self._passes: dict[Affine, list[object]] = {}

    def fetch(self, em: Emitter, buffer: Buffer, offset: Affine) -> None:
        """Called where lanes of the buffer are loaded: fetches what lies a row behind them."""
        lane = em.lane
        if lane is None or em.extents[lane] != self._extent or not self._is_second(em, offset):
            return
        farther = FARTHER // buffer.type.memory_bytes
        fetch_lines(em, buffer, offset + (self._extent + farther), near=False)
        fetch_lines(em, buffer, offset + self._extent)

    def _is_second(self, em: Emitter, offset: Affine) -> bool:
        """Whether the loop in which lanes are loaded is the second one over their row."""
        assert em.lane is not None
        region = em.b.region
        if region is em.body:
            return self._folds == 1
        folds = self._passes.setdefault(offset + Affine.variable(em.lane) * -1, [])
        if not any(known is region for known in folds):
            folds.append(region)
        return len(folds) > 1 and folds[1] is region


def rows_ahead(
    inputs: Iterable[Buffer], size: int, extent: int, folds: int
) -> dict[Buffer, Fetcher]:
    """For the inputs of `size` elements that come from memory in rows of `extent`."""
    return {
        buffer: RowsAhead(extent, folds)
        for buffer in inputs
        if buffer.elements == size
        and size * buffer.type.memory_bytes >= FAR_BYTES
        and extent * buffer.type.memory_bytes <= _LONGEST_ROW
        and buffer.type.parts == 1
    }
