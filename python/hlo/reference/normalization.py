"""batch_norm_inference, batch_norm_training and batch_norm_grad, computed in wide precision and
rounded once.
"""

from __future__ import annotations

import numpy as np

from hlo.reference.element_types import Array, round_to, widen


def _along_feature(values: Array, rank: int, feature_index: int) -> Array:
    shape = [1] * rank
    shape[feature_index] = values.shape[0]
    return widen(values).reshape(shape)


def _other_axes(rank: int, feature_index: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d != feature_index)


def batch_norm_inference(
    operand: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> Array:
    """(operand - mean) / sqrt(variance + epsilon) * scale + offset, per feature."""
    scale_, offset_, mean_, variance_ = (
        _along_feature(x, operand.ndim, feature_index) for x in (scale, offset, mean, variance)
    )
    with np.errstate(all="ignore"):
        normal = (widen(operand) - mean_) / np.sqrt(variance_ + epsilon)
        return round_to(normal * scale_ + offset_, operand.dtype)


def batch_norm_training(
    operand: Array, scale: Array, offset: Array, *, epsilon: float, feature_index: int
) -> tuple[Array, Array, Array]:
    """The normalised operand, and each feature's mean and (biased) variance over the other
    dimensions.
    """
    axes = _other_axes(operand.ndim, feature_index)
    wide = widen(operand)
    count = operand.size / max(operand.shape[feature_index], 1)
    with np.errstate(all="ignore"):
        mean = np.sum(wide, axis=axes, keepdims=True) / np.float64(count)
        variance = np.sum(np.square(wide - mean), axis=axes, keepdims=True) / np.float64(count)
        scale_ = _along_feature(scale, operand.ndim, feature_index)
        offset_ = _along_feature(offset, operand.ndim, feature_index)
        output = (wide - mean) / np.sqrt(variance + epsilon) * scale_ + offset_
    return (
        round_to(output, operand.dtype),
        round_to(mean.reshape(-1), operand.dtype),
        round_to(variance.reshape(-1), operand.dtype),
    )


def batch_norm_grad(
    operand: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    grad_output: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> tuple[Array, Array, Array]:
    """Gradients of batch_norm_training with respect to operand, scale and offset."""
    axes = _other_axes(operand.ndim, feature_index)
    wide, gradient = widen(operand), widen(grad_output)
    scale_, mean_, variance_ = (
        _along_feature(x, operand.ndim, feature_index) for x in (scale, mean, variance)
    )
    count = np.float64(operand.size / max(operand.shape[feature_index], 1))
    with np.errstate(all="ignore"):
        centered = wide - mean_
        deviation = np.sqrt(variance_ + epsilon)
        gradient_sum = np.sum(gradient, axis=axes, keepdims=True)
        weighted_sum = np.sum(gradient * centered, axis=axes, keepdims=True)
        correction = centered * weighted_sum / (variance_ + epsilon)
        grad_operand = scale_ / deviation / count * (count * gradient - gradient_sum - correction)
        grad_scale = weighted_sum / deviation
    return (
        round_to(grad_operand, operand.dtype),
        round_to(grad_scale.reshape(-1), operand.dtype),
        round_to(gradient_sum.reshape(-1), operand.dtype),
    )
