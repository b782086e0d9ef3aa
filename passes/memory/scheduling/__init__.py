"""Scheduling: which order of a block's steps needs the fewest bytes at once. No IR.

>>> from hlo.passes.memory.scheduling import Problem, Step, Value, schedule
>>> values = [Value(8), Value(1), Value(8), Value(1)]
>>> steps = [Step((0,)), Step((2,)), Step((1,), (0,)), Step((3,), (2,))]
>>> found = schedule(Problem(steps, values))
>>> found.order, found.peak, found.peak_before
((0, 2, 1, 3), 9, 17)
"""

from __future__ import annotations

from hlo.passes.memory.scheduling.problem import Problem, Profile, Step, Value, profile
from hlo.passes.memory.scheduling.recompute import Recomputed, recompute
from hlo.passes.memory.scheduling.schedule_steps import Found, as_given, orders, schedule

__all__ = [
    "Found",
    "Problem",
    "Profile",
    "Recomputed",
    "Step",
    "Value",
    "as_given",
    "orders",
    "profile",
    "recompute",
    "schedule",
]
