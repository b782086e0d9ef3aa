"""Erases ops whose results nothing uses."""

from __future__ import annotations

from hlo import ir


def has_effects(op: ir.Operation) -> bool:
    """Whether an op, or one in it, does more than compute its results."""
    return ir.has_effects(op)


def erase_dead_ops(root: ir.Module | ir.Operation) -> bool:
    """Erases the ops of a module, or in an op, that nothing needs. A loop is taken to terminate.

    Returns whether there were any.
    """
    dead = ir.dead_operations(root.operation)
    for op in dead:
        op.erase()
    return bool(dead)
