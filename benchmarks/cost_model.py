"""What the cost model foretells beside what kernels take; writes docs/cost_model.md.

python benchmarks/cost_model.py [--programs=DIR] [--runs=N] [--threads=N] [--details] [NAME...]

Every program runs with a clock around each kernel. Of each launch the fastest run counts, so that a
busy machine disturbs little.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hlo
from hlo.driver.arguments import from_specification
from hlo.driver.profile import KernelProfile

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PROGRAMS = ROOT.parent / "shared" / "programs"
PAGE = ROOT / "docs" / "cost_model.md"
LEAST = 1e-6  # seconds of a call: the clock itself takes some 50 ns
_HEADING = """# The cost model beside the clock
Written by `python benchmarks/cost_model.py`: the programs of docs/benchmarks.md on {threads}
thread(s), with a clock around each kernel; of {runs} runs the fastest one of each launch counts.
Kernels of at least a microsecond a call are compared: *rank* is Spearman's correlation between
estimated and measured times, *ratio* the estimated time / the measured one, as the median over
kernels with the quarters below and above it, *sum* that of all of them together. docs/fusion.md
says how times are estimated. The load average was {load:.1f}: where others use the machine too,
what moves most takes longest.

| program | kernels | measured ms | estimated ms | sum | rank | ratio | quarters |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Agreement:
    """How well estimates agree with times.

    Attributes:
        kernels: how many there are.
        measured, estimated: seconds of all of them in a run.
        rank: Spearman's rank correlation; NaN of fewer than three kernels.
        ratios: estimated / measured: the lower quarter, the median, the upper quarter.
    """

    kernels: int
    measured: float
    estimated: float
    rank: float
    ratios: tuple[float, float, float]


def agreement(pairs: Sequence[tuple[float, float, float]]) -> Agreement:
    """Args:
    pairs: of each kernel how often it is called, and measured and estimated seconds of a call.
    """
    measured, estimated = [m for _, m, _ in pairs], [e for _, _, e in pairs]
    ratios = sorted(e / m for _, m, e in pairs)
    if len(ratios) > 1:
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    else:
        low = middle = high = ratios[0] if ratios else math.nan
    return Agreement(
        len(pairs),
        sum(calls * m for calls, m, _ in pairs),
        sum(calls * e for calls, _, e in pairs),
        rank_correlation(measured, estimated),
        (low, middle, high),
    )


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's: the correlation of the places in order; NaN of fewer than three values."""
    places = _places(first), _places(second)
    if len(first) < 3 or any(len(set(p)) == 1 for p in places):
        return math.nan
    return statistics.correlation(*places)


def _places(values: Sequence[float]) -> list[float]:
    """The place of each value in order; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [(bisect_left(ordered, v) + bisect_right(ordered, v) - 1) / 2 for v in values]


def profiled(program: Path, threads: int, runs: int) -> list[KernelProfile]:
    """The kernels of a program that were compared."""
    arguments = from_specification(program.with_suffix(".json"))
    profile = hlo.compile(program, threads=threads).profile(*arguments, runs=runs)
    return [k for k in profile.kernels if k.estimated and k.least / k.calls >= LEAST]


def pairs_of(kernels: Sequence[KernelProfile]) -> list[tuple[float, float, float]]:
    """What `agreement` takes."""
    return [(k.calls, k.least / k.calls, k.estimated / k.calls) for k in kernels]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--programs", type=Path, default=DEFAULT_PROGRAMS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--details", action="store_true", help="print the kernels furthest off")
    args = parser.parse_args(argv)
    names = args.names or sorted(path.stem for path in args.programs.glob("*.mlir"))
    rows: list[str] = []
    all_pairs: list[tuple[float, float, float]] = []
    for name in names:
        kernels = profiled(args.programs / f"{name}.mlir", args.threads, args.runs)
        pairs = pairs_of(kernels)
        all_pairs += pairs
        rows.append(_row(name, agreement(pairs)))
        print(rows[-1], flush=True)
        if args.details:
            print(_details(kernels), flush=True)
    rows.append(_row("all", agreement(all_pairs)))
    print(rows[-1])
    if not args.names:
        heading = _HEADING.format(threads=args.threads, runs=args.runs, load=os.getloadavg()[0])
        PAGE.write_text(heading + "\n".join(rows) + "\n")
    return 0


def _row(name: str, found: Agreement) -> str:
    low, middle, high = found.ratios
    total = found.estimated / found.measured if found.measured else math.nan
    return (
        f"| {name} | {found.kernels} | {1e3 * found.measured:.3g} | {1e3 * found.estimated:.3g} | "
        f"{total:.2f} | {found.rank:.2f} | {middle:.2f} | {low:.2f} to {high:.2f} |"
    )


def _details(kernels: Sequence[KernelProfile], most: int = 5) -> str:
    """The kernels that are furthest off, in seconds."""
    far = sorted(kernels, key=lambda k: -abs(k.estimated - k.least))[:most]
    return "\n".join(
        f"    {1e6 * k.least / k.calls:10.2f} us, estimated {1e6 * k.estimated / k.calls:10.2f} "
        f"({k.bound}), {k.calls:g} calls: #{k.launches[0]} {k.name}"
        for k in far
    )


if __name__ == "__main__":
    sys.exit(main())
