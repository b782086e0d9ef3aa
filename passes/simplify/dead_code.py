"""Erases ops whose results nothing uses."""

from __future__ import annotations

from hlo import ir
from hlo.passes.rewrite.walk import operations

# Without results that are used these are needed all the same.
_KEPT = frozenset({"builtin.module", "func.func", "func.return", "hlo.return"})


def has_effects(op: ir.Operation) -> bool:
    """Whether an op, or one in it, does more than compute its results."""
    if op.name in _KEPT:
        return True
    if op.name != "hlo.custom_call" and not len(op.regions):
        return False
    calls = ir.operations_named(op, ["hlo.custom_call"])
    return any(ir.attributes.boolean(call, "has_side_effect") for call in calls)


def erase_dead_ops(root: ir.Module | ir.Operation) -> bool:
    """Erases the ops of a module, or in an op, that nothing needs. A loop is taken to terminate.

    Returns whether there were any.
    """
    changed = False
    # From the end: users go before what they use, and the ops of a region after the op that holds
    # it.
    for op in _users_first(operations(root)):
        if not has_effects(op) and not any(_is_used(result) for result in op.results):
            op.erase()
            changed = True
    return changed


def _users_first(ops: list[ir.Operation]) -> list[ir.Operation]:
    return ops[::-1]


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None
