"""Elementwise arithmetic, comparisons and elementary functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo import lax, nn
from hlo import numpy as hnp
from hlo.frontend.dtypes import BOOL, is_complex, is_float, is_integer
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import tensor, widened
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.types import inexact, promote, result_type, together

Number = Any
"""A tensor or a Python number."""


def composite(function: Callable[..., Tracer]) -> Callable[..., Tracer]:
    """A function of several steps on floats: computed wide, rounded once, integers as float32."""

    def call(self: Tracer, *arguments: Any, **options: Any) -> Tracer:
        x = inexact(self)
        return convert(function(widened(x), *arguments, **options), x.dtype)

    call.__doc__ = function.__doc__
    return call


_FUNCTIONS: dict[str, Callable[[Tracer], Tracer]] = {
    "acos": lax.acos,
    "acosh": lax.acosh,
    "asin": lax.asin,
    "asinh": lax.asinh,
    "atan": lax.atan,
    "atanh": lax.atanh,
    "cos": lax.cos,
    "cosh": lax.cosh,
    "digamma": lax.digamma,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erfinv": lax.erf_inv,
    "exp": lax.exp,
    "expm1": lax.expm1,
    "lgamma": lax.lgamma,
    "log": lax.log,
    "log1p": lax.log1p,
    "reciprocal": hnp.reciprocal,
    "rsqrt": lax.rsqrt,
    "sigmoid": lax.logistic,
    "sin": lax.sin,
    "sinh": lax.sinh,
    "sqrt": lax.sqrt,
    "tan": lax.tan,
    "tanh": lax.tanh,
    "special_erfcx": lambda x: lax.mul(lax.exp(lax.mul(x, x)), lax.erfc(x)),
    "exp2": hnp.exp2,
    "log2": hnp.log2,
    "log10": hnp.log10,
    "deg2rad": hnp.deg2rad,
    "rad2deg": hnp.rad2deg,
    "sinc": hnp.sinc,
    "silu": nn.silu,
    "log_sigmoid": nn.log_sigmoid,
    "mish": lambda x: lax.mul(x, lax.tanh(nn.softplus(x))),
    "hardsigmoid": nn.hard_sigmoid,
    "hardswish": lambda x: lax.mul(x, nn.hard_sigmoid(x)),
    "special_i1e": lax.bessel_i1e,
}
for _name, _function in _FUNCTIONS.items():
    aten(_name)(composite(_function))
    if _name in ("erf", "erfc", "expm1", "log1p", "exp2", "digamma", "erfinv", "sinc"):
        aten(f"special_{_name}")(composite(_function))
aten("special_expit")(composite(lax.logistic))
aten("special_gammaln")(composite(lax.lgamma))

_PREDICATES: dict[str, Callable[[Tracer], Tracer]] = {
    "isnan": hnp.isnan,
    "isinf": hnp.isinf,
    "isfinite": hnp.isfinite,
    "isposinf": hnp.isposinf,
    "isneginf": hnp.isneginf,
    "signbit": hnp.signbit,
    "logical_not": hnp.logical_not,
}
for _name, _function in _PREDICATES.items():
    aten(_name)(lambda self, function=_function: function(self))

_ANY_TYPE: dict[str, Callable[[Tracer], Tracer]] = {
    "neg": lax.neg,
    "abs": hnp.abs,
    "positive": hnp.positive,
    "bitwise_not": lax.bitwise_not,
    "_conj": hnp.conj,
    "conj_physical": hnp.conj,
    "_conj_physical": hnp.conj,
    "resolve_conj": hnp.positive,
    "resolve_neg": hnp.positive,
    "real": hnp.real,
    "imag": hnp.imag,
    "angle": hnp.angle,
    "square": lambda x: lax.mul(x, x),
}
for _name, _function in _ANY_TYPE.items():
    aten(_name)(lambda self, function=_function: function(self))


def _rounding(function: Callable[[Tracer], Tracer]) -> Callable[[Tracer], Tracer]:
    return lambda self: function(self) if is_float(self.dtype) else self


aten("ceil")(_rounding(lax.ceil))
aten("floor")(_rounding(lax.floor))
aten("trunc", "fix")(_rounding(hnp.trunc))
aten("round")(_rounding(lax.round_even))


@aten("round.decimals")
def round_decimals(self: Tracer, decimals: int = 0) -> Tracer:
    """Halves to even, after scaling by a power of ten."""
    if not is_float(self.dtype):
        return self
    x, scale = widened(self), 10.0 ** abs(decimals)
    if decimals >= 0:
        return convert(hnp.divide(lax.round_even(hnp.multiply(x, scale)), scale), self.dtype)
    return convert(hnp.multiply(lax.round_even(hnp.divide(x, scale)), scale), self.dtype)


@aten("ldexp.Tensor")
def ldexp(self: Tracer, other: Tracer) -> Tracer:
    """self times 2 to the power other."""
    return mul(self, hnp.exp2(inexact(other)))


@aten("frac")
def frac(self: Tracer) -> Tracer:
    """x - trunc(x)."""
    return lax.sub(self, hnp.trunc(self))


@aten("sign", "sgn")
def sign(self: Tracer) -> Tracer:
    """-1, 0 or 1; 0 for NaN, as in PyTorch; z / abs(z) of complex numbers."""
    if self.dtype == BOOL:
        return self
    if is_complex(self.dtype) or is_integer(self.dtype):
        return lax.sign(self) if is_complex(self.dtype) else hnp.sign(self)
    above = convert(hnp.greater(self, 0), self.dtype)
    return lax.sub(above, convert(hnp.less(self, 0), self.dtype))


# --- two operands ----------------------------------------------------------------------------


def _scaled(other: Number, alpha: Number, dtype: np.dtype[Any]) -> Tracer:
    return tensor(other, dtype) if alpha == 1 else hnp.multiply(tensor(other, dtype), alpha)


@aten("add.Tensor", "add.Scalar")
def add(self: Tracer, other: Number, alpha: Number = 1) -> Tracer:
    """self + alpha other; of bool: or."""
    dtype = result_type(self, other)
    if alpha == 1:
        return hnp.add(*together(self, other))
    x = widened(tensor(self, dtype))
    return convert(hnp.add(x, _scaled(other, alpha, x.dtype)), dtype)


@aten("sub.Tensor", "sub.Scalar")
def sub(self: Tracer, other: Number, alpha: Number = 1) -> Tracer:
    """self - alpha other."""
    dtype = result_type(self, other)
    if alpha == 1:
        return hnp.subtract(*together(self, other))
    x = widened(tensor(self, dtype))
    return convert(hnp.subtract(x, _scaled(other, alpha, x.dtype)), dtype)


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(self: Tracer, other: Number, alpha: Number = 1) -> Tracer:
    """other - alpha self."""
    dtype = result_type(self, other)
    return hnp.subtract(tensor(other, dtype), _scaled(self, alpha, dtype))


@aten("mul.Tensor", "mul.Scalar")
def mul(self: Tracer, other: Number) -> Tracer:
    """self times other; of bool: and."""
    return hnp.multiply(*together(self, other))


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(self: Tracer, other: Number) -> Tracer:
    """self / other; integers as float32."""
    x, y = together(self, other)
    return hnp.divide(inexact(x), inexact(y))


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(self: Tracer, other: Number, rounding_mode: str | None = None) -> Tracer:
    """self / other, rounded to floor or towards zero."""
    if rounding_mode is None:
        return div(self, other)
    if rounding_mode == "floor":
        return hnp.floor_divide(*together(self, other))
    x, y = together(self, other)
    return (
        hnp.trunc(hnp.divide(x, y)) if is_float(x.dtype) else lax.div(*hnp.broadcast_arrays(x, y))
    )


_PROMOTING: dict[str, Callable[[Tracer, Tracer], Tracer]] = {
    "floor_divide": hnp.floor_divide,
    "remainder.Tensor": hnp.remainder,
    "remainder.Scalar": hnp.remainder,
    "remainder.Scalar_Tensor": hnp.remainder,
    "fmod.Tensor": hnp.fmod,
    "fmod.Scalar": hnp.fmod,
    "maximum": hnp.maximum,
    "max.other": hnp.maximum,
    "minimum": hnp.minimum,
    "min.other": hnp.minimum,
    "fmax": hnp.fmax,
    "fmin": hnp.fmin,
    "bitwise_and.Tensor": hnp.bitwise_and,
    "bitwise_and.Scalar": hnp.bitwise_and,
    "bitwise_or.Tensor": hnp.bitwise_or,
    "bitwise_or.Scalar": hnp.bitwise_or,
    "bitwise_xor.Tensor": hnp.bitwise_xor,
    "bitwise_xor.Scalar": hnp.bitwise_xor,
    "bitwise_left_shift.Tensor": hnp.left_shift,
    "bitwise_left_shift.Tensor_Scalar": hnp.left_shift,
    "bitwise_right_shift.Tensor": hnp.right_shift,
    "bitwise_right_shift.Tensor_Scalar": hnp.right_shift,
    "__lshift__.Scalar": hnp.left_shift,
    "__lshift__.Tensor": hnp.left_shift,
    "__rshift__.Tensor": hnp.right_shift,
    "__rshift__.Scalar": hnp.right_shift,
    "__and__.Tensor": hnp.bitwise_and,
    "__and__.Scalar": hnp.bitwise_and,
    "__or__.Tensor": hnp.bitwise_or,
    "__or__.Scalar": hnp.bitwise_or,
    "__xor__.Tensor": hnp.bitwise_xor,
    "__xor__.Scalar": hnp.bitwise_xor,
    "copysign.Tensor": hnp.copysign,
    "copysign.Scalar": hnp.copysign,
    "nextafter": hnp.nextafter,
    "hypot": hnp.hypot,
    "logaddexp": hnp.logaddexp,
    "logaddexp2": hnp.logaddexp2,
    "eq": hnp.equal,
    "ne": hnp.not_equal,
    "lt": hnp.less,
    "le": hnp.less_equal,
    "gt": hnp.greater,
    "ge": hnp.greater_equal,
}


def _promoting(function: Callable[[Tracer, Tracer], Tracer]) -> Callable[..., Tracer]:
    return lambda self, other: function(*together(self, other))


for _name, _binary in _PROMOTING.items():
    if _name in ("eq", "ne", "lt", "le", "gt", "ge"):
        aten(f"{_name}.Tensor", f"{_name}.Scalar")(_promoting(_binary))
    else:
        aten(_name)(_promoting(_binary))


def _logical(function: Callable[[Tracer, Tracer], Tracer]) -> Callable[..., Tracer]:
    def call(self: Tracer, other: Tracer) -> Tracer:
        return function(self, other)

    return call


aten("logical_and")(_logical(hnp.logical_and))
aten("logical_or")(_logical(hnp.logical_or))
aten("logical_xor")(_logical(hnp.logical_xor))


@aten("atan2", "arctan2")
def atan2(self: Tracer, other: Tracer) -> Tracer:
    """The angle of the point (other, self)."""
    x, y = together(self, other)
    return hnp.arctan2(inexact(x), inexact(y))


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(self: Number, exponent: Number) -> Tracer:
    """self to the power exponent; whole small exponents by products."""
    dtype = result_type(self, exponent)
    if isinstance(exponent, (int, float)) and not isinstance(exponent, bool):
        if exponent in (1, 2, 3) and dtype != BOOL:
            return lax.integer_pow(tensor(self, dtype), int(exponent))
        if exponent == 0.5 and not is_integer(dtype):
            return lax.sqrt(tensor(self, dtype))
    base, power_ = tensor(self, dtype), tensor(exponent, dtype)
    wide = widened(base)
    return convert(hnp.power(wide, convert(power_, wide.dtype)), dtype)


@aten("float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar")
def float_power(self: Number, exponent: Number) -> Tracer:
    """self to the power exponent, in float64 or complex128."""
    wide = promote(result_type(self, exponent), np.dtype(np.float64))
    return hnp.power(tensor(self, wide), tensor(exponent, wide))


@aten("xlogy.Tensor", "xlogy.Scalar_Other", "special_xlogy")
def xlogy(self: Tracer, other: Number) -> Tracer:
    """self log(other); 0 where self is 0, unless other is NaN."""
    x, y = (inexact(v) for v in together(self, other))
    product = hnp.multiply(x, lax.log(y))
    return hnp.where(hnp.isnan(y), y, hnp.where(hnp.equal(x, 0), tensor(0, x.dtype), product))


@aten("xlog1py")
@aten("special_xlog1py")
def xlog1py(self: Tracer, other: Tracer) -> Tracer:
    """self log(1 + other); 0 where self is 0, unless other is NaN."""
    x, y = (inexact(v) for v in together(self, other))
    product = hnp.multiply(x, lax.log1p(y))
    return hnp.where(hnp.isnan(y), y, hnp.where(hnp.equal(x, 0), tensor(0, x.dtype), product))


@aten("special_zeta")
def zeta(self: Number, other: Number) -> Tracer:
    """Hurwitz's zeta function."""
    x, y = (inexact(v) for v in together(self, other))
    return lax.zeta(*hnp.broadcast_arrays(x, y))


@aten("polygamma")
def polygamma(n: int, self: Tracer) -> Tracer:
    """Derivative number n of digamma."""
    x = inexact(self)
    return lax.polygamma(hnp.broadcast_to(tensor(n, x.dtype), x.shape), x)


@aten("heaviside")
def heaviside(self: Tracer, values: Tracer) -> Tracer:
    """0 below zero, 1 above, `values` at zero."""
    x, at_zero = together(self, values)
    above = convert(hnp.greater(x, 0), x.dtype)
    return hnp.where(hnp.isnan(x), x, hnp.where(hnp.equal(x, 0), at_zero, above))


@aten("isclose")
def isclose(
    self: Tracer, other: Tracer, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tracer:
    """abs(self - other) <= atol + rtol abs(other), or equal."""
    return hnp.isclose(self, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@aten("logit", "special_logit")
def logit(self: Tracer, eps: float | None = None) -> Tracer:
    """log(x / (1 - x)), x kept within [eps, 1 - eps]."""
    x = inexact(self)
    wide = widened(x)
    if eps is not None:
        wide = hnp.clip(wide, eps, 1 - eps)
    return convert(lax.log(lax.div(wide, hnp.subtract(1.0, wide))), x.dtype)


# --- choices ---------------------------------------------------------------------------------


@aten("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(condition: Tracer, self: Number, other: Number) -> Tracer:
    """self where the condition holds, else other."""
    x, y = together(self, other)
    return hnp.where(condition, x, y)


@aten("clamp", "clip", "clamp.Tensor", "clip.Tensor")
def clamp(self: Tracer, min: Number = None, max: Number = None) -> Tracer:
    """Elements kept at or above `min`, then at or below `max`."""
    dtype = result_type(self, min, max)
    found = tensor(self, dtype)
    if min is not None:
        found = hnp.maximum(found, tensor(min, dtype))
    return found if max is None else hnp.minimum(found, tensor(max, dtype))


@aten("clamp_min", "clamp_min.Tensor")
def clamp_min(self: Tracer, min: Number) -> Tracer:
    """Elements kept at or above a bound."""
    return hnp.maximum(*together(self, min))


@aten("clamp_max", "clamp_max.Tensor")
def clamp_max(self: Tracer, max: Number) -> Tracer:
    """Elements kept at or below a bound."""
    return hnp.minimum(*together(self, max))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: Tracer, mask: Tracer, value: Number) -> Tracer:
    """`value` where the mask is true."""
    return hnp.where(mask, tensor(value, self.dtype), self)


@aten("threshold")
def threshold(self: Tracer, threshold: Number, value: Number) -> Tracer:
    """`value` where elements are not above the threshold."""
    small = hnp.less_equal(self, tensor(threshold, self.dtype))
    return hnp.where(small, tensor(value, self.dtype), self)


@aten("nan_to_num")
def nan_to_num(
    self: Tracer,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tracer:
    """NaN as 0 and infinities as the largest finite numbers, unless told otherwise."""
    if not is_float(self.dtype):
        return self
    return hnp.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)


# --- activations -----------------------------------------------------------------------------


@aten("relu")
def relu(self: Tracer) -> Tracer:
    """max(x, 0)."""
    return hnp.maximum(self, tensor(0, self.dtype))


@aten("hardtanh")
def hardtanh(self: Tracer, min_val: Number = -1, max_val: Number = 1) -> Tracer:
    """Elements kept within bounds."""
    return clamp(self, tensor(min_val, self.dtype), tensor(max_val, self.dtype))


@aten("relu6")
def relu6(self: Tracer) -> Tracer:
    """min(max(x, 0), 6)."""
    return clamp(self, 0, 6)


aten("gelu")(composite(lambda x, approximate="none": nn.gelu(x, approximate=approximate == "tanh")))
aten("softplus")(
    composite(
        lambda x, beta=1, threshold=20: hnp.where(
            hnp.greater(hnp.multiply(x, beta), threshold),
            x,
            hnp.divide(nn.softplus(hnp.multiply(x, beta)), beta),
        )
    )
)


@aten("leaky_relu")
@composite
def leaky_relu(x: Tracer, negative_slope: Number = 0.01) -> Tracer:
    """x above zero, a fraction of it below."""
    return hnp.where(hnp.greater(x, 0), x, hnp.multiply(x, negative_slope))


@aten("prelu", "_prelu_kernel")
def prelu(self: Tracer, weight: Tracer) -> Tracer:
    """x above zero, a fraction of it below that each channel has of its own."""
    if weight.ndim == 1 and self.ndim > 1:
        weight = lax.reshape(weight, (1, weight.size) + (1,) * (self.ndim - 2))
    return hnp.where(hnp.greater(self, 0), self, hnp.multiply(self, weight))


@aten("elu")
@composite
def elu(x: Tracer, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Tracer:
    """scale x above zero, scale alpha (exp(input_scale x) - 1) below."""
    below = hnp.multiply(lax.expm1(hnp.multiply(hnp.minimum(x, 0), input_scale)), alpha * scale)
    return hnp.where(hnp.greater(x, 0), hnp.multiply(x, scale), below)


@aten("selu")
@composite
def selu(x: Tracer) -> Tracer:
    """The self-normalising `elu`."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    below = hnp.multiply(lax.expm1(hnp.minimum(x, 0)), alpha * scale)
    return hnp.where(hnp.greater(x, 0), hnp.multiply(x, scale), below)


@aten("celu")
@composite
def celu(x: Tracer, alpha: Number = 1) -> Tracer:
    """x above zero, alpha (exp(x / alpha) - 1) below."""
    below = hnp.multiply(lax.expm1(hnp.divide(hnp.minimum(x, 0), alpha)), alpha)
    return hnp.where(hnp.greater(x, 0), x, below)


@aten("hardshrink")
def hardshrink(self: Tracer, lambd: Number = 0.5) -> Tracer:
    """0 within [-lambd, lambd]."""
    inside = hnp.logical_and(hnp.greater_equal(self, -lambd), hnp.less_equal(self, lambd))
    return hnp.where(inside, tensor(0, self.dtype), self)


@aten("softshrink")
def softshrink(self: Tracer, lambd: Number = 0.5) -> Tracer:
    """Elements moved towards zero by lambd, 0 within it."""
    low = hnp.where(hnp.less(self, -lambd), hnp.add(self, lambd), hnp.multiply(self, 0))
    return hnp.where(hnp.greater(self, lambd), hnp.subtract(self, lambd), low)


@aten("glu")
@composite
def glu(x: Tracer, dim: int = -1) -> Tracer:
    """The first half times the sigmoid of the second."""
    return nn.glu(x, axis=dim)


# --- products and sums of three --------------------------------------------------------------


@aten("addcmul")
def addcmul(self: Tracer, tensor1: Tracer, tensor2: Tracer, value: Number = 1) -> Tracer:
    """self + value tensor1 tensor2."""
    dtype = result_type(self, tensor1, tensor2)
    x, a, b = (widened(tensor(v, dtype)) for v in (self, tensor1, tensor2))
    return convert(hnp.add(x, hnp.multiply(_scaled(a, value, a.dtype), b)), dtype)


@aten("addcdiv")
def addcdiv(self: Tracer, tensor1: Tracer, tensor2: Tracer, value: Number = 1) -> Tracer:
    """self + value tensor1 / tensor2."""
    dtype = result_type(self, tensor1, tensor2)
    x, a, b = (widened(tensor(v, dtype)) for v in (self, tensor1, tensor2))
    return convert(hnp.add(x, hnp.divide(_scaled(a, value, a.dtype), b)), dtype)


@aten("lerp.Scalar", "lerp.Tensor")
def lerp(self: Tracer, end: Tracer, weight: Number) -> Tracer:
    """self + weight (end - self), from the nearer end (PyTorch's own two formulas)."""
    dtype = result_type(self, end)
    start, stop = (widened(tensor(v, dtype)) for v in (self, end))
    w = tensor(weight, start.dtype)
    span = hnp.subtract(stop, start)
    low = hnp.add(start, hnp.multiply(w, span))
    high = hnp.subtract(stop, hnp.multiply(span, hnp.subtract(1, w)))
    return convert(hnp.where(hnp.less(hnp.abs(w), 0.5), low, high), dtype)


# --- types -----------------------------------------------------------------------------------


@aten("_to_copy", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as")
def to(self: Tracer, dtype: np.dtype[Any] | None = None, other: Any = None, **_: Any) -> Tracer:
    """The tensor in another type; devices, layouts and memory formats mean nothing here."""
    if isinstance(other, Tracer):
        dtype = other.dtype
    return self if dtype is None else convert(self, dtype)


@aten("view.dtype")
def view_dtype(self: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """The bits as another type."""
    return hnp.view(self, dtype)


@aten("complex")
def complex_(real: Tracer, imag: Tracer) -> Tracer:
    """real + i imag."""
    return lax.complex(*hnp.broadcast_arrays(real, imag))


@aten("polar")
def polar(abs: Tracer, angle: Tracer) -> Tracer:
    """abs (cos(angle) + i sin(angle))."""
    return complex_(hnp.multiply(abs, lax.cos(angle)), hnp.multiply(abs, lax.sin(angle)))


@aten("view_as_real", "view_as_real_copy")
def view_as_real(self: Tracer) -> Tracer:
    """A last dimension of (real, imaginary)."""
    return hnp.stack([hnp.real(self), hnp.imag(self)], axis=-1)


@aten("view_as_complex", "view_as_complex_copy")
def view_as_complex(self: Tracer) -> Tracer:
    """Complex numbers of a last dimension of (real, imaginary)."""
    return lax.complex(self[..., 0], self[..., 1])
