"""The best order of few steps, by search over the sets of steps that can have been run."""

from __future__ import annotations

import heapq

from hlo.passes.memory.scheduling.problem import Problem, Tally

MOST_STEPS = 24
MOST_SETS = 5000


def best_order(problem: Problem, peak: int) -> list[int] | None:
    """An order whose peak is the least, if that is below `peak`; None if not, or not found in time.

    Sets of steps are visited in the order of the least peak that reaches them (Dijkstra's algorithm
    with the maximum in place of the sum), so the first to reach the whole is best. A step that
    fits below what a set needed so far, and leaves no more live, is run at once: wherever an order
    has it, it may as well come here, for later steps then find fewer readers to come and free no
    less.
    """
    count = len(problem.steps)
    if count > MOST_STEPS:
        return None
    before = [sum(1 << e for e in earlier) for earlier in problem.before]
    whole = (1 << count) - 1
    queue: list[tuple[int, int, int]] = [(0, 0, 0)]
    reached: dict[int, tuple[int, int]] = {0: (0, -1)}  # set -> (peak, the last step)
    states: dict[int, Tally] = {0: Tally.at_start(problem)}
    visited: set[int] = set()
    while queue and len(visited) < MOST_SETS:
        height, _, done = heapq.heappop(queue)
        if done in visited:
            continue
        visited.add(done)
        if done == whole:
            return _path(reached, whole)
        tally = states.pop(done)
        for at, during in _worth_running(tally, done, before, height):
            top, after = max(height, during), done | 1 << at
            if top >= peak or (after in reached and reached[after][0] <= top):
                continue
            reached[after] = (top, at)
            states[after] = Tally(problem, tally.live, list(tally.remaining), list(tally.held))
            states[after].run(at)
            heapq.heappush(queue, (top, -after.bit_count(), after))
    return None


def _worth_running(
    tally: Tally, done: int, before: list[int], height: int
) -> list[tuple[int, int]]:
    """(step, bytes live while it runs) of steps that can be next; one that costs nothing alone."""
    found: list[tuple[int, int]] = []
    for at, earlier in enumerate(before):
        if done >> at & 1 or earlier & ~done:
            continue
        during, after, _ = tally.effect(at)
        if during <= height and after <= tally.live:
            return [(at, during)]
        found.append((at, during))
    return found


def _path(reached: dict[int, tuple[int, int]], whole: int) -> list[int]:
    order: list[int] = []
    while whole:
        at = reached[whole][1]
        order.append(at)
        whole &= ~(1 << at)
    return order[::-1]
