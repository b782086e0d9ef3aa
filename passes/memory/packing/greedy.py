"""Greedy placement: one buffer after the other, each into a gap between those already placed.

The rules by size and best fit go back to Pisarchyk and Lee, "Efficient Memory Management for Deep
Neural Net Inference" (2020); no order is best for all programs, so a few are tried.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hlo.passes.memory.packing import orders
from hlo.passes.memory.packing.columns import Columns, Int64s
from hlo_native import _packing

# Below this many buffers the Python loop is faster than handing them to the native one.
_NATIVE_FROM = 24
# From this many pairs of buffers that are live together a rule takes tenths of a second and more.
_SLOW_PAIRS = 5_000_000


@dataclass(frozen=True)
class GreedyRule:
    """One member of the family.

    Attributes:
        name: for people.
        order: in which the buffers are placed.
        best_fit: whether the smallest sufficient gap is taken; else the lowest.
    """

    name: str
    order: Callable[[Columns], orders.Order]
    best_fit: bool


# The order they are tried in: those that win most often first.
GREEDY_RULES: tuple[GreedyRule, ...] = (
    GreedyRule("best fit by size", orders.by_size, best_fit=True),
    GreedyRule("best fit by crowding", orders.by_crowding, best_fit=True),
    GreedyRule("first fit by crowding and size", orders.by_crowding_and_size, best_fit=False),
    GreedyRule("first fit by size", orders.by_size, best_fit=False),
    GreedyRule("best fit by start", orders.by_start, best_fit=True),
    GreedyRule("best fit by start and length", orders.by_start_and_length, best_fit=True),
    GreedyRule("best fit by end", orders.by_end, best_fit=True),
    GreedyRule("best fit by length", orders.by_length, best_fit=True),
    GreedyRule("first fit by area", orders.by_area, best_fit=False),
    GreedyRule("first fit by start", orders.by_start, best_fit=False),
    GreedyRule("first fit by start and length", orders.by_start_and_length, best_fit=False),
    GreedyRule("best fit by crowding and size", orders.by_crowding_and_size, best_fit=True),
)


def greedy_placements(
    columns: Columns, seconds_left: Callable[[], float] | None = None
) -> Iterator[tuple[str, Int64s]]:
    """(name, offsets) of each rule in turn, computed when asked for.

    Args:
        columns: the buffers.
        seconds_left: how long a rule may take; the first that takes longer is the end. Where there
            is a limit, and rules are slow, what an allocator would do comes first, for it is not.
    """
    limited = seconds_left is not None and columns.conflicts > _SLOW_PAIRS
    if limited:
        yield "as allocated", place_as_allocated(columns)
    for rule in GREEDY_RULES:
        # As no limit is 0 seconds, none left are very few.
        limit = max(seconds_left(), 1e-9) if seconds_left is not None and limited else 0.0
        offsets = place_in_order(
            columns, rule.order(columns), best_fit=rule.best_fit, seconds=limit
        )
        if len(offsets) < len(columns):
            return
        yield rule.name, offsets


def place_as_allocated(columns: Columns) -> Int64s:
    """Offsets that an allocator would give while the program runs, each time the smallest gap that
    is large enough."""
    buffers = (columns.start, columns.end, columns.size, columns.alignment)
    return _packing.place_as_allocated(*buffers, orders.by_start(columns))


def place_in_order(
    columns: Columns, order: orders.Order, *, best_fit: bool, seconds: float = 0.0
) -> Int64s:
    """Offsets of buffers that are placed in `order`, a permutation: int64 of shape [n], or of shape
    [0] if that takes longer than `seconds` and they are not 0.

    `place_few` and the native function (runtime/packing) give the same offsets.
    """
    if len(columns) < _NATIVE_FROM:
        return place_few(columns, order.tolist(), best_fit=best_fit)
    buffers = (columns.start, columns.end, columns.size, columns.alignment)
    return _packing.place_in_order(*buffers, order, best_fit=best_fit, seconds=seconds)


def place_few(columns: Columns, order: Sequence[int], *, best_fit: bool) -> Int64s:
    """`place_in_order` by comparing each buffer with all that are placed, lowest first."""
    starts, ends = columns.start.tolist(), columns.end.tolist()
    sizes, alignments = columns.size.tolist(), columns.alignment.tolist()
    offsets = [0] * len(sizes)
    placed: list[tuple[int, int]] = []  # (offset, buffer)
    for buffer in order:
        start, end = starts[buffer], ends[buffer]
        size, alignment = sizes[buffer], alignments[buffer]
        top = 0
        chosen = least_rest = -1
        for offset, other in placed:
            if starts[other] >= end or ends[other] <= start:
                continue
            if offset > top:
                candidate = -(-top // alignment) * alignment
                rest = offset - candidate - size
                if rest >= 0 and (chosen < 0 or rest < least_rest):
                    chosen, least_rest = candidate, rest
                    if rest == 0 or not best_fit:
                        break
            top = max(top, offset + sizes[other])
        if chosen < 0:
            chosen = -(-top // alignment) * alignment
        offsets[buffer] = chosen
        insort(placed, (chosen, buffer))
    return np.array(offsets, np.int64)
