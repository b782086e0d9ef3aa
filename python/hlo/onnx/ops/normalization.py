"""Normalisations."""

from __future__ import annotations

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import widened
from hlo.onnx.model import dtype_of
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Call, op


def _of_channel(value: Tracer, rank: int) -> Tracer:
    """(C,) as (C, 1, ...), to broadcast over (N, C, ...)."""
    return lax.reshape(value, (value.size,) + (1,) * (rank - 2))


def _scaled(x: Tracer, mean: Tracer, variance: Tracer, epsilon: float) -> Tracer:
    spread = lax.rsqrt(hnp.add(variance, number(epsilon, variance)))
    return hnp.multiply(hnp.subtract(x, mean), spread)


def _moments(x: Tracer, axes: tuple[int, ...]) -> tuple[Tracer, Tracer]:
    mean = hnp.mean(x, axis=axes, keepdims=True)
    return mean, hnp.mean(hnp.square(hnp.subtract(x, mean)), axis=axes, keepdims=True)


@op("BatchNormalization")
def batch_normalization(
    call: Call, x: Tracer, scale: Tracer, bias: Tracer, mean: Tracer, variance: Tracer
) -> Tracer | tuple[Tracer, Tracer, Tracer]:
    """By the running moments of each channel, or in training by the batch's, which move them."""
    if not call.get("spatial", 1):
        raise call.refuse(
            "expected moments of each channel, found some of each place (spatial = 0)"
        )
    wide, epsilon = widened(x), call.get("epsilon", 1e-5)
    factors = [convert(_of_channel(widened(v), x.ndim), wide.dtype) for v in (scale, bias)]
    training = call.get("training_mode", 0) if call.version >= 14 else call.wants(1)
    if not training:
        kept = [convert(_of_channel(widened(v), x.ndim), wide.dtype) for v in (mean, variance)]
        found = _scaled(wide, kept[0], kept[1], epsilon)
        return convert(hnp.add(hnp.multiply(found, factors[0]), factors[1]), x.dtype)
    axes = (0, *range(2, x.ndim))
    now = _moments(wide, axes)
    found = _scaled(wide, now[0], now[1], epsilon)
    result = convert(hnp.add(hnp.multiply(found, factors[0]), factors[1]), x.dtype)
    kept_part = call.get("momentum", 0.9)
    moved: list[Tracer] = []
    for old, new in ((mean, now[0]), (variance, now[1])):
        flat = convert(lax.reshape(new, (old.size,)), old.dtype)
        moved.append(
            hnp.add(
                hnp.multiply(old, number(kept_part, old)),
                hnp.multiply(flat, number(1 - kept_part, old)),
            )
        )
    return result, moved[0], moved[1]


@op("InstanceNormalization")
def instance_normalization(call: Call, x: Tracer, scale: Tracer, bias: Tracer) -> Tracer:
    """By the moments of each channel of each sample."""
    wide = widened(x)
    mean, variance = _moments(wide, tuple(range(2, x.ndim)))
    found = _scaled(wide, mean, variance, call.get("epsilon", 1e-5))
    by, add = (convert(_of_channel(value, x.ndim), wide.dtype) for value in (scale, bias))
    return convert(hnp.add(hnp.multiply(found, by), add), x.dtype)


@op("LayerNormalization")
def layer_normalization(
    call: Call, x: Tracer, scale: Tracer, bias: Tracer | None = None
) -> tuple[Tracer, Tracer, Tracer]:
    """By the moments of all from an axis on, with these and the inverse deviations."""
    axes = tuple(range(call.get("axis", -1) % x.ndim, x.ndim))
    wide = convert(x, dtype_of(call.get("stash_type", 1)))
    mean, variance = _moments(wide, axes)
    spread = lax.rsqrt(hnp.add(variance, number(call.get("epsilon", 1e-5), wide)))
    found = convert(hnp.multiply(hnp.subtract(wide, mean), spread), x.dtype)
    found = hnp.multiply(found, scale)
    return found if bias is None else hnp.add(found, bias), mean, spread


@op("RMSNormalization")
def rms_normalization(call: Call, x: Tracer, scale: Tracer) -> Tracer:
    """By the root of the mean square of all from an axis on."""
    axes = tuple(range(call.get("axis", -1) % x.ndim, x.ndim))
    wide = convert(x, dtype_of(call.get("stash_type", 1)))
    square = hnp.mean(hnp.square(wide), axis=axes, keepdims=True)
    spread = lax.rsqrt(hnp.add(square, number(call.get("epsilon", 1e-5), wide)))
    return hnp.multiply(convert(hnp.multiply(wide, spread), x.dtype), scale)


@op("GroupNormalization")
def group_normalization(call: Call, x: Tracer, scale: Tracer, bias: Tracer) -> Tracer:
    """By the moments of groups of channels; before version 21 a factor is one of a group."""
    groups = call.get("num_groups")
    wide = convert(x, dtype_of(call.get("stash_type", 1)))
    parts = lax.reshape(wide, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    mean, variance = _moments(parts, tuple(range(2, parts.ndim)))
    found = _scaled(parts, mean, variance, call.get("epsilon", 1e-5))
    if scale.size == groups and call.version < 21:
        each = (groups,) + (1,) * (parts.ndim - 2)
    else:
        each = (groups, scale.size // groups) + (1,) * (parts.ndim - 3)
    by, add = (convert(lax.reshape(value, each), wide.dtype) for value in (scale, bias))
    return convert(lax.reshape(hnp.add(hnp.multiply(found, by), add), x.shape), x.dtype)


@op("MeanVarianceNormalization")
def mean_variance_normalization(call: Call, x: Tracer) -> Tracer:
    """By the moments over some axes; 1e-9 is added to the deviation."""
    axes = tuple(call.get("axes") or (0, 2, 3))
    mean = hnp.mean(x, axis=axes, keepdims=True)
    square = hnp.mean(hnp.square(x), axis=axes, keepdims=True)
    deviation = lax.sqrt(hnp.subtract(square, hnp.square(mean)))
    return hnp.divide(hnp.subtract(x, mean), hnp.add(deviation, number(1e-9, x)))


@op("LRN")
def local_response_normalization(call: Call, x: Tracer) -> Tracer:
    """Over a power of the sum of squares of neighbouring channels."""
    size = call.get("size")
    low = (size - 1) // 2
    rank = x.ndim
    total = lax.reduce_window(
        hnp.square(x), number(0, x), lax.add,
        window_dimensions=(1, size) + (1,) * (rank - 2),
        padding=[(0, 0), (low, size - 1 - low), *[(0, 0)] * (rank - 2)],
    )  # fmt: skip
    alpha, beta, bias = call.get("alpha", 1e-4), call.get("beta", 0.75), call.get("bias", 1.0)
    base = hnp.add(hnp.multiply(total, number(alpha / size, x)), number(bias, x))
    return hnp.divide(x, hnp.power(base, number(beta, x)))


@op("Det")
def determinant(call: Call, x: Tracer) -> Tracer:
    """The determinant of each matrix."""
    return hnp.linalg.det(x)
