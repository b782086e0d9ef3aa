"""The number of each launch of a program: its place in program order.

The host program's calls, the cost analysis, the profile, and the reports name a launch by it, so
that kernels of one name, and calls of one kernel, are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlo.passes.hlo_to_host.liveness import VIEWS
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region

LAUNCH = "hlo.launch"  # on a call of the host program


def launch_ids(entry: Region) -> dict[Node, int]:
    """The number of each op of an entry that may be a kernel, those in loops and branches included.

    Slices that turn out to be views have numbers too, which no launch has then.
    """
    return {node: number for number, node in enumerate(_launched(entry))}


def _launched(region: Region) -> Iterator[Node]:
    for node in region.nodes:
        if node.name in CONTROL_FLOW:
            for inner in node.regions:
                yield from _launched(inner)
        elif node.name != "constant" and node.name not in VIEWS:
            yield node
