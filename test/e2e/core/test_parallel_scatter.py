"""Scatters large enough for several threads: each element is updated in order, by one of them."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, reducer

import hlo


def _scatter(program: Program, rows: int, columns: int, count: int, kind: str, body: str) -> None:
    rng = np.random.default_rng([rows, columns])
    shape = (rows, columns) if columns else (rows,)
    operand = program.sample(shape, kind)
    # Out of range on both sides: such updates are left out.
    at = program.argument(rng.integers(-3, rows + 3, (count, 1)).astype(np.int32))
    updates = program.sample((count, *shape[1:]), kind)
    window = "update_window_dims = [1], " if columns else ""
    numbers = (
        f"{window}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1"
    )
    program.result(
        program.op(
            "scatter", [operand, at, updates], shape,
            attributes=f"scatter_dimension_numbers = #hlo.scatter<{numbers}>",
            regions=reducer(body, kind) if body != "last" else _LAST.format(kind=kind),
        )
    )  # fmt: skip


_LAST = (
    '{{^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>): "hlo.return"(%b) : (tensor<{kind}>) -> ()}}'
)


@pytest.mark.parametrize(
    "kind, body", [("f32", "add"), ("i8", "add"), ("f32", "last"), ("bf16", "last")]
)
@pytest.mark.parametrize("columns", [0, 1, 7, 97, 300, 517])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_scatter_by_several_threads(kind: str, body: str, columns: int, threads: int) -> None:
    program = Program()
    # 2 pieces of work at the least; several updates of each row.
    count = 80_000 // max(columns, 1)
    _scatter(program, 129, columns, count, kind, body)
    program.check(threads=threads)


def test_scatter_into_few_rows() -> None:
    program = Program()
    _scatter(program, 3, 0, 70_000, "i32", "add")
    program.check(threads=2)


# 80,000 updates are 8 pieces of 10,000 (129 x 8 elements in copies), 60,004 are 4.
@pytest.mark.parametrize("count", [80_000, 60_004, 60_001])
@pytest.mark.parametrize("kind", ["f32", "f64", "i32", "i8", "ui8", "ui32", "i64", "f16"])
@pytest.mark.parametrize("body", ["add", "maximum", "minimum"])
def test_pieces(kind: str, body: str, count: int) -> None:
    for threads in (1, 3):
        program = Program()
        _scatter(program, 129, 0, count, kind, body)
        program.check(threads=threads)


@pytest.mark.parametrize("body", ["add", "maximum", "minimum"])
def test_pieces_keep_special_values(body: str) -> None:
    """Elements that nothing is added to, signed zeros, infinities and NaN."""
    x = np.asarray([-0.0, 0.0, -0.0, 0.0, np.nan, np.inf, -np.inf, 1.0, 2.0, -0.0], np.float32)
    i = np.resize([2, 3, 7, 8], (1 << 15, 1)).astype(np.int32)
    u = np.resize(np.asarray([-0.0, -0.0, -3.0, 0.0], np.float32), 1 << 15)
    i[::4099], u[::4099] = 8, np.nan
    text = f"""
    func.func @main(%x: tensor<10xf32>, %i: tensor<32768x1xi32>, %u: tensor<32768xf32>) -> tensor<10xf32> {{
      %0 = "hlo.scatter"(%x, %i, %u) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = hlo.{body} %a, %b : tensor<f32>
        hlo.return %1 : tensor<f32>
      }}) {{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} : (tensor<10xf32>, tensor<32768x1xi32>, tensor<32768xf32>) -> tensor<10xf32>
      return %0 : tensor<10xf32>
    }}"""  # noqa: E501
    [found] = hlo.compile(text, threads=2)(x, i, u)
    count = int(np.sum(i == 7))
    of_seven = {"add": 1 - 3.0 * count, "maximum": 1.0, "minimum": -3.0}[body]
    least = -0.0 if body == "minimum" else 0.0
    expected = np.asarray(
        [-0.0, 0.0, -0.0, least, np.nan, np.inf, -np.inf, of_seven, np.nan, -0.0], np.float32
    )
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    kept = ~np.isnan(expected)
    np.testing.assert_array_equal(found[kept].view(np.uint32), expected[kept].view(np.uint32))


@pytest.mark.parametrize("columns", [0, 5, 64, 300])
def test_batches_are_work_units(columns: int) -> None:
    """Each thread updates batches of its own."""
    rng = np.random.default_rng(11)
    program = Program()
    shape = (6, 11, columns) if columns else (6, 11)
    operand = program.sample(shape, "f32")
    at = program.argument(rng.integers(-2, 13, (6, 700, 1)).astype(np.int32))
    updates = program.sample((6, 700, *shape[2:]), "f32")
    window = "update_window_dims = [2], " if columns else ""
    numbers = (
        f"{window}inserted_window_dims = [1], input_batching_dims = [0], "
        "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
        "index_vector_dim = 2"
    )
    program.result(
        program.op(
            "scatter", [operand, at, updates], shape,
            attributes=f"scatter_dimension_numbers = #hlo.scatter<{numbers}>",
            regions=reducer("add", "f32"),
        )
    )  # fmt: skip
    for threads in (1, 2, 4):
        program.check(threads=threads)
