"""Random numbers: of the compiler's own generator (`hlo.seed_rng`), not PyTorch's sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log1p, pi
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend import attributes
from hlo.frontend.dtypes import BOOL, FLOAT32, is_float
from hlo.frontend.operands import convert
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import constant, emit
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor, widened
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


@aten("uniform")
def uniform(self: Tracer, from_: float = 0.0, to: float = 1.0, **named: Any) -> Tracer:
    """Uniform between two numbers, in the shape of a tensor."""
    return _drawn("UNIFORM", named.get("from", from_), to, self.shape, self.dtype)


def _inverse(self: Tracer, function: Callable[[Tracer], Tracer]) -> Tracer:
    """Numbers of the distribution with this inverse of its cumulative function."""
    wide = FLOAT32 if self.dtype.itemsize < 4 or not is_float(self.dtype) else self.dtype
    return convert(function(_drawn("UNIFORM", 0, 1, self.shape, wide)), self.dtype)


@aten("exponential")
def exponential(self: Tracer, lambd: float = 1.0, **_: Any) -> Tracer:
    """Of an exponential distribution, in the shape of a tensor."""
    return _inverse(self, lambda u: hnp.divide(lax.log1p(lax.neg(u)), -lambd))


@aten("geometric")
def geometric(self: Tracer, p: float, **_: Any) -> Tracer:
    """How many trials until the first of probability p, in the shape of a tensor."""
    return _inverse(
        self, lambda u: hnp.maximum(lax.ceil(hnp.divide(lax.log1p(lax.neg(u)), log1p(-p))), 1)
    )


@aten("cauchy")
def cauchy(self: Tracer, median: float = 0.0, sigma: float = 1.0, **_: Any) -> Tracer:
    """Of a Cauchy distribution, in the shape of a tensor."""
    return _inverse(
        self,
        lambda u: hnp.add(
            hnp.multiply(lax.tan(hnp.multiply(hnp.subtract(u, 0.5), pi)), sigma), median
        ),
    )


@aten("log_normal")
def log_normal(self: Tracer, mean: float = 1.0, std: float = 2.0, **_: Any) -> Tracer:
    """Numbers with normal logarithms, in the shape of a tensor."""
    wide = widened(self).dtype
    return convert(lax.exp(_drawn("NORMAL", mean, std, self.shape, wide)), self.dtype)


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
