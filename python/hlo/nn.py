"""Functions of neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import DEFAULT_FLOAT, FLOAT32, DtypeLike, bit_width, finfo, is_float
from hlo.frontend.operands import convert, normalized_axis, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy.elementwise import inexact

Axis = int | Sequence[int] | None

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@operation
def relu(x: ArrayLike) -> Tracer:
    """max(x, 0)."""
    return hnp.maximum(x, 0)


@operation
def relu6(x: ArrayLike) -> Tracer:
    """min(max(x, 0), 6)."""
    return hnp.minimum(hnp.maximum(x, 0), 6.0)


@operation
def leaky_relu(x: ArrayLike, negative_slope: float = 0.01) -> Tracer:
    """x where it is not negative, else its product with the slope."""
    (operand,) = inexact("leaky_relu", x)
    return hnp.where(lax.ge(operand, 0), operand, lax.mul(operand, negative_slope))


@operation
def sigmoid(x: ArrayLike) -> Tracer:
    """1 / (1 + exp(-x))."""
    return lax.logistic(*inexact("sigmoid", x))


@operation
def log_sigmoid(x: ArrayLike) -> Tracer:
    """log(sigmoid(x)) without underflow."""
    return lax.neg(softplus(lax.neg(*inexact("log_sigmoid", x))))


@operation
def softplus(x: ArrayLike) -> Tracer:
    """log(1 + exp(x)) without overflow."""
    return hnp.logaddexp(x, 0.0)


@operation
def silu(x: ArrayLike) -> Tracer:
    """x * sigmoid(x)."""
    (operand,) = inexact("silu", x)
    return lax.mul(operand, lax.logistic(operand))


swish = silu


@operation
def gelu(x: ArrayLike, approximate: bool = True) -> Tracer:
    """x times the normal distribution's cumulative probability at x; by tanh where approximate."""
    (operand,) = inexact("gelu", x)
    if approximate:
        cubic = lax.mul(lax.integer_pow(operand, 3), 0.044715)
        inner = lax.mul(lax.add(operand, cubic), sqrt(2 / pi))
        return lax.mul(operand, lax.mul(lax.add(lax.tanh(inner), 1.0), 0.5))
    tail = lax.erfc(lax.mul(lax.neg(operand), sqrt(0.5)))
    return lax.mul(lax.mul(operand, 0.5), tail)


@operation
def elu(x: ArrayLike, alpha: float = 1.0) -> Tracer:
    """x where positive, else alpha * (exp(x) - 1)."""
    (operand,) = inexact("elu", x)
    negative = lax.expm1(hnp.where(lax.gt(operand, 0), 0.0, operand))
    return hnp.where(lax.gt(operand, 0), operand, lax.mul(negative, alpha))


@operation
def celu(x: ArrayLike, alpha: float = 1.0) -> Tracer:
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    (operand,) = inexact("celu", x)
    negative = lax.mul(lax.expm1(lax.div(hnp.minimum(operand, 0.0), alpha)), alpha)
    return lax.add(hnp.maximum(operand, 0.0), negative)


@operation
def selu(x: ArrayLike) -> Tracer:
    """`elu` scaled so that it keeps mean 0 and variance 1."""
    return lax.mul(elu(x, _SELU_ALPHA), _SELU_SCALE)


@operation
def hard_tanh(x: ArrayLike) -> Tracer:
    """x limited to [-1, 1]."""
    return hnp.clip(x, -1, 1)


@operation
def hard_sigmoid(x: ArrayLike) -> Tracer:
    """relu6(x + 3) / 6."""
    return hnp.divide(relu6(hnp.add(x, 3.0)), 6.0)


@operation
def glu(x: ArrayLike, axis: int = -1) -> Tracer:
    """The first half along an axis times the sigmoid of the second."""
    first, second = hnp.split(x, 2, axis)
    return lax.mul(first, sigmoid(second))


@operation
def logsumexp(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """log(sum(exp(x))) over axes without overflow."""
    (operand,) = inexact("logsumexp", x)
    peak = hnp.max(operand, axis, keepdims=True, initial=-np.inf)
    peak = hnp.where(hnp.isfinite(peak), peak, 0.0)
    total = hnp.sum(lax.exp(hnp.subtract(operand, peak)), axis, keepdims=keepdims)
    return lax.add(lax.log(total), lax.reshape(peak, total.shape))


@operation
def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike = None) -> Tracer:
    """exp(x) over its sum along axes; 0 where masked."""
    (operand,) = inexact("softmax", x)
    kept = operand if where is None else hnp.where(where, operand, -np.inf)
    peak = hnp.max(kept, axis, keepdims=True, initial=-np.inf)
    unnormalized = lax.exp(hnp.subtract(kept, peak))
    result = hnp.divide(unnormalized, hnp.sum(unnormalized, axis, keepdims=True))
    return result if where is None else hnp.where(where, result, 0.0)


@operation
def log_softmax(x: ArrayLike, axis: Axis = -1) -> Tracer:
    """log(softmax(x)) without underflow."""
    (operand,) = inexact("log_softmax", x)
    shifted = hnp.subtract(operand, hnp.max(operand, axis, keepdims=True, initial=-np.inf))
    total = hnp.sum(lax.exp(shifted), axis, keepdims=True)
    return hnp.subtract(shifted, lax.log(total))


@operation
def standardize(x: ArrayLike, axis: Axis = -1, epsilon: float = 1e-5) -> Tracer:
    """Mean 0 and variance 1 along axes: (x - mean) / sqrt(variance + epsilon)."""
    (operand,) = inexact("standardize", x)
    mean = hnp.mean(operand, axis, keepdims=True)
    scale = lax.rsqrt(lax.add(hnp.var(operand, axis, keepdims=True), epsilon))
    return hnp.multiply(hnp.subtract(operand, mean), scale)


@operation
def one_hot(
    x: ArrayLike, num_classes: int, dtype: DtypeLike = DEFAULT_FLOAT, axis: int = -1
) -> Tracer:
    """A new dimension that is 1 at each element's index and 0 elsewhere."""
    index = to_tracer(x)
    place = normalized_axis("one_hot", axis, index.ndim + 1)
    spread = lax.expand_dims(index, (place,))
    shape = [1] * spread.ndim
    shape[place] = num_classes
    classes = lax.reshape(lax.iota(index.dtype, num_classes), shape)
    return hnp.astype(hnp.equal(spread, classes), dtype)


@operation
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tracer:
    """softmax(query key^T scale) value for each head.

    Args:
        query: (batch, queries, heads, features).
        key: (batch, keys, heads, features).
        value: (batch, keys, heads, features).
        mask: bool, broadcast to (batch, heads, queries, keys); False is left out.
        is_causal: whether query i sees only keys up to i.
        scale: 1 / sqrt(features) by default.
    """
    q, k, v = (to_tracer(x) for x in (query, key, value))
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
        raise shape_error(
            "dot_product_attention",
            f"expected rank 4, found {q.aval}, {k.aval} and {v.aval}",
        )
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    wide = FLOAT32 if is_float(q.dtype) and bit_width(q.dtype) < 32 else q.dtype
    scores = hnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=wide)
    scores = lax.mul(scores, factor)
    lowest = float(finfo(wide).min) * 0.7
    if is_causal:
        causal = hnp.tri(q.shape[1], k.shape[1], dtype=bool)
        mask = causal if mask is None else hnp.logical_and(mask, causal)
    if mask is not None:
        scores = hnp.where(mask, scores, lowest)
    weights = convert(softmax(scores, -1), v.dtype)
    return hnp.einsum("bhqk,bkhd->bqhd", weights, v)
