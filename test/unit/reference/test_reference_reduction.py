"""reduce, windows, scan, map, sort and top_k, against XLA and their definitions."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from jax import lax
from reference_oracles import assert_same, random_floats, xla

from hlo.reference import arithmetic, comparison, reduction, sorting
from hlo.reference.computation import elementwise, named
from hlo.reference.element_types import Array

ADD = named("add", arithmetic.add)
MULTIPLY = named("multiply", arithmetic.multiply)
MAXIMUM = named("maximum", arithmetic.maximum)


def arg_max(value: Array, index: Array, other: Array, other_index: Array) -> tuple[Array, Array]:
    take = (other > value) | ((other == value) & (other_index < index))
    return np.where(take, other, value), np.where(take, other_index, index)


def test_sums_are_exact_before_their_one_rounding() -> None:
    values = np.full(100_000, 0.1, np.float32)
    (found,) = reduction.reduce([values], [np.float32(0)], ADD, dimensions=(0,))
    assert_same(found, np.asarray(np.float32(100_000 * float(np.float32(0.1)))))


@pytest.mark.parametrize("dimensions", [(0,), (1,), (2,), (0, 2), (2, 0), (0, 1, 2), ()])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex64])
def test_reduce_over_any_dimensions(dimensions: tuple[int, ...], dtype: type) -> None:
    values = random_floats((3, 4, 5), dtype)
    (found,) = reduction.reduce([values], [dtype(2)], ADD, dimensions=dimensions)
    expected = values.astype(np.complex128).sum(dimensions) + 2
    np.testing.assert_allclose(found.astype(np.complex128), expected, rtol=1e-6, atol=1e-6)
    assert found.dtype == dtype


def test_variadic_reduce_keeps_the_first_maximum() -> None:
    values = np.array([[3, 9, 9], [7, 7, 1]], np.int32)
    index = np.broadcast_to(np.arange(3, dtype=np.int32), (2, 3))
    best, where = reduction.reduce(
        [values, index], [np.int32(-(2**31)), np.int32(2**31 - 1)], arg_max, dimensions=(1,)
    )
    np.testing.assert_array_equal(best, [9, 7])
    np.testing.assert_array_equal(where, [1, 0])


def test_reduce_order_is_kept_for_a_body_that_does_not_commute() -> None:
    # Composition of affine maps x -> a x + b, modulo 2^32: associative, not commutative.
    def compose(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
        return a * c, b * c + d

    generator = np.random.default_rng(0)
    scale, shift = generator.integers(0, 2**32, (2, 13), dtype=np.uint32)
    found = reduction.reduce([scale, shift], [np.uint32(1), np.uint32(0)], compose, dimensions=(0,))
    a, b = np.uint32(1), np.uint32(0)
    with np.errstate(over="ignore"):
        for c, d in zip(scale, shift, strict=True):
            a, b = a * c, b * c + d
    assert (int(found[0]), int(found[1])) == (int(a), int(b))


def test_reduce_of_nothing_is_the_initial_value() -> None:
    (found,) = reduction.reduce(
        [np.zeros((2, 0), np.float32)], [np.float32(-np.inf)], MAXIMUM, dimensions=(1,)
    )
    assert_same(found, np.full(2, -np.inf, np.float32))


WINDOWS = [
    {"window_dimensions": (2, 3)},
    {"window_dimensions": (2, 1), "window_strides": (2, 1), "base_dilations": (1, 2)},
    {"window_dimensions": (3, 2), "window_strides": (2, 3), "padding": [(1, 2), (0, 1)]},
    {"window_dimensions": (2, 2), "window_dilations": (3, 2), "padding": [(2, 0), (1, 1)]},
    {"window_dimensions": (1, 1), "padding": [(-1, 0), (0, 0)]},
]


def windows_by_definition(
    values: np.ndarray,
    init: float,
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...] = (1, 1),
    base_dilations: tuple[int, ...] = (1, 1),
    window_dilations: tuple[int, ...] = (1, 1),
    padding: list[tuple[int, int]] | None = None,
) -> np.ndarray:
    """The elements of each window, one window after another along the first two dimensions."""
    spread = np.full(
        [(n - 1) * d + 1 for n, d in zip(values.shape, base_dilations, strict=True)], float(init)
    )
    spread[:: base_dilations[0], :: base_dilations[1]] = values
    edges = padding or [(0, 0), (0, 0)]
    grown = np.pad(spread, [(max(a, 0), max(b, 0)) for a, b in edges], constant_values=init)
    grown = grown[
        tuple(
            slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(edges, grown.shape, strict=True)
        )
    ]
    reach = [(n - 1) * d + 1 for n, d in zip(window_dimensions, window_dilations, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(grown, reach)
    view = view[:: window_strides[0], :: window_strides[1]]
    view = view[:, :, :: window_dilations[0], :: window_dilations[1]]
    return view.reshape((*view.shape[:2], -1))


@pytest.mark.parametrize("case", range(len(WINDOWS)))
@pytest.mark.parametrize("name", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_reduce_window_matches_its_definition(case: int, name: str, dtype: type) -> None:
    options = WINDOWS[case]
    values = random_floats((7, 8), dtype, seed=case)
    body = {"add": ADD, "maximum": MAXIMUM, "multiply": MULTIPLY}[name]
    init = {"add": 0, "maximum": -100, "multiply": 1}[name]
    elements = windows_by_definition(values.astype(np.float64), init, **options)
    expected = getattr(np, name).reduce(elements, axis=-1).astype(dtype)
    (found,) = reduction.reduce_window([values], [dtype(init)], body, **options)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variadic_reduce_window() -> None:
    values = np.array([3, 9, 1, 9, 2], np.float32)
    best, where = reduction.reduce_window(
        [values, np.arange(5, dtype=np.int32)],
        [np.float32(-np.inf), np.int32(99)],
        arg_max,
        window_dimensions=(2,),
        window_strides=(2,),
        padding=[(0, 1)],
    )
    np.testing.assert_array_equal(best, [9, 9, 2])
    np.testing.assert_array_equal(where, [1, 3, 4])


def greater_equal(a: Array, b: Array) -> tuple[Array, ...]:
    return (comparison.compare(a, b, comparison_direction="GE"),)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_select_and_scatter_is_the_gradient_of_a_maximum_pool(dtype: type) -> None:
    operand = random_floats((6, 7), dtype, seed=2)
    source = random_floats((3, 3), dtype, seed=3)
    padding = [(1, 0), (0, 1)]
    expected = np.zeros((6, 7), dtype)
    low = np.pad(operand.astype(np.float64), padding, constant_values=-np.inf)
    for i, j in itertools.product(range(3), range(3)):
        window = low[2 * i : 2 * i + 2, 2 * j : 2 * j + 3]
        row, column = np.unravel_index(np.argmax(window), window.shape)
        expected[2 * i + row - 1, 2 * j + column] += source[i, j]
    found = reduction.select_and_scatter(
        operand,
        source,
        dtype(0),
        greater_equal,
        ADD,
        window_dimensions=(2, 3),
        window_strides=(2, 2),
        padding=padding,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_select_and_scatter_never_selects_padding() -> None:
    found = reduction.select_and_scatter(
        np.array([-5, -6], np.float32),
        np.array([1, 2], np.float32),
        np.float32(0),
        greater_equal,
        elementwise(lambda a, b: (a - b,), [np.float32]),
        window_dimensions=(2,),
        window_strides=(1,),
        padding=[(1, 0)],
    )
    np.testing.assert_array_equal(found, [-3, 0])


def test_scan_stacks_outputs_and_returns_carries() -> None:
    values = np.arange(1, 7, dtype=np.int32).reshape(2, 3)

    def body(x: Array, carry: Array) -> tuple[Array, Array]:
        return carry, x + carry

    before, total = reduction.scan([values], [np.zeros(2, np.int32)], body, dimension=1, steps=3)
    np.testing.assert_array_equal(before, [[0, 1, 3], [0, 4, 9]])
    np.testing.assert_array_equal(total, [6, 15])
    before, total = reduction.scan(
        [values], [np.zeros(2, np.int32)], body, dimension=1, steps=3, is_reverse=True
    )
    np.testing.assert_array_equal(before, [[5, 3, 0], [11, 6, 0]])


def test_map_applies_a_computation_of_scalars() -> None:
    computation = elementwise(lambda a, b: (a * 10 + b,), [np.int32])
    (found,) = reduction.map_([np.arange(3, dtype=np.int32), np.ones(3, np.int32)], computation)
    np.testing.assert_array_equal(found, [1, 11, 21])


def less(lhs: Array, rhs: Array, *_: Array) -> tuple[Array, ...]:
    return (comparison.compare(lhs, rhs, comparison_direction="LT", compare_type="TOTALORDER"),)


@pytest.mark.parametrize("extent", [0, 1, 2, 5, 31, 64, 100])
@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_sort_is_stable(extent: int, dimension: int) -> None:
    shape = (extent, 3) if dimension == 0 else (3, extent)
    keys = np.random.default_rng(extent).integers(0, 7, shape).astype(np.int32)
    tags = np.arange(keys.size, dtype=np.int32).reshape(shape)
    found, carried = sorting.sort([keys, tags], less, dimension=dimension)
    order = np.argsort(keys, axis=dimension, kind="stable")
    np.testing.assert_array_equal(found, np.take_along_axis(keys, order, dimension))
    np.testing.assert_array_equal(carried, np.take_along_axis(tags, order, dimension))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_sort_in_total_order(dtype: object) -> None:
    ordered = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan]).astype(dtype)
    ordered[0] = -np.asarray(np.nan, dtype)
    shuffled = ordered[np.random.default_rng(0).permutation(8)]
    (found,) = sorting.sort([shuffled], less)
    np.testing.assert_array_equal(
        found.view(f"u{found.itemsize}"), ordered.view(f"u{found.itemsize}")
    )


def test_sort_takes_any_comparator() -> None:
    values = random_floats((50,), np.float32, seed=8)

    def by_magnitude_descending(a: Array, b: Array) -> tuple[Array, ...]:
        return (np.abs(a) > np.abs(b),)

    (found,) = sorting.sort([values], by_magnitude_descending)
    np.testing.assert_array_equal(found, values[np.argsort(-np.abs(values), kind="stable")])


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, np.float32, ml_dtypes.bfloat16])
def test_top_k_matches_xla(dtype: object) -> None:
    values = np.random.default_rng(1).integers(0, 90, (3, 40)).astype(dtype)
    if np.dtype(dtype).kind not in "iu":
        values[0, :4] = np.array([np.nan, -np.inf, np.inf, -0.0]).astype(dtype)
    expected, expected_index = xla(lambda x: lax.top_k(x, 7), values)
    found, index = sorting.top_k(values, k=7)
    assert_same(found, expected)
    np.testing.assert_array_equal(index, expected_index)
