"""Reductions that combine nothing, or the same element over and over."""

from __future__ import annotations

import math
from typing import Any

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, is_integer, shape_of
from hlo.passes.rewrite.walk import body_of, terminator_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
_COMBINERS = frozenset(
    f"hlo.{name}" for name in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
)
_IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})
_NEUTRAL = {"add": 0, "multiply": 1, "xor": 0}


def combiner_of(op: ir.Operation) -> str | None:
    """The binary op, without prefix, that a reduction of one input applies to its two arguments."""
    block = body_of(op)
    if len(block.arguments) != 2 or len(block.operations) != 2:
        return None
    inner = block.operations[0].operation
    if inner.name not in _COMBINERS or list(terminator_of(block).operands) != list(inner.results):
        return None
    operands = list(inner.operands)
    arguments = list(block.arguments)
    if operands not in (arguments, arguments[::-1]):
        return None
    return inner.name.removeprefix("hlo.")


@TABLE.rule("reduce")
def reduce_of_unit_dimensions(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """With one element to combine the result is the initial value combined with it."""
    if len(op.results) != 1:
        return None
    operand, initial = op.operands
    shape = shape_of(operand)
    if any(shape[d] != 1 for d in ir.attributes.ints(op, "dimensions")):
        return None
    combiner = combiner_of(op)
    if combiner is None or element_of(op.results[0]) != element_of(operand):
        return None
    return _combine(op, s, combiner, operand, initial)


@TABLE.rule("reduce")
def reduce_of_repeated_elements(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """maximum, minimum, and, or of an element with itself is the element: dimensions that a
    broadcast repeats need no reduction. Needs all reduced dimensions to be such, with elements.
    """
    if len(op.results) != 1:
        return None
    operand, initial = op.operands
    inner = s.producer(operand, "hlo.broadcast_in_dim")
    combiner = combiner_of(op)
    if inner is None or combiner not in _IDEMPOTENT or 0 in shape_of(operand):
        return None
    reduced = set(ir.attributes.ints(op, "dimensions"))
    source = inner.operands[0]
    placed = ir.attributes.ints(inner, "broadcast_dimensions")
    shape = shape_of(source)
    if any(d in reduced and n != 1 for d, n in zip(placed, shape, strict=True)):
        return None
    wide = [n if d not in reduced else 1 for d, n in enumerate(shape_of(operand))]
    return _combine(op, s, combiner, s.builder.broadcast_in_dim(source, wide, placed), initial)


@TABLE.rule("reduce")
def reduce_of_reduce(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """One reduction after another is one along the dimensions of both.

    Needs the same operation, of which the sequence is free: maximum, minimum, and, or; add,
    multiply and xor of integers from their neutral element. The first must have no other use.
    """
    inner = s.producer(op.operands[0], "hlo.reduce")
    if inner is None or len(op.results) != 1 or len(inner.results) != 1:
        return None
    combiner, element = combiner_of(op), element_of(op.results[0])
    if combiner is None or combiner != combiner_of(inner) or not s.has_one_use(inner.results[0]):
        return None
    if element != element_of(inner.operands[0]) or 0 in shape_of(op.operands[0]):
        return None
    initial = op.operands[1]
    if combiner in _IDEMPOTENT:
        initial = s.builder.binary(combiner, initial, inner.operands[1])
    elif not is_integer(element) or s.splat(inner.operands[1]) != _NEUTRAL[combiner]:
        return None
    dimensions = list(ir.attributes.ints(inner, "dimensions"))
    kept = [d for d in range(len(shape_of(inner.operands[0]))) if d not in dimensions]
    dimensions += [kept[d] for d in ir.attributes.ints(op, "dimensions")]
    return s.builder.reduce(inner.operands[0], initial, sorted(dimensions), combiner)


@TABLE.rule("reduce")
def reduce_of_diagonal(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The sum of a square matrix of which a comparison of iotas leaves the diagonal, 0 elsewhere,
    is that of the diagonal, a slice of its elements in a row: a trace. Needs an initial value of 0.
    """
    chosen = s.producer(op.operands[0], "hlo.select")
    if chosen is None or len(op.results) != 1 or combiner_of(op) != "add":
        return None
    predicate, matrix, other = chosen.operands
    shape, initial = shape_of(matrix), op.operands[1]
    if len(shape) != 2 or shape[0] != shape[1] or 0 in shape or shape_of(predicate) != shape:
        return None
    whole = sorted(ir.attributes.ints(op, "dimensions")) == [0, 1]
    if not whole or element_of(op.results[0]) != element_of(matrix):
        return None
    # -0 + 0 is 0: a sum that begins with 0 is the same without zeros.
    if not _is_zero(s.splat(other)) or not _is_zero(start := s.splat(initial)):
        return None
    if _has_negative_zero(start, element_of(matrix)) or not _is_diagonal(predicate, s):
        return None
    size = shape[0]
    row = s.builder.reshape(matrix, [size * size])
    diagonal = s.builder.slice(row, [0], [size * size], [size + 1])
    return s.builder.reduce(diagonal, initial, [0], "add")


def _is_zero(number: Any) -> bool:
    return number is not None and number == 0


def _has_negative_zero(zero: Any, element: ir.Type) -> bool:
    if is_integer(element):
        return False
    parts = complex(zero)
    return min(math.copysign(1, parts.real), math.copysign(1, parts.imag)) < 0


def _is_diagonal(predicate: ir.Value, s: Simplifier) -> bool:
    """Whether a value says of each place of a matrix whether its row is its column."""
    compare = s.producer(predicate, "hlo.compare")
    if compare is None or ir.attributes.enum(compare, "comparison_direction") != "EQ":
        return False
    counted = [s.producer(operand, "hlo.iota") for operand in compare.operands]
    element = element_of(compare.operands[0])
    if not isinstance(element, ir.IntegerType) or element.width < 32:
        return False
    dims = [ir.attributes.integer(i, "iota_dimension") for i in counted if i is not None]
    return sorted(dims) == [0, 1]


def _combine(
    op: ir.Operation, s: Simplifier, combiner: str, operand: ir.Value, initial: ir.Value
) -> ir.Value:
    shape = shape_of(op.results[0])
    value = s.builder.reshape(operand, shape)
    return s.builder.binary(combiner, value, s.builder.splat(initial, shape))
