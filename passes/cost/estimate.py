"""How long a kernel takes: the larger of its arithmetic and its traffic, by the roofline.

(Williams et al., "Roofline: an insightful visual performance model", 2009, with a roof for each
cache.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.cost.cycles import cycles
from hlo.passes.cost.launch_time import cores_for
from hlo.passes.cost.machine import HOST, MEMORY, Machine
from hlo.passes.cost.transfers import transfers_of
from hlo.passes.hlo_to_loops.graph import Node

COMPUTE, LAUNCH = "compute", "launch"


@dataclass(frozen=True)
class Estimate:
    """The time of one call of a kernel.

    Attributes:
        seconds: from launch to return.
        bound: what it waits for: `compute`, a cache (`L1`, `L2`, `L3`), `memory`, or `launch` where
            the call itself takes longer than the work.
        cached: bytes found in caches.
        memory: bytes to and from memory.
        cores: that it runs on.
    """

    seconds: float
    bound: str
    cached: int
    memory: int
    cores: int


def estimate(node: Node, traffic: Sequence[int], machine: Machine) -> Estimate:
    """Of a kernel, by where the bytes it touches are found."""
    cores = cores_for(node, machine)
    computing = cycles(node) / machine.clock / cores
    moving, level = machine.moving_seconds(traffic, cores)
    busy, bound = max((computing, COMPUTE), (moving, machine.levels[level].name))
    around = machine.around(cores)
    return Estimate(
        seconds=around + busy,
        bound=bound if busy > around else LAUNCH,
        cached=sum(traffic[:MEMORY]),
        memory=sum(traffic[MEMORY:]),
        cores=cores,
    )


def seconds_from_memory(node: Node) -> float:
    """Of a kernel whose operands left the caches since they were made."""
    moved = transfers_of(node)
    traffic = [0] * len(HOST.levels)
    traffic[MEMORY] = moved.bytes_read + moved.bytes_written
    return estimate(node, traffic, HOST).seconds
