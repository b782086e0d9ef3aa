"""Normalisations over features, batches and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import finfo
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import widened
from hlo.pytorch.ops.reductions import moments
from hlo.pytorch.ops.registry import aten

Affine = Tracer | None
"""A weight or a bias, which may be missing."""


def _affine(x: Tracer, weight: Affine, bias: Affine) -> Tracer:
    if weight is not None:
        x = lax.mul(x, hnp.broadcast_to(widened(weight), x.shape))
    return x if bias is None else lax.add(x, hnp.broadcast_to(widened(bias), x.shape))


def _standardized(x: Tracer, axes: Sequence[int], eps: float) -> tuple[Tracer, Tracer, Tracer]:
    """(x - mean) / sqrt(var + eps), the mean and the inverse deviation."""
    variance, center = moments(x, list(axes), 0)
    scale = lax.rsqrt(hnp.add(variance, eps))
    return hnp.multiply(hnp.subtract(x, center), scale), center, scale


@aten("native_layer_norm")
def native_layer_norm(
    input: Tracer, normalized_shape: Sequence[int], weight: Affine, bias: Affine, eps: float
) -> tuple[Tracer, Tracer, Tracer]:
    """Layer normalisation, with the mean and the inverse deviation of each row."""
    axes = range(input.ndim - len(normalized_shape), input.ndim)
    x, center, scale = _standardized(widened(input), axes, eps)
    return convert(_affine(x, weight, bias), input.dtype), center, scale


@aten("layer_norm")
def layer_norm(
    input: Tracer,
    normalized_shape: Sequence[int],
    weight: Affine = None,
    bias: Affine = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tracer:
    """The last dimensions brought to mean 0 and variance 1."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def _rms(input: Tracer, rank: int, weight: Affine, eps: float | None) -> tuple[Tracer, Tracer]:
    x = widened(input)
    small = float(finfo(x.dtype).eps) if eps is None else eps
    axes = tuple(range(x.ndim - rank, x.ndim))
    scale = lax.rsqrt(hnp.add(hnp.mean(lax.mul(x, x), axis=axes, keepdims=True), small))
    return convert(_affine(hnp.multiply(x, scale), weight, None), input.dtype), scale


@aten("rms_norm")
def rms_norm(
    input: Tracer, normalized_shape: Sequence[int], weight: Affine = None, eps: float | None = None
) -> Tracer:
    """The last dimensions brought to a mean square of 1."""
    return _rms(input, len(normalized_shape), weight, eps)[0]


@aten("_fused_rms_norm")
def fused_rms_norm(
    input: Tracer, normalized_shape: Sequence[int], weight: Affine, eps: float | None
) -> tuple[Tracer, Tracer]:
    """`rms_norm` with the inverse root mean square of each row."""
    return _rms(input, len(normalized_shape), weight, eps)


def _by_channel(x: Tracer, values: Tracer) -> Tracer:
    """A vector of one value a channel, shaped to meet (N, C, ...)."""
    return lax.reshape(widened(values), (1, values.size) + (1,) * (x.ndim - 2))


def _channel_affine(x: Tracer, weight: Affine, bias: Affine) -> Tracer:
    shaped = (None if v is None else _by_channel(x, v) for v in (weight, bias))
    return _affine(x, *shaped)


@aten("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    input: Tracer,
    weight: Affine,
    bias: Affine,
    running_mean: Tracer,
    running_var: Tracer,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Tracer, Tracer, Tracer]:
    """Channels normalised by stored moments."""
    x = widened(input)
    scale = lax.rsqrt(hnp.add(_by_channel(x, running_var), eps))
    centered = hnp.subtract(x, _by_channel(x, running_mean))
    found = _channel_affine(hnp.multiply(centered, scale), weight, bias)
    none = hnp.zeros((0,), dtype=x.dtype)
    return convert(found, input.dtype), none, none


def _batch_moments(
    input: Tracer, weight: Affine, bias: Affine, eps: float
) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """Result, mean, inverse deviation and variance of each channel over the batch."""
    x = widened(input)
    axes = [0, *range(2, x.ndim)]
    variance, center = moments(x, axes, 0)
    scale = lax.rsqrt(hnp.add(variance, eps))
    standard = hnp.multiply(hnp.subtract(x, center), scale)
    found = convert(_channel_affine(standard, weight, bias), input.dtype)
    channels = (input.shape[1],)
    mean, inverse, var = (lax.reshape(v, channels) for v in (center, scale, variance))
    return found, mean, inverse, var


@aten("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(
    input: Tracer, weight: Affine, bias: Affine, training: bool, momentum: float, eps: float
) -> tuple[Tracer, Tracer, Tracer]:
    """Channels normalised by the moments of the batch."""
    return _batch_moments(input, weight, bias, eps)[:3]


@aten("_native_batch_norm_legit_functional")
def batch_norm_training(
    input: Tracer,
    weight: Affine,
    bias: Affine,
    running_mean: Tracer,
    running_var: Tracer,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tracer, ...]:
    """Channels normalised by the moments of the batch, and the running moments moved to them."""
    if not training:
        found = batch_norm_inference(input, weight, bias, running_mean, running_var, momentum, eps)
        return *found, running_mean, running_var
    found, mean, inverse, variance = _batch_moments(input, weight, bias, eps)
    count = input.size // input.shape[1]
    unbiased = hnp.multiply(variance, count / max(count - 1, 1))

    def moved(old: Tracer, new: Tracer) -> Tracer:
        kept = hnp.multiply(old, 1 - momentum)
        return hnp.add(kept, convert(hnp.multiply(new, momentum), old.dtype))

    return found, mean, inverse, moved(running_mean, mean), moved(running_var, unbiased)


@aten("batch_norm")
def batch_norm(
    input: Tracer,
    weight: Affine,
    bias: Affine,
    running_mean: Tracer | None,
    running_var: Tracer | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tracer:
    """Channels normalised by stored moments, or by the batch's where there are none."""
    if running_mean is None or running_var is None:
        return _batch_moments(input, weight, bias, eps)[0]
    if training:
        raise UnsupportedError(
            "batch normalisation in training mode changes its running moments in place: run "
            "`exported.run_decompositions()` before saving, or export the model in eval mode",
            op="aten.batch_norm",
        )
    return batch_norm_inference(input, weight, bias, running_mean, running_var, momentum, eps)[0]


@aten("native_group_norm")
def native_group_norm(
    input: Tracer,
    weight: Affine,
    bias: Affine,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tracer, Tracer, Tracer]:
    """Groups of channels normalised, with the mean and inverse deviation of each."""
    x = lax.reshape(widened(input), (N, group, C // group * HxW))
    standard, center, scale = _standardized(x, [2], eps)
    found = _channel_affine(lax.reshape(standard, input.shape), weight, bias)
    shape = (N, group)
    return convert(found, input.dtype), lax.reshape(center, shape), lax.reshape(scale, shape)


@aten("group_norm")
def group_norm(
    input: Tracer,
    num_groups: int,
    weight: Affine = None,
    bias: Affine = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tracer:
    """Groups of channels brought to mean 0 and variance 1."""
    n, c, *rest = input.shape
    size = int(np.prod(rest))
    return native_group_norm(input, weight, bias, n, c, size, num_groups, eps)[0]


@aten("instance_norm")
def instance_norm(
    input: Tracer,
    weight: Affine,
    bias: Affine,
    running_mean: Tracer | None,
    running_var: Tracer | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
    **_: Any,
) -> Tracer:
    """Each channel of each sample brought to mean 0 and variance 1."""
    if not use_input_stats and running_mean is not None and running_var is not None:
        return batch_norm_inference(input, weight, bias, running_mean, running_var, momentum, eps)[
            0
        ]
    x, _center, _scale = _standardized(widened(input), range(2, input.ndim), eps)
    return convert(_channel_affine(x, weight, bias), input.dtype)


@aten("_weight_norm_interface_backward")
def weight_norm_backward(
    grad_w: Tracer, saved_v: Tracer, saved_g: Tracer, saved_norms: Tracer, dim: int
) -> tuple[Tracer, Tracer]:
    """Gradients of g * v / |v|, the norm taken over all dimensions but one, by v and by g."""
    kept = dim % saved_v.ndim
    others = tuple(d for d in range(saved_v.ndim) if d != kept)
    norms = hnp.reshape(saved_norms, saved_g.shape)
    along = hnp.sum(hnp.multiply(grad_w, saved_v), axis=others, keepdims=True)
    across = hnp.subtract(
        grad_w, hnp.multiply(saved_v, hnp.divide(along, hnp.multiply(norms, norms)))
    )
    by_v = hnp.multiply(hnp.divide(saved_g, norms), across)
    return by_v, hnp.divide(along, norms)
