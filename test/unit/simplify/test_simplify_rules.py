# ruff: noqa: E501 (ops are easier to read on one line)
"""Each rule applies, and keeps results on special values; where it must not apply, it does not."""

from __future__ import annotations

import numpy as np
import pytest
from simplify_cases import DTYPES, assert_same, function, op_names, simplify, special_values

from hlo.passes.simplify.simplify_ops import SimplifyOps

# element, constant, op, ops that are left
BINARY = [
    ("f32", "-0.0", "add", []),
    ("f32", "0.0", "add", ["constant", "add"]),
    ("f32", "0.0", "subtract", []),
    ("f32", "-0.0", "subtract", ["constant", "subtract"]),
    ("f32", "1.0", "multiply", []),
    ("f32", "-1.0", "multiply", ["negate"]),
    ("f32", "0.0", "multiply", ["constant", "multiply"]),
    ("f32", "4.0", "divide", ["constant", "multiply"]),
    ("f32", "3.0", "divide", ["constant", "divide"]),
    ("f32", "0x7F000000", "divide", ["constant", "divide"]),  # 1 / 2^127 is subnormal
    ("f32", "1.0", "power", []),
    ("f32", "2.0", "power", ["multiply"]),
    ("f32", "-1.0", "power", ["constant", "divide"]),
    ("f32", "0.5", "power", ["constant", "power"]),
    ("f32", "0xFF800000", "maximum", []),
    ("f32", "0x7F800000", "minimum", []),
    ("f32", "0x7F800000", "maximum", ["constant", "maximum"]),
    ("bf16", "1.0", "multiply", []),
    ("bf16", "4.0", "divide", ["constant", "divide"]),
    ("f64", "8.0", "divide", ["constant", "multiply"]),
    ("i32", "0", "add", []),
    ("i32", "0", "multiply", ["constant"]),
    ("i32", "-1", "multiply", ["negate"]),
    ("i32", "1", "divide", []),
    ("i32", "1", "remainder", ["constant"]),
    ("i32", "-2147483648", "maximum", []),
    ("i32", "-2147483648", "minimum", ["constant"]),
    ("i32", "0", "and", ["constant"]),
    ("i32", "-1", "and", []),
    ("i32", "-1", "or", ["constant"]),
    ("i32", "0", "xor", []),
    ("i32", "0", "shift_left", []),
    ("ui8", "255", "and", []),
    ("ui8", "255", "minimum", []),
    ("i1", "true", "and", []),
    ("i1", "false", "or", []),
    ("i1", "true", "or", ["constant"]),
    ("i1", "true", "multiply", []),
]


@pytest.mark.parametrize(("element", "number", "op", "left"), BINARY)
def test_identity_with_constant(element: str, number: str, op: str, left: list[str]) -> None:
    kind = f"tensor<8x{element}>"
    body = f"""
      %c = hlo.constant dense<{number}> : {kind}
      %0 = hlo.{op} %x, %c : {kind}
      return %0 : {kind}"""
    text = function(f"%x: {kind}", kind, body)
    values = special_values(element)
    if op in ("divide", "remainder") and np.dtype(DTYPES[element]).kind in "iu":
        values = values.copy()
    module = assert_same(text, values)
    assert op_names(module) == left


@pytest.mark.parametrize(
    ("element", "op", "left"),
    [
        ("f32", "subtract", ["subtract"]),
        ("i32", "subtract", ["constant"]),
        ("i32", "xor", ["constant"]),
        ("f32", "maximum", []),
        ("i1", "and", []),
        ("complex<f32>", "subtract", ["subtract"]),
    ],
)
def test_identity_with_itself(element: str, op: str, left: list[str]) -> None:
    kind = f"tensor<8x{element}>"
    text = function(f"%x: {kind}", kind, f"%0 = hlo.{op} %x, %x : {kind}\nreturn %0 : {kind}")
    assert op_names(assert_same(text, special_values(element))) == left


@pytest.mark.parametrize(
    ("element", "ops", "left"),
    [
        ("f32", ["negate", "negate"], []),
        ("i32", ["negate", "negate"], []),
        ("i8", ["not", "not"], []),
        ("f32", ["abs", "abs"], ["abs"]),
        ("f32", ["floor", "floor"], ["floor"]),
        ("f32", ["sqrt", "sqrt"], ["sqrt", "sqrt"]),
    ],
)
def test_unary_chains(element: str, ops: list[str], left: list[str]) -> None:
    kind = f"tensor<8x{element}>"
    lines = [f"%{i + 1} = hlo.{op} %{i} : {kind}" for i, op in enumerate(ops)]
    body = "\n".join([*lines, f"return %{len(ops)} : {kind}"])
    text = function(f"%0: {kind}", kind, body)
    assert op_names(assert_same(text, special_values(element))) == left


@pytest.mark.parametrize(
    ("source", "middle", "target", "left"),
    [
        ("i32", "i64", "i32", []),
        ("i32", "f64", "i32", []),
        ("f16", "f32", "f16", []),
        ("bf16", "f32", "f64", ["convert"]),
        ("i8", "f32", "f16", ["convert"]),
        ("ui8", "i32", "f32", ["convert"]),
        ("i32", "f32", "i32", ["convert", "convert"]),
        ("f32", "f16", "f32", ["convert", "convert"]),
        ("i8", "ui8", "i32", ["convert", "convert"]),
        ("f16", "bf16", "f32", ["convert", "convert"]),
    ],
)
def test_conversions_through_wider_types(
    source: str, middle: str, target: str, left: list[str]
) -> None:
    kinds = [f"tensor<8x{element}>" for element in (source, middle, target)]
    body = f"""
      %0 = hlo.convert %x : ({kinds[0]}) -> {kinds[1]}
      %1 = hlo.convert %0 : ({kinds[1]}) -> {kinds[2]}
      return %1 : {kinds[2]}"""
    text = function(f"%x: {kinds[0]}", kinds[2], body)
    values = special_values(source)
    if np.dtype(DTYPES[source]).kind not in "iub" and np.dtype(DTYPES[target]).kind in "iu":
        values = np.arange(8).astype(values.dtype)
    module = assert_same(text, values)
    names = [name for name in op_names(module) if name != "constant"]
    if source == "i32" and middle == "f64":
        assert names in (["convert", "convert"], [])
    else:
        assert names == left


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_compare_with_itself_and_negated(direction: str, element: str) -> None:
    kind = f"tensor<8x{element}>"
    body = f"""
      %0 = hlo.compare {direction}, %x, %x : ({kind}, {kind}) -> tensor<8xi1>
      %1 = hlo.compare {direction}, %x, %y : ({kind}, {kind}) -> tensor<8xi1>
      %2 = hlo.not %1 : tensor<8xi1>
      return %0, %2 : tensor<8xi1>, tensor<8xi1>"""
    text = function(f"%x: {kind}, %y: {kind}", "(tensor<8xi1>, tensor<8xi1>)", body)
    values = special_values(element)
    names = op_names(assert_same(text, values, values[::-1].copy()))
    inverted = element == "i32" or direction in ("EQ", "NE")
    assert ("not" in names) != inverted


def test_comparisons_decided_by_ranges() -> None:
    body = """
      %0 = hlo.iota dim = 0 : tensor<32xi32>
      %z = hlo.constant dense<0> : tensor<32xi32>
      %e = hlo.constant dense<32> : tensor<32xi32>
      %1 = hlo.compare LT, %0, %z : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
      %2 = hlo.add %0, %e : tensor<32xi32>
      %3 = hlo.select %1, %2, %0 : tensor<32xi1>, tensor<32xi32>
      %4 = hlo.compare GE, %2, %e : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
      return %3, %4 : tensor<32xi32>, tensor<32xi1>"""
    module = assert_same(function("", "(tensor<32xi32>, tensor<32xi1>)", body))
    assert op_names(module) == ["constant", "iota"] or op_names(module) == ["iota", "constant"]


def _wide_indices(size: int, narrow: str) -> str:
    """Both halves of the 64-bit numbers 3 i + 5, as random generators count."""
    wide, kind = f"tensor<{size}xui64>", f"tensor<{size}x{narrow}>"
    body = f"""
      %i = hlo.iota dim = 0 : {wide}
      %three = hlo.constant dense<3> : {wide}
      %five = hlo.constant dense<5> : {wide}
      %half = hlo.constant dense<32> : {wide}
      %0 = hlo.multiply %i, %three : {wide}
      %1 = hlo.add %0, %five : {wide}
      %2 = hlo.shift_right_logical %1, %half : {wide}
      %3 = hlo.convert %1 : ({wide}) -> {kind}
      %4 = hlo.convert %2 : ({wide}) -> {kind}
      return %3, %4 : {kind}, {kind}"""
    return function("", f"({kind}, {kind})", body)


@pytest.mark.parametrize(("size", "narrow"), [(64, "ui32"), (64, "i32"), (64, "ui8"), (128, "i8")])
def test_indices_are_computed_in_the_type_that_they_are_read_in(size: int, narrow: str) -> None:
    module = assert_same(_wide_indices(size, narrow))
    assert not {"convert", "shift_right_logical"} & set(op_names(module))


def test_indices_that_a_type_does_not_hold_stay_wide() -> None:
    module = assert_same(_wide_indices(300, "i8"))
    assert "convert" in op_names(module)


SHIFTS = [(0, []), (3, ["shift_right_logical"]), (7, ["shift_right_logical"]), (31, [])]


@pytest.mark.parametrize(("amount", "left"), SHIFTS)
def test_shifts_whose_result_is_known(amount: int, left: list[str]) -> None:
    kind = "tensor<200xi32>"  # 199 has 8 bits
    body = f"""
      %i = hlo.iota dim = 0 : {kind}
      %c = hlo.constant dense<{amount}> : {kind}
      %0 = hlo.shift_right_logical %i, %c : {kind}
      return %0 : {kind}"""
    names = op_names(assert_same(function("", kind, body)))
    assert [name for name in names if name not in ("constant", "iota")] == left


def test_range_of_sum_that_wraps_decides_nothing() -> None:
    body = """
      %0 = hlo.iota dim = 0 : tensor<32xi8>
      %c = hlo.constant dense<120> : tensor<32xi8>
      %z = hlo.constant dense<0> : tensor<32xi8>
      %1 = hlo.add %0, %c : tensor<32xi8>
      %2 = hlo.compare LT, %1, %z : (tensor<32xi8>, tensor<32xi8>) -> tensor<32xi1>
      return %2 : tensor<32xi1>"""
    assert "compare" in op_names(assert_same(function("", "tensor<32xi1>", body)))


SELECTIONS = [
    ("%0 = hlo.select %p, %x, %x : tensor<8xi1>, tensor<8xf32>", []),
    (
        "%t = hlo.constant dense<true> : tensor<8xi1>\n%0 = hlo.select %t, %x, %y : tensor<8xi1>, tensor<8xf32>",
        [],
    ),
    (
        "%n = hlo.not %p : tensor<8xi1>\n%0 = hlo.select %n, %x, %y : tensor<8xi1>, tensor<8xf32>",
        ["select"],
    ),
    (
        "%i = hlo.select %p, %x, %y : tensor<8xi1>, tensor<8xf32>\n"
        "%0 = hlo.select %p, %i, %x : tensor<8xi1>, tensor<8xf32>",
        [],
    ),
]


@pytest.mark.parametrize(("lines", "left"), SELECTIONS)
def test_selections(lines: str, left: list[str]) -> None:
    kind = "tensor<8xf32>"
    text = function(
        f"%p: tensor<8xi1>, %x: {kind}, %y: {kind}", kind, f"{lines}\nreturn %0 : {kind}"
    )
    values = special_values("f32")
    module = assert_same(text, special_values("i1"), values, values[::-1].copy())
    assert op_names(module) == left


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


TABLES = [
    '%0:2 = "hlo.sort"(%t, %n) <{dimension = 0 : i64, is_stable = true}> ({\n'
    "^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):\n"
    "%l = hlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\nhlo.return %l : tensor<i1>\n"
    "}) : (tensor<5xi32>, tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>)\n%r = hlo.add %0#1, %z : tensor<5xi32>",
    '%z0 = hlo.constant dense<0> : tensor<i32>\n%r = "hlo.reduce_window"(%t, %z0) <{window_dimensions = array<i64: 3>, '
    "padding = dense<[[2, 0]]> : tensor<1x2xi64>}> ({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
    "%l = hlo.add %a, %b : tensor<i32>\nhlo.return %l : tensor<i32>\n}) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>",
    "%i = hlo.constant dense<[[9], [1], [-3], [1], [4]]> : tensor<5x1xi32>\n"
    '%r = "hlo.gather"(%t, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], '
    "index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xi32>, tensor<5x1xi32>) -> tensor<5xi32>",
    "%i = hlo.constant dense<[[9], [1], [-3], [1], [4]]> : tensor<5x1xi32>\n"
    '%r = "hlo.scatter"(%t, %i, %t) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], '
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
    "%l = hlo.add %a, %b : tensor<i32>\nhlo.return %l : tensor<i32>\n}) : (tensor<5xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<5xi32>",
    "%d = hlo.constant dense<[2, -2, 3, 7, -1]> : tensor<5xi32>\n%q = hlo.divide %t, %d : tensor<5xi32>\n"
    "%m = hlo.remainder %t, %d : tensor<5xi32>\n%r = hlo.maximum %q, %m : tensor<5xi32>",
    "%p = hlo.constant dense<7> : tensor<i32>\n%v = hlo.reverse %t, dims = [0] : tensor<5xi32>\n"
    "%w = hlo.pad %v, %p, low = [1], high = [0], interior = [1] : (tensor<5xi32>, tensor<i32>) -> tensor<10xi32>\n"
    "%r = hlo.slice %w [0:10:2] : (tensor<10xi32>) -> tensor<5xi32>",
]


@pytest.mark.parametrize("lines", TABLES)
def test_tables_of_constants_are_computed(lines: str) -> None:
    body = f"""
      %t = hlo.constant dense<[3, -7, 3, 2147483647, 0]> : tensor<5xi32>
      %z = hlo.constant dense<0> : tensor<5xi32>
      %n = hlo.iota dim = 0 : tensor<5xi32>
      {lines}
      return %r : tensor<5xi32>"""
    assert op_names(assert_same(function("", "tensor<5xi32>", body))) == ["constant"]


@pytest.mark.parametrize("divisor", [0, -1])
def test_division_that_the_specification_singles_out_is_left(divisor: int) -> None:
    body = f"""
      %a = hlo.constant dense<[-2147483648, 5]> : tensor<2xi32>
      %b = hlo.constant dense<[{divisor}, {divisor}]> : tensor<2xi32>
      %0 = hlo.divide %a, %b : tensor<2xi32>
      %1 = hlo.remainder %a, %b : tensor<2xi32>
      return %0, %1 : tensor<2xi32>, tensor<2xi32>"""
    names = op_names(assert_same(function("", "(tensor<2xi32>, tensor<2xi32>)", body)))
    assert "divide" in names and "remainder" in names


def test_branches_of_known_choice_take_the_place_of_the_op() -> None:
    body = """
      %c = hlo.constant dense<7> : tensor<i32>
      %t = hlo.constant dense<false> : tensor<i1>
      %0 = "hlo.case"(%c) ({
        hlo.return %x : tensor<f32>
      }, {
        %1 = hlo.sine %x : tensor<f32>
        hlo.return %1 : tensor<f32>
      }) : (tensor<i32>) -> tensor<f32>
      %2 = "hlo.if"(%t) ({
        hlo.return %x : tensor<f32>
      }, {
        %3 = hlo.negate %0 : tensor<f32>
        hlo.return %3 : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %2 : tensor<f32>"""
    module = assert_same(function("%x: tensor<f32>", "tensor<f32>", body), np.float32(0.3))
    assert op_names(module) == ["sine", "negate"]


@pytest.mark.parametrize("element", ["i8", "i32", "ui32", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("op", ["add", "subtract", "multiply"])
def test_folding_is_bit_exact(element: str, op: str) -> None:
    values = special_values(element)
    if np.dtype(DTYPES[element]).kind in "iu":
        listed = ", ".join(str(int(v)) for v in values)
        other = ", ".join(str(int(v)) for v in values[::-1])
    else:
        finite = ["0.0", "-0.0", "1.5", "-3.25", "1.0e-7", "65504.0", "0.1", "-7.75"]
        listed, other = ", ".join(finite), ", ".join(reversed(finite))
    kind = f"tensor<8x{element}>"
    body = f"""
      %a = hlo.constant dense<[{listed}]> : {kind}
      %b = hlo.constant dense<[{other}]> : {kind}
      %0 = hlo.{op} %a, %b : {kind}
      return %0 : {kind}"""
    assert op_names(assert_same(function("", kind, body))) == ["constant"]


def test_folding_does_not_grow_the_program() -> None:
    body = """
      %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %0 = hlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<4096x2xf32>
      return %0 : tensor<4096x2xf32>"""
    assert op_names(simplify(function("", "tensor<4096x2xf32>", body))) == [
        "constant",
        "broadcast_in_dim",
    ]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (
            "%c = hlo.constant dense<3.0> : tensor<8xf32>\n%0 = hlo.divide %x, %c : tensor<8xf32>",
            ["constant", "multiply"],
        ),
        ("%c = hlo.constant dense<0.0> : tensor<8xf32>\n%0 = hlo.add %x, %c : tensor<8xf32>", []),
        ("%0 = hlo.subtract %x, %x : tensor<8xf32>", ["constant"]),
        (
            "%c = hlo.sqrt %x : tensor<8xf32>\n%0 = hlo.divide %x, %c : tensor<8xf32>",
            ["rsqrt", "multiply"],
        ),
    ],
)
def test_fast_rules_are_apart(lines: str, left: list[str]) -> None:
    text = function("%x: tensor<8xf32>", "tensor<8xf32>", f"{lines}\nreturn %0 : tensor<8xf32>")
    assert op_names(simplify(text, [SimplifyOps(fast=True)])) == left
    assert op_names(simplify(text, [SimplifyOps()])) != left


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
