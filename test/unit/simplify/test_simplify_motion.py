# ruff: noqa: E501 (ops are easier to read on one line)
"""Rules that move slices, pads, updates and broadcasts: each applies where it may and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from simplify_cases import DTYPES, assert_same, function, op_names, special_values

from hlo import ir
from hlo.passes.rewrite.walk import body_of, functions

Case = tuple[list[str], str, str, list[str]]

CONCATENATIONS: list[Case] = [
    # Copies: a broadcast along a new dimension, merged with the old one.
    (["2x3xf32"], "2x9xf32", "%0 = hlo.concatenate %x0, %x0, %x0, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>", ["broadcast_in_dim", "reshape"]),
    (["0x3xf32"], "0x6xf32", "%0 = hlo.concatenate %x0, %x0, dim = 1 : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x6xf32>", ["concatenate"]),
    # Constants on both sides are edges: 2 + 3 + 1 = 6.
    (["3xf32"], "6xf32", "%a = hlo.constant dense<-0.0> : tensor<2xf32>\n%b = hlo.constant dense<-0.0> : tensor<1xf32>\n"
     "%0 = hlo.concatenate %a, %x0, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<1xf32>) -> tensor<6xf32>", ["constant", "pad"]),
    # 0 and -0 are not the same number; two values are not one.
    (["3xf32"], "6xf32", "%a = hlo.constant dense<-0.0> : tensor<2xf32>\n%b = hlo.constant dense<0.0> : tensor<1xf32>\n"
     "%0 = hlo.concatenate %a, %x0, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<1xf32>) -> tensor<6xf32>", ["constant", "constant", "concatenate"]),
    (["3xf32", "2xf32"], "7xf32", "%a = hlo.constant dense<1.0> : tensor<2xf32>\n"
     "%0 = hlo.concatenate %x0, %a, %x1, dim = 0 : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<7xf32>", ["constant", "concatenate"]),
    (["3xf32"], "8xf32", "%c = hlo.constant dense<2.0> : tensor<f32>\n"
     "%a = hlo.pad %x0, %c, low = [1], high = [2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>\n"
     "%0 = hlo.pad %a, %c, low = [3], high = [-1], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<8xf32>", ["constant", "pad"]),
    # What the inner pad took away does not come back.
    (["3xf32"], "5xf32", "%c = hlo.constant dense<2.0> : tensor<f32>\n"
     "%a = hlo.pad %x0, %c, low = [-1], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>\n"
     "%0 = hlo.pad %a, %c, low = [3], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<5xf32>", ["constant", "slice", "pad"]),
]  # fmt: skip

PADDINGS: list[Case] = [
    # Columns 0 and 1, and 5 to 7, of 2 + 3 + 3 are padding; column 2 is not.
    (["2x3xf32", "f32"], "2x2xf32", "%a = hlo.pad %x0, %x1, low = [0, 2], high = [0, 3], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>\n"
     "%0 = hlo.slice %a [0:2, 0:2] : (tensor<2x8xf32>) -> tensor<2x2xf32>", ["broadcast_in_dim"]),
    (["2x3xf32", "f32"], "1x3xf32", "%a = hlo.pad %x0, %x1, low = [0, 2], high = [0, 3], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>\n"
     "%0 = hlo.slice %a [1:2, 5:8] : (tensor<2x8xf32>) -> tensor<1x3xf32>", ["broadcast_in_dim"]),
    (["2x3xf32", "f32"], "2x3xf32", "%a = hlo.pad %x0, %x1, low = [0, 2], high = [0, 3], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>\n"
     "%0 = hlo.slice %a [0:2, 0:3] : (tensor<2x8xf32>) -> tensor<2x3xf32>", ["pad", "slice"]),
    # Taken away on the left: what is padding begins at 3 - 1.
    (["2x3xf32", "f32"], "2x1xf32", "%a = hlo.pad %x0, %x1, low = [0, -1], high = [0, 2], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>\n"
     "%0 = hlo.slice %a [0:2, 2:3] : (tensor<2x4xf32>) -> tensor<2x1xf32>", ["broadcast_in_dim"]),
]  # fmt: skip

UPDATES: list[Case] = [
    (["6xf32", "2xf32", "i32"], "2xf32", "%a = hlo.dynamic_update_slice %x0, %x1, %x2 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.dynamic_slice %a, %x2, sizes = [2] : (tensor<6xf32>, tensor<i32>) -> tensor<2xf32>", []),
    (["6xf32", "2xf32", "i32"], "3xf32", "%a = hlo.dynamic_update_slice %x0, %x1, %x2 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.dynamic_slice %a, %x2, sizes = [3] : (tensor<6xf32>, tensor<i32>) -> tensor<3xf32>", ["dynamic_update_slice", "dynamic_slice"]),
    (["6xf32", "2xf32", "i32", "i32"], "2xf32", "%a = hlo.dynamic_update_slice %x0, %x1, %x2 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.dynamic_slice %a, %x3, sizes = [2] : (tensor<6xf32>, tensor<i32>) -> tensor<2xf32>", ["dynamic_update_slice", "dynamic_slice"]),
    (["6xf32", "2xf32", "2xf32", "i32"], "6xf32", "%a = hlo.dynamic_update_slice %x0, %x1, %x3 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.dynamic_update_slice %a, %x2, %x3 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>", ["dynamic_update_slice"]),
    (["6xf32", "i32"], "6xf32", "%a = hlo.dynamic_slice %x0, %x1, sizes = [2] : (tensor<6xf32>, tensor<i32>) -> tensor<2xf32>\n"
     "%0 = hlo.dynamic_update_slice %x0, %a, %x1 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>", []),
    (["6xf32"], "6xf32", "%i = hlo.constant dense<9> : tensor<i32>\n%a = hlo.slice %x0 [4:6] : (tensor<6xf32>) -> tensor<2xf32>\n"
     "%0 = hlo.dynamic_update_slice %x0, %a, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>", []),
    (["6xf32"], "6xf32", "%i = hlo.constant dense<3> : tensor<i32>\n%a = hlo.slice %x0 [4:6] : (tensor<6xf32>) -> tensor<2xf32>\n"
     "%0 = hlo.dynamic_update_slice %x0, %a, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>", ["constant", "slice", "dynamic_update_slice"]),
    # Places 2 and 3 change: before them the operand, in them the update, across them neither.
    (["6xf32", "2xf32"], "2xf32", "%i = hlo.constant dense<2> : tensor<i32>\n%a = hlo.dynamic_update_slice %x0, %x1, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.slice %a [0:2] : (tensor<6xf32>) -> tensor<2xf32>", ["slice"]),
    (["6xf32", "2xf32"], "1xf32", "%i = hlo.constant dense<2> : tensor<i32>\n%a = hlo.dynamic_update_slice %x0, %x1, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.slice %a [3:4] : (tensor<6xf32>) -> tensor<1xf32>", ["slice"]),
    (["6xf32", "2xf32"], "2xf32", "%i = hlo.constant dense<2> : tensor<i32>\n%a = hlo.dynamic_update_slice %x0, %x1, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>\n"
     "%0 = hlo.slice %a [1:3] : (tensor<6xf32>) -> tensor<2xf32>", ["constant", "dynamic_update_slice", "slice"]),
]  # fmt: skip

PRODUCTS: list[Case] = [
    # The last of five rows, behind a bias and a function.
    (["2x5x3xf32", "3x4xf32", "4xf32"], "2x1x4xf32", "%a = hlo.dot_general %x0, %x1, contracting_dims = [2] x [0] : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>\n"
     "%b = hlo.broadcast_in_dim %x2, dims = [2] : (tensor<4xf32>) -> tensor<2x5x4xf32>\n%c = hlo.add %a, %b : tensor<2x5x4xf32>\n%d = hlo.negate %c : tensor<2x5x4xf32>\n"
     "%0 = hlo.slice %d [0:2, 4:5, 0:4] : (tensor<2x5x4xf32>) -> tensor<2x1x4xf32>", ["slice", "dot_general", "broadcast_in_dim", "add", "negate"]),
    (["2x6x3xf32", "2x3x4xf32", "i32"], "2x2x1xf32", "%z = hlo.constant dense<1> : tensor<i32>\n%a = hlo.dot_general %x0, %x1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x6x3xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>\n"
     "%0 = hlo.dynamic_slice %a, %z, %x2, %x2, sizes = [2, 2, 1] : (tensor<2x6x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x2x1xf32>",
     ["constant", "constant", "dynamic_slice", "dynamic_slice", "dot_general"]),
    # A part of a batch, through a transpose, with steps.
    (["4x2x3xf32", "4x3x5xf32"], "2x2x5xf32", "%a = hlo.dot_general %x0, %x1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x2x3xf32>, tensor<4x3x5xf32>) -> tensor<4x2x5xf32>\n"
     "%b = hlo.transpose %a, dims = [1, 0, 2] : (tensor<4x2x5xf32>) -> tensor<2x4x5xf32>\n"
     "%0 = hlo.slice %b [0:2, 0:4:2, 0:5] : (tensor<2x4x5xf32>) -> tensor<2x2x5xf32>", ["slice", "slice", "dot_general", "transpose"]),
    # More than half of it, or another reader: all is computed.
    (["4x3xf32", "3x5xf32"], "3x5xf32", "%a = hlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>\n"
     "%0 = hlo.slice %a [0:3, 0:5] : (tensor<4x5xf32>) -> tensor<3x5xf32>", ["dot_general", "slice"]),
    (["4x3xf32", "3x5xf32"], "1x5xf32", "%a = hlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>\n"
     "%b = hlo.slice %a [0:1, 0:5] : (tensor<4x5xf32>) -> tensor<1x5xf32>\n%c = hlo.slice %a [2:3, 0:5] : (tensor<4x5xf32>) -> tensor<1x5xf32>\n"
     "%0 = hlo.add %b, %c : tensor<1x5xf32>", ["dot_general", "slice", "slice", "add"]),
    # One matrix for a batch, on either side: no batch.
    (["2x5x3xf32", "3x4xf32"], "2x5x4xf32", "%w = hlo.broadcast_in_dim %x1, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>\n"
     "%0 = hlo.dot_general %x0, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x3xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>", ["dot_general"]),
    (["5x3xf32", "2x3x4xf32"], "2x5x4xf32", "%w = hlo.broadcast_in_dim %x0, dims = [1, 2] : (tensor<5x3xf32>) -> tensor<2x5x3xf32>\n"
     "%0 = hlo.dot_general %w, %x1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x3xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>", ["dot_general", "transpose"]),
    # Of two batching dimensions one is repeated.
    (["2x3x5x6xf32", "3x6x4xf32"], "2x3x5x4xf32", "%w = hlo.broadcast_in_dim %x1, dims = [1, 2, 3] : (tensor<3x6x4xf32>) -> tensor<2x3x6x4xf32>\n"
     "%0 = hlo.dot_general %x0, %w, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>", ["dot_general", "transpose"]),
    (["2x3x5x6xf32", "2x1x6x4xf32"], "2x3x5x4xf32", "%w = hlo.broadcast_in_dim %x1, dims = [0, 1, 2, 3] : (tensor<2x1x6x4xf32>) -> tensor<2x3x6x4xf32>\n"
     "%0 = hlo.dot_general %x0, %w, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>", ["reshape", "dot_general"]),
    # Rows that are all the same; a depth that is repeated is summed as it was.
    (["3xf32", "3x4xf32"], "5x4xf32", "%w = hlo.broadcast_in_dim %x0, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>\n"
     "%0 = hlo.dot_general %w, %x1, contracting_dims = [1] x [0] : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>", ["dot_general", "broadcast_in_dim"]),
    (["2x3xf32", "3x6xf32"], "2x6x5xf32", "%w = hlo.broadcast_in_dim %x1, dims = [0, 1] : (tensor<3x6xf32>) -> tensor<3x6x5xf32>\n"
     "%0 = hlo.dot_general %x0, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x6x5xf32>) -> tensor<2x6x5xf32>", ["dot_general", "broadcast_in_dim"]),
    (["5xf32", "3x4xf32"], "5x4xf32", "%w = hlo.broadcast_in_dim %x0, dims = [0] : (tensor<5xf32>) -> tensor<5x3xf32>\n"
     "%0 = hlo.dot_general %w, %x1, contracting_dims = [1] x [0] : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>", ["broadcast_in_dim", "dot_general"]),
]  # fmt: skip


def region(op: str, element: str) -> str:
    scalar = f"tensor<{element}>"
    return (
        f"({{\n^bb0(%a: {scalar}, %b: {scalar}):\n%s = hlo.{op} %a, %b : {scalar}\n"
        f"hlo.return %s : {scalar}\n}})"
    )


def window(operand: str, kind: str, attributes: str, result: str, op: str = "add") -> str:
    return (
        f'%0 = "hlo.reduce_window"({operand}, %c) <{{{attributes}}}> {region(op, "f32")} : '
        f"(tensor<{kind}>, tensor<f32>) -> tensor<{result}>"
    )


ZERO, LOW = ("%c = hlo.constant dense<0.0> : tensor<f32>\n", "%c = hlo.constant dense<0xFF800000> : tensor<f32>\n")  # fmt: skip
PADDED = "%p = hlo.pad %x0, %c, low = [1, 2], high = [0, 1], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x7xf32>\n"
TWO = "window_dimensions = array<i64: 2, 2>"
WINDOWS: list[Case] = [
    (["3x4xf32"], "3x6xf32", LOW + PADDED + window("%p", "4x7xf32", TWO, "3x6xf32", "maximum"), ["constant", "reduce_window"]),
    (["3x4xf32"], "4x7xf32", ZERO + PADDED + window("%p", "4x7xf32", TWO + ", padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>", "4x7xf32"), ["constant", "reduce_window"]),
    # Another number around it than the windows begin with; a pad ahead of a dilation.
    (["3x4xf32"], "3x6xf32", LOW + PADDED + "%z = hlo.constant dense<0.0> : tensor<f32>\n" + window("%p", "4x7xf32", TWO, "3x6xf32", "maximum").replace(", %c)", ", %z)"), ["constant", "pad", "constant", "reduce_window"]),
    (["3x4xf32"], "6x12xf32", LOW + PADDED + window("%p", "4x7xf32", TWO + ", base_dilations = array<i64: 2, 2>", "6x12xf32", "maximum"), ["constant", "pad", "reduce_window"]),
    (["2x3x4xf32"], "2x1x1xf32", ZERO + window("%x0", "2x3x4xf32", "window_dimensions = array<i64: 1, 3, 4>, window_strides = array<i64: 1, 2, 3>", "2x1x1xf32"), ["constant", "reduce", "reshape"]),
    (["2x3x4xf32"], "1x1x1xf32", ZERO + window("%x0", "2x3x4xf32", "window_dimensions = array<i64: 1, 3, 4>, window_strides = array<i64: 2, 2, 3>", "1x1x1xf32"), ["constant", "reduce_window"]),
    (["1x3x4x2xf32", "2x2x2x3xf32"], "1x4x5x3xf32", ZERO + "%p = hlo.pad %x0, %c, low = [0, 1, 2, 0], high = [0, 1, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x3x4x2xf32>, tensor<f32>) -> tensor<1x5x6x2xf32>\n"
     '%0 = "hlo.convolution"(%p, %x1) {dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x5x6x2xf32>, tensor<2x2x2x3xf32>) -> tensor<1x4x5x3xf32>', ["convolution"]),
    # Features are not padded by a convolution.
    (["1x3x4x1xf32", "2x2x2x3xf32"], "1x2x3x3xf32", ZERO + "%p = hlo.pad %x0, %c, low = [0, 0, 0, 1], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x3x4x1xf32>, tensor<f32>) -> tensor<1x3x4x2xf32>\n"
     '%0 = "hlo.convolution"(%p, %x1) {dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x4x2xf32>, tensor<2x2x2x3xf32>) -> tensor<1x2x3x3xf32>', ["constant", "pad", "convolution"]),
]  # fmt: skip


def reduced(op: str, element: str, first: str, second: str) -> str:
    shapes = f"tensor<2x3x4x{element}>", f"tensor<2x4x{element}>", f"tensor<4x{element}>"
    return (
        f"%i = hlo.constant dense<{first}> : tensor<{element}>\n%j = hlo.constant dense<{second}> : tensor<{element}>\n"
        f'%r = "hlo.reduce"(%x0, %i) <{{dimensions = array<i64: 1>}}> {region(op, element)} : ({shapes[0]}, tensor<{element}>) -> {shapes[1]}\n'
        f'%0 = "hlo.reduce"(%r, %j) <{{dimensions = array<i64: 0>}}> {region(op, element)} : ({shapes[1]}, tensor<{element}>) -> {shapes[2]}'
    )


REDUCTIONS: list[Case] = [
    (["2x3x4xf32"], "4xf32", reduced("maximum", "f32", "-1.0", "2.5"), ["constant", "constant", "maximum", "reduce"]),
    (["2x3x4xi32"], "4xi32", reduced("add", "i32", "0", "7"), ["constant", "reduce"]),
    (["2x3x4xi32"], "4xi32", reduced("add", "i32", "1", "7"), ["constant", "constant", "reduce", "reduce"]),
    (["2x3x4xi32"], "4xi32", reduced("multiply", "i32", "1", "3"), ["constant", "reduce"]),
    (["2x3x4xf32"], "4xf32", reduced("add", "f32", "0.0", "0.0"), ["constant", "reduce", "reduce"]),
]  # fmt: skip

ALL = [
    pytest.param(*case, id=f"{title}{i}")
    for title, cases in (
        ("concatenation", CONCATENATIONS), ("padding", PADDINGS), ("update", UPDATES), ("product", PRODUCTS),
        ("window", WINDOWS), ("reduction", REDUCTIONS),
    )
    for i, case in enumerate(cases)
]  # fmt: skip


def argument(kind: str, seed: int) -> np.ndarray:
    """Numbers of every sort: small integers, so that sums are exact, NaN, infinities, -0."""
    *sizes, element = kind.split("x")
    shape = tuple(int(size) for size in sizes)
    rng = np.random.default_rng(seed)
    if element == "i32" and not shape:
        return np.asarray(rng.integers(-1, 8), np.int32)
    values = np.asarray(rng.integers(-4, 5, shape), np.float64).reshape(-1)
    if element == "f32" and values.size > 3:
        values[0], values[values.size // 2], values[-1] = np.nan, np.inf, -0.0
    return values.reshape(shape).astype(DTYPES[element])


@pytest.mark.parametrize(("arguments", "result", "lines", "left"), ALL)
def test_data_movement(arguments: list[str], result: str, lines: str, left: list[str]) -> None:
    text = function(
        ", ".join(f"%x{i}: tensor<{kind}>" for i, kind in enumerate(arguments)),
        f"tensor<{result}>",
        f"{lines}\nreturn %0 : tensor<{result}>",
    )
    for seed in range(3):
        values = [argument(kind, 10 * seed + i) for i, kind in enumerate(arguments)]
        assert outer_names(assert_same(text, *values)) == left


def outer_names(module: ir.Module) -> list[str]:
    """Names of the function's own ops, in order; those of regions in them are none."""
    (main,) = functions(module).values()
    return [view.operation.name.removeprefix("hlo.") for view in body_of(main).operations][:-1]


@pytest.mark.parametrize("middle", ["i8", "i32", "ui8", "f32", "bf16"])
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_a_predicate_made_a_number(middle: str, number: int, direction: str) -> None:
    kind = f"tensor<8x{middle}>"
    literal = f"{number}.0" if "f" in middle else str(number)
    body = f"""
      %n = hlo.convert %p : (tensor<8xi1>) -> {kind}
      %c = hlo.constant dense<{literal}> : {kind}
      %0 = hlo.compare {direction}, %n, %c : ({kind}, {kind}) -> tensor<8xi1>
      return %0 : tensor<8xi1>"""
    module = assert_same(function("%p: tensor<8xi1>", "tensor<8xi1>", body), special_values("i1"))
    if number < 2 and (direction, number) not in (("LT", 0), ("GE", 0), ("LE", 1), ("GT", 1)):
        assert op_names(module) in ([], ["not"])


@pytest.mark.parametrize("op", ["maximum", "minimum"])
@pytest.mark.parametrize(("number", "decided"), [(1, True), (9, True), (0, True), (3, False)])
def test_bounds_that_ranges_tell(op: str, number: int, decided: bool) -> None:
    """Predicates are 0 or 1; an iota of five is 0 to 4."""
    body = f"""
      %n = {"hlo.convert %p : (tensor<5xi1>) -> tensor<5xi32>" if number == 1 else "hlo.iota dim = 0 : tensor<5xi32>"}
      %c = hlo.constant dense<{number}> : tensor<5xi32>
      %0 = hlo.{op} %n, %c : tensor<5xi32>
      return %0 : tensor<5xi32>"""
    module = assert_same(
        function("%p: tensor<5xi1>", "tensor<5xi32>", body), special_values("i1")[:5]
    )
    # An iota of five is a constant, and what is computed of constants is one.
    assert (op in op_names(module)) == (not decided and number == 1)


SIGNS = [
    ("f32", "%n = hlo.negate %y : T\n%0 = hlo.add %x, %n : T", ["subtract"]),
    ("f32", "%n = hlo.negate %x : T\n%0 = hlo.add %n, %y : T", ["subtract"]),
    ("f32", "%n = hlo.negate %y : T\n%0 = hlo.subtract %x, %n : T", ["add"]),
    ("i32", "%n = hlo.negate %y : T\n%0 = hlo.subtract %x, %n : T", ["add"]),
    ("complex<f32>", "%n = hlo.negate %y : T\n%0 = hlo.add %x, %n : T", ["subtract"]),
    ("bf16", "%n = hlo.negate %x : T\n%m = hlo.negate %y : T\n%0 = hlo.multiply %n, %m : T", ["multiply"]),
    ("f32", "%n = hlo.negate %x : T\n%m = hlo.negate %y : T\n%0 = hlo.divide %n, %m : T", ["divide"]),
    ("i32", "%n = hlo.negate %x : T\n%m = hlo.negate %y : T\n%0 = hlo.multiply %n, %m : T", ["multiply"]),
    ("f32", "%n = hlo.negate %x : T\n%0 = hlo.multiply %n, %y : T", ["negate", "multiply"]),
    ("f32", "%n = hlo.negate %x : T\n%0 = hlo.abs %n : T", ["abs"]),
    ("i8", "%n = hlo.negate %x : T\n%0 = hlo.abs %n : T", ["abs"]),
]  # fmt: skip


@pytest.mark.parametrize(("element", "lines", "left"), SIGNS)
def test_signs(element: str, lines: str, left: list[str]) -> None:
    kind = f"tensor<8x{element}>"
    text = function(
        f"%x: {kind}, %y: {kind}", kind, lines.replace("T", kind) + f"\nreturn %0 : {kind}"
    )
    values = special_values(element)
    for shift in range(8):
        with np.errstate(all="ignore"):
            assert op_names(assert_same(text, values, np.roll(values, shift))) == left


def test_rows_at_an_iota() -> None:
    """x[arange(20) + 3] is a slice; an iota that wraps in its type, or one out of bounds, is none."""
    gather = '"hlo.gather"(%x, %j) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}>'
    body = """
      %i = hlo.iota dim = 0 : tensor<20xi32>
      %c = hlo.constant dense<START> : tensor<20xi32>
      %s = hlo.add %i, %c : tensor<20xi32>
      %j = hlo.reshape %s : (tensor<20xi32>) -> tensor<20x1xi32>
      %0 = GATHER : (tensor<30x2xf32>, tensor<20x1xi32>) -> tensor<20x2xf32>
      return %0 : tensor<20x2xf32>""".replace("GATHER", gather)
    text = function("%x: tensor<30x2xf32>", "tensor<20x2xf32>", body)
    values = argument("30x2xf32", 0)
    assert op_names(assert_same(text.replace("START", "3"), values)) == ["slice"]
    for start in ("11", "-1", "2147483640"):
        assert "gather" in op_names(assert_same(text.replace("START", start), values))


def test_barriers_hold_no_constants() -> None:
    body = """
      %c = hlo.constant dense<1.5> : tensor<3xf32>
      %y = hlo.sine %x : tensor<3xf32>
      %0:4 = "hlo.optimization_barrier"(%x, %c, %y, %z) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      %1 = hlo.multiply %0#0, %0#1 : tensor<3xf32>
      return %1 : tensor<3xf32>"""
    text = function("%x: tensor<3xf32>, %z: tensor<3xf32>", "tensor<3xf32>", body)
    module = assert_same(text, argument("3xf32", 0), argument("3xf32", 1))
    # What is computed ahead of a barrier stays there, read or not.
    assert op_names(module) == ["constant", "sine", "optimization_barrier", "multiply"]
    (barrier,) = [op for op in str(module).splitlines() if "optimization_barrier" in op]
    assert barrier.count("tensor<3xf32>") == 2 * 2 or barrier.count("tensor<3xf32>") == 2


@pytest.mark.parametrize("predicate", [False, True])
def test_what_all_branches_pass_on(predicate: bool) -> None:
    body = """
      %0:2 = "hlo.if"(%p) ({
        %s = hlo.sine %x : tensor<3xf32>
        hlo.return %y, %s : tensor<3xf32>, tensor<3xf32>
      }, {
        %t = hlo.cosine %x : tensor<3xf32>
        hlo.return %y, %t : tensor<3xf32>, tensor<3xf32>
      }) : (tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)
      %1 = hlo.add %0#0, %0#1 : tensor<3xf32>
      return %1 : tensor<3xf32>"""
    text = function("%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>", "tensor<3xf32>", body)
    values = argument("3xf32", 0), argument("3xf32", 1)
    module = assert_same(text, np.asarray(predicate), *values)
    assert "-> (tensor<3xf32>, tensor<3xf32>)" not in str(module)
