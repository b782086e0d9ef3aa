"""sink-broadcasts: broadcasts and iotas that a loop or branch reads are made in it."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.op_traits import CONTRACTIONS, FUSIBLE
from hlo.passes.rewrite.sinking import sink
from hlo.passes.rewrite.tensor_types import shape_of, size_of
from hlo.passes.rewrite.walk import operations_named

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
    if len(op.operands) and size_of(shape_of(op.operands[0])) >= size_of(shape_of(op.results[0])):
        return False
    return sink(op, lambda reader: reader.name in _TAKING)
