"""dot_general, ragged_dot and convolution against einsum, XLA and exact integers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from jax import lax
from reference_oracles import random_floats, xla

from hlo.reference import contraction, convolution
from hlo.reference.contraction import DotDimensionNumbers, RaggedDotDimensionNumbers
from hlo.reference.convolution import ConvDimensionNumbers

DOTS = [
    ((3, 4), (4, 5), DotDimensionNumbers((), (), (1,), (0,)), "ab,bc->ac"),
    ((4, 3), (5, 4), DotDimensionNumbers((), (), (0,), (1,)), "ba,cb->ac"),
    ((2, 3, 4), (4, 2, 5), DotDimensionNumbers((0,), (1,), (2,), (0,)), "zab,bzc->zac"),
    ((2, 3, 4), (3, 5, 4), DotDimensionNumbers((), (), (2, 1), (2, 0)), "zab,acb->zc"),
    ((4,), (4,), DotDimensionNumbers((), (), (0,), (0,)), "a,a->"),
    ((2, 3), (4,), DotDimensionNumbers(), "ab,c->abc"),
    ((3, 0), (0, 5), DotDimensionNumbers((), (), (1,), (0,)), "ab,bc->ac"),
]


@pytest.mark.parametrize("case", range(len(DOTS)))
@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint32, np.float32, ml_dtypes.bfloat16, np.complex64]
)
def test_dot_general_matches_einsum(case: int, dtype: object) -> None:
    lhs_shape, rhs_shape, numbers, config = DOTS[case]
    if np.dtype(dtype).kind in "iu":
        generator = np.random.default_rng(case)
        lhs = generator.integers(0, 100, lhs_shape).astype(dtype)
        rhs = generator.integers(0, 100, rhs_shape).astype(dtype)
        expected = np.einsum(config, lhs.astype(np.int64), rhs.astype(np.int64)).astype(dtype)
    else:
        lhs, rhs = random_floats(lhs_shape, dtype, 1), random_floats(rhs_shape, dtype, 2)
        wide = np.complex128 if dtype is np.complex64 else np.float64
        expected = np.einsum(config, lhs.astype(wide), rhs.astype(wide)).astype(dtype)
    found = contraction.dot_general(lhs, rhs, dot_dimension_numbers=numbers)
    assert found.dtype == np.dtype(dtype)
    # The order of a float64 sum may move the one rounding of the narrow result by a place.
    tolerance = 0 if np.dtype(dtype).kind in "iu" else 1e-2 if found.itemsize == 2 else 1e-6
    np.testing.assert_allclose(
        found.astype(np.complex128), np.asarray(expected).astype(np.complex128), rtol=tolerance
    )


def test_dot_accumulates_in_the_result_type() -> None:
    lhs = np.full((1, 300), 100, np.int8)
    numbers = DotDimensionNumbers((), (), (1,), (0,))
    found = contraction.dot_general(
        lhs, lhs.T, dot_dimension_numbers=numbers, dtype=np.dtype(np.int32)
    )
    assert found[0, 0] == 300 * 100 * 100
    wrapped = contraction.dot_general(lhs, lhs.T, dot_dimension_numbers=numbers)
    assert wrapped[0, 0] == np.int64(3_000_000).astype(np.int8)


def test_wide_integer_dots_are_exact_modulo_the_width() -> None:
    generator = np.random.default_rng(0)
    lhs = generator.integers(-(2**63), 2**63, (3, 4))
    rhs = generator.integers(-(2**63), 2**63, (4, 2))
    numbers = DotDimensionNumbers((), (), (1,), (0,))
    exact = lhs.astype(object) @ rhs.astype(object)
    expected = [(int(x) + 2**63) % 2**64 - 2**63 for x in exact.reshape(-1)]
    found = contraction.dot_general(lhs, rhs, dot_dimension_numbers=numbers)
    assert found.reshape(-1).tolist() == expected


def test_boolean_dot_is_or_of_ands() -> None:
    lhs = np.array([[True, False], [False, False]])
    rhs = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(contraction.dot(lhs, rhs), [[True, False], [False, False]])


def test_dot_and_einsum() -> None:
    lhs, rhs = random_floats((3, 4), np.float32, 1), random_floats((4, 5), np.float32, 2)
    expected = (lhs.astype(np.float64) @ rhs).astype(np.float32)
    np.testing.assert_allclose(contraction.dot(lhs, rhs), expected, rtol=1e-6)
    np.testing.assert_allclose(
        contraction.einsum(lhs, rhs, einsum_config="ab,bc->ac"), expected, rtol=1e-6
    )
    np.testing.assert_allclose(
        contraction.einsum(lhs, einsum_config="ab->b"), lhs.sum(0, np.float64), rtol=1e-6
    )


GROUPS = np.array([2, 0, 3], np.int32)


def test_ragged_rows_meet_their_own_matrix() -> None:
    lhs, rhs = random_floats((7, 4), np.float32, 1), random_floats((3, 4, 5), np.float32, 2)
    numbers = RaggedDotDimensionNumbers(DotDimensionNumbers((), (), (1,), (1,)), (0,), (0,))
    found = contraction.ragged_dot(lhs, rhs, GROUPS, ragged_dot_dimension_numbers=numbers)
    expected = np.zeros((7, 5), np.float64)
    expected[:2] = lhs[:2].astype(np.float64) @ rhs[0]
    expected[2:5] = lhs[2:5].astype(np.float64) @ rhs[2]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_ragged_contraction_gives_a_product_a_group() -> None:
    lhs, rhs = random_floats((4, 5), np.float32, 1), random_floats((5, 6), np.float32, 2)
    numbers = RaggedDotDimensionNumbers(DotDimensionNumbers((), (), (1,), (0,)), (1,), ())
    found = contraction.ragged_dot(lhs, rhs, GROUPS, ragged_dot_dimension_numbers=numbers)
    bounds = [(0, 2), (2, 2), (2, 5)]
    expected = [lhs[:, a:b].astype(np.float64) @ rhs[a:b] for a, b in bounds]
    np.testing.assert_allclose(found, np.stack(expected), rtol=1e-6)


def test_ragged_groups_may_differ_by_batch() -> None:
    lhs, rhs = random_floats((2, 7, 4), np.float32, 1), random_floats((3, 2, 4, 5), np.float32, 2)
    sizes = np.array([[2, 0, 3], [1, 1, 5]], np.int32)
    numbers = RaggedDotDimensionNumbers(DotDimensionNumbers((0,), (1,), (2,), (2,)), (1,), (0,))
    found = contraction.ragged_dot(lhs, rhs, sizes, ragged_dot_dimension_numbers=numbers)
    single = RaggedDotDimensionNumbers(DotDimensionNumbers((), (), (1,), (1,)), (0,), (0,))
    for batch in range(2):
        part = contraction.ragged_dot(
            lhs[batch], rhs[:, batch], sizes[batch], ragged_dot_dimension_numbers=single
        )
        np.testing.assert_array_equal(found[batch], part)


CONVOLUTIONS = [
    ("NCHW", "OIHW", "NCHW", (2, 4, 7, 6), (3, 4, 3, 2), {}),
    ("NHWC", "HWIO", "NHWC", (2, 7, 6, 4), (3, 2, 4, 3), {"window_strides": (2, 3)}),
    ("NHWC", "HWIO", "NCHW", (1, 7, 6, 2), (3, 2, 2, 4), {"padding": [(1, 2), (-1, 3)]}),
    ("NHWC", "HWIO", "NHWC", (1, 5, 5, 2), (3, 3, 2, 4), {"lhs_dilation": (2, 3)}),
    ("NHWC", "HWIO", "NHWC", (1, 9, 9, 2), (3, 3, 2, 4), {"rhs_dilation": (3, 2)}),
    ("NHWC", "HWIO", "NHWC", (2, 6, 6, 6), (3, 3, 2, 9), {"feature_group_count": 3}),
    ("NHWC", "HWIO", "NHWC", (6, 6, 6, 2), (3, 3, 2, 6), {"batch_group_count": 3}),
    ("NHWC", "HWIO", "NHWC", (2, 2, 2, 2), (3, 3, 2, 4), {}),
    ("NC", "OI", "NC", (3, 4), (5, 4), {}),
    ("NCHWD", "OIHWD", "NCHWD", (1, 2, 4, 4, 4), (3, 2, 2, 2, 2), {"padding": [(1, 1)] * 3}),
]


def conv_numbers(lhs: str, rhs: str, out: str) -> ConvDimensionNumbers:
    spatial = [letter for letter in lhs if letter not in "NC"]
    return ConvDimensionNumbers(
        lhs.index("N"),
        lhs.index("C"),
        tuple(lhs.index(letter) for letter in spatial),
        rhs.index("I"),
        rhs.index("O"),
        tuple(rhs.index(letter) for letter in spatial),
        out.index("N"),
        out.index("C"),
        tuple(out.index(letter) for letter in spatial),
    )


@pytest.mark.parametrize("case", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.complex64])
def test_convolution_matches_xla(case: int, dtype: type) -> None:
    lhs_order, rhs_order, out_order, lhs_shape, rhs_shape, options = CONVOLUTIONS[case]
    lhs, rhs = random_floats(lhs_shape, dtype, 1, 4), random_floats(rhs_shape, dtype, 2, 4)
    rank = len(lhs_shape) - 2
    defaults = {"window_strides": (1,) * rank, "padding": [(0, 0)] * rank}
    (expected,) = xla(
        lambda x, y: lax.conv_general_dilated(
            x, y, **{**defaults, **options}, dimension_numbers=(lhs_order, rhs_order, out_order)
        ),
        lhs,
        rhs,
    )
    found = convolution.convolution(
        lhs, rhs, dimension_numbers=conv_numbers(lhs_order, rhs_order, out_order), **options
    )
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_window_reversal_flips_the_kernel() -> None:
    lhs, rhs = random_floats((1, 6, 6, 2), np.float32), random_floats((3, 3, 2, 4), np.float32, 1)
    numbers = conv_numbers("NHWC", "HWIO", "NHWC")
    found = convolution.convolution(
        lhs, rhs, dimension_numbers=numbers, window_reversal=(True, False)
    )
    flipped = convolution.convolution(lhs, rhs[::-1], dimension_numbers=numbers)
    np.testing.assert_array_equal(found, flipped)


def test_convolution_of_bytes_accumulates_in_the_result_type() -> None:
    numbers = conv_numbers("NHWC", "HWIO", "NHWC")
    ones = np.full((1, 3, 3, 8), 127, np.int8)
    found = convolution.convolution(
        ones, ones.reshape(3, 3, 8, 1), dimension_numbers=numbers, dtype=np.dtype(np.int32)
    )
    assert found.reshape(()) == 72 * 127 * 127


def test_dynamic_convolution_takes_its_padding_as_an_operand() -> None:
    numbers = conv_numbers("NHWC", "HWIO", "NHWC")
    lhs, rhs = random_floats((1, 6, 6, 2), np.float32), random_floats((3, 3, 2, 4), np.float32, 1)
    padding = np.array([[1, 2], [0, 1]])
    found = convolution.dynamic_conv(lhs, rhs, padding, dimension_numbers=numbers)
    expected = convolution.convolution(
        lhs, rhs, dimension_numbers=numbers, padding=[(1, 2), (0, 1)]
    )
    np.testing.assert_array_equal(found, expected)


def test_convolution_without_output_elements_is_empty() -> None:
    numbers = ConvDimensionNumbers(0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
    found = convolution.convolution(
        np.ones((2, 5, 3), np.float32), np.ones((3, 3, 4), np.float32),
        dimension_numbers=numbers, padding=[(-3, 0)], window_strides=[2],
    )  # fmt: skip
    assert found.shape == (2, 0, 4)
