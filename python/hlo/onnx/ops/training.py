"""Steps of optimizers (the domain ``ai.onnx.preview.training``): inputs and outputs stand in
groups, one tensor of each group for each parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Call, op

DOMAIN: Final = "ai.onnx.preview.training"


def _times(x: Tracer, factor: float) -> Tracer:
    return hnp.multiply(x, number(factor, x))


def _groups(values: Sequence[Tracer], count: int) -> list[tuple[Tracer, ...]]:
    """The tensors of each parameter."""
    each = len(values) // count
    return [tuple(values[k * each + i] for k in range(count)) for i in range(each)]


def _as_groups(rows: Sequence[tuple[Tracer, ...]]) -> tuple[Tracer, ...]:
    return tuple(value for group in zip(*rows, strict=True) for value in group)


def _regularised(call: Call, x: Tracer, gradient: Tracer) -> Tracer:
    return hnp.add(gradient, _times(x, call.get("norm_coefficient", 0.0)))


@op("Adagrad", domain=DOMAIN)
def adagrad(call: Call, rate: Tracer, step: Tracer, *values: Tracer) -> tuple[Tracer, ...]:
    """Steps over the root of the sum of squares so far."""
    decay = call.get("decay_factor", 0.0)
    slower = hnp.add(_times(convert(step, rate.dtype), decay), number(1, rate))
    now = hnp.divide(rate, slower)
    rows: list[tuple[Tracer, ...]] = []
    for x, gradient, squares in _groups(values, 3):
        g = _regularised(call, x, gradient)
        total = hnp.add(squares, hnp.square(g))
        by = hnp.add(lax.sqrt(total), number(call.get("epsilon", 1e-6), x))
        rows.append((hnp.subtract(x, hnp.divide(hnp.multiply(now, g), by)), total))
    return _as_groups(rows)


@op("Adam", domain=DOMAIN)
def adam(call: Call, rate: Tracer, step: Tracer, *values: Tracer) -> tuple[Tracer, ...]:
    """Steps by running moments, which are corrected for their start."""
    alpha, beta = call.get("alpha", 0.9), call.get("beta", 0.999)
    count = convert(step, rate.dtype)
    left = hnp.subtract(number(1, rate), hnp.power(number(beta, rate), count))
    right = hnp.subtract(number(1, rate), hnp.power(number(alpha, rate), count))
    corrected = hnp.divide(hnp.multiply(rate, lax.sqrt(left)), right)
    now = hnp.where(hnp.greater(step, number(0, step)), corrected, rate)
    rows: list[tuple[Tracer, ...]] = []
    for x, gradient, first, second in _groups(values, 4):
        g = _regularised(call, x, gradient)
        mean = hnp.add(_times(first, alpha), _times(g, 1 - alpha))
        square = hnp.add(_times(second, beta), _times(hnp.square(g), 1 - beta))
        by = hnp.add(lax.sqrt(square), number(call.get("epsilon", 1e-6), x))
        moved = hnp.subtract(x, hnp.divide(hnp.multiply(now, mean), by))
        kept = 1 - call.get("norm_coefficient_post", 0.0)
        rows.append((_times(moved, kept), mean, square))
    return _as_groups(rows)


@op("Momentum", domain=DOMAIN)
def momentum(call: Call, rate: Tracer, step: Tracer, *values: Tracer) -> tuple[Tracer, ...]:
    """Steps with momentum, Nesterov's where `mode` says so."""
    alpha, beta = call.get("alpha"), call.get("beta")
    first = hnp.greater(step, number(0, step))
    rows: list[tuple[Tracer, ...]] = []
    for x, gradient, velocity in _groups(values, 3):
        g = _regularised(call, x, gradient)
        weight = hnp.where(first, number(beta, x), number(1, x))
        moving = hnp.add(_times(velocity, alpha), hnp.multiply(weight, g))
        ahead = hnp.add(g, _times(moving, alpha)) if call.get("mode") == "nesterov" else moving
        rows.append((hnp.subtract(x, hnp.multiply(rate, ahead)), moving))
    return _as_groups(rows)
