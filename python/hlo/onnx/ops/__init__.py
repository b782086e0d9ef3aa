"""The operators: a function on traced arrays for each."""

from hlo.onnx.ops import (
    control,
    elementwise,
    indexing,
    normalization,
    pooling,
    products,
    recurrent,
    reductions,
    resampling,
    shapes,
    signals,
    training,
)
from hlo.onnx.ops.registry import OPERATORS

__all__ = [
    "OPERATORS",
    "control",
    "elementwise",
    "indexing",
    "normalization",
    "pooling",
    "products",
    "recurrent",
    "reductions",
    "resampling",
    "shapes",
    "signals",
    "training",
]
