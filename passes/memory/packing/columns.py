"""The buffers of a problem as arrays, for the packers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
import numpy.typing as npt

from hlo.passes.memory.packing.model import Buffer

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """Buffers that can conflict: of at least one byte, live for at least one moment.

    Attributes:
        start, end, size, alignment: of each buffer, int64 of shape [n].
    """

    start: Int64s
    end: Int64s
    size: Int64s
    alignment: Int64s

    @staticmethod
    def of(buffers: Sequence[Buffer]) -> Columns:
        rows = [(b.start, b.end, b.size, b.alignment) for b in buffers]
        table = np.array(rows, np.int64).reshape(len(rows), 4)
        start, end, size, alignment = np.ascontiguousarray(table.T)
        return Columns(start, end, size, alignment)

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def unit(self) -> int:
        """A divisor of every offset: the greatest one of the alignments."""
        return gcd(*set(self.alignment.tolist()))

    @cached_property
    def padded_size(self) -> Int64s:
        """Bytes that a buffer takes below another one: its size, up to the next `unit`."""
        return -(-self.size // self.unit) * self.unit

    @cached_property
    def length(self) -> Int64s:
        """Time that each buffer is live."""
        return self.end - self.start

    @cached_property
    def moments(self) -> Int64s:
        """The times at which some buffer starts or ends, ascending."""
        # np.unique imports 15 ms of modules.
        times = np.sort(np.concatenate([self.start, self.end]))
        return times[np.diff(times, prepend=times[:1] - 1) != 0]

    @cached_property
    def live_bytes(self) -> Int64s:
        """Padded bytes live from each of `moments` until the next."""
        change = np.zeros(len(self.moments), np.int64)
        np.add.at(change, np.searchsorted(self.moments, self.start), self.padded_size)
        np.subtract.at(change, np.searchsorted(self.moments, self.end), self.padded_size)
        return np.cumsum(change)

    @cached_property
    def crowding(self) -> Int64s:
        """The most padded bytes live at some moment of each buffer's range."""
        first = np.searchsorted(self.moments, self.start)
        count = np.searchsorted(self.moments, self.end) - first
        # Range maxima from maxima over powers of two.
        level = np.frexp(count)[1] - 1
        result = np.zeros(len(self), np.int64)
        maxima = self.live_bytes
        for k in range(int(level.max(initial=0)) + 1):
            at = np.flatnonzero(level == k)
            result[at] = np.maximum(maxima[first[at]], maxima[first[at] + count[at] - (1 << k)])
            maxima = np.maximum(maxima[: -(1 << k)], maxima[1 << k :])
        return result

    @cached_property
    def conflicts(self) -> int:
        """Pairs of buffers that are live together."""
        # Those that start before this one ends, less those that end before it starts, less itself.
        before = np.searchsorted(np.sort(self.start), self.end, side="left")
        after = np.searchsorted(np.sort(self.end), self.start, side="right")
        return int(np.sum(before - after - 1)) // 2
