"""Reductions of one kernel that share their loops, on the emulated device."""

from __future__ import annotations

import pytest
from test_gpu_kernels import check, reducer, sample
from test_gpu_windows import launches


def moments(rows: int, columns: int, dimension: int, kind: str = "f32") -> str:
    """The sum, the sum of squares and the maximum along a dimension."""
    whole, left = f"tensor<{rows}x{columns}x{kind}>", rows if dimension else columns
    part, scalar = f"tensor<{left}x{kind}>", f"tensor<{kind}>"
    where = f"{{dimensions = array<i64: {dimension}>}} : ({whole}, {scalar}) -> {part}"
    return f"""
func.func @main(%x: {whole}) -> ({part}, {part}, {part}) {{
  %z = "hlo.constant"() {{value = dense<0.0> : {scalar}}} : () -> {scalar}
  %l = "hlo.constant"() {{value = dense<0xFF800000> : tensor<f32>}} : () -> tensor<f32>
  %m = "hlo.convert"(%l) : (tensor<f32>) -> {scalar}
  %y = "hlo.multiply"(%x, %x) : ({whole}, {whole}) -> {whole}
  %0 = "hlo.reduce"(%x, %z) {reducer("add", kind)} {where}
  %1 = "hlo.reduce"(%y, %z) {reducer("add", kind)} {where}
  %2 = "hlo.reduce"(%x, %m) {reducer("maximum", kind)} {where}
  return %0, %1, %2 : {part}, {part}, {part}
}}"""


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize(("rows", "columns"), [(40, 64), (37, 1000), (5, 9001)])
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_what_is_reduced_is_read_once(rows: int, columns: int, dimension: int, kind: str) -> None:
    text = moments(rows, columns, dimension, kind)
    assert len(launches(text)) == 1
    check(text, sample((rows, columns), kind), ulps=16)


def test_both_steps_of_long_ones_are_one_launch_each() -> None:
    text = moments(4096, 64, 0)
    assert len(launches(text)) == 2
    check(text, sample((4096, 64)), ulps=64)


def test_a_reduction_and_what_is_computed_of_the_same_elements() -> None:
    # One root an element, one a sum of a row: they are no siblings. Both are right.
    kind = "tensor<6x300xf32>"
    text = f"""
func.func @main(%x: {kind}) -> ({kind}, tensor<6xf32>) {{
  %z = "hlo.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
  %y = "hlo.multiply"(%x, %x) : ({kind}, {kind}) -> {kind}
  %0 = "hlo.reduce"(%y, %z) {reducer("add")} {{dimensions = array<i64: 1>}}
    : ({kind}, tensor<f32>) -> tensor<6xf32>
  return %y, %0 : {kind}, tensor<6xf32>
}}"""
    check(text, sample((6, 300)), ulps=8)
