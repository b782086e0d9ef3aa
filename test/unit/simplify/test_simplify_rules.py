# ruff: noqa: E501 (ops are easier to read on one line)
"""Each rule of arithmetic, choices and folding applies, and keeps results on special values; where it must not apply, it does not."""

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
    ("f32", "0.25", "power", ["constant", "power"]),
    *(
        (element, exponent, "power", ["constant", "add", root, *limits, "compare", "select"])
        for element in ("f32", "f64", "bf16")
        for exponent, root, limits in (
            ("0.5", "sqrt", ["constant", "constant"]),
            ("-0.5", "rsqrt", ["constant"]),
        )
    ),
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
    ("ui8", "1", "divide", []),
    ("ui8", "128", "divide", ["constant", "shift_right_logical"]),
    ("ui32", "8", "divide", ["constant", "shift_right_logical"]),
    ("ui32", "2147483648", "divide", ["constant", "shift_right_logical"]),
    ("ui32", "2147483648", "remainder", ["constant", "and"]),
    ("ui32", "2", "remainder", ["constant", "and"]),
    ("ui32", "1", "remainder", ["constant"]),
    ("ui32", "6", "divide", ["constant", "divide"]),
    ("ui32", "0", "divide", ["constant", "divide"]),
    ("i32", "8", "divide", ["constant", "divide"]),
    ("i32", "8", "remainder", ["constant", "remainder"]),
    ("i32", "-2147483648", "divide", ["constant", "divide"]),
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
