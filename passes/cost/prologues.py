"""Whether a convolution computes its input as it packs it, or another kernel stores it first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.cost.cycles import cycles, vectors
from hlo.passes.cost.launch_time import cores_for
from hlo.passes.cost.machine import HOST
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_loops.graph import Node

PACKED = 1.0  # cycles to load what a vector is made of and to store it in scratch
HARDLY = 0.03  # of a kernel's arithmetic: what is no reason to keep another buffer in memory


@dataclass(frozen=True)
class PrologueChoice:
    """Seconds that an operand takes.

    Attributes:
        stored: computed by a kernel of its own, written and read again.
        packed: computed by the kernel that reads it.
        times: how often that computes each element.
        around: the arithmetic of that kernel.
    """

    stored: float
    packed: float
    times: float
    around: float

    @property
    def packs(self) -> bool:
        """Whether it is computed as it is packed."""
        return self.packed < self.stored + HARDLY * self.around

    @property
    def reason(self) -> str:
        """Why, for people."""
        way = "less" if self.packed < self.stored else "hardly more" if self.packs else "more"
        return (
            f"computed {self.times:.2g} times as it is packed it takes {1e6 * self.packed:.3g} us, "
            f"{way} than to store it first ({1e6 * self.stored:.3g} us)"
        )


def packed_or_stored(
    convolution: Node, chain: Sequence[Node], taken: int, times: float, anyway: bool
) -> PrologueChoice:
    """What both ways cost.

    Args:
        convolution: that reads the operand.
        chain: the ops that make the operand, the last one first.
        taken: bytes they read.
        times: how often each element is packed.
        anyway: whether it is packed also if it is in memory.
    """
    result = chain[0].results[0]
    size, cores = bytes_of(result), cores_for(chain[0], HOST)
    level = HOST.level_of(size + taken)

    def moving(count: int) -> float:
        return HOST.seconds_from(level, count, cores)

    rate = HOST.clock * cores
    once = sum(map(cycles, chain))
    stored = HOST.around(cores) + max(once / rate, moving(taken + size)) + moving(size)
    copying = 0.0 if anyway else PACKED * vectors(result)
    packed = max(times * (once + copying) / rate, moving(taken))
    around = cycles(convolution) / HOST.clock / cores_for(convolution, HOST)
    return PrologueChoice(stored, packed, times, around)
