"""Making values again instead of keeping them, until the bytes live at once meet a budget.

At the peak, a value that nothing reads for a while is dropped after its last reader so far, and the
steps that make it are run again ahead of the next one. What those steps read must be there: it is
live anyway, is made again too, or is kept for longer. Of all values the one is taken that costs
least for each byte that it takes off the peak. Source: Chen et al., Training Deep Nets with
Sublinear Memory Cost (2016), with the choice of what to drop made greedily at the peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlo.passes.memory.scheduling.problem import Problem, Profile, Step, Value, profile

LONGEST_CHAIN = 24  # steps that are run again for one value
TRIES = 12  # values that are tried for real at one peak
MOST_ROUNDS = 2000
STAGES = (8, 32, 128)  # parts of the peak that are aimed off it where the budget is far


@dataclass(frozen=True)
class Recomputed:
    """Steps in an order, some of them run again.

    Attributes:
        problem: the steps as they now are; values from `len(values)` of the old on are new.
        origins: for each step the step of the old problem that it is.
        again: for each step whether it runs again what ran before.
        peak: most bytes live at once.
        price: what all that run again cost.
    """

    problem: Problem
    origins: tuple[int, ...]
    again: tuple[bool, ...]
    peak: int
    price: float = 0.0


@dataclass(frozen=True)
class _Drop:
    """A value to make again.

    Attributes:
        value: it.
        before: the position of the step that reads it next.
        chain: positions of the steps to run again, in order.
        gain: bytes off the peak.
        price: what running them again costs.
    """

    value: int
    before: int
    chain: tuple[int, ...]
    gain: int
    price: float


def recompute(problem: Problem, costs: Sequence[float | None], budget: int) -> Recomputed:
    """Runs steps again until at most `budget` bytes are live, or nothing lowers the peak more.

    Args:
        costs: of each step, in any unit; None if it must not run again.
    """
    count = len(problem.steps)
    steps = [replace(step, after=()) for step in problem.steps]  # they stay in this order
    plan = _Plan(steps, list(problem.values), list(range(count)), list(costs), [False] * count)
    profiled = profile(plan.problem)
    for _ in range(MOST_ROUNDS):
        if profiled.peak <= budget:
            break
        better = next(
            filter(None, (_better(plan, profiled, b) for b in _aims(profiled, budget))), None
        )
        if better is None:
            break
        plan, profiled = better
    price = sum(
        costs[at] or 0.0 for at, again in zip(plan.origins, plan.again, strict=True) if again
    )
    return Recomputed(plan.problem, tuple(plan.origins), tuple(plan.again), profiled.peak, price)


def _aims(profiled: Profile, budget: int) -> list[int]:
    """Bytes to aim at: the budget, else somewhat less than the peak.

    Steps that run again are themselves above a budget that is far.
    """
    nearer = (profiled.peak - max(1, profiled.peak // part) for part in STAGES)
    return list(dict.fromkeys([budget, *(max(budget, aim) for aim in nearer)]))


def _better(plan: _Plan, profiled: Profile, budget: int) -> tuple[_Plan, Profile] | None:
    """The plan with one more value made again, and its profile; None if none is better."""
    area = _above(profiled, budget)
    for drop in plan.drops(profiled, budget)[:TRIES]:
        other = plan.with_drop(drop)
        found = profile(other.problem)
        if found.peak <= profiled.peak and _above(found, budget) < area:
            return other, found
    return None


def _above(profiled: Profile, budget: int) -> int:
    return sum(max(0, size - budget) for size in profiled.during)


@dataclass
class _Plan:
    steps: list[Step]
    values: list[Value]
    origins: list[int]
    costs: list[float | None]
    again: list[bool]

    @property
    def problem(self) -> Problem:
        return Problem(self.steps, self.values)

    def drops(self, profiled: Profile, budget: int) -> list[_Drop]:
        """What could be made again to lower the peak, the best first."""
        peak, problem = profiled.at, self.problem
        makers, readers = problem.makers, problem.readers
        # A home is written over by what is made there: who reads it later would make that a copy.
        taken = {
            kind.home: makers[value]
            for value, kind in enumerate(self.values)
            if kind.home is not None and value in makers
        }
        found: list[_Drop] = []
        for value, maker in makers.items():
            kind = self.values[value]
            if not kind.size or kind.kept or kind.home is not None or maker >= peak:
                continue
            later = [r for r in readers[value] if r > peak]
            if not later or peak in readers[value]:
                continue
            drop = self._drop(value, peak, later[0], makers, readers)
            reads = [r for at in drop.chain for r in self.steps[at].reads] if drop else []
            if any(taken.get(r, later[0]) < later[0] for r in reads):
                continue
            if drop is not None:
                found.append(drop)
        excess = profiled.peak - budget
        return sorted(found, key=lambda d: (d.price / min(d.gain, excess), -d.gain, d.value))

    def _drop(
        self, value: int, peak: int, before: int,
        makers: dict[int, int], readers: list[list[int]],
    ) -> _Drop | None:  # fmt: skip
        chain: set[int] = set()
        extended: set[int] = set()

        def there(read: int) -> bool:
            """Whether a value is live, or without bytes, when the steps run again."""
            size = self.values[read].size
            if not size or read not in makers or read in extended or self.values[read].kept:
                return True
            return any(r >= before for r in readers[read])

        waiting = [value]
        while waiting:
            made = waiting.pop()
            at = makers[made]
            if at in chain:
                continue
            if self.costs[at] is None or len(chain) == LONGEST_CHAIN:
                if made == value:
                    return None
                extended.add(made)
                continue
            chain.add(at)
            waiting += [r for r in self.steps[at].reads if r != value and not there(r)]
        live = {v for v in extended if readers[v][-1] >= peak} if extended else set[int]()
        gain = self.values[value].size - sum(self.values[v].size for v in extended - live)
        if gain <= 0:
            return None
        price = sum(self.costs[at] or 0.0 for at in chain)
        return _Drop(value, before, tuple(sorted(chain)), gain, price)

    def with_drop(self, drop: _Drop) -> _Plan:
        values, new = list(self.values), dict[int, int]()
        copies: list[Step] = []
        for at in drop.chain:
            step = self.steps[at]
            reads = tuple(new.get(v, v) for v in step.reads)
            old = dict(zip(step.reads, reads, strict=True))
            made: list[int] = []
            for value in step.makes:
                values.append(replace(self.values[value], kept=False, home=None))
                made.append(len(values) - 1)
            pairs = dict(zip(step.makes, made, strict=True))
            over = tuple((pairs[m], old.get(r, r)) for m, r in step.over)
            copies.append(Step(tuple(made), reads, (), step.scratch, over))
            new.update(pairs)
        place = {drop.value: new[drop.value]}
        rest = [_reading(step, place) for step in self.steps[drop.before :]]
        chain, before = drop.chain, drop.before
        return _Plan(
            [*self.steps[:before], *copies, *rest],
            values,
            [*self.origins[:before], *(self.origins[at] for at in chain), *self.origins[before:]],
            [*self.costs[:before], *(self.costs[at] for at in chain), *self.costs[before:]],
            [*self.again[:before], *(True for _ in chain), *self.again[before:]],
        )


def _reading(step: Step, place: dict[int, int]) -> Step:
    """A step that reads other values in the place of some."""
    if not any(read in place for read in step.reads):
        return step
    return replace(
        step,
        reads=tuple(place.get(r, r) for r in step.reads),
        over=tuple((made, place.get(r, r)) for made, r in step.over),
    )
