"""`hlo.broadcast` becomes `hlo.broadcast_in_dim`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class ExpandBroadcast(Pass):
    """Replaces the broadcast that adds leading dimensions by the general one.

      "hlo.broadcast"(%0) {broadcast_sizes = array<i64: 2>} : (tensor<3xf32>) -> tensor<2x3xf32>
    ==>
      hlo.broadcast_in_dim %0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    """

    def run(self, module: ir.Module) -> bool:
        """Maps the operand's dimensions to the last ones."""
        return expand(module, {"hlo.broadcast": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    shape = shape_of(op.results[0])
    rank = len(shape_of(op.operands[0]))
    dimensions = range(len(shape) - rank, len(shape))
    return [builder.broadcast_in_dim(op.operands[0], shape, list(dimensions))]
