"""Simplifies programs of core ops without changing what they compute."""

from __future__ import annotations

import dataclasses

from hlo.passes.base import Pass
from hlo.passes.simplify.analyze_trip_counts import AnalyzeTripCounts
from hlo.passes.simplify.eliminate_common_subexpressions import EliminateCommonSubexpressions
from hlo.passes.simplify.forward_carries import ForwardCarries
from hlo.passes.simplify.hoist_loop_invariants import HoistLoopInvariants
from hlo.passes.simplify.simplify_ops import SimplifyOps

PIPELINE: tuple[Pass, ...] = (
    EliminateCommonSubexpressions(),  # first: fewer ops to look at
    ForwardCarries(),  # before the rules, which then see through carries that never change
    SimplifyOps(),
    AnalyzeTripCounts(),  # after folding, which makes bounds constants
    HoistLoopInvariants(),
    SimplifyOps(),  # what opened loops and hoisting uncovered
    EliminateCommonSubexpressions(),  # what became the same
)
"""The passes of simplification, in order."""

FAST_PIPELINE: tuple[Pass, ...] = tuple(
    dataclasses.replace(step, fast=True) if isinstance(step, SimplifyOps) else step
    for step in PIPELINE
)
"""The same, with the rules that let floats round differently."""
