"""Elementary and special functions, within the last place of exact values and near XLA's."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from jax import lax
from reference_oracles import (
    COMPLEX,
    FLOATS,
    assert_same,
    corner_floats,
    pairs,
    random_floats,
    ulp_distance,
    xla,
)

from hlo.reference import special_functions, transcendental

# Name here, function in `math` (of one float64), XLA's function, and the interval of samples.
REAL_FUNCTIONS: dict[str, tuple[Callable[[float], float], str, tuple[float, float]]] = {
    "exponential": (math.exp, "exp", (-80, 80)),
    "exponential_minus_one": (math.expm1, "expm1", (-3, 3)),
    "log": (math.log, "log", (1e-3, 50)),
    "log_plus_one": (math.log1p, "log1p", (-0.9, 3)),
    "logistic": (lambda x: 1 / (1 + math.exp(-x)), "logistic", (-20, 20)),
    "sine": (math.sin, "sin", (-10, 10)),
    "cosine": (math.cos, "cos", (-10, 10)),
    "tan": (math.tan, "tan", (-1.4, 1.4)),
    "sinh": (math.sinh, "sinh", (-5, 5)),
    "cosh": (math.cosh, "cosh", (-5, 5)),
    "tanh": (math.tanh, "tanh", (-3, 3)),
    "asin": (math.asin, "asin", (-1, 1)),
    "acos": (math.acos, "acos", (-1, 1)),
    "atan": (math.atan, "atan", (-9, 9)),
    "asinh": (math.asinh, "asinh", (-9, 9)),
    "acosh": (math.acosh, "acosh", (1.01, 9)),
    "atanh": (math.atanh, "atanh", (-0.95, 0.95)),
    "sqrt": (math.sqrt, "sqrt", (0, 100)),
    "rsqrt": (lambda x: 1 / math.sqrt(x), "rsqrt", (0.01, 100)),
    "cbrt": (lambda x: math.copysign(abs(x) ** (1 / 3), x), "cbrt", (-30, 30)),
}


@pytest.mark.parametrize("name", REAL_FUNCTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_real_functions_are_within_one_ulp(name: str, dtype: object) -> None:
    function, _, (low, high) = REAL_FUNCTIONS[name]
    samples = np.random.default_rng(1).uniform(low, high, 200).astype(dtype)
    wide = samples.astype(np.float64)
    if dtype is not np.float64:
        # An interval's end may round out of it.
        samples = samples[(wide >= low) & (wide <= high)]
        wide = samples.astype(np.float64)
    with np.errstate(over="ignore"):
        expected = np.array([function(x) for x in wide]).astype(dtype)
    found = getattr(transcendental, name)(samples)
    assert found.dtype == np.dtype(dtype)
    # `math` and the formulas above are off by a place or two in float64; of narrower types they
    # give every digit.
    allowed = 3 if dtype is np.float64 else 1
    assert ulp_distance(found, expected).max() <= allowed


@pytest.mark.parametrize("name", REAL_FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_functions_match_xla_at_special_values(name: str, dtype: object) -> None:
    values = corner_floats(dtype)
    (expected,) = xla(getattr(lax, REAL_FUNCTIONS[name][1]), values)
    found = getattr(transcendental, name)(values)
    tolerance = 32 * float(ml_dtypes.finfo(dtype).eps)
    tiny = float(ml_dtypes.finfo(dtype).smallest_normal)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tiny)


def test_subnormals_are_kept() -> None:
    assert transcendental.log(np.float32(1e-40)) == np.float32(math.log(float(np.float32(1e-40))))
    assert transcendental.exponential(np.float32(-100)) == np.float32(math.exp(-100))
    assert transcendental.sqrt(np.float32(1e-40)) > 0


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", [n for n in REAL_FUNCTIONS if n != "cbrt"])
def test_complex_functions_match_xla(name: str, dtype: object) -> None:
    values = random_floats((100,), dtype, seed=3, scale=1.5)
    (expected,) = xla(getattr(lax, REAL_FUNCTIONS[name][1]), values)
    found = getattr(transcendental, name)(values)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_allclose(found, expected, rtol=60 * np.finfo(dtype).eps)


def test_complex_cube_root_cubes_back() -> None:
    values = random_floats((50,), np.complex128, seed=4)
    np.testing.assert_allclose(transcendental.cbrt(values) ** 3, values, rtol=1e-14)


def test_asin_acos_kernel_yields_both_functions() -> None:
    z = random_floats((50,), np.complex128, seed=5)
    w = transcendental.asin_acos_kernel(z)
    x, sign = z.real, np.sign(z.imag)
    asin = np.arctan2(x, w.real) + 1j * sign * w.imag
    acos = np.arctan2(w.real, x) - 1j * sign * w.imag
    np.testing.assert_allclose(asin, transcendental.asin(z), rtol=1e-13)
    np.testing.assert_allclose(acos, transcendental.acos(z), rtol=1e-13)


def test_complex_log_plus_one_near_cancellation() -> None:
    # |1 + z|^2 - 1 = 2x + x^2 + y^2 is 2^-120 here; evaluated plainly in complex128 it is 0.
    y = 2.0**-30
    x = -(2.0**-61)
    found = transcendental.log_plus_one(np.complex128(complex(x, y)))
    assert found.real == pytest.approx(2.0**-123, rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_atan2_matches_xla_at_special_values(dtype: object) -> None:
    values = corner_floats(dtype)
    tiny = float(ml_dtypes.finfo(dtype).smallest_normal)
    values = values[np.abs(values) != tiny]
    lhs, rhs = pairs(values)
    (expected,) = xla(lax.atan2, lhs, rhs)
    found = transcendental.atan2(lhs, rhs)
    np.testing.assert_allclose(
        found, expected, rtol=4 * float(ml_dtypes.finfo(dtype).eps), atol=tiny
    )
    zero = np.abs(expected) == 0
    np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(expected)[zero])


SPECIAL_FUNCTIONS = {
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erf_inv",
    "lgamma": "lgamma",
    "digamma": "digamma",
    "bessel_i1e": "bessel_i1e",
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_special_functions_match_xla(name: str, dtype: object) -> None:
    spread = np.linspace(0.02, 0.98, 50) if name == "erf_inv" else np.linspace(0.1, 12, 60)
    values = np.concatenate([spread, corner_floats(dtype).astype(np.float64)]).astype(dtype)
    if name in ("lgamma", "digamma"):
        values = values[~((values < 0) & (np.abs(values) > 1e30))]
    (expected,) = xla(getattr(lax, SPECIAL_FUNCTIONS[name]), values)
    found = getattr(special_functions, name)(values)
    np.testing.assert_allclose(
        found,
        expected,
        rtol=2e-5 if dtype is np.float32 else 1e-12,
        atol=1e-6 if dtype is np.float32 else 1e-15,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_polygamma_and_zeta_match_xla(dtype: object) -> None:
    order = np.array([0, 1, 2, 3, 5, -1, 1.5], dtype)
    argument = np.array([0.5, 1, 2.5, 7, 30], dtype)
    n, x = (a.reshape(-1) for a in np.meshgrid(order, argument))
    (expected,) = xla(lax.polygamma, n, x)
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(special_functions.polygamma(n, x), expected, rtol=tolerance)
    s, q = np.abs(n) + 1, x
    (expected,) = xla(lax.zeta, s.astype(dtype), q)
    np.testing.assert_allclose(special_functions.zeta(s, q), expected, rtol=tolerance)
    assert special_functions.zeta(dtype(2), dtype(1)) == pytest.approx(math.pi**2 / 6)
    assert special_functions.polygamma(dtype(1), dtype(1)) == pytest.approx(
        scipy.special.polygamma(1, 1)
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_odd_functions_keep_the_sign_of_zero(dtype: object) -> None:
    zero = np.array([0.0, -0.0]).astype(dtype)
    odd = ("sine", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "cbrt", "sqrt")
    functions = [getattr(transcendental, name) for name in odd]
    functions += [transcendental.exponential_minus_one, transcendental.log_plus_one]
    functions += [special_functions.erf, special_functions.erf_inv, special_functions.bessel_i1e]
    for function in functions:
        assert_same(function(zero), zero)


def test_poles() -> None:
    poles = np.array([0.0, -1.0, -2.0], np.float32)
    assert np.isposinf(special_functions.lgamma(poles)).all()
    assert np.isnan(special_functions.digamma(poles)).all()
    ends = np.array([1.0, -1.0, 1.5], np.float32)
    assert_same(special_functions.erf_inv(ends), np.array([np.inf, -np.inf, np.nan], np.float32))


def test_lgamma_of_subnormal_numbers_is_finite() -> None:
    tiny = np.array([5e-324, -5e-324, 1e-310, -1e-310, 1e-301])
    np.testing.assert_allclose(special_functions.lgamma(tiny), -np.log(np.abs(tiny)), rtol=1e-14)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
def test_next_after_matches_xla(dtype: object) -> None:
    values = corner_floats(dtype)
    lhs, rhs = pairs(values)
    (expected,) = xla(lax.nextafter, lhs, rhs)
    found = special_functions.next_after(lhs, rhs)
    keep = ~(
        (lhs == 0) & (rhs == 0)
    )  # XLA keeps x where x equals y; here it is y, of the other sign.
    assert_same(found[keep], expected[keep])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_next_after_of_equal_zeros_takes_the_second_sign(dtype: type) -> None:
    zeros = np.array([0.0, -0.0], dtype)
    found = special_functions.next_after(zeros, zeros[::-1])
    np.testing.assert_array_equal(np.signbit(found), [True, False])


def test_infinity_predicates() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 1.0]).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(special_functions.is_inf(values), [True, True, False, False])
    np.testing.assert_array_equal(special_functions.is_pos_inf(values), [True, False, False, False])
    np.testing.assert_array_equal(special_functions.is_neg_inf(values), [False, True, False, False])
