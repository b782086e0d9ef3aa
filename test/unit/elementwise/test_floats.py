"""Float arithmetic, rounding and comparison for every format, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from formats import nearest
from native import Compiled, Signature
from samples import bits_of, float_pairs, floats, same

WIDE = ["f64", "f32", "f16", "bf16"]
SMALL = [
    "f8E5M2",
    "f8E4M3",
    "f8E3M4",
    "f8E4M3FN",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E8M0FNU",
    "f6E2M3FN",
    "f6E3M2FN",
    "f4E2M1FN",
]
LANES = (0, 16)

Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]
Unary = Callable[[np.ndarray], np.ndarray]


def exact(x: np.ndarray) -> np.ndarray:
    """A type in which one operation on the elements is exact or rounds innocuously."""
    return x.astype(x.dtype if x.dtype.itemsize >= 4 else np.float64)


def _maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    larger = np.maximum(x, y)
    both_zero = (x == 0) & (y == 0)
    return np.where(both_zero, np.where(np.signbit(x), y, x), larger)


def _minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -_maximum(-x, -y)


BINARY: dict[str, Binary] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "remainder": np.fmod,
    "maximum": _maximum,
    "minimum": _minimum,
}


def _afz(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    return np.copysign(
        whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0).astype(x.dtype), x
    )


UNARY: dict[str, Unary] = {
    "abs": np.abs,
    "negate": np.negative,
    "sign": lambda x: np.where(x == 0, x, np.sign(x)),
    "square": np.square,
    "floor": np.floor,
    "ceil": np.ceil,
    "round_nearest_even": np.rint,
    "round_nearest_afz": _afz,
    "sqrt": np.sqrt,
}


def _lanes(name: str) -> tuple[int, ...]:
    """The small formats share one code: a vector shows it."""
    return LANES if name in WIDE else LANES[1:]


def check(actual: np.ndarray, expected: np.ndarray, case: Signature, *operands: np.ndarray) -> None:
    wrong = np.flatnonzero(~same(actual, expected))
    shown = [(*(o[i] for o in operands), actual[i], expected[i]) for i in wrong[:6]]
    assert wrong.size == 0, (case, wrong.size, shown)


@pytest.mark.parametrize("name", WIDE + SMALL)
def test_binary_ops_round_once(name: str) -> None:
    x, y = float_pairs(name, 1000)
    cases = [Signature(op, (name, name), name, n) for op in BINARY for n in _lanes(name)]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        with np.errstate(all="ignore"):
            expected = nearest(BINARY[case.op](exact(x), exact(y)), name)
        check(compiled.call(index, x, y), expected, case, x, y)


@pytest.mark.parametrize("name", WIDE + SMALL)
def test_unary_ops_round_once(name: str) -> None:
    x = floats(name, 1000)
    cases = [Signature(op, (name,), name, n) for op in UNARY for n in _lanes(name)]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        with np.errstate(all="ignore"):
            expected = nearest(UNARY[case.op](exact(x)), name)
        check(compiled.call(index, x), expected, case, x)


@pytest.mark.parametrize("name", WIDE + SMALL)
def test_memory_round_trip_keeps_every_value(name: str) -> None:
    x = floats(name, 3000)
    compiled = Compiled([Signature("real", (name,), name, lanes) for lanes in LANES])
    for index, case in enumerate(compiled.signatures):
        check(compiled.call(index, x), x, case, x)


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "f8E4M3FN", "f8E5M2"])
def test_compare_orders(name: str) -> None:
    x, y = float_pairs(name, 500)
    directions = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal}
    directions |= {"GT": np.greater, "GE": np.greater_equal}
    cases = [
        Signature(
            "compare", (name, name), "i1", lanes, {"comparison_direction": d, "compare_type": order}
        )
        for d in directions
        for order in ("FLOAT", "TOTALORDER")
        for lanes in LANES
    ]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        left, right = exact(x), exact(y)
        if case.attributes["compare_type"] == "TOTALORDER":
            left, right = (_total_key(v) for v in (x, y))
        with np.errstate(all="ignore"):
            expected = directions[case.attributes["comparison_direction"]](left, right)
        check(compiled.call(index, x, y), expected, case, x, y)


def _total_key(x: np.ndarray) -> np.ndarray:
    bits = bits_of(x)
    signed = bits.view(f"i{x.dtype.itemsize}")
    return (
        np.where(
            signed < 0,
            ~signed & (2 ** (8 * x.dtype.itemsize - 1) - 1),
            signed.astype(np.int64) + 2**40,
        ).astype(np.int64)
        if x.dtype.itemsize < 8
        else np.where(signed < 0, np.iinfo(np.int64).min - signed - 1, signed)
    )


@pytest.mark.parametrize("name", WIDE)
def test_next_after(name: str) -> None:
    x, y = float_pairs(name, 500)
    cases = [Signature("next_after", (name, name), name, lanes) for lanes in LANES]
    compiled = Compiled(cases)
    with np.errstate(all="ignore"):
        expected = np.where(x == y, y, np.nextafter(x, y))
    for index, case in enumerate(cases):
        check(compiled.call(index, x, y), expected, case, x, y)


def test_predicates_and_clamp() -> None:
    x = floats("f32", 200)
    names = {
        "is_finite": np.isfinite,
        "is_inf": np.isinf,
        "is_pos_inf": np.isposinf,
        "is_neg_inf": np.isneginf,
    }
    cases = [Signature(op, ("f32",), "i1", lanes) for op in names for lanes in LANES]
    clamps = [Signature("clamp", ("f32",) * 3, "f32", lanes) for lanes in LANES]
    compiled = Compiled([*cases, *clamps])
    for index, case in enumerate(cases):
        check(compiled.call(index, x), names[case.op](x), case, x)
    low, value, high = (
        np.array(v, np.float32) for v in ([0, 0, 2], [np.nan, -5, 1], [1, 9, np.nan])
    )
    for index in range(len(cases), len(cases) + len(clamps)):
        np.testing.assert_array_equal(compiled.call(index, low, value, high), [np.nan, 0, np.nan])


@pytest.mark.parametrize("name", ["f32", "f64", "f16"])
@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (4, 3), (2, 3), (11, 60)])
def test_reduce_precision(name: str, bits: tuple[int, int]) -> None:
    x = floats(name, 1000)
    attributes = {"exponent_bits": bits[0], "mantissa_bits": bits[1]}
    cases = [Signature("reduce_precision", (name,), name, lanes, attributes) for lanes in LANES]
    compiled = Compiled(cases)
    expected = _reduced(x, *bits)
    for index, case in enumerate(cases):
        check(compiled.call(index, x), expected, case, x)


def test_reduce_precision_without_mantissa_rounds_to_even_exponents() -> None:
    attributes = {"exponent_bits": 5, "mantissa_bits": 0}
    compiled = Compiled(
        [Signature("reduce_precision", ("f32",), "f32", lanes, attributes) for lanes in LANES]
    )
    x = np.array([1, 1.5, 2.5, 3, 5, 6, 12, np.nan, -np.inf], np.float32)
    for index in range(len(LANES)):
        np.testing.assert_array_equal(
            compiled.call(index, x), [1, 2, 2, 2, 4, 8, 8, np.inf, -np.inf]
        )


def _reduced(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    own = {np.float16: (5, 10), np.float32: (8, 23), np.float64: (11, 52)}[x.dtype.type]
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        _, exponent = np.frexp(wide)
        least = 2 - 2 ** (own[0] - 1)
        unit = np.ldexp(
            np.longdouble(1), np.maximum(exponent - 1, least) - min(mantissa_bits, own[1])
        )
        rounded = np.rint(wide / unit) * unit
        if exponent_bits < own[0]:
            bias = 2 ** (exponent_bits - 1) - 1
            rounded = np.where(
                np.abs(rounded) >= 2.0 ** (bias + 1), np.copysign(np.inf, wide), rounded
            )
            rounded = np.where(np.abs(rounded) < 2.0 ** (1 - bias), np.copysign(0.0, wide), rounded)
        rounded = np.where(np.isfinite(wide), rounded, wide)
        return rounded.astype(x.dtype)


def test_subnormals_are_kept() -> None:
    compiled = Compiled([Signature("multiply", ("f32", "f32"), "f32", lanes) for lanes in LANES])
    x, y = np.array([2.0**-100, 2.0**-149], np.float32), np.array([2.0**-49, 1.0], np.float32)
    for index in range(len(LANES)):
        assert compiled.call(index, x, y).tolist() == [2.0**-149, 2.0**-149]
