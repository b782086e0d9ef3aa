"""The operators: for each overload of ATen a function on traced arrays, by the schema's names."""

from hlo.pytorch.ops import (
    control_flow,
    creation,
    gradients,
    grouped_products,
    indexing,
    linalg,
    normalization,
    pointwise,
    pooling,
    products,
    random,
    reductions,
    resampling,
    sorting,
    spectral,
    views,
)
from hlo.pytorch.ops.registry import OPERATORS

__all__ = [
    "OPERATORS",
    "control_flow",
    "creation",
    "gradients",
    "grouped_products",
    "indexing",
    "linalg",
    "normalization",
    "pointwise",
    "pooling",
    "products",
    "random",
    "reductions",
    "resampling",
    "sorting",
    "spectral",
    "views",
]
