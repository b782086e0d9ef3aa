"""The cost of kernels, and of the program they make up: flops, bytes, and the time they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hlo.passes.cost.estimate import Estimate, estimate
from hlo.passes.cost.machine import Machine
from hlo.passes.cost.op_cost import FREE_OF_FLOPS, flops, transcendentals
from hlo.passes.cost.residence import Traffic, residence
from hlo.passes.cost.transfers import bytes_given, bytes_taken, is_splat, readers_in, transfers_of
from hlo.passes.hlo_to_host.launch_ids import launch_ids
from hlo.passes.hlo_to_host.liveness import BlockLiveness
from hlo.passes.hlo_to_loops.graph import Node, Region, is_composite

TRIP_COUNT = "hlo.trip_count"
_MOVING = FREE_OF_FLOPS - {"custom_call"}


@dataclass(frozen=True)
class KernelCost:
    """One kernel of a program. All figures are for one call of it.

    Attributes:
        name: of the fusion, or of the op.
        kind: of the fusion; `op` for an op that is a kernel of its own.
        location: where it comes from, as MLIR prints it.
        calls: how often one run of the program calls it: the trip counts of the loops around it.
        flops, transcendentals: as `hlo.passes.cost.op_cost` counts them.
        bytes_read, bytes_written: of the buffers it takes and gives. A buffer read several times
            counts once; of one that is only sliced or gathered from, what is taken counts; an
            update in place counts what it changes.
        launch: its number in the program, as the host program's calls have it; -1 for a kernel
            that was looked at alone.
        estimate: the time it takes, and why, where a machine was asked about.
        bytes_moved: of its bytes those of members, or of all of it, that compute nothing but give
            elements another place or type.
    """

    name: str
    kind: str
    location: str
    calls: int
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int
    launch: int = -1
    estimate: Estimate | None = None
    bytes_moved: int = 0

    @property
    def bytes(self) -> int:
        """Bytes to and from memory, in one call."""
        return self.bytes_read + self.bytes_written


def kernel_costs(
    entry: Region, machine: Machine | None = None, donated: Mapping[int, int] | None = None
) -> list[KernelCost]:
    """The kernels of a program in order, those in loops and branches included.

    A loop whose trip count is not known counts one iteration, and of a conditional the branch that
    moves most bytes counts.

    Args:
        machine: to estimate times for.
        donated: result -> argument whose memory it takes over.
    """
    return _Costs(entry, machine, donated).of_block(entry, 1, every_branch=False)


def launch_costs(
    entry: Region, machine: Machine | None = None, donated: Mapping[int, int] | None = None
) -> dict[int, KernelCost]:
    """The cost of every launch of a program by its number, those of all branches included."""
    costs = _Costs(entry, machine, donated).of_block(entry, 1, every_branch=True)
    return {cost.launch: cost for cost in costs}


class _Costs:
    def __init__(
        self, entry: Region, machine: Machine | None, donated: Mapping[int, int] | None
    ) -> None:
        self.machine = machine
        self.launches = launch_ids(entry)
        self.traffic: Mapping[Node, Traffic] = {}
        if machine is not None:
            self.traffic = residence(entry, machine, donated)

    def of_block(self, region: Region, calls: int, every_branch: bool) -> list[KernelCost]:
        found: list[KernelCost] = []
        live = BlockLiveness(region.nodes, region.results)
        for node in region.nodes:
            if node.name == "while":
                times = calls * int(node.attributes.get(TRIP_COUNT, 1))
                for inner in node.regions:
                    found += self.of_block(inner, times, every_branch)
            elif node.name in ("if", "case"):
                branches = [self.of_block(inner, calls, every_branch) for inner in node.regions]
                if every_branch:
                    found += [cost for branch in branches for cost in branch]
                else:
                    found += max(branches, key=_bytes_of, default=[])
            elif node.name != "constant" and not live.is_view(node):
                timed = None
                if self.machine is not None:
                    timed = estimate(node, self.traffic[node], self.machine)
                found.append(cost_of(node, calls, self.launches[node], timed))
        return found


def unknown_trip_counts(region: Region) -> int:
    """How many loops count one iteration for want of a known trip count."""
    return sum(
        (node.name == "while" and TRIP_COUNT not in node.attributes)
        + sum(unknown_trip_counts(inner) for inner in node.regions)
        for node in region.nodes
    )


def cost_of(
    node: Node, calls: int = 1, launch: int = -1, timed: Estimate | None = None
) -> KernelCost:
    """The cost of a fusion, or of an op that is a kernel of its own."""
    fused = node.name == "fusion"
    moved = transfers_of(node)
    inside = list(_ops_of(node))
    return KernelCost(
        name=str(node.attributes.get("name") or node.name) if fused else node.name,
        kind=str(node.attributes.get("kind") or "fusion") if fused else "op",
        location=node.location,
        calls=calls,
        flops=sum(flops(n) for n in inside),
        transcendentals=sum(transcendentals(n) for n in inside),
        bytes_read=moved.bytes_read,
        bytes_written=moved.bytes_written,
        launch=launch,
        estimate=timed,
        bytes_moved=_bytes_moved(node),
    )


def _bytes_moved(node: Node) -> int:
    if node.name == "fusion" and is_composite(node.regions[0]):
        return sum(map(_bytes_moved, node.regions[0].nodes))
    if any(n.name not in _MOVING for n in _ops_of(node)):
        return 0
    moved = transfers_of(node)
    return moved.bytes_read + moved.bytes_written


def floor_bytes(region: Region) -> int:
    """Bytes that any schedule of a program moves: inputs and constants it needs, and results."""
    stored = [
        node.results[0]
        for node in region.nodes
        if node.name == "constant" and not is_splat(node.results[0])
    ]
    readers = readers_in(region.nodes)
    reads = sum(bytes_taken(t, readers) for t in (*region.arguments, *stored))
    return reads + sum(bytes_given(t) for t in region.results)


def _ops_of(node: Node) -> Iterator[Node]:
    """The ops that a kernel holds, those of its members included."""
    if node.name != "fusion":
        yield node
    elif is_composite(node.regions[0]):
        for member in node.regions[0].nodes:
            yield from _ops_of(member)
    else:
        yield from node.regions[0].nodes


def _bytes_of(costs: list[KernelCost]) -> int:
    return sum(cost.calls * cost.bytes for cost in costs)
