"""Shapes, slices, padding, iota and their dynamic variants, by NumPy, XLA and definition."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from jax import lax
from reference_oracles import assert_same, xla

from hlo.reference import data_movement

CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def test_broadcast_in_dim_may_permute_and_expand() -> None:
    operand = np.arange(6, dtype=np.int8).reshape(2, 3)
    found = data_movement.broadcast_in_dim(operand, shape=(3, 5, 2), broadcast_dimensions=(2, 0))
    np.testing.assert_array_equal(found, np.broadcast_to(operand.T[:, None, :], (3, 5, 2)))
    ones = data_movement.broadcast_in_dim(
        np.ones((1, 3), np.int8), shape=(4, 3), broadcast_dimensions=(0, 1)
    )
    assert ones.shape == (4, 3)
    scalar = data_movement.broadcast_in_dim(np.int8(7), shape=(0, 2), broadcast_dimensions=())
    assert scalar.shape == (0, 2)


def test_slice_and_reverse_and_transpose() -> None:
    found = data_movement.slice_(
        CUBE, start_indices=(0, 1, 0), limit_indices=(2, 3, 4), strides=(1, 1, 3)
    )
    np.testing.assert_array_equal(found, CUBE[0:2, 1:3, 0:4:3])
    np.testing.assert_array_equal(
        data_movement.reverse(CUBE, dimensions=(0, 2)), CUBE[::-1, :, ::-1]
    )
    np.testing.assert_array_equal(
        data_movement.transpose(CUBE, permutation=(2, 0, 1)), CUBE.transpose(2, 0, 1)
    )


@pytest.mark.parametrize("index_type", [np.int8, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("start", [0, 3, 100])
def test_dynamic_slice_clamps(index_type: type, start: int) -> None:
    operand = np.arange(9, dtype=np.float32)
    found = data_movement.dynamic_slice(operand, np.asarray(start, index_type), slice_sizes=(4,))
    first = min(start, 5)
    np.testing.assert_array_equal(found, operand[first : first + 4])


def test_dynamic_slice_reads_unsigned_indices_as_unsigned() -> None:
    found = data_movement.dynamic_slice(np.arange(200), np.uint8(128), slice_sizes=(1,))
    np.testing.assert_array_equal(found, [128])


def test_dynamic_slice_clamps_negative_starts() -> None:
    found = data_movement.dynamic_slice(np.arange(9), np.int32(-5), slice_sizes=(2,))
    np.testing.assert_array_equal(found, [0, 1])


def test_dynamic_update_slice_clamps_and_copies() -> None:
    operand = np.zeros((3, 4), np.int16)
    update = np.ones((2, 2), np.int16)
    found = data_movement.dynamic_update_slice(operand, update, np.int32(5), np.int32(-1))
    expected = np.zeros((3, 4), np.int16)
    expected[1:3, 0:2] = 1
    np.testing.assert_array_equal(found, expected)
    assert not operand.any()


def spread_extent(extent: int, interior: int) -> int:
    return extent + max(extent - 1, 0) * interior


PADDINGS = [
    (extent, interior, low, high)
    for extent, interior, low, high in itertools.product(
        [0, 1, 4], [0, 1, 3], [-3, -1, 0, 2], [-3, -1, 0, 2]
    )
    if low + spread_extent(extent, interior) + high >= 0
]


@pytest.mark.parametrize(("extent", "interior", "low", "high"), PADDINGS)
def test_pad_matches_its_definition(extent: int, interior: int, low: int, high: int) -> None:
    size = low + spread_extent(extent, interior) + high
    operand = np.arange(1, extent + 1, dtype=np.int32)
    expected = np.full(size, -9, np.int32)
    for position, value in enumerate(operand):
        target = low + position * (interior + 1)
        if 0 <= target < size:
            expected[target] = value
    found = data_movement.pad(
        operand,
        np.int32(-9),
        edge_padding_low=(low,),
        edge_padding_high=(high,),
        interior_padding=(interior,),
    )
    np.testing.assert_array_equal(found, expected)


def test_pad_in_several_dimensions_matches_xla() -> None:
    config = [(-1, 2, 1), (1, -2, 0), (0, 0, 2)]
    operand = CUBE.astype(np.float32)
    (expected,) = xla(lambda x: lax.pad(x, np.float32(0.5), config), operand)
    found = data_movement.pad(
        operand,
        np.float32(0.5),
        edge_padding_low=[low for low, _, _ in config],
        edge_padding_high=[high for _, high, _ in config],
        interior_padding=[interior for _, _, interior in config],
    )
    assert_same(found, expected)


def test_concatenate_with_an_empty_operand() -> None:
    empty = np.zeros((2, 0), np.float16)
    part = np.ones((2, 3), np.float16)
    assert_same(
        data_movement.concatenate(empty, part, part, dimension=1), np.ones((2, 6), np.float16)
    )


@pytest.mark.parametrize(
    "dtype",
    [np.int8, np.uint64, ml_dtypes.int4, ml_dtypes.bfloat16, np.float32, np.complex64, np.float16],
)
def test_iota_of_every_kind(dtype: object) -> None:
    found = data_movement.iota(shape=(3, 5), dtype=np.dtype(dtype), iota_dimension=1)
    expected = np.broadcast_to(np.arange(5), (3, 5)).astype(dtype)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found.astype(np.complex64), expected.astype(np.complex64))


def test_iota_wraps_and_rounds() -> None:
    bytes_ = data_movement.iota(shape=(300,), dtype=np.dtype(np.int8), iota_dimension=0)
    np.testing.assert_array_equal(bytes_, np.arange(300).astype(np.int8))
    halves = data_movement.iota(shape=(300,), dtype=np.dtype(ml_dtypes.bfloat16), iota_dimension=0)
    # 257 lies halfway between 256 and 258: to even.
    assert float(halves[257]) == 256


def test_dynamic_variants_take_their_shapes_as_operands() -> None:
    shape = np.array([4, 6], np.int32)
    np.testing.assert_array_equal(data_movement.dynamic_reshape(CUBE, shape), CUBE.reshape(4, 6))
    iota = data_movement.dynamic_iota(shape, dtype=np.dtype(np.int32), iota_dimension=0)
    np.testing.assert_array_equal(iota[:, 0], np.arange(4))
    row = data_movement.dynamic_broadcast_in_dim(
        np.arange(6), np.array([4, 6]), broadcast_dimensions=(1,)
    )
    np.testing.assert_array_equal(row, np.broadcast_to(np.arange(6), (4, 6)))
    padded = data_movement.dynamic_pad(
        np.arange(3), np.asarray(0), np.array([1]), np.array([0]), np.array([1])
    )
    np.testing.assert_array_equal(padded, [0, 0, 0, 1, 0, 2])
    part = data_movement.real_dynamic_slice(
        CUBE, np.array([0, 1, 0]), np.array([1, 3, 4]), np.array([1, 1, 2])
    )
    np.testing.assert_array_equal(part, CUBE[0:1, 1:3, 0:4:2])


def test_dimension_sizes() -> None:
    assert_same(data_movement.get_dimension_size(CUBE, dimension=1), np.asarray(3, np.int32))
    np.testing.assert_array_equal(
        data_movement.set_dimension_size(CUBE, np.int32(2), dimension=1), CUBE[:, :2]
    )
