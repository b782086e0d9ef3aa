"""gather and scatter against XLA and against their definitions, in bounds and out."""

from __future__ import annotations

import numpy as np
import pytest
from jax import lax
from reference_oracles import assert_same, random_floats, xla

from hlo.reference import arithmetic, indexing
from hlo.reference.computation import elementwise, named
from hlo.reference.element_types import Array
from hlo.reference.indexing import GatherDimensionNumbers, ScatterDimensionNumbers

ADD = named("add", arithmetic.add)


def assign(_: Array, update: Array) -> tuple[Array, ...]:
    return (update,)


# Operand shape, indices shape, dimension numbers, slice sizes.
GATHERS = [
    ((5, 4), (3, 1), GatherDimensionNumbers((1,), (0,), (), (), (0,), 1), (1, 4)),
    ((5, 4), (3,), GatherDimensionNumbers((1,), (0,), (), (), (0,), 1), (1, 4)),
    ((5, 4), (2, 6, 2), GatherDimensionNumbers((2, 3), (), (), (), (1, 0), 2), (2, 3)),
    ((5, 4), (2, 6), GatherDimensionNumbers((0, 2), (), (), (), (1, 0), 0), (2, 3)),
    ((3, 5, 4), (3, 2, 1), GatherDimensionNumbers((2,), (1,), (0,), (0,), (1,), 2), (1, 1, 4)),
    ((3, 5, 4), (2, 1, 3), GatherDimensionNumbers((0,), (1,), (0,), (2,), (1,), 1), (1, 1, 4)),
]


def jax_gather_numbers(numbers: GatherDimensionNumbers) -> lax.GatherDimensionNumbers:
    return lax.GatherDimensionNumbers(
        offset_dims=numbers.offset_dims,
        collapsed_slice_dims=numbers.collapsed_slice_dims,
        start_index_map=numbers.start_index_map,
        operand_batching_dims=numbers.operand_batching_dims,
        start_indices_batching_dims=numbers.start_indices_batching_dims,
    )


def trailing_index_vector(indices: np.ndarray, index_vector_dim: int) -> np.ndarray:
    """Indices as JAX takes them: with the index vector last."""
    if index_vector_dim == indices.ndim:
        return indices[..., None]
    return np.moveaxis(indices, index_vector_dim, -1)


@pytest.mark.parametrize("case", range(len(GATHERS)))
@pytest.mark.parametrize("spread", [3, 40])
def test_gather_clamps_as_xla_does(case: int, spread: int) -> None:
    shape, indices_shape, numbers, sizes = GATHERS[case]
    operand = random_floats(shape, np.float32)
    generator = np.random.default_rng(case)
    indices = generator.integers(-spread, spread, indices_shape).astype(np.int32)
    moved = trailing_index_vector(indices, numbers.index_vector_dim)
    if numbers.start_indices_batching_dims and numbers.index_vector_dim < indices.ndim - 1:
        # Moving the index vector last moves the batching dimension after it.
        batching = tuple(
            d - (d > numbers.index_vector_dim) for d in numbers.start_indices_batching_dims
        )
        jax_numbers = jax_gather_numbers(
            GatherDimensionNumbers(
                numbers.offset_dims,
                numbers.collapsed_slice_dims,
                numbers.operand_batching_dims,
                batching,
                numbers.start_index_map,
            )
        )
    else:
        jax_numbers = jax_gather_numbers(numbers)
    (expected,) = xla(
        lambda x, i: lax.gather(x, i, jax_numbers, sizes, mode="clip"), operand, moved
    )
    found = indexing.gather(operand, indices, dimension_numbers=numbers, slice_sizes=sizes)
    assert_same(found, expected)


def test_gather_of_unsigned_and_wide_indices() -> None:
    operand = np.arange(200)
    numbers = GatherDimensionNumbers((), (0,), (), (), (0,), 1)
    for indices in (np.array([128, 255], np.uint8), np.array([128, 2**64 - 1], np.uint64)):
        found = indexing.gather(operand, indices, dimension_numbers=numbers, slice_sizes=(1,))
        np.testing.assert_array_equal(found, [128, 199])


def test_gather_of_nothing() -> None:
    numbers = GatherDimensionNumbers((1,), (0,), (), (), (0,), 1)
    found = indexing.gather(
        np.ones((5, 4), np.float32),
        np.zeros((0, 1), np.int32),
        dimension_numbers=numbers,
        slice_sizes=(1, 4),
    )
    assert found.shape == (0, 4)
    dynamic = indexing.dynamic_gather(
        np.ones((5, 4), np.float32),
        np.zeros((2, 1), np.int32),
        np.array([1, 3]),
        dimension_numbers=numbers,
    )
    assert dynamic.shape == (2, 3)


# Input shape, indices shape, update shape, dimension numbers.
SCATTERS = [
    ((5, 4), (3, 1), (3, 4), ScatterDimensionNumbers((1,), (0,), (), (), (0,), 1)),
    ((8,), (6, 1), (6,), ScatterDimensionNumbers((), (0,), (), (), (0,), 1)),
    ((6, 5), (4, 2), (4,), ScatterDimensionNumbers((), (0, 1), (), (), (1, 0), 1)),
    ((3, 5, 4), (3, 2, 1), (3, 2, 4), ScatterDimensionNumbers((2,), (1,), (0,), (0,), (1,), 2)),
]


def jax_scatter_numbers(numbers: ScatterDimensionNumbers) -> lax.ScatterDimensionNumbers:
    return lax.ScatterDimensionNumbers(
        update_window_dims=numbers.update_window_dims,
        inserted_window_dims=numbers.inserted_window_dims,
        scatter_dims_to_operand_dims=numbers.scatter_dims_to_operand_dims,
        operand_batching_dims=numbers.input_batching_dims,
        scatter_indices_batching_dims=numbers.scatter_indices_batching_dims,
    )


@pytest.mark.parametrize("case", range(len(SCATTERS)))
@pytest.mark.parametrize("name", ["scatter_add", "scatter_max", "scatter_mul", "scatter"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_scatter_drops_what_is_out_of_bounds(case: int, name: str, dtype: type) -> None:
    shape, indices_shape, update_shape, numbers = SCATTERS[case]
    computation = {
        "scatter_add": ADD,
        "scatter_max": named("maximum", arithmetic.maximum),
        "scatter_mul": named("multiply", arithmetic.multiply),
        "scatter": assign,
    }[name]
    generator = np.random.default_rng(case)
    operand = random_floats(shape, dtype, seed=case)
    updates = random_floats(update_shape, dtype, seed=case + 9)
    indices = generator.integers(-2, 8, indices_shape).astype(np.int32)
    (expected,) = xla(
        lambda x, i, u: getattr(lax, name)(x, i, u, jax_scatter_numbers(numbers), mode="drop"),
        operand,
        indices,
        updates,
    )
    (found,) = indexing.scatter(
        [operand], indices, [updates], computation, scatter_dimension_numbers=numbers
    )
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def test_scatter_applies_updates_in_order_and_leaves_its_input() -> None:
    numbers = ScatterDimensionNumbers((), (0,), (), (), (0,), 1)
    operand = np.zeros(3, np.int32)
    (found,) = indexing.scatter(
        [operand],
        np.array([[1], [1], [0], [1]]),
        [np.array([5, 6, 7, 8], np.int32)],
        assign,
        scatter_dimension_numbers=numbers,
    )
    np.testing.assert_array_equal(found, [7, 8, 0])
    assert not operand.any()


def test_scatter_of_several_inputs_with_a_computation_of_scalars() -> None:
    numbers = ScatterDimensionNumbers((), (0,), (), (), (0,), 1)

    def keep_larger(a: Array, b: Array, x: Array, y: Array) -> tuple[Array, Array]:
        return (a, b) if a >= x else (x, y)

    values, tags = indexing.scatter(
        [np.zeros(2, np.float32), np.zeros(2, np.int32)],
        np.array([[0], [0], [1]]),
        [np.array([3, 2, -1], np.float32), np.array([1, 2, 3], np.int32)],
        elementwise(keep_larger, [np.float32, np.int32]),
        scatter_dimension_numbers=numbers,
    )
    np.testing.assert_array_equal(values, [3, 0])
    np.testing.assert_array_equal(tags, [1, 0])


def test_scatter_sum_is_rounded_once() -> None:
    numbers = ScatterDimensionNumbers((), (0,), (), (), (0,), 1)
    count = 2000
    (found,) = indexing.scatter(
        [np.zeros(1, np.float16)],
        np.zeros((count, 1), np.int32),
        [np.full(count, 0.1, np.float16)],
        ADD,
        scatter_dimension_numbers=numbers,
    )
    # 2000 times the float16 nearest 0.1; summed in float16 it would stick at 256.
    assert found[0] == np.float16(count * float(np.float16(0.1)))


def test_torch_index_select() -> None:
    operand = np.arange(24).reshape(2, 3, 4)
    index = np.array([2, 0, 7])
    np.testing.assert_array_equal(
        indexing.torch_index_select(operand, index, dim=1, batch_dims=0), operand[:, [2, 0, 2]]
    )
    per_batch = np.array([[0], [2]])
    found = indexing.torch_index_select(operand, per_batch, dim=1, batch_dims=1)
    np.testing.assert_array_equal(found, np.stack([operand[0, [0]], operand[1, [2]]]))
