"""The best order of few steps, by search over the sets of steps that can have been run."""

from __future__ import annotations

import heapq

from hlo.passes.memory.scheduling.problem import Problem, Tally

MOST_STEPS = 24
MOST_SETS = 2000


def best_order(problem: Problem, peak: int) -> list[int] | None:
    """An order whose peak is the least, if that is below `peak`; None if not, or not found in time.

    Sets of steps are visited in the order of the least peak that reaches them (Dijkstra's algorithm
    with the maximum in place of the sum), so the first to reach the whole is best.
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
        for at in range(count):
            bit = 1 << at
            if done & bit or before[at] & ~done:
                continue
            during, _, _ = tally.effect(at)
            top, after = max(height, during), done | bit
            if top >= peak or (after in reached and reached[after][0] <= top):
                continue
            reached[after] = (top, at)
            states[after] = Tally(problem, tally.live, list(tally.remaining), list(tally.held))
            states[after].run(at)
            heapq.heappush(queue, (top, -after.bit_count(), after))
    return None


def _path(reached: dict[int, tuple[int, int]], whole: int) -> list[int]:
    order: list[int] = []
    while whole:
        at = reached[whole][1]
        order.append(at)
        whole &= ~(1 << at)
    return order[::-1]
