"""Matrix products, convolutions and their quantised forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import iinfo, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import conv_transposed
from hlo.onnx.model import dtype_of
from hlo.onnx.ops.elementwise import converted, number
from hlo.onnx.ops.registry import Call, op

INT32: Final = np.dtype(np.int32)


@op("MatMul")
def matmul(call: Call, a: Tracer, b: Tracer) -> Tracer:
    """NumPy's matrix product."""
    return hnp.matmul(a, b)


@op("Gemm")
def gemm(call: Call, a: Tracer, b: Tracer, c: Tracer | None = None) -> Tracer:
    """alpha a b + beta c, with either matrix transposed."""
    contract = ((0 if call.get("transA", 0) else 1,), (1 if call.get("transB", 0) else 0,))
    found = lax.dot_general(a, b, (contract, ((), ())))
    alpha, beta = call.get("alpha", 1.0), call.get("beta", 1.0)
    if alpha != 1:
        found = hnp.multiply(found, number(alpha, found))
    if c is None or not beta:
        return found
    return hnp.add(found, c if beta == 1 else hnp.multiply(c, number(beta, c)))


@op("Einsum")
def einsum(call: Call, *values: Tracer) -> Tracer:
    """A product over named dimensions."""
    return hnp.einsum(call.get("equation").replace(" ", ""), *values)


@op("MatMulInteger")
def matmul_integer(
    call: Call, a: Tracer, b: Tracer, a_zero: Tracer | None = None, b_zero: Tracer | None = None
) -> Tracer:
    """The product of 8-bit matrices around their zero points, in 32 bits."""
    return hnp.matmul(_centred(a, a_zero, rows=True), _centred(b, b_zero))


def _centred(x: Tracer, zero: Tracer | None, *, rows: bool = False) -> Tracer:
    wide = convert(x, INT32)
    if zero is None:
        return wide
    around = convert(zero, INT32)
    if rows and around.ndim == 1 and x.ndim > 1:
        around = hnp.expand_dims(around, -1)
    return hnp.subtract(wide, around)


@op("QLinearMatMul")
def qlinear_matmul(
    call: Call, a: Tracer, a_scale: Tracer, a_zero: Tracer, b: Tracer, b_scale: Tracer,
    b_zero: Tracer, y_scale: Tracer, y_zero: Tracer,
) -> Tracer:  # fmt: skip
    """The product of quantised matrices, quantised."""
    product = hnp.matmul(_centred(a, a_zero, rows=True), _centred(b, b_zero))
    if a_scale.ndim == 1 and a.ndim > 1:
        a_scale = hnp.expand_dims(a_scale, -1)
    return requantized(product, hnp.multiply(a_scale, b_scale), y_scale, y_zero)


def requantized(x: Tracer, scale: Tracer, y_scale: Tracer, y_zero: Tracer) -> Tracer:
    """32-bit sums of a scale in the scale and type of the result, rounded half to even."""
    wide = np.dtype(np.float32)
    factor = hnp.divide(convert(scale, wide), convert(y_scale, wide))
    moved = hnp.add(lax.round_even(hnp.multiply(convert(x, wide), factor)), convert(y_zero, wide))
    return saturated(moved, y_zero.dtype)


def saturated(x: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """Whole floats as integers within their type's range."""
    low, high = iinfo(dtype).min, iinfo(dtype).max
    return convert(hnp.clip(x, number(low, x), number(high, x)), dtype)


# --- convolutions -----------------------------------------------------------------------------


def window_pads(
    call: Call,
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[tuple[int, int]]:
    """Zeros ahead of and behind each dimension, given or by `auto_pad`."""
    rank = len(extents)
    mode = call.get("auto_pad", "NOTSET")
    if mode == "VALID":
        return [(0, 0)] * rank
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        pads: list[tuple[int, int]] = []
        for extent, k, s, d in zip(extents, kernel, strides, dilations, strict=True):
            total = max((-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent, 0)
            small = total // 2
            pads.append((small, total - small) if mode == "SAME_UPPER" else (total - small, small))
        return pads
    flat = call.get("pads") or [0] * (2 * rank)
    return [(flat[i], flat[i + rank]) for i in range(rank)]


@op("Conv")
def convolution(call: Call, x: Tracer, w: Tracer, bias: Tracer | None = None) -> Tracer:
    """Cross-correlation of (N, C, ...) with (O, C / groups, ...)."""
    return _with_bias(_correlated(call, x, w), bias)


def _correlated(call: Call, x: Tracer, w: Tracer) -> Tracer:
    rank = w.ndim - 2
    strides = call.get("strides") or [1] * rank
    dilations = call.get("dilations") or [1] * rank
    pads = window_pads(call, x.shape[2:], w.shape[2:], strides, dilations)
    return lax.conv_general_dilated(
        x, w, strides, pads, rhs_dilation=dilations, feature_group_count=call.get("group", 1)
    )


def _with_bias(found: Tracer, bias: Tracer | None) -> Tracer:
    if bias is None:
        return found
    return hnp.add(found, lax.reshape(bias, (1, bias.size) + (1,) * (found.ndim - 2)))


@op("ConvInteger")
def convolution_integer(
    call: Call, x: Tracer, w: Tracer, x_zero: Tracer | None = None, w_zero: Tracer | None = None
) -> Tracer:
    """The convolution of 8-bit tensors around their zero points, in 32 bits."""
    return _correlated(call, _centred(x, x_zero), _centred_window(w, w_zero))


def _centred_window(w: Tracer, zero: Tracer | None) -> Tracer:
    if zero is not None and zero.ndim == 1:
        zero = lax.reshape(zero, (zero.size,) + (1,) * (w.ndim - 1))
    return _centred(w, zero)


@op("QLinearConv")
def qlinear_convolution(
    call: Call, x: Tracer, x_scale: Tracer, x_zero: Tracer, w: Tracer, w_scale: Tracer,
    w_zero: Tracer, y_scale: Tracer, y_zero: Tracer, bias: Tracer | None = None,
) -> Tracer:  # fmt: skip
    """The convolution of quantised tensors, quantised; the bias has the scale of the product."""
    found = _correlated(call, _centred(x, x_zero), _centred_window(w, w_zero))
    if w_scale.ndim == 1:
        w_scale = lax.reshape(w_scale, (1, w_scale.size) + (1,) * (found.ndim - 2))
    return requantized(_with_bias(found, bias), hnp.multiply(x_scale, w_scale), y_scale, y_zero)


@op("ConvTranspose")
def convolution_transposed(call: Call, x: Tracer, w: Tracer, bias: Tracer | None = None) -> Tracer:
    """The gradient of a convolution by its input: (N, C, ...) with (C, O / groups, ...)."""
    rank = w.ndim - 2
    strides = call.get("strides") or [1] * rank
    dilations = call.get("dilations") or [1] * rank
    extra = call.get("output_padding") or [0] * rank
    reach = [d * (k - 1) for d, k in zip(dilations, w.shape[2:], strict=True)]
    pads = _transposed_pads(call, x.shape[2:], strides, extra, reach)
    groups = call.get("group", 1)
    found = conv_transposed(x, w, strides, pads, dilations, extra, groups)
    return _with_bias(found, bias)


def _transposed_pads(
    call: Call,
    extents: Sequence[int],
    strides: Sequence[int],
    extra: Sequence[int],
    reach: Sequence[int],
) -> list[tuple[int, int]]:
    """What is cut off at either end: given, or what makes the result of a wanted shape."""
    rank = len(extents)
    wanted = call.get("output_shape")
    mode = call.get("auto_pad", "NOTSET")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [e * s for e, s in zip(extents, strides, strict=True)]
    if wanted is None:
        flat = call.get("pads") or [0] * (2 * rank)
        return [(flat[i], flat[i + rank]) for i in range(rank)]
    pads: list[tuple[int, int]] = []
    for e, s, more, r, size in zip(extents, strides, extra, reach, wanted[-rank:], strict=True):
        total = s * (e - 1) + more + r + 1 - size
        small = total // 2
        pads.append((small, total - small) if mode == "SAME_UPPER" else (total - small, small))
    return pads


# --- quantisation -----------------------------------------------------------------------------


def _along(scale: Tracer, x: Tracer, axis: int, block: int) -> Tracer:
    """A scale or zero point so that it broadcasts with the tensor: one, one a slice of an axis, or
    one a block along it."""
    if scale.size == 1 and scale.ndim <= 1:
        return lax.reshape(scale, ())
    if block:
        repeated = hnp.repeat(scale, block, axis=axis)
        return lax.slice_in_dim(repeated, 0, x.shape[axis], axis=axis)
    line = [1] * x.ndim
    line[axis] = scale.size
    return lax.reshape(scale, line)


@op("QuantizeLinear")
def quantize(call: Call, x: Tracer, scale: Tracer, zero: Tracer | None = None) -> Tracer:
    """round(x / scale) + zero within the type's range; rounds half to even."""
    axis, block = call.get("axis", 1), call.get("block_size", 0)
    dtype = _quantized_dtype(call, zero)
    wide = convert(x, np.dtype(np.float32)) if x.dtype.itemsize < 4 or not is_float(x.dtype) else x
    by = convert(_along(scale, x, axis, block), wide.dtype)
    scaled = hnp.divide(wide, by)
    if is_float(dtype):
        return converted(scaled, dtype, saturate=bool(call.get("saturate", 1)))
    found = lax.round_even(scaled)
    if zero is not None:
        found = hnp.add(found, convert(_along(zero, x, axis, block), found.dtype))
    return saturated(found, dtype)


def _quantized_dtype(call: Call, zero: Tracer | None) -> np.dtype[Any]:
    if zero is not None:
        return zero.dtype
    kind = call.get("output_dtype", 0)
    return dtype_of(kind) if kind else np.dtype(np.uint8)


@op("DequantizeLinear")
def dequantize(call: Call, x: Tracer, scale: Tracer, zero: Tracer | None = None) -> Tracer:
    """(x - zero) scale, in the scale's type."""
    axis, block = call.get("axis", 1), call.get("block_size", 0)
    wide = convert(x, INT32) if not is_float(x.dtype) else convert(x, np.dtype(np.float32))
    if zero is not None:
        wide = hnp.subtract(wide, convert(_along(zero, x, axis, block), wide.dtype))
    by = _along(scale, x, axis, block)
    product = hnp.multiply(convert(wide, np.dtype(np.float32)), convert(by, np.dtype(np.float32)))
    return convert(product, scale.dtype)
