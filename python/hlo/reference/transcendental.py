"""Elementwise elementary functions of floats and complex numbers, correct to the last place of the
result type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo.reference import complex_functions
from hlo.reference.element_types import Array, is_complex, rounded, rounded_extended


def exponential(operand: Array) -> Array:
    """e to the power of the operand."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.exponential, operand)
    return rounded_extended(np.exp, operand)


def exponential_minus_one(operand: Array) -> Array:
    """exp(x) - 1 without cancellation near zero."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.exponential_minus_one, operand)
    return rounded_extended(np.expm1, operand)


def log(operand: Array) -> Array:
    """Natural logarithm.

    The principal branch of complex numbers. Subnormal operands are not flushed.
    """
    return rounded_extended(np.log, operand)


def log_plus_one(operand: Array) -> Array:
    """log(1 + x) without cancellation near zero."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.log_plus_one, operand)
    return rounded_extended(np.log1p, operand)


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def logistic(operand: Array) -> Array:
    """1 / (1 + exp(-x))."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.logistic, operand)
    return rounded_extended(_logistic, operand)


def sine(operand: Array) -> Array:
    """Sine of radians."""
    return rounded_extended(np.sin, operand)


def cosine(operand: Array) -> Array:
    """Cosine of radians."""
    return rounded_extended(np.cos, operand)


def tan(operand: Array) -> Array:
    """Tangent of radians."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.tangent, operand)
    return rounded_extended(np.tan, operand)


def sinh(operand: Array) -> Array:
    """Hyperbolic sine."""
    return rounded_extended(np.sinh, operand)


def cosh(operand: Array) -> Array:
    """Hyperbolic cosine."""
    return rounded_extended(np.cosh, operand)


def tanh(operand: Array) -> Array:
    """Hyperbolic tangent."""
    return rounded_extended(np.tanh, operand)


def asin(operand: Array) -> Array:
    """Inverse sine."""
    return rounded_extended(np.arcsin, operand)


def acos(operand: Array) -> Array:
    """Inverse cosine."""
    return rounded_extended(np.arccos, operand)


def asin_acos_kernel(operand: Array) -> Array:
    """What the inverse sine and cosine of a complex number have in common."""
    return rounded_extended(complex_functions.asin_acos_kernel, operand)


def atan(operand: Array) -> Array:
    """Inverse tangent."""
    return rounded_extended(np.arctan, operand)


def asinh(operand: Array) -> Array:
    """Inverse hyperbolic sine."""
    return rounded_extended(np.arcsinh, operand)


def acosh(operand: Array) -> Array:
    """Inverse hyperbolic cosine."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.arc_cosh, operand)
    return rounded_extended(np.arccosh, operand)


def atanh(operand: Array) -> Array:
    """Inverse hyperbolic tangent."""
    return rounded_extended(np.arctanh, operand)


def atan2(lhs: Array, rhs: Array) -> Array:
    """Angle of the point (rhs, lhs), IEEE-754 `atan2`."""
    if is_complex(lhs.dtype):
        return rounded_extended(complex_functions.atan2, lhs, rhs)
    return rounded_extended(np.arctan2, lhs, rhs)


def sqrt(operand: Array) -> Array:
    """Square root; NaN of negative numbers, -0 of -0, the principal branch of complex numbers."""
    if is_complex(operand.dtype):
        return rounded_extended(np.sqrt, operand)
    return rounded(np.sqrt, operand)


def rsqrt(operand: Array) -> Array:
    """1 / sqrt(x)."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.reciprocal_square_root, operand)

    def reciprocal(x: Any) -> Any:
        return 1 / np.sqrt(x)

    return rounded_extended(reciprocal, operand)


def cbrt(operand: Array) -> Array:
    """Cube root; the principal one of complex numbers."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.cube_root, operand)
    return rounded_extended(np.cbrt, operand)


def square(operand: Array) -> Array:
    """x * x."""
    if is_complex(operand.dtype):
        return rounded_extended(complex_functions.square, operand)
    return rounded(np.square, operand)
