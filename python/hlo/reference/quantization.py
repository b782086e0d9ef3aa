"""uniform_quantize and uniform_dequantize, per tensor, per axis and per block of axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hlo.reference.element_types import Array, DType, round_to, storage_type, widen


@dataclass(frozen=True)
class UniformQuantization:
    """The parameters of a `!quant.uniform` type.

    `scales` and `zero_points` have one element, or one for each index of `axis`.
    """

    storage: DType
    expressed: DType
    storage_min: int
    storage_max: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    def parameters(self, rank: int) -> tuple[Array, Array]:
        """Scales and zero points as float64, shaped to broadcast against a tensor of `rank`."""
        shape = [1] * rank
        if self.axis is not None:
            shape[self.axis] = len(self.scales)
        scales = np.asarray(self.scales, np.float64).reshape(shape)
        return scales, np.asarray(self.zero_points, np.float64).reshape(shape)


def uniform_dequantize(operand: Array, *, quantization: UniformQuantization) -> Array:
    """(stored - zero_point) * scale in the expressed type."""
    scales, zero_points = quantization.parameters(operand.ndim)
    stored = operand.astype(storage_type(operand.dtype)).astype(np.float64)
    return round_to((stored - zero_points) * scales, quantization.expressed)


def uniform_quantize(operand: Array, *, quantization: UniformQuantization) -> Array:
    """round_nearest_even(operand / scale) + zero_point, clamped to the storage range.

    NaN takes the zero point.
    """
    scales, zero_points = quantization.parameters(operand.ndim)
    with np.errstate(all="ignore"):
        steps = np.rint(widen(operand) / scales)
    whole = np.where(np.isnan(steps), 0, steps) + zero_points
    bounded = np.clip(whole, quantization.storage_min, quantization.storage_max)
    storage = quantization.storage
    return bounded.astype(storage_type(storage)).astype(storage)
