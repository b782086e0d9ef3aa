"""Emitters of the transcendental ops on floats and complex numbers."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import (
    arithmetic,
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
from hlo.passes.hlo_to_loops.elementwise.numeric import Real
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
_COMPLEX_FUNCTIONS: dict[str, ComplexFunction] = {}

TRANSCENDENTAL_EMITTERS: dict[str, Emitter] = {
    name: elementwise(
        name,
        real=function,
        integer=integers.power if name == "power" else None,
        complex_=_COMPLEX_FUNCTIONS.get(name),
    )
    for name, function in _REAL_FUNCTIONS.items()
}
