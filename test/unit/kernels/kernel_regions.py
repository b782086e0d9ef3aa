"""Regions of ops, read from text."""

from __future__ import annotations

from hlo import ir
from hlo.passes.hlo_to_loops.graph import Node, Region, region_of


def region(text: str) -> Region:
    """The body of the function in `text`."""
    module = ir.parse_module(text)
    function = module.body.operations[0].operation
    found = region_of(function.regions[0].blocks[0])
    _ALIVE.append(module)
    return found


def node(name: str, text: str) -> Node:
    """The first op of that name in the function in `text`."""
    return next(n for n in region(text).nodes if n.name == name)


# Nodes point into modules, which must outlive them.
_ALIVE: list[ir.Module] = []
