"""Elementwise functions of floats that are made of several operations."""

from __future__ import annotations

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import finfo, is_complex, is_float
from hlo.frontend.operands import broadcast_shapes, broadcast_to, convert, shape_of, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy.elementwise import copysign, inexact, isinf, isnan, trunc, where


@operation
def exp2(x: ArrayLike) -> Tracer:
    """2 to the power x."""
    (operand,) = inexact("exp2", x)
    return lax.pow(broadcast_to(2, operand.dtype, operand.shape), operand)


@operation
def log2(x: ArrayLike) -> Tracer:
    """Logarithm to base 2."""
    (operand,) = inexact("log2", x)
    return lax.div(lax.log(operand), float(np.log(2.0)))


@operation
def log10(x: ArrayLike) -> Tracer:
    """Logarithm to base 10."""
    (operand,) = inexact("log10", x)
    return lax.div(lax.log(operand), float(np.log(10.0)))


@operation
def hypot(x: ArrayLike, y: ArrayLike) -> Tracer:
    """sqrt(x^2 + y^2) without overflow in between."""
    lhs, rhs = (lax.abs(v) for v in inexact("hypot", x, y))
    large, small = lax.max(lhs, rhs), lax.min(lhs, rhs)
    infinite = lax.bitwise_or(lax.eq(lhs, float("inf")), lax.eq(rhs, float("inf")))
    ratio = lax.div(small, lax.select(lax.eq(large, 0), lax.full_like(large, 1), large))
    length = lax.mul(large, lax.sqrt(lax.add(lax.mul(ratio, ratio), 1)))
    return lax.select(infinite, lax.full_like(large, float("inf")), length)


@operation
def logaddexp(x: ArrayLike, y: ArrayLike) -> Tracer:
    """log(exp(x) + exp(y)) without overflow in between."""
    lhs, rhs = inexact("logaddexp", x, y)
    delta = lax.sub(lhs, rhs)
    sum_ = lax.add(lax.max(lhs, rhs), lax.log1p(lax.exp(lax.neg(lax.abs(delta)))))
    return lax.select(lax.ne(delta, delta), lax.add(lhs, rhs), sum_)


@operation
def logaddexp2(x: ArrayLike, y: ArrayLike) -> Tracer:
    """log2(2^x + 2^y) without overflow in between."""
    lhs, rhs = inexact("logaddexp2", x, y)
    delta = lax.sub(lhs, rhs)
    tail = lax.div(lax.log1p(exp2(lax.neg(lax.abs(delta)))), float(np.log(2.0)))
    return lax.select(lax.ne(delta, delta), lax.add(lhs, rhs), lax.add(lax.max(lhs, rhs), tail))


@operation
def sinc(x: ArrayLike) -> Tracer:
    """sin(pi x) / (pi x), 1 at 0."""
    (operand,) = inexact("sinc", x)
    zero = lax.eq(operand, 0)
    angle = lax.mul(lax.select(zero, lax.full_like(operand, 1), operand), float(np.pi))
    return lax.select(zero, lax.full_like(operand, 1), lax.div(lax.sin(angle), angle))


@operation
def deg2rad(x: ArrayLike) -> Tracer:
    """Degrees to radians."""
    return lax.mul(*_scaled("deg2rad", x, float(np.pi / 180)))


@operation
def rad2deg(x: ArrayLike) -> Tracer:
    """Radians to degrees."""
    return lax.mul(*_scaled("rad2deg", x, float(180 / np.pi)))


def _scaled(op: str, x: ArrayLike, factor: float) -> tuple[Tracer, float]:
    return inexact(op, x)[0], factor


radians = deg2rad


degrees = rad2deg


@operation
def heaviside(x: ArrayLike, y: ArrayLike) -> Tracer:
    """0 below zero, y at zero, 1 above."""
    lhs, rhs = inexact("heaviside", x, y)
    step = lax.select(lax.lt(lhs, 0), lax.full_like(lhs, 0), lax.full_like(lhs, 1))
    return lax.select(lax.eq(lhs, 0), rhs, lax.select(isnan(lhs), lhs, step))


@operation
def nan_to_num(
    x: ArrayLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tracer:
    """NaN and infinities replaced by numbers; the largest finite ones by default."""
    operand = to_tracer(x)
    if is_complex(operand.dtype):
        parts = (lax.real(operand), lax.imag(operand))
        return lax.complex(*(nan_to_num(part, nan, posinf, neginf) for part in parts))
    if not is_float(operand.dtype):
        return operand
    limits = finfo(operand.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    known = where(isnan(operand), nan, operand)
    known = where(lax.eq(operand, float("inf")), high, known)
    return where(lax.eq(operand, float("-inf")), low, known)


@operation
def ldexp(x: ArrayLike, exponent: ArrayLike) -> Tracer:
    """x times 2 to an integer power, exact also where that power is out of range."""
    (operand,) = inexact("ldexp", x)
    shape = broadcast_shapes("ldexp", (operand.shape, shape_of(exponent)))
    power = broadcast_to(exponent, np.dtype(np.int32), shape)
    result = broadcast_to(operand, operand.dtype, shape)
    limit = int(finfo(operand.dtype).maxexp) - 1
    # Three factors reach from the largest number to the least subnormal.
    for _ in range(3):
        step = lax.clamp(-limit, power, limit)
        factor = lax.pow(lax.full_like(result, 2), convert(step, result.dtype))
        result, power = lax.mul(result, factor), lax.sub(power, step)
    return result


@operation
def modf(x: ArrayLike) -> tuple[Tracer, Tracer]:
    """Fraction and whole part, both with the sign of x."""
    (operand,) = inexact("modf", x)
    whole = trunc(operand)
    fraction = lax.select(isinf(operand), lax.full_like(operand, 0), lax.sub(operand, whole))
    return copysign(fraction, operand), whole
