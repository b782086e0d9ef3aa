"""The functions of a module, one after another, for passes that rewrite their blocks."""

from __future__ import annotations

from collections.abc import Callable

from hlo import ir
from hlo.passes.hlo_to_loops.graph import Region, reading
from hlo.passes.rewrite.walk import body_of, functions


def in_each_function(module: ir.Module, rewrite: Callable[[Region], bool]) -> bool:
    """Rewrites the body of each function.

    Args:
        rewrite: changes a block and says whether it did.

    Returns:
        Whether one was changed.
    """
    changed = False
    for function in functions(module).values():
        with reading(body_of(function)) as region:
            changed |= rewrite(region)
    return changed
