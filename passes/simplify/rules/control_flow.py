"""Branches whose choice is known."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.passes.rewrite.inlining import move_block_before
from hlo.passes.rewrite.walk import body_of, operations
from hlo.passes.simplify.ranges import range_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


@TABLE.rule("if")
def if_of_known_predicate(op: ir.Operation, s: Simplifier) -> Sequence[ir.Value] | None:
    """The branch that is taken takes the op's place."""
    number = s.splat(op.operands[0])
    return None if number is None else _inline(op, 0 if bool(number) else 1, s)


@TABLE.rule("case")
def case_of_known_index(op: ir.Operation, s: Simplifier) -> Sequence[ir.Value] | None:
    """The branch of the index takes the op's place; the last branch for an index out of range."""
    last = len(op.regions) - 1
    if last == 0:
        return _inline(op, 0, s)
    bounds = range_of(op.operands[0], s)
    if bounds is None or bounds[0] != bounds[1]:
        return None
    return _inline(op, bounds[0] if 0 <= bounds[0] <= last else last, s)


def _inline(op: ir.Operation, region: int, s: Simplifier) -> Sequence[ir.Value]:
    clone = op.clone(ip=ir.InsertionPoint(op))
    block = body_of(clone, region)
    moved = [view.operation for view in list(block.operations)[:-1]]
    values = move_block_before(block, [], op)
    clone.erase()
    for inner in reversed(moved):
        for each in operations(inner):
            s.revisit(each)
    return values


@TABLE.rule("optimization_barrier")
def barrier_of_what_is_there(op: ir.Operation, s: Simplifier) -> list[ir.Value] | None:
    """A barrier holds no constants, and no arguments of its block that nothing reads behind it:
    they are there ahead of all ops.
    """
    values = list(op.operands)
    held = [
        i
        for i, (value, result) in enumerate(zip(values, op.results, strict=True))
        if s.constant(value) is None
        and (not isinstance(value.owner, ir.Block) or next(iter(result.uses), None) is not None)
    ]
    if len(held) == len(values):
        return None
    if held:
        kept = [values[i] for i in held]
        new = s.builder.create("hlo.optimization_barrier", kept, [v.type for v in kept])
        for i, result in zip(held, new.results, strict=True):
            values[i] = result
    return values
