"""join-last-steps: the last block of a launch does small kernels that wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.op_cost import multiply_adds
from hlo.passes.cost.transfers import bytes_of, transfers_of
from hlo.passes.fusion.composites import compose, wrap
from hlo.passes.fusion.function_blocks import in_each_function
from hlo.passes.fusion.fuse_horizontally import KIND as HORIZONTAL
from hlo.passes.fusion.fuse_horizontally import MAX_MEMBERS, may_be_member
from hlo.passes.fusion.join_reduction_steps import KIND
from hlo.passes.fusion.op_traits import CONTRACTIONS
from hlo.passes.hlo_to_loops.graph import Node, Region, captured, is_composite
from hlo.passes.hlo_to_loops.work import work_of

# What one block does in the time of another launch, about 2 us: a multiprocessor reads some 60 GB/s
# of what lies in the second-level cache, and 256 threads do a simple operation each in 4 cycles.
MOST_BYTES = 1 << 16
MOST_WORK = 1 << 16
MOST_WAITING = 1 << 13  # bytes of what a kernel makes earlier than where it stands
LARGEST_PRODUCT = 1 << 25  # multiply-adds of one that no step is put behind: a library may do it


@dataclass
class _Launch:
    """Members of one launch: the first one, where it stands, and those that join it."""

    at: int
    members: list[Node] = field(default_factory=list[Node])
    count: int = 0


@dataclass(frozen=True)
class JoinLastSteps(Pass):
    """Makes a small kernel a step of the launch that makes what it reads.

    For GPUs, on which a launch costs more than what a block does of a small kernel: the block that
    is done last goes on with the steps, one after another. The combination of a split reduction's
    partial results is such a step. Small kernels that read nothing made in their block but
    constants share the launch of the first of them, side by side.

    Requires: `fuse` ran.
    Guarantees: a step moves `most_bytes` and does `most_work` element operations at the most; one
    that waits for nothing makes `most_waiting` bytes at the most. Other kernels keep their order.

        %p = hlo.fusion(%x) kind "reduce" {...}           %0 = hlo.fusion(%x) kind "steps" {
        %0 = hlo.fusion(%p) kind "reduce" {...}     ==>     %p = hlo.fusion(%x) ...
                                                            hlo.fusion(%p) ...
                                                          }
    """

    most_bytes: int = MOST_BYTES
    most_work: int = MOST_WORK
    most_waiting: int = MOST_WAITING
    max_members: int = MAX_MEMBERS

    def run(self, module: ir.Module) -> bool:
        return in_each_function(module, self._block)

    def _block(self, region: Region) -> bool:
        changed = False
        for node in region.nodes:
            if node.name in ("while", "if", "case"):
                for inner in node.regions:
                    changed |= self._block(inner)
        launches: dict[Node, _Launch] = {}
        ready: _Launch | None = None
        for at, node in enumerate(region.nodes):
            makers = [m for m in _producers(node) if m in launches and m.name != "constant"]
            if not self._is_step(node):
                launch = _Launch(at)
            elif makers:
                last = max((launches[maker] for maker in makers), key=lambda one: one.at)
                launch = last if self._has_room(last, node) else _Launch(at)
            elif sum(map(bytes_of, node.results)) > self.most_waiting:
                launch = _Launch(at)
            else:
                if ready is None or not self._has_room(ready, node):
                    ready = _Launch(at)
                launch = ready
            launch.members.append(node)
            launch.count += _members(node)
            launches[node] = launch
        joined = {one.at: one for one in launches.values() if len(one.members) > 1}
        place = {node: float(at) for at, node in enumerate(region.nodes)}
        for launch in joined.values():
            _bring_constants(launch.members, place)
            _join(launch.members)
        return bool(joined) or changed

    def _has_room(self, launch: _Launch, node: Node) -> bool:
        """Whether a kernel may become a member of a launch."""
        first = launch.members[0]
        fits = launch.count + _members(node) <= self.max_members
        return fits and may_be_member(first) and not _has_large_product(first)

    def _is_step(self, node: Node) -> bool:
        if not may_be_member(node):
            return False
        region = node.regions[0] if node.name == "fusion" else Region(nodes=[node])
        moved = transfers_of(node)
        return (
            moved.bytes_read + moved.bytes_written <= self.most_bytes
            and max(work_of(region), *(r.size for r in node.results)) <= self.most_work
        )


def _members(node: Node) -> int:
    """Kernels in a launch."""
    composite = node.name == "fusion" and is_composite(node.regions[0])
    return len(node.regions[0].nodes) if composite else 1


def _producers(node: Node) -> list[Node]:
    """What makes the values that an op reads."""
    return [tensor.producer for tensor in captured(node) if tensor.producer is not None]


def _bring_constants(members: Sequence[Node], place: dict[Node, float]) -> None:
    """Puts constants that members read ahead of the first one, and says so in `place`."""
    first = members[0]
    for constant in (p for member in members for p in _producers(member) if p.name == "constant"):
        if place.get(constant, 0) > place[first]:
            constant.source.move_before(first.source)
            place[constant] = place[first] - 0.5


def _has_large_product(node: Node) -> bool:
    inside = node.regions[0].nodes if node.name == "fusion" else [node]
    parts = [n.regions[0].nodes if n.name == "fusion" else [n] for n in inside]
    return any(
        part.name in CONTRACTIONS and multiply_adds(part) >= LARGEST_PRODUCT
        for nodes in parts
        for part in nodes
    )


def _join(members: Sequence[Node]) -> None:
    """Puts the steps behind the first member, and makes one launch of them."""
    ops = [n.source if n.name == "fusion" else wrap(n.source) for n in members]
    place = ops[0]
    for op in ops[1:]:
        op.move_after(place)
        place = op
    steps = sum(any(o.producer in members for o in captured(member)) for member in members)
    if not steps:
        compose(ops, HORIZONTAL, f"{len(ops)} small kernels that wait for nothing")
        return
    what, whom = "a small kernel is a step", "it waits for"
    if steps > 1:
        what, whom = f"{steps} small kernels are steps", "they wait for"
    compose(ops, KIND, f"{what} of the last block of what {whom}")
