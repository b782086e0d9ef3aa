"""Prefixes change where they name operations, attributes and types, and nowhere else."""

from __future__ import annotations

import pytest

from hlo.importers.dialect_prefix import (
    hlo_to_stablehlo,
    is_generic_stablehlo,
    mentions_stablehlo,
    stablehlo_to_hlo,
)

CHLO = {"erf", "ragged_dot", "top_k"}


def back(text: str) -> str:
    return hlo_to_stablehlo(text, lambda name: name not in CHLO)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            '%0 = "stablehlo.add"(%a, %b) : (i1, i1) -> i1',
            '%0 = "hlo.add"(%a, %b) : (i1, i1) -> i1',
        ),
        ('"stablehlo.return"(%0) : (i1) -> ()', '"hlo.return"(%0) : (i1) -> ()'),
        ('%0 = "chlo.erf" (%a)', '%0 = "hlo.erf" (%a)'),
        ("<{d = #stablehlo.dot<lhs = [1]>}>", "<{d = #hlo.dot<lhs = [1]>}>"),
        ("#stablehlo<precision DEFAULT>", "#hlo<precision DEFAULT>"),
        ("#chlo<precision DEFAULT>", "#hlo<precision DEFAULT>"),
        ("!stablehlo.token", "!hlo.token"),
        ("tensor<?xf32, #stablehlo.bounds<4>>", "tensor<?xf32, #hlo.bounds<4>>"),
    ],
)
def test_names_change_and_change_back(given: str, expected: str) -> None:
    assert stablehlo_to_hlo(given) == expected
    assert stablehlo_to_hlo(f"// a comment\n{given}") == f"// a comment\n{expected}"
    assert stablehlo_to_hlo(back(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{backend_config = "stablehlo.add"}',
        '{a = "#stablehlo.dot<x> !stablehlo.token"}',
        '{a = "quoted \\" stablehlo.add \\" here #stablehlo<x>"}',
        'loc("stablehlo.add")',
        'loc("stablehlo.add"("file.py":1:2))',
        'loc(fused["stablehlo.add"("f":1:1), "chlo.erf"(#loc1)])',
        'loc(callsite("stablehlo.add"("f":1:1) at "g":1:1))',
        '#loc = loc("stablehlo.mlir":1:1)',
        "@stablehlo.private_function",
        "{stablehlo.note = 1 : i32}",
        'name = "chlo.erf"',
        '// "stablehlo.add"(%a) #stablehlo<x>',
        '"my_stablehlo.add"(%a)',
    ],
)
def test_everything_else_stays(text: str) -> None:
    assert stablehlo_to_hlo(text) == text
    assert stablehlo_to_hlo(f"// a comment\n{text}") == f"// a comment\n{text}"
    assert not mentions_stablehlo(text)


def test_an_operation_after_an_open_region_or_a_comment() -> None:
    text = (
        '"f"() ({ "stablehlo.add"(%a) }) // see (\n'
        '  "stablehlo.add"(%a)\n^bb0(%x: i1):  "chlo.erf"(%x)'
    )
    assert stablehlo_to_hlo(text).count('"hlo.') == 3


def test_a_quote_in_a_comment_opens_no_string() -> None:
    assert stablehlo_to_hlo('// it"s\n"stablehlo.abs"(%a)') == '// it"s\n"hlo.abs"(%a)'


def test_chlo_names_and_attributes_go_back_to_chlo() -> None:
    assert back('%0 = "hlo.erf"(%a)') == '%0 = "chlo.erf"(%a)'
    ragged = '"hlo.ragged_dot"(%a) <{p = [#hlo<precision DEFAULT>], r = #hlo.ragged_dot<x = []>}>'
    expected = (
        '"chlo.ragged_dot"(%a) <{p = [#chlo<precision DEFAULT>], r = #chlo.ragged_dot<x = []>}>'
    )
    assert back(ragged) == expected
    dot = '"hlo.dot_general"(%a) <{p = [#hlo<precision DEFAULT>]}>'
    assert back(f"{ragged}\n{dot}").endswith("[#stablehlo<precision DEFAULT>]}>")


def test_layouts_are_dropped() -> None:
    assert back("tensor<2x3xf32, #hlo.layout<[1, 0]>>") == "tensor<2x3xf32>"


@pytest.mark.parametrize(
    ("text", "mentions", "generic"),
    [
        ('%0 = "stablehlo.add"(%a, %b)', True, True),
        ("%0 = stablehlo.add %a, %b : tensor<f32>", True, False),
        ("%0 = chlo.erf %a : tensor<f32> -> tensor<f32>", True, False),
        ("stablehlo.return %0", True, False),
        ("func.func @main(%a: !stablehlo.token)", True, True),
        ("%0 = hlo.add %a, %b", False, True),
        ("%0 = arith.addi %a, %b // stablehlo.add", False, True),
    ],
)
def test_recognition(text: str, mentions: bool, generic: bool) -> None:
    assert mentions_stablehlo(text) is mentions
    assert is_generic_stablehlo(text) is generic


def test_a_large_constant_is_one_token() -> None:
    blob = "0x" + "00" * 4_000_000
    text = f'%0 = "stablehlo.constant"() <{{value = dense<"{blob}"> : tensor<1000000xf32>}}>'
    assert stablehlo_to_hlo(text).startswith('%0 = "hlo.constant"()')
