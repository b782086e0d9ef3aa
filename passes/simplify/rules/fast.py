"""Rules for floats that a user allows to round differently, or to be taken for finite."""

from __future__ import annotations

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, is_float
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


@TABLE.rule("divide")
def divide_by_constant(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x / c is x * (1 / c): rounds twice. Needs a finite constant with a normal reciprocal."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or not is_float(element_of(lhs)):
        return None
    dtype = np.asarray(number).dtype
    if dtype.name not in ("float32", "float64") or number == 0 or not np.isfinite(number):
        return None
    reciprocal = 1.0 / float(number)
    if abs(reciprocal) < np.finfo(dtype).tiny or not np.isfinite(dtype.type(reciprocal)):
        return None
    return s.builder.multiply(lhs, s.splat_of(reciprocal, rhs))


@TABLE.rule("multiply")
def multiply_by_zero(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x * 0 is 0. Takes x for finite, and the sign of zero for unimportant."""
    number = s.splat(op.operands[1])
    if number is None or not is_float(element_of(op.operands[0])) or number != 0:
        return None
    return s.splat_of(0.0, op.results[0])


@TABLE.rule("add", "subtract")
def add_zero(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x + 0 and x - 0 are x. Takes the sign of zero for unimportant."""
    number = s.splat(op.operands[1])
    if number is None or not is_float(element_of(op.operands[0])) or number != 0:
        return None
    return op.operands[0]


@TABLE.rule("subtract")
def subtract_itself(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x - x is 0. Takes x for finite."""
    lhs, rhs = op.operands
    if lhs != rhs or not is_float(element_of(lhs)):
        return None
    return s.splat_of(0.0, op.results[0])


@TABLE.rule("divide")
def divide_by_square_root(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x / sqrt(y) is x * rsqrt(y): rounds once more."""
    lhs, rhs = op.operands
    root = s.producer(rhs, "hlo.sqrt")
    if root is None or not is_float(element_of(lhs)):
        return None
    return s.builder.multiply(lhs, s.builder.unary("rsqrt", root.operands[0]))
