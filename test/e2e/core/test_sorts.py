"""Sorts as JAX writes them: the comparators are recognised, and the order is the reference's."""

from __future__ import annotations

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import ir
from hlo.driver.compile import compile as compile_program
from hlo.importers import load_program
from hlo.reference.evaluate import evaluate

# A comparator of floats for which -0 and 0 are equal and NaN is last. %left and %right are what its
# tests for NaN read: the arguments themselves once simplification has been there.
_CANONICAL = """
func.func @main(%x: tensor<SIZExKIND>) -> tensor<SIZExKIND> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<KIND>, %b: tensor<KIND>):
    %zero = stablehlo.constant dense<0.0> : tensor<KIND>
    %quiet = stablehlo.constant dense<0xBITS> : tensor<KIND>
    %1 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %2 = stablehlo.select %1, %zero, %a : tensor<i1>, tensor<KIND>
    %3 = stablehlo.compare NE, %left, %left, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %4 = stablehlo.select %3, %quiet, %2 : tensor<i1>, tensor<KIND>
    %5 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %6 = stablehlo.select %5, %zero, %b : tensor<i1>, tensor<KIND>
    %7 = stablehlo.compare NE, %right, %right, FLOAT : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    %8 = stablehlo.select %7, %quiet, %6 : tensor<i1>, tensor<KIND>
    %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<SIZExKIND>) -> tensor<SIZExKIND>
  return %0 : tensor<SIZExKIND>
}
"""
_NANS = {"f32": "7FC00000", "f64": "7FF8000000000000", "f16": "7E00", "bf16": "7FC0"}


@pytest.mark.parametrize("sides", [("2", "6"), ("a", "b")])
@pytest.mark.parametrize("kind", sorted(_NANS))
@pytest.mark.parametrize("size", [17, 700, 5000])
def test_canonical_float_comparators(sides: tuple[str, str], kind: str, size: int) -> None:
    text = _CANONICAL.replace("left", sides[0]).replace("right", sides[1])
    text = text.replace("BITS", _NANS[kind]).replace("KIND", kind).replace("SIZE", str(size))
    program = load_program(text)
    rng = np.random.default_rng(size)
    x = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.25, 3e-5], size)
    x = x.astype(ir.types.to_dtype(kind))
    x[::3] = rng.standard_normal(len(x[::3])).astype(x.dtype)
    compiled = compile_program(program)
    (expected,) = evaluate(program, [x])
    found = compiled(x)[0]
    width = f"u{x.dtype.itemsize}"
    np.testing.assert_array_equal(found.view(width), np.asarray(expected).view(width))
    assert "hlo_rt_sort_keys" in compiled.as_text("llvm")


_FIRST = """
func.func @main(%x: tensor<SHAPExKIND>) -> (tensor<PARTxKIND>, tensor<PARTxi32>) {
  %at = hlo.iota dim = 1 : tensor<SHAPExi32>
  %0:2 = "hlo.sort"(%x, %at) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<KIND>, %b: tensor<KIND>, %i: tensor<i32>, %j: tensor<i32>):
    %1 = hlo.compare WAY, %a, %b, ORDER : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  }) : (tensor<SHAPExKIND>, tensor<SHAPExi32>) -> (tensor<SHAPExKIND>, tensor<SHAPExi32>)
  %2 = hlo.slice %0#0 [0:ROWS, 0:COUNT] : (tensor<SHAPExKIND>) -> tensor<PARTxKIND>
  %3 = hlo.slice %0#1 [0:ROWS, 0:COUNT] : (tensor<SHAPExi32>) -> tensor<PARTxi32>
  return %2, %3 : tensor<PARTxKIND>, tensor<PARTxi32>
}
"""


@pytest.mark.parametrize(("kind", "order"), [("f32", "TOTALORDER"), ("f64", "TOTALORDER"),
                                             ("bf16", "TOTALORDER"), ("i8", "SIGNED"),
                                             ("ui16", "UNSIGNED")])  # fmt: skip
@pytest.mark.parametrize("way", ["GT", "LT"])
@pytest.mark.parametrize("size", [50, 1000, 4099])
@pytest.mark.parametrize("count", [1, 7, 64])
def test_the_first_of_a_sort(kind: str, order: str, way: str, size: int, count: int) -> None:
    """Ties, runs in order and against it, NaN and zeros of both signs; few and most of a line."""
    rng = np.random.default_rng([size, count])
    rows = 5
    count = min(count, size)
    x = rng.integers(0, 60, (rows, size)).astype(np.float32)
    x[1], x[2] = np.arange(size) % 120, (size - np.arange(size)) % 120
    x[3] = 5
    if order == "TOTALORDER":
        x[4] = rng.choice([0.0, -0.0, np.nan, 1e-40, np.inf, -np.inf], size)
    x = x.astype(ir.types.to_dtype(kind))
    text = _FIRST.replace("SHAPE", f"{rows}x{size}").replace("PART", f"{rows}x{count}")
    text = text.replace("KIND", kind).replace("WAY", way).replace("ORDER", order)
    text = text.replace("ROWS", str(rows)).replace("COUNT", str(count))
    compiled = compile_program(text)
    found, expected = compiled(x), evaluate(load_program(text), [x])
    for got, want in zip(found, expected, strict=True):
        assert got.tobytes() == np.asarray(want).tobytes()
    assert ("hlo_rt_sort_first" in compiled.as_text("llvm")) == (count < size)


_CARRIED = """
func.func @main(%x: tensor<5x70x3xi32>, %y: tensor<5x70x3xf32>) -> (RESULTS) {
  %at = hlo.iota dim = DIM : tensor<5x70x3xKIND>
  %0:3 = "hlo.sort"(%x, %at, %y) <{dimension = DIM : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %i: tensor<KIND>, %j: tensor<KIND>,
       %c: tensor<f32>, %d: tensor<f32>):
    %1 = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  }) : (tensor<5x70x3xi32>, tensor<5x70x3xKIND>, tensor<5x70x3xf32>)
    -> (tensor<5x70x3xi32>, tensor<5x70x3xKIND>, tensor<5x70x3xf32>)
  return VALUES : RESULTS
}
"""


@pytest.mark.parametrize("kind", ["i32", "i64", "ui8", "i16"])
@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("wanted", [(1,), (0, 1), (1, 2), (2,), (0, 2)])
def test_positions_are_sorted_along(kind: str, dimension: int, wanted: tuple[int, ...]) -> None:
    """They are no buffer, and of three results only those that are wanted are made."""
    types = [f"tensor<5x70x3x{k}>" for k in ("i32", kind, "f32")]
    text = _CARRIED.replace("KIND", kind).replace("DIM", str(dimension))
    text = text.replace("RESULTS", ", ".join(types[k] for k in wanted))
    text = text.replace("VALUES", ", ".join(f"%0#{k}" for k in wanted))
    rng = np.random.default_rng(dimension)
    x = rng.integers(-4, 5, (5, 70, 3)).astype(np.int32)
    y = rng.standard_normal((5, 70, 3)).astype(np.float32)
    compiled = compile_program(text)
    for got, want in zip(compiled(x, y), evaluate(load_program(text), [x, y]), strict=True):
        np.testing.assert_array_equal(got, np.asarray(want))
    buffers = compiled.memory_analysis().buffers
    assert [b.name for b in buffers if not b.name.startswith("scratch of")] == []


@pytest.mark.parametrize(
    ("dtype", "bytes_an_element"),
    [
        (np.uint8, 0),
        (np.int16, 0),
        (np.float16, 2),
        (np.int32, 4),
        (np.float32, 8),
        (np.float64, 16),
    ],
)
def test_memory_of_sorts_of_one_operand(dtype: type, bytes_an_element: int) -> None:
    """Of its elements once, of floats twice, for zeros and NaNs that differ: of no positions."""
    n = 1 << 20
    x = np.broadcast_to(np.zeros((), dtype), (n,))
    arena = hlo.jit(hnp.sort).lower(x).compile().memory_analysis().arena_bytes
    assert n * bytes_an_element <= arena <= n * bytes_an_element + (520 << 10)
