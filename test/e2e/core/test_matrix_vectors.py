"""Dots of a matrix with few vectors, in both orders of the matrix, and what fuses behind them."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value
from test_contractions import dot

COLUMNS = ([1], [0])  # [m, k] x [k, n]: the matrix is contiguous along the result
ROWS = ([1], [1])  # [m, k] x [n, k]: along the contracted dimension


def bias_and_residual(p: Program, product: Value, kind: str) -> Value:
    shape = product.shape
    bias = p.op(
        "broadcast_in_dim", [p.sample(shape[-1:], kind)], shape,
        attributes=f"broadcast_dimensions = array<i64: {len(shape) - 1}>",
    )  # fmt: skip
    value = p.op("add", [product, bias], shape)
    return p.op("multiply", [p.op("tanh", [value], shape), p.sample(shape, kind)], shape)


# 64 rows are a block, 16 elements a vector: blocks and vectors cut off, and less than one of each.
@pytest.mark.parametrize(("n", "k"), [(64, 64), (200, 33), (131, 16), (67, 48), (61, 17), (3, 500)])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "f16"])
def test_rows_along_the_contracted_dimension(n: int, k: int, kind: str) -> None:
    p = Program()
    for m in (1, 2, 5, 8, 11, 12):
        product = dot(p, p.sample((m, k), kind), p.sample((n, k), kind), ROWS)
        p.result(product, bias_and_residual(p, product, kind))
    p.result(dot(p, p.sample((n, k), kind), p.sample((k,), kind), COLUMNS))
    p.check(ulps=64)


# More than 2^18 elements. 8192 columns are a work unit's; 1031 is prime: no split of the depth.
@pytest.mark.parametrize(("n", "k"), [(513, 520), (9000, 40), (300, 1031), (16400, 21)])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_rows_along_the_result(n: int, k: int, kind: str) -> None:
    p = Program()
    for m in (1, 3, 8):
        product = dot(p, p.sample((m, k), kind), p.sample((k, n), kind), COLUMNS)
        p.result(bias_and_residual(p, product, kind))
    p.result(dot(p, p.sample((k, n), kind), p.sample((k,), kind), ([0], [0])))
    p.check(ulps=64)


@pytest.mark.parametrize(("m", "k"), [(128, 513), (300, 221), (511, 129)])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "f16"])
def test_few_columns_of_the_right_operand(m: int, k: int, kind: str) -> None:
    p = Program()
    x = p.sample((m, k), kind)
    for n in (2, 7, 12):
        product = dot(p, x, p.sample((k, n), kind), COLUMNS)
        p.result(product, bias_and_residual(p, product, kind))
    p.result(dot(p, p.op("negate", [x], x.shape), p.sample((k, 3), kind), COLUMNS))
    p.check(ulps=64)


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_few_columns_that_a_transposed_operand_meets(kind: str) -> None:
    p = Program()
    for k, m, n in ((33, 100, 2), (65, 256, 7), (40, 64, 8)):
        product = dot(p, p.sample((k, m), kind), p.sample((k, n), kind), ([0], [0]))
        p.result(product, bias_and_residual(p, product, kind))
    p.check(ulps=64)


@pytest.mark.parametrize("m", [1, 4])
def test_batches(m: int) -> None:
    p = Program()
    both = ([0], [0])
    x = p.sample((6, m, 40), "f32")
    p.result(
        dot(p, x, p.sample((6, 75, 40), "f32"), ([2], [2]), both),
        dot(p, x, p.sample((6, 40, 1100), "f32"), ([2], [1]), both),
        # Heads between positions and features, as key-value caches have them.
        dot(p, x, p.sample((70, 6, 40), "f32"), ([2], [2]), ([0], [1])),
        dot(p, x, p.sample((40, 6, 1100), "f32"), ([2], [0]), ([0], [1])),
        dot(p, p.sample((2, 3, m, 40), "f32"), p.sample((2, 3, 50, 40), "f32"),
            ([3], [3]), ([0, 1], [0, 1])),
    )  # fmt: skip
    p.check(ulps=64)


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_special_values_stay_in_their_column(order: str) -> None:
    """Infinity, infinity less infinity and NaN reach the results they belong to and no others."""
    n, k = 515, 516
    rng = np.random.default_rng(7)
    matrix = rng.integers(-4, 5, (n, k)).astype(np.float32)
    matrix[3, 5], matrix[8, 2], matrix[514, 515] = np.inf, np.nan, -np.inf
    matrix[9, 100], matrix[9, 515] = np.inf, -np.inf
    p = Program()
    x = p.argument(np.ones((2, k), np.float32))
    if order == "rows":
        p.result(dot(p, x, p.argument(matrix), ROWS))
    else:
        p.result(dot(p, x, p.argument(np.ascontiguousarray(matrix.T)), COLUMNS))
    p.check(ulps=16)


def test_residual_is_updated_in_place() -> None:
    """An intermediate that dies in the kernel of a dot may be the memory of its result."""
    p = Program()
    x, shape = p.sample((1, 80), "f32"), (1, 80)
    for _ in range(3):
        product = dot(p, p.op("negate", [x], shape), p.sample((80, 80), "f32"), ROWS)
        x = p.op("add", [p.op("tanh", [product], shape), x], shape)
    p.result(x)
    p.check(ulps=64)


def test_result_does_not_depend_on_threads() -> None:
    import hlo

    p = Program()
    p.result(
        dot(p, p.sample((1, 1024), "f32"), p.sample((1024, 600), "f32"), COLUMNS),
        dot(p, p.sample((1, 700), "f32"), p.sample((600, 700), "f32"), ROWS),
    )
    one, four = (hlo.compile(p.text, threads=t)(*p.arguments) for t in (1, 4))
    for a, b in zip(one, four, strict=True):
        assert a.tobytes() == b.tobytes()
