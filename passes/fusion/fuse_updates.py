"""fuse-updates: scatters compute their updates as they apply them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.composites import clone_ops, is_splat
from hlo.passes.fusion.op_traits import ELEMENTWISE, EXPENSIVE
from hlo.passes.hlo_to_loops.graph import Node, blocks_in, reading
from hlo.passes.hlo_to_loops.update_kernels import updates_vectors
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.walk import body_of, functions, reads_from_outside, results_of

KIND = "update"
# What is computed for each element of the updates: each once, at the same lanes.
_WITH_UPDATES = (ELEMENTWISE - EXPENSIVE) | {
    "broadcast_in_dim", "constant", "gather", "iota", "reshape", "slice"
}  # fmt: skip
# What is computed for each index, by every work unit.
_WITH_INDICES = (ELEMENTWISE - EXPENSIVE) | {"broadcast_in_dim", "constant", "iota", "reshape"}


@dataclass(frozen=True)
class FuseUpdates(Pass):
    """Puts a scatter into an `hlo.fusion` of kind `update`, with the kernel that makes its updates
    and the one that makes its indices.

    Messages of a graph's edges are such updates: rows that are gathered, scaled, and added to other
    rows. They are never stored then.

    Requires: `fuse` ran; kernels that nothing else reads, of cheap ops and look-ups alone; windows
    whose rows fill vectors, so that vectors are computed as they were.

        %0 = hlo.fusion(%x, %i) kind "loop" {gather}       %1 = hlo.fusion(%y, %j, %x, %i) {
        %1 = hlo.scatter(%y, %j, %0) add             ==>     gather, scatter
                                                           } kind "update"
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            if not ir.operations_named(function, ["hlo.scatter"]):
                continue
            with reading(body_of(function)) as region:
                for block in blocks_in(region):
                    for node in block.nodes:
                        if node.name == "scatter" and updates_vectors(node):
                            changed |= _fuse(node)
        return changed


def _fuse(node: Node) -> bool:
    op = node.source
    _, indices, updates = op.operands
    made = [*_made_for(updates, op, _WITH_UPDATES), *_made_for(indices, op, _WITH_INDICES)]
    if all(maker.name == "hlo.reshape" for maker in made):
        return False
    _rewrite(op, made)
    return True


def _made_for(value: ir.Value, op: ir.Operation, allowed: Set[str]) -> list[ir.Operation]:
    """The ops that make an operand for a scatter alone, of the kinds allowed, in order."""
    found: list[ir.Operation] = []
    while not isinstance(value.owner, ir.Block) and len(list(value.uses)) == 1:
        maker = value.owner.operation
        if len(maker.results) != 1 or maker.block != op.block or not _is_made_of(maker, allowed):
            break
        found.insert(0, maker)
        if maker.name != "hlo.reshape":
            break
        value = maker.operands[0]
    return found


def _is_made_of(maker: ir.Operation, allowed: Set[str]) -> bool:
    """Whether an op, or all ops of a kernel, are of the kinds allowed."""
    if maker.name != "hlo.fusion":
        return maker.name.removeprefix("hlo.") in allowed and maker.name != "hlo.constant"
    if ir.attributes.string(maker, "kind") != "loop":
        return False
    names = [inner.operation.name for inner in maker.regions[0].blocks[0].operations]
    return all(name.removeprefix("hlo.") in allowed for name in names[:-1])


def _rewrite(op: ir.Operation, made: Sequence[ir.Operation]) -> None:
    """Replaces a scatter and what is made for it by one kernel."""
    held = {value for maker in made for value in results_of(maker)}
    outside = [
        value for maker in (*made, op) for _, _, value in reads_from_outside(maker)
        if value not in held
    ]  # fmt: skip
    changed = op.operands[0]  # in memory, whatever it is
    inputs = [v for v in dict.fromkeys(outside) if v == changed or not is_splat(v)]
    constants = [v for v in dict.fromkeys(outside) if v != changed and is_splat(v)]

    def body(b: Builder, arguments: list[ir.Value]) -> list[ir.Value]:
        inner = dict(zip(inputs, arguments, strict=True))
        with b.point:
            for value in constants:
                inner[value] = value.owner.operation.clone().results[0]
            for maker in made:
                if maker.name == "hlo.fusion":
                    _clone_kernel(maker, inner)
                else:
                    clone_ops([maker], inner)
            clone_ops([op], inner)
        return [inner[op.results[0]]]

    builder = Builder.before(op)
    fused = builder.create(
        "hlo.fusion",
        inputs,
        [op.results[0].type],
        {"kind": builder.string(KIND), "name": builder.string(_name_of(made))},
        regions=1,
    )
    builder.fill(fused.regions[0], [value.type for value in inputs], body)
    op.results[0].replace_all_uses_with(fused.results[0])
    op.erase()
    for maker in reversed(made):
        maker.erase()


def _clone_kernel(maker: ir.Operation, inner: dict[ir.Value, ir.Value]) -> None:
    """Clones the ops of a kernel; `inner` gets what stands for its result."""
    block = maker.regions[0].blocks[0]
    *ops, terminator = [inner_op.operation for inner_op in block.operations]
    for argument, operand in zip(block.arguments, maker.operands, strict=True):
        inner[argument] = inner[operand]
    clone_ops(ops, inner)
    inner[maker.results[0]] = inner[terminator.operands[0]]


def _name_of(made: Sequence[ir.Operation]) -> str:
    """The name of what makes the updates, or the indices, and of the scatter."""
    name = next(m for m in made if m.name != "hlo.reshape")
    words = ir.attributes.string(name, "name", name.name.removeprefix("hlo."))
    return f"{words.removesuffix('_fusion')}_scatter_fusion"
