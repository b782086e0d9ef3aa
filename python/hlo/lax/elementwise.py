"""Elementwise operations of the dialect, under the names of `jax.lax`.

Operands of a binary operation have one dtype, and one shape or no dimensions; Python numbers take
the other operand's dtype. `hlo.numpy` promotes and broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import (
    BOOL,
    DtypeLike,
    bit_width,
    canonical_dtype,
    complex_dtype,
    dtype_name,
    is_complex,
    is_inexact,
    is_python_scalar,
    kind,
    promote_types,
    real_dtype,
)
from hlo.frontend.operands import (
    broadcast_to,
    convert,
    dtype_error,
    dtype_of,
    shape_error,
    shape_of,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer

Unary = Callable[[ArrayLike], Tracer]
Binary = Callable[[ArrayLike, ArrayLike], Tracer]

_KIND_NAMES = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}


def _check_kind(op: str, dtype: np.dtype[Any], kinds: str) -> None:
    if kind(dtype) not in kinds:
        expected = ", ".join(_KIND_NAMES[k] for k in kinds)
        raise dtype_error(
            op, f"expected operands of a type among {expected}; found {dtype_name(dtype)}"
        )


def _unary(op: str, kinds: str, summary: str, *, result: DtypeLike = None) -> Unary:
    def apply(x: ArrayLike) -> Tracer:
        operand = to_tracer(x)
        _check_kind(f"hlo.{op}", operand.dtype, kinds)
        dtype = operand.dtype if result is None else canonical_dtype(result)
        return emit(op, (operand,), (operand.aval.with_dtype(dtype),))[0]

    return _named(apply, op, summary)


def _named(function: Callable[..., Tracer], name: str, summary: str) -> Callable[..., Tracer]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return operation(function)


def same_type(op: str, *values: ArrayLike) -> tuple[Tracer, ...]:
    """Operands of one dtype and shape; Python numbers and operands of rank 0 are spread.

    Raises:
        DtypeError: if dtypes differ.
        ShapeError: if shapes differ.
    """
    arrays = [dtype_of(value) for value in values if not is_python_scalar(value)]
    dtypes = set(arrays) or {promote_types(dtype_of(value) for value in values)}
    if len(dtypes) > 1:
        names = ", ".join(dtype_name(d) for d in arrays if isinstance(d, np.dtype))
        raise dtype_error(op, f"expected operands of one element type, found {names}")
    shapes = {shape_of(value) for value in values} - {()}
    if len(shapes) > 1:
        found = ", ".join(str(shape_of(value)) for value in values)
        raise shape_error(op, f"expected operands of one shape, found {found}")
    (dtype,) = dtypes
    assert isinstance(dtype, np.dtype)
    shape = shapes.pop() if shapes else ()
    return tuple(broadcast_to(value, dtype, shape) for value in values)


def _binary(op: str, kinds: str, summary: str) -> Binary:
    def apply(x: ArrayLike, y: ArrayLike) -> Tracer:
        lhs, rhs = same_type(f"hlo.{op}", x, y)
        _check_kind(f"hlo.{op}", lhs.dtype, kinds)
        return emit(op, (lhs, rhs), (lhs.aval,))[0]

    return _named(apply, op, summary)


def _comparison(direction: str, summary: str) -> Binary:
    def apply(x: ArrayLike, y: ArrayLike) -> Tracer:
        lhs, rhs = same_type("hlo.compare", x, y)
        return compare(lhs, rhs, direction)

    return _named(apply, direction.lower(), summary)


_COMPARE_TYPES = {"b": "UNSIGNED", "u": "UNSIGNED", "i": "SIGNED", "f": "FLOAT", "c": "FLOAT"}


def compare(lhs: Tracer, rhs: Tracer, direction: str, *, total_order: bool = False) -> Tracer:
    """``hlo.compare`` of operands of one type: EQ, NE, LT, LE, GT or GE.

    Args:
        lhs: left operand.
        rhs: right operand.
        direction: the relation.
        total_order: for floats, IEEE's totalOrder: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
    """
    if is_complex(lhs.dtype) and direction not in ("EQ", "NE"):
        raise dtype_error("hlo.compare", f"complex numbers have no order; found {direction}")
    compare_type = "TOTALORDER" if total_order else _COMPARE_TYPES[kind(lhs.dtype)]
    return emit(
        "compare",
        (lhs, rhs),
        (lhs.aval.with_dtype(BOOL),),
        {
            "comparison_direction": attributes.enum("comparison_direction", direction),
            "compare_type": attributes.enum("comparison_type", compare_type),
        },
    )[0]


neg = _unary("negate", "iufc", "-x.")
sign = _unary("sign", "ifc", "-1, 0 or 1; x/abs(x) for complex; NaN and signed zeros are kept.")
floor = _unary("floor", "f", "The greatest integer not above x.")
ceil = _unary("ceil", "f", "The least integer not below x.")
round_afz = _unary("round_nearest_afz", "f", "The nearest integer, halves away from zero.")
round_even = _unary("round_nearest_even", "f", "The nearest integer, halves to even.")
is_finite = _unary("is_finite", "f", "Whether x is neither infinite nor NaN.", result=bool)
exp = _unary("exponential", "fc", "e to the power x.")
expm1 = _unary("exponential_minus_one", "fc", "exp(x) - 1, accurate near 0.")
log = _unary("log", "fc", "Natural logarithm.")
log1p = _unary("log_plus_one", "fc", "log(1 + x), accurate near 0.")
logistic = _unary("logistic", "fc", "1 / (1 + exp(-x)).")
sin = _unary("sine", "fc", "Sine.")
cos = _unary("cosine", "fc", "Cosine.")
tan = _unary("tan", "fc", "Tangent.")
tanh = _unary("tanh", "fc", "Hyperbolic tangent.")
sqrt = _unary("sqrt", "fc", "Square root.")
rsqrt = _unary("rsqrt", "fc", "1 / sqrt(x).")
cbrt = _unary("cbrt", "fc", "Cube root.")
bitwise_not = _unary("not", "biu", "Complement of the bits; logical for bool.")
population_count = _unary("popcnt", "iu", "Number of bits that are set.")
clz = _unary("count_leading_zeros", "iu", "Number of zero bits before the first one.")
erf = _unary("erf", "f", "Error function.")
erfc = _unary("erfc", "f", "1 - erf(x), accurate for large x.")
erf_inv = _unary("erf_inv", "f", "Inverse of the error function.")
lgamma = _unary("lgamma", "f", "Logarithm of the absolute value of the gamma function.")
digamma = _unary("digamma", "f", "Derivative of lgamma.")
bessel_i1e = _unary("bessel_i1e", "f", "Modified Bessel function of order 1 times exp(-abs(x)).")
acos = _unary("acos", "fc", "Arc cosine.")
asin = _unary("asin", "fc", "Arc sine.")
atan = _unary("atan", "fc", "Arc tangent.")
acosh = _unary("acosh", "fc", "Inverse hyperbolic cosine.")
asinh = _unary("asinh", "fc", "Inverse hyperbolic sine.")
atanh = _unary("atanh", "fc", "Inverse hyperbolic tangent.")
cosh = _unary("cosh", "fc", "Hyperbolic cosine.")
sinh = _unary("sinh", "fc", "Hyperbolic sine.")
square = _unary("square", "iufc", "x * x.")

add = _binary("add", "biufc", "x + y; integers wrap, bool is or.")
sub = _binary("subtract", "iufc", "x - y; integers wrap.")
mul = _binary("multiply", "biufc", "x * y; integers wrap, bool is and.")
div = _binary("divide", "iufc", "x / y; integers truncate towards zero.")
rem = _binary("remainder", "iuf", "The remainder of truncating division; has the sign of x.")
max = _binary("maximum", "biufc", "The larger; NaN if either is.")
min = _binary("minimum", "biufc", "The smaller; NaN if either is.")
pow = _binary("power", "iufc", "x to the power y.")
atan2 = _binary("atan2", "fc", "The angle of the point (y, x), first operand y.")
nextafter = _binary("next_after", "f", "The next representable number from x towards y.")
polygamma = _binary("polygamma", "f", "Derivative number m of digamma at x.")
zeta = _binary("zeta", "f", "Hurwitz zeta function.")
bitwise_and = _binary("and", "biu", "And of the bits.")
bitwise_or = _binary("or", "biu", "Or of the bits.")
bitwise_xor = _binary("xor", "biu", "Exclusive or of the bits.")
shift_left = _binary("shift_left", "iu", "x shifted by y bits; 0 from the width on.")
shift_right_arithmetic = _binary(
    "shift_right_arithmetic", "iu", "x shifted by y bits, sign kept; all sign from the width on."
)
shift_right_logical = _binary(
    "shift_right_logical", "iu", "x shifted by y bits, zeros moving in; 0 from the width on."
)

eq = _comparison("EQ", "x == y.")
ne = _comparison("NE", "x != y.")
lt = _comparison("LT", "x < y.")
le = _comparison("LE", "x <= y.")
gt = _comparison("GT", "x > y.")
ge = _comparison("GE", "x >= y.")


@operation
def abs(x: ArrayLike) -> Tracer:
    """Absolute value; of complex numbers the modulus, in the parts' dtype."""
    operand = to_tracer(x)
    _check_kind("hlo.abs", operand.dtype, "iufc")
    if kind(operand.dtype) == "u":
        return operand
    return emit("abs", (operand,), (operand.aval.with_dtype(real_dtype(operand.dtype)),))[0]


@operation
def real(x: ArrayLike) -> Tracer:
    """Real part; real operands are their own."""
    return _part("real", x)


@operation
def imag(x: ArrayLike) -> Tracer:
    """Imaginary part; 0 for floats."""
    return _part("imag", x)


def _part(op: str, x: ArrayLike) -> Tracer:
    operand = to_tracer(x)
    _check_kind(f"hlo.{op}", operand.dtype, "fc")
    return emit(op, (operand,), (operand.aval.with_dtype(real_dtype(operand.dtype)),))[0]


@operation
def complex(re: ArrayLike, im: ArrayLike) -> Tracer:
    """The complex number of two float32 or float64 parts."""
    lhs, rhs = same_type("hlo.complex", re, im)
    if lhs.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise dtype_error(
            "hlo.complex", f"expected float32 or float64 parts, found {dtype_name(lhs.dtype)}"
        )
    return emit("complex", (lhs, rhs), (lhs.aval.with_dtype(complex_dtype(lhs.dtype)),))[0]


@operation
def conj(x: ArrayLike) -> Tracer:
    """Complex conjugate; real operands are their own."""
    operand = to_tracer(x)
    if not is_complex(operand.dtype):
        return operand
    return complex(real(operand), neg(imag(operand)))


@operation
def integer_pow(x: ArrayLike, y: int) -> Tracer:
    """x to a constant integer power, by repeated squaring; negative powers for inexact types."""
    operand = to_tracer(x)
    if y < 0:
        if not is_inexact(operand.dtype):
            raise dtype_error("hlo.power", f"integers have no negative powers, found exponent {y}")
        return div(broadcast_to(1, operand.dtype, operand.shape), integer_pow(operand, -y))
    result: Tracer | None = None
    factor = operand
    while y:
        if y & 1:
            result = factor if result is None else mul(result, factor)
        y >>= 1
        if y:
            factor = mul(factor, factor)
    return broadcast_to(1, operand.dtype, operand.shape) if result is None else result


@operation
def select(which: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Tracer:
    """`on_true` where `which` (bool, of the same shape or none) holds, else `on_false`."""
    predicate = to_tracer(which)
    lhs, rhs = same_type("hlo.select", on_true, on_false)
    if predicate.dtype != BOOL:
        raise dtype_error(
            "hlo.select", f"expected a bool predicate, found {dtype_name(predicate.dtype)}"
        )
    if predicate.shape not in ((), lhs.shape):
        raise shape_error(
            "hlo.select",
            f"expected a predicate of shape {lhs.shape} or (), found {predicate.shape}",
        )
    return emit("select", (predicate, lhs, rhs), (lhs.aval,))[0]


@operation
def clamp(low: ArrayLike, x: ArrayLike, high: ArrayLike) -> Tracer:
    """min(max(x, low), high); bounds of x's shape or without dimensions; NaN stays NaN."""
    dtype = dtype_of(x)
    operand = to_tracer(x, dtype if isinstance(dtype, np.dtype) else None)
    bounds = [_bound(bound, operand) for bound in (low, high)]
    return emit("clamp", (bounds[0], operand, bounds[1]), (operand.aval,))[0]


def _bound(bound: ArrayLike, operand: Tracer) -> Tracer:
    found = to_tracer(bound, operand.dtype)
    if found.dtype != operand.dtype:
        raise dtype_error(
            "hlo.clamp",
            f"expected bounds of {dtype_name(operand.dtype)}, found {dtype_name(found.dtype)}",
        )
    if found.shape not in ((), operand.shape):
        raise shape_error(
            "hlo.clamp", f"expected bounds of shape {operand.shape} or (), found {found.shape}"
        )
    return found


@operation
def convert_element_type(x: ArrayLike, dtype: DtypeLike) -> Tracer:
    """The values in another dtype; complex to real keeps the real part."""
    target = canonical_dtype(dtype)
    if is_python_scalar(x):
        return to_tracer(x, target)
    return convert(to_tracer(x), target)


@operation
def bitcast_convert_type(x: ArrayLike, dtype: DtypeLike) -> Tracer:
    """The bits read as another dtype.

    To a narrower type a last dimension of the ratio of widths is added, to a wider one the last
    dimension, which must have that extent, is consumed. The lowest bits come first.
    """
    operand, target = to_tracer(x), canonical_dtype(dtype)
    old, new = bit_width(operand.dtype), bit_width(target)
    shape = operand.shape
    if old > new:
        shape = (*shape, old // new)
    elif old < new:
        if not shape or shape[-1] != new // old:
            raise shape_error(
                "hlo.bitcast_convert",
                f"expected a last dimension of {new // old} to make {dtype_name(target)} of "
                f"{dtype_name(operand.dtype)}, found shape {shape}",
            )
        shape = shape[:-1]
    if operand.dtype == target:
        return operand
    return emit("bitcast_convert", (operand,), (ShapeDtype(shape, target),))[0]


@operation
def reduce_precision(x: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Tracer:
    """Floats rounded to a format of these widths and back."""
    operand = to_tracer(x)
    _check_kind("hlo.reduce_precision", operand.dtype, "f")
    widths = {
        "exponent_bits": attributes.i32(exponent_bits),
        "mantissa_bits": attributes.i32(mantissa_bits),
    }
    return emit("reduce_precision", (operand,), (operand.aval,), widths)[0]
