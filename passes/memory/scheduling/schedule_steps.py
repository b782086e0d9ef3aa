"""The order of steps that needs the fewest bytes at once, of those that several rules find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hlo.passes.memory.scheduling.exact import best_order
from hlo.passes.memory.scheduling.list_schedule import freeing_first, making_last
from hlo.passes.memory.scheduling.problem import Problem, profile

SMALL = 64  # parts of the peak that a step takes of which it is not worth waiting to run it


@dataclass(frozen=True)
class Found:
    """An order, its peak, that of the order given, and the rule that found it."""

    order: tuple[int, ...]
    peak: int
    peak_before: int
    rule: str


def schedule(
    problem: Problem,
    least_gain: float = 0.0,
    least_bytes: int = 0,
    accepts: Callable[[Sequence[int]], bool] | None = None,
) -> Found:
    """An order of the steps whose peak is at most that of the order given.

    Args:
        least_gain: share of the peak that another order must save; else the order stays.
        least_bytes: a lower peak than this is left alone.
        accepts: whether an order will do. Of those that save enough it is asked of the best first,
            until one does.
    """
    profiled = profile(problem)
    before = profiled.peak
    as_it_was = as_given(problem, before)
    if before < least_bytes or not problem.steps:
        return as_it_was
    if before - least_at(problem, profiled.at) <= least_gain * before:
        return as_it_was
    found: dict[tuple[int, ...], Found] = {}
    for rule, order in orders(problem, before):
        peak = profile(problem, order).peak
        found.setdefault(tuple(order), Found(tuple(order), peak, before, rule))
    least = min(before, *(other.peak for other in found.values()))
    if (order := best_order(problem, least)) is not None:
        peak = profile(problem, order).peak
        found[tuple(order)] = Found(tuple(order), peak, before, "exact")
    for other in sorted(found.values(), key=lambda other: other.peak):
        if before - other.peak <= least_gain * before:
            break
        if accepts is None or accepts(other.order):
            return other
    return as_it_was


def as_given(problem: Problem, peak: int) -> Found:
    """The order given, of a known peak."""
    return Found(tuple(range(len(problem.steps))), peak, peak, "as it was")


def orders(problem: Problem, limit: int) -> Iterator[tuple[str, list[int]]]:
    """(rule, order) of each rule; `limit` as of `freeing_first`."""
    given = list(range(len(problem.steps)))
    early = freeing_first(problem, given, limit)
    yield "free early", early
    yield "free early, small ones too", freeing_first(problem, given, limit, limit // SMALL)
    late = making_last(problem, given)
    yield "make late", late
    yield "make late, free early", freeing_first(problem, late, limit)
    yield "free early, make late", making_last(problem, early)


def least_at(problem: Problem, at: int) -> int:
    """Bytes that are live when a step runs in every order.

    What an earlier step must have made and a later one must read is live in between.
    """
    step, values = problem.steps[at], problem.values
    earlier, later = _reached(problem.before, at), _reached(problem.following, at)
    makers = problem.makers
    own = {v for v in step.makes if values[v].home is None} - {made for made, _ in step.over}
    live = sum(values[v].size for v in own) + step.scratch
    for value, size in enumerate(v.size for v in values):
        if not size or makers.get(value) not in earlier or values[value].home is not None:
            continue
        readers = problem.readers[value]
        if values[value].kept or at in readers or any(r in later for r in readers):
            live += size
    return live


def _reached(edges: Sequence[Sequence[int]], start: int) -> set[int]:
    found: set[int] = set()
    queue = [start]
    while queue:
        for neighbour in edges[queue.pop()]:
            if neighbour not in found:
                found.add(neighbour)
                queue.append(neighbour)
    return found
