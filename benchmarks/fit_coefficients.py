"""Fits the polynomials of passes/hlo_to_loops/elementwise/coefficients.py and rewrites that file.

Each is the Chebyshev interpolant, in mpmath, of a function that is smooth on the interval an
algorithm reduces to, with as many terms as hold the relative error below the unit of the format,
less a few bits. Needs mpmath.

    python benchmarks/fit_coefficients.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
OUTPUT = Path(__file__).parents[1] / "passes" / "hlo_to_loops" / "elementwise" / "coefficients.py"
Function = Callable[[Any], Any]


def chebyshev(function: Function, low: Any, high: Any, terms: int) -> list[Any]:
    """Chebyshev coefficients of the interpolant at `terms` nodes, on [low, high]."""
    angles = [mp.pi * (2 * j + 1) / (2 * terms) for j in range(terms)]
    middle, half = (mpf(high) + low) / 2, (mpf(high) - low) / 2
    values = [function(middle + half * mp.cos(a)) for a in angles]
    sums = [
        2 * mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) / terms
        for k in range(terms)
    ]
    return [sums[0] / 2, *sums[1:]]


def monomials(series: list[Any], low: Any, high: Any) -> list[Any]:
    """The same polynomial in powers of x, lowest first."""
    # T_k as polynomials in t, then t = (x - middle) / half.
    previous, current = [mpf(1)], [mpf(0), mpf(1)]
    in_t = [mpf(0)] * len(series)
    for k, coefficient in enumerate(series):
        basis = previous if k == 0 else current
        for i, value in enumerate(basis):
            in_t[i] += coefficient * value
        if k > 0:
            following = [mpf(0), *(2 * v for v in current)]
            for i, value in enumerate(previous):
                following[i] -= value
            previous, current = current, following
    middle, half = (mpf(high) + low) / 2, (mpf(high) - low) / 2
    result: list[Any] = [mpf(0)]
    for coefficient in reversed(in_t):
        shifted = [mpf(0), *(v / half for v in result)]
        for i, value in enumerate(result):
            shifted[i] -= value * middle / half
        shifted[0] += coefficient
        result = shifted
    return result[: len(series)]


def rounded(values: list[Any], scalar: str) -> list[float]:
    return [float(np.float32(float(v))) if scalar == "f32" else float(v) for v in values]


def fit(function: Function, low: Any, high: Any, terms: int) -> dict[str, Any]:
    return {"function": function, "low": mpf(low), "high": mpf(high), "terms": terms}


def safe(function: Function) -> Function:
    """`function` beside its removable singularities: in many digits, a hair away."""

    def evaluate(x: Any) -> Any:
        with mp.workdps(120):
            return function(mpf(x) + mpf(10) ** -45)

    return evaluate


def erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def erfcx_of_ratio(center: int) -> Function:
    """(1 + 2x) erfcx(x) in t = (x - center) / (x + center)."""

    def evaluate(t: Any) -> Any:
        x = center * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)

    return evaluate


def inverse_erf(x: Any, complement: Any) -> Any:
    """erfinv of x = 1 - complement, by Newton's method on log erfc."""
    y = mpf(1)
    target = mp.log(complement)
    for _ in range(100):
        value = mp.log(mp.erfc(y)) - target
        step = value / (-2 / mp.sqrt(mp.pi) / erfcx(y))
        y -= step
        if abs(step) < mpf(10) ** -50:
            break
    return y


def erf_inv_central(w: Any) -> Any:
    """erfinv(x) / x where w = -log(1 - x**2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return inverse_erf(x, -mp.expm1(-w) * 0 + (mp.exp(-w) / (1 + x))) / x


def erf_inv_tail(root: Any) -> Any:
    return erf_inv_central(root * root)


HALF_LN2 = mp.log(2) / 2
PI = mp.pi
ROOT2 = mp.sqrt(2)
F32, F64 = "f32", "f64"

EXP = safe(lambda r: (mp.exp(r) - 1 - r) / r**2)
SINE = safe(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
COSINE = safe(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2)
ATAN = safe(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
ASIN = safe(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
SINH = safe(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
TANH = safe(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
ERF = safe(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1)
LOG_RATIO = safe(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z)
LOG2_RATIO = safe(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2)
POWER_LOG = safe(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
POWER_EXP2 = safe(lambda r: (mp.power(2, r) - 1) / r)
LOG_DIRECT = safe(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3)
LGAMMA = safe(lambda t: mp.loggamma(1.5 + t) / ((t + 0.5) * (t - 0.5)))
DIGAMMA_ROOT = mp.findroot(mp.digamma, 1.46)
DIGAMMA = safe(lambda t: mp.digamma(1.5 + t) / (1.5 + t - DIGAMMA_ROOT))
I1E = safe(lambda a: mp.exp(-a) * mp.besseli(1, a) / a * (1 + a))
I1E_FAR = safe(lambda v: mp.exp(-1 / v) * mp.besseli(1, 1 / v) * mp.sqrt(1 / v))

# name -> (form, fit for f32, fit for f64); a form is "powers" (lowest first) or "chebyshev".
TABLE: dict[str, tuple[str, dict[str, Any] | None, dict[str, Any] | None]] = {
    "EXP": ("powers", fit(EXP, -HALF_LN2, HALF_LN2, 5), fit(EXP, -HALF_LN2, HALF_LN2, 11)),
    "LOG_DIRECT": ("powers", fit(LOG_DIRECT, 1 / ROOT2 - 1, ROOT2 - 1, 9), None),
    "LOG_RATIO": ("powers", None, fit(LOG_RATIO, 0, mpf("0.02944"), 8)),
    "LOG2_RATIO": ("powers", None, fit(LOG2_RATIO, 0, mpf("0.02944"), 8)),
    "POWER_LOG": ("powers", None, fit(POWER_LOG, 0, mpf("0.02944"), 6)),
    "POWER_EXP2": ("powers", None, fit(POWER_EXP2, -0.5, 0.5, 8)),
    "SINE_QUARTER": ("powers", fit(SINE, 0, (PI / 4) ** 2, 4), fit(SINE, 0, (PI / 4) ** 2, 7)),
    "COSINE_QUARTER": (
        "powers",
        fit(COSINE, 0, (PI / 4) ** 2, 3),
        fit(COSINE, 0, (PI / 4) ** 2, 6),
    ),
    "ATAN": ("powers", fit(ATAN, 0, 1, 10), fit(ATAN, 0, 1, 21)),
    "ASIN": ("powers", fit(ASIN, 0, 0.25, 5), fit(ASIN, 0, 0.25, 13)),
    "SINH": ("powers", fit(SINH, 0, 1, 4), fit(SINH, 0, 1, 8)),
    "TANH": ("powers", fit(TANH, 0, 0.36, 5), fit(TANH, 0, 0.36, 12)),
    "ERF": ("powers", fit(ERF, 0, 1, 7), fit(ERF, 0, 1, 14)),
    "ERF_LOG": ("powers", fit(lambda a: -mp.log(mp.erfc(a)), 0.9, 4.1, 10), None),
    "ERFCX": (
        "powers",
        fit(erfcx_of_ratio(2), mpf(-0.62), mpf(9) / 13, 11),
        fit(erfcx_of_ratio(4), mpf(-0.8), 0.76, 23),
    ),
    "ERF_INV_NEAR": (
        "powers",
        fit(lambda t: erf_inv_central(t + 2.5), mpf(-2.5) + mpf(10) ** -30, 2.5, 10),
        None,
    ),
    "ERF_INV_TAIL": ("powers", fit(lambda t: erf_inv_tail(t + 3), mpf(-0.77), 1.02, 9), None),
    "ERF_INV": ("chebyshev", None, fit(erf_inv_central, mpf(10) ** -30, 6.25, 24)),
    "ERF_INV_MIDDLE": ("chebyshev", None, fit(erf_inv_tail, 2.5, 4, 18)),
    "ERF_INV_FAR": ("chebyshev", None, fit(erf_inv_tail, 4, 6.1, 16)),
    "LGAMMA": ("powers", None, fit(LGAMMA, -0.5, 0.5, 24)),
    "DIGAMMA": ("powers", None, fit(DIGAMMA, -0.5, 0.5, 24)),
    "I1E": ("chebyshev", None, fit(I1E, 0, 8, 30)),
    "I1E_FAR": ("chebyshev", None, fit(I1E_FAR, mpf(10) ** -9, mpf(1) / 8, 26)),
}


def error_bits(case: dict[str, Any], form: str, values: list[float]) -> float:
    """-log2 of the largest error on a grid, relative to the largest value."""
    worst = largest = mpf(0)
    low, high = case["low"], case["high"]
    for i in range(201):
        x = low + (high - low) * i / 200
        expected = case["function"](x)
        if form == "powers":
            actual = mp.polyval(list(reversed([mpf(v) for v in values])), x)
        else:
            t = (2 * x - low - high) / (high - low)
            actual = mp.fsum(mpf(v) * mp.chebyt(k, t) for k, v in enumerate(values))
        worst, largest = max(worst, abs(actual - expected)), max(largest, abs(expected))
    return float(-mp.log(worst / largest, 2))


def main() -> None:
    lines = [
        '"""Polynomials of the elementwise functions, written by benchmarks/fit_coefficients.py.',
        "",
        "Each is a dictionary from MLIR float type to coefficients, lowest first: powers, or",
        "Chebyshev polynomials where the name ends in _CHEBYSHEV.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
    ]
    for name, (form, single, double) in TABLE.items():
        lines.append(f"{name}{'_CHEBYSHEV' if form == 'chebyshev' else ''} = {{")
        for scalar, case in ((F32, single), (F64, double)):
            if case is None:
                continue
            series = chebyshev(case["function"], case["low"], case["high"], case["terms"])
            powers = form == "powers"
            exact = monomials(series, case["low"], case["high"]) if powers else series
            values = rounded(exact, scalar)
            held = error_bits(case, form, values)
            print(f"{name:16} {scalar} {case['terms']:3} terms, {held:6.1f} bits")
            lines.append(f'    "{scalar}": (')
            lines.extend(f"        {value!r}," for value in values)
            lines.append("    ),")
        lines.append("}")
    OUTPUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
