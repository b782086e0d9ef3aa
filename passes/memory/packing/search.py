"""Search for lower placements, within limits: targets in Python, each tried by runtime/packing."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hlo.passes.memory.packing.columns import Columns, Int64s
from hlo_native import _packing

# The search keeps lists of conflicts: beyond this many it is slow to start and needs gigabytes.
MAX_CONFLICTS = 20_000_000

# Shares of the effort that a try at the bound, and one above it, may take.
_BOUND_SHARE = 1 / 2
_TARGET_SHARE = 1 / 8

_UNLIMITED_STEPS = 2**62


class Effort:
    """What may be spent on a search: a number of steps of a few nanoseconds, or time.

    Steps make results reproducible, time does not.
    """

    def __init__(self, *, steps: int | None = None, seconds: float | None = None) -> None:
        self.total_steps = self.steps_left = _UNLIMITED_STEPS if steps is None else steps
        self.total_seconds = seconds
        self.deadline = None if seconds is None else time.monotonic() + seconds

    @property
    def spent(self) -> bool:
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return True
        return self.steps_left <= 0

    def steps(self, share: float) -> int:
        """That share of all steps, if as many are left."""
        return max(min(int(self.total_steps * share), self.steps_left), 1)

    def seconds(self, share: float) -> float:
        """That share of all time, if as much is left; 0 if time is no limit."""
        if self.deadline is None or self.total_seconds is None:
            return 0.0
        return max(min(self.total_seconds * share, self.deadline - time.monotonic()), 1e-9)


@dataclass(frozen=True)
class Found:
    """What a search found out.

    Attributes:
        offsets: of a placement below the height the search started from; None if there is none.
        bound: the lower bound it started from, or a higher one it proved.
        method: for people.
    """

    offsets: Int64s | None
    bound: int
    method: str


def search_below(columns: Columns, capacity: int, bound: int, effort: Effort) -> Found:
    """Looks for a placement of at most `capacity` bytes."""
    result = _try(columns, capacity, effort, share=1.0, seed=0)
    if result.outcome == _packing.Outcome.PLACED:
        return Found(result.offsets, bound, _describe(result))
    if result.outcome == _packing.Outcome.INFEASIBLE:
        bound = max(bound, capacity + 1)
    return Found(None, bound, _describe(result))


def search_lowest(columns: Columns, height: int, bound: int, effort: Effort) -> Found:
    """Looks for the lowest placement below `height`.

    First at the bound; then by bisection between the bound and the lowest height found, where a
    target that is not met within its share of the effort counts as too low. When the two meet,
    bisection starts again from the proven bound, with other seeds.
    """
    best: Int64s | None = None
    method = ""
    target, reachable, seed = bound, bound, 0
    while bound < height and not effort.spent:
        share = _BOUND_SHARE if target == bound else _TARGET_SHARE
        result = _try(columns, target, effort, share=share, seed=seed)
        if result.outcome == _packing.Outcome.PLACED:
            best, method = result.offsets, _describe(result)
            height = int((best + columns.size).max())
        else:
            reachable = target + 1
            if result.outcome == _packing.Outcome.INFEASIBLE:
                bound = max(bound, target + 1)
        if reachable >= height - height // 1000:
            reachable, seed = bound, seed + 1
        target = (reachable + height - 1) // 2
    return Found(best, bound, method)


def _try(
    columns: Columns, capacity: int, effort: Effort, *, share: float, seed: int
) -> _packing.SearchResult:
    result = _packing.search(
        columns.start,
        columns.end,
        columns.size,
        columns.alignment,
        capacity=capacity,
        steps=effort.steps(share),
        seconds=effort.seconds(share),
        seed=seed,
    )
    effort.steps_left -= max(result.steps, 1)
    return result


def _describe(result: _packing.SearchResult) -> str:
    return f"search, {result.nodes} decisions, {result.restarts} descents"
