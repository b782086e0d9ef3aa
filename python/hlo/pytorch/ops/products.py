"""Matrix products, convolutions and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from hlo import lax, nn
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import BOOL, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import conv_transposed, tensor, widened
from hlo.pytorch.ops.registry import aten


@aten("mm", "bmm", "matmul", "mv", "dot", "vdot")
def matmul(
    self: Tracer,
    mat2: Tracer | None = None,
    other: Tracer | None = None,
    vec: Tracer | None = None,
    tensor: Tracer | None = None,
) -> Tracer:
    """NumPy's matrix product."""
    right = next(x for x in (mat2, other, vec, tensor) if x is not None)
    return hnp.matmul(self, right)


def _affine(self: Tracer, product: Tracer, beta: Any, alpha: Any) -> Tracer:
    dtype = product.dtype
    scaled = product if alpha == 1 else hnp.multiply(product, tensor(alpha, dtype))
    if beta == 0:
        return scaled
    return hnp.add(scaled, self if beta == 1 else hnp.multiply(self, tensor(beta, dtype)))


@aten("addmm")
def addmm(self: Tracer, mat1: Tracer, mat2: Tracer, beta: Any = 1, alpha: Any = 1) -> Tracer:
    """beta self + alpha mat1 mat2."""
    return _affine(self, hnp.matmul(mat1, mat2), beta, alpha)


@aten("baddbmm")
def baddbmm(self: Tracer, batch1: Tracer, batch2: Tracer, beta: Any = 1, alpha: Any = 1) -> Tracer:
    """beta self + alpha batch1 batch2, for each of the batch."""
    return _affine(self, hnp.matmul(batch1, batch2), beta, alpha)


@aten("addbmm")
def addbmm(self: Tracer, batch1: Tracer, batch2: Tracer, beta: Any = 1, alpha: Any = 1) -> Tracer:
    """beta self + alpha the sum of batch1 batch2 over the batch."""
    product = hnp.einsum("bij,bjk->ik", batch1, batch2)
    return _affine(self, product, beta, alpha)


@aten("addmv")
def addmv(self: Tracer, mat: Tracer, vec: Tracer, beta: Any = 1, alpha: Any = 1) -> Tracer:
    """beta self + alpha mat vec."""
    return _affine(self, hnp.matmul(mat, vec), beta, alpha)


@aten("linear")
def linear(input: Tracer, weight: Tracer, bias: Tracer | None = None) -> Tracer:
    """input weight^T + bias."""
    contract = ((input.ndim - 1,), (weight.ndim - 1,))
    product = lax.dot_general(input, weight, (contract, ((), ())))
    return product if bias is None else hnp.add(product, bias)


@aten("bilinear")
def bilinear(input1: Tracer, input2: Tracer, weight: Tracer, bias: Tracer | None = None) -> Tracer:
    """x W y, and a bias, for the last dimensions of two inputs and each matrix of the weight."""
    found = hnp.einsum("...i,oij,...j->...o", input1, weight, input2)
    return found if bias is None else hnp.add(found, bias)


@aten("_trilinear")
def trilinear(
    i1: Tracer,
    i2: Tracer,
    i3: Tracer,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tracer:
    """The product of three tensors, with dimensions of extent 1 entered, summed over some."""
    rank = i1.ndim + len(expand1)
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    terms = [
        "".join(c for d, c in enumerate(letters) if d not in expand)
        for expand in (expand1, expand2, expand3)
    ]
    result = "".join(c for d, c in enumerate(letters) if d not in sumdim)
    return hnp.einsum(f"{','.join(terms)}->{result}", i1, i2, i3)


@aten("einsum")
def einsum(equation: str, tensors: Sequence[Tracer], path: Any = None) -> Tracer:
    """A product over named dimensions."""
    return hnp.einsum(equation, *tensors)


@aten("outer", "ger")
def outer(self: Tracer, vec2: Tracer) -> Tracer:
    """All products of the elements of two vectors."""
    return hnp.outer(self, vec2)


@aten("kron")
def kron(self: Tracer, other: Tracer) -> Tracer:
    """The Kronecker product."""
    return hnp.kron(self, other)


@aten("cross", "linalg_cross")
def cross(self: Tracer, other: Tracer, dim: int | None = None) -> Tracer:
    """Cross products along a dimension of extent 3, the last by default."""
    axis = dim if dim is not None else -1
    return hnp.cross(self, other, axis=axis)


# --- convolutions ----------------------------------------------------------------------------


def per_dimension(value: Any, rank: int) -> tuple[int, ...]:
    """A number, or a list of one or `rank` of them, as `rank` numbers."""
    listed = [value] if isinstance(value, int) else list(value)
    return tuple(listed) * rank if len(listed) == 1 else tuple(listed)


@aten("convolution", "_convolution", "convolution_overrideable")
def convolution(
    input: Tracer,
    weight: Tracer,
    bias: Tracer | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    transposed: bool = False,
    output_padding: Any = 0,
    groups: int = 1,
    **_: Any,
) -> Tracer:
    """Cross-correlation of (N, C, ...) with (O, C / groups, ...), or its transposed form with
    (C, O / groups, ...)."""
    if input.ndim == weight.ndim - 1:
        batch = lax.expand_dims(input, (0,))
        found = convolution(
            batch, weight, bias, stride, padding, dilation, transposed, output_padding, groups
        )
        return lax.squeeze(found, (0,))
    rank = weight.ndim - 2
    strides, pads = per_dimension(stride, rank), per_dimension(padding, rank)
    spacing = per_dimension(dilation, rank)
    if transposed:
        extra = per_dimension(output_padding, rank)
        cut = [(p, p) for p in pads]
        found = conv_transposed(input, weight, strides, cut, spacing, extra, groups)
    else:
        found = conv_forward(input, weight, strides, [(p, p) for p in pads], spacing, groups)
    if bias is None:
        return found
    return hnp.add(found, lax.reshape(bias, (1, bias.size) + (1,) * rank))


def conv_forward(
    input: Tracer,
    weight: Tracer,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> Tracer:
    """Cross-correlation of (N, C, ...) with (O, C / groups, ...)."""
    return lax.conv_general_dilated(
        input, weight, strides, pads, rhs_dilation=dilation, feature_group_count=groups
    )


def _same_padding(weight: Tracer, dilation: Sequence[int]) -> list[tuple[int, int]]:
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


@aten("conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv(
    input: Tracer,
    weight: Tracer,
    bias: Tracer | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tracer:
    """Cross-correlation of (N, C, ...) with (O, C / groups, ...)."""
    if not isinstance(padding, str):
        return convolution(input, weight, bias, stride, padding, dilation, groups=groups)
    if padding == "valid":
        return convolution(input, weight, bias, stride, 0, dilation, groups=groups)
    spacing = per_dimension(dilation, weight.ndim - 2)
    pads = [(0, 0, 0)] * (input.ndim - weight.ndim + 2)
    pads += [(low, high, 0) for low, high in _same_padding(weight, spacing)]
    around = lax.pad(input, tensor(0, input.dtype), pads)
    return convolution(around, weight, bias, stride, 0, dilation, groups=groups)


@aten("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    input: Tracer,
    weight: Tracer,
    bias: Tracer | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tracer:
    """Transposed convolution of (N, C, ...) with (C, O / groups, ...)."""
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


# --- attention -------------------------------------------------------------------------------


@aten("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    query: Tracer,
    key: Tracer,
    value: Tracer,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Tracer | None = None,
    scale: float | None = None,
) -> tuple[Tracer, Tracer]:
    """`scaled_dot_product_attention`, with the log-sum-exp of each row's scores; a head of keys may
    serve several of queries."""
    key, value = (_for_each_query_head(x, query) for x in (key, value))
    found = scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)
    scores, _ = _masked(_scores(query, key, scale), attn_mask, is_causal)
    return found, nn.logsumexp(scores, axis=-1)


@aten("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(
    grad_out: Tracer,
    query: Tracer,
    key: Tracer,
    value: Tracer,
    out: Tracer,
    logsumexp: Tracer,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Tracer | None = None,
    scale: float | None = None,
) -> tuple[Tracer, Tracer, Tracer]:
    """Gradients by query, key and value; the weights are computed again from the scores."""
    key_heads, value_heads = key, value
    key, value = (_for_each_query_head(x, query) for x in (key, value))
    q, k, v, g = (widened(x) for x in (query, key, value, grad_out))
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    scores, seen = _masked(_scores(query, key, scale), attn_mask, is_causal)
    weights = nn.softmax(scores, axis=-1)
    if seen is not None:
        weights = hnp.where(seen, weights, tensor(0, weights.dtype))
    by_value = hnp.matmul(hnp.swapaxes(weights, -1, -2), g)
    by_weights = hnp.matmul(g, hnp.swapaxes(v, -1, -2))
    product = lax.mul(by_weights, weights)
    total = hnp.sum(product, axis=-1, keepdims=True)
    by_scores = hnp.multiply(
        lax.mul(hnp.subtract(by_weights, total), weights), tensor(factor, weights.dtype)
    )
    by_query = hnp.matmul(by_scores, k)
    by_key = hnp.matmul(hnp.swapaxes(by_scores, -1, -2), q)
    return (
        convert(by_query, query.dtype),
        convert(_summed_by_head(by_key, key_heads), key.dtype),
        convert(_summed_by_head(by_value, value_heads), value.dtype),
    )


def _for_each_query_head(value: Tracer, query: Tracer) -> Tracer:
    """(..., heads of keys, keys, features) repeated for the query heads that each serves."""
    times = query.shape[-3] // value.shape[-3]
    return value if times == 1 else hnp.repeat(value, times, axis=-3)


def _summed_by_head(gradient: Tracer, value: Tracer) -> Tracer:
    """The gradient by what `_for_each_query_head` repeated."""
    *batch, heads, length, features = value.shape
    if gradient.shape[-3] == heads:
        return gradient
    grouped = lax.reshape(gradient, (*batch, heads, gradient.shape[-3] // heads, length, features))
    return hnp.sum(grouped, axis=-3)


@aten("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tracer,
    key: Tracer,
    value: Tracer,
    attn_mask: Tracer | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tracer:
    """softmax(query key^T scale + mask) value; a row that sees nothing gives zeros.

    Args:
        query: (..., heads, queries, features).
        key: (..., heads, keys, features).
        value: (..., heads, keys, value features).
        attn_mask: bool (True is kept) or a number to add, broadcast to (..., queries, keys).
        dropout_p: must be 0.
        is_causal: whether query i sees only keys up to i.
        scale: 1 / sqrt(features) by default.
        enable_gqa: whether a head of keys serves several of queries.
    """
    if dropout_p:
        raise UnsupportedError(
            "expected attention without dropout, found dropout_p="
            f"{dropout_p}; export the model in eval mode",
            op="aten.scaled_dot_product_attention",
        )
    if enable_gqa:
        key, value = (_for_each_query_head(x, query) for x in (key, value))
    scores, seen = _masked(_scores(query, key, scale), attn_mask, is_causal)
    found = hnp.matmul(nn.softmax(scores, axis=-1), widened(value))
    if seen is not None:
        found = hnp.where(seen, found, tensor(0, found.dtype))
    return convert(found, query.dtype)


def _scores(query: Tracer, key: Tracer, scale: float | None) -> Tracer:
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    return hnp.multiply(hnp.matmul(widened(query), hnp.swapaxes(widened(key), -1, -2)), factor)


def _masked(scores: Tracer, mask: Tracer | None, is_causal: bool) -> tuple[Tracer, Tracer | None]:
    """Scores with the mask applied, and whether each row sees a key where that is in question."""
    lowest = tensor(-np.inf, scores.dtype)
    if is_causal:
        queries, keys = scores.shape[-2:]
        scores = hnp.where(hnp.tri(queries, keys, dtype=BOOL), scores, lowest)
    if mask is None:
        return scores, None
    if mask.dtype == BOOL:
        seen = hnp.any(mask, axis=-1, keepdims=True)
        return hnp.where(mask, scores, lowest), seen
    added = convert(mask, scores.dtype) if is_float(mask.dtype) else mask
    seen = hnp.greater(hnp.amax(added, axis=-1, keepdims=True), -np.inf)
    return hnp.add(scores, added), seen
