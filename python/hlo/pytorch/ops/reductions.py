"""Sums, extrema, norms, softmax and running totals."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

import numpy as np

from hlo import lax, nn
from hlo import numpy as hnp
from hlo.frontend.dtypes import BOOL, is_complex, is_float, is_integer
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor, widened
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.ops.views import dims_of
from hlo.pytorch.types import inexact, together

Dim = Any
"""A dimension, a list of them, or None for all."""


def _summed_type(self: Tracer, dtype: np.dtype[Any] | None) -> Tracer:
    """The operand as it is summed: in `dtype`; integers and booleans otherwise in int64."""
    if dtype is not None:
        return convert(self, dtype)
    whole = self.dtype == BOOL or is_integer(self.dtype)
    return convert(self, INT64) if whole else self


def reduced(function: Callable[..., Tracer], x: Tracer, dim: Dim, keepdim: bool = False) -> Tracer:
    """One of NumPy's reductions, 16-bit floats computed in float32 and rounded once."""
    axes = dims_of(dim, x.ndim)
    return convert(function(widened(x), axis=axes, keepdims=keepdim), x.dtype)


@aten("sum", "sum.dim_IntList")
def sum_(
    self: Tracer, dim: Dim = None, keepdim: bool = False, dtype: np.dtype[Any] | None = None
) -> Tracer:
    """Sum; of integers in int64."""
    return reduced(hnp.sum, _summed_type(self, dtype), dim, keepdim)


@aten("mean", "mean.dim")
def mean(
    self: Tracer, dim: Dim = None, keepdim: bool = False, dtype: np.dtype[Any] | None = None
) -> Tracer:
    """Sum over the number of elements."""
    return reduced(hnp.mean, _summed_type(self, dtype), dim, keepdim)


@aten("prod", "prod.dim_int")
def product(
    self: Tracer, dim: Dim = None, keepdim: bool = False, dtype: np.dtype[Any] | None = None
) -> Tracer:
    """Product; of integers in int64."""
    return reduced(hnp.prod, _summed_type(self, dtype), dim, keepdim)


@aten("amax", "max")
def amax(self: Tracer, dim: Dim = None, keepdim: bool = False) -> Tracer:
    """The largest; NaN if there is one."""
    return hnp.amax(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)


@aten("amin", "min")
def amin(self: Tracer, dim: Dim = None, keepdim: bool = False) -> Tracer:
    """The smallest; NaN if there is one."""
    return hnp.amin(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)


@aten("aminmax")
def aminmax(self: Tracer, dim: int | None = None, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The smallest and the largest."""
    return amin(self, dim, keepdim), amax(self, dim, keepdim)


def _extreme(self: Tracer, dim: int, keepdim: bool, arg: Any, value: Any) -> tuple[Tracer, Tracer]:
    if self.ndim == 0:
        return self, tensor(0, INT64)
    place = dim % self.ndim
    found = value(self, axis=place, keepdims=keepdim)
    index = convert(arg(self, axis=place, keepdims=keepdim), INT64)
    return found, index


@aten("max.dim")
def max_dim(self: Tracer, dim: int, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The largest along a dimension, and its first place."""
    return _extreme(self, dim, keepdim, hnp.argmax, hnp.amax)


@aten("min.dim")
def min_dim(self: Tracer, dim: int, keepdim: bool = False) -> tuple[Tracer, Tracer]:
    """The smallest along a dimension, and its first place."""
    return _extreme(self, dim, keepdim, hnp.argmin, hnp.amin)


def _arg(self: Tracer, dim: int | None, keepdim: bool, function: Any) -> Tracer:
    if dim is None or self.ndim == 0:
        flat = lax.reshape(self, (self.size,))
        found = convert(function(flat, axis=0), INT64)
        return lax.reshape(found, (1,) * self.ndim) if keepdim else found
    return convert(function(self, axis=dim % self.ndim, keepdims=keepdim), INT64)


@aten("argmax")
def argmax(self: Tracer, dim: int | None = None, keepdim: bool = False) -> Tracer:
    """The first place of the largest, along a dimension or in row-major order."""
    return _arg(self, dim, keepdim, hnp.argmax)


@aten("argmin")
def argmin(self: Tracer, dim: int | None = None, keepdim: bool = False) -> Tracer:
    """The first place of the smallest, along a dimension or in row-major order."""
    return _arg(self, dim, keepdim, hnp.argmin)


@aten("any", "any.dim", "any.dims")
def any_(self: Tracer, dim: Dim = None, keepdim: bool = False) -> Tracer:
    """Whether one is not zero."""
    found = hnp.any(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)
    return convert(found, self.dtype) if self.dtype == np.uint8 else found


@aten("all", "all.dim", "all.dims")
def all_(self: Tracer, dim: Dim = None, keepdim: bool = False) -> Tracer:
    """Whether none is zero."""
    found = hnp.all(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)
    return convert(found, self.dtype) if self.dtype == np.uint8 else found


@aten("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(self: Tracer, dim: Dim = None) -> Tracer:
    """How many are not zero."""
    ones = convert(hnp.not_equal(self, tensor(0, self.dtype)), INT64)
    return hnp.sum(ones, axis=dims_of(dim, self.ndim))


# --- moments and norms -----------------------------------------------------------------------


def moments(x: Tracer, dim: Dim, correction: float) -> tuple[Tracer, Tracer]:
    """Variance and mean, dimensions kept; in two passes over `x`, as accurate as PyTorch's."""
    axes = dims_of(dim, x.ndim)
    count = prod(x.shape[axis] for axis in axes)
    center = hnp.mean(x, axis=axes, keepdims=True)
    apart = hnp.subtract(x, center)
    square = (
        lax.mul(apart, apart)
        if not is_complex(x.dtype)
        else hnp.real(lax.mul(apart, hnp.conj(apart)))
    )
    total = hnp.sum(square, axis=axes, keepdims=True)
    left = max(count - correction, 0)
    return hnp.divide(total, tensor(left, total.dtype)), center


def _correction(unbiased: bool, correction: float | None) -> float:
    return float(unbiased) if correction is None else correction


@aten("var_mean", "var_mean.dim", "var_mean.correction")
def var_mean(
    self: Tracer,
    dim: Dim = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: float | None = None,
) -> tuple[Tracer, Tracer]:
    """Variance over n - correction, and mean."""
    found = moments(widened(self), dim, _correction(unbiased, correction))
    axes = dims_of(dim, self.ndim)
    variance, center = (x if keepdim else lax.squeeze(x, axes) for x in found)
    return convert(variance, _real(self)), convert(center, self.dtype)


def _real(x: Tracer) -> np.dtype[Any]:
    return np.dtype(f"float{x.dtype.itemsize * 4}") if is_complex(x.dtype) else x.dtype


@aten("var", "var.dim", "var.correction")
def var(
    self: Tracer,
    dim: Dim = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: float | None = None,
) -> Tracer:
    """Variance over n - correction, which is 1 unless told otherwise."""
    return var_mean(self, dim, unbiased, keepdim, correction)[0]


@aten("std", "std.dim", "std.correction")
def std(
    self: Tracer,
    dim: Dim = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: float | None = None,
) -> Tracer:
    """The root of the variance."""
    variance, _ = moments(widened(self), dim, _correction(unbiased, correction))
    root = lax.sqrt(variance)
    return convert(root if keepdim else lax.squeeze(root, dims_of(dim, self.ndim)), _real(self))


@aten(
    "linalg_vector_norm",
    "norm.Scalar",
    "norm.ScalarOpt_dim",
    "norm.ScalarOpt_dim_dtype",
    "norm.ScalarOpt_dtype",
)
def vector_norm(
    self: Tracer,
    ord: float = 2,
    dim: Dim = None,
    keepdim: bool = False,
    dtype: np.dtype[Any] | None = None,
    p: float | None = None,
) -> Tracer:
    """The root of order `ord` of the sum of powers; counts for 0, extrema for infinities."""
    order = ord if p is None else p
    given = self if dtype is None else convert(self, dtype)
    x = hnp.abs(widened(inexact(given)))
    axes = dims_of(dim, self.ndim)
    if order == inf:
        found = hnp.amax(x, axis=axes, keepdims=keepdim)
    elif order == -inf:
        found = hnp.amin(x, axis=axes, keepdims=keepdim)
    elif order == 0:
        found = hnp.sum(convert(hnp.not_equal(x, 0), x.dtype), axis=axes, keepdims=keepdim)
    elif order == 1:
        found = hnp.sum(x, axis=axes, keepdims=keepdim)
    elif order == 2:
        found = lax.sqrt(hnp.sum(lax.mul(x, x), axis=axes, keepdims=keepdim))
    else:
        total = hnp.sum(hnp.power(x, order), axis=axes, keepdims=keepdim)
        found = hnp.power(total, 1 / order)
    return convert(found, _real(inexact(given)))


@aten("dist")
def dist(self: Tracer, other: Tracer, p: float = 2) -> Tracer:
    """The norm of the difference."""
    return vector_norm(hnp.subtract(*together(self, other)), p)


@aten("logsumexp", "special_logsumexp")
def logsumexp(self: Tracer, dim: Dim, keepdim: bool = False) -> Tracer:
    """log(sum(exp(x))), without overflow."""
    x = inexact(self)
    found = nn.logsumexp(widened(x), axis=dims_of(dim, self.ndim), keepdims=keepdim)
    return convert(found, x.dtype)


# --- softmax ---------------------------------------------------------------------------------


def _along(function: Callable[..., Tracer], self: Tracer, dim: int, dtype: Any) -> Tracer:
    given = self if dtype is None else convert(self, dtype)
    x = inexact(given)
    return (
        convert(function(widened(x), axis=dim), x.dtype) if x.ndim else function_of_one(function, x)
    )


def function_of_one(function: Callable[..., Tracer], x: Tracer) -> Tracer:
    """A function along a dimension of a tensor that has none."""
    return lax.reshape(function(lax.reshape(x, (1,)), axis=0), ())


@aten("_safe_softmax")
def safe_softmax(self: Tracer, dim: int, dtype: np.dtype[Any] | None = None) -> Tracer:
    """`softmax`, 0 where all elements are minus infinity."""
    found = softmax(self, dim, dtype=dtype)
    if self.ndim == 0:
        return found
    seen = hnp.greater(hnp.amax(self, axis=dim % self.ndim, keepdims=True), -inf)
    return hnp.where(seen, found, tensor(0, found.dtype))


@aten("softmax.int", "_softmax", "special_softmax")
def softmax(
    self: Tracer,
    dim: int,
    half_to_float: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> Tracer:
    """exp(x) over its sum along a dimension."""
    wide = np.dtype(np.float32) if half_to_float else dtype
    return _along(nn.softmax, self, dim, wide)


@aten("log_softmax.int", "_log_softmax", "special_log_softmax")
def log_softmax(
    self: Tracer,
    dim: int,
    half_to_float: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> Tracer:
    """x - logsumexp(x) along a dimension."""
    wide = np.dtype(np.float32) if half_to_float else dtype
    return _along(nn.log_softmax, self, dim, wide)


# --- running totals --------------------------------------------------------------------------


def _running(function: Callable[..., Tracer], x: Tracer, dim: int) -> Tracer:
    if x.ndim == 0:
        return x
    return convert(function(widened(x), axis=dim % x.ndim), x.dtype)


@aten("cumsum")
def cumsum(self: Tracer, dim: int, dtype: np.dtype[Any] | None = None) -> Tracer:
    """Running sums; of integers in int64."""
    return _running(lax.cumsum, _summed_type(self, dtype), dim)


@aten("cumprod")
def cumprod(self: Tracer, dim: int, dtype: np.dtype[Any] | None = None) -> Tracer:
    """Running products; of integers in int64."""
    return _running(lax.cumprod, _summed_type(self, dtype), dim)


@aten("logcumsumexp")
def logcumsumexp(self: Tracer, dim: int) -> Tracer:
    """Running log-sum-exps."""
    if self.ndim == 0:
        return self
    x = widened(self)
    found = lax.associative_scan(hnp.logaddexp, x, axis=dim % x.ndim)
    return convert(found, self.dtype)


def _running_extreme(self: Tracer, dim: int, better: Any) -> tuple[Tracer, Tracer]:
    if self.ndim == 0:
        return self, tensor(0, INT64)
    place = dim % self.ndim
    index = lax.broadcasted_iota(INT64, self.shape, place)

    def combine(a: tuple[Tracer, Tracer], b: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
        take = better(b[0], a[0])
        if is_float(self.dtype):
            take = hnp.logical_or(
                hnp.isnan(b[0]), hnp.logical_and(take, hnp.logical_not(hnp.isnan(a[0])))
            )
        return hnp.where(take, b[0], a[0]), hnp.where(take, b[1], a[1])

    return lax.associative_scan(combine, (self, index), axis=place)


@aten("cummax")
def cummax(self: Tracer, dim: int) -> tuple[Tracer, Tracer]:
    """Running maxima and their last places."""
    return _running_extreme(self, dim, hnp.greater_equal)


@aten("cummin")
def cummin(self: Tracer, dim: int) -> tuple[Tracer, Tracer]:
    """Running minima and their last places."""
    return _running_extreme(self, dim, hnp.less_equal)
