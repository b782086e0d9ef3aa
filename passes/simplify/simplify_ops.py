"""Applies the rules of simplification to every op."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.simplify.dead_code import erase_dead_ops
from hlo.passes.simplify.rules import (
    arithmetic,
    contraction,
    control_flow,
    fast,
    floor_division,
    folding,
    folding_indexed,
    indexing,
    narrowing,
    reduction,
    repeated_factors,
    selection,
    shapes,
    slice_motion,
    slicing,
    updates,
    windows,
)
from hlo.passes.simplify.simplifier import RuleTable, Simplifier, merge

STRICT_TABLES: dict[str, RuleTable] = {
    "Folding": folding.TABLE,
    "Folding of indices": folding_indexed.TABLE,
    "Arithmetic": arithmetic.TABLE,
    "Selection and conversion": selection.TABLE,
    "Division rounded down": floor_division.TABLE,
    "Narrow integers": narrowing.TABLE,
    "Shapes": shapes.TABLE,
    "Slices": slicing.TABLE,
    "Indexing": indexing.TABLE,
    "Updates": updates.TABLE,
    "Reduction": reduction.TABLE,
    "Windows": windows.TABLE,
    "Contraction": contraction.TABLE,
    "Repeated factors": repeated_factors.TABLE,
    "Slices of products": slice_motion.TABLE,
    "Control flow": control_flow.TABLE,
}
"""Rules that keep results, by title; earlier ones are tried first."""
FAST_TABLES: dict[str, RuleTable] = {"Fast arithmetic": fast.TABLE}
"""Rules that round differently, tried after the others."""

_STRICT = merge(*STRICT_TABLES.values())
_FAST = merge(*STRICT_TABLES.values(), *FAST_TABLES.values())


@dataclass(frozen=True)
class SimplifyOps(Pass):
    """Rewrites ops by identities until none applies, then erases what nothing uses.

    Results stay the same for every input, special values included; `fast` adds rules that round
    differently, or take floats to be finite.

        %0 = hlo.constant dense<1.0> : tensor<f32>
        %1 = hlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
        %2 = hlo.multiply %x, %1 : tensor<8xf32>
      ==>
        %x

    Attributes:
        fast: use the rules that change rounding too.
    """

    fast: bool = False

    def run(self, module: ir.Module) -> bool:
        """One worklist over the module."""
        changed = Simplifier(_FAST if self.fast else _STRICT).run(module)
        return erase_dead_ops(module) or changed
