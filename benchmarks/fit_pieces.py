"""Fits the piecewise polynomials of passes/hlo_to_loops/elementwise/piece_tables.py and rewrites
that file. Needs mpmath.

    python benchmarks/fit_pieces.py

A function of 0 <= x <= top is cut where x + bias passes a multiple of a quarter of a power of two,
so that three bits of the significand and the exponent of that sum number the pieces, of which there
are at most 16. On each, f(x) = f(c) + (x - c) q(x - c), with q the Chebyshev interpolant. The
centre c is an `f32` number near the middle at which f(c) is one to within a small part of its unit
(Gal, "Computing elementary functions", 1986): the sum is then the only rounding that counts. On the
first piece of an odd function c is 0 and f(x) = x + x q(x).

A function of both signs has 32 pieces of equal width, of which the centres lie where it decreases
to: what is added to f(c) is then no larger than the sum. Where it is to reach its limits, the
centres of the outermost pieces are their ends, and f(c) is the limit.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fit_coefficients import chebyshev, erfcx, monomials, rounded, safe
from mpmath import mp, mpf

ELEMENTWISE = Path(__file__).parents[1] / "passes" / "hlo_to_loops" / "elementwise"
OUTPUT = ELEMENTWISE / "piece_tables.py"
PIECES = 16
TERMS = 6  # of q
EVEN_PIECES = 32
WIDTH = 88  # characters of a line of coefficients


@dataclass(frozen=True)
class Case:
    """A function to cut in pieces: see the head of the file."""

    name: str
    function: Callable[[Any], Any]
    bias: float
    top: float
    odd: bool = False


CASES = (
    Case("TANH", mp.tanh, 0.75, 9.5, odd=True),
    Case("ERF", mp.erf, 0.5, 4.0, odd=True),
    Case("ERFCX", erfcx, 1.0, 10.2),
)


@dataclass(frozen=True)
class EvenCase:
    """A function whose pieces lie around multiples of 1 / `per_unit`, 16 of them below 0; `low` is
    where it begins to be constant, `high` up to where its pieces are close enough.

    Attributes:
        terms: of q.
        place: of the centre in a piece.
        limits: below `low` and above `high`, if the function is to reach them there.
    """

    name: str
    function: Callable[[Any], Any]
    per_unit: int
    low: float
    high: float
    terms: int
    place: float
    limits: tuple[float, float] | None = None


def gelu_factor(x: Any) -> Any:
    """1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))."""
    return 1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3))


def one_plus_erf(x: Any) -> Any:
    return 1 + mp.erf(x)


EVEN_CASES = (
    EvenCase("ERFC", mp.erfc, 4, -4.0, 3.375, terms=7, place=0.8),
    EvenCase(
        "GELU_FACTOR", gelu_factor, 3, -5.4375, 5.15625, terms=5, place=0.2, limits=(0.0, 2.0)
    ),
    EvenCase(
        "ONE_PLUS_ERF", one_plus_erf, 4, -4.0, 3.859375, terms=5, place=0.2, limits=(0.0, 2.0)
    ),
)


def intervals(bias: float, top: float) -> list[tuple[Any, Any]]:
    """The pieces of [0, top]."""
    found: list[tuple[Any, Any]] = []
    low, edge, step = mpf(0), mpf(bias), mpf(2) ** (mp.floor(mp.log(bias, 2)) - 2)
    while low < top:
        edge += step
        if edge >= 8 * step:
            step *= 2
        found.append((low, min(edge - bias, mpf(top))))
        low = edge - bias
    return found


def centre(
    function: Callable[[Any], Any], low: Any, high: Any, place: float = 0.5
) -> tuple[float, float]:
    """(c, f(c)), both `f32`: of 600 numbers around that place, the one that rounds f(c) least."""
    above = below = np.float32(low + (high - low) * place)
    found: list[tuple[Any, float, float]] = []
    for _ in range(300):
        for x in {float(above), float(below)}:
            value = function(mpf(x))
            held = float(np.float32(float(value)))
            found.append((abs(value - held), x, held))
        below, above = np.nextafter(below, np.float32(0)), np.nextafter(above, np.float32(99))
    return min(found)[1:]


def fitted(case: Case) -> list[list[float]]:
    """Of each piece: c, f(c), and the coefficients of q, lowest first."""
    rows: list[list[float]] = []
    for low, high in intervals(case.bias, case.top):
        if not rows and case.odd:
            at, held = 0.0, 0.0
            quotient = safe(lambda t: case.function(t) / t - 1)
        else:
            at, held = centre(case.function, low, high)
            start = case.function(mpf(at))
            quotient = safe(lambda t, at=at, start=start: (case.function(at + t) - start) / t)
        series = chebyshev(quotient, low - at, high - at, TERMS)
        rows.append([at, held, *rounded(monomials(series, low - at, high - at), "f32")])
        print(f"{case.name:6} {float(low):6} {error_bits(case, rows, low, high):6.1f} bits")
    return rows


def evenly_fitted(case: EvenCase) -> list[list[float]]:
    """As `fitted`, the piece around n / per_unit at place n mod 32."""
    found: dict[int, list[float]] = {}
    for n in range(-EVEN_PIECES // 2, EVEN_PIECES // 2):
        low, high = (mpf(2 * n + side) / (2 * case.per_unit) for side in (-1, 1))
        at, held = centre(case.function, low, high, case.place)
        if case.limits is not None and n == -EVEN_PIECES // 2:
            at, held = case.low, case.limits[0]
        elif case.limits is not None and n == EVEN_PIECES // 2 - 1:
            at, held = case.high, case.limits[1]
        start = case.function(mpf(at))
        quotient = safe(lambda t, at=at, start=start: (case.function(at + t) - start) / t)
        series = chebyshev(quotient, low - at, high - at, case.terms)
        row = [at, held, *rounded(monomials(series, low - at, high - at), "f32")]
        found[n % EVEN_PIECES] = row
        print(f"{case.name:6} {float(low):6} {error_bits(case, [row], low, high):6.1f} bits")
    return [found[place] for place in range(EVEN_PIECES)]


def error_bits(case: Case | EvenCase, rows: list[list[float]], low: Any, high: Any) -> float:
    """-log2 of the largest relative error of the last piece on a grid."""
    at, held, *terms = (mpf(v) for v in rows[-1])
    worst = mpf(0)
    for i in range(1, 100):
        x = low + (high - low) * i / 100
        odd = isinstance(case, Case) and case.odd
        start = x if odd and len(rows) == 1 else held
        actual = start + (x - at) * mp.polyval(terms[::-1], x - at)
        worst = max(worst, abs(actual / case.function(x) - 1))
    return float(-mp.log(worst, 2))


def rows_text(table: Iterable[Sequence[float]]) -> list[str]:
    """The last argument of a table, and its end."""
    lines = ["    rows=("]
    for row in table:
        listed = textwrap.wrap(", ".join(map(repr, row)), WIDTH, break_on_hyphens=False)
        lines += [f"        ({listed[0]}", *(f"         {line}" for line in listed[1:])]
        lines[-1] += "),"
    return [*lines, "    ),", ")  # fmt: skip"]


def main() -> None:
    lines = [
        '"""Piecewise polynomials of elementwise functions, written by benchmarks/fit_pieces.py,',
        "which says what they are.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from hlo.passes.hlo_to_loops.elementwise.pieces import EvenPieces, Pieces",
    ]
    for case in CASES:
        rows = fitted(case)
        # Piece by the bits of x + bias: those of the first may be any four.
        first = int(np.float32(case.bias).view(np.uint32)) >> 21
        table = [rows[-1]] * PIECES
        for i, row in enumerate(rows):
            table[(first + i) % PIECES] = row
        lines += ["", f"{case.name} = Pieces(", f"    bias={case.bias},", f"    top={case.top},"]
        if case.odd:
            lines.append(f"    first={float(intervals(case.bias, case.top)[0][1])},")
        lines += rows_text(table)
    for case in EVEN_CASES:
        lines += ["", f"{case.name} = EvenPieces(", f"    per_unit={float(case.per_unit)},"]
        lines += [f"    low={case.low},", f"    high={case.high},", *rows_text(evenly_fitted(case))]
    OUTPUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
