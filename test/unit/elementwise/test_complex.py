"""Complex functions against NumPy's long double ones, and their special values against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native import NUMPY_TYPES, Compiled, Signature

LANES = (0, 8)
Function = Callable[..., Any]


def _log1p(z: np.ndarray) -> np.ndarray:
    x, y = z.real, z.imag
    near = np.log1p(2 * x + x * x + y * y) / 2
    return np.where(np.abs(1 + z) < 0.5, np.log(np.abs(1 + z)), near) + 1j * np.arctan2(y, 1 + x)


FUNCTIONS: dict[str, Function] = {
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "log": np.log,
    "log_plus_one": _log1p,
    "sqrt": np.sqrt,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "cbrt": lambda z: np.exp(np.log(z) / 3),
    "sign": lambda z: z / np.abs(z),
    "negate": np.negative,
    "conj": np.conj,
    "square": np.square,
}
BINARY: dict[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
}


def _sample(count: int, dtype: Any, seed: int) -> np.ndarray:
    """Parts of many magnitudes, some of them 0, 1 or near 1."""
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((2, count)) * 10.0 ** rng.uniform(-8, 1.2, (2, count))
    fixed = rng.choice([0.5, 1.0, -1.0, 1.25, -0.75], (2, count))
    parts = np.where(rng.random((2, count)) < 0.2, fixed, parts)
    return (parts[0] + 1j * parts[1]).astype(dtype)


def _relative(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """|actual - expected| / |expected|."""
    return np.abs(actual - expected) / np.where(expected == 0, 1, np.abs(expected))


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_functions_are_close_to_long_double(name: str) -> None:
    dtype = NUMPY_TYPES[name]
    cases = [Signature(op, (name,), name, 4) for op in FUNCTIONS]
    cases += [Signature(op, (name, name), name, 4) for op in BINARY]
    compiled = Compiled(cases)
    epsilon = float(np.finfo(dtype).eps)
    x, y = _sample(1500, dtype, 1), _sample(1500, dtype, 2)
    for index, case in enumerate(cases):
        operands = (x,) if len(case.operands) == 1 else (x, y)
        reference = FUNCTIONS.get(case.op) or BINARY[case.op]
        with np.errstate(all="ignore"):
            expected = reference(*(v.astype(np.clongdouble) for v in operands))
            keep = np.isfinite(expected) & (np.abs(expected) < 1e30) & (np.abs(expected) > 1e-30)
        error = _relative(compiled.call(index, *operands).astype(np.clongdouble), expected)[keep]
        # A power loses what its exponent multiplies; logistic has poles.
        loose = {"power": 4000.0, "logistic": 400.0} if name == "complex<f64>" else {}
        allowed = loose.get(case.op, 6.0)
        assert error.max() <= allowed * epsilon, (
            case,
            error.max() / epsilon,
            int(np.argmax(error)),
        )


def test_every_width_gives_the_same_bits() -> None:
    name, ops = "complex<f32>", ("exponential", "log", "asinh", "tanh", "sqrt")
    compiled = Compiled([Signature(op, (name,), name, lanes) for op in ops for lanes in LANES])
    z = _sample(500, np.complex64, 3)
    for first in range(0, len(ops) * len(LANES), len(LANES)):
        results = [compiled.call(first + i, z).view(np.uint32) for i in range(len(LANES))]
        np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_modulus_does_not_overflow(name: str) -> None:
    part = name[8:11]
    compiled = Compiled([Signature("abs", (name,), part, lanes) for lanes in LANES])
    info = np.finfo(NUMPY_TYPES[part])
    big, tiny = float(info.max) / 2, float(info.smallest_subnormal)
    z = np.array([3 + 4j, big + big * 1j, tiny * 3 + tiny * 4j, complex(np.inf, np.nan), 0])
    expected = np.array([5, big * np.sqrt(2.0), tiny * 5, np.inf, 0], NUMPY_TYPES[part])
    for index in range(len(LANES)):
        actual = compiled.call(index, z.astype(NUMPY_TYPES[name]))
        np.testing.assert_allclose(actual, expected, rtol=2 * float(info.eps))


SPECIAL_PARTS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan])


def _special() -> np.ndarray:
    re, im = (v.ravel() for v in np.meshgrid(SPECIAL_PARTS, SPECIAL_PARTS))
    z = np.empty(re.size, np.complex128)
    z.real, z.imag = re, im
    return z


def _agree(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        close = np.abs(actual - expected) <= 1e-14 * np.abs(expected)
    equal = (close | (actual == expected)) & (np.signbit(actual) == np.signbit(expected))
    return equal | (np.isnan(actual) & np.isnan(expected))


CIRCULAR = ["exponential", "log", "sqrt", "sine", "cosine", "tan", "sinh", "cosh", "tanh"]
INVERSE = ["asin", "acos", "atan", "asinh", "acosh", "atanh"]


@pytest.mark.parametrize("op", [*CIRCULAR, *INVERSE])
def test_special_values_follow_c99(op: str) -> None:
    z = _special()
    actual = Compiled([Signature(op, ("complex<f64>",), "complex<f64>")]).call(0, z)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[op](z)
    right = _agree(actual.real, expected.real) & _agree(actual.imag, expected.imag)
    # C99 leaves open the signs of zeros and infinities beside an infinite or NaN angle.
    open_sign = ~np.isfinite(z.real) | ~np.isfinite(z.imag)
    same_size = _agree(np.abs(actual.real), np.abs(expected.real))
    same_size &= _agree(np.abs(actual.imag), np.abs(expected.imag))
    wrong = ~(right | (open_sign & same_size))
    shown = [
        (complex(z[i]), complex(actual[i]), complex(expected[i])) for i in np.flatnonzero(wrong)
    ]
    # NumPy's inverse functions take arguments on the cut from the side of +0 only.
    assert len(shown) <= (4 if op.startswith("a") else 0), (op, shown)


def test_division_by_zero_and_infinity() -> None:
    compiled = Compiled([Signature("divide", ("complex<f64>",) * 2, "complex<f64>")])
    top = np.array([1 + 1j, 1 + 1j, 0j, 1e308 + 1e308j, complex(np.inf, 1)])
    bottom = np.array([0j, complex(np.inf, np.inf), 0j, 1e308 + 1e308j, 1 + 1j])
    actual = compiled.call(0, top, bottom)
    assert np.isinf(actual[0])
    assert actual[1] == 0
    assert np.isnan(actual[2].real)
    assert actual[3] == 1
    assert np.isinf(actual[4])


def test_cases_from_bug_reports() -> None:
    compiled = Compiled(
        [Signature(op, ("complex<f32>",), "complex<f32>") for op in ("asinh", "square")]
    )
    angle = compiled.call(0, np.array([-1 - 101999j], np.complex64))[0]
    np.testing.assert_allclose([angle.real, angle.imag], [-12.2259, -1.5707866], rtol=1e-5)
    square = compiled.call(1, np.array([4.8935e30 * (1 - 1j)], np.complex64))[0]
    assert (square.real, square.imag) == (0.0, -np.inf)


def test_asin_acos_kernel_gives_both_functions() -> None:
    compiled = Compiled([Signature("_asin_acos_kernel", ("complex<f64>",), "complex<f64>", 4)])
    z = _sample(200, np.complex128, 4)
    w = compiled.call(0, z)
    asin = np.arctan2(z.real, w.real) + 1j * np.copysign(w.imag, z.imag)
    acos = np.arctan2(w.real, z.real) - 1j * np.copysign(w.imag, z.imag)
    np.testing.assert_allclose(asin, np.arcsin(z), rtol=1e-14)
    np.testing.assert_allclose(acos, np.arccos(z), rtol=1e-14)


def test_order_is_lexicographic() -> None:
    two, three = ("complex<f64>",) * 2, ("complex<f64>",) * 3
    cases = [Signature(op, two, "complex<f64>", 4) for op in ("maximum", "minimum")]
    compiled = Compiled([*cases, Signature("clamp", three, "complex<f64>", 4)])
    x, y = np.array([1 + 2j, 3 - 1j, 2j]), np.array([1 + 3j, 2 + 9j, 2j])
    assert compiled.call(0, x, y).tolist() == [1 + 3j, 3 - 1j, 2j]
    assert compiled.call(1, x, y).tolist() == [1 + 2j, 2 + 9j, 2j]
    low, high = np.full(3, 1 + 2.5j), np.full(3, 2 + 10j)
    assert compiled.call(2, low, x, high).tolist() == [1 + 2.5j, 2 + 10j, 1 + 2.5j]


def test_complex_compare_and_parts() -> None:
    z = np.array([1 + 2j, 1 + 2j, complex(np.nan, 0)])
    w = np.array([1 + 2j, 1 - 2j, complex(np.nan, 0)])
    directions = [{"comparison_direction": d} for d in ("EQ", "NE")]
    cases = [Signature("compare", ("complex<f64>",) * 2, "i1", 0, d) for d in directions]
    cases += [Signature(op, ("complex<f64>",), "f64") for op in ("real", "imag")]
    compiled = Compiled([*cases, Signature("complex", ("f64", "f64"), "complex<f64>")])
    assert compiled.call(0, z, w).tolist() == [True, False, False]
    assert compiled.call(1, z, w).tolist() == [False, True, True]
    parts = compiled.call(2, z), compiled.call(3, z)
    np.testing.assert_array_equal(parts[0], z.real)
    np.testing.assert_array_equal(compiled.call(4, *parts), z)
