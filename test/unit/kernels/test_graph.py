"""Blocks as plain Python objects: what the native reader makes of ops, types and attributes."""

from __future__ import annotations

import gc
import weakref

import pytest

from hlo import ir
from hlo.passes.hlo_to_loops.graph import Node, decode_attribute, node_of, reading, region_of
from hlo.passes.rewrite.walk import body_of, functions, operations

LOOP = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<2xui8>) {
  %c = hlo.constant dense<[1, 2]> : tensor<2xui8>
  %0:2 = "hlo.while"(%x, %n) ({
  ^bb0(%a: tensor<4xf32>, %i: tensor<i32>):
    %p = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>}
      : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>, %i: tensor<i32>):
    %s = "hlo.add"(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "hlo.return"(%s, %i) : (tensor<4xf32>, tensor<i32>) -> ()
  }) : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  return %0#0, %c : tensor<4xf32>, tensor<2xui8>
}
"""


def _entry(text: str) -> tuple[ir.Module, ir.Block]:
    module = ir.parse_module(text)
    return module, body_of(functions(module)["main"])


def test_a_block_with_regions_that_read_what_is_around_them() -> None:
    module, block = _entry(LOOP)
    region = region_of(block)
    constant, loop = region.nodes
    assert (constant.name, loop.name) == ("constant", "while")
    assert loop.operands == tuple(region.arguments)
    assert [t.shape for t in loop.results] == [(4,), ()]
    assert [t.index for t in loop.results] == [0, 1]
    assert all(t.producer is loop for t in loop.results)
    assert region.results == [loop.results[0], constant.results[0]]
    assert constant.results[0].type.name == "ui8"
    condition, body = loop.regions
    assert condition.nodes[0].operands == (condition.arguments[1], region.arguments[1])
    assert condition.nodes[0].attributes == {"comparison_direction": "LT"}
    assert body.nodes[0].operands == (body.arguments[0], region.arguments[0])
    assert body.results == [body.nodes[0].results[0], body.arguments[1]]
    assert loop.source == module.body.operations[0].regions[0].blocks[0].operations[1].operation


def test_an_op_alone_has_operands_without_producers() -> None:
    _, block = _entry(LOOP)
    body = block.operations[1].regions[1].blocks[0]
    node = node_of(body.operations[0].operation)
    assert isinstance(node, Node)
    assert (node.name, [t.producer for t in node.operands]) == ("add", [None, None])
    twice = node_of(body.operations[0].operation)
    assert twice.operands[0] is not node.operands[0]
    loop = node_of(block.operations[1].operation)
    (captured,) = {*loop.regions[1].nodes[0].operands} - {*loop.regions[1].arguments}
    assert (captured.shape, captured.producer, captured is loop.operands[0]) == ((4,), None, True)


def test_what_is_defined_elsewhere_is_an_error() -> None:
    _, block = _entry(LOOP)
    with pytest.raises(KeyError):
        region_of(block.operations[1].regions[1].blocks[0])


def test_a_type_that_is_no_tensor_is_an_error() -> None:
    _, block = _entry(
        'func.func @main() {\n  %0 = "hlo.create_token"() : () -> !hlo.token\n  return\n}'
    )
    with pytest.raises(ValueError, match="token"):
        region_of(block)


def test_after_reading_nothing_waits_for_a_collection_of_cycles() -> None:
    _, block = _entry(LOOP)
    gc.disable()
    try:
        with reading(block) as region:
            inner = weakref.ref(region.nodes[1].regions[1].nodes[0])
            outer = weakref.ref(region.nodes[1])
        kept = region.nodes
        assert inner() is None
        assert (kept[1].operands, kept[1].results, kept[1].regions) == ((), (), ())
        del region, kept
        assert outer() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("array<i64: 3, -1>", (3, -1)),
        ("array<i32: 7>", (7,)),
        ("array<i1: true, false>", (True, False)),
        ("array<i64>", ()),
        ('[1 : i64, "two", [unit]]', (1, "two", (True,))),
        ("true", True),
        ("-5 : i8", -5),
        ("200 : ui8", 200),
        ("18446744073709551615 : ui64", 2**64 - 1),
        ("4 : index", 4),
        ("1.5 : bf16", 1.5),
        ("unit", True),
        ("dense<[[1, 2]]> : tensor<1x2xi32>", [[1, 2]]),
        ("{a = 1 : i32, b = {}}", {"a": 1, "b": {}}),
        ("@callee", "@callee"),
        ("#hlo<precision HIGHEST>", "HIGHEST"),
        ("#hlo.channel_handle<handle = 3, type = 1>", {"handle": 3, "type": 1}),
        (
            "#hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>",
            {"input": ("b", "0", "f"), "kernel": ("0", "i", "o"), "output": ("b", "0", "f")},
        ),
        (
            "#hlo.dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [0, 1]>",
            {"lhs_contracting_dimensions": (1, 2), "rhs_contracting_dimensions": (0, 1)},
        ),
    ],
)
def test_attributes_are_plain_values(text: str, expected: object) -> None:
    found = decode_attribute(ir.Attribute.parse(text, ir.make_context()))
    assert found == expected
    assert type(found) is type(expected)


def test_all_operations_outer_ones_first() -> None:
    module, _ = _entry(LOOP)
    assert [op.name for op in operations(module)] == [
        "builtin.module", "func.func", "hlo.constant", "hlo.while", "hlo.compare", "hlo.return",
        "hlo.add", "hlo.return", "func.return",
    ]  # fmt: skip
