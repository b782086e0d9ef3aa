"""Random numbers: of the compiler's own generator (`hlo.seed_rng`), not PyTorch's sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend import attributes
from hlo.frontend.dtypes import BOOL, FLOAT32
from hlo.frontend.operands import convert
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import constant, emit
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor
from hlo.pytorch.ops.registry import aten

Dtype = np.dtype[Any] | None


def _drawn(distribution: str, a: float, b: float, shape: Sequence[int], dtype: Dtype) -> Tracer:
    """Numbers between a and b (``UNIFORM``), or of mean a and deviation b (``NORMAL``)."""
    dtype = dtype or FLOAT32
    wide = FLOAT32 if dtype.itemsize < 4 else dtype
    operands = (tensor(a, wide), tensor(b, wide), constant(np.array(shape, np.int64)))
    kind = attributes.enum("rng_distribution", distribution)
    (found,) = emit("rng", operands, (ShapeDtype(shape, wide),), {"rng_distribution": kind})
    return convert(found, dtype)


@aten("rand")
def rand(size: Sequence[int], dtype: Dtype = None, **_: Any) -> Tracer:
    """Uniform on [0, 1)."""
    return _drawn("UNIFORM", 0, 1, size, dtype)


@aten("randn")
def randn(size: Sequence[int], dtype: Dtype = None, **_: Any) -> Tracer:
    """Normal."""
    return _drawn("NORMAL", 0, 1, size, dtype)


@aten("rand_like")
def rand_like(self: Tracer, dtype: Dtype = None, **_: Any) -> Tracer:
    """Uniform on [0, 1), in the shape of a tensor."""
    return _drawn("UNIFORM", 0, 1, self.shape, dtype or self.dtype)


@aten("randn_like")
def randn_like(self: Tracer, dtype: Dtype = None, **_: Any) -> Tracer:
    """Normal, in the shape of a tensor."""
    return _drawn("NORMAL", 0, 1, self.shape, dtype or self.dtype)


@aten("randint", "randint.low")
def randint(high: int, size: Sequence[int], low: int = 0, dtype: Dtype = None, **_: Any) -> Tracer:
    """Integers of [low, high)."""
    numbers = _drawn("UNIFORM", low, high, size, np.dtype(np.float64))
    return convert(lax.floor(numbers), dtype or INT64)


def _kept(x: Tracer, p: Any) -> Tracer:
    """Whether a uniform number is below a probability."""
    return hnp.less(_drawn("UNIFORM", 0, 1, x.shape, FLOAT32), p)


@aten("bernoulli", "bernoulli.p")
def bernoulli(self: Tracer, p: float | None = None, **_: Any) -> Tracer:
    """1 with a probability: the elements of `self`, or `p`."""
    return convert(_kept(self, self if p is None else p), self.dtype)


@aten("native_dropout")
def native_dropout(input: Tracer, p: float, train: bool | None = True) -> tuple[Tracer, Tracer]:
    """Elements zeroed with probability p, the others scaled up; and which were kept."""
    if not train:
        return input, hnp.broadcast_to(tensor(True, BOOL), input.shape)
    kept = _kept(input, 1.0 - p)
    scale = 1.0 / (1.0 - p) if p < 1 else 0.0
    scaled = hnp.multiply(input, tensor(scale, input.dtype))
    return hnp.where(kept, scaled, tensor(0, input.dtype)), kept


@aten("dropout")
def dropout(input: Tracer, p: float, train: bool) -> Tracer:
    """Elements zeroed with probability p, the others scaled up, when training."""
    return native_dropout(input, p, train)[0] if train else input
