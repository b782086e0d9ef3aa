"""Indexing and indexed updates of traced arrays, against NumPy and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp

X = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
ROWS = np.array([2, 0, -1])
GRID = np.array([[0, 1], [3, -2]])
MASK = np.array([True, False, True, True])

INDICES: dict[str, Any] = {
    "number": 1,
    "negative": -1,
    "numbers": (1, 2, 3),
    "slice": np.s_[1:3],
    "slice_open": np.s_[:, 2:],
    "slice_strided": np.s_[::2, 1::3],
    "slice_backwards": np.s_[::-1, 3:0:-2],
    "slice_empty": np.s_[3:1],
    "slice_beyond": np.s_[-100:100, 2:100],
    "ellipsis": np.s_[..., 0],
    "ellipsis_middle": np.s_[1, ..., 2:4],
    "new_axis": np.s_[None, :, None, 1],
    "array": ROWS,
    "array_grid": GRID,
    "array_second": np.s_[:, ROWS],
    "array_last": np.s_[..., ROWS],
    "arrays_adjacent": np.s_[:, ROWS, ROWS],
    "arrays_apart": np.s_[ROWS, :, ROWS],
    "arrays_broadcast": np.s_[GRID, ROWS[:2]],
    "arrays_all": (ROWS, ROWS, ROWS),
    "array_and_number": np.s_[ROWS, 1],
    "array_and_number_apart": np.s_[1, :, ROWS],
    "array_and_slice": np.s_[ROWS, 1:4:2],
    "array_between_slices": np.s_[1:3, ROWS, ::-1],
    "array_and_new_axis": np.s_[ROWS, None],
    "new_axis_and_array": np.s_[None, ROWS],
    "new_axis_between_arrays": np.s_[ROWS, None, ROWS],
    "mask": MASK,
    "mask_and_slice": np.s_[MASK, 1:3],
    "list": [0, 2],
    "empty_array": np.zeros((0,), np.int32),
}


@pytest.mark.parametrize("name", INDICES)
def test_taking(name: str) -> None:
    index = INDICES[name]
    found = hlo.jit(lambda x: x[index])(X)
    expected = X[index]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", INDICES)
def test_setting(name: str) -> None:
    index = INDICES[name]
    values = np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape) - 50
    found = hlo.jit(lambda x, v: x.at[index].set(v))(X, values)
    expected = X.copy()
    expected[index] = values
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", INDICES)
def test_adding(name: str) -> None:
    index = INDICES[name]
    found = hlo.jit(lambda x: x.at[index].add(2.5))(X)
    expected = X.copy()
    np.add.at(expected, index, np.float32(2.5))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["array", "array_grid", "arrays_apart", "array_and_slice"])
def test_traced_index_arrays(name: str) -> None:
    index = INDICES[name]
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]

    def rebuilt(traced: tuple[Any, ...]) -> tuple[Any, ...]:
        left = iter(traced)
        return tuple(next(left) if isinstance(part, np.ndarray) else part for part in parts)

    found = hlo.jit(lambda x, *arrays: x[rebuilt(arrays)])(X, *arrays)
    np.testing.assert_array_equal(found, X[index])
    found = hlo.jit(lambda x, *arrays: x.at[rebuilt(arrays)].multiply(2))(X, *arrays)
    expected = X.copy()
    np.multiply.at(expected, index, np.float32(2))
    np.testing.assert_array_equal(found, expected)


UPDATES: dict[str, Callable[..., Any]] = {
    "subtract": lambda x, i, v: x.at[i].subtract(v),
    "multiply": lambda x, i, v: x.at[i].multiply(v),
    "divide": lambda x, i, v: x.at[i].divide(v),
    "power": lambda x, i, v: x.at[i].power(v),
    "min": lambda x, i, v: x.at[i].min(v),
    "max": lambda x, i, v: x.at[i].max(v),
}


@pytest.mark.parametrize("name", UPDATES)
def test_other_updates(name: str) -> None:
    index, values = np.array([0, 2]), np.array([[1.0], [2.0]], np.float32)
    x = X[:, :, 0] + 1
    found = hlo.jit(UPDATES[name])(x, index, values)
    expected = jax.jit(UPDATES[name])(jnp.asarray(x), index, values)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("place", [0, 3, -1, -4, 7, -9])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8])
def test_traced_numbers_are_clamped_when_taking(place: int, dtype: Any) -> None:
    found = hlo.jit(lambda x, i: (x[i], x[:, i], x[1, i, 2]))(X, dtype(place))
    expected = jax.jit(lambda x, i: (x[i], x[:, i], x[1, i, 2]))(jnp.asarray(X), dtype(place))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("place", [0, 3, -1, -4, 7, -9])
def test_traced_numbers_out_of_range_are_dropped_when_updating(place: int) -> None:
    found = hlo.jit(lambda x, i: x.at[i, 1:3].set(-1.0))(X, np.int32(place))
    expected = jax.jit(lambda x, i: x.at[i, 1:3].set(-1.0))(jnp.asarray(X), np.int32(place))
    np.testing.assert_array_equal(found, expected)


def test_unsigned_indices_stay_large() -> None:
    x = np.arange(200, dtype=np.int32)
    found = hlo.jit(lambda x, i: (x[i], hlo.lax.dynamic_slice(x, [i], (1,))))(x, np.uint8(128))
    assert found[0] == 128
    np.testing.assert_array_equal(found[1], [128])


def test_take_of_a_captured_constant_keeps_its_order() -> None:
    table = np.array([[0, 1, 2, 3, 4]] * 2, np.float32)
    found = hlo.jit(lambda i: hnp.asarray(table)[:, i] + 1)(np.arange(5))
    np.testing.assert_array_equal(found, [[1, 2, 3, 4, 5]] * 2)


def test_apply_and_get() -> None:
    found = hlo.jit(lambda x: (x.at[1].apply(hnp.sqrt), x.at[1].get()))(X)
    expected = X.copy()
    expected[1] = np.sqrt(expected[1])
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    np.testing.assert_array_equal(found[1], X[1])


def test_iteration_and_unpacking() -> None:
    def rows(x: Any) -> Any:
        first, *others = x
        return first + sum(others), len(x)

    found, count = hlo.jit(rows)(X)
    np.testing.assert_array_equal(found, X.sum(0))
    assert count == 4


@pytest.mark.parametrize("index", [4, -5, (0, 5), np.array([0, 4])])
def test_known_index_out_of_range(index: Any) -> None:
    with pytest.raises(IndexError, match=r"test_indexing.py:\d+: index .* out of range"):
        hlo.jit(lambda x: x[index])(X)


def test_wrong_indices() -> None:
    with pytest.raises(hlo.ShapeError, match="4 indices for an array of shape"):
        hlo.jit(lambda x: x[0, 0, 0, 0])(X)
    with pytest.raises(hlo.ShapeError, match="expected integer indices"):
        hlo.jit(lambda x: x[x])(X)
    with pytest.raises(hlo.ConcretizationError, match=r"hlo\.numpy\.where"):
        hlo.jit(lambda x: x[x > 0])(X)
    with pytest.raises(hlo.ShapeError, match="do not fit an indexed place"):
        hlo.jit(lambda x: x.at[0].set(np.ones(4)))(X)
