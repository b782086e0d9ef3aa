"""mark-views: dynamic slices that kernels read from memory are parts of their operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_host.liveness import (
    PART_ALIGNMENT,
    VIEW,
    VIEWS,
    changed_operands,
    lies_together,
    moving_starts,
)
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor, reading, users
from hlo.passes.rewrite.walk import body_of, functions

# Ops that never fuse with what makes their operands, so that a slice would be copied for them.
READ_MEMORY = frozenset(
    {
        "convolution",
        "custom_call",
        "dot_general",
        "fft",
        "scatter",
        "select_and_scatter",
        "sort",
    }
)


@dataclass(frozen=True)
class MarkViews(Pass):
    """Marks each `dynamic_slice` that a dot, convolution, sort, scatter or library call reads and
    does not change, if its elements lie together in its operand and begin at a multiple of 16 bytes
    wherever it starts.

    The host program computes the address; a layer of stacked weights is not copied in each
    iteration of a loop over layers. Elsewhere a slice fuses with what reads it.

    Requires: the core op set, static shapes; a target whose host program can compute addresses.

        %s = hlo.dynamic_slice %w, %i, %zero, %zero : tensor<1x64x48xf32>      {hlo.view}
        %m = hlo.reshape %s : tensor<64x48xf32>                           ==>
        %0 = hlo.dot_general %x, %m ...
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            if not ir.operations_named(function, ["hlo.dynamic_slice"]):
                continue
            with reading(body_of(function)) as region:
                for node in _slices(region):
                    with node.source.context:
                        node.source.attributes[VIEW] = ir.UnitAttr.get()
                    changed = True
        return changed


def _slices(region: Region) -> Iterator[Node]:
    readers = users(region.nodes)
    for node in region.nodes:
        for inner in node.regions if node.name in CONTROL_FLOW else ():
            yield from _slices(inner)
        if node.name != "dynamic_slice" or not lies_together(node) or VIEW in node.attributes:
            continue
        item = node.operands[0].type.memory_bytes
        aligned = all(apart * item % PART_ALIGNMENT == 0 for _, _, apart in moving_starts(node))
        if aligned and any(_is_read(result, readers) for result in node.results):
            yield node


def _is_read(tensor: Tensor, readers: dict[Tensor, list[Node]]) -> bool:
    """Whether a kernel reads a value from memory, as it is or under another shape."""
    for reader in readers.get(tensor, ()):
        if reader.name in READ_MEMORY and tensor not in changed_operands(reader):
            return True
        if reader.name in VIEWS and any(_is_read(result, readers) for result in reader.results):
            return True
        if reader.name == "fusion" and _is_read_inside(tensor, reader):
            return True
    return False


def _is_read_inside(tensor: Tensor, fusion: Node) -> bool:
    """The same for what passes ahead of this one have fused: sorts with their positions."""
    region = fusion.regions[0]
    inside = users(region.nodes)
    pairs = zip(fusion.operands, region.arguments, strict=True)
    return any(_is_read(argument, inside) for operand, argument in pairs if operand is tensor)
