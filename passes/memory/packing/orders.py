"""Orders in which greedy placement takes the buffers. What is placed early lies well."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hlo.passes.memory.packing.columns import Columns

Order = npt.NDArray[np.int32]


def by_size(columns: Columns) -> Order:
    """Largest first; of equals the longest-lived."""
    return _sorted(columns.start, -columns.length, -columns.size)


def by_area(columns: Columns) -> Order:
    """Largest product of bytes and time first."""
    return _sorted(columns.start, -columns.size.astype(np.float64) * columns.length)


def by_length(columns: Columns) -> Order:
    """Longest-lived first; of equals the largest."""
    return _sorted(columns.start, -columns.size, -columns.length)


def by_crowding(columns: Columns) -> Order:
    """Those live at the most crowded moments first; of equals the longest-lived."""
    return _sorted(-columns.size, -columns.length, -columns.crowding)


def by_crowding_and_size(columns: Columns) -> Order:
    """Those live at the most crowded moments first; of equals the largest."""
    return _sorted(columns.start, -columns.size, -columns.crowding)


def by_start(columns: Columns) -> Order:
    """As a running program allocates; of equals the largest."""
    return _sorted(-columns.size, columns.start)


def by_start_and_length(columns: Columns) -> Order:
    """As a running program allocates; of equals the longest-lived."""
    return _sorted(-columns.size, -columns.length, columns.start)


def by_end(columns: Columns) -> Order:
    """As the program allocates when it runs backwards; of equals the largest."""
    return _sorted(-columns.size, -columns.end)


def _sorted(*keys: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> Order:
    """By the last key, equals by the one before it, and so on."""
    return np.lexsort(keys).astype(np.int32)
