"""What operators of PyTorch and of ONNX share: their names and defaults differ, this does not."""

from hlo.model_ops.convolution import conv_transposed
from hlo.model_ops.grids import CUBIC, grid_sampled, grid_sampled_gradients
from hlo.model_ops.interpolation import (
    Taps,
    cubic_taps,
    linear_taps,
    normalised_taps,
    smooth_taps,
    weighted,
)
from hlo.model_ops.values import INT64, tensor, widened
from hlo.model_ops.windows import Windows

__all__ = [
    "CUBIC",
    "INT64",
    "Taps",
    "Windows",
    "conv_transposed",
    "cubic_taps",
    "grid_sampled",
    "grid_sampled_gradients",
    "linear_taps",
    "normalised_taps",
    "smooth_taps",
    "tensor",
    "weighted",
    "widened",
]
