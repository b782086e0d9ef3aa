"""Identities of arithmetic, exact for every value, NaN, infinities, signed zeros and wrap-around
included, unless a rule says that it rounds otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import (
    element_of,
    is_boolean,
    is_complex,
    is_float,
    is_integer,
    is_unsigned,
)
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


def _is_negative_zero(number: Any) -> bool:
    return float(number) == 0.0 and math.copysign(1.0, float(number)) < 0


def _is_positive_zero(number: Any) -> bool:
    return float(number) == 0.0 and math.copysign(1.0, float(number)) > 0


@TABLE.rule("add", "multiply", "maximum", "minimum", "and", "or", "xor")
def constants_last(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """c + x is x + c: commutative operations have their constant second. Floats commute but for the
    payload of NaN."""
    lhs, rhs = op.operands
    if s.constant(lhs) is None or s.constant(rhs) is not None:
        return None
    return s.builder.binary(op.name.removeprefix("hlo."), rhs, lhs)


@TABLE.rule("add")
def add_zero(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x + 0 is x for integers; x + -0 is x for floats (x + 0 is not: -0 + 0 is 0)."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or is_complex(element_of(lhs)):
        return None
    zero = _is_negative_zero(number) if is_float(element_of(lhs)) else int(number) == 0
    return lhs if zero else None


@TABLE.rule("subtract")
def subtract_zero(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x - 0 is x: for floats 0 must be positive (-0 - -0 is 0)."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or is_complex(element_of(lhs)):
        return None
    zero = _is_positive_zero(number) if is_float(element_of(lhs)) else int(number) == 0
    return lhs if zero else None


@TABLE.rule("subtract", "xor")
def subtract_itself(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x - x and x ^ x are 0 for integers and booleans (not for floats: NaN and infinity)."""
    lhs, rhs = op.operands
    if lhs != rhs or not (is_integer(element_of(lhs)) or is_boolean(element_of(lhs))):
        return None
    return s.splat_of(0, op.results[0])


@TABLE.rule("multiply", "divide")
def multiply_by_one(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x * 1 and x / 1 are x, for integers and real floats."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or is_complex(element_of(lhs)):
        return None
    if is_boolean(element_of(lhs)):
        return lhs if op.name == "hlo.multiply" and bool(number) else None
    return lhs if number == 1 else None


@TABLE.rule("multiply")
def multiply_by_minus_one(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x * -1 is -x, exactly, for signed integers and real floats."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    element = element_of(lhs)
    if number is None or is_complex(element) or is_boolean(element):
        return None
    if isinstance(element, ir.IntegerType) and element.is_unsigned:
        return None
    return s.builder.unary("negate", lhs) if number == -1 else None


@TABLE.rule("multiply")
def multiply_by_zero(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x * 0 is 0 for integers (not for floats: NaN, infinity, and the sign of zero)."""
    number = s.splat(op.operands[1])
    if number is None or not is_integer(element_of(op.operands[0])):
        return None
    return s.splat_of(0, op.results[0]) if int(number) == 0 else None


@TABLE.rule("divide")
def divide_by_power_of_two(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x / c is x * (1 / c) for real floats when c is a power of two whose reciprocal is normal:
    both round the same real number.
    """
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or not is_float(element_of(lhs)):
        return None
    dtype = np.asarray(number).dtype
    divisor = float(number)
    if dtype.name not in ("float32", "float64") or not math.isfinite(divisor) or divisor == 0.0:
        return None
    mantissa, _ = math.frexp(divisor)
    reciprocal = 1.0 / divisor
    smallest = float(np.finfo(dtype).tiny)
    if abs(mantissa) != 0.5 or not smallest <= abs(reciprocal) < 1.0 / smallest:
        return None
    return s.builder.multiply(lhs, s.splat_of(reciprocal, rhs))


@TABLE.rule("divide", "remainder")
def unsigned_by_power_of_two(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x / 2^k is x shifted right by k, and x % 2^k is x & (2^k - 1), for unsigned integers."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    element = element_of(lhs)
    if number is None or not is_integer(element) or not is_unsigned(element):
        return None
    divisor = int(number)
    if divisor.bit_count() != 1:
        return None
    if op.name == "hlo.remainder":
        return s.builder.binary("and", lhs, s.splat_of(divisor - 1, rhs))
    shift = s.splat_of(divisor.bit_length() - 1, rhs)
    return s.builder.binary("shift_right_logical", lhs, shift)


@TABLE.rule("remainder")
def remainder_by_one(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x % 1 is 0 for integers."""
    number = s.splat(op.operands[1])
    if number is None or not is_integer(element_of(op.operands[0])):
        return None
    return s.splat_of(0, op.results[0]) if int(number) == 1 else None


@TABLE.rule("add", "multiply")
def associate_constants(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """(x + c) + d is x + (c + d) for integers, which wrap; the same for products."""
    lhs, rhs = op.operands
    if not is_integer(element_of(lhs)) or s.constant(rhs) is None:
        return None
    inner = s.producer(lhs, op.name)
    if inner is None or s.constant(inner.operands[1]) is None:
        return None
    name = op.name.removeprefix("hlo.")
    return s.builder.binary(name, inner.operands[0], s.builder.binary(name, inner.operands[1], rhs))


@TABLE.rule("add", "subtract")
def add_negated(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x + -y is x - y, and x - -y is x + y: the same sum, rounded once, its zeros of the same
    sign.
    """
    lhs, rhs = op.operands
    inner = s.producer(rhs, "hlo.negate")
    if inner is not None:
        other = "subtract" if op.name == "hlo.add" else "add"
        return s.builder.binary(other, lhs, inner.operands[0])
    inner = s.producer(lhs, "hlo.negate") if op.name == "hlo.add" else None
    return None if inner is None else s.builder.subtract(rhs, inner.operands[0])


@TABLE.rule("multiply", "divide")
def product_of_negated(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """-x * -y is x * y, and -x / -y is x / y, for real floats; products of integers too."""
    element = element_of(op.results[0])
    factors = [s.producer(value, "hlo.negate") for value in op.operands]
    if not is_float(element) and not (is_integer(element) and op.name == "hlo.multiply"):
        return None
    inner = [factor.operands[0] for factor in factors if factor is not None]
    if len(inner) < len(factors):
        return None
    return s.builder.binary(op.name.removeprefix("hlo."), inner[0], inner[1])


@TABLE.rule("abs")
def abs_of_negated(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """abs(-x) is abs(x), for integers and real floats."""
    inner = s.producer(op.operands[0], "hlo.negate")
    if inner is None or is_complex(element_of(op.operands[0])):
        return None
    return s.builder.unary("abs", inner.operands[0])


@TABLE.rule("negate", "not", "conj")
def undo(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An operation that is its own inverse, twice."""
    inner = s.producer(op.operands[0], op.name)
    return None if inner is None else inner.operands[0]


@TABLE.rule("abs", "floor", "ceil", "round_nearest_even", "round_nearest_afz", "sign")
def idempotent(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An operation that changes nothing when repeated."""
    inner = s.producer(op.operands[0], op.name)
    if inner is None or inner.results[0].type != op.results[0].type:
        return None
    if is_complex(element_of(op.results[0])):
        return None  # the sign of a complex number is rounded
    return inner.results[0]


@TABLE.rule("maximum", "minimum", "and", "or")
def same_operands(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x op x is x."""
    del s
    return op.operands[0] if op.operands[0] == op.operands[1] else None


@TABLE.rule("maximum", "minimum")
def bound_of_everything(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """maximum(x, lowest value) is x, and minimum(x, highest value): NaN stays NaN. For integers the
    other way round the bound is the result."""
    lhs, rhs = op.operands
    number, element = s.splat(rhs), element_of(lhs)
    if number is None or is_complex(element) or is_boolean(element):
        return None
    is_maximum = op.name == "hlo.maximum"
    if is_float(element):
        bound = -math.inf if is_maximum else math.inf
        return lhs if float(number) == bound else None
    if np.asarray(number).dtype.kind not in "iu":
        return None
    limits = np.iinfo(np.asarray(number).dtype)
    lowest, highest = (limits.min, limits.max) if is_maximum else (limits.max, limits.min)
    if int(number) == lowest:
        return lhs
    return rhs if int(number) == highest else None


@TABLE.rule("power")
def small_powers(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x^1 is x, x^2 is x * x (rounded once, as the power is), x^-1 is 1 / x, x^0.5 is the root of
    x and x^-0.5 its inverse but for x = -0 and -inf, for real floats."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or not is_float(element_of(lhs)):
        return None
    exponent = float(number)
    if exponent == 1.0:
        return lhs
    if exponent == 2.0:
        return s.builder.multiply(lhs, lhs)
    if exponent == -1.0:
        return s.builder.divide(s.splat_of(1.0, lhs), lhs)
    if exponent not in (0.5, -0.5):
        return None
    # Powers of -0 are those of 0, and those of -inf are what they are of inf: roots are not.
    root = "sqrt" if exponent > 0 else "rsqrt"
    usual = s.builder.unary(root, s.builder.add(lhs, s.splat_of(0.0, lhs)))
    limit = s.splat_of(math.inf if exponent > 0 else 0.0, lhs)
    lowest = s.builder.compare(lhs, s.splat_of(-math.inf, lhs), "EQ")
    return s.builder.select(lowest, limit, usual)


@TABLE.rule("shift_left", "shift_right_logical", "shift_right_arithmetic")
def shift_by_zero(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A shift by nothing."""
    number = s.splat(op.operands[1])
    return op.operands[0] if number is not None and int(number) == 0 else None


@TABLE.rule("and", "or", "xor")
def mask_of_nothing_or_everything(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """x & 0, x & ~0, x | 0, x | ~0, x ^ 0."""
    lhs, rhs = op.operands
    number = s.splat(rhs)
    if number is None or np.asarray(number).dtype.kind not in "biu":
        return None
    none = not np.any(number)
    every = not np.any(~number if np.asarray(number).dtype.kind != "b" else np.logical_not(number))
    if none:
        return rhs if op.name == "hlo.and" else lhs
    if every and op.name != "hlo.xor":
        return lhs if op.name == "hlo.and" else rhs
    return None


@TABLE.rule("real")
def real_of_complex(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The real part that a complex number was made of; of a float, the float."""
    operand = op.operands[0]
    if not is_complex(element_of(operand)):
        return operand
    made = s.producer(operand, "hlo.complex")
    return None if made is None else made.operands[0]


@TABLE.rule("imag")
def imag_of_complex(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The imaginary part that a complex number was made of; of a float, zero."""
    operand = op.operands[0]
    if not is_complex(element_of(operand)):
        return s.splat_of(0.0, op.results[0])
    made = s.producer(operand, "hlo.complex")
    return None if made is None else made.operands[1]


@TABLE.rule("complex")
def complex_of_parts(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The complex number whose parts were taken."""
    real, imag = s.producer(op.operands[0], "hlo.real"), s.producer(op.operands[1], "hlo.imag")
    if real is None or imag is None or real.operands[0] != imag.operands[0]:
        return None
    whole = real.operands[0]
    return whole if whole.type == op.results[0].type else None
