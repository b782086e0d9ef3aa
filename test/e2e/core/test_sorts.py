"""Sorts as JAX writes them: the comparators are recognised, and the order is the reference's."""

from __future__ import annotations

import numpy as np
import pytest

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
