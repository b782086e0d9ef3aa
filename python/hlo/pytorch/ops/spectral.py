"""Fourier transforms over any dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import tensor
from hlo.pytorch.ops.registry import aten

_MODES = {0: lambda n: 1.0, 1: lambda n: 1 / sqrt(n), 2: lambda n: 1 / n}


def _scaled(x: Tracer, count: int, normalization: int) -> Tracer:
    """By 1, 1 / sqrt(n) or 1 / n: PyTorch's modes 0, 1 and 2."""
    factor = _MODES[normalization](count)
    return x if factor == 1 else hnp.multiply(x, tensor(factor, x.dtype))


def _along(x: Tracer, axis: int, kind: str, length: int | None = None) -> Tracer:
    """A transform along one dimension; ``IFFT`` and ``IRFFT`` divide by its extent."""
    count = x.shape[axis] if length is None else length
    moved = hnp.moveaxis(x, axis, -1)
    return hnp.moveaxis(lax.fft(moved, kind, (count,)), -1, axis)


def _complex(x: Tracer, axes: Sequence[int], forward: bool) -> Tracer:
    """Transforms without a factor."""
    for axis in axes:
        x = _along(x, axis, "FFT" if forward else "IFFT")
        if not forward:
            x = hnp.multiply(x, tensor(x.shape[axis], x.dtype))
    return x


@aten("_fft_c2c")
def fft_c2c(self: Tracer, dim: Sequence[int], normalization: int, forward: bool) -> Tracer:
    """Complex to complex."""
    axes = [d % self.ndim for d in dim]
    count = prod(self.shape[axis] for axis in axes)
    return _scaled(_complex(self, axes, forward), count, normalization)


@aten("_fft_r2c")
def fft_r2c(self: Tracer, dim: Sequence[int], normalization: int, onesided: bool) -> Tracer:
    """Real to complex: half of the last dimension, or all of it."""
    axes = [d % self.ndim for d in dim]
    count = prod(self.shape[axis] for axis in axes)
    if not onesided:
        wide: np.dtype[Any] = np.dtype(f"complex{self.dtype.itemsize * 16}")
        return _scaled(_complex(convert(self, wide), axes, True), count, normalization)
    half = _along(self, axes[-1], "RFFT")
    return _scaled(_complex(half, axes[:-1], True), count, normalization)


@aten("_fft_c2r")
def fft_c2r(self: Tracer, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tracer:
    """Complex to real of half a spectrum; the last of the dimensions has this extent."""
    axes = [d % self.ndim for d in dim]
    x = _complex(self, axes[:-1], False)
    count = prod(x.shape[axis] for axis in axes[:-1]) * last_dim_size
    real = _along(x, axes[-1], "IRFFT", last_dim_size)
    return _scaled(hnp.multiply(real, tensor(last_dim_size, real.dtype)), count, normalization)


def _one(function: Callable[..., Tracer]) -> Callable[..., Tracer]:
    def call(self: Tracer, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tracer:
        return function(self, n=n, axis=dim, norm=norm)

    return call


def _several(function: Callable[..., Tracer], default: Any) -> Callable[..., Tracer]:
    def call(
        self: Tracer,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = default,
        norm: str | None = None,
    ) -> Tracer:
        return function(self, s=s, axes=dim, norm=norm)

    return call


for _name in ("fft", "ifft", "rfft", "irfft"):
    aten(f"fft_{_name}")(_one(getattr(hnp.fft, _name)))
    aten(f"fft_{_name}2")(_several(getattr(hnp.fft, f"{_name}2"), (-2, -1)))
    aten(f"fft_{_name}n")(_several(getattr(hnp.fft, f"{_name}n"), None))
