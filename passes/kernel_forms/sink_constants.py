"""sink-constants: constants of one value are in the blocks of the ops that read them."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.sinking import sink
from hlo.passes.rewrite.walk import CONTROL_FLOW, operations_named

# What a block ends with, or begins loops and branches with, is in memory anyway.
_IN_MEMORY = CONTROL_FLOW | {"hlo.return", "func.return", "hlo.optimization_barrier"}


@dataclass(frozen=True)
class SinkConstants(Pass):
    """Copies constants of one value into the bodies and branches whose ops read them.

    Equal constants of a loop's body and of what is around it are one after simplification. Kernels
    are found in one block at a time: they would read the constant from memory, and patterns which
    ask for its value, such as the zero that a softmax's sum begins with, would not be found.

    Requires: the core op set.
    Guarantees: an op that computes something finds the constants of one value in its own block.

        %zero = hlo.constant dense<0.0> : tensor<f32>
        hlo.while(...) do { %0 = hlo.reduce(%c init: %zero) add ... }
      ==>
        hlo.while(...) do {
          %zero = hlo.constant dense<0.0> : tensor<f32>
          %0 = hlo.reduce(%c init: %zero) add ...
        }
    """

    def run(self, module: ir.Module) -> bool:
        constants = operations_named(module, {"hlo.constant"})
        splats = [op for op in constants if _repeats_one_value(op)]
        return sum([sink(op, lambda reader: reader.name not in _IN_MEMORY) for op in splats]) > 0


def _repeats_one_value(op: ir.Operation) -> bool:
    return ir.constants.splat_value(op.attributes["value"]) is not None
