"""Division of integers rounded down, which front ends make of division rounded toward zero.

The quotient is one less, and the remainder one divisor more, where signs differ and something
remains: `select(sign(x) != sign(c) & x rem c != 0, x / c - 1, x / c)`.
"""

from __future__ import annotations

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, is_integer, is_unsigned
from hlo.passes.simplify.ranges import limits_of, range_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


def _direction(compare: ir.Operation) -> str:
    return ir.attributes.enum(compare, "comparison_direction")


def _values(compare: ir.Operation, s: Simplifier) -> tuple[int, int, bool] | None:
    """(a, b, inside): the comparison of an integer with a constant holds from `a` to `b`, or, if
    not `inside`, everywhere else.
    """
    element = element_of(compare.operands[0])
    number = s.splat(compare.operands[1])
    if number is None or not is_integer(element):
        return None
    least, most = limits_of(element)
    c = int(number)
    return {
        "EQ": (c, c, True),
        "NE": (c, c, False),
        "LT": (least, c - 1, True),
        "LE": (least, c, True),
        "GT": (c + 1, most, True),
        "GE": (c, most, True),
    }[_direction(compare)]


def _implies(first: ir.Operation, second: ir.Operation, s: Simplifier) -> bool:
    """Whether a comparison of an integer with a constant holds only where another one does."""
    x, y = _values(first, s), _values(second, s)
    if first.operands[0] != second.operands[0] or x is None or y is None or not x[2]:
        return False
    if y[2]:
        return y[0] <= x[0] and x[1] <= y[1]
    return x[1] < y[0] or x[0] > y[0]


def _compares(op: ir.Operation, s: Simplifier) -> tuple[ir.Operation, ir.Operation] | None:
    first, second = (s.producer(operand, "hlo.compare") for operand in op.operands)
    return None if first is None or second is None else (first, second)


@TABLE.rule("and", "or")
def implied_comparison(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x < 0 and x != 0 is x < 0; x < 0 or x != 0 is x != 0: of two comparisons of an integer with
    constants the one that the other implies.
    """
    compares = _compares(op, s)
    if compares is None:
        return None
    stricter = 0 if op.name == "hlo.and" else 1
    for i, (first, second) in enumerate((compares, compares[::-1])):
        if _implies(first, second, s):
            return op.operands[i ^ stricter]
    return None


@TABLE.rule("and")
def strict_comparison(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x >= c and x != c is x > c, x <= c and x != c is x < c, for integers."""
    compares = _compares(op, s)
    if compares is None or not is_integer(element_of(compares[0].operands[0])):
        return None
    for bound, other in (compares, compares[::-1]):
        strict = {"GE": "GT", "LE": "LT"}.get(_direction(bound))
        if strict and _direction(other) == "NE" and list(bound.operands) == list(other.operands):
            return s.builder.compare(bound.operands[0], bound.operands[1], strict)
    return None


@TABLE.rule("and")
def signs_differ_and_something_remains(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """sign(x) != 1 and x rem c != 0 is x rem c < 0 for c > 0, since a remainder has the sign of x;
    sign(x) != -1 and x rem c != 0 is x rem c > 0 for c < 0.
    """
    compares = _compares(op, s)
    if compares is None:
        return None
    for of_sign, of_rest in (compares, compares[::-1]):
        if _direction(of_sign) != "NE" or _direction(of_rest) != "NE":
            continue
        sign = s.producer(of_sign.operands[0], "hlo.sign")
        rest = s.producer(of_rest.operands[0], "hlo.remainder")
        if sign is None or rest is None or sign.operands[0] != rest.operands[0]:
            continue
        element = element_of(rest.results[0])
        wanted, zero = s.splat(of_sign.operands[1]), s.splat(of_rest.operands[1])
        divisors = range_of(rest.operands[1], s)
        if not is_integer(element) or wanted is None or zero is None or divisors is None:
            continue
        if zero == 0 and int(wanted) == 1 and divisors[0] > 0:
            return s.builder.compare(rest.results[0], of_rest.operands[1], "LT")
        if zero == 0 and int(wanted) == -1 and divisors[1] < 0:
            return s.builder.compare(rest.results[0], of_rest.operands[1], "GT")
    return None


def _power_of_two(value: ir.Value, s: Simplifier) -> int | None:
    """k of an integer constant 2^k, above 1."""
    number = s.splat(value)
    if number is None or not is_integer(element_of(value)) or is_unsigned(element_of(value)):
        return None
    c = int(number)
    return c.bit_length() - 1 if c > 1 and c & (c - 1) == 0 else None


def _distance(value: ir.Value, base: ir.Value, s: Simplifier) -> int | None:
    """n where `value` is `base` + n or `base` - (-n)."""
    op = s.producer(value, "hlo.add", "hlo.subtract")
    number = None if op is None or op.operands[0] != base else s.splat(op.operands[1])
    if op is None or number is None:
        return None
    return int(number) if op.name == "hlo.add" else -int(number)


@TABLE.rule("select")
def floor_by_power_of_two(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Rounded down, x / 2^k of signed integers is an arithmetic shift, and x mod 2^k a mask."""
    predicate, moved, base = op.operands
    compare = s.producer(predicate, "hlo.compare")
    if compare is None or _direction(compare) != "LT" or s.splat(compare.operands[1]) != 0:
        return None
    rest = s.producer(compare.operands[0], "hlo.remainder")
    shift = None if rest is None else _power_of_two(rest.operands[1], s)
    if rest is None or shift is None:
        return None
    x, divisor = rest.operands
    distance = _distance(moved, base, s)
    if base == rest.results[0] and distance == 1 << shift:
        return s.builder.binary("and", x, s.splat_of((1 << shift) - 1, divisor))
    quotient = s.producer(base, "hlo.divide")
    if distance != -1 or quotient is None or list(quotient.operands) != [x, divisor]:
        return None
    return s.builder.binary("shift_right_arithmetic", x, s.splat_of(shift, divisor))
