"""Conversions by value, by bits and to fewer bits; comparison, total order and selection."""

from __future__ import annotations

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from jax import lax
from reference_oracles import (
    FLOATS,
    INTEGERS,
    SMALL_FLOATS,
    SUB_BYTE,
    assert_same,
    corner_floats,
    corner_integers,
    integer_range,
    nearest,
    pairs,
    values_of,
    xla,
)

from hlo.reference import comparison, conversion


def convert(values: np.ndarray, dtype: object) -> np.ndarray:
    return conversion.convert(values, dtype=np.dtype(dtype))


@pytest.mark.parametrize("target", [*INTEGERS, *SUB_BYTE])
@pytest.mark.parametrize("source", [*INTEGERS, *SUB_BYTE])
def test_integers_convert_modulo_the_width(source: object, target: object) -> None:
    values = corner_integers(source)
    low, high = integer_range(target)
    expected = [(int(x) - low) % (high - low + 1) + low for x in values]
    assert [int(x) for x in convert(values, target)] == expected


@pytest.mark.parametrize("source", [*FLOATS, *SMALL_FLOATS])
@pytest.mark.parametrize("target", [*INTEGERS, *SUB_BYTE])
def test_floats_truncate_and_saturate_to_integers(source: object, target: object) -> None:
    values = (
        np.array([v for _, v in values_of(source)])
        if source in SMALL_FLOATS
        else np.concatenate([corner_floats(source), np.array([-7.9, 7.9, 130.5]).astype(source)])
    )
    low, high = integer_range(target)
    expected = []
    for value in values.astype(np.float64):
        if np.isnan(value):
            expected.append(0)
        elif np.isinf(value):
            expected.append(high if value > 0 else low)
        else:
            expected.append(min(max(int(value), low), high))
    assert [int(x) for x in convert(values, target)] == expected


@pytest.mark.parametrize("target", SMALL_FLOATS)
@pytest.mark.parametrize("source", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_floats_round_to_the_nearest_small_float(source: object, target: object) -> None:
    largest = float(values_of(target)[-1][0])
    values = np.random.default_rng(5).uniform(-largest, largest, 300).astype(source)
    values = np.concatenate([values, (values.astype(np.float64) / 64).astype(source)])
    for value, found in zip(values, convert(values, target), strict=True):
        if abs(float(value)) <= largest:
            assert Fraction(float(found)) == nearest(Fraction(float(value)), target)


@pytest.mark.parametrize("target", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("source", [np.int32, np.int64, np.uint64])
def test_integers_round_once_to_floats(source: object, target: object) -> None:
    low, high = integer_range(source)
    # Just above a tie of bfloat16: by way of float32 or float64 the tie would be reached and go
    # to even.
    near_ties = [(257 << (b - 8)) + 1 for b in range(9, high.bit_length())]
    numbers = [low, low + 1, 0, 1, high, high - 1, *near_ties]
    found = convert(np.array(numbers, source), target)
    digits = ml_dtypes.finfo(target).nmant + 1
    for number, value in zip(numbers, found, strict=True):
        if np.isinf(float(value)):
            assert target is np.float16
            continue
        exact = abs(number)
        shift = max(exact.bit_length() - digits, 0)
        down = exact >> shift << shift
        rest = exact - down
        half = (1 << shift) // 2
        up = rest > half or (rest == half and shift > 0 and (exact >> shift) % 2 == 1)
        rounded = down + (1 << shift if up else 0)
        assert int(float(value)) == (rounded if number >= 0 else -rounded)


def test_booleans_and_complex() -> None:
    assert_same(
        convert(np.array([0.0, -0.0, 2.0, np.nan], np.float32), np.bool_),
        np.array([False, False, True, True]),
    )
    for dtype in (*INTEGERS, *SUB_BYTE, *FLOATS, *SMALL_FLOATS):
        assert [int(x) for x in convert(np.array([False, True]), dtype)] == [0, 1]
    assert convert(np.complex64(3 - 4j), np.float16) == 3
    assert convert(np.int32(-3), np.complex128) == -3
    # The imaginary part does not count.
    assert not convert(np.complex64(4j), np.bool_)


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int16, np.float32, ml_dtypes.bfloat16, np.complex64]
)
def test_bitcast_to_bytes_is_little_endian(dtype: object) -> None:
    values = np.arange(6).astype(dtype).reshape(2, 3)
    found = conversion.bitcast_convert(values, dtype=np.dtype(np.uint8))
    raw = np.frombuffer(values.tobytes(), np.uint8)
    width = values.dtype.itemsize
    expected = raw.reshape(2, 3) if width == 1 else raw.reshape(2, 3, width)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(conversion.bitcast_convert(found, dtype=values.dtype), values)


@pytest.mark.parametrize("narrow", [*SUB_BYTE])
def test_bitcast_of_sub_byte_integers_round_trips(narrow: object) -> None:
    values = np.arange(256, dtype=np.uint8)
    parts = conversion.bitcast_convert(values, dtype=np.dtype(narrow))
    bits = ml_dtypes.iinfo(narrow).bits
    assert parts.shape == (256, 8 // bits)
    low = (values & ((1 << bits) - 1)).astype(int)
    np.testing.assert_array_equal(parts[:, 0].astype(int) % (1 << bits), low)
    np.testing.assert_array_equal(conversion.bitcast_convert(parts, dtype=values.dtype), values)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize(
    ("exponent_bits", "mantissa_bits"), [(5, 10), (8, 7), (4, 3), (8, 2), (2, 1)]
)
def test_reduce_precision_matches_xla(
    dtype: object, exponent_bits: int, mantissa_bits: int
) -> None:
    generator = np.random.default_rng(6)
    spread = generator.normal(0, 1, 300) * 2.0 ** generator.integers(-12, 12, 300)
    values = np.concatenate([spread.astype(dtype), corner_floats(dtype)])
    (expected,) = xla(lambda x: lax.reduce_precision(x, exponent_bits, mantissa_bits), values)
    found = conversion.reduce_precision(
        values, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )
    assert_same(found, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_reduce_precision_without_mantissa_rounds_ties_to_even_exponents(dtype: type) -> None:
    values = np.array([3.0, -3.0, 6.0, 1.5, 12.0, 0.75], dtype)
    (expected,) = xla(lambda x: lax.reduce_precision(x, 5, 0), values)
    found = conversion.reduce_precision(values, exponent_bits=5, mantissa_bits=0)
    np.testing.assert_array_equal(found, expected)


def test_reduce_precision_without_mantissa_has_no_nan() -> None:
    found = conversion.reduce_precision(np.float32(np.nan), exponent_bits=5, mantissa_bits=0)
    assert np.isposinf(found)


def test_complex_parts() -> None:
    values = np.array([1 + 2j, -3j], np.complex64)
    assert_same(conversion.real(values), np.array([1, -0.0], np.float32))
    assert_same(conversion.imag(values), np.array([2, -3], np.float32))
    parts = conversion.complex_(conversion.real(values), conversion.imag(values))
    assert_same(parts, values)
    assert_same(conversion.conj(values), np.conj(values))
    assert_same(conversion.imag(np.float32([1])), np.float32([0]))


DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint32, np.int64])
def test_comparison_matches_xla(direction: str, dtype: object) -> None:
    is_integer = np.dtype(dtype).kind in "iu"
    lhs, rhs = pairs(corner_integers(dtype)[::9] if is_integer else corner_floats(dtype))
    (expected,) = xla(getattr(lax, direction.lower()), lhs, rhs)
    assert_same(comparison.compare(lhs, rhs, comparison_direction=direction), expected)


@pytest.mark.parametrize("dtype", [*FLOATS, ml_dtypes.float8_e5m2, ml_dtypes.float6_e2m3fn])
def test_total_order_follows_the_bits(dtype: object) -> None:
    ordered = np.array([-1.0, -0.5, -0.0, 0.0, 0.5, 1.0]).astype(dtype)
    if dtype is not ml_dtypes.float6_e2m3fn:
        ends = np.array([np.inf, np.nan]).astype(dtype)
        ordered = np.concatenate([-ends[::-1], ordered, ends])
    for (i, a), (j, b) in itertools.product(enumerate(ordered), repeat=2):
        less = comparison.compare(
            np.asarray(a), np.asarray(b), comparison_direction="LT", compare_type="TOTALORDER"
        )
        assert bool(less) == (i < j), (a, b)


def test_complex_comparison_is_lexicographic() -> None:
    lhs = np.array([1 + 2j, 1 + 2j, 2 - 1j], np.complex64)
    rhs = np.array([1 + 3j, 1 + 2j, 1 + 9j], np.complex64)
    less = comparison.compare(lhs, rhs, comparison_direction="LT")
    np.testing.assert_array_equal(less, [True, False, False])
    at_least = comparison.compare(lhs, rhs, comparison_direction="GE")
    np.testing.assert_array_equal(at_least, [False, True, True])


def test_select_takes_a_scalar_predicate() -> None:
    left, right = np.arange(4, dtype=np.int16), -np.arange(4, dtype=np.int16)
    np.testing.assert_array_equal(comparison.select(np.array(True), left, right), left)
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(comparison.select(mask, left, right), [0, -1, 2, -3])


def test_is_finite() -> None:
    values = np.array([0.0, np.inf, -np.inf, np.nan, 5.0]).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(comparison.is_finite(values), [True, False, False, False, True])
