"""Conversions between all element types, and equal-width bitcasts."""

from __future__ import annotations

import numpy as np
import pytest
from formats import nearest
from native import NUMPY_TYPES, Compiled, Signature
from samples import floats, integers, same
from test_floats import SMALL, WIDE, check
from test_integers import TYPES as INTEGERS
from test_integers import wrap

LANES = (0, 16)


def _integer_array(name: str) -> tuple[np.ndarray, np.ndarray]:
    values = integers(name, 150, seed=3)
    return values, np.array(values, np.int64 if name[0] == "i" else np.uint64).astype(
        NUMPY_TYPES[name]
    )


def _shape(name: str) -> tuple[int, bool]:
    return int(name.lstrip("ui")), name[0] == "i"


@pytest.mark.parametrize("source", WIDE + SMALL)
def test_float_to_float_rounds_once(source: str) -> None:
    x = floats(source, 1000)
    lanes = LANES if source in ("f32", "f64") else LANES[1:]
    cases = [Signature("convert", (source,), to, n) for to in WIDE + SMALL for n in lanes]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        with np.errstate(all="ignore"):
            expected = nearest(x.astype(np.float64), case.result)
        check(compiled.call(index, x), expected, case, x)


@pytest.mark.parametrize("to", ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f4E2M1FN"])
def test_doubles_beside_a_tie_are_not_rounded_twice(to: str) -> None:
    values = floats(to, 500).astype(np.float64)
    values = values[np.isfinite(values)]
    neighbours = np.sort(np.unique(values))
    middle = (neighbours[1:] + neighbours[:-1]) / 2
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
    cases = [Signature("convert", ("f64",), to, lanes) for lanes in LANES]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        check(compiled.call(index, x), nearest(x, to), case, x)


@pytest.mark.parametrize("source", [*WIDE, "f8E4M3FN", "f8E5M2FNUZ"])
def test_float_to_integer_saturates_and_nan_is_zero(source: str) -> None:
    x = floats(source, 200)
    wide = x.astype(np.float64)
    cases = [Signature("convert", (source,), to, lanes) for to in INTEGERS for lanes in LANES]
    compiled = Compiled(
        [*cases, *(Signature("convert", (source,), "i1", lanes) for lanes in LANES)]
    )
    for index, case in enumerate(cases):
        bits, signed = _shape(case.result)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        actual = compiled.call(index, x)
        for i, value in enumerate(wide):
            if np.isnan(value):
                expected = 0
            elif np.isinf(value):
                expected = high if value > 0 else low
            else:
                expected = min(max(int(value), low), high)
            assert int(actual[i]) == expected, (case, x[i], actual[i], expected)
    for index in range(len(cases), len(cases) + len(LANES)):
        np.testing.assert_array_equal(compiled.call(index, x), wide != 0)


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer_wraps_and_to_float_rounds_once(source: str) -> None:
    values, x = _integer_array(source)
    targets = INTEGERS + WIDE + ["f8E5M2", "f8E4M3FN", "f8E8M0FNU", "f4E2M1FN"]
    cases = [Signature("convert", (source,), to, lanes) for to in targets for lanes in LANES]
    compiled = Compiled(
        [*cases, *(Signature("convert", (source,), "i1", lanes) for lanes in LANES)]
    )
    for index, case in enumerate(cases):
        actual = compiled.call(index, x)
        if case.result in INTEGERS:
            assert [int(v) for v in actual] == [
                wrap(int(v), *_shape(case.result)) for v in values
            ], case
        else:
            check(actual, nearest(np.array(values, np.longdouble), case.result), case, x)
    for index in range(len(cases), len(cases) + len(LANES)):
        np.testing.assert_array_equal(compiled.call(index, x), values != 0)


def test_bool_and_complex() -> None:
    flags = np.array([True, False] * 32)
    z = np.array([1 - 2j, 0 + 1j, 0, np.nan, -3.5 + 0j, 1e300 + 1j], np.complex128)
    cases = [
        Signature("convert", ("i1",), to, lanes)
        for to in ("i8", "i64", "f32", "bf16", "f8E5M2")
        for lanes in LANES
    ]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        assert same(compiled.call(index, flags), flags.astype(NUMPY_TYPES[case.result])).all()
    targets = ["complex<f32>", "complex<f64>", "f32", "i32", "i1"]
    cases = [
        Signature("convert", ("complex<f64>",), to, lanes) for to in targets for lanes in LANES
    ]
    compiled = Compiled([*cases, Signature("convert", ("f32",), "complex<f64>")])
    for index, case in enumerate(cases):
        with np.errstate(all="ignore"):
            if case.result == "i1":
                expected = z.real != 0
            elif case.result == "i32":
                expected = np.array([1, 0, 0, 0, -3, 2**31 - 1], np.int32)
            else:
                source = z if case.result.startswith("complex") else z.real
                expected = source.astype(NUMPY_TYPES[case.result])
        np.testing.assert_array_equal(compiled.call(index, z), expected, str(case))
    assert compiled.call(len(cases), np.array([2.5], np.float32)).tolist() == [2.5 + 0j]


def test_bitcast_of_equal_widths() -> None:
    pairs = [
        ("f32", "i32"),
        ("ui32", "f32"),
        ("f64", "i64"),
        ("bf16", "ui16"),
        ("f16", "i16"),
        ("i8", "f8E4M3FN"),
    ]
    pairs += [("ui4", "i4"), ("i4", "f4E2M1FN"), ("f16", "bf16")]
    cases = [Signature("bitcast_convert", (a,), c, lanes) for a, c in pairs for lanes in LANES]
    compiled = Compiled(cases)
    for index, case in enumerate(cases):
        source = case.operands[0]
        x = _integer_array(source)[1] if "f" not in source else floats(source, 300)
        if "f" in source:
            x = x[~np.isnan(x.astype(np.float64))]
        if "4" in case.result and source.lstrip("ui") == "4":
            low = x.astype(np.int8).view(np.uint8) & 15
            expected = low if case.result == "f4E2M1FN" else (low.astype(np.int8) << 4) >> 4
            expected = expected.astype(np.uint8).view(NUMPY_TYPES[case.result])
        else:
            expected = x.view(NUMPY_TYPES[case.result])
        check(compiled.call(index, x), expected, case, x)
