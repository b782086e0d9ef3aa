"""Sorting by keys and by comparators, whole and in part, against NumPy's stable sort."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from native_programs import call_library

SIGNED, UNSIGNED, TOTAL, CANONICAL, BF16_CANONICAL = range(5)
COMPARE = ctypes.CFUNCTYPE(
    ctypes.c_uint8, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)
)


def shape_numbers(shape: tuple[int, ...], axis: int) -> list[int]:
    return [int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :]))]


def sort_keys(
    operands: Sequence[np.ndarray],
    axis: int,
    keys: Sequence[tuple[int, int, int]],
    *,
    in_place: bool = False,
) -> list[np.ndarray]:
    results = [a.copy() if in_place else np.empty_like(a) for a in operands]
    inputs = results if in_place else operands
    numbers = [len(operands), *shape_numbers(operands[0].shape, axis), len(keys)]
    numbers += [a.itemsize for a in operands] + [n for key in keys for n in key]
    call_library("hlo_rt_sort_keys", [*inputs, *results], numbers)
    return results


def total_order(x: np.ndarray) -> np.ndarray:
    """Integers that order like the floats' bits in IEEE 754's totalOrder."""
    bits = x.view(f"i{x.itemsize}").astype(object)
    low = -(1 << (8 * x.itemsize - 1))
    return np.where(bits < 0, low - bits - 1, bits)


def sample(dtype: object, shape: tuple[int, ...], seed: int = 0, few: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    d = np.dtype(dtype)  # type: ignore[call-overload]
    bits = rng.integers(0, 256, (*shape, d.itemsize), np.uint8).view(d)[..., 0]
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if few and d.kind in "iu":
        return (bits % 5).astype(d)
    if d.kind not in "iu":
        choice = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1, -1, 1e-40], np.float64)
        with np.errstate(all="ignore"):
            special = choice.astype(d)[rng.integers(0, len(choice), shape)]
            number = rng.normal(size=shape).astype(d)
        return np.where(rng.random(shape) < (0.9 if few else 0.2), special, number)
    return bits


def same_bits(x: np.ndarray, y: np.ndarray) -> None:
    assert x.shape == y.shape
    assert np.ascontiguousarray(x).tobytes() == np.ascontiguousarray(y).tobytes()


INTEGERS = [
    np.bool_,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
SHAPES = [
    ((1,), 0),
    ((17,), 0),
    ((700,), 0),
    ((66_000,), 0),
    ((3, 50, 7), 1),
    ((600, 20), 0),
    ((0, 3), 0),
    ((3, 0), 1),
]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_integers(dtype: object, shape: tuple[int, ...], axis: int) -> None:
    x = sample(dtype, shape)
    order = SIGNED if np.dtype(dtype).kind == "i" else UNSIGNED  # type: ignore[call-overload]
    same_bits(sort_keys([x], axis, [(0, order, 0)])[0], np.sort(x, axis))
    descending = np.flip(np.sort(x, axis), axis)
    same_bits(sort_keys([x], axis, [(0, order, 1)], in_place=True)[0], descending)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("order", [TOTAL, CANONICAL])
@pytest.mark.parametrize("descending", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_floats_alone_and_with_a_payload(
    dtype: object, order: int, descending: int, shape: tuple[int, ...], axis: int
) -> None:
    if dtype is ml_dtypes.bfloat16 and order == CANONICAL:
        order = BF16_CANONICAL
    for few in (False, True):
        x = sample(dtype, shape, few=few)
        payload = np.arange(x.size, dtype=np.int64).reshape(shape)
        if order == TOTAL:
            ranks = total_order(x)
        else:
            y = x.astype(np.float64)
            ranks = np.where(np.isnan(y), 1.5e308, np.clip(y, -1e308, 1e308) + 0.0)
        expected = np.argsort(-ranks if descending else ranks, axis=axis, kind="stable")
        key = (0, order, descending)
        alone = sort_keys([x], axis, [key])[0]
        both = sort_keys([x, payload], axis, [key], in_place=few)
        same_bits(both[1], np.take_along_axis(payload, expected, axis))
        same_bits(both[0], np.take_along_axis(x, expected, axis))
        same_bits(alone, both[0])
        same_bits(sort_keys([x], axis, [key], in_place=True)[0], both[0])


# Around what is sorted by comparisons (24), in registers (128, 256), by two threads (2 x 8192).
EDGES = [
    23,
    24,
    25,
    127,
    128,
    129,
    255,
    256,
    257,
    320,
    513,
    1000,
    8191,
    8193,
    16_384,
    16_385,
    50_001,
]


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_numbers_at_the_edges_of_blocks(dtype: type[np.unsignedinteger], n: int) -> None:
    """The largest number is also what blocks are filled up with."""
    largest = np.iinfo(dtype).max
    rng = np.random.default_rng(n)
    positions = np.arange(n, dtype=np.int32)
    for x in (
        rng.integers(0, largest, n, dtype, endpoint=True),
        rng.integers(0, 3, n).astype(dtype) - dtype(2),  # wraps: 0, largest - 1, largest
        np.arange(n, dtype=dtype)[::-1].copy(),
        np.full(n, largest, dtype),
    ):
        for descending in (False, True):
            order = np.argsort(largest - x if descending else x, kind="stable")
            [alone] = sort_keys([x], 0, [(0, UNSIGNED, descending)])
            same_bits(alone, x[order])
            keys, carried = sort_keys([x, positions], 0, [(0, UNSIGNED, descending)])
            same_bits(keys, x[order])
            same_bits(carried, positions[order])


def test_floats_without_zeros_and_with_one_nan() -> None:
    x = np.random.default_rng(0).normal(size=200_000).astype(np.float32)
    same_bits(sort_keys([x], 0, [(0, CANONICAL, 0)])[0], np.sort(x))
    x[7] = np.nan
    same_bits(sort_keys([x], 0, [(0, CANONICAL, 0)])[0], np.sort(x))


@pytest.mark.parametrize("n", [5, 1000, 100_000])
def test_keys_in_turn(n: int) -> None:
    a = sample(np.int8, (n,), 1, few=True)
    b = sample(np.float32, (n,), 2, few=True)
    c = np.arange(n, dtype=np.complex128)
    sorted_a, sorted_b, sorted_c = sort_keys([a, b, c], 0, [(0, SIGNED, 1), (1, TOTAL, 0)])
    order = np.lexsort((total_order(b).astype(np.int64), -a.astype(int)))
    same_bits(sorted_a, a[order])
    same_bits(sorted_b, b[order])
    same_bits(sorted_c, c[order])


def sort_by(
    before: object, operands: Sequence[np.ndarray], axis: int, in_place: bool = False
) -> list[np.ndarray]:
    results = [a.copy() if in_place else np.empty_like(a) for a in operands]
    numbers = [len(operands), *shape_numbers(operands[0].shape, axis), 1]
    numbers += [a.itemsize for a in operands]
    call_library("hlo_rt_sort", [*(results if in_place else operands), *results], numbers, before)
    return results


@COMPARE
def larger_int32(lhs: object, rhs: object) -> int:
    a = ctypes.c_int32.from_address(lhs[0]).value  # type: ignore[index]
    b = ctypes.c_int32.from_address(rhs[0]).value  # type: ignore[index]
    return 0xFE | (a > b)  # only the lowest bit counts


@pytest.mark.parametrize(
    ("shape", "axis"), [((30,), 0), ((9000,), 0), ((5, 20, 3), 1), ((2, 0), 1)]
)
@pytest.mark.parametrize("in_place", [False, True])
def test_a_comparator_sorts_stably(shape: tuple[int, ...], axis: int, in_place: bool) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.int32)
    payload = np.arange(x.size, dtype=np.int16).reshape(shape)
    order = np.argsort(-x, axis=axis, kind="stable")
    sorted_x, sorted_payload = sort_by(larger_int32, [x, payload], axis, in_place)
    same_bits(sorted_x, np.take_along_axis(x, order, axis))
    same_bits(sorted_payload, np.take_along_axis(payload, order, axis))


@pytest.mark.parametrize("answer", [0, 1])
def test_a_comparator_that_is_no_order_still_permutes(answer: int) -> None:
    x = np.arange(10_000, dtype=np.int32)
    noise = np.random.default_rng(0).integers(0, 2, 1 << 12).tolist()

    @COMPARE
    def constant(lhs: object, rhs: object) -> int:
        return answer

    @COMPARE
    def pseudorandom(lhs: object, rhs: object) -> int:
        a = ctypes.c_int32.from_address(lhs[0]).value  # type: ignore[index]
        b = ctypes.c_int32.from_address(rhs[0]).value  # type: ignore[index]
        return noise[(a * 31 + b * 17 + answer) % len(noise)]

    for comparator in (constant, pseudorandom):
        same_bits(np.sort(sort_by(comparator, [x], 0)[0]), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.float16])
@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize(
    ("shape", "axis", "first"),
    [((10,), 0, 3), ((4, 1000), 1, 10), ((3, 7), 1, 7), ((2, 5), 1, 1), ((3, 100, 7), 1, 9)],
)
def test_the_first_elements_and_where_they_were(
    dtype: object, index: object, shape: tuple[int, ...], axis: int, first: int
) -> None:
    """Positions that are sorted along are no buffer; a result that is not wanted is none."""
    x = sample(dtype, shape, few=True)
    kind = np.dtype(dtype).kind  # type: ignore[call-overload]
    order = {"f": TOTAL, "i": SIGNED, "u": UNSIGNED}[kind]
    part = [*shape[:axis], first, *shape[axis + 1 :]]
    values, indices = np.empty(part, x.dtype), np.empty(part, index)  # type: ignore[call-overload]
    sizes = [x.itemsize, indices.itemsize]
    numbers = [first, 2, *shape_numbers(shape, axis), 1, *sizes, 0, order, 1]
    call_library("hlo_rt_sort_first", [x, None, values, indices], numbers)
    ranks = total_order(x) if kind == "f" else x.astype(np.int64)
    expected = np.argsort(-ranks, axis=axis, kind="stable").take(range(first), axis)
    np.testing.assert_array_equal(indices, expected.astype(index))  # type: ignore[call-overload]
    same_bits(values, np.take_along_axis(x, expected, axis))
    alone = np.empty_like(indices)
    call_library("hlo_rt_sort_first", [x, None, None, alone], numbers)
    same_bits(alone, indices)


@pytest.mark.parametrize("dtype", [np.float32, np.uint32, np.int16, np.uint8])
@pytest.mark.parametrize("first", [1, 2, 8, 16, 17, 64, 65, 200])
def test_the_first_of_many_among_equals(dtype: type[np.generic], first: int) -> None:
    """Keys that fall all the way, or are few, fill what collects the best again and again."""
    n = 3000
    kind = np.dtype(dtype).kind
    rng = np.random.default_rng(first)
    for x in (
        np.arange(n)[::-1].astype(dtype),
        np.arange(n).astype(dtype),
        rng.integers(0, 3, n).astype(dtype),
        np.zeros(n, dtype),
        sample(dtype, (n,), first),
    ):
        for descending in (0, 1):
            indices = np.empty(first, np.int32)
            order = {"f": TOTAL, "i": SIGNED, "u": UNSIGNED}[kind]
            numbers = [first, 2, 1, n, 1, 1, x.itemsize, 4, 0, order, descending]
            call_library("hlo_rt_sort_first", [x, None, None, indices], numbers)
            ranks = (total_order(x) if kind == "f" else x).astype(np.int64)
            expected = np.argsort(-ranks if descending else ranks, kind="stable")[:first]
            np.testing.assert_array_equal(indices, expected)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1, 1, 4, 1, 1, 3, 0, 0, 0], "1, 2, 4, 8 or 16 bytes"),
        ([1, 1, 4, 1, 1, 4, 1, 0, 0], "no such operand"),
        ([1, 1, 4, 1, 1, 4, 0, 9, 0], "no such operand, order"),
        ([1, 1, -4, 1, 1, 4, 0, 0, 0], "out of range"),
        ([1, 1, 4, 1, 0, 4], "no key"),
    ],
)
def test_bad_parameters(numbers: list[int], message: str) -> None:
    x = np.zeros(4, np.int32)
    with pytest.raises(RuntimeError, match=message):
        call_library("hlo_rt_sort_keys", [x, x], numbers)
