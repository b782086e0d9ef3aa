"""Reductions that combine nothing, or the same element over and over."""

from __future__ import annotations

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import body_of, terminator_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
_COMBINERS = frozenset(
    f"hlo.{name}" for name in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
)
_IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})


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


def _combine(
    op: ir.Operation, s: Simplifier, combiner: str, operand: ir.Value, initial: ir.Value
) -> ir.Value:
    shape = shape_of(op.results[0])
    value = s.builder.reshape(operand, shape)
    return s.builder.binary(combiner, value, s.builder.splat(initial, shape))
