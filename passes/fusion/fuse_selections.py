"""fuse-selections: a select_and_scatter with the padding ahead of it and the slice behind it."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.composites import wrap_chain
from hlo.passes.fusion.fuse_updates import KIND
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.window_choice import Windows
from hlo.passes.hlo_to_loops.window_groups import change_selections, collects, surroundings


@dataclass(frozen=True)
class FuseSelections(Pass):
    """Puts a select_and_scatter into an `hlo.fusion` of kind `update`, with the `pad` that makes
    what it chooses from and the `slice` that is all that is read of its result.

    JAX writes the gradient of a maximum over padded windows so. What windows choose stays the same:
    where no element is larger than the padding, or one is no number, that may be an element of the
    padding, whose source the slice leaves out.

    Requires: padding by one value along dimensions that windows walk, and nothing else that reads
    what is padded or the whole result; windows whose sources are collected
    (`hlo_to_loops/window_groups.py`).

        %1 = hlo.pad %x, %low                              %0 = hlo.fusion(%x, %dy) {
        %2 = hlo.select_and_scatter %1, %dy, %zero   ==>     pad, select_and_scatter, slice
        %3 = hlo.slice %2                                  } kind "update"
    """

    def run(self, module: ir.Module) -> bool:
        return change_selections(module, _fuse)


def _fuse(node: Node, nodes: dict[ir.Operation, Node]) -> bool:
    """Fuses a select_and_scatter with what surrounds it, if that reads and is read alone."""
    padding, part = surroundings(node, nodes)
    if (padding is None and part is None) or not node.operands[0].size:
        return False
    windows = Windows.of(node, padding, part)
    if any(windows.moves(d) for d in range(node.operands[0].rank) if d not in windows.walked):
        return False
    if not collects(node, windows):
        return False
    chain = [n.source for n in (padding, node, part) if n is not None]
    wrap_chain(chain, KIND, "_".join(op.name.removeprefix("hlo.") for op in chain))
    return True
