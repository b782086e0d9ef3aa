"""How long a launch takes by its members, and on how many threads it is worth to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.cost.cycles import cycles, region_cycles
from hlo.passes.cost.machine import HOST, Machine
from hlo.passes.cost.transfers import bytes_given, bytes_taken, readers_in
from hlo.passes.hlo_to_loops.graph import Node, Region, captured, is_composite


@dataclass(frozen=True)
class LaunchChoice:
    """Seconds of kernels in one launch, and of their launches apart."""

    joined: float
    apart: float

    @property
    def joins(self) -> bool:
        """Whether they are one launch."""
        return self.joined < self.apart

    @property
    def reason(self) -> str:
        """Both times, for people."""
        way = "less" if self.joins else "no less"
        return (
            f"in one launch they take {1e6 * self.joined:.3g} us, {way} than apart "
            f"({1e6 * self.apart:.3g} us)"
        )


def launch_choice(launches: Sequence[Sequence[Node]], in_loop: bool = False) -> LaunchChoice:
    """What both ways cost.

    Args:
        launches: the members of each launch that there is, in program order.
        in_loop: whether they are in a loop, where a launch costs next to nothing.
    """
    members = [node for launch in launches for node in launch]
    known = {part: seconds_alone(part) for node in members for part in _parts(node)}
    apart = sum(launch_seconds(launch, in_loop, known) for launch in launches)
    return LaunchChoice(launch_seconds(members, in_loop, known), apart)


def launch_seconds(
    members: Sequence[Node], in_loop: bool = False, known: Mapping[Node, float] | None = None
) -> float:
    """Of kernels in one launch, from launch to return.

    Args:
        known: seconds of each part alone, if they were counted before.
    """
    parts = [part for node in members for part in _parts(node)]
    known = known or {part: seconds_alone(part) for part in parts}
    head, parallel, tail = _phases(parts, known)
    divided = sum(known[part] for part in parallel)
    serial = sum(known[part] for part in (*head, *tail))
    cores = min(HOST.cores, HOST.pieces(divided))
    around = 0.0 if in_loop else HOST.launch
    return around + serial + divided / cores + (HOST.fork if cores > 1 else 0.0)


def phases(members: Sequence[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """(head, parallel members, tail) of a launch: of members that depend on one another those of
    one depth, which have most work, run in parallel; what they need is done before, what needs
    them after, in order, by one thread.
    """
    return _phases(members, {node: seconds_alone(node) for node in members})


def _phases(
    members: Sequence[Node], seconds: Mapping[Node, float]
) -> tuple[list[Node], list[Node], list[Node]]:
    """As `phases`, of members that take so many seconds alone."""
    depth: dict[Node, int] = {}
    amount: dict[int, float] = {}
    for node in members:
        known = [depth[o.producer] for o in node.operands if o.producer in depth]
        depth[node] = 1 + max(known, default=0)
        amount[depth[node]] = amount.get(depth[node], 0.0) + seconds[node]
    parallel = max(amount, key=amount.__getitem__)
    return (
        [node for node in members if depth[node] < parallel],
        [node for node in members if depth[node] == parallel],
        [node for node in members if depth[node] > parallel],
    )


def cores_for(node: Node, machine: Machine) -> int:
    """Threads that have work, as the host program divides it."""
    parallel = phases(_parts(node))[1]
    divided = sum(seconds_alone(part, machine) for part in parallel)
    return min(machine.cores, machine.pieces(divided))


def seconds_alone(node: Node, machine: Machine = HOST) -> float:
    """Of a kernel's work on one thread, its launch left out."""
    if node.name == "fusion":
        return region_seconds(node.regions[0], machine)
    taken = [t for t in dict.fromkeys(captured(node)) if t.size]
    amount = _amount(Region(taken, [node], list(node.results)))
    return max(cycles(node) / machine.clock, _moving(amount, machine))


def region_seconds(region: Region, machine: Machine = HOST) -> float:
    """Of the work of a kernel's region, or of all members of a launch, on one thread."""
    if is_composite(region):
        return sum(seconds_alone(node, machine) for node in region.nodes)
    return max(region_cycles(region) / machine.clock, _moving(_amount(region), machine))


def _amount(region: Region) -> int:
    """Bytes that a kernel reads and writes; counted once."""
    key = "bytes moved"
    if key not in region.known:
        readers = readers_in(region.nodes)
        read = sum(bytes_taken(t, readers) for t in region.arguments)
        region.known[key] = read + sum(map(bytes_given, region.results))
    return region.known[key]


def _moving(amount: int, machine: Machine) -> float:
    """Seconds in which one core moves bytes that were touched not long ago."""
    return machine.seconds_from(machine.level_of(2 * amount), amount)


def _parts(node: Node) -> list[Node]:
    """The members of a launch; a kernel of its own is the only one."""
    if node.name == "fusion" and is_composite(node.regions[0]):
        return node.regions[0].nodes
    return [node]


def tail_choice(first: Node, tail: Sequence[Node]) -> LaunchChoice:
    """What both ways cost of kernels that one thread does when a launch is done, or others do in
    launches of their own.

    Args:
        first: what the launch does before.
        tail: kernels that read what it makes.
    """
    around = launch_seconds([first])
    serial = sum(map(seconds_alone, tail))
    apart = sum(launch_seconds([node]) for node in tail)
    return LaunchChoice(around + serial, around + apart)
