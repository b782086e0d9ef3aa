"""`hlo.dot` becomes `hlo.dot_general`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class ExpandDot(Pass):
    """Replaces the dot of vectors and matrices by the general one.

      "hlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    ==>
      hlo.dot_general %a, %b, contracting_dims = [1] x [0]
    """

    def run(self, module: ir.Module) -> bool:
        """Contracts lhs's last dimension with rhs's first."""
        return expand(module, {"hlo.dot": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    lhs, rhs = op.operands
    attributes = op.attributes
    kept = (
        {"precision_config": attributes["precision_config"]}
        if "precision_config" in attributes
        else {}
    )
    last = len(shape_of(lhs)) - 1
    return [
        builder.dot_general(
            lhs,
            rhs,
            contracting=([last], [0]),
            element=element_of(op.results[0]),
            attributes=kept,
        )
    ]
