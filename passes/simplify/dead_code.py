"""Erases ops whose results nothing uses."""

from __future__ import annotations

from hlo import ir
from hlo.passes.rewrite.walk import operations

# Without results that are used these are needed all the same.
_KEPT = frozenset({"builtin.module", "func.func", "func.return", "hlo.return"})


def has_effects(op: ir.Operation) -> bool:
    """Whether an op does more than compute its results."""
    if op.name in _KEPT:
        return True
    return _is_effect(op) or any(_is_effect(inner) for inner in _nested_calls(op))


def _is_effect(op: ir.Operation) -> bool:
    return op.name == "hlo.custom_call" and ir.attributes.boolean(op, "has_side_effect")


def _nested_calls(op: ir.Operation) -> list[ir.Operation]:
    if op.name not in ("hlo.while", "hlo.if", "hlo.case"):
        return []
    return [inner for inner in operations(op) if inner.name == "hlo.custom_call"]


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
