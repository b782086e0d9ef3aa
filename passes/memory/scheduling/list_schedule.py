"""List scheduling: the next step is the ready one that frees most, else the next in a given order.

Forwards, steps that free at least what they take are run as soon as they can, alone or as the head
of a short chain that does so together (the look-ahead). Backwards, steps are put off as long as
they make more than they keep alive. Both are near-linear in steps and reads.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from hlo.passes.memory.scheduling.problem import Problem, Tally

LOOK_AHEAD = 4  # steps of a chain


def freeing_first(problem: Problem, order: Sequence[int], limit: int, slack: int = 0) -> list[int]:
    """Runs steps that free memory as soon as they are ready.

    Args:
        order: a possible order; what frees nothing runs in this order.
        limit: bytes; steps are not run ahead of their turn if that would need more.
        slack: bytes; steps that take no more than that run at once too, since others may wait for
            them (a step counter, that all updates of parameters read).
    """
    return _Forward(problem, order, limit, slack).run()


class _Forward:
    def __init__(self, problem: Problem, order: Sequence[int], limit: int, slack: int) -> None:
        self.problem, self.limit, self.slack = problem, limit, slack
        self.tally = Tally.at_start(problem)
        self.rank = [0] * len(order)
        for position, at in enumerate(order):
            self.rank[at] = position
        self.waiting = [len(earlier) for earlier in problem.before]
        self.done = [False] * len(order)
        self.in_turn: list[tuple[int, int]] = []
        self.freeing: list[tuple[int, int, int]] = []

    def run(self) -> list[int]:
        for at, waiting in enumerate(self.waiting):
            if not waiting:
                self._ready(at)
        found: list[int] = []
        while len(found) < len(self.done):
            at = self._next()
            found.append(at)
            self._do(at)
        return found

    def _ready(self, at: int) -> None:
        heapq.heappush(self.in_turn, (self.rank[at], at))
        self._consider(at)

    def _consider(self, at: int) -> None:
        """Enters a ready step among those that free, if it or its chain does."""
        gain = self._gain(at)
        if gain is not None:
            heapq.heappush(self.freeing, (gain, self.rank[at], at))

    def _gain(self, at: int) -> int | None:
        """Bytes live after a step or its chain, less those before; None if more than the slack."""
        undo: list[tuple[int, int, int]] = []
        tally, start = self.tally, self.tally.live
        best: int | None = None
        for _ in range(LOOK_AHEAD):
            during, after, changes = tally.effect(at)
            if during > self.limit:
                break
            if after <= start + self.slack:
                best = after - start
                break
            reads = dict.fromkeys(self.problem.steps[at].reads)
            undo += [(v, tally.held[v], 0) for v, _ in changes] + [(v, -1, 1) for v in reads]
            for value, size in changes:
                tally.held[value] = size
            for value in reads:
                tally.remaining[value] -= 1
            tally.live = after
            following = [s for s in self.problem.following[at] if self.waiting[s] == 1]
            if len(following) != 1:
                break
            at = following[0]
        for value, held, reads_back in reversed(undo):
            tally.remaining[value] += reads_back
            if held >= 0:
                tally.held[value] = held
        tally.live = start
        return best

    def _next(self) -> int:
        while self.freeing:
            gain, _, at = heapq.heappop(self.freeing)
            if self.done[at]:
                continue
            now = self._gain(at)
            if now is not None and now <= gain:
                return at
            if now is not None:
                heapq.heappush(self.freeing, (now, self.rank[at], at))
        while True:
            _, at = heapq.heappop(self.in_turn)
            if not self.done[at]:
                return at

    def _do(self, at: int) -> None:
        self.done[at] = True
        self.tally.run(at)
        for following in self.problem.following[at]:
            self.waiting[following] -= 1
            if not self.waiting[following]:
                self._ready(following)
        for value in dict.fromkeys(self.problem.steps[at].reads):
            if self.tally.remaining[value] == 1:  # its last reader frees it now
                for reader in self.problem.readers[value]:
                    if not self.done[reader] and not self.waiting[reader]:
                        self._consider(reader)


def making_last(problem: Problem, order: Sequence[int]) -> list[int]:
    """Puts steps off that make more than they keep alive.

    From the last step to the first: of the steps that nothing left reads, the one whose operands
    become live for the fewest bytes, less those it makes; if none is worth it, the last in `order`.
    """
    values = problem.values
    rank = {at: position for position, at in enumerate(order)}
    waiting = [len(following) for following in problem.following]
    live = [value.kept for value in values]
    readers = problem.readers
    found: list[int] = []
    done = [False] * len(order)
    in_turn: list[tuple[int, int]] = []
    worth: list[tuple[int, int, int]] = []

    def cost(at: int) -> int:
        step = problem.steps[at]
        needed = sum(values[v].size for v in dict.fromkeys(step.reads) if not live[v])
        return needed - sum(values[v].size for v in step.makes if live[v])

    def ready(at: int) -> None:
        heapq.heappush(in_turn, (-rank[at], at))
        consider(at)

    def consider(at: int) -> None:
        if (price := cost(at)) <= 0:
            heapq.heappush(worth, (price, -rank[at], at))

    for at, count in enumerate(waiting):
        if not count:
            ready(at)
    while len(found) < len(done):
        chosen = None
        while worth and chosen is None:
            price, _, at = heapq.heappop(worth)
            chosen = at if not done[at] and cost(at) <= price else None
        while chosen is None:
            _, at = heapq.heappop(in_turn)
            chosen = None if done[at] else at
        done[chosen] = True
        found.append(chosen)
        for value in dict.fromkeys(problem.steps[chosen].reads):
            if not live[value]:
                live[value] = True
                for reader in readers[value]:
                    if not done[reader] and not waiting[reader]:
                        consider(reader)
        for earlier in problem.before[chosen]:
            waiting[earlier] -= 1
            if not waiting[earlier]:
                ready(earlier)
    return found[::-1]
