"""Measures the elementwise functions in units in the last place, beside XLA:CPU's, and writes
docs/ulp.md.

Samples are random bit patterns (every magnitude), uniform variates over the ranges where a function
is used, and its edges. The reference is mpmath at 60 digits on f64, NumPy and SciPy in long double
or f64 on f32. XLA's column needs jax; without it the column is empty. Needs mpmath
(`pip install mpmath`).

    python benchmarks/ulp.py [--count N] [--only NAME] [--no-xla] [--sweep STEP] [--write]
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import scipy.special
from mpmath import mp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "test" / "unit" / "elementwise"))
sys.path.insert(0, str(ROOT / "python"))

from native import Compiled, Signature  # noqa: E402

mp.dps = 50
INF = float("inf")


@dataclass(frozen=True)
class Function:
    """A function to measure.

    Attributes:
        name: op.
        exact: mpmath reference.
        wide: reference on NumPy arrays of f64, for f32.
        xla: the name of the JAX function in `jax.lax` or `jax.scipy.special`.
        ranges: intervals of uniform samples, one tuple per operand.
        domain: random bit patterns are kept if inside, per operand.
    """

    name: str
    exact: Callable[..., Any]
    wide: Callable[..., Any]
    xla: str
    ranges: tuple[tuple[float, float], ...] = ((-20.0, 20.0),)
    domain: tuple[float, float] = (-INF, INF)
    operands: int = 1


def _log(x: Any) -> Any:
    return mp.log(x) if x > 0 else -mp.inf


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _lgamma(x: Any) -> Any:
    return mp.inf if x <= 0 and x == mp.floor(x) else mp.re(mp.loggamma(x))


FUNCTIONS = (
    Function("exponential", mp.exp, np.exp, "exp", ((-110.0, 90.0), (-1.0, 1.0), (-745.0, 710.0))),
    Function("exponential_minus_one", mp.expm1, np.expm1, "expm1", ((-20.0, 20.0), (-1.0, 1.0))),
    Function("log", _log, np.log, "log", ((0.0, 4.0), (0.9, 1.1), (0.0, 1e6)), (0.0, INF)),
    Function(
        "log_plus_one", mp.log1p, np.log1p, "log1p", ((-1.0, 4.0), (-0.1, 0.1)), (-0.999999, INF)
    ),
    Function("logistic", _sigmoid, scipy.special.expit, "logistic", ((-100.0, 20.0), (-4.0, 4.0))),
    Function("tanh", mp.tanh, np.tanh, "tanh", ((-10.0, 10.0), (-1.0, 1.0))),
    Function("sinh", mp.sinh, np.sinh, "sinh", ((-89.0, 89.0), (-1.5, 1.5))),
    Function("cosh", mp.cosh, np.cosh, "cosh", ((-89.0, 89.0), (-1.5, 1.5))),
    Function("asinh", mp.asinh, np.arcsinh, "asinh", ((-20.0, 20.0), (-1.0, 1.0))),
    Function("acosh", mp.acosh, np.arccosh, "acosh", ((1.0, 20.0), (1.0, 1.1)), (1.0, INF)),
    Function(
        "atanh", mp.atanh, np.arctanh, "atanh", ((-1.0, 1.0), (-0.1, 0.1)), (-0.9999999, 0.9999999)
    ),
    Function("sine", mp.sin, np.sin, "sin", ((-6.3, 6.3), (-1e3, 1e3), (-1e5, 1e5))),
    Function("cosine", mp.cos, np.cos, "cos", ((-6.3, 6.3), (-1e3, 1e3), (-1e5, 1e5))),
    Function("tan", mp.tan, np.tan, "tan", ((-6.3, 6.3), (-1e3, 1e3), (-1e5, 1e5))),
    Function("asin", mp.asin, np.arcsin, "asin", ((-1.0, 1.0),), (-1.0, 1.0)),
    Function("acos", mp.acos, np.arccos, "acos", ((-1.0, 1.0), (0.99, 1.0)), (-1.0, 1.0)),
    Function("atan", mp.atan, np.arctan, "atan", ((-5.0, 5.0), (-1.0, 1.0))),
    Function("atan2", mp.atan2, np.arctan2, "atan2", ((-5.0, 5.0),), operands=2),
    Function("power", mp.power, np.power, "pow", ((0.0, 5.0), (0.9, 1.1)), (0.0, INF), operands=2),
    Function("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), np.cbrt, "cbrt", ((-10.0, 10.0),)),
    Function("sqrt", mp.sqrt, np.sqrt, "sqrt", ((0.0, 10.0),), (0.0, INF)),
    Function(
        "rsqrt",
        lambda x: 1 / mp.sqrt(x),
        lambda x: 1 / np.sqrt(x),
        "rsqrt",
        ((0.0, 10.0),),
        (1e-300, INF),
    ),
    Function("erf", mp.erf, scipy.special.erf, "erf", ((-4.0, 4.0), (-1.0, 1.0))),
    Function(
        "erfc", mp.erfc, scipy.special.erfc, "erfc", ((-4.0, 10.0), (0.0, 27.0)), (-INF, 26.0)
    ),
    Function(
        "erf_inv",
        mp.erfinv,
        scipy.special.erfinv,
        "erf_inv",
        ((-1.0, 1.0), (0.999, 1.0)),
        (-0.99999999999, 0.99999999999),
    ),
    Function(
        "lgamma", _lgamma, scipy.special.gammaln, "lgamma", ((0.0, 20.0), (-5.0, 0.0)), (-50.0, INF)
    ),
    Function(
        "digamma",
        mp.digamma,
        scipy.special.digamma,
        "digamma",
        ((0.0, 20.0), (-5.0, 0.0)),
        (-50.0, 1e300),
    ),
    Function(
        "bessel_i1e",
        lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
        scipy.special.i1e,
        "bessel_i1e",
        ((-20.0, 20.0),),
        (-1e5, 1e5),
    ),
    Function(
        "polygamma",
        lambda n, x: mp.polygamma(int(n), x),
        scipy.special.polygamma,
        "polygamma",
        ((1.0, 6.0),),
        (0.5, 30.0),
        operands=2,
    ),
    Function("zeta", mp.zeta, scipy.special.zeta, "zeta", ((1.5, 12.0),), (1.2, 40.0), operands=2),
)


def samples(function: Function, dtype: Any, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    domain = [max(min(bound, float(info.max)), -float(info.max)) for bound in function.domain]
    kind = np.uint32 if dtype is np.float32 else np.uint64
    patterns = (
        rng.integers(0, 2 ** (8 * dtype(0).itemsize), count, dtype=np.uint64)
        .astype(kind)
        .view(dtype)
    )
    inside = (patterns >= domain[0]) & (patterns <= domain[1])
    pieces = [patterns[np.isfinite(patterns) & inside]]
    pieces += [rng.uniform(*interval, count).astype(dtype) for interval in function.ranges]
    edges = np.array(
        [0.0, info.smallest_subnormal, info.tiny, info.eps, 0.5, 1.0, 2.0, info.max], dtype
    )
    edges = np.concatenate([edges, -edges])
    pieces.append(edges[(edges >= domain[0]) & (edges <= domain[1])])
    result = np.concatenate(pieces)
    if function.name in ("polygamma", "zeta"):
        result = result[result > 0.0]
    if function.name in ("lgamma", "digamma", "atan2"):
        result = result[result != 0.0]
    return rng.permutation(result)


def operands(function: Function, dtype: Any, count: int) -> list[np.ndarray]:
    columns = [samples(function, dtype, count, seed) for seed in range(function.operands)]
    size = min(len(c) for c in columns)
    columns = [c[:size] for c in columns]
    if function.name == "polygamma":
        columns[0] = np.round(np.abs(columns[0]) % 5).astype(dtype)
    if function.name == "power":
        base, exponent = columns
        safe = np.abs(np.log2(np.maximum(base.astype(np.float64), 1e-320)))
        limit = (125 if dtype is np.float32 else 1000) / np.maximum(safe, 1e-3)
        signs = np.where(np.arange(size) % 2, 1.0, -1.0)
        columns[1] = (signs * (exponent.astype(np.float64) % limit)).astype(dtype)
    return columns


def reference(function: Function, columns: list[np.ndarray], dtype: Any) -> np.ndarray:
    """As f64 for f32, as long double for f64."""
    if dtype is np.float32:
        with np.errstate(all="ignore"):
            if function.name == "polygamma":
                return np.array(
                    [float(function.wide(int(n), float(x))) for n, x in zip(*columns, strict=True)]
                )
            return function.wide(*(c.astype(np.float64) for c in columns))
    results = np.empty(len(columns[0]), np.longdouble)
    for i, row in enumerate(zip(*columns, strict=True)):
        try:
            value = mpmath.mpmathify(function.exact(*(mp.mpf(float(x)) for x in row)))
            value = mp.re(value)
            high = float(value)
            results[i] = (
                np.longdouble(high) + np.longdouble(float(value - high))
                if np.isfinite(high)
                else high
            )
        except (ValueError, ZeroDivisionError, OverflowError):
            results[i] = np.nan
    return results


def ulps(actual: np.ndarray, expected: np.ndarray, dtype: Any) -> np.ndarray:
    """The error in units of the last place of the expected value; infinite where a special value is
    missed.
    """
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        wide = actual.astype(expected.dtype)
        rounded = expected.astype(dtype)
        _, exponent = np.frexp(np.abs(expected))
        unit = np.ldexp(expected.dtype.type(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
        error = np.abs(wide - expected) / unit
        special = ~np.isfinite(rounded) | ~np.isfinite(actual)
        agree = (rounded == actual) | (np.isnan(rounded) & np.isnan(actual))
        return np.where(special, np.where(agree, 0.0, INF), error).astype(np.float64)


def _xla(function: Function, columns: list[np.ndarray]) -> np.ndarray:
    import jax

    jax.config.update("jax_enable_x64", True)
    place = jax.lax if hasattr(jax.lax, function.xla) else jax.lax.lax
    callable_: Any = getattr(place, function.xla)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(jax.jit(callable_)(*columns))


def _normal(columns: list[np.ndarray], expected: np.ndarray, dtype: Any) -> np.ndarray:
    """Where operands and result are zero or normal numbers: XLA:CPU is measured there only."""
    tiny = np.finfo(dtype).tiny
    keep = np.ones(len(expected), bool)
    for column in (*columns, expected):
        keep &= ~((np.abs(column) < tiny) & (column != 0))
    return keep


def _summary(errors: np.ndarray, columns: list[np.ndarray]) -> tuple[str, str]:
    finite = errors[np.isfinite(errors)]
    missed = int(np.sum(~np.isfinite(errors)))
    worst = int(np.argmax(np.where(np.isfinite(errors), errors, -1)))
    if missed:
        worst = int(np.flatnonzero(~np.isfinite(errors))[0])
    place = ", ".join(f"{c[worst]:.9g}" for c in columns)
    return f"{finite.max():.2f}" + (f" ({missed} special values differ)" if missed else ""), place


# Computed in f64 and rounded, as their references are, which are no better there.
NOT_SWEPT = ("lgamma", "digamma", "bessel_i1e")
BLOCK = 1 << 22


def sweep(function: Function, call: Callable[[np.ndarray], np.ndarray], step: int) -> str:
    """The largest error over every `step`-th float of all, where the function is defined."""
    low, high = function.domain
    worst = 0.0
    for first in range(0, 1 << 32, BLOCK * step):
        patterns = np.arange(first, min(first + BLOCK * step, 1 << 32), step, dtype=np.uint64)
        x = patterns.astype(np.uint32).view(np.float32)
        x = x[(x >= low) & (x <= high)]
        if x.size:
            errors = ulps(call(x), reference(function, [x], np.float32), np.float32)
            worst = max(worst, float(errors.max()))
    return f"{worst:.2f}"


def _swept(step: int) -> str:
    if not step:
        return ""
    number = "every float" if step == 1 else f"every {step}th float"
    return f"The fourth column is over {number} (`--sweep {step}`).\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--count", type=int, default=20000, help="samples of each kind on f32; a tenth on f64"
    )
    parser.add_argument("--only", action="append", help="measure this op only; may be repeated")
    parser.add_argument(
        "--type", choices=["f32", "f64"], action="append", help="measure this type only"
    )
    parser.add_argument("--no-xla", action="store_true", help="leave XLA's column empty")
    parser.add_argument(
        "--sweep", type=int, default=0, help="measure every so-manieth of all f32 numbers as well"
    )
    parser.add_argument("--write", action="store_true", help="write docs/ulp.md")
    arguments = parser.parse_args()
    chosen = [f for f in FUNCTIONS if not arguments.only or f.name in arguments.only]
    rows: list[str] = []
    for name, dtype in (("f32", np.float32), ("f64", np.float64)):
        if arguments.type and name not in arguments.type:
            continue
        compiled = Compiled([Signature(f.name, (name,) * f.operands, name, 16) for f in chosen])
        for index, function in enumerate(chosen):
            count = arguments.count if dtype is np.float32 else arguments.count // 10
            columns = operands(function, dtype, count)
            expected = reference(function, columns, dtype)
            ours, place = _summary(ulps(compiled.call(index, *columns), expected, dtype), columns)
            xla = ""
            if not arguments.no_xla:
                errors = ulps(_xla(function, columns), expected, dtype)
                xla = _summary(np.where(_normal(columns, expected, dtype), errors, 0.0), columns)[0]
            all_floats = ""
            swept = function.operands == 1 and function.name not in NOT_SWEPT
            if arguments.sweep and swept and dtype is np.float32:
                call = functools.partial(compiled.call, index)
                all_floats = sweep(function, call, arguments.sweep)
            rows.append(f"| {function.name} | {name} | {ours} | {all_floats} | {xla} | {place} |")
            print(rows[-1], flush=True)
    if arguments.write:
        head = (
            "# Accuracy of the elementwise functions\n\n"
            "Largest error in units in the last place over random bit patterns, uniform samples\n"
            "and edges, written by `python benchmarks/ulp.py --write`. A special value differs\n"
            "where one of the results is infinite or NaN and they are not equal. XLA:CPU flushes\n"
            "subnormal numbers to zero; its column leaves them out, ours does not.\n"
            f"{_swept(arguments.sweep)}\n"
            "| op | type | ours | ours, all floats | XLA:CPU | our worst operand |\n"
            "|---|---|---|---|---|---|\n"
        )
        (ROOT / "docs" / "ulp.md").write_text(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
