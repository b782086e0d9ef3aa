"""Ops that compute the same are one."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.upstream import UpstreamPass


@dataclass(frozen=True)
class EliminateCommonSubexpressions(Pass):
    """Replaces an op by an earlier one with the same name, operands, attributes and regions.

    Random number generators with state of their own, and custom calls with side effects, stay
    apart.

        %0 = hlo.negate %x : tensor<f32>
        %1 = hlo.negate %x : tensor<f32>
        %2 = hlo.add %0, %1 : tensor<f32>
      ==>
        %0 = hlo.negate %x : tensor<f32>
        %2 = hlo.add %0, %0 : tensor<f32>
    """

    def run(self, module: ir.Module) -> bool:
        """By MLIR's own pass, which knows effects and regions."""
        return UpstreamPass("cse").run(module)
