"""NumPy's reductions and running totals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod as product_of
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import (
    BFLOAT16,
    BOOL,
    DEFAULT_INT,
    FLOAT16,
    FLOAT32,
    UINT32,
    DtypeLike,
    bit_width,
    canonical_dtype,
    inexact_dtype,
    is_complex,
    is_float,
    is_integer,
    kind,
    real_dtype,
)
from hlo.frontend.operands import (
    broadcast_to,
    convert,
    normalized_axes,
    normalized_axis,
    shape_error,
    shape_of,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy import elementwise as ew
from hlo.numpy.manipulation import ravel

Axis = int | Sequence[int] | None


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Sums of bool and narrow integers are at least int32 or uint32."""
    if kind(dtype) == "b" or (is_integer(dtype) and bit_width(dtype) < 32):
        return UINT32 if kind(dtype) == "u" else DEFAULT_INT
    return dtype


def _reduced(
    op: str,
    x: Tracer,
    function: Callable[[Tracer, Sequence[int]], Tracer],
    axis: Axis,
    keepdims: bool,
) -> Tracer:
    axes = normalized_axes(op, axis, x.ndim)
    result = function(x, axes)
    if not keepdims:
        return result
    return lax.reshape(result, [1 if i in axes else e for i, e in enumerate(x.shape)])


def _masked(x: Tracer, where: ArrayLike, identity: Any) -> Tracer:
    return x if where is None else ew.where(where, x, x.dtype.type(identity))


def _accumulated(
    op: str,
    x: Tracer,
    function: Callable[[Tracer, Sequence[int]], Tracer],
    axis: Axis,
    keepdims: bool,
) -> Tracer:
    """A sum or product; of 8- and 16-bit floats in float32."""
    if is_float(x.dtype) and bit_width(x.dtype) < 32:
        return convert(_reduced(op, convert(x, FLOAT32), function, axis, keepdims), x.dtype)
    return _reduced(op, x, function, axis, keepdims)


@operation
def sum(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DtypeLike = None,
    keepdims: bool = False,
    initial: ArrayLike = None,
    where: ArrayLike = None,
) -> Tracer:
    """Sum over axes, all by default; bool and narrow integers are summed as (u)int32."""
    operand = to_tracer(x)
    target = _sum_dtype(operand.dtype) if dtype is None else canonical_dtype(dtype)
    operand = _masked(convert(operand, target), where, 0)
    total = _accumulated("sum", operand, lax.reduce_sum, axis, keepdims)
    return total if initial is None else ew.add(total, convert(to_tracer(initial), target))


@operation
def prod(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DtypeLike = None,
    keepdims: bool = False,
    initial: ArrayLike = None,
    where: ArrayLike = None,
) -> Tracer:
    """Product over axes, all by default; bool and narrow integers multiply as (u)int32."""
    operand = to_tracer(x)
    target = _sum_dtype(operand.dtype) if dtype is None else canonical_dtype(dtype)
    operand = _masked(convert(operand, target), where, 1)
    total = _accumulated("prod", operand, lax.reduce_prod, axis, keepdims)
    return total if initial is None else ew.multiply(total, convert(to_tracer(initial), target))


def _extreme(
    op: str,
    x: ArrayLike,
    function: Callable[[Tracer, Sequence[int]], Tracer],
    axis: Axis,
    keepdims: bool,
    initial: ArrayLike,
) -> Tracer:
    operand = to_tracer(x)
    axes = normalized_axes(op, axis, operand.ndim)
    if initial is None and 0 in [operand.shape[a] for a in axes]:
        raise shape_error(op, f"no element over axes {axes} of {operand.aval} and no initial value")
    return _reduced(op, operand, function, axis, keepdims)


@operation
def max(
    x: ArrayLike, axis: Axis = None, keepdims: bool = False, initial: ArrayLike = None
) -> Tracer:
    """Greatest element over axes, all by default; NaN if one is."""
    greatest = _extreme("max", x, lax.reduce_max, axis, keepdims, initial)
    return greatest if initial is None else ew.maximum(greatest, initial)


@operation
def min(
    x: ArrayLike, axis: Axis = None, keepdims: bool = False, initial: ArrayLike = None
) -> Tracer:
    """Least element over axes, all by default; NaN if one is."""
    least = _extreme("min", x, lax.reduce_min, axis, keepdims, initial)
    return least if initial is None else ew.minimum(least, initial)


amax = max
amin = min


@operation
def ptp(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Greatest minus least element over axes."""
    return ew.subtract(max(x, axis, keepdims), min(x, axis, keepdims))


@operation
def all(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Whether all elements over axes are not zero."""
    return _reduced("all", ew.as_bool(x), lax.reduce_and, axis, keepdims)


@operation
def any(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Whether any element over axes is not zero."""
    return _reduced("any", ew.as_bool(x), lax.reduce_or, axis, keepdims)


@operation
def count_nonzero(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Number of elements that are not zero, as int32."""
    return sum(ew.as_bool(x), axis, np.int32, keepdims)


def _count(shape: Sequence[int], axes: Sequence[int]) -> int:
    return product_of(shape[a] for a in axes)


def _wide(x: Tracer) -> Tracer:
    """16-bit floats as float32, in which means of them are computed."""
    return convert(x, FLOAT32) if x.dtype in (FLOAT16, BFLOAT16) else x


@operation
def mean(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DtypeLike = None,
    keepdims: bool = False,
    where: ArrayLike = None,
) -> Tracer:
    """Mean over axes, all by default; of integers as float32."""
    operand = to_tracer(x)
    target = inexact_dtype(operand.dtype) if dtype is None else canonical_dtype(dtype)
    operand = _wide(convert(operand, target))
    axes = normalized_axes("mean", axis, operand.ndim)
    total = sum(operand, axes, keepdims=keepdims, where=where)
    if where is None:
        result = lax.div(total, float(_count(operand.shape, axes)))
    else:
        chosen = broadcast_to(ew.as_bool(where), BOOL, operand.shape)
        result = ew.divide(total, sum(chosen, axes, operand.dtype, keepdims))
    return convert(result, target)


@operation
def average(
    x: ArrayLike, axis: Axis = None, weights: ArrayLike = None, keepdims: bool = False
) -> Tracer:
    """Mean weighted by an array of the same shape, or along one axis."""
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    operand, factors = ew.inexact("average", x)[0], to_tracer(weights)
    if factors.shape != operand.shape:
        if not isinstance(axis, int) or factors.ndim != 1:
            raise shape_error(
                "average", f"weights {factors.aval} do not fit {operand.aval} along axis {axis}"
            )
        place = normalized_axis("average", axis, operand.ndim)
        column = [1] * operand.ndim
        column[place] = factors.size
        factors = broadcast_to(lax.reshape(factors, column), factors.dtype, operand.shape)
    weighted = sum(ew.multiply(operand, factors), axis, keepdims=keepdims)
    return ew.divide(weighted, sum(factors, axis, keepdims=keepdims))


@operation
def var(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DtypeLike = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tracer:
    """Variance over axes, all by default: mean squared distance from the mean."""
    operand = to_tracer(x)
    target = inexact_dtype(operand.dtype) if dtype is None else canonical_dtype(dtype)
    operand = _wide(convert(operand, target))
    axes = normalized_axes("var", axis, operand.ndim)
    centered = ew.subtract(operand, mean(operand, axes, keepdims=True))
    if is_complex(operand.dtype):
        squares = ew.add(ew.square(lax.real(centered)), ew.square(lax.imag(centered)))
    else:
        squares = ew.square(centered)
    divisor = float(_count(operand.shape, axes) - ddof)
    total = sum(squares, axes, keepdims=keepdims)
    spread = lax.div(total, divisor if divisor > 0 else float("nan"))
    return convert(spread, real_dtype(target))


@operation
def std(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DtypeLike = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tracer:
    """Standard deviation over axes: the square root of the variance."""
    return lax.sqrt(var(x, axis, dtype, ddof, keepdims))


@operation
def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Tracer:
    """Index of the first greatest element, as int32; of the flat array by default."""
    return _arg(lax.argmax, x, axis, keepdims)


@operation
def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Tracer:
    """Index of the first least element, as int32; of the flat array by default."""
    return _arg(lax.argmin, x, axis, keepdims)


def _arg(function: Any, x: ArrayLike, axis: int | None, keepdims: bool) -> Tracer:
    operand = to_tracer(x)
    if axis is None:
        found = function(ravel(operand), 0)
        return lax.reshape(found, (1,) * operand.ndim) if keepdims else found
    place = normalized_axis("argmax/argmin", axis, operand.ndim)
    found = function(operand, place)
    return lax.expand_dims(found, (place,)) if keepdims else found


def _cumulative(
    function: Any, x: ArrayLike, axis: int | None, dtype: DtypeLike, promote: bool
) -> Tracer:
    operand = to_tracer(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    if dtype is not None:
        operand = convert(operand, canonical_dtype(dtype))
    elif promote:
        operand = convert(operand, _sum_dtype(operand.dtype))
    return function(operand, axis)


@operation
def cumsum(x: ArrayLike, axis: int | None = None, dtype: DtypeLike = None) -> Tracer:
    """Partial sums along an axis; of the flat array by default."""
    return _cumulative(lax.cumsum, x, axis, dtype, True)


@operation
def cumprod(x: ArrayLike, axis: int | None = None, dtype: DtypeLike = None) -> Tracer:
    """Partial products along an axis; of the flat array by default."""
    return _cumulative(lax.cumprod, x, axis, dtype, True)


@operation
def diff(x: ArrayLike, n: int = 1, axis: int = -1) -> Tracer:
    """Differences of neighbours along an axis, n times."""
    operand = to_tracer(x)
    place = normalized_axis("diff", axis, operand.ndim)
    for _ in range(n):
        last = operand.shape[place] - 1
        if last < 0:
            return operand
        high = lax.slice_in_dim(operand, 1, None, 1, place)
        low = lax.slice_in_dim(operand, 0, last, 1, place)
        operand = ew.not_equal(high, low) if operand.dtype == BOOL else lax.sub(high, low)
    return operand


def _nan_free(x: ArrayLike, identity: float) -> tuple[Tracer, Tracer]:
    operand = ew.inexact("nan reduction", x)[0]
    missing = ew.isnan(operand)
    return ew.where(missing, identity, operand), missing


@operation
def nansum(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Sum over axes of what is not NaN."""
    return sum(_nan_free(x, 0.0)[0], axis, keepdims=keepdims)


@operation
def nanprod(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Product over axes of what is not NaN."""
    return prod(_nan_free(x, 1.0)[0], axis, keepdims=keepdims)


@operation
def nanmean(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Mean over axes of what is not NaN."""
    known, missing = _nan_free(x, 0.0)
    count = sum(lax.bitwise_not(missing), axis, known.dtype, keepdims)
    return ew.divide(sum(known, axis, keepdims=keepdims), count)


@operation
def nanvar(x: ArrayLike, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Tracer:
    """Variance over axes of what is not NaN."""
    known, missing = _nan_free(x, 0.0)
    count = sum(lax.bitwise_not(missing), axis, known.dtype, keepdims=True)
    mean_ = ew.divide(sum(known, axis, keepdims=True), count)
    centered = ew.where(missing, 0.0, ew.subtract(known, mean_))
    squares = sum(ew.square(lax.abs(centered)), axis, keepdims=keepdims)
    left = lax.sub(lax.reshape(count, squares.shape), float(ddof))
    return ew.where(lax.gt(left, 0), ew.divide(squares, left), float("nan"))


@operation
def nanstd(x: ArrayLike, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Tracer:
    """Standard deviation over axes of what is not NaN."""
    return lax.sqrt(nanvar(x, axis, ddof, keepdims))


@operation
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tracer:
    """Whether all elements are close (`isclose`)."""
    return all(ew.isclose(a, b, rtol, atol, equal_nan))


@operation
def array_equal(a: ArrayLike, b: ArrayLike) -> Tracer:
    """Whether two arrays have one shape and equal elements."""
    if shape_of(a) != shape_of(b):
        return to_tracer(np.bool_(False))
    return all(ew.equal(a, b))


@operation
def nanmax(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Greatest over axes of what is not NaN; NaN where all are."""
    known, missing = _nan_free(x, float("-inf"))
    return ew.where(all(missing, axis, keepdims), float("nan"), max(known, axis, keepdims))


@operation
def nanmin(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """Least over axes of what is not NaN; NaN where all are."""
    known, missing = _nan_free(x, float("inf"))
    return ew.where(all(missing, axis, keepdims), float("nan"), min(known, axis, keepdims))
