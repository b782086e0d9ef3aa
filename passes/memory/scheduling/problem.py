"""Steps that make and read values, and how many bytes an order of them needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Value:
    """What a step makes, or what is there from the start.

    Attributes:
        size: bytes.
        kept: whether it is needed after the last step.
        home: a value whose memory this one goes to without taking bytes of its own, if that value
            is read no more when this one is made.
    """

    size: int
    kept: bool = False
    home: int | None = None


@dataclass(frozen=True)
class Step:
    """One operation.

    Attributes:
        makes, reads: values. What no step makes is there from the start.
        after: steps that must come first, besides the makers of what this one reads.
        scratch: bytes it needs while it runs.
        over: (made, read): the first may be made in the memory of the second, if that dies here.
    """

    makes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    scratch: int = 0
    over: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Problem:
    """Steps in an order that is possible, and the values they name by position."""

    steps: Sequence[Step]
    values: Sequence[Value]

    @cached_property
    def makers(self) -> dict[int, int]:
        """The step that makes each value that is not there from the start."""
        return {value: i for i, step in enumerate(self.steps) for value in step.makes}

    @cached_property
    def readers(self) -> list[list[int]]:
        """The steps that read each value."""
        found: list[list[int]] = [[] for _ in self.values]
        for i, step in enumerate(self.steps):
            for value in dict.fromkeys(step.reads):
                found[value].append(i)
        return found

    @cached_property
    def before(self) -> list[tuple[int, ...]]:
        """The steps that must come before each step."""
        makers = self.makers
        return [
            tuple(dict.fromkeys([*(makers[v] for v in s.reads if v in makers), *s.after]))
            for s in self.steps
        ]

    @cached_property
    def following(self) -> list[list[int]]:
        """The steps that must come after each step."""
        found: list[list[int]] = [[] for _ in self.steps]
        for i, earlier in enumerate(self.before):
            for j in earlier:
                found[j].append(i)
        return found


@dataclass
class Tally:
    """Which values hold bytes after some steps, and how many."""

    problem: Problem
    live: int = 0
    remaining: list[int] = field(default_factory=list[int])  # reads to come; kept: one more
    held: list[int] = field(default_factory=list[int])  # bytes of memory of its own

    @staticmethod
    def at_start(problem: Problem) -> Tally:
        makers = problem.makers
        tally = Tally(problem)
        for i, value in enumerate(problem.values):
            tally.remaining.append(len(problem.readers[i]) + value.kept)
            tally.held.append(0 if i in makers else value.size)
            tally.live += tally.held[i]
        return tally

    def effect(self, at: int) -> tuple[int, int, list[tuple[int, int]]]:
        """What running a step now does.

        Returns:
            The bytes live while it runs, the bytes live after it, and the new bytes of the values
            that it makes or frees.
        """
        step, values = self.problem.steps[at], self.problem.values
        reads = dict.fromkeys(step.reads)
        dying = {v for v in reads if self.remaining[v] == 1}
        changes: list[tuple[int, int]] = []
        new, freed = 0, 0
        taken: set[int] = set()
        for made in step.makes:
            value = values[made]
            home = value.home
            is_free = home is not None and self.remaining[home] == (home in reads)
            if is_free and (home not in reads or (made, home) in step.over):
                changes.append((made, 0))
                continue
            over = next(
                (
                    r
                    for m, r in step.over
                    if m == made and r in dying and r not in taken and self.held[r] == value.size
                ),
                None,
            )
            if over is None:
                new += value.size
            else:
                taken.add(over)
            read_later = self.remaining[made] > 0
            freed += 0 if read_later else value.size
            changes.append((made, value.size if read_later else 0))
        for read in dying:
            if read not in taken:
                freed += self.held[read]
            changes.append((read, 0))
        during = self.live + new + step.scratch
        return during, self.live + new - freed, changes

    def run(self, at: int) -> int:
        """Runs a step; returns the bytes live while it runs."""
        during, after, changes = self.effect(at)
        for value, size in changes:
            self.held[value] = size
        for value in dict.fromkeys(self.problem.steps[at].reads):
            self.remaining[value] -= 1
        self.live = after
        return during


@dataclass(frozen=True)
class Profile:
    """The bytes live during each step of an order."""

    during: tuple[int, ...]

    @property
    def peak(self) -> int:
        return max(self.during, default=0)

    @property
    def at(self) -> int:
        """The position of the first step at the peak."""
        return self.during.index(self.peak) if self.during else 0


def profile(problem: Problem, order: Sequence[int] | None = None) -> Profile:
    """The bytes that an order of the steps needs; that of the problem by default."""
    tally = Tally.at_start(problem)
    steps = range(len(problem.steps)) if order is None else order
    return Profile(tuple(tally.run(at) for at in steps))
