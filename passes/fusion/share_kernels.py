"""share-kernels: kernels that differ in constants of where they read or write become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_host.kernel_table import structural_key
from hlo.passes.hlo_to_host.liveness import part_offset
from hlo.passes.hlo_to_loops.graph import (
    CONTROL_FLOW,
    Node,
    Region,
    Tensor,
    is_composite,
    reading,
    users,
)
from hlo.passes.rewrite.walk import body_of, functions


@dataclass(frozen=True)
class ShareKernels(Pass):
    """Takes out of fusions what alone keeps them from being the same kernel: slices of their
    inputs that are views, and constant starts of an update.

    Layers that read or update a part each of one tensor, as of a cache, are compiled once then: a
    kernel is given the address of its part, and loads where its update starts.

    Requires: fused `hlo`; a target whose host program shows parts of buffers.

        %0 = hlo.fusion(%cache) { slice [0:1] ... }         %p = hlo.slice %cache [0:1]
        %1 = hlo.fusion(%cache) { slice [1:2] ... }   ==>   %0 = hlo.fusion(%p) { ... }
                                                            %q = hlo.slice %cache [1:2]
                                                            %1 = hlo.fusion(%q) { ... }
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            with reading(body_of(function)) as region:
                groups: dict[object, list[_Opened]] = {}
                for opened in filter(None, map(_opened, _fusions(region))):
                    groups.setdefault(opened.key, []).append(opened)
                for members in groups.values():
                    changed |= _share(members)
        return changed


@dataclass(frozen=True)
class _Opened:
    """A fusion, and its region with some ops taken out, whose results are arguments instead."""

    fusion: Node
    holes: Sequence[Node]
    region: Region

    @property
    def key(self) -> object:
        """Equal where the same was taken out of the same kernel; arguments may be parts too."""
        return tuple(node.name for node in self.holes), structural_key(self.region)


def _fusions(region: Region) -> Iterator[Node]:
    for node in region.nodes:
        if node.name == "fusion" and not is_composite(node.regions[0]):
            yield node
        for inner in node.regions if node.name in CONTROL_FLOW else ():
            yield from _fusions(inner)


def _opened(fusion: Node) -> _Opened | None:
    region = fusion.regions[0]
    readers = users(region.nodes)
    holes = [node for node in region.nodes if _may_leave(node, region, readers)]
    if not holes:
        return None
    sliced = {node.operands[0] for node in holes if node.operands}
    kept = [t for t in region.arguments if t not in sliced]
    nodes = [node for node in region.nodes if node not in holes]
    arguments = [*kept, *(node.results[0] for node in holes)]
    return _Opened(fusion, holes, Region(arguments, nodes, region.results))


def _may_leave(node: Node, region: Region, readers: dict[Tensor, list[Node]]) -> bool:
    if node.name == "constant":
        start = node.results[0]
        return bool(readers.get(start)) and all(
            reader.name == "dynamic_update_slice" and start not in reader.operands[:2]
            for reader in readers[start]
        )
    if node.name != "slice" or part_offset(node) is None or node.results[0] in region.results:
        return False
    whole = node.operands[0]
    return whole in region.arguments and all(
        reader.name == "slice" and part_offset(reader) is not None for reader in readers[whole]
    )


def _share(members: Sequence[_Opened]) -> bool:
    """Opens the fusions of a group where they differ."""
    differing = [
        k
        for k in range(len(members[0].holes))
        if len({_constants_of(member.holes[k]) for member in members}) > 1
    ]
    for member in members if differing else ():
        _open(member, differing)
    return bool(differing)


def _constants_of(hole: Node) -> str:
    names = ("value", "start_indices", "limit_indices", "strides")
    return " ".join(str(hole.source.attributes[n]) for n in names if n in hole.source.attributes)


def _open(member: _Opened, differing: Sequence[int]) -> None:
    """Makes the results of some of the holes operands of the fusion."""
    op = member.fusion.source
    block = op.regions[0].blocks[0]
    operands = list(op.operands)
    for k in differing:
        hole = member.holes[k].source
        with ir.InsertionPoint(op):
            outside = hole.clone()
        if len(hole.operands):
            outside.operands[0] = operands[ir.BlockArgument(hole.operands[0]).arg_number]
        operands.append(outside.results[0])
        argument = block.add_argument(outside.results[0].type, hole.location)
        hole.results[0].replace_all_uses_with(argument)
        hole.erase()
    for i in reversed(range(len(block.arguments))):
        if not list(block.arguments[i].uses):
            block.erase_argument(i)
            del operands[i]
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name,
            results=[result.type for result in op.results],
            operands=operands,
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=1,
            loc=op.location,
        )
    block.append_to(new.regions[0])
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()
