"""Simplifies programs of core ops without changing what they compute."""

from __future__ import annotations

from hlo.passes.base import Pass
from hlo.passes.simplify.eliminate_common_subexpressions import EliminateCommonSubexpressions
from hlo.passes.simplify.simplify_ops import SimplifyOps

PIPELINE: tuple[Pass, ...] = (
    EliminateCommonSubexpressions(),  # first: fewer ops to look at
    SimplifyOps(),
    EliminateCommonSubexpressions(),  # what became the same
)
"""The passes of simplification, in order."""
