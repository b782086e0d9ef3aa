"""Polynomials, interpolation, differences, integrals and convolutions of sampled functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import inexact_dtype, promote_types
from hlo.frontend.operands import (
    convert,
    dtype_of,
    normalized_axis,
    shape_error,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy import elementwise as ew
from hlo.numpy.reductions import diff
from hlo.numpy.reductions import sum as sum_
from hlo.numpy.sorting import searchsorted


def _floats(*xs: ArrayLike) -> list[Tracer]:
    dtype = inexact_dtype(promote_types(map(dtype_of, xs)))
    return [convert(to_tracer(x, dtype), dtype) for x in xs]


@operation
def polyval(p: ArrayLike, x: ArrayLike) -> Tracer:
    """The polynomial with coefficients p, highest power first, at x (Horner's scheme)."""
    coefficients, place = to_tracer(p), to_tracer(x)
    dtype = promote_types((coefficients.dtype, place.dtype))
    coefficients, place = convert(coefficients, dtype), convert(place, dtype)
    value = lax.full(place.shape, 0, coefficients.dtype)
    for i in range(coefficients.shape[0]):
        value = ew.add(ew.multiply(value, place), coefficients[i])
    return value


@operation
def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike) -> Tracer:
    """Linear interpolation of points (xp, fp), xp ascending; constant beyond both ends."""
    place, knots, values = _floats(x, xp, fp)
    if knots.ndim != 1 or knots.shape != values.shape or not knots.size:
        raise shape_error(
            "interp", f"expected points as vectors, found {knots.aval}, {values.aval}"
        )
    last = knots.shape[0] - 1
    upper = ew.clip(searchsorted(knots, place, side="right"), 1, max(last, 1))
    upper = lax.min(upper, last)
    lower = lax.max(lax.sub(upper, 1), 0)
    x0, x1, y0, y1 = knots[lower], knots[upper], values[lower], values[upper]
    width = lax.sub(x1, x0)
    flat = lax.eq(width, 0)
    fraction = lax.div(lax.sub(place, x0), lax.select(flat, lax.full_like(width, 1), width))
    inside = lax.select(flat, y0, lax.add(y0, lax.mul(fraction, lax.sub(y1, y0))))
    inside = ew.where(ew.less(place, knots[0]), values[0], inside)
    return ew.where(ew.greater(place, knots[last]), values[last], inside)


@operation
def trapezoid(y: ArrayLike, x: ArrayLike = None, dx: float = 1.0, axis: int = -1) -> Tracer:
    """Integral along an axis by trapezoids, over a vector of places or steps of dx."""
    (values,) = ew.inexact("trapezoid", y)
    place = normalized_axis("trapezoid", axis, values.ndim)
    low = lax.slice_in_dim(values, 0, -1, 1, place)
    high = lax.slice_in_dim(values, 1, None, 1, place)
    means = lax.mul(lax.add(low, high), 0.5)
    if x is None:
        return sum_(lax.mul(means, dx), place)
    steps = diff(x)
    column = [1] * means.ndim
    column[place] = steps.shape[-1]
    return sum_(ew.multiply(means, lax.reshape(steps, column)), place)


@operation
def gradient(y: ArrayLike, dx: float = 1.0, axis: int = -1) -> Tracer:
    """Derivative along an axis: central differences, one-sided at both ends."""
    (values,) = ew.inexact("gradient", y)
    place = normalized_axis("gradient", axis, values.ndim)
    if values.shape[place] < 2:
        raise shape_error("gradient", f"expected two elements along axis {axis} of {values.aval}")

    def part(start: int, limit: int | None) -> Tracer:
        return lax.slice_in_dim(values, start, limit, 1, place)

    first = lax.sub(part(1, 2), part(0, 1))
    last = lax.sub(part(-1, None), part(-2, -1))
    inner = lax.mul(lax.sub(part(2, None), part(0, -2)), 0.5)
    return lax.div(lax.concatenate([first, inner, last], place), dx)


def _slide(a: ArrayLike, v: ArrayLike, mode: str, *, reverse: bool) -> Tracer:
    long, short = _floats(a, v)
    if long.ndim != 1 or short.ndim != 1 or not long.size or not short.size:
        raise shape_error("convolve", f"expected vectors, found {long.aval} and {short.aval}")
    swapped = long.size < short.size
    if swapped:
        long, short = short, long
    count = short.size
    pads = {
        "full": (count - 1, count - 1),
        "same": (count // 2, count - 1 - count // 2),
        "valid": (0, 0),
    }
    if mode not in pads:
        raise shape_error("convolve", f"expected a mode full, same or valid, found {mode!r}")
    result = lax.conv_general_dilated(
        lax.reshape(long, (1, 1, long.size)),
        lax.reshape(lax.rev(short, (0,)) if reverse else short, (1, 1, count)),
        (1,),
        [pads[mode]],
    )
    result = lax.reshape(result, (result.size,))
    return lax.rev(result, (0,)) if swapped and not reverse else result


@operation
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Tracer:
    """Convolution of vectors: ``full``, ``same`` (as long as the longer) or ``valid``."""
    return _slide(a, v, mode, reverse=True)


@operation
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Tracer:
    """Cross-correlation of real vectors: ``full``, ``same`` or ``valid``."""
    return _slide(a, v, mode, reverse=False)


@operation
def cov(m: ArrayLike, rowvar: bool = True, ddof: int = 1) -> Tracer:
    """Covariance matrix of variables in rows (or columns)."""
    (values,) = ew.inexact("cov", m)
    if values.ndim > 2:
        raise shape_error("cov", f"expected a vector or a matrix, found {values.aval}")
    rows = lax.reshape(values, (1, values.size)) if values.ndim < 2 else values
    rows = rows if rowvar or values.ndim < 2 else lax.transpose(rows, (1, 0))
    count = rows.shape[1]
    mean = lax.div(sum_(rows, 1, keepdims=True), float(count))
    centered = ew.subtract(rows, mean)
    products = lax.dot_general(centered, lax.conj(centered), (((1,), (1,)), ((), ())))
    return _squeezed(lax.div(products, float(count - ddof)))


@operation
def corrcoef(m: ArrayLike, rowvar: bool = True) -> Tracer:
    """Correlation matrix of variables in rows (or columns)."""
    covariance = cov(m, rowvar)
    if covariance.ndim == 0:
        return lax.div(covariance, covariance)
    variances = covariance[(np.arange(covariance.shape[0]),) * 2]
    deviations = lax.sqrt(ew.real(variances))
    scaled = ew.divide(ew.divide(covariance, deviations[:, None]), deviations[None, :])
    return ew.clip(scaled, -1, 1)


def _squeezed(matrix: Tracer) -> Tracer:
    return lax.reshape(matrix, ()) if matrix.shape == (1, 1) else matrix


@operation
def vander(x: ArrayLike, n: int | None = None, increasing: bool = False) -> Tracer:
    """Powers of a vector's elements as columns, the highest first unless increasing."""
    values = to_tracer(x)
    if values.ndim != 1:
        raise shape_error("vander", f"expected a vector, found {values.aval}")
    count = values.size if n is None else n
    powers: Sequence[int] = range(count) if increasing else range(count)[::-1]
    columns = [lax.expand_dims(lax.integer_pow(values, p), (1,)) for p in powers]
    return lax.concatenate(columns, 1)
