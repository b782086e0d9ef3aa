"""Uniformly quantized element types, and the arithmetic that they stand for."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo import ir
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of

_BODY = re.compile(
    r"^!quant\.uniform<(?P<storage>[iu]\d+)(<(?P<low>-?\d+):(?P<high>-?\d+)>)?:(?P<expressed>\w+)"
    r"(:(?P<axis>\d+))?, ?(?P<parameters>.*)>$"
)


@dataclass(frozen=True)
class Quantization:
    """A real number r is stored as round(r / scale) + zero_point, within [low, high].

    Attributes:
        storage, expressed: names of element types; signed storage is signless.
        scales, zero_points: one, or one for each index of `axis`.
    """

    storage: str
    expressed: str
    low: int
    high: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None


@functools.lru_cache(maxsize=512)
def parse_quantization(text: str) -> Quantization | None:
    """The quantization of an element type's assembly; None for other types and for quantization by
    blocks."""
    match = _BODY.match(text)
    if match is None:
        return None
    unsigned = match["storage"].startswith("u")
    bits = int(match["storage"][1:])
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    parameters = match["parameters"].strip().strip("{}").split(",")
    pairs = [item.strip().split(":") for item in parameters]
    return Quantization(
        storage=f"ui{bits}" if unsigned else f"i{bits}",
        expressed=match["expressed"],
        low=low if match["low"] is None else int(match["low"]),
        high=high if match["high"] is None else int(match["high"]),
        scales=tuple(float(pair[0]) for pair in pairs),
        zero_points=tuple(int(pair[1]) if len(pair) > 1 else 0 for pair in pairs),
        axis=None if match["axis"] is None else int(match["axis"]),
    )


def dequantize(builder: Builder, stored: ir.Value, quantization: Quantization) -> ir.Value:
    """(stored - zero_point) * scale, rounded once to the expressed type."""
    wide = builder.parse_type("f32" if _is_exact_in_f32(quantization) else "f64")
    shape = shape_of(stored)
    scale, zero_point = _parameters(builder, quantization, shape, wide)
    centered = builder.subtract(builder.convert(stored, wide), zero_point)
    real = builder.multiply(centered, scale)
    return builder.convert(real, builder.parse_type(quantization.expressed))


def _is_exact_in_f32(quantization: Quantization) -> bool:
    """Whether a product of f32 is the only rounding: differences of 16 bits have none."""
    return (
        quantization.expressed == "f32"
        and quantization.high - quantization.low < 1 << 16
        and all(low >= -(1 << 16) and low <= 1 << 16 for low in quantization.zero_points)
        and all(float(np.float32(scale)) == scale for scale in quantization.scales)
    )


def quantize(builder: Builder, real: ir.Value, quantization: Quantization) -> ir.Value:
    """round_nearest_even(real / scale) + zero_point, clamped to the storage's range; NaN takes the
    zero point.
    """
    wide = builder.parse_type("f64")
    shape = shape_of(real)
    scale, zero_point = _parameters(builder, quantization, shape, wide)
    steps = builder.divide(builder.convert(real, wide), scale)
    steps = builder.unary("round_nearest_even", steps)
    is_number = builder.compare(steps, steps, "EQ")
    steps = builder.select(is_number, steps, builder.constant(0.0, wide, shape))
    low = builder.constant(float(quantization.low), wide, shape)
    high = builder.constant(float(quantization.high), wide, shape)
    whole = builder.binary("maximum", low, builder.add(steps, zero_point))
    bounded = builder.binary("minimum", whole, high)
    return builder.convert(bounded, builder.parse_type(quantization.storage))


def _parameters(
    builder: Builder, quantization: Quantization, shape: Sequence[int], wide: ir.Type
) -> tuple[ir.Value, ir.Value]:
    scales, zero_points = (
        _spread(builder, np.asarray(values, np.float64), quantization.axis, shape, wide)
        for values in (quantization.scales, quantization.zero_points)
    )
    return scales, zero_points


def _spread(
    builder: Builder,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    axis: int | None,
    shape: Sequence[int],
    wide: ir.Type,
) -> ir.Value:
    if axis is None:
        return builder.constant(float(values[0]), wide, shape)
    array = values.astype(ir.types.to_dtype(wide))
    return builder.broadcast_in_dim(builder.constant_array(array, wide), shape, [axis])
