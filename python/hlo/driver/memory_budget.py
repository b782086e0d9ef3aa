"""`max_bytes=`: a program is compiled such that its peak stays within a budget, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.byte_text import byte_text
from hlo.driver.module_copy import copy_of
from hlo.driver.source_lines import short_source_line
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.memory.deallocate import Deallocate
from hlo.passes.memory.place import Allocation, Arena, Place
from hlo.passes.memory.rematerialize import Rematerialize, live_bytes_of
from hlo.passes.memory.schedule import Decision, Schedule

ATTEMPTS = 6  # the pass counts bytes by a model, and aims lower where the plan turns out higher
# Shares of the live bytes that are aimed at before a budget is refused: aiming at none at all is
# not always what comes lowest, for what is made again is live too.
SHARES = (0.95, 0.9, 0.8, 0.65)
LISTED = 8  # buffers that an error names


class MemoryBudgetError(CompileError):
    """A program whose peak does not fit the budget that the caller gave.

    Attributes:
        least: bytes of the lowest peak that was found.
    """

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.least = least


@dataclass(frozen=True)
class PlannedProgram:
    """A host program with its memory planned.

    Attributes:
        fused: the module it was made of.
        placed: its module, each buffer with its offset.
        reordered: what `schedule` did with its blocks for the sake of a budget.
    """

    fused: ir.Module
    host: HostProgram
    placed: ir.Module
    arena: Arena
    reordered: tuple[Decision, ...] = ()

    @property
    def peak_bytes(self) -> int:
        """Arguments, results and arena, what is shared counted once."""
        host = self.host
        results = [_bytes(*kind) for kind in host.result_types]
        own = sum(size for i, size in enumerate(results) if i not in host.donated)
        return sum(_bytes(*kind) for kind in host.argument_types) + own + self.arena.bytes


def plan(fused: ir.Module, host: HostProgram, reuse: bool) -> PlannedProgram:
    """Plans the memory of the host program of a fused module."""
    placed = ir.parse_module(host.text, fused.context)
    Deallocate().run(placed)
    return PlannedProgram(fused, host, placed, Place(reuse=reuse).plan(placed))


def plan_within(
    fused: ir.Module, planned: Callable[[ir.Module], PlannedProgram], max_bytes: int
) -> PlannedProgram:
    """A program's plan within a budget.

    If it must, ops run in the order of the least memory though it be slower, and intermediates are
    made again.

    Args:
        planned: makes the host program of a module and plans its memory.
        max_bytes: most bytes of the peak; 0 for no limit.

    Raises:
        MemoryBudgetError: the least peak that was found is higher; the message tells it and what
            is live then.
    """
    least = planned(fused)
    if not max_bytes or least.peak_bytes <= max_bytes:
        return least
    reordered: tuple[Decision, ...] = ()
    ordered = copy_of(fused)
    scheduler = Schedule(most_slowdown=math.inf)
    decisions = tuple(scheduler.decide(ordered))
    if scheduler.run(ordered):
        found = replace(planned(ordered), reordered=decisions)
        if found.peak_bytes <= max_bytes:
            return found
        if found.peak_bytes < least.peak_bytes:
            least, fused, reordered = found, ordered, decisions

    def rematerialized(target: int) -> PlannedProgram:
        module = copy_of(fused)
        Rematerialize(target).run(module)
        return replace(planned(module), reordered=reordered)

    live = live_bytes_of(fused)
    target = max(1, live - (least.peak_bytes - max_bytes))
    for attempt in range(ATTEMPTS):
        found = rematerialized(target)
        if found.peak_bytes <= max_bytes:
            return found
        if found.peak_bytes < least.peak_bytes:
            least = found
        if target == 1:
            break
        # As low as it gets, at last: what the error about a smaller budget has promised.
        missed = live_bytes_of(found.fused) > target or attempt + 2 == ATTEMPTS
        target = 1 if missed else max(1, target - (found.peak_bytes - max_bytes))
    for share in SHARES:
        found = rematerialized(max(1, int(live * share)))
        if found.peak_bytes <= max_bytes:
            return found
        if found.peak_bytes < least.peak_bytes:
            least = found
    raise MemoryBudgetError(_message(least, max_bytes), least.peak_bytes)


def _message(least: PlannedProgram, max_bytes: int) -> str:
    peak, arena = least.peak_bytes, least.arena.bytes
    live = _live_at_peak(least.arena.allocations)
    shown = "".join(
        f"\n  {a.name}: {a.size} bytes{f', {where}' if (where := _where(a)) else ''}"
        for a in live[:LISTED]
    )
    more = f"\n  and {len(live) - LISTED} more" if len(live) > LISTED else ""
    return (
        f"option max_bytes: expected a budget of at least {peak} bytes ({byte_text(peak)}), found "
        f"{max_bytes}: arguments and results take {peak - arena} bytes, and intermediates {arena} "
        f"after all was made again that helps; donate arguments, or lower the batch size. Live at "
        f"the peak:{shown}{more}"
    )


def _where(allocation: Allocation) -> str:
    return short_source_line(allocation.location)


def _live_at_peak(allocations: Sequence[Allocation]) -> list[Allocation]:
    """The buffers of the arena that are live when most bytes are, the largest first."""
    kept = [a for a in allocations if a.lender is None]
    moments = {a.start for a in kept}
    live = {m: [a for a in kept if a.start <= m < a.end] for m in moments}
    most = max(live.values(), key=lambda found: sum(a.size for a in found), default=[])
    return sorted(most, key=lambda a: (-a.size, a.start))


def _bytes(shape: Sequence[int], name: str) -> int:
    size = ir.types.to_dtype(name).itemsize
    for extent in shape:
        size *= extent
    return size
