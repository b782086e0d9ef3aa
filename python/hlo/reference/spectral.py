"""fft: discrete Fourier transforms of the last one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo.reference.element_types import Array, complex_type, extend, is_complex, real_type, round_to


def fft(operand: Array, *, fft_type: str, fft_length: Sequence[int]) -> Array:
    """FFT, IFFT (scaled by 1/n), RFFT of real numbers, or IRFFT back to them, of lengths
    `fft_length`.

    IRFFT reads fft_length[-1] / 2 + 1 elements of the last dimension, and only the real part of
    those that must be real.
    """
    lengths = [int(length) for length in fft_length]
    axes = tuple(range(operand.ndim - len(lengths), operand.ndim))
    shape = list(operand.shape)
    if fft_type == "RFFT":
        shape[-1] = lengths[-1] // 2 + 1 if lengths[-1] else 0
    elif fft_type == "IRFFT":
        shape[-1] = lengths[-1]
    if fft_type == "IRFFT":
        dtype = real_type(operand.dtype)
    elif is_complex(operand.dtype):
        dtype = operand.dtype
    else:
        dtype = complex_type(operand.dtype)
    if operand.size == 0 or 0 in shape:
        return np.zeros(shape, dtype)
    transform = {
        "FFT": np.fft.fftn,
        "IFFT": np.fft.ifftn,
        "RFFT": np.fft.rfftn,
        "IRFFT": np.fft.irfftn,
    }[fft_type]
    with np.errstate(all="ignore"):
        return round_to(np.asarray(transform(extend(operand), s=lengths, axes=axes)), dtype)
