"""Folds down columns: in registers, several vectors at a time, and by blocks where rows are far."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value, assert_matches
from test_reductions import reduce

from hlo import ir


@pytest.mark.parametrize("columns", [16, 31, 32, 100, 128, 129, 300])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i8", "i64", "complex<f32>"])
def test_columns_in_registers(columns: int, kind: str) -> None:
    p = Program()
    for rows in (9, 40):
        x = p.sample((rows, columns), kind)
        p.result(reduce(p, x, (0,)))
        if not kind.startswith("complex"):
            p.result(reduce(p, x, (0,), "maximum"))
        y = p.sample((3, rows, columns), kind)
        p.result(reduce(p, y, (1,)), reduce(p, y, (0, 1)))
    p.check(ulps=4)


@pytest.mark.parametrize(
    ("shape", "dims"),
    [((700, 4099), (0,)), ((37, 70, 1003), (1,)), ((19, 150, 1040), (0, 1)),
     ((20, 7, 30, 1000), (0, 2)), ((300000, 16), (0,)), ((5, 3000, 300), (1,)),
     ((9, 300000), (0,))],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["f32", "i8"])
def test_columns_from_memory(shape: tuple[int, ...], dims: tuple[int, ...], kind: str) -> None:
    """At least 8 MiB are read, in rows that are no whole number of vectors or blocks."""
    rng = np.random.default_rng(1)
    p = Program()
    if kind == "i8":
        shape = (*shape[:-1], shape[-1] * 4)
    x = p.argument(
        rng.integers(-3, 4, shape).astype(kind.replace("f32", "float32").replace("i8", "int8"))
    )
    p.result(
        reduce(p, x, dims), reduce(p, x, dims, "maximum", "-100.0" if kind == "f32" else "-100")
    )
    p.check()


def test_softmax_down_columns() -> None:
    """A fold of what another fold of the same block gives."""
    p = Program()
    x = p.argument(np.random.default_rng(0).standard_normal((1200, 2003), dtype=np.float32))
    lowest = reduce(p, x, (0,), "maximum", "0xFF800000")

    def wide(value: Value) -> Value:
        return p.op(
            "broadcast_in_dim", [value], x.shape, None, "broadcast_dimensions = array<i64: 1>"
        )

    raised = p.op("exponential", [p.op("subtract", [x, wide(lowest)], x.shape)], x.shape)
    p.result(p.op("divide", [raised, wide(reduce(p, raised, (0,)))], x.shape))
    p.check(ulps=16)


_ARGMAX = """
func.func @main(%x: tensor<SHAPExKIND>) -> (tensor<OUTxKIND>, tensor<OUTxi32>) {
  %at = hlo.iota dim = DIM : tensor<SHAPExi32>
  %low = hlo.constant dense<LOWEST> : tensor<KIND>
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = "hlo.reduce"(%x, %at, %low, %zero) <{dimensions = array<i64: DIM>}> ({
  ^bb0(%a: tensor<KIND>, %i: tensor<i32>, %b: tensor<KIND>, %j: tensor<i32>):
    %1 = hlo.compare GT, %a, %b, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %2 = hlo.compare NE, %a, %a, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %3 = hlo.or %1, %2 : tensor<i1>
    %4 = hlo.compare EQ, %a, %b, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %5 = hlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = hlo.and %4, %5 : tensor<i1>
    %7 = hlo.or %3, %6 : tensor<i1>
    %8 = hlo.select %3, %a, %b : tensor<i1>, tensor<KIND>
    %9 = hlo.select %7, %i, %j : tensor<i1>, tensor<i32>
    hlo.return %8, %9 : tensor<KIND>, tensor<i32>
  }) : (tensor<SHAPExKIND>, tensor<SHAPExi32>, tensor<KIND>, tensor<i32>)
      -> (tensor<OUTxKIND>, tensor<OUTxi32>)
  return %0#0, %0#1 : tensor<OUTxKIND>, tensor<OUTxi32>
}
"""


@pytest.mark.parametrize(
    ("kind", "lowest"), [("f32", "0xFF800000"), ("f64", "0xFFF0000000000000"), ("bf16", "0xFF80")]
)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(5, 7), (33, 100), (100, 33), (17, 1000), (3, 16), (1500, 2001)])
def test_where_the_largest_is(kind: str, lowest: str, dim: int, shape: tuple[int, int]) -> None:
    """As JAX writes argmax: NaN is largest, the first of equal ones wins."""
    rng = np.random.default_rng(2)
    x = rng.integers(-9, 9, shape).astype(np.float32)
    x[rng.random(shape) < 0.01] = np.nan
    x[0, :] = -np.inf
    text = _ARGMAX.replace("SHAPE", f"{shape[0]}x{shape[1]}").replace("OUT", str(shape[1 - dim]))
    text = text.replace("KIND", kind).replace("LOWEST", lowest).replace("DIM", str(dim))
    assert_matches(text, [x.astype(ir.types.to_dtype(kind))])
