"""Whether several kernels compute a value each, or one stores it for all."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from hlo.passes.cost.cycles import GATHERED, SIMPLE, cycles, vectors
from hlo.passes.cost.launch_time import cores_for
from hlo.passes.cost.machine import HOST
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_loops.graph import Node

WORTH_A_KERNEL = 20  # launches: what one more kernel should save, which others wait for


@dataclass(frozen=True)
class Choice:
    """Seconds that a value and all reads of it take.

    Attributes:
        stored: computed once and kept in memory.
        again: computed by every kernel that reads it.
        level: where it would be kept, such as `L2`.
    """

    stored: float
    again: float
    level: str

    @property
    def repeats(self) -> bool:
        """Whether it is computed again."""
        return self.again < self.stored

    @property
    def reason(self) -> str:
        """Why, for people."""
        again, stored = 1e6 * self.again, 1e6 * self.stored
        way = "less" if self.repeats else "no less"
        return (
            f"computing it again takes {again:.3g} us, {way} than to keep it in {self.level} "
            f"({stored:.3g} us)"
        )


def again_or_stored(
    node: Node, taken: int, kernels: int, distance: int, alone: bool, times: float = 0
) -> Choice:
    """What both ways cost.

    Args:
        taken: bytes that are read to compute the value.
        kernels: how many read it.
        distance: bytes touched from where it is stored to where it is read last, its own included.
        alone: whether a kernel of its own would store it, not one of those that read it. Its launch
            is not counted: small kernels are joined with others later.
        times: how often they compute it; 0 for as often as there are kernels.
    """
    cores, size = cores_for(node, HOST), bytes_of(node.results[0])
    level = HOST.level_of(distance)

    arithmetic = cycles(node) / HOST.clock / cores

    def seconds(times: float, moved: int) -> float:
        return max(times * arithmetic, HOST.seconds_from(level, moved, cores))

    stored = seconds(1, taken + size * (kernels + alone))
    return Choice(stored, seconds(times or kernels, kernels * taken), HOST.levels[level].name)


def readers_should_compute(made: Sequence[Node], size: int, readers: int) -> bool:
    """Whether kernels make a value anew, of another that they read anyway, or it is stored too.

    Args:
        made: the ops that make it, in each reader.
        size: its bytes.
        readers: how many kernels read it.
    """
    moved = size * (1 + readers)
    computing = readers * sum(map(cycles, made)) / HOST.clock
    return computing <= HOST.seconds_from(HOST.level_of(2 * size), moved)


def is_cheaper_side_by_side(node: Node, times: int) -> bool:
    """Whether a slice's elements are better stored than looked up wherever they are.

    Args:
        node: a `slice`.
        times: how often each of its elements is read.
    """
    if _element_step(node) == 1:
        return False
    result = node.results[0]
    looked_up = GATHERED * result.size
    vectorised = SIMPLE * vectors(result)
    around = WORTH_A_KERNEL * HOST.launch * HOST.clock
    return times * looked_up > around + looked_up + times * vectorised


def _element_step(node: Node) -> int:
    """Elements of a slice's operand from one element of its result to the next; 1 of one alone."""
    operand, result = node.operands[0].shape, node.results[0].shape
    wide = [d for d, size in enumerate(result) if size != 1]
    if not wide:
        return 1
    return math.prod(operand[wide[-1] + 1 :]) * node.attributes["strides"][wide[-1]]


@dataclass
class Distances:
    """How much is stored between two places of a block whose ops are visited from the last on."""

    _places: list[int] = field(default_factory=list[int])  # negative, and so ascending
    _sums: list[int] = field(default_factory=lambda: [0])

    def note(self, place: int, stored: int) -> None:
        """A kernel at a place ahead of all noted before stores so many bytes."""
        self._places.append(-place)
        self._sums.append(self._sums[-1] + stored)

    def between(self, first: int, last: int) -> int:
        """Bytes that kernels behind `first` and ahead of `last` write, and others read."""
        low, high = bisect_left(self._places, -last + 1), bisect_left(self._places, -first)
        return 2 * max(0, self._sums[high] - self._sums[low])
