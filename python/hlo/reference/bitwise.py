"""Bitwise and shift operations on integers and booleans, of one element type, broadcasting as in
NumPy.
"""

from __future__ import annotations

import numpy as np

from hlo.reference.element_types import Array, bit_width, storage_type, wrap_integers, wrapped


def and_(lhs: Array, rhs: Array) -> Array:
    """Bitwise, or logical of booleans, and."""
    return wrapped(np.bitwise_and, lhs, rhs)


def or_(lhs: Array, rhs: Array) -> Array:
    """Bitwise, or logical of booleans, or."""
    return wrapped(np.bitwise_or, lhs, rhs)


def xor(lhs: Array, rhs: Array) -> Array:
    """Bitwise, or logical of booleans, exclusive or."""
    return wrapped(np.bitwise_xor, lhs, rhs)


def not_(operand: Array) -> Array:
    """Bitwise, or logical of booleans, complement."""
    return wrapped(np.invert, operand)


def _unsigned_bits(operand: Array) -> Array:
    """The element's bits as an unsigned integer, upper bits of a sub-byte element zero."""
    storage = storage_type(operand.dtype)
    unsigned = np.dtype(f"u{storage.itemsize}")
    bits = operand.astype(storage).astype(unsigned)
    return bits & unsigned.type((1 << bit_width(operand.dtype)) - 1)


def _in_range(amount: Array) -> tuple[Array, Array]:
    """The shift amount made safe, and whether it was below the width.

    A negative amount never is.
    """
    unsigned = _unsigned_bits(amount)
    fits = unsigned < bit_width(amount.dtype)
    return np.where(fits, unsigned, 0).astype(unsigned.dtype), fits


def shift_left(lhs: Array, rhs: Array) -> Array:
    """lhs << rhs; zero once the amount reaches the width."""
    amount, fits = _in_range(rhs)
    shifted = np.where(fits, _unsigned_bits(lhs) << amount, 0)
    return wrap_integers(shifted, lhs.dtype)


def shift_right_logical(lhs: Array, rhs: Array) -> Array:
    """lhs >> rhs with zeros shifted in; zero once the amount reaches the width."""
    amount, fits = _in_range(rhs)
    shifted = np.where(fits, _unsigned_bits(lhs) >> amount, 0)
    return wrap_integers(shifted, lhs.dtype)


def shift_right_arithmetic(lhs: Array, rhs: Array) -> Array:
    """lhs >> rhs with copies of the sign bit shifted in, also once the amount reaches the width."""
    amount, fits = _in_range(rhs)
    bits = bit_width(lhs.dtype)
    signed = np.dtype(f"i{storage_type(lhs.dtype).itemsize}")
    spare = signed.itemsize * 8 - bits
    values = (_unsigned_bits(lhs).astype(signed) << spare) >> spare
    shifted = values >> np.where(fits, amount, bits - 1).astype(signed)
    return wrap_integers(shifted, lhs.dtype)


def popcnt(operand: Array) -> Array:
    """Number of bits that are set."""
    return wrap_integers(np.asarray(np.bitwise_count(_unsigned_bits(operand))), operand.dtype)


def count_leading_zeros(operand: Array) -> Array:
    """Number of zero bits above the highest set bit; the width for zero."""
    bits = _unsigned_bits(operand)
    count = np.zeros(bits.shape, np.int64)
    for shift in range(bit_width(operand.dtype)):
        count += (bits >> bits.dtype.type(shift)) == 0
    return wrap_integers(count, operand.dtype)
