"""Random numbers from keys, bit for bit those of `jax.random` with its default generator.

A key is a uint32[2] array; a function with the same key gives the same numbers. `split` makes
new keys. Bits come from Threefry-2x32 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2,
3, 2011), applied to each element's position, so any part of an array can be computed on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, prod, sqrt
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import (
    DEFAULT_FLOAT,
    DEFAULT_INT,
    DtypeLike,
    bit_width,
    canonical_dtype,
    dtype_name,
    finfo,
    iinfo,
    is_float,
    is_integer,
    kind,
)
from hlo.frontend.jit import jit
from hlo.frontend.operands import (
    broadcast_shapes,
    broadcast_to,
    convert,
    dtype_error,
    shape_error,
    shape_of,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy.creation import Shape, as_shape

_UINT32 = np.dtype(np.uint32)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


@operation
def key(seed: ArrayLike) -> Tracer:
    """The key of a seed: its upper and lower 32 bits; the upper ones of 32-bit seeds are 0."""
    if isinstance(seed, int):
        upper = 0 if -(2**31) <= seed < 2**31 else seed >> 32
        return to_tracer(np.array([upper & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32))
    number = to_tracer(seed)
    if number.shape != () or not is_integer(number.dtype):
        raise shape_error("random.key", f"expected an integer seed, found {number.aval}")
    lower = convert(number, _UINT32)
    upper = lax.full((), 0, _UINT32)
    if bit_width(number.dtype) == 64:
        upper = convert(lax.shift_right_logical(number, 32), _UINT32)
    return hnp.stack([upper, lower])


PRNGKey = key


def _halves(key: ArrayLike) -> tuple[Tracer, Tracer]:
    found = to_tracer(key)
    if found.shape != (2,) or found.dtype != _UINT32:
        raise shape_error("random", f"expected a key uint32[2], found {found.aval}")
    return found[0], found[1]


def _rotate(x: Tracer, distance: int) -> Tracer:
    return lax.bitwise_or(lax.shift_left(x, distance), lax.shift_right_logical(x, 32 - distance))


@jit
def threefry2x32(k0: Tracer, k1: Tracer, x0: Tracer, x1: Tracer) -> tuple[Tracer, Tracer]:
    """Threefry-2x32 with 20 rounds of a counter (x0, x1) under a key (k0, k1), all uint32."""
    keys = (k0, k1, lax.bitwise_xor(lax.bitwise_xor(k0, k1), _PARITY))
    x0, x1 = lax.add(x0, keys[0]), lax.add(x1, keys[1])
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x0 = lax.add(x0, x1)
            x1 = lax.bitwise_xor(x0, _rotate(x1, distance))
        x0 = lax.add(x0, keys[(group + 1) % 3])
        x1 = lax.add(lax.add(x1, keys[(group + 2) % 3]), group + 1)
    return x0, x1


def _hash_positions(key: ArrayLike, count: int) -> tuple[Tracer, Tracer]:
    """The hash of 0, ..., count - 1 as 64-bit counters."""
    k0, k1 = _halves(key)
    if count <= 2**32:
        return threefry2x32(k0, k1, lax.full((count,), 0, _UINT32), lax.iota(_UINT32, count))
    position = lax.iota(np.uint64, count)
    upper = convert(lax.shift_right_logical(position, 32), _UINT32)
    return threefry2x32(k0, k1, upper, convert(position, _UINT32))


@operation
def split(key: ArrayLike, num: Shape = 2) -> Tracer:
    """New keys, an array of shape (*num, 2)."""
    shape = as_shape(num)
    first, second = _hash_positions(key, prod(shape))
    return lax.reshape(hnp.stack([first, second], -1), (*shape, 2))


@operation
def fold_in(key: ArrayLike, data: ArrayLike) -> Tracer:
    """A new key from a key and a 32-bit integer."""
    k0, k1 = _halves(key)
    number = to_tracer(np.uint32(data & 0xFFFFFFFF) if isinstance(data, int) else data)
    lower = convert(number, _UINT32)
    first, second = threefry2x32(k0, k1, lax.full((), 0, _UINT32), lower)
    return hnp.stack([first, second])


@operation
def bits(key: ArrayLike, shape: Shape = (), dtype: DtypeLike = np.uint32) -> Tracer:
    """Uniform random bits of an unsigned type of 8 to 64 bits."""
    target, extents = canonical_dtype(dtype), as_shape(shape)
    if kind(target) != "u" or bit_width(target) < 8:
        raise dtype_error(
            "random.bits", f"expected uint8, 16, 32 or 64, found {dtype_name(target)}"
        )
    first, second = _hash_positions(key, prod(extents))
    if bit_width(target) == 64:
        upper = lax.shift_left(convert(first, target), 32)
        found = lax.bitwise_or(upper, convert(second, target))
    else:
        found = convert(lax.bitwise_xor(first, second), target)
    return lax.reshape(found, extents)


def _float_type(op: str, dtype: DtypeLike) -> np.dtype[Any]:
    target = canonical_dtype(dtype)
    if not is_float(target) or bit_width(target) < 8:
        raise dtype_error(op, f"expected a float type, found {dtype_name(target)}")
    return target


@operation
def uniform(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DtypeLike = DEFAULT_FLOAT,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Tracer:
    """Uniform floats in [minval, maxval): random mantissas of numbers in [1, 2), less 1, scaled."""
    target, extents = _float_type("random.uniform", dtype), as_shape(shape)
    low, high = (broadcast_to(v, target, extents) for v in (minval, maxval))
    width, mantissa = bit_width(target), int(finfo(target).nmant)
    unsigned = np.dtype(f"uint{width}")
    drawn = 8 if mantissa < 8 else width
    random_bits = convert(bits(key, extents, np.dtype(f"uint{drawn}")), unsigned)
    random_bits = lax.shift_right_logical(random_bits, drawn - mantissa)
    one = int(np.asarray(1.0, target).view(unsigned)[()])
    floats = lax.bitcast_convert_type(lax.bitwise_or(random_bits, one), target)
    floats = lax.sub(floats, 1.0)
    return lax.max(low, lax.add(lax.mul(floats, lax.sub(high, low)), low))


@operation
def normal(key: ArrayLike, shape: Shape = (), dtype: DtypeLike = DEFAULT_FLOAT) -> Tracer:
    """Floats of the standard normal distribution, by its inverse."""
    target = _float_type("random.normal", dtype)
    one, zero = np.asarray(1.0, target), np.asarray(0.0, target)
    u = uniform(key, shape, target, np.nextafter(-one, zero), one)
    return lax.mul(lax.erf_inv(u), float(target.type(sqrt(2))))


@operation
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DtypeLike = DEFAULT_FLOAT,
) -> Tracer:
    """Floats of the standard normal distribution between two bounds."""
    target = _float_type("random.truncated_normal", dtype)
    common = broadcast_shapes("random.truncated_normal", (shape_of(lower), shape_of(upper)))
    extents = common if shape is None else as_shape(shape)
    root = float(target.type(sqrt(2)))
    low, high = (broadcast_to(v, target, extents) for v in (lower, upper))
    u = uniform(key, extents, target, lax.erf(lax.div(low, root)), lax.erf(lax.div(high, root)))
    drawn = lax.mul(lax.erf_inv(u), root)
    least = lax.nextafter(low, lax.full_like(low, np.inf))
    most = lax.nextafter(high, lax.full_like(high, -np.inf))
    return hnp.clip(drawn, least, most)


@operation
def exponential(key: ArrayLike, shape: Shape = (), dtype: DtypeLike = DEFAULT_FLOAT) -> Tracer:
    """Floats of the exponential distribution with mean 1."""
    u = uniform(key, shape, _float_type("random.exponential", dtype))
    return lax.neg(lax.log1p(lax.neg(u)))


@operation
def gumbel(key: ArrayLike, shape: Shape = (), dtype: DtypeLike = DEFAULT_FLOAT) -> Tracer:
    """Floats of the standard Gumbel distribution."""
    target = _float_type("random.gumbel", dtype)
    u = uniform(key, shape, target, finfo(target).tiny, 1.0)
    return lax.neg(lax.log(lax.neg(lax.log(u))))


@operation
def laplace(key: ArrayLike, shape: Shape = (), dtype: DtypeLike = DEFAULT_FLOAT) -> Tracer:
    """Floats of the Laplace distribution with mean 0 and scale 1."""
    target = _float_type("random.laplace", dtype)
    epsilon = finfo(target).epsneg
    u = uniform(key, shape, target, target.type(-1.0 + float(epsilon)), 1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@operation
def bernoulli(key: ArrayLike, p: ArrayLike = 0.5, shape: Shape | None = None) -> Tracer:
    """True with probability p."""
    (chance,) = hnp.elementwise.inexact("random.bernoulli", p)
    extents = chance.shape if shape is None else as_shape(shape)
    return lax.lt(uniform(key, extents, chance.dtype), broadcast_to(chance, chance.dtype, extents))


@operation
def categorical(
    key: ArrayLike, logits: ArrayLike, axis: int = -1, shape: Shape | None = None
) -> Tracer:
    """Indices (int32) along an axis, with probabilities that are the softmax of logits."""
    (scores,) = hnp.elementwise.inexact("random.categorical", logits)
    axis = axis % scores.ndim
    batch = scores.shape[:axis] + scores.shape[axis + 1 :]
    extents = batch if shape is None else as_shape(shape)
    prefix = extents[: len(extents) - len(batch)]
    noise = gumbel(key, (*prefix, *scores.shape), scores.dtype)
    noisy = hnp.add(noise, scores)
    return lax.argmax(noisy, axis + len(prefix))


@operation
def randint(
    key: ArrayLike,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DtypeLike = DEFAULT_INT,
) -> Tracer:
    """Integers in [minval, maxval): twice as many random bits as the type has, modulo the range."""
    target, extents = canonical_dtype(dtype), as_shape(shape)
    if not is_integer(target) or bit_width(target) < 8:
        raise dtype_error(
            "random.randint", f"expected integers of 8 to 64 bits, found {dtype_name(target)}"
        )
    low, high = (broadcast_to(_clipped(v, target), target, extents) for v in (minval, maxval))
    past_end = broadcast_to(_exceeds(maxval, target), np.dtype(bool), extents)
    unsigned = np.dtype(f"uint{bit_width(target)}")
    first, second = (bits(k, extents, unsigned) for k in split(key))
    span = convert(lax.sub(high, low), unsigned)
    empty = lax.le(high, low)
    span = lax.select(empty, lax.full_like(span, 1), span)
    longer = lax.bitwise_and(past_end, lax.bitwise_not(empty))
    span = lax.select(longer, lax.add(span, 1), span)
    half = lax.rem(lax.full_like(span, 2 ** (bit_width(target) // 2)), span)
    multiplier = lax.rem(lax.mul(half, half), span)
    offset = lax.add(lax.mul(lax.rem(first, span), multiplier), lax.rem(second, span))
    return lax.add(low, convert(lax.rem(offset, span), target))


def _clipped(bound: ArrayLike, dtype: np.dtype[Any]) -> ArrayLike:
    """A bound limited to the range of an integer type."""
    info = iinfo(dtype)
    if isinstance(bound, (int, np.integer)):
        return min(max(int(bound), int(info.min)), int(info.max))
    found = to_tracer(bound)
    own = iinfo(found.dtype)
    low, high = max(int(info.min), int(own.min)), min(int(info.max), int(own.max))
    return convert(lax.clamp(low, found, high), dtype)


def _exceeds(bound: ArrayLike, dtype: np.dtype[Any]) -> ArrayLike:
    """Whether an upper bound is beyond an integer type's greatest value."""
    most = int(iinfo(dtype).max)
    if isinstance(bound, (int, np.integer)):
        return np.bool_(int(bound) > most)
    found = to_tracer(bound)
    return np.bool_(False) if most > int(iinfo(found.dtype).max) else lax.gt(found, most)


@operation
def permutation(key: ArrayLike, x: int | ArrayLike, axis: int = 0) -> Tracer:
    """The slices along an axis in random order; of 0, ..., x - 1 for a number.

    Sorted by random keys, often enough that equal keys do not show.
    """
    if isinstance(x, int) or shape_of(x) == ():
        return _shuffled(key, hnp.arange(x))
    operand = to_tracer(x)
    if operand.ndim == 1:
        return _shuffled(key, operand)
    order = _shuffled(key, lax.iota(np.int32, operand.shape[axis % operand.ndim]))
    return hnp.take(operand, order, axis)


def _shuffled(key: ArrayLike, x: Tracer) -> Tracer:
    rounds = ceil(3 * log(max(1, x.size)) / log(2**32 - 1))
    for _ in range(rounds):
        key, subkey = split(key)
        x = lax.sort_key_val(bits(subkey, x.shape), x, 0)[1]
    return x


@operation
def choice(
    key: ArrayLike, a: int | ArrayLike, shape: Sequence[int] = (), replace: bool = True
) -> Tracer:
    """Elements of a vector (or of 0, ..., a - 1) with equal probability."""
    count = a if isinstance(a, int) else shape_of(a)[0]
    number = prod(shape)
    if not replace and number > count:
        raise shape_error("random.choice", f"cannot take {number} of {count} without replacement")
    if replace:
        index = randint(key, shape, 0, count)
    else:
        index = lax.reshape(permutation(key, count)[:number], shape)
    return index if isinstance(a, int) else to_tracer(a)[index]
