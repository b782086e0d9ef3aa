# ruff: noqa: E501 (ops are easier to read on one line)
"""What front ends make of division rounded down becomes few ops, and keeps its results."""

from __future__ import annotations

import numpy as np
import pytest
from simplify_cases import DTYPES, assert_same, function, op_names

LIMITS = {"i8": (-128, 127), "i32": (-(2**31), 2**31 - 1)}


def _operands(element: str) -> np.ndarray:
    least, most = LIMITS[element]
    near = np.arange(-20, 21)
    return np.concatenate([near, [least, least + 1, most, most - 1, 0, 1, -1]]).astype(
        DTYPES[element]
    )


def _division(element: str, divisor: int, lines: str) -> str:
    kind, mask = f"tensor<48x{element}>", "tensor<48xi1>"
    body = f"""
      %c = hlo.constant dense<{divisor}> : {kind}
      %zero = hlo.constant dense<0> : {kind}
      %one = hlo.constant dense<1> : {kind}
      %q = hlo.divide %x, %c : {kind}
      %r = hlo.remainder %x, %c : {kind}
      %sx = hlo.sign %x : {kind}
      %sc = hlo.sign %c : {kind}
      %differ = hlo.compare NE, %sx, %sc : ({kind}, {kind}) -> {mask}
      %rest = hlo.compare NE, %r, %zero : ({kind}, {kind}) -> {mask}
      %below = hlo.compare LT, %r, %zero : ({kind}, {kind}) -> {mask}
      %negative = hlo.compare LT, %c, %zero : ({kind}, {kind}) -> {mask}
      %other = hlo.compare NE, %below, %negative : ({mask}, {mask}) -> {mask}
      %less = hlo.subtract %q, %one : {kind}
      %more = hlo.add %r, %c : {kind}
      {lines}
      return %0 : {kind}"""
    return function(f"%x: {kind}", kind, body)


QUOTIENT = "%p = hlo.and {0}, {1} : tensor<48xi1>\n%0 = hlo.select %p, %less, %q : tensor<48xi1>, tensor<48x{2}>"
REMAINDER = "%p = hlo.and {0}, {1} : tensor<48xi1>\n%0 = hlo.select %p, %more, %r : tensor<48xi1>, tensor<48x{2}>"
CASES = [
    (QUOTIENT, "%differ", 7, ["divide", "remainder", "compare", "subtract", "select"]),
    (QUOTIENT, "%differ", -7, ["divide", "remainder", "compare", "subtract", "select"]),
    (QUOTIENT, "%differ", 8, ["shift_right_arithmetic"]),
    (QUOTIENT, "%differ", 64, ["shift_right_arithmetic"]),
    (QUOTIENT, "%differ", -8, ["divide", "remainder", "compare", "subtract", "select"]),
    (REMAINDER, "%other", 7, ["remainder", "compare", "add", "select"]),
    (REMAINDER, "%other", -7, ["remainder", "compare", "add", "select"]),
    (REMAINDER, "%other", 8, ["and"]),
    (REMAINDER, "%other", 64, ["and"]),
]


@pytest.mark.parametrize("element", LIMITS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("lines", "signs", "divisor", "left"), CASES)
def test_division_rounded_down(
    element: str, turned: bool, lines: str, signs: str, divisor: int, left: list[str]
) -> None:
    predicates = ("%rest", signs) if turned else (signs, "%rest")
    text = _division(element, divisor, lines.format(*predicates, element))
    module = assert_same(text, np.resize(_operands(element), 48))
    assert sorted(name for name in op_names(module) if name != "constant") == sorted(left)


@pytest.mark.parametrize(
    ("signs", "divisor"),
    [("%sx, %one", 0), ("%sx, %one", -7), ("%sx, %zero", 7), ("%r, %one", 7)],
)
def test_other_signs_are_left(signs: str, divisor: int) -> None:
    """The divisor's sign is not that one, or unknown to be any: nothing follows."""
    kind = "tensor<48xi32>"
    lines = f"%d = hlo.compare NE, {signs} : ({kind}, {kind}) -> tensor<48xi1>\n" + QUOTIENT.format(
        "%d", "%rest", "i32"
    )
    names = op_names(assert_same(_division("i32", divisor, lines), np.resize(_operands("i32"), 48)))
    assert names.count("compare") == 2


# One of two comparisons implies the other, or does not.
PAIRS = [
    ("and", "LT", 0, "NE", 0, ["LT"]),
    ("and", "NE", 5, "GE", 6, ["GE"]),
    ("and", "EQ", 3, "LE", 3, ["EQ"]),
    ("and", "GE", 4, "NE", 4, ["GT"]),
    ("and", "NE", 4, "LE", 4, ["LT"]),
    ("and", "LT", 1, "NE", 0, ["LT", "NE"]),
    ("and", "LT", 5, "GT", -5, ["LT", "GT"]),
    ("or", "LT", 0, "NE", 0, ["NE"]),
    ("or", "LT", 0, "LE", 7, ["LE"]),
    ("or", "EQ", 3, "NE", 3, ["EQ", "NE"]),
    ("or", "GT", 3, "LT", 5, ["GT", "LT"]),
]


@pytest.mark.parametrize(("op", "first", "a", "second", "b", "left"), PAIRS)
def test_of_two_comparisons_the_stricter_or_the_wider_is_left(
    op: str, first: str, a: int, second: str, b: int, left: list[str]
) -> None:
    kind, mask = "tensor<48xi32>", "tensor<48xi1>"
    body = f"""
      %a = hlo.constant dense<{a}> : {kind}
      %b = hlo.constant dense<{b}> : {kind}
      %1 = hlo.compare {first}, %x, %a : ({kind}, {kind}) -> {mask}
      %2 = hlo.compare {second}, %x, %b : ({kind}, {kind}) -> {mask}
      %0 = hlo.{op} %1, %2 : {mask}
      return %0 : {mask}"""
    text = function(f"%x: {kind}", mask, body)
    module = assert_same(text, np.resize(_operands("i32"), 48))
    found = [
        word
        for line in str(module).splitlines()
        if "compare" in line
        for word in left
        if f"compare {word}," in line
    ]
    assert sorted(found) == sorted(left)
    assert op_names(module).count("compare") == len(left)
