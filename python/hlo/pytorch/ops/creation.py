"""Tensors from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import BOOL, FLOAT32, is_integer
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor
from hlo.pytorch.ops.registry import aten

Dtype = np.dtype[Any] | None


def _number_type(*values: Any) -> np.dtype[Any]:
    if all(isinstance(value, bool) for value in values):
        return BOOL
    if any(isinstance(value, complex) for value in values):
        return np.dtype(np.complex64)
    return FLOAT32 if any(isinstance(value, float) for value in values) else INT64


def _filled(size: Sequence[int], value: Any, dtype: np.dtype[Any]) -> Tracer:
    return hnp.broadcast_to(tensor(value, dtype), tuple(size))


@aten("full")
def full(size: Sequence[int], fill_value: Any, dtype: Dtype = None, **_: Any) -> Tracer:
    """One number, repeated."""
    return _filled(size, fill_value, dtype or _number_type(fill_value))


@aten("zeros", "empty.memory_format", "empty_strided", "empty_permuted")
def zeros(size: Sequence[int], dtype: Dtype = None, **_: Any) -> Tracer:
    """Zeros; also for tensors whose values are undefined."""
    return _filled(size, 0, dtype or FLOAT32)


@aten("ones")
def ones(size: Sequence[int], dtype: Dtype = None, **_: Any) -> Tracer:
    """Ones."""
    return _filled(size, 1, dtype or FLOAT32)


@aten("zeros_like", "empty_like", "new_empty", "new_zeros", "new_empty_strided")
def zeros_like(
    self: Tracer, size: Sequence[int] | None = None, dtype: Dtype = None, **_: Any
) -> Tracer:
    """Zeros in the shape of a tensor, or of its type in another shape."""
    return _filled(self.shape if size is None else size, 0, dtype or self.dtype)


@aten("ones_like", "new_ones")
def ones_like(
    self: Tracer, size: Sequence[int] | None = None, dtype: Dtype = None, **_: Any
) -> Tracer:
    """Ones in the shape of a tensor, or of its type in another shape."""
    return _filled(self.shape if size is None else size, 1, dtype or self.dtype)


@aten("full_like", "new_full", "fill.Scalar", "fill.Tensor")
def full_like(
    self: Tracer,
    fill_value: Any = None,
    size: Sequence[int] | None = None,
    value: Any = None,
    dtype: Dtype = None,
    **_: Any,
) -> Tracer:
    """One number in the shape of a tensor, or of its type in another shape."""
    number = fill_value if fill_value is not None else value
    return _filled(self.shape if size is None else size, number, dtype or self.dtype)


@aten("scalar_tensor")
def scalar_tensor(s: Any, dtype: Dtype = None, **_: Any) -> Tracer:
    """A number as a tensor."""
    return tensor(s, dtype or FLOAT32)


@aten("arange", "arange.start", "arange.start_step")
def arange(end: Any, start: Any = 0, step: Any = 1, dtype: Dtype = None, **_: Any) -> Tracer:
    """start, start + step, ... before end."""
    dtype = dtype or _number_type(start, end, step)
    count = max(ceil((end - start) / step), 0)
    if is_integer(dtype):
        # Their number comes of the numbers as they are, their values of whole ones.
        line = lax.iota(dtype, count)
        return hnp.add(hnp.multiply(line, tensor(int(step), dtype)), tensor(int(start), dtype))
    values = (start + step * np.arange(count, dtype=np.float64)).astype(dtype)
    return hnp.asarray(values)


@aten("linspace")
def linspace(start: Any, end: Any, steps: int, dtype: Dtype = None, **_: Any) -> Tracer:
    """So many numbers from start to end."""
    return hnp.asarray(np.linspace(start, end, steps).astype(dtype or FLOAT32))


@aten("eye", "eye.m")
def eye(n: int, m: int | None = None, dtype: Dtype = None, **_: Any) -> Tracer:
    """Ones on the diagonal."""
    return hnp.eye(n, n if m is None else m, dtype=dtype or FLOAT32)


def _triangle(row: int, col: int, offset: int, dtype: Dtype, *, lower: bool) -> Tracer:
    places = np.tril_indices(row, offset, col) if lower else np.triu_indices(row, offset, col)
    return hnp.asarray(np.stack(places).astype(dtype or INT64))


@aten("tril_indices")
def tril_indices(row: int, col: int, offset: int = 0, dtype: Dtype = None, **_: Any) -> Tracer:
    """Rows and columns of the lower triangle."""
    return _triangle(row, col, offset, dtype, lower=True)


@aten("triu_indices")
def triu_indices(row: int, col: int, offset: int = 0, dtype: Dtype = None, **_: Any) -> Tracer:
    """Rows and columns of the upper triangle."""
    return _triangle(row, col, offset, dtype, lower=False)
