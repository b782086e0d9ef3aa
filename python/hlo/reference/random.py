"""rng_bit_generator, bit-exact with XLA, and rng.

Counter-based generators of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
with XLA's arrangement of counters and outputs, which the specification leaves to the
implementation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hlo.reference.element_types import (
    Array,
    DType,
    bit_width,
    is_float,
    round_to,
    storage_type,
    wrap_integers,
)

_U32 = np.uint32
_U64 = np.uint64
_THREEFRY_PARITY = _U32(0x1BD11BDA)
_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PHILOX_MULTIPLIERS = (_U64(0xD2511F53), _U64(0xCD9E8D57))
_PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)
_RNG_SEED = 0x484C4F


def _halves(words: Array) -> tuple[Array, Array]:
    """Low and high 32 bits of 64-bit words."""
    return words.astype(_U32), (words >> _U64(32)).astype(_U32)


def _join(low: Array, high: Array) -> Array:
    return low.astype(_U64) | (high.astype(_U64) << _U64(32))


def _rotate_left(x: Array, distance: int) -> Array:
    return (x << _U32(distance)) | (x >> _U32(32 - distance))


def threefry2x32(key: tuple[Array, Array], count: tuple[Array, Array]) -> tuple[Array, Array]:
    """Twenty rounds of Threefry-2x32 on arrays of uint32 counters."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _THREEFRY_PARITY)
    x0, x1 = count[0] + schedule[0], count[1] + schedule[1]
    for group in range(5):
        for rotation in _THREEFRY_ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = _rotate_left(x1, rotation) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + _U32(group + 1)
    return x0, x1


def philox4x32(key: tuple[Array, Array], count: Sequence[Array]) -> list[Array]:
    """Ten rounds of Philox-4x32 on arrays of uint32 counters, least significant word first."""
    x = list(count)
    k0, k1 = key
    for _ in range(10):
        low0, high0 = _halves(x[0].astype(_U64) * _PHILOX_MULTIPLIERS[0])
        low1, high1 = _halves(x[2].astype(_U64) * _PHILOX_MULTIPLIERS[1])
        x = [high1 ^ x[1] ^ k0, low1, high0 ^ x[3] ^ k1, low0]
        k0, k1 = k0 + _U32(_PHILOX_WEYL[0]), k1 + _U32(_PHILOX_WEYL[1])
    return x


def _counters(start: Array, count: int) -> Array:
    with np.errstate(over="ignore"):
        return start + np.arange(count, dtype=_U64)


def _split_dimension(shape: Sequence[int]) -> int:
    """The dimension along which Threefry's two outputs alternate: the first even one, else the
    first largest.
    """
    for dimension, extent in enumerate(shape):
        if extent % 2 == 0:
            return dimension
    return max(range(len(shape)), key=lambda d: (shape[d], -d))


def _threefry_words(key: Array, start: Array, shape: Sequence[int]) -> tuple[Array, int]:
    """uint32 outputs in `shape`, and how many counters they took."""
    if not shape:
        first, _ = threefry2x32(_halves(key), _halves(_counters(start, 1)))
        return first.reshape(()), 1
    split = _split_dimension(shape)
    half = list(shape)
    half[split] = -(-shape[split] // 2)
    used = math.prod(half)
    outputs = threefry2x32(_halves(key), _halves(_counters(start, used)))
    paired = np.stack([x.reshape(half) for x in outputs], axis=split + 1)
    whole = list(half)
    whole[split] *= 2
    return paired.reshape(whole)[tuple(slice(0, extent) for extent in shape)], used


def _threefry(state: Array, shape: Sequence[int], bits: int) -> tuple[Array, Array]:
    key, start = state[0:1], state[1:2]
    if bits == 64:
        used = math.prod(shape)
        words = _join(*threefry2x32(_halves(key), _halves(_counters(start, used)))).reshape(shape)
    else:
        words, used = _threefry_words(key, start, shape)
    with np.errstate(over="ignore"):
        return np.concatenate([key, start + _U64(used)]), words


def _add_128(low: Array, high: Array, amount: Array) -> tuple[Array, Array]:
    with np.errstate(over="ignore"):
        total = low + amount
        return total, np.where(total < low, high + _U64(1), high)


def _philox(state: Array, shape: Sequence[int], bits: int) -> tuple[Array, Array]:
    key = state[0:1]
    # A state of two words keeps only the counter's high word.
    low, high = (state[1:2], state[2:3]) if state.size >= 3 else (state[1:2], state[0:1])
    size = math.prod(shape)
    vectors = -(-size * (2 if bits == 64 else 1) // 4)
    count_low, count_high = _add_128(low, high, np.arange(vectors, dtype=_U64))
    outputs = philox4x32(_halves(key), [*_halves(count_low), *_halves(count_high)])
    if bits == 64:
        words = [_join(outputs[0], outputs[1]), _join(outputs[2], outputs[3])]
    else:
        words = outputs
    flat = np.stack(words, axis=1).reshape(-1)[:size]
    new_low, new_high = _add_128(low, high, np.asarray([vectors], _U64))
    new_state = [key, new_low, new_high] if state.size >= 3 else [key, new_low]
    return np.concatenate(new_state), flat.reshape(tuple(shape))


def rng_bit_generator(
    initial_state: Array, *, rng_algorithm: str, shape: Sequence[int], dtype: DType
) -> tuple[Array, Array]:
    """The advanced state and uniformly random bits.

    `initial_state` is two or, for PHILOX, three uint64: the key, then the counter. DEFAULT is
    Philox, as on XLA's CPU. Types narrower than 32 bits take the low bits of a 32-bit output;
    floats take the bits as they are.
    """
    state = np.asarray(initial_state, _U64)
    bits = bit_width(dtype)
    generator = _threefry if rng_algorithm == "THREE_FRY" else _philox
    with np.errstate(over="ignore"):
        new_state, words = generator(state, shape, 64 if bits == 64 else 32)
    if is_float(dtype):
        unsigned = np.dtype(f"u{dtype.itemsize}")
        return new_state, words.astype(unsigned).view(dtype)
    return new_state, wrap_integers(words.astype(storage_type(dtype)), dtype)


def rng(a: Array, b: Array, *, shape: Sequence[int], rng_distribution: str) -> Array:
    """Random numbers: UNIFORM over [a, b), or NORMAL of mean a and deviation b.

    Any sequence is right by the specification; this one is the same in each call.
    """
    generator = np.random.default_rng(_RNG_SEED)
    size = tuple(int(extent) for extent in shape)
    if rng_distribution == "NORMAL":
        return round_to(generator.normal(float(a), float(b), size), a.dtype)
    if is_float(a.dtype):
        return round_to(generator.uniform(float(a), float(b), size), a.dtype)
    if a.dtype == np.bool_:
        return generator.integers(0, 2, size).astype(np.bool_)
    storage = storage_type(a.dtype)
    return generator.integers(int(a), int(b), size, dtype=storage).astype(a.dtype)
