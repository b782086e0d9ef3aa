"""inline-scalars: a few operations on scalars are done by each kernel that reads what they give."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.composites import clone_into, empty_fusion
from hlo.passes.fusion.groups import MAX_OPS
from hlo.passes.hlo_to_loops.graph import region_of
from hlo.passes.hlo_to_loops.work import work_of
from hlo.passes.rewrite.walk import CONTROL_FLOW, body_of, functions

KINDS = frozenset({"loop", "reduce", "row"})
LARGEST = 128  # element operations


@dataclass(frozen=True)
class InlineScalars(Pass):
    """Copies kernels of scalars into the kernels that read them.

    For targets on which a launch costs more than some operations of every thread. What the copies
    compute is the same for all elements, and computed once a thread.

    Requires: `fuse` ran.
    Guarantees: results are unchanged; what is copied does `largest` element operations at the most.

        %s = hlo.fusion(%step) {0.9 ^ step}
        %0 = hlo.fusion(%x, %s) {x / s}      ==>   %0 = hlo.fusion(%x, %step) {x / (0.9 ^ step)}
    """

    largest: int = LARGEST

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            changed |= self._block(body_of(function))
        return changed

    def _block(self, block: ir.Block) -> bool:
        changed, i = False, 0
        while i < len(operations := [op.operation for op in block.operations]):
            op = operations[i]
            if op.name in CONTROL_FLOW:
                for region in op.regions:
                    changed |= self._block(region.blocks[0])
            if not self._is_small(op) or not (readers := _readers(op)):
                i += 1
                continue
            changed = True
            for reader in readers:
                _rewrite(reader, op)
            if any(list(result.uses) for result in op.results):
                i += 1
            else:
                op.erase()
        return changed

    def _is_small(self, op: ir.Operation) -> bool:
        """Whether a kernel computes nothing but scalars of scalars, in little work."""
        if op.name != "hlo.fusion" or ir.attributes.string(op, "kind", "") != "loop":
            return False
        values = [*op.operands, *op.results]
        if any(len(ir.RankedTensorType(value.type).shape) for value in values):
            return False
        return work_of(region_of(op.regions[0].blocks[0])) <= self.largest


def _readers(fusion: ir.Operation) -> list[ir.Operation]:
    """The kernels of its block that read a result and have room."""
    size = len(list(fusion.regions[0].blocks[0].operations))
    found: dict[ir.Value, ir.Operation] = {}
    for result in fusion.results:
        for use in result.uses:
            reader = use.owner.operation
            if reader.name != "hlo.fusion" or reader.block != fusion.block:
                continue
            held = len(list(reader.regions[0].blocks[0].operations))
            if ir.attributes.string(reader, "kind", "") in KINDS and held + size <= MAX_OPS:
                found[reader.results[0]] = reader
    return list(found.values())


def _rewrite(reader: ir.Operation, fusion: ir.Operation) -> None:
    """Puts a reader in its own place that computes what `fusion` does itself."""
    made = list(fusion.results)
    operands = list(
        dict.fromkeys([*(v for v in reader.operands if v not in made), *fusion.operands])
    )
    with reader.location, ir.InsertionPoint(reader):
        new = empty_fusion(reader, operands, [r.type for r in reader.results])
    block = new.regions[0].blocks[0]
    outer: dict[ir.Value, ir.Value] = dict(zip(operands, block.arguments, strict=True))
    source = fusion.regions[0].blocks[0]
    inner: dict[ir.Value, ir.Value] = {
        argument: outer[value]
        for argument, value in zip(source.arguments, fusion.operands, strict=True)
    }
    with ir.InsertionPoint(block):
        *ops, terminator = [op.operation for op in source.operations]
        for op in ops:
            copy = op.clone()
            for i, value in enumerate(op.operands):
                copy.operands[i] = inner[value]
            inner.update(zip(op.results, copy.results, strict=True))
        outer.update({made[i]: inner[v] for i, v in enumerate(terminator.operands)})
        old = reader.regions[0].blocks[0]
        known: dict[ir.Value, ir.Value] = {
            argument: outer[value]
            for argument, value in zip(old.arguments, reader.operands, strict=True)
        }
        clone_into(old, known)
    for before, after in zip(reader.results, new.results, strict=True):
        before.replace_all_uses_with(after)
    reader.erase()
