"""Programs of loops with small bodies: ours beside jax; writes docs/benchmark_loops.md.

python benchmarks/loops.py [PATTERN ...] [--threads=N] [--cpu-time]

The runs of both sides alternate; figures are medians. `--cpu-time` binds the process to one
processor and counts processor time, which other work on the machine changes less than wall time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
from loop_cases import LoopCase, loop_cases
from timing import (
    Clock,
    Run,
    clock_of,
    counted,
    geometric_mean,
    is_chosen,
    names_of,
    parser,
    time_in_turn,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmark_loops.md"
TOLERANCE = 1e-3
_HEADING = """# Loops of small bodies
Written by `benchmarks/loops.py`: f32, runs alternating, medians, {counted}; iteration is a run's
time over the iterations of its innermost loops. x jax is jax's time / ours.

| case | ours us | ns an iteration | jax us | x jax |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Figure:
    """Medians of one case, in microseconds; `error` is relative to the largest magnitude."""

    name: str
    iterations: int
    ours_us: float
    jax_us: float
    error: float

    @property
    def ratio(self) -> float:
        return self.jax_us / self.ours_us


def main() -> int:
    args = parser(__doc__).parse_args()
    clock = clock_of(args)
    figures: list[Figure] = []
    for case in loop_cases():
        if is_chosen(case.name, args.patterns):
            figures.append(measure(case, clock, args))
            print(row_of(figures[-1]), flush=True)
    if not args.patterns:
        rows = "".join(row_of(figure) + "\n" for figure in figures)
        PAGE.write_text(_HEADING.format(counted=counted(args)) + rows + f"\n{summary(figures)}\n")
    print(summary(figures))
    return 0


def measure(case: LoopCase, clock: Clock, args: argparse.Namespace) -> Figure:
    """Compiles a case for both sides, compares the results, and times them."""
    import jax

    from hlo.driver.compile import compile as compile_program

    lowered = jax.jit(lambda *a: case.function(jax, *a)).lower(*case.arguments)
    compiled = compile_program(lowered.as_text(), threads=args.threads)
    executable, on_device = lowered.compile(), [jax.device_put(a) for a in case.arguments]
    expected = jax.tree.leaves(executable(*on_device))
    found = compiled(*case.arguments)
    error = max(_error(f, np.asarray(e)) for f, e in zip(found, expected, strict=True))
    if not error <= TOLERANCE:
        print(f"{case.name}: results differ from jax's by {error:.2g}", file=sys.stderr)
    runs: list[Run] = [
        lambda: compiled(*case.arguments),
        lambda: jax.block_until_ready(executable(*on_device)),
    ]
    ours, theirs = time_in_turn(runs, clock, args.rounds)
    return Figure(case.name, case.iterations, 1e6 * ours, 1e6 * theirs, error)


def _error(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    if found.dtype.kind in "iub":
        return float(np.any(found != expected))
    scale = float(np.max(np.abs(expected), initial=1e-30))
    return float(np.max(np.abs(found - expected), initial=0)) / scale


def row_of(figure: Figure) -> str:
    """A row of the table."""
    each = 1000 * figure.ours_us / figure.iterations
    return (
        f"| {figure.name} | {figure.ours_us:.3g} | {each:.3g} | {figure.jax_us:.3g} "
        f"| {figure.ratio:.2f} |"
    )


def summary(figures: Sequence[Figure]) -> str:
    """Means, and where jax is ahead."""
    ratios = [figure.ratio for figure in figures]
    behind = [figure.name for figure in figures if figure.ratio < 1]
    return (
        f"jax's time / ours: geometric mean {geometric_mean(ratios):.2f}, "
        f"median {statistics.median(ratios):.2f}. Behind jax: {names_of(behind)}."
    )


if __name__ == "__main__":
    sys.exit(main())
