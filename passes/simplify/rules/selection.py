"""Comparisons, selections and conversions."""

from __future__ import annotations

from hlo import ir
from hlo.passes.rewrite.tensor_types import (
    bit_width,
    element_of,
    is_boolean,
    is_complex,
    is_float,
    is_integer,
    is_unsigned,
    shape_of,
)
from hlo.passes.simplify.ranges import limits_of, range_of
from hlo.passes.simplify.rules.folding import COMPARISONS
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
_OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}


def _is_integral(element: ir.Type) -> bool:
    return is_integer(element) or is_boolean(element)


@TABLE.rule("compare")
def compare_with_itself(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x == x, x <= x, x >= x hold, and the others do not, for integers (for floats: NaN)."""
    lhs, rhs = op.operands
    if lhs != rhs or not _is_integral(element_of(lhs)):
        return None
    direction = ir.attributes.enum(op, "comparison_direction")
    return s.splat_of(direction in ("EQ", "LE", "GE"), op.results[0])


@TABLE.rule("compare")
def compare_constant_last(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """c < x is x > c."""
    lhs, rhs = op.operands
    if s.constant(lhs) is None or s.constant(rhs) is not None:
        return None
    direction = ir.attributes.enum(op, "comparison_direction")
    total = ir.attributes.enum(op, "compare_type", "NOTYPE") == "TOTALORDER"
    return s.builder.compare(rhs, lhs, _SWAPPED[direction], total_order=total)


@TABLE.rule("compare")
def compare_ranges(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A comparison of integers that their bounds decide, such as an iota with a negative number."""
    lhs, rhs = op.operands
    if not _is_integral(element_of(lhs)):
        return None
    right = range_of(rhs, s)
    if right is None or right == limits_of(element_of(rhs)):
        return None
    left = range_of(lhs, s)
    if left is None:
        return None
    direction = ir.attributes.enum(op, "comparison_direction")
    decided = _decide(direction, left, right)
    return None if decided is None else s.splat_of(decided, op.results[0])


def _decide(direction: str, x: tuple[int, int], y: tuple[int, int]) -> bool | None:
    if direction in ("NE", "GE", "GT"):
        opposite = _decide(_OPPOSITE[direction], x, y)
        return None if opposite is None else not opposite
    if direction == "EQ":
        if x[1] < y[0] or y[1] < x[0]:
            return False
        return True if x[0] == x[1] == y[0] == y[1] else None
    below = x[1] < y[0] if direction == "LT" else x[1] <= y[0]
    above = x[0] >= y[1] if direction == "LT" else x[0] > y[1]
    return True if below else False if above else None


@TABLE.rule("compare")
def compare_predicate_with_constant(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """p == true and p != false are p, p == false and p != true are not p."""
    lhs, rhs = op.operands
    number = s.splat(rhs) if is_boolean(element_of(lhs)) else None
    direction = ir.attributes.enum(op, "comparison_direction")
    if number is None or direction not in ("EQ", "NE"):
        return None
    same = bool(number) == (direction == "EQ")
    return lhs if same else s.builder.unary("not", lhs)


@TABLE.rule("compare")
def compare_converted_predicate(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A predicate that was made a number is compared with 0 or 1 as if it were none: mask != 0 is
    the mask.
    """
    lhs, rhs = op.operands
    number, convert = s.splat(rhs), s.producer(lhs, "hlo.convert")
    if number is None or convert is None or not is_boolean(element_of(convert.operands[0])):
        return None
    if is_complex(element_of(lhs)) or float(number) not in (0.0, 1.0):
        return None
    holds = COMPARISONS[ir.attributes.enum(op, "comparison_direction")]
    for_false, for_true = holds(0, float(number)), holds(1, float(number))
    if ir.attributes.enum(op, "compare_type", "NOTYPE") == "TOTALORDER" or for_false == for_true:
        return None
    predicate = convert.operands[0]
    return predicate if for_true else s.builder.unary("not", predicate)


@TABLE.rule("maximum", "minimum")
def bound_by_ranges(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The larger, or the smaller, of integers that their bounds tell."""
    lhs, rhs = op.operands
    if not _is_integral(element_of(lhs)):
        return None
    left, right = range_of(lhs, s), range_of(rhs, s)
    if left is None or right is None:
        return None
    if left[0] >= right[1]:
        return lhs if op.name == "hlo.maximum" else rhs
    if left[1] <= right[0]:
        return rhs if op.name == "hlo.maximum" else lhs
    return None


@TABLE.rule("not")
def not_compare(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """not (x < y) is x >= y for integers and in total order; of floats only == and != have
    opposites.
    """
    compare = s.producer(op.operands[0], "hlo.compare")
    if compare is None or not s.has_one_use(op.operands[0]):
        return None
    lhs, rhs = compare.operands
    direction = ir.attributes.enum(compare, "comparison_direction")
    total = ir.attributes.enum(compare, "compare_type", "NOTYPE") == "TOTALORDER"
    if not (total or _is_integral(element_of(lhs)) or direction in ("EQ", "NE")):
        return None
    return s.builder.compare(lhs, rhs, _OPPOSITE[direction], total_order=total)


@TABLE.rule("select")
def select_known(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A constant predicate, or equal branches."""
    predicate, on_true, on_false = op.operands
    if on_true == on_false:
        return on_true
    number = s.splat(predicate)
    if number is None:
        return None
    return on_true if bool(number) else on_false


@TABLE.rule("select")
def select_not(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """select(not p, x, y) is select(p, y, x)."""
    predicate, on_true, on_false = op.operands
    inverted = s.producer(predicate, "hlo.not")
    return None if inverted is None else s.builder.select(inverted.operands[0], on_false, on_true)


@TABLE.rule("select")
def select_predicate(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """select(p, true, false) is p, select(p, false, true) is not p."""
    predicate, on_true, on_false = op.operands
    if not is_boolean(element_of(on_true)) or predicate.type != on_true.type:
        return None
    first, second = s.splat(on_true), s.splat(on_false)
    if first is None or second is None or bool(first) == bool(second):
        return None
    return predicate if bool(first) else s.builder.unary("not", predicate)


@TABLE.rule("select")
def select_of_select(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An inner selection by the same predicate is decided."""
    predicate, on_true, on_false = op.operands
    inner = s.producer(on_true, "hlo.select")
    if inner is not None and inner.operands[0] == predicate:
        return s.builder.select(predicate, inner.operands[1], on_false)
    inner = s.producer(on_false, "hlo.select")
    if inner is not None and inner.operands[0] == predicate:
        return s.builder.select(predicate, on_true, inner.operands[2])
    return None


@TABLE.rule("clamp")
def clamp_by_ranges(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """clamp(a, x, b) is x for integers whose bounds are within [a, b]."""
    low, operand, high = op.operands
    if not _is_integral(element_of(operand)):
        return None
    ranges = [range_of(value, s) for value in (low, operand, high)]
    if ranges[0] is None or ranges[1] is None or ranges[2] is None:
        return None
    return operand if ranges[0][1] <= ranges[1][0] and ranges[1][1] <= ranges[2][0] else None


@TABLE.rule("convert", "copy", "reduce_precision")
def convert_to_itself(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A conversion to the type that the operand has."""
    del s
    operand = op.operands[0]
    if op.name == "hlo.reduce_precision":
        return operand if _keeps_precision(op, element_of(operand)) else None
    return operand if operand.type == op.results[0].type else None


def _keeps_precision(op: ir.Operation, element: ir.Type) -> bool:
    mantissa = _MANTISSA_BITS.get(str(element))
    exponent = _EXPONENT_BITS.get(str(element))
    return (
        mantissa is not None
        and exponent is not None
        and ir.attributes.integer(op, "mantissa_bits") >= mantissa
        and ir.attributes.integer(op, "exponent_bits") >= exponent
    )


# Stored mantissa bits, and exponent bits.
_MANTISSA_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_EXPONENT_BITS = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


def holds_exactly(narrow: ir.Type, wide: ir.Type) -> bool:
    """Whether every value of one element type is a value of the other."""
    if narrow == wide:
        return True
    if isinstance(narrow, ir.IntegerType):
        magnitude = bit_width(narrow) - (0 if is_unsigned(narrow) else 1)
        if is_float(wide):
            precision = _MANTISSA_BITS.get(str(wide))
            # The largest magnitude of up to 64 bits is far below f32's range; f16's ends at 2^16.
            return precision is not None and magnitude <= precision + 1 and magnitude < 16
        if is_integer(wide):
            room = bit_width(wide) - (0 if is_unsigned(wide) else 1)
            return magnitude <= room and (is_unsigned(narrow) or not is_unsigned(wide))
        return False
    if is_float(narrow) and is_float(wide):
        names = str(narrow), str(wide)
        return all(name in _MANTISSA_BITS for name in names) and all(
            table[names[0]] <= table[names[1]] for table in (_MANTISSA_BITS, _EXPONENT_BITS)
        )
    return False


@TABLE.rule("convert")
def convert_of_convert(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A conversion through a type that holds every value of the first is a conversion from the
    first.

    Conversions to i1 ask whether a value is not zero, which such a detour keeps too.
    """
    inner = s.producer(op.operands[0], "hlo.convert")
    if inner is None:
        return None
    first, middle = element_of(inner.operands[0]), element_of(inner.results[0])
    if is_complex(first) or is_complex(middle) or not holds_exactly(first, middle):
        return None
    return s.builder.convert(inner.operands[0], element_of(op.results[0]))


@TABLE.rule("bitcast_convert")
def bitcast_of_bitcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Bits are bits: through another type of the same width, and to the type that they have."""
    operand = op.operands[0]
    if operand.type == op.results[0].type:
        return operand
    inner = s.producer(operand, "hlo.bitcast_convert")
    if inner is None or shape_of(inner.operands[0]) != shape_of(op.results[0]):
        return None
    if shape_of(operand) != shape_of(op.results[0]):
        return None
    return s.builder.bitcast(inner.operands[0], element_of(op.results[0]))
