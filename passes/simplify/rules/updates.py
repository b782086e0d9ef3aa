"""Slices that are written into a tensor, and read from it again."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.simplify.rules.indexing import known_starts
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


def _places(op: ir.Operation) -> list[ir.Value]:
    """The start indices of a dynamic slice or update."""
    return list(op.operands)[2 if op.name == "hlo.dynamic_update_slice" else 1 :]


def _bounded(
    starts: Sequence[int], sizes: Sequence[int], shape: Sequence[int]
) -> tuple[list[int], list[int]]:
    """(first, limit) of a slice whose start is clamped into a shape."""
    first = [min(max(a, 0), n - m) for a, m, n in zip(starts, sizes, shape, strict=True)]
    return first, [a + m for a, m in zip(first, sizes, strict=True)]


@TABLE.rule("dynamic_slice")
def slice_of_its_update(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """What was just written where it is read is the update: both clamp alike.

    Needs the same start indices and the same sizes.
    """
    update = s.producer(op.operands[0], "hlo.dynamic_update_slice")
    if update is None or update.operands[1].type != op.results[0].type:
        return None
    return update.operands[1] if _places(update) == _places(op) else None


@TABLE.rule("slice")
def slice_of_known_update(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice that an update at a known place does not meet is one of the operand; one that lies in
    it is a slice of the update.
    """
    update = s.producer(op.operands[0], "hlo.dynamic_update_slice")
    starts = None if update is None else known_starts(_places(update), s)
    if update is None or starts is None or 0 in shape_of(op.results[0]):
        return None
    operand, part = update.operands[0], update.operands[1]
    low, high = _bounded(starts, shape_of(part), shape_of(operand))
    begin, end, step = (
        ir.attributes.ints(op, name) for name in ("start_indices", "limit_indices", "strides")
    )
    if any(e <= lo or b >= hi for b, e, lo, hi in zip(begin, end, low, high, strict=True)):
        return s.builder.slice(operand, begin, end, step)
    if all(lo <= b and e <= hi for b, e, lo, hi in zip(begin, end, low, high, strict=True)):
        first = [b - lo for b, lo in zip(begin, low, strict=True)]
        last = [e - lo for e, lo in zip(end, low, strict=True)]
        return s.builder.slice(part, first, last, step)
    return None


@TABLE.rule("dynamic_update_slice")
def update_of_same_place(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Of two updates of one place the second counts. Needs the same indices and sizes."""
    inner = s.producer(op.operands[0], "hlo.dynamic_update_slice")
    if inner is None or inner.operands[1].type != op.operands[1].type:
        return None
    if _places(inner) != _places(op):
        return None
    operands = [inner.operands[0], *list(op.operands)[1:]]
    return s.builder.one("dynamic_update_slice", operands, op.results[0].type)


@TABLE.rule("dynamic_update_slice")
def update_with_what_is_there(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice of the operand written where it was read from changes nothing.

    Needs the same indices, or known ones that are the slice's and in bounds.
    """
    operand, part = op.operands[0], op.operands[1]
    inner = s.producer(part, "hlo.dynamic_slice", "hlo.slice")
    if inner is None or inner.operands[0] != operand:
        return None
    if inner.name == "hlo.dynamic_slice":
        return operand if _places(inner) == _places(op) else None
    starts = known_starts(_places(op), s)
    if starts is None or any(n != 1 for n in ir.attributes.ints(inner, "strides")):
        return None
    first, _ = _bounded(starts, shape_of(part), shape_of(operand))
    return operand if tuple(first) == ir.attributes.ints(inner, "start_indices") else None
