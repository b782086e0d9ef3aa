"""sink-broadcasts: broadcasts and iotas that a loop or branch reads are made in it."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.op_traits import CONTRACTIONS, FUSIBLE
from hlo.passes.rewrite.tensor_types import shape_of, size_of
from hlo.passes.rewrite.walk import CONTROL_FLOW, operations_named

# Ops that take them in where they are in one block; a contraction reads its operands from memory.
_TAKING = frozenset(f"hlo.{name}" for name in FUSIBLE - CONTRACTIONS - {"dynamic_update_slice"})


@dataclass(frozen=True)
class SinkBroadcasts(Pass):
    """Copies broadcasts and iotas into the bodies and branches whose kernels can take them in.

    A kernel reads the smaller operand there; otherwise the broadcast would be in memory while the
    loop runs. Fusion looks at one block at a time.

    Requires: the core op set, static shapes.

        %w = hlo.broadcast_in_dim %x : tensor<256x2xf32>
        hlo.while(...) do { %0 = hlo.multiply %c, %w ... }
      ==>
        hlo.while(...) do {
          %w = hlo.broadcast_in_dim %x : tensor<256x2xf32>
          %0 = hlo.multiply %c, %w ...
        }
    """

    def run(self, module: ir.Module) -> bool:
        found = operations_named(module, {"hlo.broadcast_in_dim", "hlo.iota"})
        return sum(_sink(op) for op in found) > 0


def _sink(op: ir.Operation) -> bool:
    (result,) = op.results
    if len(op.operands) and size_of(shape_of(op.operands[0])) >= size_of(shape_of(result)):
        return False
    copies: list[tuple[ir.Block, ir.Value]] = []
    for use in list(result.uses):
        reader = use.owner.operation
        if reader.name not in _TAKING or not _is_nested(reader, op.block):
            continue
        here = next((copy for block, copy in copies if block == reader.block), None)
        if here is None:
            with ir.InsertionPoint.at_block_begin(reader.block):
                here = op.clone().results[0]
            copies.append((reader.block, here))
        reader.operands[use.operand_number] = here
    if not list(result.uses):
        op.erase()
    return bool(copies)


def _is_nested(op: ir.Operation, block: ir.Block) -> bool:
    """Whether an op is in a loop's body or a branch, at any depth, of an op of `block`."""
    if op.block == block:
        return False
    while op.block != block:
        parent = op.parent
        if parent is None or parent.name not in CONTROL_FLOW:
            return False
        op = parent.operation
    return True
