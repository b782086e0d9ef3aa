"""Integers in types as narrow as their values: lanes are as wide as the widest type of a kernel."""

from __future__ import annotations

from hlo import ir
from hlo.passes.rewrite.tensor_types import bit_width, element_of, is_integer, shape_of
from hlo.passes.simplify.ranges import limits_of, range_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()

# Their lowest bits depend on the lowest bits of their operands alone.
_LOW_BITS = ("hlo.add", "hlo.subtract", "hlo.multiply")
_DEEPEST = 8  # ops between a conversion and the iotas that it is made of


@TABLE.rule("shift_right_logical", "and", "divide", "remainder")
def one_value(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Integers whose bounds leave one value, such as the upper half of small 64-bit indices."""
    result = op.results[0]
    if not is_integer(element_of(result)) or 0 in shape_of(result):
        return None
    found = range_of(result, s)
    return None if found is None or found[0] != found[1] else s.splat_of(found[0], result)


@TABLE.rule("convert")
def index_in_narrow_type(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Sums and products of iotas and constants, converted to a narrower integer type, are computed
    in that: integers wrap around. An iota must be held exactly."""
    operand, element = op.operands[0], element_of(op.results[0])
    wide = element_of(operand)
    if not (is_integer(element) and is_integer(wide)) or bit_width(element) >= bit_width(wide):
        return None
    if not _is_made_of_indices(operand, element, s, 0):
        return None
    return _in_type(operand, element, s)


def _is_made_of_indices(value: ir.Value, element: ir.Type, s: Simplifier, depth: int) -> bool:
    op = s.producer(value)
    if op is None or depth > _DEEPEST:
        return False
    if op.name == "hlo.constant":
        return s.splat(value) is not None
    if op.name == "hlo.iota":
        last = shape_of(value)[ir.attributes.integer(op, "iota_dimension")] - 1
        return 0 <= last <= limits_of(element)[1]
    return op.name in _LOW_BITS and all(
        _is_made_of_indices(operand, element, s, depth + 1) for operand in op.operands
    )


def _in_type(value: ir.Value, element: ir.Type, s: Simplifier) -> ir.Value:
    op = s.producer(value)
    assert op is not None, "looked at before"
    if op.name == "hlo.constant":
        known = s.splat(value)
        assert known is not None, "looked at before"
        number = int(known) & (1 << bit_width(element)) - 1
        limit = limits_of(element)[1]
        number -= (1 << bit_width(element)) if number > limit else 0
        return s.builder.constant(number, element, shape_of(value))
    if op.name == "hlo.iota":
        along = ir.attributes.integer(op, "iota_dimension")
        return s.builder.iota(shape_of(value), element, along)
    lhs, rhs = (_in_type(operand, element, s) for operand in op.operands)
    return s.builder.binary(op.name.removeprefix("hlo."), lhs, rhs)
