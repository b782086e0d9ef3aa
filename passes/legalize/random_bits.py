"""Threefry-2x32 and Philox-4x32 as ops on unsigned integers, arranged as XLA arranges them."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of, size_of

_THREEFRY_PARITY = 0x1BD11BDA
_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)


class _Words:
    """Arithmetic on ui32 and ui64 tensors of one shape."""

    def __init__(self, builder: Builder, shape: Sequence[int]) -> None:
        self.builder = builder
        self.shape = tuple(shape)
        self.u32 = builder.integer_type(32, unsigned=True)
        self.u64 = builder.integer_type(64, unsigned=True)

    def constant32(self, value: int) -> ir.Value:
        return self.builder.constant(value, self.u32, self.shape)

    def constant64(self, value: int) -> ir.Value:
        return self.builder.constant(value, self.u64, self.shape)

    def word(self, state: ir.Value, index: int) -> ir.Value:
        """A word of the state, everywhere."""
        element = self.builder.slice_dimension(state, 0, index, index + 1)
        return self.builder.splat(self.builder.reshape(element, ()), self.shape)

    def halves(self, words: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Low and high 32 bits."""
        b = self.builder
        high = b.binary("shift_right_logical", words, self.constant64(32))
        return b.convert(words, self.u32), b.convert(high, self.u32)

    def join(self, low: ir.Value, high: ir.Value) -> ir.Value:
        b = self.builder
        upper = b.binary("shift_left", b.convert(high, self.u64), self.constant64(32))
        return b.binary("or", b.convert(low, self.u64), upper)

    def rotate_left(self, x: ir.Value, distance: int) -> ir.Value:
        b = self.builder
        return b.binary(
            "or",
            b.binary("shift_left", x, self.constant32(distance)),
            b.binary("shift_right_logical", x, self.constant32(32 - distance)),
        )

    def xor(self, *words: ir.Value) -> ir.Value:
        result = words[0]
        for word in words[1:]:
            result = self.builder.binary("xor", result, word)
        return result

    def product(self, x: ir.Value, multiplier: int) -> tuple[ir.Value, ir.Value]:
        """Low and high half of the product of 32-bit words."""
        b = self.builder
        return self.halves(b.multiply(b.convert(x, self.u64), self.constant64(multiplier)))


def _threefry(
    w: _Words, key: tuple[ir.Value, ir.Value], count: tuple[ir.Value, ir.Value]
) -> tuple[ir.Value, ir.Value]:
    """Twenty rounds."""
    b = w.builder
    schedule = (key[0], key[1], w.xor(key[0], key[1], w.constant32(_THREEFRY_PARITY)))
    x0, x1 = b.add(count[0], schedule[0]), b.add(count[1], schedule[1])
    for group in range(5):
        for rotation in _THREEFRY_ROTATIONS[group % 2]:
            x0 = b.add(x0, x1)
            x1 = w.xor(w.rotate_left(x1, rotation), x0)
        x0 = b.add(x0, schedule[(group + 1) % 3])
        x1 = b.add(b.add(x1, schedule[(group + 2) % 3]), w.constant32(group + 1))
    return x0, x1


def _philox(w: _Words, key: tuple[ir.Value, ir.Value], count: Sequence[ir.Value]) -> list[ir.Value]:
    """Ten rounds; words are least significant first."""
    b = w.builder
    x = list(count)
    k0, k1 = key
    for _ in range(10):
        low0, high0 = w.product(x[0], _PHILOX_MULTIPLIERS[0])
        low1, high1 = w.product(x[2], _PHILOX_MULTIPLIERS[1])
        x = [w.xor(high1, x[1], k0), low1, w.xor(high0, x[3], k1), low0]
        k0 = b.add(k0, w.constant32(_PHILOX_WEYL[0]))
        k1 = b.add(k1, w.constant32(_PHILOX_WEYL[1]))
    return x


def _counted(w: _Words, start: ir.Value) -> ir.Value:
    """start + row-major index."""
    b = w.builder
    flat = b.iota((size_of(w.shape),), w.u64, 0)
    return b.add(b.reshape(flat, w.shape), start)


def threefry_bits(
    builder: Builder, state: ir.Value, shape: Sequence[int], width: int
) -> tuple[ir.Value, ir.Value]:
    """The new state (ui64[2]: key, counter) and words of `width` bits in `shape`."""
    if width == 64:
        w = _Words(builder, shape)
        used = size_of(shape)
        words = w.join(*_threefry_words(w, state))
    else:
        used, words = _threefry_words32(builder, state, shape)
    return _advance(builder, state, used), words


def _threefry_words(w: _Words, state: ir.Value) -> tuple[ir.Value, ir.Value]:
    key = w.halves(w.word(state, 0))
    return _threefry(w, key, w.halves(_counted(w, w.word(state, 1))))


def _threefry_words32(
    builder: Builder, state: ir.Value, shape: Sequence[int]
) -> tuple[int, ir.Value]:
    """Both outputs of a counter are used: they alternate along the first even dimension, else along
    the first largest."""
    if not shape:
        return 1, _threefry_words(_Words(builder, ()), state)[0]
    even = [d for d, size in enumerate(shape) if size % 2 == 0]
    split = even[0] if even else max(range(len(shape)), key=lambda d: (shape[d], -d))
    half = list(shape)
    half[split] = -(-shape[split] // 2)
    w = _Words(builder, half)
    pair = [
        builder.reshape(x, [*half[: split + 1], 1, *half[split + 1 :]])
        for x in _threefry_words(w, state)
    ]
    whole = list(half)
    whole[split] *= 2
    words = builder.reshape(builder.concatenate(pair, split + 1), whole)
    return size_of(half), builder.slice(words, [0] * len(shape), shape)


def _advance(builder: Builder, state: ir.Value, used: int) -> ir.Value:
    w = _Words(builder, (1,))
    key = builder.slice_dimension(state, 0, 0, 1)
    counter = builder.slice_dimension(state, 0, 1, 2)
    return builder.concatenate([key, builder.add(counter, w.constant64(used))], 0)


def _add_128(
    w: _Words, low: ir.Value, high: ir.Value, amount: ir.Value
) -> tuple[ir.Value, ir.Value]:
    b = w.builder
    total = b.add(low, amount)
    carry = b.convert(b.compare(total, low, "LT"), w.u64)
    return total, b.add(high, carry)


def philox_bits(
    builder: Builder, state: ir.Value, shape: Sequence[int], width: int
) -> tuple[ir.Value, ir.Value]:
    """The new state (ui64[2 or 3]: key, counter) and words of `width` bits in `shape`."""
    words_in_state = shape_of(state)[0]
    # A state of two words keeps only the counter's high word.
    low_index, high_index = (1, 2) if words_in_state >= 3 else (1, 0)
    size = size_of(shape)
    vectors = -(-size * (2 if width == 64 else 1) // 4)
    w = _Words(builder, (vectors,))
    low, high = _add_128(
        w,
        w.word(state, low_index),
        w.word(state, high_index),
        builder.iota((vectors,), w.u64, 0),
    )
    outputs = _philox(w, w.halves(w.word(state, 0)), [*w.halves(low), *w.halves(high)])
    words = outputs
    if width == 64:
        words = [w.join(outputs[0], outputs[1]), w.join(outputs[2], outputs[3])]
    columns = [builder.reshape(word, (vectors, 1)) for word in words]
    flat = builder.reshape(builder.concatenate(columns, 1), (vectors * len(words),))
    bits = builder.reshape(builder.slice_dimension(flat, 0, 0, size), shape)
    return _advance_philox(builder, state, vectors, low_index, high_index), bits


def _advance_philox(
    builder: Builder, state: ir.Value, vectors: int, low_index: int, high_index: int
) -> ir.Value:
    w = _Words(builder, (1,))
    key, low, high = (
        builder.slice_dimension(state, 0, index, index + 1) for index in (0, low_index, high_index)
    )
    new_low, new_high = _add_128(w, low, high, w.constant64(vectors))
    parts = [key, new_low, new_high] if shape_of(state)[0] >= 3 else [key, new_low]
    return builder.concatenate(parts, 0)
