"""Whether the iterations of a short loop are better one kernel: carries then stay in registers."""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.cost.cycles import SIMPLE, cycles, vectors
from hlo.passes.cost.machine import HOST
from hlo.passes.cost.op_cost import looks_elements_up
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.rewrite.elementwise import ELEMENTWISE

_FEW = 16  # elements of what counts as scalars, such as tables that take turns
_LAUNCHES = 3  # of an iteration: the condition, what goes element by element, and scalars
LEAST_SHARE = 1 / 16  # of the loop's time that must be saved
_ONE_KERNEL = ELEMENTWISE | {
    f"hlo.{name}" for name in ("bitcast_convert", "broadcast_in_dim", "constant", "iota", "reshape")
}


@dataclass(frozen=True)
class Unrolling:
    """Seconds of a loop as it is, and of all its iterations as one kernel."""

    looping: float
    unrolled: float

    @property
    def pays(self) -> bool:
        """Whether enough is saved."""
        saved = self.looping - self.unrolled
        return saved >= max(HOST.launch, LEAST_SHARE * self.looping)

    @property
    def reason(self) -> str:
        """Both times, for people."""
        enough = "enough" if self.pays else "not enough"
        return (
            f"it takes {1e6 * self.looping:.3g} us as a loop and {1e6 * self.unrolled:.3g} us "
            f"as one kernel: {enough} is saved"
        )


def unrolling(loop: Node, count: int, nested: bool) -> Unrolling | None:
    """What both ways take; None if an iteration is not one kernel and ops on scalars.

    Args:
        loop: a `while` whose body runs `count` times.
        nested: whether it is in another loop, where a launch costs next to nothing.
    """
    body = loop.regions[1]
    if any(not _stays_in_kernel(node) for node in body.nodes):
        return None
    read = dict.fromkeys(t for node in body.nodes for t in node.operands)
    outside = {*body.arguments, *body.free}
    moved = [t for t in read if t in outside]
    moved += [new for old, new in zip(body.arguments, body.results, strict=True) if new != old]
    arithmetic = sum(map(cycles, body.nodes))
    passing = sum(SIMPLE * vectors(t) for t in moved)
    launches = 0 if nested else _LAUNCHES

    def seconds(times: int) -> float:
        """Of one kernel that does so many iterations."""
        return max((times * arithmetic + passing) / HOST.clock, _moving_seconds(moved))

    looping = count * (launches * HOST.launch + seconds(1))
    return Unrolling(looping, HOST.launch + seconds(count))


def _stays_in_kernel(node: Node) -> bool:
    """Whether an op goes element by element, or is one of a few elements."""
    if node.regions:
        return False
    small = all(t.size <= _FEW for t in (*node.operands, *node.results))
    return small or node.source.name in _ONE_KERNEL or looks_elements_up(node)


def _moving_seconds(moved: list[Tensor]) -> float:
    amount = sum(map(bytes_of, moved))
    return HOST.seconds_from(HOST.level_of(amount), amount)
