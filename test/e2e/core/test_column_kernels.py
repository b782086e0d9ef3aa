"""Kernels that fold columns and then compute the elements along them."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value
from test_contractions import dot
from test_joint_reductions import product, spread
from test_reductions import reduce

import hlo
from hlo import ir

# With the dimensions that are folded: blocks of columns, whole vectors and parts of them, columns
# too few for vectors, rows in several dimensions, unit dimensions.
SHAPES = [
    ((40, 1000), (0,)), ((40, 16), (0,)), ((40, 9), (0,)), ((40, 7), (0,)), ((5, 300, 33), (1,)),
    ((3, 4, 5, 129), (1, 2)), ((2, 6, 17), (1,)), ((2, 50, 4, 8), (1,)), ((7, 1, 30, 64), (0, 2)),
    ((600, 256), (0,)), ((2, 1), (0,)), ((0, 32), (0,)), ((1, 64), (0,)),
]  # fmt: skip


def kernels_of(p: Program) -> int:
    return len(hlo.compile(p.text).cost_analysis().kernels)


def unary(p: Program, name: str, x: Value) -> Value:
    return p.op(name, [x], x.shape)


def softmax(p: Program, x: Value, dims: tuple[int, ...], lowest: str = "0xFF800000") -> Value:
    most = spread(p, reduce(p, x, dims, "maximum", lowest), x.shape, dims)
    raised = unary(p, "exponential", p.op("subtract", [x, most], x.shape))
    return p.op("divide", [raised, spread(p, reduce(p, raised, dims), x.shape, dims)], x.shape)


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
@pytest.mark.parametrize(
    ("kind", "lowest"),
    [("f32", "0xFF800000"), ("bf16", "0xFF80"), ("f64", "0xFFF0000000000000")],
)
def test_softmax(shape: tuple[int, ...], dims: tuple[int, ...], kind: str, lowest: str) -> None:
    p = Program()
    p.result(softmax(p, p.sample(shape, kind), dims, lowest))
    p.check(ulps=32)


def normalised(p: Program, x: Value, dims: tuple[int, ...]) -> Value:
    """With a scale for each column and a shift for each element of the minor dimension."""
    shape = x.shape
    scale = p.sample(reduce(Program(), x, dims).shape, "f32")
    shift = p.sample(shape[-1:], "f32")
    count = 1.0 / max(int(np.prod([shape[d] for d in dims])), 1)
    mean = product(p, reduce(p, x, dims), p.constant(f"{count:.9f}", scale.shape, "f32"))
    centred = p.op("subtract", [x, spread(p, mean, shape, dims)], shape)
    variance = p.op(
        "add",
        [reduce(p, product(p, centred, centred), dims), p.constant("1.0", scale.shape, "f32")],
        scale.shape,
    )
    factor = product(p, unary(p, "rsqrt", variance), scale)
    scaled = product(p, centred, spread(p, factor, shape, dims))
    leading = tuple(range(len(shape) - 1))
    return p.op("add", [scaled, spread(p, shift, shape, leading)], shape)


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
@pytest.mark.parametrize("dear", [False, True])
def test_normalisation(shape: tuple[int, ...], dims: tuple[int, ...], dear: bool) -> None:
    """Of what is read, and of roots, which a kernel of columns keeps."""
    p = Program()
    x = p.sample(shape, "f32")
    if dear:
        x = unary(p, "sqrt", unary(p, "abs", x))
    p.result(normalised(p, x, dims))
    p.check(ulps=256)


def test_a_normalisation_of_what_is_dear_is_one_kernel() -> None:
    p = Program()
    p.result(normalised(p, unary(p, "sqrt", unary(p, "abs", p.sample((128, 1024), "f32"))), (0,)))
    assert kernels_of(p) == 1


@pytest.mark.parametrize(("shape", "kernels"), [((128, 768), 1), ((128, 1024), 2)])
def test_cheap_columns_of_rows_that_share_sets_of_a_cache_are_read_by_rows(
    shape: tuple[int, ...], kernels: int
) -> None:
    """Rows of 1,024 floats are 4 KiB apart: several passes over strips of them would take longer
    than two kernels.
    """
    p = Program()
    p.result(normalised(p, p.sample(shape, "f32"), (0,)))
    assert kernels_of(p) == kernels


def test_a_single_reduction_of_columns_in_a_cache_is_a_kernel() -> None:
    p = Program()
    x = p.sample((16, 16, 1024), "f32")
    p.result(p.op("divide", [x, spread(p, reduce(p, x, (1,)), x.shape, (1,))], x.shape))
    assert kernels_of(p) == 2
    p.check(ulps=16)


@pytest.mark.parametrize(("length", "kernels"), [(32, 1), (64, 2)])
def test_one_sum_of_short_columns_in_memory_is_one_kernel(length: int, kernels: int) -> None:
    p = Program()
    shape = (2, length, 1 << 15)
    x = p.argument(np.ones(shape, np.float32))
    p.result(p.op("divide", [x, spread(p, reduce(p, x, (1,)), shape, (1,))], shape))
    assert kernels_of(p) == kernels


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_gradient_of_a_softmax(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    """Three reductions, of which the last one reads what the result reads too."""
    p = Program()
    x, given = p.sample(shape, "f32"), p.sample(shape, "f32")
    y = softmax(p, x, dims)
    inner = reduce(p, product(p, y, given), dims)
    p.result(product(p, y, p.op("subtract", [given, spread(p, inner, shape, dims)], shape)))
    p.check(ulps=256)


def test_special_values_stay_in_their_columns() -> None:
    p = Program()
    x = np.zeros((40, 33), np.float32)
    x[3, 4], x[5, 6], x[7, 8] = np.nan, np.inf, -np.inf
    x[:, 9] = -np.inf
    p.result(softmax(p, p.argument(x), (0,)))
    p.check(ulps=8)


@pytest.mark.parametrize("shape", [(512, 768), (16, 100, 64)])
def test_one_kernel(shape: tuple[int, ...]) -> None:
    p = Program()
    p.result(softmax(p, p.sample(shape, "f32"), (len(shape) - 2,)))
    assert kernels_of(p) == 1


def test_long_columns_are_split() -> None:
    """A column of 16,384 elements does not stay in the cache."""
    p = Program()
    p.result(softmax(p, p.sample((16384, 64), "f32"), (0,)))
    assert kernels_of(p) > 1
    p.check(ulps=64)


def test_the_result_may_take_the_argument() -> None:
    """Nothing of a column is read after it was written."""
    p = Program()
    x = p.sample((3, 50, 200), "f32")
    p.result(softmax(p, x, (1,)))
    (wanted,) = [np.asarray(r) for r in hlo.compile(p.text)(*p.arguments)]
    arguments = [a.copy() for a in p.arguments]
    (found,) = hlo.compile(p.text, donate=(0,))(*arguments)
    np.testing.assert_array_equal(np.asarray(found), wanted)


def test_an_argument_that_is_read_with_others_is_not_overwritten() -> None:
    """Every element reads the first of its row, which a result of its column would replace."""
    p = Program()
    x = p.sample((64, 128), "f32")
    first = p.op(
        "slice", [x], (64, 1), None,
        "start_indices = array<i64: 0, 0>, limit_indices = array<i64: 64, 1>, "
        "strides = array<i64: 1, 1>",
    )  # fmt: skip
    line = p.op("reshape", [first], (64,))
    p.result(p.op("add", [softmax(p, x, (0,)), spread(p, line, (64, 128), (1,))], (64, 128)))
    p.check(ulps=32)
    (wanted,) = [np.asarray(r) for r in hlo.compile(p.text)(*p.arguments)]
    (found,) = hlo.compile(p.text, donate=(0,))(*[a.copy() for a in p.arguments])
    np.testing.assert_array_equal(np.asarray(found), wanted)


STORED = [
    ((40, 1000), (0,)), ((40, 33), (0,)), ((64, 65), (0,)), ((16, 50, 128), (1,)),
    ((3, 4, 5, 129), (1, 2)), ((2048, 96), (0,)), ((6, 3, 200), (1,)), ((4, 40, 4, 24), (0, 1)),
    ((40, 3, 21), (0,)), ((5, 9, 16, 3, 2), (0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dims"), STORED)
@pytest.mark.parametrize("kind", ["f32", "bf16", "i32"])
def test_what_is_folded_is_stored(shape: tuple[int, ...], dims: tuple[int, ...], kind: str) -> None:
    """The gradient of a layer's result, and its sums for the bias; whole numbers are exact."""
    p = Program()
    rng = np.random.default_rng(0)
    dtype = ir.types.to_dtype(kind)
    x, y = (p.argument(rng.integers(-1, 2, shape).astype(dtype)) for _ in range(2))
    gradient = product(p, x, y)
    p.result(gradient, reduce(p, gradient, dims), reduce(p, product(p, gradient, y), dims))
    p.check()
    wanted = [np.asarray(r) for r in hlo.compile(p.text)(*p.arguments)]
    found = hlo.compile(p.text, donate=(0,))(*[a.copy() for a in p.arguments])
    for left, right in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(np.asarray(right), left)


@pytest.mark.parametrize("shape", [(2048, 128), (16, 64, 64, 32)])
def test_one_launch_stores_and_sums(shape: tuple[int, ...]) -> None:
    """Partial sums are added by the same launch."""
    p = Program()
    gradient = product(p, p.sample(shape, "f32"), p.sample(shape, "f32"))
    p.result(gradient, reduce(p, gradient, tuple(range(len(shape) - 1))))
    assert kernels_of(p) == 1
    p.check(ulps=64)


def test_a_reader_ahead_of_the_sums_waits_for_nothing() -> None:
    """What is stored is read by a dot whose result the final sums need."""
    p = Program()
    gradient = product(p, p.sample((2048, 128), "f32"), p.sample((2048, 128), "f32"))
    other = dot(p, p.sample((1, 2048), "f32"), gradient, ([1], [0]))
    total = reduce(p, gradient, (0,))
    p.result(p.op("add", [total, p.op("reshape", [other], (128,))], (128,)), gradient)
    p.check(ulps=256)
