# ruff: noqa: E501 (ops are easier to read on one line)
"""Rules of ops that change shapes, move elements or look them up: each applies where it must, and keeps results."""

from __future__ import annotations

import numpy as np
import pytest
from simplify_cases import DTYPES, assert_same, function, op_names

# arguments' types, result type, lines that define %0, ops that are left
SHAPES = [
    (["3xf32"], "2x3xf32", "%a = hlo.broadcast_in_dim %x0, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>\n"
     "%0 = hlo.slice %a [0:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>", ["broadcast_in_dim"]),
    (["3xf32"], "3x2x4xf32", "%a = hlo.broadcast_in_dim %x0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>\n"
     "%b = hlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2x4xf32>\n"
     "%0 = hlo.reshape %b : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>", ["broadcast_in_dim"]),
    (["3xf32"], "4x3xf32", "%a = hlo.reshape %x0 : (tensor<3xf32>) -> tensor<1x3xf32>\n"
     "%0 = hlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<4x3xf32>", ["broadcast_in_dim"]),
    (["3xf32"], "1x3x1xf32", "%0 = hlo.broadcast_in_dim %x0, dims = [1] : (tensor<3xf32>) -> tensor<1x3x1xf32>", ["reshape"]),
    (["2x3xf32"], "6xf32", "%a = hlo.reshape %x0 : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
     "%0 = hlo.reshape %a : (tensor<3x2xf32>) -> tensor<6xf32>", ["reshape"]),
    (["2x3xf32"], "2x3xf32", "%a = hlo.reshape %x0 : (tensor<2x3xf32>) -> tensor<6xf32>\n"
     "%0 = hlo.reshape %a : (tensor<6xf32>) -> tensor<2x3xf32>", []),
    (["2x3x4xf32"], "2x3x4xf32", "%a = hlo.transpose %x0, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>\n"
     "%0 = hlo.transpose %a, dims = [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>", []),
    (["1x3x4xf32"], "3x1x4xf32", "%0 = hlo.transpose %x0, dims = [1, 0, 2] : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>", ["reshape"]),
    (["3xf32"], "3x2xf32", "%a = hlo.broadcast_in_dim %x0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>\n"
     "%0 = hlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>", ["broadcast_in_dim"]),
    ([], "4x2xi32", "%a = hlo.iota dim = 0 : tensor<2x4xi32>\n"
     "%0 = hlo.transpose %a, dims = [1, 0] : (tensor<2x4xi32>) -> tensor<4x2xi32>", ["iota"]),
    ([], "2x1x4xi32", "%a = hlo.iota dim = 1 : tensor<2x4xi32>\n"
     "%0 = hlo.reshape %a : (tensor<2x4xi32>) -> tensor<2x1x4xi32>", ["iota"]),
    (["f32"], "4xf32", "%a = hlo.broadcast_in_dim %x0, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
     "%b = hlo.constant dense<2.0> : tensor<4xf32>\n"
     "%0 = hlo.multiply %a, %b : tensor<4xf32>", ["constant", "multiply", "broadcast_in_dim"]),
    (["10xf32"], "2xf32", "%a = hlo.slice %x0 [1:9:2] : (tensor<10xf32>) -> tensor<4xf32>\n"
     "%0 = hlo.slice %a [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>", ["slice"]),
    (["3xf32", "4xf32"], "2xf32", "%a = hlo.concatenate %x0, %x1, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>\n"
     "%0 = hlo.slice %a [4:6] : (tensor<7xf32>) -> tensor<2xf32>", ["slice"]),
    (["3xf32", "4xf32"], "2xf32", "%a = hlo.concatenate %x0, %x1, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>\n"
     "%0 = hlo.slice %a [2:4] : (tensor<7xf32>) -> tensor<2xf32>", ["concatenate", "slice"]),
    (["6xf32"], "6xf32", "%a = hlo.slice %x0 [0:2] : (tensor<6xf32>) -> tensor<2xf32>\n"
     "%b = hlo.slice %x0 [2:6] : (tensor<6xf32>) -> tensor<4xf32>\n"
     "%0 = hlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>", []),
    (["2xf32", "0xf32"], "4xf32", "%a = hlo.concatenate %x0, %x1, dim = 0 : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32>\n"
     "%0 = hlo.concatenate %a, %x0, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>", ["broadcast_in_dim", "reshape"]),
    (["4xf32", "i32"], "4xf32", "%a = hlo.concatenate %x0, %x0, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>\n"
     "%0 = hlo.dynamic_slice %a, %x1, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>", ["concatenate", "dynamic_slice"]),
    (["4xf32", "f32"], "4xf32", "%0 = hlo.pad %x0, %x1, low = [0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>", []),
    (["4xf32", "f32"], "2xf32", "%0 = hlo.pad %x0, %x1, low = [-1], high = [-1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>", ["slice"]),
    (["4xf32", "f32"], "2xf32", "%a = hlo.pad %x0, %x1, low = [2], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>\n"
     "%0 = hlo.slice %a [3:5] : (tensor<7xf32>) -> tensor<2xf32>", ["slice"]),
    (["2x3xf32"], "2x3xf32", "%a = hlo.reverse %x0, dims = [0, 1] : tensor<2x3xf32>\n"
     "%0 = hlo.reverse %a, dims = [1] : tensor<2x3xf32>", ["reverse"]),
    (["1x3xf32"], "1x3xf32", "%0 = hlo.reverse %x0, dims = [0] : tensor<1x3xf32>", []),
    (["4xf32", "i32"], "4xf32", "%0 = hlo.dynamic_slice %x0, %x1, sizes = [4] : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>", []),
    (["4xf32"], "2xf32", "%c = hlo.constant dense<9> : tensor<i32>\n"
     "%0 = hlo.dynamic_slice %x0, %c, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>", ["slice"]),
    (["4xf32", "4xf32", "i32"], "4xf32", "%0 = hlo.dynamic_update_slice %x0, %x1, %x2 : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>", []),
    (["1x3xf32"], "3xf32", '%c = hlo.constant dense<0.0> : tensor<f32>\n'
     '%0 = "hlo.reduce"(%x0, %c) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
     '%s = hlo.add %a, %b : tensor<f32>\nhlo.return %s : tensor<f32>\n}) : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>',
     ["reshape", "constant", "add"]),
    (["3xf32"], "3xf32", '%c = hlo.constant dense<0xFF800000> : tensor<f32>\n'
     "%w = hlo.broadcast_in_dim %x0, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>\n"
     '%0 = "hlo.reduce"(%w, %c) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
     '%s = hlo.maximum %a, %b : tensor<f32>\nhlo.return %s : tensor<f32>\n}) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>', []),
    (["3x2xf32", "3x4xf32"], "2x4xf32", "%a = hlo.transpose %x0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>\n"
     "%0 = hlo.dot_general %a, %x1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>", ["dot_general"]),
    # Free dimensions 4 of the left and 6 x 5 of the right operand change places: operands are exchanged.
    (["2x4x8xf32", "2x6x5x8xf32"], "2x6x5x4xf32",
     "%a = hlo.dot_general %x0, %x1, batching_dims = [0] x [0], contracting_dims = [2] x [3] : (tensor<2x4x8xf32>, tensor<2x6x5x8xf32>) -> tensor<2x4x6x5xf32>\n"
     "%0 = hlo.transpose %a, dims = [0, 2, 3, 1] : (tensor<2x4x6x5xf32>) -> tensor<2x6x5x4xf32>", ["dot_general"]),
    # 5 and 6 do too: the transpose stays.
    (["2x4x8xf32", "2x6x5x8xf32"], "2x5x6x4xf32",
     "%a = hlo.dot_general %x0, %x1, batching_dims = [0] x [0], contracting_dims = [2] x [3] : (tensor<2x4x8xf32>, tensor<2x6x5x8xf32>) -> tensor<2x4x6x5xf32>\n"
     "%0 = hlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<2x4x6x5xf32>) -> tensor<2x5x6x4xf32>", ["dot_general", "transpose"]),
    # Matrices of 2 x 3 batches, one of them transposed ahead of the merging reshape: read in place.
    (["2x5x3x4xf32", "2x3x4x2xf32"], "6x5x2xf32", "%a = hlo.transpose %x0, dims = [0, 2, 1, 3] : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>\n"
     "%b = hlo.reshape %a : (tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32>\n"
     "%c = hlo.reshape %x1 : (tensor<2x3x4x2xf32>) -> tensor<6x4x2xf32>\n"
     "%0 = hlo.dot_general %b, %c, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x4xf32>, tensor<6x4x2xf32>) -> tensor<6x5x2xf32>",
     ["dot_general", "reshape"]),
    # The operands' batches are 2 x 3 and 3 x 2: they stay merged.
    (["2x5x3x4xf32", "3x2x4x2xf32"], "6x5x2xf32", "%a = hlo.transpose %x0, dims = [0, 2, 1, 3] : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>\n"
     "%b = hlo.reshape %a : (tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32>\n"
     "%c = hlo.reshape %x1 : (tensor<3x2x4x2xf32>) -> tensor<6x4x2xf32>\n"
     "%0 = hlo.dot_general %b, %c, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x4xf32>, tensor<6x4x2xf32>) -> tensor<6x5x2xf32>",
     ["transpose", "reshape", "reshape", "dot_general"]),
    (["2x1xf32", "1x4xf32"], "2x4xf32",
     "%0 = hlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<2x1xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>",
     ["reshape", "broadcast_in_dim", "reshape", "broadcast_in_dim", "multiply"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "result", "lines", "left"), SHAPES)
def test_shapes(arguments: list[str], result: str, lines: str, left: list[str]) -> None:
    text = function(
        ", ".join(f"%x{i}: tensor<{kind}>" for i, kind in enumerate(arguments)),
        f"tensor<{result}>",
        f"{lines}\nreturn %0 : tensor<{result}>",
    )
    values = [_argument(kind, index) for index, kind in enumerate(arguments)]
    assert op_names(assert_same(text, *values)) == left


def _argument(kind: str, seed: int) -> np.ndarray:
    *sizes, element = kind.split("x")
    shape = tuple(int(size) for size in sizes)
    values = np.random.default_rng(seed).normal(size=shape) * 4
    return np.asarray(values, DTYPES[element])


GATHER = (
    "offset_dims = [{}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
)


@pytest.mark.parametrize(
    ("indices", "left"),
    [
        ([1, 2, 3], ["slice"]),
        ([0, 2, 4], ["slice"]),
        ([4, 3, 2], ["constant", "gather"]),
        ([3, 4, 5], ["constant", "gather"]),  # the last is clamped
        ([1, 1, 1], ["slice", "reshape", "broadcast_in_dim"]),
        ([1, 2, 4], ["constant", "gather"]),
    ],
)
def test_gather_of_constant_rows(indices: list[int], left: list[str]) -> None:
    rows = ", ".join(f"[{i}]" for i in indices)
    numbers = GATHER.format("1")
    body = f"""
      %i = hlo.constant dense<[{rows}]> : tensor<3x1xi32>
      %0 = "hlo.gather"(%x, %i) <{{dimension_numbers = #hlo.gather<{numbers}>, slice_sizes = array<i64: 1, 4>}}>
        : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
      return %0 : tensor<3x4xf32>"""
    text = function("%x: tensor<5x4xf32>", "tensor<3x4xf32>", body)
    assert op_names(assert_same(text, _argument("5x4xf32", 0))) == left


@pytest.mark.parametrize("index", [-7, 0, 3, 99])
def test_gather_of_one_row_clamps_as_a_slice(index: int) -> None:
    body = f"""
      %0 = "hlo.gather"(%x, %i) <{{dimension_numbers = #hlo.gather<{GATHER.format("1")}>, slice_sizes = array<i64: 1, 4>}}>
        : (tensor<5x4xf32>, tensor<1x1xi32>) -> tensor<1x4xf32>
      return %0 : tensor<1x4xf32>"""
    text = function("%x: tensor<5x4xf32>, %i: tensor<1x1xi32>", "tensor<1x4xf32>", body)
    module = assert_same(text, _argument("5x4xf32", 0), np.asarray([[index]], np.int32))
    assert "gather" not in op_names(module)


@pytest.mark.parametrize(
    ("index", "op"), [(1, "update"), (1, "add"), (4, "update"), (9, "add"), (-1, "add")]
)
def test_scatter_of_one_row_is_an_update_in_bounds(index: int, op: str) -> None:
    compute = "" if op == "update" else "%s = hlo.add %a, %b : tensor<f32>"
    returned = "%b" if op == "update" else "%s"
    body = f"""
      %i = hlo.constant dense<{index}> : tensor<1xi32>
      %0 = "hlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          {compute}
          hlo.return {returned} : tensor<f32>
        }}) : (tensor<5x4xf32>, tensor<1xi32>, tensor<4xf32>) -> tensor<5x4xf32>
      return %0 : tensor<5x4xf32>"""
    text = function("%x: tensor<5x4xf32>, %u: tensor<4xf32>", "tensor<5x4xf32>", body)
    module = assert_same(text, _argument("5x4xf32", 0), _argument("4xf32", 1))
    assert ("scatter" in op_names(module)) == (not 0 <= index < 5)


@pytest.mark.parametrize("op", ["update", "add"])
@pytest.mark.parametrize(
    ("rows", "left"),
    [([1, 2, 3], "dynamic_update_slice"), ([1, 3, 2], "scatter"), ([3, 4, 5], "scatter")],
)
def test_scatter_of_neighbouring_rows_is_an_update(op: str, rows: list[int], left: str) -> None:
    compute = "" if op == "update" else "%s = hlo.add %a, %b : tensor<f32>"
    returned = "%b" if op == "update" else "%s"
    listed = ", ".join(f"[{row}]" for row in rows)
    body = f"""
      %i = hlo.constant dense<[{listed}]> : tensor<3x1xi32>
      %0 = "hlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          {compute}
          hlo.return {returned} : tensor<f32>
        }}) : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<4x3xf32>) -> tensor<5x4xf32>
      return %0 : tensor<5x4xf32>"""
    text = function("%x: tensor<5x4xf32>, %u: tensor<4x3xf32>", "tensor<5x4xf32>", body)
    module = assert_same(text, _argument("5x4xf32", 0), _argument("4x3xf32", 1))
    assert left in op_names(module)


def test_update_of_a_splat_is_a_pad() -> None:
    body = """
      %c = hlo.constant dense<2.5> : tensor<6xf32>
      %i = hlo.constant dense<5> : tensor<i32>
      %0 = hlo.dynamic_update_slice %c, %u, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>
      return %0 : tensor<6xf32>"""
    module = assert_same(
        function("%u: tensor<2xf32>", "tensor<6xf32>", body), _argument("2xf32", 0)
    )
    assert op_names(module) == ["constant", "pad"]


def _trace(element: str, initial: str, counted: str, direction: str) -> str:
    matrix, count, places = f"tensor<8x8x{element}>", f"tensor<8x8x{counted}>", "tensor<8x8xi1>"
    zero = initial.replace("-", "")
    return function(
        f"%x: {matrix}", f"tensor<{element}>",
        f"%i = hlo.iota dim = 0 : {count}\n%j = hlo.iota dim = 1 : {count}\n"
        f"%p = hlo.compare {direction}, %i, %j : ({count}, {count}) -> {places}\n"
        f"%z = hlo.constant dense<{initial}> : tensor<{element}>\n"
        f"%w = hlo.constant dense<{zero}> : {matrix}\n"
        f"%s = hlo.select %p, %x, %w : {places}, {matrix}\n"
        f"%0 = hlo.reduce(%s init: %z) applies hlo.add across dimensions = [0, 1] : "
        f"({matrix}, tensor<{element}>) -> tensor<{element}>\nreturn %0 : tensor<{element}>",
    )  # fmt: skip


@pytest.mark.parametrize(
    "element, initial, counted, direction, sliced",
    [
        ("f32", "0.0", "i32", "EQ", True),
        ("bf16", "0.0", "i64", "EQ", True),
        ("i32", "0", "i32", "EQ", True),
        ("complex<f32>", "(0.0, 0.0)", "i32", "EQ", True),
        ("f32", "-0.0", "i32", "EQ", False),  # -0 is kept by a sum of -0 alone
        ("f32", "1.0", "i32", "EQ", False),
        ("f32", "0.0", "i8", "EQ", False),  # rows of a longer matrix are counted modulo 256
        ("f32", "0.0", "i32", "LE", False),
    ],
)
def test_a_trace_reads_the_diagonal(
    element: str, initial: str, counted: str, direction: str, sliced: bool
) -> None:
    quarters = np.random.default_rng(1).integers(-8, 9, (8, 8)) / 4  # sums are exact
    if element in ("i32",):
        quarters = quarters * 4
    elsewhere = np.where(np.eye(8, dtype=bool), quarters, np.nan if "f" in element else 7)
    text = _trace(element, initial, counted, direction)
    with np.errstate(invalid="ignore"):
        matrices = [m.astype(DTYPES[element]) for m in (quarters, elsewhere, quarters * -0.0)]
    for matrix in matrices if direction == "EQ" else matrices[:1]:
        module = assert_same(text, matrix)
        assert ("slice" in op_names(module)) == sliced
