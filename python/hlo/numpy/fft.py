"""Discrete Fourier transforms, as `numpy.fft` has them, in the precision of the operand."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import FLOAT32, FLOAT64, DtypeLike, is_complex
from hlo.frontend.operands import convert, normalized_axes, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy.elementwise import to_complex
from hlo.numpy.manipulation import moveaxis, roll

_MAX_RANK = 3


def _resized(x: Tracer, axis: int, size: int) -> Tracer:
    extent = x.shape[axis]
    if extent > size:
        return lax.slice_in_dim(x, 0, size, 1, axis)
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (0, size - extent, 0)
    return lax.pad(x, lax.full((), 0, x.dtype), config)


def _scale(norm: str | None, count: int, forward: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise shape_error("fft", f"expected a norm backward, ortho or forward, found {norm!r}")
    if norm == "ortho":
        return float(count**-0.5 if forward else count**0.5)
    if norm == "forward":
        return 1.0 / count if forward else float(count)
    return 1.0


def _transform(
    kind: str,
    x: ArrayLike,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Tracer:
    operand = to_tracer(x)
    if axes is None:
        axes = range(operand.ndim) if s is None else range(-len(s), 0)
    places = normalized_axes("fft", tuple(axes), operand.ndim)
    if not places:
        raise shape_error("fft", "expected at least one axis to transform")
    sizes = [operand.shape[p] for p in places] if s is None else [int(n) for n in s]
    if s is None and kind == "IRFFT":
        sizes[-1] = 2 * (operand.shape[places[-1]] - 1)
    if len(sizes) != len(places) or min(sizes) < 1:
        raise shape_error("fft", f"expected one positive length for each axis, found {sizes}")
    operand = _prepared(operand, kind)
    for place, size in zip(places, sizes, strict=True):
        half = kind == "IRFFT" and place == places[-1]
        operand = _resized(operand, place, size // 2 + 1 if half else size)
    order = tuple(range(-len(places), 0))
    operand = moveaxis(operand, places, order)
    result = _over_last(kind, operand, sizes)
    factor = _scale(norm, prod(sizes), forward=kind in ("FFT", "RFFT"))
    if factor != 1.0:
        result = lax.mul(result, factor)
    return moveaxis(result, order, places)


def _prepared(operand: Tracer, kind: str) -> Tracer:
    if kind != "RFFT":
        return operand if is_complex(operand.dtype) else to_complex(operand)
    if is_complex(operand.dtype):
        raise shape_error("fft", f"a real transform expects real numbers, found {operand.aval}")
    return convert(operand, FLOAT64 if operand.dtype == FLOAT64 else FLOAT32)


def _over_last(kind: str, operand: Tracer, sizes: Sequence[int]) -> Tracer:
    """Transforms the last dimensions, three at a time: that is as many as one operation does."""
    if len(sizes) <= _MAX_RANK:
        return lax.fft(operand, kind, sizes)
    rest = len(sizes) - _MAX_RANK
    complex_kind = {"RFFT": "FFT", "IRFFT": "IFFT"}.get(kind, kind)
    last = tuple(range(-_MAX_RANK, 0))
    lead = tuple(range(-len(sizes), -_MAX_RANK))
    if kind == "IRFFT":
        swapped = moveaxis(operand, lead, tuple(range(-rest, 0)))
        operand = moveaxis(_over_last("IFFT", swapped, sizes[:rest]), tuple(range(-rest, 0)), lead)
        return lax.fft(operand, kind, sizes[rest:])
    operand = lax.fft(operand, kind, sizes[rest:])
    swapped = moveaxis(operand, last, tuple(range(-len(sizes), -rest)))
    result = _over_last(complex_kind, swapped, sizes[:rest])
    return moveaxis(result, tuple(range(-len(sizes), -rest)), last)


def _one(n: int | None) -> Sequence[int] | None:
    return None if n is None else (n,)


@operation
def fft(x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tracer:
    """Transform along an axis, of so many elements (cut off or padded with zeros)."""
    return _transform("FFT", x, _one(n), (axis,), norm)


@operation
def ifft(x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tracer:
    """Inverse of `fft`."""
    return _transform("IFFT", x, _one(n), (axis,), norm)


@operation
def rfft(x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tracer:
    """The half of the transform of real numbers that the other half follows from."""
    return _transform("RFFT", x, _one(n), (axis,), norm)


@operation
def irfft(x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tracer:
    """Inverse of `rfft`, to n real numbers."""
    return _transform("IRFFT", x, _one(n), (axis,), norm)


@operation
def fft2(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tracer:
    """Transform along two axes."""
    return _transform("FFT", x, s, axes, norm)


@operation
def ifft2(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tracer:
    """Inverse of `fft2`."""
    return _transform("IFFT", x, s, axes, norm)


@operation
def rfft2(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tracer:
    """Transform of real numbers along two axes."""
    return _transform("RFFT", x, s, axes, norm)


@operation
def irfft2(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tracer:
    """Inverse of `rfft2`."""
    return _transform("IRFFT", x, s, axes, norm)


@operation
def fftn(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tracer:
    """Transform along axes, all by default."""
    return _transform("FFT", x, s, axes, norm)


@operation
def ifftn(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tracer:
    """Inverse of `fftn`."""
    return _transform("IFFT", x, s, axes, norm)


@operation
def rfftn(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tracer:
    """Transform of real numbers along axes, all by default."""
    return _transform("RFFT", x, s, axes, norm)


@operation
def irfftn(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tracer:
    """Inverse of `rfftn`."""
    return _transform("IRFFT", x, s, axes, norm)


@operation
def fftfreq(n: int, d: float = 1.0, dtype: DtypeLike = np.float32) -> Tracer:
    """Frequencies of the elements of an `fft` of n elements that are d apart."""
    return lax.convert_element_type(np.fft.fftfreq(n, d), dtype)


@operation
def rfftfreq(n: int, d: float = 1.0, dtype: DtypeLike = np.float32) -> Tracer:
    """Frequencies of the elements of an `rfft` of n elements that are d apart."""
    return lax.convert_element_type(np.fft.rfftfreq(n, d), dtype)


@operation
def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Tracer:
    """Frequency 0 moved to the middle of axes, all by default."""
    operand = to_tracer(x)
    places = normalized_axes("fftshift", axes, operand.ndim)
    return roll(operand, [operand.shape[p] // 2 for p in places], places)


@operation
def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Tracer:
    """Inverse of `fftshift`."""
    operand = to_tracer(x)
    places = normalized_axes("ifftshift", axes, operand.ndim)
    return roll(operand, [-(operand.shape[p] // 2) for p in places], places)
