"""Programs, read from text, whose costs tests look at."""

from __future__ import annotations

from hlo import ir
from hlo.passes.hlo_to_loops.graph import Region, region_of


def entry(text: str) -> Region:
    """The body of the only function in `text`."""
    module = ir.parse_module(text)
    _ALIVE.append(module)
    return region_of(module.body.operations[0].operation.regions[0].blocks[0])


# Nodes point into modules, which must outlive them.
_ALIVE: list[ir.Module] = []
