"""Fourier transforms and windows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert, to_tracer
from hlo.frontend.tracer import Tracer
from hlo.onnx.model import dtype_of
from hlo.onnx.ops.registry import Array, Call, op

_COMPLEX: Final = {4: np.dtype(np.complex64), 8: np.dtype(np.complex128)}


def _complex(x: Tracer) -> Tracer:
    """(..., 1) or (..., 2) as real or complex numbers."""
    if x.shape[-1] == 1:
        return convert(x[..., 0], _COMPLEX[max(x.dtype.itemsize, 4)])
    return lax.complex(x[..., 0], x[..., 1])


def _parts(x: Tracer) -> Tracer:
    return hnp.stack([lax.real(x), lax.imag(x)], axis=-1)


def _lined(x: Tracer, axis: int, length: int) -> Tracer:
    """Cut off or filled up with zeros along an axis."""
    extent = x.shape[axis]
    if length <= extent:
        return lax.slice_in_dim(x, 0, length, axis=axis)
    around = [(0, 0, 0)] * x.ndim
    around[axis] = (0, length - extent, 0)
    return lax.pad(x, to_tracer(np.zeros((), x.dtype)), around)


@op("DFT", static=(1, 2))
def fourier(
    call: Call, x: Tracer, length: Array | None = None, axis: Array | None = None
) -> Tracer:
    """A discrete Fourier transform along an axis, or its inverse, of (..., 1) or (..., 2)."""
    along = call.get("axis", 1) if call.version < 20 else (-2 if axis is None else axis.item())
    along = along % x.ndim
    one_sided = bool(call.get("onesided", 0))
    inverse = bool(call.get("inverse", 0))
    values = _complex(x)
    if inverse and one_sided:
        count = 2 * (values.shape[along] - 1) if length is None else length.item()
        line = _lined(values, along, count // 2 + 1)
        moved = hnp.moveaxis(line, along, -1)
        real = lax.fft(moved, "IRFFT", (count,))
        return hnp.expand_dims(hnp.moveaxis(real, -1, along), -1)
    count = values.shape[along] if length is None else length.item()
    moved = hnp.moveaxis(_lined(values, along, count), along, -1)
    found = lax.fft(moved, "IFFT" if inverse else "FFT", (count,))
    if one_sided:
        found = found[..., : count // 2 + 1]
    return _parts(hnp.moveaxis(found, -1, along))


@op("STFT", static=(1, 3))
def short_time_fourier(
    call: Call, x: Tracer, step: Array, window: Tracer | None = None, length: Array | None = None
) -> Tracer:
    """Fourier transforms of frames that lie a step apart: (N, frames, frequencies, 2)."""
    size = length.item() if length is not None else (window.shape[0] if window is not None else 0)
    values = _complex(x if x.ndim == 3 else hnp.expand_dims(x, -1))
    by = step.item()
    count = (values.shape[1] - size) // by + 1
    places = np.arange(count)[:, None] * by + np.arange(size)
    frames = hnp.take(values, places, axis=1)
    if window is not None:
        frames = hnp.multiply(frames, convert(window, frames.dtype))
    found = lax.fft(frames, "FFT", (size,))
    if call.get("onesided", 1):
        found = found[..., : size // 2 + 1]
    return _parts(found)


@op("MelWeightMatrix", static=(0, 1, 2, 3, 4))
def mel_weights(
    call: Call, bins: Array, length: Array, rate: Array, low: Array, high: Array
) -> Tracer:
    """(frequencies, bins): triangles on the mel scale, as the standard defines them."""
    count, edge = bins.item(), length.item() // 2 + 1

    def mel(hertz: float) -> Any:
        return 2595 * np.log10(1 + hertz / 700)

    first, last = mel(low.item()), mel(high.item())
    steps = np.arange(count + 2) * ((last - first) / (count + 2)) + first
    hertz = 700 * (np.power(10, steps / 2595) - 1)
    at = ((length.item() + 1) * hertz // rate.item()).astype(np.int64)
    table = np.zeros((edge, count))
    for i in range(count):
        left, centre, right = at[i], at[i + 1], at[i + 2]
        if centre == left:
            table[centre, i] = 1
        else:
            for j in range(left, centre + 1):
                table[j, i] = (j - left) / (centre - left)
        if right > centre:
            for j in range(centre, right):
                table[j, i] = (right - j) / (right - centre)
    return to_tracer(table.astype(dtype_of(call.get("output_datatype", 1))))
