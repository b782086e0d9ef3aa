"""Micro-benchmarks: one operation or small fusion each, ours beside jax (and torch where it is
installed), against the machine's own limits; writes docs/benchmark_micro.md and JSON.

python benchmarks/micro.py [PATTERN ...] [--threads=N] [--cpu-time]

The runs of all sides alternate; figures are medians. `--cpu-time` binds the process to one
processor and counts processor time, which other work on the machine changes less than wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
from micro_cases import Case, cases
from micro_model_cases import model_cases
from micro_numeric_cases import numeric_cases
from micro_table_cases import table_cases
from report_page import machine
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
    torch_of,
)

ROOT = Path(__file__).resolve().parent.parent
HEADING = "# Micro-benchmarks"
TOLERANCE = 2e-5


@dataclass(frozen=True)
class Figure:
    """Medians of one case, in microseconds; `torch_us` is None where torch did not run."""

    group: str
    name: str
    ours_us: float
    jax_us: float
    torch_us: float | None
    gigabytes_a_second: float | None
    of_limit: float | None
    error: float

    @property
    def ratio(self) -> float:
        return self.jax_us / self.ours_us


FROM_MEMORY = 1 << 26
"""Bytes from which on a case is held against the bandwidth of memory."""
ELEMENTS = 1 << 25  # of the sum and the copy that measure it


@dataclass(frozen=True)
class Limits:
    """What memory gives the simplest kernels: a sum, which reads, and a copy, which also writes.

    Attributes:
        read, copy: runs of them, timed in turn with a case.
    """

    read: Run
    copy: Run

    def of(self, case: Case, argument_bytes: int) -> tuple[Run, int] | None:
        """The run that a case is compared with, and the bytes it moves; None in the caches."""
        if not case.bandwidth or case.moved < FROM_MEMORY:
            return None
        reads = case.moved < 2 * argument_bytes
        return (self.read, 4 * ELEMENTS) if reads else (self.copy, 8 * ELEMENTS)


def main() -> int:
    args = _parser().parse_args()
    clock = clock_of(args)
    import jax

    before = machine()
    every = (*cases(), *model_cases(), *table_cases(), *numeric_cases())
    chosen = [case for case in every if is_chosen(case.name, args.patterns)]
    limits = limits_of(args.threads)
    figures: list[Figure] = []
    for case in chosen:
        figures.append(measure(case, jax, clock, args, limits))
        print(line_of(figures[-1]), flush=True)
    overhead = [] if args.patterns else call_overheads(clock, args.rounds)
    for figure in overhead:
        print(line_of(figure))
    figures += overhead
    if args.patterns:
        return 0
    args.json.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "machine": before,
        "cases": [asdict(figure) for figure in figures],
    }
    args.json.write_text(json.dumps(record, indent=1) + "\n")
    if args.markdown is not None:
        counts = f"{counted(args)} ({before['text']})"
        args.markdown.write_text(page(figures, counts))
    return 0


def measure(case: Case, jax: Any, clock: Clock, args: Any, limits: Limits) -> Figure:
    """Compiles a case for every side, compares the results, and times them."""
    from hlo.driver.compile import compile as compile_program

    arguments = case.arguments()
    jitted = jax.jit(lambda *a: case.function(jax, *a))
    lowered = jitted.lower(*arguments)
    compiled = compile_program(lowered.as_text(), threads=args.threads)
    executable, on_device = lowered.compile(), [jax.device_put(a) for a in arguments]
    expected = jax.tree.leaves(executable(*on_device))
    found = compiled(*arguments)
    error = max(_error(f, np.asarray(e)) for f, e in zip(found, expected, strict=True))
    if not error <= TOLERANCE:
        print(f"{case.name}: results differ from jax's by {error:.2g}", file=sys.stderr)
    runs: list[Run] = [
        lambda: compiled(*arguments),
        lambda: jax.block_until_ready(executable(*on_device)),
    ]
    if (limit := limits.of(case, sum(a.nbytes for a in arguments))) is not None:
        runs.append(limit[0])
    if (torch_run := _torch_run(case, arguments, args.threads)) is not None:
        runs.append(torch_run)
    seconds = time_in_turn(runs, clock, args.rounds)
    rate = case.moved / seconds[0] / 1e9
    return Figure(
        case.group,
        case.name,
        1e6 * seconds[0],
        1e6 * seconds[1],
        1e6 * seconds[-1] if torch_run is not None else None,
        rate if case.bandwidth else None,
        None if limit is None else rate * 1e9 * seconds[2] / limit[1],
        error,
    )


def limits_of(threads: int) -> Limits:
    """Our own simplest kernels, or NumPy's functions where those are faster."""
    from hlo.driver.compile import compile as compile_program

    x, out = np.ones(ELEMENTS, np.float32), np.empty(ELEMENTS, np.float32)
    total, copy = (
        compile_program(text.replace("N", str(ELEMENTS)), threads=threads)
        for text in (_SUM_PROGRAM, _COPY_PROGRAM)
    )
    choices: list[tuple[Run, Run]] = [
        (lambda: total(x), x.sum),
        (lambda: copy(x), lambda: np.copyto(out, x)),
    ]
    faster: list[Run] = []
    for ours, numpys in choices:
        own, other = time_in_turn([ours, numpys], time.perf_counter, 9)
        faster.append(ours if own <= other else numpys)
    return Limits(*faster)


_SUM_PROGRAM = """func.func @main(%x: tensor<Nxf32>) -> tensor<f32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0] : (tensor<Nxf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}"""  # noqa: E501
_COPY_PROGRAM = """func.func @main(%x: tensor<Nxf32>) -> tensor<Nxf32> {
  %0 = stablehlo.negate %x : tensor<Nxf32>
  return %0 : tensor<Nxf32>
}"""


def call_overheads(clock: Clock, rounds: int) -> list[Figure]:
    """Calls of jitted functions on tiny arrays, through the public faces of both."""
    import jax

    import hlo

    def add(x: Any) -> Any:
        return x + 1

    def add_many(*xs: Any) -> Any:
        return [x + 1 for x in xs]

    figures: list[Figure] = []
    x = np.ones(8, np.float32)
    for name, function, count in (("1 array", add, 1), ("10 arrays", add_many, 10)):
        ours, theirs = hlo.jit(function), jax.jit(function)
        xs, ys = [x] * count, [jax.device_put(x)] * count
        runs: list[Run] = [
            lambda ours=ours, xs=xs: ours(*xs),
            lambda theirs=theirs, ys=ys: jax.block_until_ready(theirs(*ys)),
        ]
        own, peer = time_in_turn(runs, clock, 10 * rounds)
        figures.append(
            Figure(
                "call overhead", f"x + 1, {name} of 8", 1e6 * own, 1e6 * peer, None, None, None, 0
            )
        )
    return figures


def _torch_run(case: Case, arguments: Sequence[Any], threads: int) -> Run | None:
    """The case in eager torch, if that is installed and has the operation."""
    torch = None if case.torch is None else torch_of(threads)
    if torch is None:
        return None
    tensors = [torch.from_numpy(a) for a in arguments]
    function = case.torch
    return lambda: function(torch, *tensors)


def _error(found: Any, expected: Any) -> float:
    """Largest difference, relative to the largest magnitude, NaN where only one side has it."""
    if found.size == 0 or found.dtype.kind in "iub":
        return float(np.any(found != expected))
    left, right = found.astype(np.float64), expected.astype(np.float64)
    scale = float(np.max(np.abs(right), initial=1e-30))
    narrow = 2**-8 if found.dtype.itemsize == 2 else 1.0  # a last bit is allowed
    return float(np.max(np.abs(left - right))) / scale * (narrow if narrow < 1 else 1)


def line_of(figure: Figure) -> str:
    """One line for the terminal."""
    rate = "" if figure.gigabytes_a_second is None else f"{figure.gigabytes_a_second:7.1f} GB/s"
    part = "" if figure.of_limit is None else f" {100 * figure.of_limit:4.0f}%"
    torch = "" if figure.torch_us is None else f" torch {figure.torch_us / figure.ours_us:6.2f}"
    return (
        f"{figure.name:40} {figure.ours_us:11.1f} us  jax {figure.jax_us:11.1f} us "
        f"x {figure.ratio:7.2f}{torch} {rate}{part}"
    )


def page(figures: Sequence[Figure], clock: str) -> str:
    """The page docs/benchmark_micro.md; `clock` says in words what the times are."""
    mean = geometric_mean(figure.ratio for figure in figures)
    behind = [figure.name for figure in figures if figure.ratio < 1]
    behind_torch = [f.name for f in figures if f.torch_us is not None and f.torch_us < f.ours_us]
    lines = [
        HEADING,
        "Written by `benchmarks/micro.py`: one operation or a small fusion each, f32 unless said, "
        f"runs alternating, medians, {clock}.",
        "x is the peer's time / ours. Limit is the share of the bandwidth that a sum, or a copy "
        "where as much is written,",
        "reaches in alternation with the case, for what does not fit in the caches.",
        "",
        f"Geometric mean of jax's time / ours: {mean:.2f}. Behind jax: {names_of(behind)}. "
        f"Behind torch: {names_of(behind_torch)}.",
        "",
        "| case | ours us | jax us | x jax | x torch | GB/s | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for figure in figures:
        torch = "" if figure.torch_us is None else f"{figure.torch_us / figure.ours_us:.2f}"
        rate = "" if figure.gigabytes_a_second is None else f"{figure.gigabytes_a_second:.1f}"
        part = "" if figure.of_limit is None else f"{100 * figure.of_limit:.0f}%"
        lines.append(
            f"| {figure.name} | {figure.ours_us:.3g} | {figure.jax_us:.3g} | {figure.ratio:.2f} "
            f"| {torch} | {rate} | {part} |"
        )
    return "\n".join(lines) + "\n"


def _path_or_none(text: str) -> Path | None:
    return Path(text) if text else None


def _parser() -> argparse.ArgumentParser:
    made = parser(__doc__)
    made.add_argument("--json", type=Path, default=ROOT / "docs" / "benchmark_micro.json")
    made.add_argument(
        "--markdown", type=_path_or_none, default=ROOT / "docs" / "benchmark_micro.md"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
