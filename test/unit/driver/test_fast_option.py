"""`fast`: rules that change rounding run only when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import hlo

DIVIDE = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = hlo.constant dense<3.0> : tensor<3xf32>
  %0 = hlo.divide %x, %c : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
X = np.array([1.0, 5.0, 7.0], np.float32)


def test_division_by_a_constant_is_exact_unless_fast() -> None:
    exact, fast = hlo.compile(DIVIDE), hlo.compile(DIVIDE, fast=True)
    np.testing.assert_array_equal(exact(X)[0], X / np.float32(3))
    np.testing.assert_array_equal(fast(X)[0], X * (np.float32(1) / np.float32(3)))
    assert "hlo.divide" in exact.as_text("simplified")
    assert "hlo.divide" not in fast.as_text("simplified")


def test_reports_are_of_the_fast_program() -> None:
    (kernel,) = hlo.compile(DIVIDE, fast=True).cost_analysis().kernels
    assert "multiply" in kernel.name


def test_fast_is_a_flag() -> None:
    with pytest.raises(hlo.CompileError, match="option fast: expected True or False"):
        hlo.compile(DIVIDE, fast=1)
