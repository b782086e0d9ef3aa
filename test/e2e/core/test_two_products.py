"""A matrix and its transpose multiplied in one pass, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import assert_matches

import hlo


def regression(
    rows: int, columns: int, kind: str = "f32", between: str = "", scales: str = "%r",
    results: str = "%g",
) -> str:  # fmt: skip
    """X' w of w = logistic(X v) - y; `between` may make other `scales` of %z, %p and %r."""
    x, v, n = (
        f"tensor<{rows}x{columns}x{kind}>",
        f"tensor<{columns}x{kind}>",
        f"tensor<{rows}x{kind}>",
    )
    kinds = ", ".join(v if name == "%g" else n for name in results.split(", "))
    return f"""
    func.func @main(%x: {x}, %v: {v}, %y: {n}) -> ({kinds}) {{
      %z = hlo.dot_general %x, %v, contracting_dims = [1] x [0] : ({x}, {v}) -> {n}
      %p = hlo.logistic %z : {n}
      %r = hlo.subtract %p, %y : {n}
      {between}
      %g = hlo.dot_general {scales}, %x, contracting_dims = [0] x [0] : ({n}, {x}) -> {v}
      return {results} : {kinds}
    }}"""


def arguments(rows: int, columns: int, dtype: str = "float32") -> list[np.ndarray]:
    source = np.random.default_rng([rows, columns])
    shapes = ((rows, columns), (columns,), (rows,))
    return [(source.integers(-8, 9, shape) / 16).astype(dtype) for shape in shapes]


def kinds_of(text: str) -> list[str]:
    fused = hlo.compile(text).as_text("fused")
    return [line.split('"')[1] for line in fused.split("kind = ")[1:]]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (1000, 32),  # blocks of 64 rows, and 40
        (64, 64),
        (77, 64),  # a last vector of 13 rows
        (300, 17),  # a single column behind a vector
        (45, 100),  # six vectors of columns, 4 together, and a rest
        (40, 520),  # blocks of 16 rows: 64 do not stay in the first-level cache
        (17, 250),
        (4096, 72),  # in pieces for threads
        (8 * 2049, 40),  # whose rows leave a rest
    ],
)
def test_shapes(rows: int, columns: int) -> None:
    text = regression(rows, columns)
    assert "two_products" in kinds_of(text)
    assert_matches(text, arguments(rows, columns), ulps=16)


@pytest.mark.parametrize("results", ["%g, %z", "%g, %r", "%z, %g, %p", "%g, %z, %p, %r"])
def test_what_lies_between_is_a_result_too(results: str) -> None:
    text = regression(131, 48, results=results)
    assert "two_products" in kinds_of(text)
    assert_matches(text, arguments(131, 48), ulps=16)


def test_a_matrix_under_another_shape() -> None:
    x = "tensor<128x48xf32>"
    reshape = f"%x = hlo.reshape %x0 : (tensor<8x16x48xf32>) -> {x}\n      %z ="
    text = regression(128, 48).replace(f"%x: {x}", "%x0: tensor<8x16x48xf32>")
    text = text.replace("%z =", reshape, 1)
    assert "two_products" in kinds_of(text)
    matrix, *rest = arguments(128, 48)
    assert_matches(text, [matrix.reshape(8, 16, 48), *rest], ulps=16)


def test_a_square_matrix_whose_vector_is_a_constant() -> None:
    text = regression(96, 96, between="%s = hlo.multiply %r, %v : tensor<96xf32>", scales="%s")
    text = text.replace("%v: tensor<96xf32>, ", "")
    head = "%v = hlo.constant dense<0.5> : tensor<96xf32>\n      %z ="
    text = text.replace("%z =", head, 1)
    x, _, y = arguments(96, 96)
    assert "two_products" in kinds_of(text)
    assert_matches(text, [x, y], ulps=16)


def test_doubles() -> None:
    text = regression(130, 50, "f64")
    assert "two_products" in kinds_of(text)
    assert_matches(text, arguments(130, 50, "float64"), ulps=16)


def test_constants_scalars_and_reshapes_between() -> None:
    between = """
      %two = hlo.constant dense<2.0> : tensor<90xf32>
      %first = hlo.slice %y [0:1] : (tensor<90xf32>) -> tensor<1xf32>
      %scalar = hlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
      %spread = hlo.broadcast_in_dim %scalar, dims = [] : (tensor<f32>) -> tensor<90xf32>
      %a = hlo.multiply %r, %two : tensor<90xf32>
      %b = hlo.add %a, %spread : tensor<90xf32>
      %c = hlo.reshape %b : (tensor<90xf32>) -> tensor<9x10xf32>
      %d = hlo.tanh %c : tensor<9x10xf32>
      %s = hlo.reshape %d : (tensor<9x10xf32>) -> tensor<90xf32>
    """
    text = regression(90, 64, between=between, scales="%s", results="%g, %s")
    assert "two_products" in kinds_of(text)
    assert_matches(text, arguments(90, 64), ulps=16)


def test_scales_that_need_all_products_take_two_passes() -> None:
    """A softmax over the rows: its sum is known only when all rows were multiplied."""
    between = """
      %zero = hlo.constant dense<0.0> : tensor<f32>
      %sum = hlo.reduce(%p init: %zero) applies hlo.add across dimensions = [0]
        : (tensor<200xf32>, tensor<f32>) -> tensor<f32>
      %all = hlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<200xf32>
      %s = hlo.divide %r, %all : tensor<200xf32>
    """
    text = regression(200, 64, between=between, scales="%s")
    assert "two_products" not in kinds_of(text)
    assert_matches(text, arguments(200, 64), ulps=32)


@pytest.mark.parametrize(
    ("rows", "columns", "together"), [(256, 768, True), (256, 1024, False), (8192, 1024, True)]
)
def test_wide_rows_are_read_once_if_they_come_from_memory(
    rows: int, columns: int, together: bool
) -> None:
    """16 rows of 1,024 columns leave the first-level cache before they are scaled."""
    assert ("two_products" in kinds_of(regression(rows, columns))) is together


def test_another_matrix_takes_two_kernels() -> None:
    text = regression(200, 64).replace("%g = hlo.dot_general %r, %x", "%g = hlo.dot_general %r, %w")
    text = text.replace("(%x: ", "(%w: tensor<200x64xf32>, %x: ")
    assert "two_products" not in kinds_of(text)
    x, *rest = arguments(200, 64)
    assert_matches(text, [np.ascontiguousarray(x[::-1]), x, *rest], ulps=32)


def test_steps_of_gradient_descent() -> None:
    """Within a loop, whose carry the vector is."""
    n, x, v = "tensor<500xf32>", "tensor<500x20xf32>", "tensor<20xf32>"
    text = f"""
    func.func @main(%x: {x}, %v: {v}, %y: {n}) -> {v} {{
      %zero = hlo.constant dense<0> : tensor<i32>
      %0:2 = hlo.while(%i = %zero, %u = %v) : tensor<i32>, {v}
       cond {{
        %n = hlo.constant dense<9> : tensor<i32>
        %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        %one = hlo.constant dense<1> : tensor<i32>
        %j = hlo.add %i, %one : tensor<i32>
        %z = hlo.dot_general %x, %u, contracting_dims = [1] x [0] : ({x}, {v}) -> {n}
        %p = hlo.logistic %z : {n}
        %r = hlo.subtract %p, %y : {n}
        %g = hlo.dot_general %x, %r, contracting_dims = [0] x [0] : ({x}, {n}) -> {v}
        %rate = hlo.constant dense<0.01> : {v}
        %h = hlo.multiply %g, %rate : {v}
        %w = hlo.subtract %u, %h : {v}
        hlo.return %j, %w : tensor<i32>, {v}
      }}
      return %0#1 : {v}
    }}"""
    assert "two_products" in kinds_of(text)
    assert_matches(text, arguments(500, 20), ulps=256)
