"""Results are compared by value: NaN with NaN, integers exactly, floating point relative."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from hlo.driver.comparison import Tolerance, compare, compare_all, default_tolerance

STRICT = Tolerance()


def test_equal_special_values_match() -> None:
    values = np.float32([1.0, np.nan, np.inf, -np.inf, -0.0])
    found = compare(values, values.copy(), STRICT)
    assert found.matches
    assert found.max_relative_error == 0.0


@pytest.mark.parametrize(
    ("found", "expected"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (np.inf, 1.0)]
)
def test_a_nan_or_infinity_on_one_side_is_a_mismatch(found: float, expected: float) -> None:
    comparison = compare(np.float32([0.0, found]), np.float32([0.0, expected]), STRICT)
    assert comparison.mismatches == 1
    assert math.isinf(comparison.max_absolute_error)
    assert "at [1]" in comparison.complaint


def test_relative_error_is_measured_against_the_element() -> None:
    # |1000.05 - 1000| / 1000 = 5e-5, inside 1e-4; |1000.2 - 1000| / 1000 = 2e-4, outside.
    assert compare(np.float32([1000.05]), np.float32([1000.0]), STRICT).matches
    assert not compare(np.float32([1000.2]), np.float32([1000.0]), STRICT).matches


def test_small_elements_are_measured_against_their_array_but_never_against_more_than_one() -> None:
    # 1e-5 / max(0, min(1, 1000)) = 1e-5 is inside 1e-4; 1e-3 is outside, 1000 in the array or not.
    assert compare(np.float32([1e-5, 1000]), np.float32([0, 1000]), STRICT).matches
    assert not compare(np.float32([1e-3, 1000]), np.float32([0, 1000]), STRICT).matches
    # In an array of size 1e-6 an error of 1e-8 is 1e-2.
    assert not compare(np.float32([1.01e-6]), np.float32([1e-6]), STRICT).matches


def test_integers_are_exact_past_the_precision_of_float64() -> None:
    comparison = compare(np.int64([2**60 + 1]), np.int64([2**60]), STRICT)
    assert comparison.mismatches == 1
    assert comparison.max_absolute_error == 1.0


def test_narrow_integers_are_exact() -> None:
    dtype = np.dtype(ml_dtypes.int4)
    assert default_tolerance(dtype) == 0.0
    assert compare(np.array([1, -8], dtype), np.array([1, -8], dtype), STRICT).matches
    assert not compare(np.array([1, -7], dtype), np.array([1, -8], dtype), STRICT).matches


def test_complex_parts_are_measured_against_the_magnitude() -> None:
    expected = np.complex64([1000 + 0j])
    assert compare(np.complex64([1000 + 0.05j]), expected, STRICT).matches
    assert not compare(np.complex64([1000 + 0.5j]), expected, STRICT).matches
    assert not compare(np.complex64([complex(1000, np.nan)]), expected, STRICT).matches


def test_bfloat16_has_its_own_tolerance() -> None:
    dtype = np.dtype(ml_dtypes.bfloat16)
    assert compare(np.array([1.0078125], dtype), np.array([1.0], dtype), STRICT).matches
    assert not compare(np.array([1.0625], dtype), np.array([1.0], dtype), STRICT).matches


def test_tolerances_given_replace_the_default() -> None:
    found, expected = np.float32([1.001]), np.float32([1.0])
    assert compare(found, expected, Tolerance(relative=1e-2)).matches
    assert compare(found, expected, Tolerance(absolute=1e-2)).matches
    assert not compare(found, expected, Tolerance(relative=1e-5)).matches


def test_shape_dtype_and_count_must_agree() -> None:
    assert not compare(np.zeros((2, 1), np.float32), np.zeros(2, np.float32), STRICT).matches
    assert not compare(np.zeros(2, np.float64), np.zeros(2, np.float32), STRICT).matches
    (comparison,) = compare_all([np.zeros(2)], [], STRICT)
    assert not comparison.matches


def test_empty_results_match() -> None:
    assert compare(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), STRICT).matches


def test_an_element_within_the_spread_of_the_peer_is_ill_conditioned() -> None:
    found, expected = np.float32([1.0, 2.0]), np.float32([1.003, 2.0])
    # 0.003 <= 8 * 0.0005; 0.003 > 8 * 0.0003 (the level is 0.0003 / sqrt(2), less).
    wide = compare(found, expected, STRICT, np.array([0.0005, 0.0]))
    assert wide.matches and wide.ill_conditioned == 1
    narrow = compare(found, expected, STRICT, np.array([0.0003, 0.0]))
    assert narrow.mismatches == 1 and narrow.ill_conditioned == 0


def test_spreads_excuse_neither_integers_nor_nan_nor_many_elements() -> None:
    wide = [np.full(2, 100.0)]
    integers = compare(np.int32([1, 2]), np.int32([1, 3]), STRICT, wide[0])
    assert integers.mismatches == 1
    assert compare(np.float32([np.nan, 2]), np.float32([1, 2]), STRICT, wide[0]).mismatches == 1
    # 20 of 100 elements are more than a tenth: the spreads are not even asked for.
    found, expected = np.zeros(100, np.float32), np.zeros(100, np.float32)
    expected[:20] = 1
    (many,) = compare_all([found], [expected], STRICT, lambda: [np.full(100, 100.0)])
    assert many.mismatches == 20
