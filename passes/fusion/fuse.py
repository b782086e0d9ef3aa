"""fuse: ops that can be computed together become `hlo.fusion` ops, each one kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.attention import KIND as ATTENTION
from hlo.passes.fusion.composites import is_splat
from hlo.passes.fusion.group import Group
from hlo.passes.fusion.groups import MAX_OPS, BlockFusion, Edge
from hlo.passes.fusion.op_traits import CONTRACTIONS, FOLDS
from hlo.passes.fusion.siblings import merge_siblings
from hlo.passes.hlo_to_host.liveness import part_offset
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, reading, region_of
from hlo.passes.rewrite.walk import (
    body_of,
    functions,
    reads_from_outside,
    results_of,
    sort_by_dependence,
)

# Ops that read their operands where they are in memory.
READS_MEMORY = CONTRACTIONS | {"dynamic_update_slice"}
_QUIET = frozenset(
    ["constant", "broadcast_in_dim", "reshape", "convert", "transpose", "slice", "iota"]
)


@dataclass(frozen=True)
class Fuse(Pass):
    """Groups ops into `hlo.fusion` ops of kind `loop`, `reduce`, `row`, `attention` or
    `two_products`.

    Each becomes one kernel.

    Requires: the core op set, static shapes.
    Guarantees: results are unchanged but for the rounding of reductions; every op is computed once
    for each element that is needed, except constants, broadcasts, iotas and reshapes, which are
    copied into the kernels that read them.

        %0 = hlo.multiply %a, %b : tensor<8xf32>         %0 = hlo.fusion(%a, %b) kind "loop" {
        %1 = hlo.exponential %0 : tensor<8xf32>    ==>     multiply, exponential
                                                         }
    """

    max_ops: int = MAX_OPS
    gpu: bool = False  # whether kernels are a GPU's: see `BlockFusion`

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            block = body_of(function)
            with reading(block) as region:
                changed |= self._block(block, region)
        return changed

    def decisions(self, module: ir.Module) -> list[Edge]:
        """The decision on every edge of every block, without changing the module."""
        edges: list[Edge] = []

        def visit(region: Region) -> None:
            fusion = self._fusion_of(region)
            _groups_of(fusion)
            edges.extend(fusion.all_edges())
            for node in region.nodes:
                if node.name in CONTROL_FLOW:
                    for inner in node.regions:
                        visit(inner)

        for function in functions(module).values():
            visit(region_of(body_of(function)))
        return edges

    def _fusion_of(self, region: Region) -> BlockFusion:
        return BlockFusion(region.nodes, region.results, self.max_ops, self.gpu)

    def _block(self, block: ir.Block, region: Region) -> bool:
        changed = False
        for node in region.nodes:
            if node.name in CONTROL_FLOW:
                for ir_region, inner in zip(node.source.regions, node.regions, strict=True):
                    changed |= self._block(ir_region.blocks[0], inner)
        fusion = self._fusion_of(region)
        groups = [g for g in _groups_of(fusion) if _is_worth_a_kernel(g)]
        doomed: dict[Node, None] = {}
        # Kernels with copies of ops come first: while those are as they were.
        for group in sorted(groups, key=lambda g: (g.kind is None, -len(g.more_roots))):
            _rewrite(group, fusion)
            doomed.update(dict.fromkeys(group.ordered(fusion.position)))
        for node in sorted(doomed, key=fusion.position.__getitem__, reverse=True):
            if not ir.is_used(node.source):
                node.source.erase()
        if any(group.more_roots for group in groups):
            sort_by_dependence(block)  # some readers stand ahead of a kernel's last root
        return changed or bool(groups)


def _groups_of(fusion: BlockFusion) -> list[Group]:
    """What becomes one kernel each, in program order of the roots."""
    found = merge_siblings(fusion, fusion.run())
    return sorted(found, key=lambda group: fusion.position[group.root])


def _is_worth_a_kernel(group: Group) -> bool:
    """Whether several ops come together, and not only those that are views by themselves."""
    names = [n.name for n in group.nodes if n.name != "constant"]
    return len(names) > 1 and not all(map(_is_view, group.nodes))


def _is_view(node: Node) -> bool:
    return node.name in ("reshape", "constant") or part_offset(node) is not None


def kind_of(group: Group) -> str:
    """A pattern's own; `reduce` where the root folds, `row` where folds feed a row; else `loop`."""
    if group.kind is not None:
        return group.kind
    if group.root.name in FOLDS:
        return "reduce"
    return "row" if any(n.name in FOLDS for n in group.nodes) else "loop"


def name_of(nodes: list[Node]) -> str:
    """A name from the ops that do the work, the most frequent first and the root last."""
    counts = Counter(n.name for n in nodes[:-1] if n.name not in _QUIET)
    words = [name for name, _ in counts.most_common(3)]
    return "_".join([*words, nodes[-1].name]) + "_fusion"


def _rewrite(group: Group, fusion: BlockFusion) -> None:
    """Replaces the root by an `hlo.fusion` that holds copies of the group's ops."""
    nodes = group.ordered(fusion.position)
    held = {value for n in nodes for value in results_of(n.source)}
    inputs: dict[ir.Value, None] = {}
    constants: dict[ir.Value, None] = {}
    for node in nodes:
        in_memory = node.name in READS_MEMORY or group.kind == ATTENTION
        for reader, _, value in reads_from_outside(node.source):
            if value in held:
                continue
            if is_splat(value) and not (in_memory and reader == node.source):
                constants[value] = None  # of a block around this one
            else:
                inputs[value] = None
    root = group.root.source
    outputs = [value for n in (group.root, *group.more_roots) for value in results_of(n.source)]
    with root.location, ir.InsertionPoint(root):
        fused = ir.Operation.create(
            "hlo.fusion",
            results=[value.type for value in outputs],
            operands=list(inputs),
            attributes={
                "kind": ir.StringAttr.get(kind_of(group)),
                "name": ir.StringAttr.get(
                    name_of(nodes) if group.kind is None else f"{group.kind}_fusion"
                ),
            },
            regions=1,
        )
        block = fused.regions[0].blocks.append(*[v.type for v in inputs])
    inner: dict[ir.Value, ir.Value] = dict(zip(inputs, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for value in constants:
            if value not in inner:
                inner[value] = value.owner.operation.clone().results[0]
        for node in nodes:
            copy = node.source.clone()
            for reader, i, value in reads_from_outside(copy):
                reader.operands[i] = inner[value]
            for old, new in zip(results_of(node.source), results_of(copy), strict=True):
                inner[old] = new
        with root.location:
            ir.Operation.create("hlo.return", operands=[inner[value] for value in outputs])
    for old, new in zip(outputs, results_of(fused), strict=True):
        old.replace_all_uses_with(new)
