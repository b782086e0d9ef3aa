"""Emitters of the transcendental ops on floats and complex numbers."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import (
    arithmetic,
    complex_exponential,
    complex_inverse,
    complex_logarithm,
    error_functions,
    exponential,
    gamma_functions,
    integers,
    inverse_trigonometric,
    logarithm,
    roots_and_powers,
    trigonometric,
)
from hlo.passes.hlo_to_loops.elementwise.bessel import bessel_i1e
from hlo.passes.hlo_to_loops.elementwise.numeric import Pair, Real
from hlo.passes.hlo_to_loops.elementwise.table import (
    ComplexFunction,
    Emitter,
    RealFunction,
    elementwise,
)

_REAL_FUNCTIONS: dict[str, RealFunction] = {
    "acos": inverse_trigonometric.acos,
    "acosh": logarithm.acosh,
    "asin": inverse_trigonometric.asin,
    "asinh": logarithm.asinh,
    "atan": inverse_trigonometric.atan,
    "atan2": inverse_trigonometric.atan2,
    "atanh": logarithm.atanh,
    "bessel_i1e": bessel_i1e,
    "cbrt": roots_and_powers.cbrt,
    "cosh": exponential.cosh,
    "cosine": trigonometric.cos,
    "digamma": gamma_functions.digamma,
    "erf": error_functions.erf,
    "erf_inv": error_functions.erf_inv,
    "erfc": error_functions.erfc,
    "exponential": exponential.exp,
    "exponential_minus_one": exponential.expm1,
    "lgamma": gamma_functions.lgamma,
    "log": logarithm.log,
    "log_plus_one": logarithm.log1p,
    "logistic": exponential.logistic,
    "polygamma": gamma_functions.polygamma,
    "power": roots_and_powers.power,
    "rsqrt": arithmetic.rsqrt,
    "sine": trigonometric.sin,
    "sinh": exponential.sinh,
    "sqrt": Real.sqrt,
    "tan": trigonometric.tan,
    "tanh": exponential.tanh,
    "zeta": gamma_functions.zeta,
}
_COMPLEX_FUNCTIONS: dict[str, ComplexFunction] = {
    "_asin_acos_kernel": complex_inverse.asin_acos_kernel,
    "acos": complex_inverse.acos,
    "acosh": complex_inverse.acosh,
    "asin": complex_inverse.asin,
    "asinh": complex_inverse.asinh,
    "atan": complex_inverse.atan,
    "atan2": complex_logarithm.atan2_,
    "atanh": complex_inverse.atanh,
    "cbrt": complex_logarithm.cbrt,
    "cosh": complex_exponential.cosh,
    "cosine": complex_exponential.cos,
    "exponential": complex_exponential.exp,
    "exponential_minus_one": complex_exponential.expm1,
    "log": complex_logarithm.log,
    "log_plus_one": complex_logarithm.log1p,
    "logistic": complex_exponential.logistic,
    "power": complex_logarithm.power,
    "rsqrt": complex_logarithm.rsqrt,
    "sine": complex_exponential.sin,
    "sinh": complex_exponential.sinh,
    "sqrt": complex_logarithm.sqrt,
    "tan": complex_exponential.tan_,
    "tanh": complex_exponential.tanh,
}
# Functions of float ops alone, whose NaNs are those that float ops give.
_FLOAT_OPS = frozenset({"erf", "erfc", "exponential", "logistic", "tanh"})


def _in_double(function: ComplexFunction) -> ComplexFunction:
    """`function` of `f64` parts, for parts of either width."""

    def apply(*operands: Pair) -> Pair:
        scalar = operands[0][0].scalar
        wide = ((re.cast("f64"), im.cast("f64")) for re, im in operands)
        re, im = function(*wide)
        return re.cast(scalar), im.cast(scalar)

    return apply


def _complex_function(name: str) -> ComplexFunction | None:
    function = _COMPLEX_FUNCTIONS.get(name)
    return None if function is None else _in_double(function)


TRANSCENDENTAL_EMITTERS: dict[str, Emitter] = {
    name: elementwise(
        name,
        real=_REAL_FUNCTIONS.get(name),
        integer=integers.power if name == "power" else None,
        complex_=_complex_function(name),
        single=name in _FLOAT_OPS,
    )
    for name in {**_REAL_FUNCTIONS, **_COMPLEX_FUNCTIONS}
}
