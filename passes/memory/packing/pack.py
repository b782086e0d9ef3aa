"""`pack`: the one entry to the packers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hlo.diagnostics import ArgumentError
from hlo.passes.memory.packing.bound import columns_bound
from hlo.passes.memory.packing.columns import Columns, Int64s
from hlo.passes.memory.packing.greedy import greedy_placements
from hlo.passes.memory.packing.model import Buffer, Placement, check_buffers
from hlo.passes.memory.packing.search import (
    MAX_CONFLICTS,
    Effort,
    Found,
    search_below,
    search_lowest,
)

Strategy = Literal["auto", "greedy", "search"]

# What is spent on a search that nobody asked for: some 50 microseconds a buffer, tens of
# milliseconds at most; and nothing when greedy placement came this close to the bound.
_STEPS_PER_BUFFER = 20_000
_MAX_STEPS = 16_000_000
_CLOSE = 1.01

# Without a time budget, greedy rules are tried while they have looked at fewer pairs than this,
# some tenths of a second, but two of them in any case.
_GREEDY_PAIRS = 60_000_000
_GREEDY_RULES = 2


def pack(
    buffers: Sequence[Buffer],
    *,
    capacity: int | None = None,
    time_budget_s: float = 0.0,
    strategy: Strategy = "auto",
) -> Placement:
    """Places buffers in one arena.

    Stops at the first placement of at most `capacity` bytes; without a capacity, at one that meets
    the lower bound. What it returns is the lowest it found, which may be higher than the capacity.
    Without a time budget the result depends on the arguments alone.

    Args:
        buffers: in any order, with distinct ids.
        capacity: bytes the arena may have.
        time_budget_s: seconds, about, to find a placement in; at least what it takes to place each
            buffer once. 0 is a small effort that depends on the number of buffers, not on the
            machine.
        strategy: "greedy" never searches, "search" only searches unless that finds nothing, "auto"
            is greedy placement, then search.

    Raises:
        InvalidBufferError: the buffers are no packing problem.
        ArgumentError: an argument has no meaning.
    """
    _check_arguments(capacity, time_budget_s, strategy)
    timed = Effort(seconds=time_budget_s) if time_budget_s > 0 else None
    check_buffers(buffers)
    conflicting = [b for b in buffers if b.size > 0 and b.start < b.end]
    # Buffers that are live at no moment conflict with none: they lie at 0.
    apart = max((b.size for b in buffers if b.start == b.end), default=0)
    if not conflicting:
        return Placement(dict.fromkeys((b.id for b in buffers), 0), apart, apart, "no conflicts")
    effort = timed or Effort(steps=min(_STEPS_PER_BUFFER * len(conflicting), _MAX_STEPS))
    packer = _Packer(Columns.of(conflicting), apart, capacity, effort)
    if strategy == "search":
        packer.search()
    if strategy != "search" or packer.offsets is None:
        packer.greedy()
    if strategy == "auto" and not packer.close:
        packer.search()
    offsets: dict[int | str, int] = dict.fromkeys((b.id for b in buffers), 0)
    offsets.update(zip((b.id for b in conflicting), packer.best.tolist(), strict=True))
    return Placement(offsets, packer.height, packer.bound, packer.method)


class _Packer:
    """The best placement so far, and what it is measured against."""

    def __init__(self, columns: Columns, floor: int, capacity: int | None, effort: Effort) -> None:
        self.columns = columns
        self.floor = floor
        self.capacity = capacity
        self.effort = effort
        self.bound = max(columns_bound(columns), floor)
        self.offsets: Int64s | None = None
        self.height = 0
        self.method = ""

    @property
    def best(self) -> Int64s:
        assert self.offsets is not None
        return self.offsets

    @property
    def done(self) -> bool:
        """Whether there is nothing left to gain."""
        if self.offsets is None:
            return False
        return self.height <= max(self.bound, self.capacity or 0)

    @property
    def close(self) -> bool:
        """Whether what is left to gain is not worth a search that nobody asked for."""
        unasked = self.capacity is None and self.effort.deadline is None
        return self.done or (unasked and self.height <= self.bound * _CLOSE)

    def offer(self, offsets: Int64s, method: str) -> None:
        height = max(int((offsets + self.columns.size).max()), self.floor)
        if self.offsets is None or height < self.height:
            self.offsets, self.height, self.method = offsets, height, method

    def greedy(self) -> None:
        pairs = 0
        limit = None if self.effort.deadline is None else lambda: self.effort.seconds(1.0)
        for tried, (name, offsets) in enumerate(greedy_placements(self.columns, limit), 1):
            self.offer(offsets, name)
            pairs += self.columns.conflicts
            enough = pairs >= _GREEDY_PAIRS if self.effort.deadline is None else self.effort.spent
            if self.done or (enough and tried >= _GREEDY_RULES):
                return

    def search(self) -> None:
        if self.done or self.columns.conflicts > MAX_CONFLICTS:
            return
        if self.capacity is not None and self.capacity < self.bound:
            return
        found = self._search()
        self.bound = max(self.bound, found.bound)
        if found.offsets is not None:
            self.offer(found.offsets, found.method)

    def _search(self) -> Found:
        if self.capacity is not None:
            return search_below(self.columns, self.capacity, self.bound, self.effort)
        height = self.height
        if self.offsets is None:  # buffers side by side
            height = int(self.columns.size.sum() + self.columns.alignment.sum())
        return search_lowest(self.columns, height, self.bound, self.effort)


def _check_arguments(capacity: int | None, time_budget_s: float, strategy: str) -> None:
    if capacity is not None and capacity < 0:
        raise ArgumentError(f"capacity is {capacity} bytes; expected >= 0")
    if not 0 <= time_budget_s < float("inf"):
        raise ArgumentError(f"time_budget_s is {time_budget_s}; expected finite and >= 0")
    if strategy not in ("auto", "greedy", "search"):
        raise ArgumentError(f"strategy is {strategy!r}; expected 'auto', 'greedy' or 'search'")
