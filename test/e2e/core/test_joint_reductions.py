"""Several reductions of one tensor in one kernel: in one loop, or one after another."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value, number
from test_reductions import reduce

import hlo
from hlo import ir
from hlo.passes.cost.caches import FAR_BYTES

SHAPES = [
    ((40, 1000), (0,)), ((40, 16), (0,)), ((40, 5), (0,)), ((40, 1000), (1,)), ((40, 7), (1,)),
    ((3000,), (0,)), ((4, 3, 5, 33), (0, 1, 2)), ((6, 50, 20), (1,)), ((6, 50, 20), (1, 2)),
    ((6, 50, 20), (0, 2)), ((0, 7), (0,)), ((1, 1), (0,)),
]  # fmt: skip


def spread(p: Program, value: Value, shape: tuple[int, ...], dims: tuple[int, ...]) -> Value:
    """A reduction's result, repeated along the dimensions that it folded."""
    kept = ", ".join(str(d) for d in range(len(shape)) if d not in dims)
    text = f"array<i64{': ' if kept else ''}{kept}>"
    return p.op("broadcast_in_dim", [value], shape, None, f"broadcast_dimensions = {text}")


def product(p: Program, left: Value, right: Value) -> Value:
    return p.op("multiply", [left, right], left.shape)


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
@pytest.mark.parametrize("kind", ["f32", "bf16", "f64", "i32"])
def test_sums_and_extrema_of_one_tensor(
    shape: tuple[int, ...], dims: tuple[int, ...], kind: str
) -> None:
    """Whole numbers, so that sums are exact in every order."""
    p = Program()
    rng = np.random.default_rng(0)
    dtype = ir.types.to_dtype(kind)
    x, y = (p.argument(rng.integers(-2, 3, shape).astype(dtype)) for _ in range(2))
    lowest = number(-100, kind)
    p.result(reduce(p, x, dims), reduce(p, product(p, x, y), dims))
    p.result(reduce(p, y, dims, "maximum", lowest), reduce(p, product(p, y, y), dims))
    p.check()


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_mean_and_deviation(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    """The second sum needs the first one's, and both leave the kernel."""
    p = Program()
    x = p.argument(np.random.default_rng(1).standard_normal(shape).astype(np.float32))
    total = reduce(p, x, dims)
    scale = p.constant("0.125", total.shape, "f32")
    mean = product(p, total, scale)
    centred = p.op("subtract", [x, spread(p, mean, shape, dims)], shape)
    p.result(reduce(p, product(p, centred, centred), dims), mean)
    p.check(ulps=64)


@pytest.mark.parametrize("columns", [1000, 1024])
def test_columns_that_come_from_memory(columns: int) -> None:
    """Blocks of columns share their accumulators' loops."""
    p = Program()
    rows = FAR_BYTES // (4 * columns) + 3
    x = p.argument(np.random.default_rng(2).integers(-2, 3, (rows, columns)).astype(np.float32))
    p.result(reduce(p, x, (0,)), reduce(p, product(p, x, x), (0,)))
    p.result(reduce(p, x, (0,), "maximum", "-9.0"))
    p.check()


def test_readers_between_two_kernels_wait() -> None:
    """What reads the first sum stands ahead of the second one, with which it becomes one kernel."""
    p = Program()
    x, y = (p.argument(np.ones((64, 96), np.float32)) for _ in range(2))
    first = reduce(p, x, (0,))
    ordered = p.op("sort", [first], (96,), None, "dimension = 0 : i64, is_stable = true", LESS)
    second = reduce(p, product(p, x, y), (0,))
    p.result(ordered, second)
    p.check()
    costs = hlo.compile(p.text).cost_analysis().kernels
    assert [cost.kind for cost in costs if "reduce" in cost.name] == ["reduce"]


def test_a_sum_that_waits_for_the_other_stays_apart() -> None:
    """Both read x, but one of them by way of a sort of the other."""
    p = Program()
    x = p.argument(np.random.default_rng(3).integers(-3, 4, (64, 96)).astype(np.float32))
    first = reduce(p, x, (0,))
    ordered = p.op("sort", [first], (96,), None, "dimension = 0 : i64, is_stable = true", LESS)
    p.result(reduce(p, product(p, x, spread(p, ordered, (64, 96), (0,))), (0,)))
    p.check()


LESS = (
    "{^bb0(%a: tensor<f32>, %b: tensor<f32>): "
    '%r = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>} : '
    '(tensor<f32>, tensor<f32>) -> tensor<i1> "hlo.return"(%r) : (tensor<i1>) -> ()}'
)


def _moments(x: np.ndarray, dims: tuple[int, ...], reciprocal: bool) -> Program:
    """The mean of a tensor and its variance by way of the deviations."""
    p = Program()
    value = p.argument(x)
    count = int(np.prod([x.shape[d] for d in dims]))

    def over(total: Value) -> Value:
        number = p.constant(repr(1 / count if reciprocal else float(count)), total.shape, "f32")
        return p.op("multiply" if reciprocal else "divide", [total, number], total.shape)

    mean = over(reduce(p, value, dims))
    centred = p.op("subtract", [value, spread(p, mean, x.shape, dims)], x.shape)
    p.result(mean, over(reduce(p, product(p, centred, centred), dims)))
    return p


@pytest.mark.parametrize(
    ("shape", "dims"),
    [((8192, 33), (0,)), ((4, 32, 32, 48), (0, 1, 2)), ((6000, 3, 20), (0, 2)), ((1 << 17,), (0,))],
)  # fmt: skip
@pytest.mark.parametrize(("offset", "rtol"), [(0.0, 2e-5), (3e3, 1e-4)])
def test_variances_in_one_pass(
    shape: tuple[int, ...], dims: tuple[int, ...], offset: float, rtol: float
) -> None:
    """Accurate also where the mean is far from zero: E[x^2] - E[x]^2 would be off by about 1."""
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32) + np.float32(offset)
    mean, variance = hlo.compile(_moments(x, dims, reciprocal=False).text)(x)
    np.testing.assert_allclose(mean, x.mean(dims, np.float64), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(variance, x.var(dims, np.float64), rtol=rtol)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_variances_that_are_not_finite(value: float) -> None:
    """One element, or all of a column, of the kind; sums and squares overflow as they would."""
    x = np.random.default_rng(5).standard_normal((8192, 32)).astype(np.float32)
    x[5000, 3] = value
    x[:, 7] = value
    x[100, 9], x[7000, 9] = np.inf, -np.inf
    p = _moments(x, (0,), reciprocal=True)
    with np.errstate(all="ignore"):
        p.check(ulps=64)
