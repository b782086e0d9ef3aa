"""deallocate: `memref.dealloc` right after the last use of each `memref.alloc`."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass

# Ops of a memref that is a part of another, or is it.
VIEWS = ("memref.subview", "builtin.unrealized_conversion_cast")


@dataclass(frozen=True)
class Deallocate(Pass):
    """Ends every allocation of the host program in its own block, after the last op that uses it.

    Requires: allocations are used in their block or in regions of ops of it, and freed nowhere.
    Guarantees: one dealloc for each alloc.

        %0 = memref.alloc() : memref<4xf32>
        func.call @k(%a, %0) : ...
        func.call @l(%0, %b) : ...
      ==>
        %0 = memref.alloc() : memref<4xf32>
        func.call @k(%a, %0) : ...
        func.call @l(%0, %b) : ...
        memref.dealloc %0 : memref<4xf32>
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in module.body.operations:
            for region in function.operation.regions:
                for block in region.blocks:
                    changed |= _block(block)[0]
        return changed


def _block(block: ir.Block) -> tuple[bool, set[ir.Value]]:
    """Whether anything was freed, and the values of the blocks around this one that it uses."""
    allocations: list[ir.Operation] = []
    operations = ir.operations_of(block)
    last: dict[ir.Value, int] = {}
    shown: dict[ir.Value, ir.Value] = {}  # by a view: the allocation
    used: set[ir.Value] = set()
    own: set[ir.Value] = set(block.arguments)
    changed = False
    for at, operation in enumerate(operations):
        own.update(operation.results)
        if operation.name == "memref.alloc":
            allocations.append(operation)
            last[operation.results[0]] = at
            continue
        uses = set(operation.operands)
        for region in operation.regions:
            for inner in region.blocks:
                freed, captured = _block(inner)
                changed |= freed
                uses |= captured
        for value in uses:
            if (whole := shown.get(value, value)) in last:
                last[whole] = at
        used |= uses
        if operation.name in VIEWS:
            whole = operation.operands[0]
            shown[operation.results[0]] = shown.get(whole, whole)
    for allocation in allocations:
        value = allocation.results[0]
        after = operations[last[value]]
        with ir.InsertionPoint.after(after), allocation.location:
            ir.Operation.create("memref.dealloc", operands=[value])
        changed = True
    return changed, used - own
