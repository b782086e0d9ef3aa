"""Operators that work element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import ml_dtypes
import numpy as np

from hlo import lax, nn
from hlo import numpy as hnp
from hlo.frontend.dtypes import BOOL, FLOAT32, bit_width, finfo, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import tensor, widened
from hlo.onnx.model import dtype_of
from hlo.onnx.ops.registry import Array, Call, op

Unary = Callable[[Tracer], Tracer]

_UNARY: Final[dict[str, Unary]] = {
    "Abs": hnp.abs,
    "Acos": hnp.arccos,
    "Acosh": hnp.arccosh,
    "Asin": hnp.arcsin,
    "Asinh": hnp.arcsinh,
    "Atan": hnp.arctan,
    "Atanh": hnp.arctanh,
    "BitwiseNot": lax.bitwise_not,
    "Ceil": lax.ceil,
    "Cos": hnp.cos,
    "Cosh": hnp.cosh,
    "Erf": lax.erf,
    "Exp": hnp.exp,
    "Floor": lax.floor,
    "IsNaN": hnp.isnan,
    "Log": hnp.log,
    "Neg": lax.neg,
    "Not": lax.bitwise_not,
    "Reciprocal": hnp.reciprocal,
    "Round": lax.round_even,
    "Sigmoid": lax.logistic,
    "Sign": hnp.sign,
    "Sin": hnp.sin,
    "Sinh": hnp.sinh,
    "Softplus": nn.softplus,
    "Sqrt": lax.sqrt,
    "Tan": hnp.tan,
    "Tanh": hnp.tanh,
}
_BINARY: Final[dict[str, Callable[[Tracer, Tracer], Tracer]]] = {
    "Add": hnp.add,
    "And": hnp.logical_and,
    "BitwiseAnd": hnp.bitwise_and,
    "BitwiseOr": hnp.bitwise_or,
    "BitwiseXor": hnp.bitwise_xor,
    "Equal": hnp.equal,
    "Greater": hnp.greater,
    "GreaterOrEqual": hnp.greater_equal,
    "Less": hnp.less,
    "LessOrEqual": hnp.less_equal,
    "Mul": hnp.multiply,
    "Or": hnp.logical_or,
    "Sub": hnp.subtract,
    "Xor": hnp.logical_xor,
}
_VARIADIC: Final[dict[str, Callable[[Tracer, Tracer], Tracer]]] = {
    "Max": hnp.maximum,
    "Min": hnp.minimum,
    "Sum": hnp.add,
}


def number(value: Any, like: Tracer) -> Tracer:
    """A number in the type of a tensor."""
    return tensor(value, like.dtype)


def _enter_unary(name: str, function: Unary) -> None:
    @op(name)
    def call(call: Call, x: Tracer) -> Tracer:
        return function(x)

    del call


def aligned(call: Call, a: Tracer, b: Tracer) -> Tracer:
    """The second operand of a binary operator: before version 7 the attribute `axis` says where
    its dimensions lie in the first."""
    if call.version >= 7 or not call.get("broadcast") or b.ndim == a.ndim:
        return b
    axis = call.get("axis", a.ndim - b.ndim) % max(a.ndim, 1)
    return lax.reshape(b, b.shape + (1,) * (a.ndim - axis - b.ndim))


def _enter_binary(name: str, function: Callable[[Tracer, Tracer], Tracer]) -> None:
    @op(name)
    def call(call: Call, a: Tracer, b: Tracer) -> Tracer:
        return function(a, aligned(call, a, b))

    del call


def _enter_variadic(name: str, function: Callable[[Tracer, Tracer], Tracer]) -> None:
    @op(name)
    def call(call: Call, *values: Tracer) -> Tracer:
        return reduce(function, values)

    del call


for _name, _unary in _UNARY.items():
    _enter_unary(_name, _unary)
for _name, _binary in _BINARY.items():
    _enter_binary(_name, _binary)
for _name, _variadic in _VARIADIC.items():
    _enter_variadic(_name, _variadic)


@op("Mean")
def mean(call: Call, *values: Tracer) -> Tracer:
    """The mean of the operands, which are broadcast."""
    total = reduce(hnp.add, values)
    return hnp.divide(total, number(len(values), total))


@op("Div")
def divide(call: Call, a: Tracer, b: Tracer) -> Tracer:
    """A quotient, of integers rounded toward zero."""
    left, right = hnp.broadcast_arrays(a, aligned(call, a, b))
    return lax.div(left, right)


@op("Mod")
def modulo(call: Call, a: Tracer, b: Tracer) -> Tracer:
    """The remainder with the divisor's sign, or with the dividend's where `fmod` is 1."""
    return hnp.fmod(a, b) if call.get("fmod", 0) else hnp.remainder(a, b)


@op("Pow")
def power(call: Call, base: Tracer, exponent: Tracer) -> Tracer:
    """A power in the base's type; the exponent may have another."""
    exponent = aligned(call, base, exponent)
    if is_float(base.dtype) or not is_float(exponent.dtype):
        return hnp.power(base, convert(exponent, base.dtype))
    wide = exponent.dtype if exponent.dtype.itemsize >= base.dtype.itemsize else np.dtype("f8")
    return convert(hnp.power(convert(base, wide), convert(exponent, wide)), base.dtype)


@op("BitShift")
def shift(call: Call, x: Tracer, by: Tracer) -> Tracer:
    """Shifts in zeros, at either end."""
    left = call.get("direction") == "LEFT"
    a, b = hnp.broadcast_arrays(x, by)
    return lax.shift_left(a, b) if left else lax.shift_right_logical(a, b)


@op("IsInf")
def is_infinite(call: Call, x: Tracer) -> Tracer:
    """Infinities of the signs that are asked for."""
    found = hnp.zeros(x.shape, BOOL)
    if call.get("detect_positive", 1):
        found = hnp.logical_or(found, hnp.isposinf(x))
    if call.get("detect_negative", 1):
        found = hnp.logical_or(found, hnp.isneginf(x))
    return found


@op("Where")
def where(call: Call, condition: Tracer, x: Tracer, y: Tracer) -> Tracer:
    """Elements of one operand or the other."""
    return hnp.where(condition, x, y)


@op("Clip")
def clip(call: Call, x: Tracer, low: Tracer | None = None, high: Tracer | None = None) -> Tracer:
    """max(x, low), then min with high; NaN stays NaN."""
    if call.version < 11:
        low = number(call.get("min"), x) if "min" in call.node.attributes else None
        high = number(call.get("max"), x) if "max" in call.node.attributes else None
    if low is not None:
        x = hnp.maximum(x, low)
    return x if high is None else hnp.minimum(x, high)


@op("Cast", "CastLike")
def cast(call: Call, x: Tracer, like: Tracer | None = None) -> Tracer:
    """Another element type; floats of 8 bits saturate unless `saturate` is 0."""
    dtype = like.dtype if like is not None else dtype_of(call.get("to"))
    if dtype == np.dtype(ml_dtypes.float8_e8m0fnu):
        return _scales(x, call.get("round_mode", "up"))
    return converted(x, dtype, saturate=bool(call.get("saturate", 1)))


@op("BitCast")
def bit_cast(call: Call, x: Tracer) -> Tracer:
    """The same bits as another type of the same width; a bool has those of 0 or 1."""
    dtype = dtype_of(call.get("to"))
    if x.dtype == BOOL:
        x = convert(x, np.dtype(np.uint8))
    if dtype == BOOL:
        return lax.ne(lax.bitcast_convert_type(x, np.dtype(np.uint8)), np.uint8(0))
    return lax.bitcast_convert_type(x, dtype)


def converted(x: Tracer, dtype: np.dtype[Any], *, saturate: bool = True) -> Tracer:
    """A conversion by ONNX's rules: narrow floats may saturate, integers wrap."""
    if dtype == BOOL:
        return lax.ne(x, number(0, x))
    if is_float(x.dtype) and not is_float(dtype) and bit_width(dtype) < 32:
        # Out of range is undefined; the low bits are what NumPy and PyTorch give.
        return convert(convert(x, np.dtype(np.int32)), dtype)
    narrow = is_float(dtype) and dtype.itemsize == 1 and is_float(x.dtype)
    if narrow and saturate and x.dtype.itemsize > 1:
        most = float(finfo(dtype).max)
        x = hnp.where(hnp.isnan(x), x, hnp.clip(x, number(-most, x), number(most, x)))
    return convert(x, dtype)


def _scales(x: Tracer, mode: str) -> Tracer:
    """Powers of two: the exponents of float32, up, down, or to the nearest with ties up."""
    bits = lax.bitcast_convert_type(convert(x, FLOAT32), np.dtype(np.uint32))
    exponent = lax.shift_right_logical(bits, _filled(23, bits))
    exponent = hnp.bitwise_and(exponent, number(255, bits))
    fraction = hnp.bitwise_and(bits, number(0x7FFFFF, bits))
    half = 0x400000
    # Below the normal numbers an exponent of 0 stands for half of the least of them.
    above = {"up": 0, "down": 0x7FFFFF, "nearest": half - 1}[mode]
    above_least = {"up": half, "down": 0x7FFFFF, "nearest": half + half // 2 - 1}[mode]
    limit = hnp.where(
        hnp.equal(exponent, number(0, bits)), number(above_least, bits), number(above, bits)
    )
    up = hnp.logical_and(hnp.greater(fraction, limit), hnp.less(exponent, number(254, bits)))
    rounded = hnp.add(exponent, convert(up, bits.dtype))
    return lax.bitcast_convert_type(
        convert(rounded, np.dtype(np.uint8)), np.dtype(ml_dtypes.float8_e8m0fnu)
    )


# --- activations -----------------------------------------------------------------------------


@op("Relu")
def relu(call: Call, x: Tracer) -> Tracer:
    """max(x, 0)."""
    return hnp.maximum(x, number(0, x))


@op("LeakyRelu")
def leaky_relu(call: Call, x: Tracer) -> Tracer:
    """x, or alpha x below zero."""
    return hnp.where(lax.lt(x, number(0, x)), lax.mul(x, _filled(call.get("alpha", 0.01), x)), x)


@op("PRelu")
def parametric_relu(call: Call, x: Tracer, slope: Tracer) -> Tracer:
    """x, or slope x below zero; before version 7 a slope of a channel lies along axis 1."""
    if call.version < 7 and slope.ndim == 1 and x.ndim > 2:
        slope = lax.reshape(slope, (slope.size,) + (1,) * (x.ndim - 2))
    return hnp.where(lax.lt(x, number(0, x)), hnp.multiply(x, slope), x)


@op("ThresholdedRelu")
def thresholded_relu(call: Call, x: Tracer) -> Tracer:
    """x above alpha, else 0."""
    return hnp.where(lax.gt(x, _filled(call.get("alpha", 1.0), x)), x, number(0, x))


@op("Elu")
def elu(call: Call, x: Tracer) -> Tracer:
    """x, or alpha (exp(x) - 1) below zero."""
    return _exponential(x, call.get("alpha", 1.0), 1.0)


@op("Selu")
def selu(call: Call, x: Tracer) -> Tracer:
    """gamma times ELU."""
    return _exponential(x, call.get("alpha", 1.67326319), call.get("gamma", 1.05070102))


@op("Celu")
def celu(call: Call, x: Tracer) -> Tracer:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    alpha = number(call.get("alpha", 1.0), x)
    negative = hnp.multiply(alpha, lax.expm1(hnp.divide(x, alpha)))
    return hnp.add(hnp.maximum(x, number(0, x)), hnp.minimum(number(0, x), negative))


def _exponential(x: Tracer, alpha: float, gamma: float) -> Tracer:
    wide = widened(x)
    below = hnp.multiply(lax.expm1(hnp.minimum(wide, number(0, wide))), number(alpha, wide))
    found = hnp.where(lax.gt(wide, number(0, wide)), wide, below)
    return convert(hnp.multiply(found, number(gamma, wide)), x.dtype)


@op("Softsign")
def softsign(call: Call, x: Tracer) -> Tracer:
    """x / (1 + |x|)."""
    return hnp.divide(x, hnp.add(number(1, x), hnp.abs(x)))


@op("HardSigmoid")
def hard_sigmoid(call: Call, x: Tracer) -> Tracer:
    """alpha x + beta, within 0 and 1."""
    return _ramp(x, call.get("alpha", 0.2), call.get("beta", 0.5))


@op("HardSwish")
def hard_swish(call: Call, x: Tracer) -> Tracer:
    """x times a hard sigmoid of 1/6 and 1/2."""
    return lax.mul(x, _ramp(x, 1 / 6, 0.5))


def _ramp(x: Tracer, alpha: float, beta: float) -> Tracer:
    line = hnp.add(hnp.multiply(x, number(alpha, x)), number(beta, x))
    return hnp.maximum(number(0, x), hnp.minimum(number(1, x), line))


@op("Gelu")
def gelu(call: Call, x: Tracer) -> Tracer:
    """x times the normal distribution, exact or by tanh."""
    found = nn.gelu(widened(x), approximate=call.get("approximate", "none") == "tanh")
    return convert(found, x.dtype)


@op("Shrink")
def shrink(call: Call, x: Tracer) -> Tracer:
    """x moved toward zero by bias outside of the threshold, 0 within it."""
    threshold, bias = call.get("lambd", 0.5), call.get("bias", 0.0)
    below = lax.lt(x, _filled(-threshold, x))
    above = lax.gt(x, _filled(threshold, x))
    moved = hnp.where(above, hnp.subtract(x, number(bias, x)), number(0, x))
    return hnp.where(below, hnp.add(x, number(bias, x)), moved)


def _filled(value: float, like: Tracer) -> Tracer:
    return hnp.broadcast_to(number(value, like), like.shape)


@op("Dropout", static=(1, 2))
def dropout(
    call: Call, x: Tracer, ratio: Array | None = None, training: Array | None = None
) -> Tracer | tuple[Tracer, Tracer]:
    """The operand itself, outside of training."""
    drops = ratio is None or ratio.item() > 0
    trains = training is not None and training.item()
    if call.version < 7:
        drops, trains = call.get("ratio", 0.5) > 0, not call.get("is_test", 0)
    if drops and trains:
        raise call.refuse("dropout in training is not taken: its random numbers are no standard's")
    if call.wants(1):
        return x, hnp.ones(x.shape, BOOL)
    return x
