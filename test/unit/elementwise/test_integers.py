"""Integer and bool ops against Python's integers, to the bit, at several widths."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from native import NUMPY_TYPES, Compiled, Signature
from samples import integer_pairs, integers

TYPES = ["i2", "ui2", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"]
LANES = (0, 16)


def _shape(name: str) -> tuple[int, bool]:
    return int(name.lstrip("ui")), name[0] == "i"


def wrap(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _divide(x: int, y: int, bits: int, _: bool) -> int:
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x: int, y: int, bits: int, signed: bool) -> int:
    return x if y == 0 else x - y * _divide(x, y, bits, signed)


def _power(x: int, y: int, bits: int, _: bool) -> int:
    if y < 0:
        return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
    return pow(x, y, 1 << bits)


def _count(y: int, bits: int) -> int:
    return y & ((1 << bits) - 1)


def _shift_left(x: int, y: int, bits: int, _: bool) -> int:
    return x << _count(y, bits) if _count(y, bits) < bits else 0


def _shift_right_logical(x: int, y: int, bits: int, _: bool) -> int:
    return (x & ((1 << bits) - 1)) >> _count(y, bits)


def _shift_right_arithmetic(x: int, y: int, bits: int, _: bool) -> int:
    return wrap(x, bits, True) >> _count(y, bits)


def _plain(function: Callable[[int, int], int]) -> Callable[[int, int, int, bool], int]:
    return lambda x, y, _, __: function(x, y)


BINARY: dict[str, Callable[[int, int, int, bool], int]] = {
    "add": _plain(operator.add),
    "subtract": _plain(operator.sub),
    "multiply": _plain(operator.mul),
    "maximum": _plain(max),
    "minimum": _plain(min),
    "and": _plain(operator.and_),
    "or": _plain(operator.or_),
    "xor": _plain(operator.xor),
    "divide": _divide,
    "remainder": _remainder,
    "power": _power,
    "mulhi": lambda x, y, bits, _: (x * y) >> bits,
    "shift_left": _shift_left,
    "shift_right_logical": _shift_right_logical,
    "shift_right_arithmetic": _shift_right_arithmetic,
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "abs": lambda x, _: abs(x),
    "negate": lambda x, _: -x,
    "not": lambda x, _: ~x,
    "sign": lambda x, _: (x > 0) - (x < 0),
    "square": lambda x, _: x * x,
    "popcnt": lambda x, bits: (x & ((1 << bits) - 1)).bit_count(),
    "count_leading_zeros": lambda x, bits: bits - (x & ((1 << bits) - 1)).bit_length(),
}


@pytest.mark.parametrize("name", TYPES)
def test_binary_ops_wrap_and_follow_xla_at_the_corners(name: str) -> None:
    bits, signed = _shape(name)
    left, right = integer_pairs(name, 60)
    cases = [Signature(op, (name, name), name, lanes) for op in BINARY for lanes in LANES]
    compiled = Compiled(cases)
    arrays = [
        np.array(v, dtype=np.int64 if signed else np.uint64).astype(NUMPY_TYPES[name])
        for v in (left, right)
    ]
    for index, case in enumerate(cases):
        actual = compiled.call(index, *arrays)
        reference = BINARY[case.op]
        expected = [
            wrap(reference(x, y, bits, signed), bits, signed)
            for x, y in zip(left, right, strict=True)
        ]
        wrong = [i for i, e in enumerate(expected) if int(actual[i]) != e]
        assert not wrong, (
            case,
            [(left[i], right[i], int(actual[i]), expected[i]) for i in wrong[:5]],
        )


@pytest.mark.parametrize("name", TYPES)
def test_unary_ops(name: str) -> None:
    bits, signed = _shape(name)
    operand = integers(name, 100)
    ops = [op for op in UNARY if signed or op != "negate"]
    cases = [Signature(op, (name,), name, lanes) for op in ops for lanes in LANES]
    compiled = Compiled(cases)
    array = np.array(operand, dtype=np.int64 if signed else np.uint64).astype(NUMPY_TYPES[name])
    for index, case in enumerate(cases):
        actual = compiled.call(index, array)
        expected = [wrap(UNARY[case.op](x, bits), bits, signed) for x in operand]
        wrong = [i for i, e in enumerate(expected) if int(actual[i]) != e]
        assert not wrong, (case, [(operand[i], int(actual[i]), expected[i]) for i in wrong[:5]])


@pytest.mark.parametrize("name", TYPES)
def test_compare_and_clamp(name: str) -> None:
    signed = name[0] == "i"
    left, right = integer_pairs(name, 60)
    directions = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}
    cases = [
        Signature(
            "compare",
            (name, name),
            "i1",
            lanes,
            {"comparison_direction": d, "compare_type": "UNSIGNED"},
        )
        for d in directions
        for lanes in LANES
    ]
    clamps = [Signature("clamp", (name,) * 3, name, lanes) for lanes in LANES]
    compiled = Compiled([*cases, *clamps])
    dtype = np.int64 if signed else np.uint64
    x, y = (np.array(v, dtype=dtype).astype(NUMPY_TYPES[name]) for v in (left, right))
    for index, case in enumerate(cases):
        function = getattr(operator, directions[case.attributes["comparison_direction"]])
        expected = np.array([function(a, b) for a, b in zip(left, right, strict=True)])
        np.testing.assert_array_equal(compiled.call(index, x, y), expected, str(case))
    for index, case in enumerate(clamps, len(cases)):
        expected = np.array([min(max(b, a), a) for a, b in zip(left, right, strict=True)])
        actual = compiled.call(index, x, y, x)
        assert [int(v) for v in actual] == list(expected), case


def test_bool_ops() -> None:
    x = np.array([False, False, True, True] * 16)
    y = np.array([False, True, False, True] * 16)
    binary = {"add": x | y, "multiply": x & y, "maximum": x | y, "minimum": x & y}
    binary |= {"and": x & y, "or": x | y, "xor": x ^ y}
    cases = [Signature(op, ("i1", "i1"), "i1", lanes) for op in binary for lanes in LANES]
    compiled = Compiled([*cases, *(Signature("not", ("i1",), "i1", lanes) for lanes in LANES)])
    for index, case in enumerate(cases):
        np.testing.assert_array_equal(compiled.call(index, x, y), binary[case.op], str(case))
    for index in range(len(cases), len(cases) + len(LANES)):
        np.testing.assert_array_equal(compiled.call(index, x), ~x)


def test_zero_to_the_64th_is_zero() -> None:
    compiled = Compiled([Signature("power", ("i32", "i32"), "i32", lanes) for lanes in LANES])
    for index in range(len(LANES)):
        result = compiled.call(
            index, np.array([0, 3, -3], np.int32), np.array([64, 2, 3], np.int32)
        )
        assert result.tolist() == [0, 9, -27]
