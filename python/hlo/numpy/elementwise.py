"""NumPy's elementwise functions: operands are promoted and broadcast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import (
    BOOL,
    bit_width,
    complex_dtype,
    inexact_dtype,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    kind,
    promote_types,
    real_dtype,
)
from hlo.frontend.operands import (
    broadcast_shapes,
    broadcast_to,
    convert,
    dtype_of,
    promoted,
    shape_of,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer

Unary = Callable[[ArrayLike], Tracer]
Binary = Callable[[ArrayLike, ArrayLike], Tracer]


def _named(function: Callable[..., Tracer], name: str, summary: str) -> Callable[..., Tracer]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return operation(function)


def inexact(op: str, *values: ArrayLike) -> tuple[Tracer, ...]:
    """Operands in their common dtype, or float32 where that is not inexact."""
    dtype = inexact_dtype(promote_types(dtype_of(value) for value in values))
    return promoted(op, *values, dtype=dtype)


def _float_unary(name: str, function: Unary, summary: str) -> Unary:
    return _named(lambda x: function(inexact(name, x)[0]), name, summary)


def _binary(name: str, function: Binary, summary: str) -> Binary:
    return _named(lambda x, y: function(*promoted(name, x, y)), name, summary)


def _float_binary(name: str, function: Binary, summary: str) -> Binary:
    return _named(lambda x, y: function(*inexact(name, x, y)), name, summary)


def _rounding(name: str, function: Unary, summary: str) -> Unary:
    def apply(x: ArrayLike) -> Tracer:
        operand = to_tracer(x)
        return function(operand) if is_inexact(operand.dtype) else operand

    return _named(apply, name, summary)


def as_bool(x: ArrayLike) -> Tracer:
    """Whether elements are not zero; NaN is not."""
    operand = to_tracer(x)
    return operand if operand.dtype == BOOL else lax.ne(operand, 0)


def _logical(name: str, function: Binary, summary: str) -> Binary:
    def apply(x: ArrayLike, y: ArrayLike) -> Tracer:
        return function(*promoted(name, as_bool(x), as_bool(y)))

    return _named(apply, name, summary)


sqrt = _float_unary("sqrt", lax.sqrt, "Square root.")
cbrt = _float_unary("cbrt", lax.cbrt, "Cube root.")
exp = _float_unary("exp", lax.exp, "e to the power x.")
expm1 = _float_unary("expm1", lax.expm1, "exp(x) - 1, accurate near 0.")
log = _float_unary("log", lax.log, "Natural logarithm.")
log1p = _float_unary("log1p", lax.log1p, "log(1 + x), accurate near 0.")
sin = _float_unary("sin", lax.sin, "Sine.")
cos = _float_unary("cos", lax.cos, "Cosine.")
tan = _float_unary("tan", lax.tan, "Tangent.")
asin = arcsin = _float_unary("arcsin", lax.asin, "Arc sine.")
acos = arccos = _float_unary("arccos", lax.acos, "Arc cosine.")
atan = arctan = _float_unary("arctan", lax.atan, "Arc tangent.")
sinh = _float_unary("sinh", lax.sinh, "Hyperbolic sine.")
cosh = _float_unary("cosh", lax.cosh, "Hyperbolic cosine.")
tanh = _float_unary("tanh", lax.tanh, "Hyperbolic tangent.")
asinh = arcsinh = _float_unary("arcsinh", lax.asinh, "Inverse hyperbolic sine.")
acosh = arccosh = _float_unary("arccosh", lax.acosh, "Inverse hyperbolic cosine.")
atanh = arctanh = _float_unary("arctanh", lax.atanh, "Inverse hyperbolic tangent.")

floor = _rounding("floor", lax.floor, "The greatest integer not above x.")
ceil = _rounding("ceil", lax.ceil, "The least integer not below x.")

add = _binary("add", lax.add, "x + y; of bool: or.")
multiply = _binary("multiply", lax.mul, "x * y; of bool: and.")
maximum = _binary("maximum", lax.max, "The larger; NaN if either is.")
minimum = _binary("minimum", lax.min, "The smaller; NaN if either is.")
bitwise_and = _binary("bitwise_and", lax.bitwise_and, "And of the bits.")
bitwise_or = _binary("bitwise_or", lax.bitwise_or, "Or of the bits.")
bitwise_xor = _binary("bitwise_xor", lax.bitwise_xor, "Exclusive or of the bits.")
equal = _binary("equal", lax.eq, "x == y.")
not_equal = _binary("not_equal", lax.ne, "x != y.")
less = _binary("less", lax.lt, "x < y.")
less_equal = _binary("less_equal", lax.le, "x <= y.")
greater = _binary("greater", lax.gt, "x > y.")
greater_equal = _binary("greater_equal", lax.ge, "x >= y.")
left_shift = bitwise_left_shift = _binary(
    "left_shift", lax.shift_left, "x shifted by y bits; 0 from the width on."
)
true_divide = divide = _float_binary("divide", lax.div, "x / y; integers as float32.")
arctan2 = atan2 = _float_binary("arctan2", lax.atan2, "The angle of the point (y, x); y first.")
nextafter = _float_binary("nextafter", lax.nextafter, "The next number from x towards y.")
logical_and = _logical("logical_and", lax.bitwise_and, "Whether both are not zero.")
logical_or = _logical("logical_or", lax.bitwise_or, "Whether either is not zero.")
logical_xor = _logical("logical_xor", lax.bitwise_xor, "Whether exactly one is not zero.")


@operation
def subtract(x: ArrayLike, y: ArrayLike) -> Tracer:
    """x - y; not for bool."""
    return lax.sub(*promoted("subtract", x, y))


@operation
def logical_not(x: ArrayLike) -> Tracer:
    """Whether x is zero."""
    return lax.bitwise_not(as_bool(x))


@operation
def bitwise_not(x: ArrayLike) -> Tracer:
    """Complement of the bits; logical for bool."""
    return lax.bitwise_not(x)


invert = bitwise_invert = bitwise_not


@operation
def right_shift(x: ArrayLike, y: ArrayLike) -> Tracer:
    """x shifted by y bits; the sign moves in for signed types, zeros for unsigned ones."""
    lhs, rhs = promoted("right_shift", x, y)
    signed = kind(lhs.dtype) == "i"
    return (lax.shift_right_arithmetic if signed else lax.shift_right_logical)(lhs, rhs)


bitwise_right_shift = right_shift


@operation
def bitwise_count(x: ArrayLike) -> Tracer:
    """Number of bits set in abs(x), as uint8."""
    return convert(lax.population_count(absolute(x)), np.dtype(np.uint8))


@operation
def negative(x: ArrayLike) -> Tracer:
    """-x."""
    return lax.neg(x)


@operation
def positive(x: ArrayLike) -> Tracer:
    """x itself."""
    return to_tracer(x)


@operation
def absolute(x: ArrayLike) -> Tracer:
    """Absolute value; of complex numbers the modulus."""
    operand = to_tracer(x)
    return operand if operand.dtype == BOOL else lax.abs(operand)


abs = absolute


@operation
def fabs(x: ArrayLike) -> Tracer:
    """Absolute value as a float."""
    return lax.abs(*inexact("fabs", x))


@operation
def sign(x: ArrayLike) -> Tracer:
    """-1, 0 or 1; x / abs(x) for complex numbers."""
    operand = to_tracer(x)
    if kind(operand.dtype) in "bu":
        return convert(lax.ne(operand, 0), operand.dtype)
    return lax.sign(operand)


@operation
def square(x: ArrayLike) -> Tracer:
    """x * x."""
    operand = to_tracer(x)
    return lax.mul(operand, operand)


@operation
def reciprocal(x: ArrayLike) -> Tracer:
    """1 / x; integers as float32."""
    return true_divide(1, x)


@operation
def floor_divide(x: ArrayLike, y: ArrayLike) -> Tracer:
    """The greatest integer not above x / y."""
    lhs, rhs = promoted("floor_divide", x, y)
    if kind(lhs.dtype) == "u":
        return lax.div(lhs, rhs)
    if is_integer(lhs.dtype):
        quotient = lax.div(lhs, rhs)
        inexact_ = lax.ne(lax.rem(lhs, rhs), 0)
        opposite = lax.ne(lax.sign(lhs), lax.sign(rhs))
        return lax.select(lax.bitwise_and(opposite, inexact_), lax.sub(quotient, 1), quotient)
    return _float_divmod(lhs, rhs)[0]


def _float_divmod(x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    modulo = lax.rem(x, y)
    quotient = lax.div(lax.sub(x, modulo), y)
    moved = lax.bitwise_and(lax.ne(modulo, 0), lax.ne(lax.sign(y), lax.sign(modulo)))
    modulo = lax.select(moved, lax.add(modulo, y), modulo)
    quotient = lax.round_even(lax.select(moved, lax.sub(quotient, 1), quotient))
    return lax.select(lax.eq(y, 0), lax.div(x, y), quotient), modulo


@operation
def remainder(x: ArrayLike, y: ArrayLike) -> Tracer:
    """x - y * floor(x / y); has the sign of y. An integer modulo 0 is itself."""
    lhs, rhs = promoted("remainder", x, y)
    truncated = lax.rem(lhs, rhs)
    opposite = lax.ne(lax.lt(truncated, 0), lax.lt(rhs, 0))
    moved = lax.bitwise_and(opposite, lax.ne(truncated, 0))
    return lax.select(moved, lax.add(truncated, rhs), truncated)


mod = remainder


@operation
def fmod(x: ArrayLike, y: ArrayLike) -> Tracer:
    """The remainder of truncating division; has the sign of x."""
    return lax.rem(*promoted("fmod", x, y))


@operation
def divmod(x: ArrayLike, y: ArrayLike) -> tuple[Tracer, Tracer]:
    """(floor_divide(x, y), remainder(x, y))."""
    lhs, rhs = promoted("divmod", x, y)
    if is_float(lhs.dtype):
        return _float_divmod(lhs, rhs)
    return floor_divide(lhs, rhs), remainder(lhs, rhs)


@operation
def power(x: ArrayLike, y: ArrayLike) -> Tracer:
    """x to the power y; constant Python integers by multiplication.

    Integers to negative powers are 0, but for 1 and -1.
    """
    if type(y) is int and not (is_integer_like(x) and y < 0):
        operand = to_tracer(x)
        return lax.integer_pow(convert(operand, promote_types((operand.dtype, int))), y)
    return lax.pow(*promoted("power", x, y))


pow = power


def is_integer_like(x: ArrayLike) -> bool:
    """Whether an array-like is of integers or bools."""
    dtype = dtype_of(x)
    return dtype is int or (isinstance(dtype, np.dtype) and not is_inexact(dtype))


@operation
def float_power(x: ArrayLike, y: ArrayLike) -> Tracer:
    """x to the power y as floats."""
    return lax.pow(*inexact("float_power", x, y))


@operation
def trunc(x: ArrayLike) -> Tracer:
    """x without its fraction."""
    operand = to_tracer(x)
    if not is_inexact(operand.dtype):
        return operand
    return lax.select(lax.lt(operand, 0), lax.ceil(operand), lax.floor(operand))


fix = trunc


@operation
def round(x: ArrayLike, decimals: int = 0) -> Tracer:
    """The nearest number of so many decimals, halves to even."""
    operand = to_tracer(x)
    if not is_inexact(operand.dtype):
        return operand
    if is_complex(operand.dtype):
        return lax.complex(round(lax.real(operand), decimals), round(lax.imag(operand), decimals))
    if decimals == 0:
        return lax.round_even(operand)
    wide = operand if bit_width(operand.dtype) >= 32 else convert(operand, np.dtype(np.float32))
    factor = 10.0**decimals if decimals > 0 else 10.0**-decimals
    scale, unscale = (lax.mul, lax.div) if decimals > 0 else (lax.div, lax.mul)
    return convert(unscale(lax.round_even(scale(wide, factor)), factor), operand.dtype)


around = round


@operation
def rint(x: ArrayLike) -> Tracer:
    """The nearest integer, halves to even, as a float."""
    return round(inexact("rint", x)[0])


@operation
def fmax(x: ArrayLike, y: ArrayLike) -> Tracer:
    """The larger; the other where one is NaN."""
    lhs, rhs = promoted("fmax", x, y)
    other = lax.bitwise_or(lax.gt(lhs, rhs), isnan(rhs))
    return lax.select(other, lhs, rhs)


@operation
def fmin(x: ArrayLike, y: ArrayLike) -> Tracer:
    """The smaller; the other where one is NaN."""
    lhs, rhs = promoted("fmin", x, y)
    other = lax.bitwise_or(lax.lt(lhs, rhs), isnan(rhs))
    return lax.select(other, lhs, rhs)


@operation
def clip(x: ArrayLike, min: ArrayLike = None, max: ArrayLike = None) -> Tracer:
    """x limited to [min, max]; NaN stays NaN."""
    limited = to_tracer(x)
    if min is not None:
        limited = maximum(limited, min)
    if max is not None:
        limited = minimum(limited, max)
    return limited


@operation
def isnan(x: ArrayLike) -> Tracer:
    """Whether x is not a number."""
    operand = to_tracer(x)
    return lax.ne(operand, operand)


@operation
def isfinite(x: ArrayLike) -> Tracer:
    """Whether x is neither infinite nor NaN."""
    operand = to_tracer(x)
    if is_complex(operand.dtype):
        return lax.bitwise_and(lax.is_finite(lax.real(operand)), lax.is_finite(lax.imag(operand)))
    if not is_float(operand.dtype):
        return lax.full(operand.shape, True)
    return lax.is_finite(operand)


@operation
def isinf(x: ArrayLike) -> Tracer:
    """Whether x is infinite."""
    operand = to_tracer(x)
    if is_complex(operand.dtype):
        return lax.bitwise_or(isinf(lax.real(operand)), isinf(lax.imag(operand)))
    if not is_float(operand.dtype):
        return lax.full(operand.shape, False)
    return lax.eq(lax.abs(operand), float("inf"))


@operation
def isposinf(x: ArrayLike) -> Tracer:
    """Whether x is positive infinity."""
    return lax.eq(inexact("isposinf", x)[0], float("inf"))


@operation
def isneginf(x: ArrayLike) -> Tracer:
    """Whether x is negative infinity."""
    return lax.eq(inexact("isneginf", x)[0], float("-inf"))


@operation
def signbit(x: ArrayLike) -> Tracer:
    """Whether the sign bit is set, also of -0.0 and NaN."""
    operand = to_tracer(x)
    if not is_float(operand.dtype):
        return lax.lt(operand, 0)
    bits = np.dtype(f"int{bit_width(operand.dtype)}")
    return lax.lt(lax.bitcast_convert_type(operand, bits), 0)


@operation
def copysign(x: ArrayLike, y: ArrayLike) -> Tracer:
    """The magnitude of x with the sign of y."""
    lhs, rhs = inexact("copysign", x, y)
    return lax.select(lax.ne(signbit(lhs), signbit(rhs)), lax.neg(lhs), lhs)


@operation
def real(x: ArrayLike) -> Tracer:
    """Real part."""
    operand = to_tracer(x)
    return lax.real(operand) if is_complex(operand.dtype) else operand


@operation
def imag(x: ArrayLike) -> Tracer:
    """Imaginary part; 0 for real numbers."""
    operand = to_tracer(x)
    return lax.imag(operand) if is_complex(operand.dtype) else lax.full_like(operand, 0)


@operation
def conj(x: ArrayLike) -> Tracer:
    """Complex conjugate."""
    return lax.conj(x)


conjugate = conj


@operation
def angle(z: ArrayLike) -> Tracer:
    """The angle of complex numbers, in radians."""
    (operand,) = inexact("angle", z)
    return lax.atan2(imag(operand), real(operand))


@operation
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Tracer:
    """x where the condition is not zero, y elsewhere."""
    dtype = promote_types((dtype_of(x), dtype_of(y)))
    shape = broadcast_shapes("where", map(shape_of, (condition, x, y)))
    predicate = as_bool(condition)
    if predicate.shape != ():
        predicate = broadcast_to(predicate, BOOL, shape)
    return lax.select(predicate, broadcast_to(x, dtype, shape), broadcast_to(y, dtype, shape))


@operation
def select(
    condlist: list[ArrayLike], choicelist: list[ArrayLike], default: ArrayLike = 0
) -> Tracer:
    """The choice of the first condition that holds, else the default."""
    chosen = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        chosen = where(condition, choice, chosen)
    return to_tracer(chosen)


@operation
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tracer:
    """abs(a - b) <= atol + rtol * abs(b), or equal."""
    lhs, rhs = inexact("isclose", a, b)
    real_type = real_dtype(lhs.dtype)
    bound = add(multiply(lax.abs(rhs), real_type.type(rtol)), real_type.type(atol))
    close = lax.le(lax.abs(lax.sub(lhs, rhs)), bound)
    finite = lax.bitwise_and(isfinite(lhs), isfinite(rhs))
    found = lax.bitwise_or(lax.bitwise_and(close, finite), lax.eq(lhs, rhs))
    if equal_nan:
        found = lax.bitwise_or(found, lax.bitwise_and(isnan(lhs), isnan(rhs)))
    return found


def to_complex(x: ArrayLike) -> Tracer:
    """The operand as complex numbers."""
    operand = to_tracer(x)
    return convert(operand, complex_dtype(operand.dtype))
