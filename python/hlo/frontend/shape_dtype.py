"""`ShapeDtype`: what is known of an array before it has a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hlo.frontend.dtypes import DtypeLike, canonical_dtype, dtype_name
from hlo.frontend.pytree import register_leaf


@register_leaf
@dataclass(frozen=True, init=False)
class ShapeDtype:
    """Shape and element type of an array, without its contents.

    Attributes:
        shape: extents, one a dimension.
        dtype: NumPy dtype (of ml_dtypes where NumPy itself has none).
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, shape: Sequence[int], dtype: DtypeLike) -> None:
        object.__setattr__(self, "shape", tuple(int(extent) for extent in shape))
        object.__setattr__(self, "dtype", canonical_dtype(dtype))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def with_dtype(self, dtype: DtypeLike) -> ShapeDtype:
        """The same shape with another element type."""
        return ShapeDtype(self.shape, dtype)

    def with_shape(self, shape: Sequence[int]) -> ShapeDtype:
        """The same element type with another shape."""
        return ShapeDtype(shape, self.dtype)

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"
