"""`make bench`: every program of the benchmark set, ours beside XLA:CPU; writes docs/benchmarks.md
and a JSON file.

Each program is measured in a process of its own (harness.py), so one that crashes or runs too long
is a line in the table. The programs are not part of this repository: `--programs` names their
folder."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HARNESS = Path(__file__).resolve().parent / "harness.py"
DEFAULT_PROGRAMS = ROOT.parent / "shared" / "programs"
MEGABYTE = 1e6
MICRO_HEADING = "## Micro-benchmarks"

_HEADING = """# Benchmarks
Written by `make bench`. Real programs, emitted by JAX from public packages; XLA:CPU (jax 0.10.2)
runs beside us in the same process, run by run in alternation, and medians are compared. x is XLA's
time / ours: more than 1 is faster than XLA. A result matches at 1e-4 relative for f32, exactly for
integers; ill-conditioned elements are those on which XLA itself moves as far when its arguments
change in the last bits (hlo/driver/comparison.py). Donated arguments are donated to both. Arena is
our scratch memory, temp is XLA's; peak is arguments + results - what they share + that. MB = 1e6.
"""
_COLUMNS = (
    "program",
    "ours ms",
    "XLA ms",
    "x",
    "compile s",
    "XLA compile s",
    "kernels",
    "XLA kernels",
    "arena MB",
    "XLA temp MB",
    "peak MB",
    "XLA peak MB",
    "largest rel. error",
    "results",
)


def main() -> int:
    args = _parser().parse_args()
    names = args.names or program_names(args.programs)
    if not names:
        sys.stderr.write(f"no programs in {args.programs}: give their folder with --programs=DIR\n")
        return 2
    reports: list[dict[str, Any]] = []
    for name in names:
        reports.append(measured(name, args.programs, args.timeout))
        print(line_of(reports[-1]), flush=True)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps({"machine": machine(), "programs": reports}, indent=1) + "\n")
    if not args.names:
        args.markdown.write_text(markdown(reports) + section_of(args.markdown))
    print(summary(reports))
    return 0 if all(report_matches(report) for report in reports) else 1


def program_names(folder: Path) -> list[str]:
    """The programs of a folder: those with both a .mlir and a .json file."""
    return sorted(path.stem for path in folder.glob("*.mlir") if path.with_suffix(".json").exists())


def measured(name: str, folder: Path, timeout: float) -> dict[str, Any]:
    """The report of one program, or `{"name", "error"}`."""
    command = [sys.executable, str(HARNESS), f"--programs={folder}", name]
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"not finished after {timeout:.0f} s"}
    try:
        return json.loads(finished.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = finished.stderr.strip().splitlines()[-1:] or ["no output"]
        return {"name": name, "error": f"exit status {finished.returncode}: {last[0]}"}


def report_matches(report: dict[str, Any]) -> bool:
    """Whether the program ran and every result matched XLA's."""
    return "error" not in report and report["mismatches"] == 0


def line_of(report: dict[str, Any]) -> str:
    """One line for the terminal."""
    if "error" in report:
        return f"{report['name']:18} FAILS: {report['error'][:160]}"
    peer = report["peer"]
    verdict = _verdict(report)
    return (
        f"{report['name']:18} {report['run_ms']:10.3f} ms  xla {peer['run_ms']:10.3f} ms  "
        f"x{peer['run_ms'] / report['run_ms']:.2f}  compile {report['compile_s']:.2f} / "
        f"{peer['compile_s']:.2f} s  "
        f"kernels {report['kernels']}  arena {report['arena_bytes'] / MEGABYTE:.2f} MB  {verdict}"
    )


def markdown(reports: Sequence[dict[str, Any]]) -> str:
    """The page docs/benchmarks.md."""
    rows = "".join(_row(report) for report in reports)
    return (
        f"{_HEADING}\nMachine: {machine()}\n\n"
        f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n{rows}\n{summary(reports)}\n"
    )


def section_of(page: Path) -> str:
    """The section that micro.py wrote at the end of the page, to be kept; empty if there is none.

    Raises:
        OSError: the page cannot be read.
    """
    if not page.exists():
        return ""
    _, heading, section = page.read_text().partition(MICRO_HEADING)
    return f"\n{heading}{section}" if heading else ""


def summary(reports: Sequence[dict[str, Any]]) -> str:
    """How many match, and geometric means of the ratios over those that ran."""
    ran = [report for report in reports if "error" not in report]
    matching = sum(report_matches(report) for report in reports)

    def mean(ratio: Callable[[dict[str, Any]], float]) -> str:
        logarithms = [math.log(ratio(report)) for report in ran]
        return f"{math.exp(sum(logarithms) / len(logarithms)):.2f}" if logarithms else "-"

    run_ratio = mean(lambda report: report["peer"]["run_ms"] / report["run_ms"])
    compile_ratio = mean(lambda report: report["peer"]["compile_s"] / report["compile_s"])
    return (
        f"{matching} of {len(reports)} programs match XLA. Geometric mean of XLA's time / ours: "
        f"running {run_ratio}, "
        f"compiling {compile_ratio}."
    )


def machine() -> str:
    """The machine and the day, for the record."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        pass
    day = time.strftime("%Y-%m-%d", time.gmtime())
    load = os.getloadavg()[0]
    return f"{model}, {len(os.sched_getaffinity(0))} CPUs, load {load:.1f}, {day}"


def _verdict(report: dict[str, Any]) -> str:
    if report["mismatches"]:
        return f"{report['mismatches']} of {report['elements']} DIFFER"
    noise = report["ill_conditioned"]
    return f"match ({noise} ill-conditioned)" if noise else "match"


def _row(report: dict[str, Any]) -> str:
    if "error" in report:
        reason = report["error"].replace("|", "\\|").replace("\n", " ")[:200]
        return f"| {report['name']} | | | | | | | | | | | {reason} |\n"
    peer = report["peer"]
    error = report["max_rel_err"]
    cells = [
        report["name"],
        f"{report['run_ms']:.3g}",
        f"{peer['run_ms']:.3g}",
        f"{peer['run_ms'] / report['run_ms']:.2f}",
        f"{report['compile_s']:.2f}",
        f"{peer['compile_s']:.2f}",
        str(report["kernels"]),
        str(peer["kernels"]),
        f"{report['arena_bytes'] / MEGABYTE:.3g}",
        f"{peer['temp_bytes'] / MEGABYTE:.3g}",
        f"{_peak(report) / MEGABYTE:.4g}",
        f"{peer['peak_bytes'] / MEGABYTE:.4g}",
        "-" if error is None else f"{error:.1e}",
        _verdict(report),
    ]
    return "| " + " | ".join(cells) + " |\n"


def _peak(report: dict[str, Any]) -> int:
    """Our bytes at the peak: arguments, results and arena, what is shared counted once."""
    outside = report["argument_bytes"] + report["result_bytes"] - report["alias_bytes"]
    return outside + report["arena_bytes"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Measures the benchmark programs, ours beside XLA:CPU."
    )
    parser.add_argument("names", nargs="*", help="programs to measure; all by default")
    parser.add_argument(
        "--programs", type=Path, default=DEFAULT_PROGRAMS, help="the folder of the programs"
    )
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a program may take")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "out" / "benchmarks.json", help="where figures go"
    )
    parser.add_argument(
        "--markdown", type=Path, default=ROOT / "docs" / "benchmarks.md", help="the page to write"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
