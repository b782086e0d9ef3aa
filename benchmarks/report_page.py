"""Figures of the benchmark programs for people: lines for the terminal, docs/benchmarks.md."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from outside_peers import NAMES, NO_PYTHON

MEGABYTE = 1e6
NOISY_SPREAD = 0.1
NOISY_LOAD = 0.5  # of a processor, by others, when the run begins

_HEADING = """# Benchmarks
Written by `make bench`. Real programs, emitted by JAX from public packages; XLA:CPU (jax 0.10.2)
runs beside us in the same process, and PyTorch (eager and `torch.compile`) and IREE beside it in
processes of their own, run by run in alternation, each after a pause in which the threads of the
one before go to sleep; medians are compared. x is a peer's time / ours:
more than 1 is faster than the peer. PyTorch runs models of the same shapes with weights of its own
(benchmarks/peers/torch_models.py). A result matches at 1e-4 relative for f32, exactly for integers;
ill-conditioned elements are those on which XLA itself moves as far when its arguments change in the
last bits (hlo/driver/comparison.py). Donated arguments are donated to us and to XLA.

Compile: seconds from text to a program that can be called, cold and (in milliseconds) from the
compilation cache. GFLOP/s and GB/s count what our kernels compute, read and write. Arena is our
scratch memory, temp is XLA's; peak is arguments + results - what they share + that. MB = 1e6.

`make bench-peers` installs PyTorch and IREE, in an environment of their own; `PEERS=FOLDER make
bench` uses another. `make bench-check` measures again and fails if a ratio fell by more than a
tenth and the noise of both runs, or if kernels, arena or matching results got worse
(benchmarks/compare.py).
"""
_COLUMNS = (
    "program",
    "ours ms",
    "XLA ms",
    "x XLA",
    *(f"x {name}" for name in NAMES),
    "GFLOP/s",
    "GB/s",
    "compile s",
    "cached ms",
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


def report_matches(report: dict[str, Any]) -> bool:
    """Whether the program ran and every result matched XLA's."""
    return "error" not in report and report["mismatches"] == 0


def ratio_of(report: dict[str, Any], peer: str) -> float | None:
    """A peer's time / ours; None where it has none."""
    found = report["peer"] if peer == "xla" else report.get("others", {}).get(peer)
    return None if found is None else found["run_ms"] / report["run_ms"]


def peak_bytes(report: dict[str, Any]) -> int:
    """Our bytes at the peak: arguments, results and arena, what is shared counted once."""
    outside = report["argument_bytes"] + report["result_bytes"] - report["alias_bytes"]
    return outside + report["arena_bytes"]


def line_of(report: dict[str, Any]) -> str:
    """One line for the terminal."""
    if "error" in report:
        return f"{report['name']:18} FAILS: {report['error'][:160]}"
    peer = report["peer"]
    others = "".join(
        f"  {name} x{ratio:.2f}" for name in NAMES if (ratio := ratio_of(report, name)) is not None
    )
    return (
        f"{report['name']:18} {report['run_ms']:10.3f} ms  xla x{ratio_of(report, 'xla'):.2f}"
        f"{others}  compile {report['compile_s']:.2f} s, cached "
        f"{1e3 * report['cached_compile_s']:.1f} ms, xla {peer['compile_s']:.2f} s  "
        f"kernels {report['kernels']}  arena {report['arena_bytes'] / MEGABYTE:.2f} MB  "
        f"{_verdict(report)}"
    )


def markdown(figures: dict[str, Any]) -> str:
    """The page docs/benchmarks.md."""
    reports: list[dict[str, Any]] = figures["programs"]
    rows = "".join(_row(report) for report in reports)
    warnings = "".join(f"- {warning}\n" for warning in noise_warnings(figures))
    return (
        f"{_HEADING}\nMachine: {figures['machine']['text']}\n\n"
        f"{f'The machine was not quiet:{chr(10)}{warnings}{chr(10)}' if warnings else ''}"
        f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n{rows}\n{summary(reports)}\n"
        f"{_absent(reports)}"
    )


def summary(reports: Sequence[dict[str, Any]]) -> str:
    """How many match, and geometric means of the ratios over those that ran."""
    ran = [report for report in reports if "error" not in report]
    matching = sum(report_matches(report) for report in reports)
    parts = [f"XLA, running {_mean(ran, lambda r: ratio_of(r, 'xla'))}"]
    parts += [
        f"{name}, running {_mean(ran, lambda r, name=name: ratio_of(r, name))}" for name in NAMES
    ]
    cold = _mean(ran, lambda r: r["peer"]["compile_s"] / r["compile_s"])
    cached = _mean(ran, lambda r: r["peer"]["compile_s"] / r["cached_compile_s"])
    parts.append(f"XLA, compiling cold {cold}, from the cache {cached}")
    return (
        f"{matching} of {len(reports)} programs match XLA. Geometric means of a peer's time / "
        f"ours: {'; '.join(parts)}."
    )


def noise_warnings(figures: dict[str, Any]) -> list[str]:
    """Reasons not to trust the figures: others used the machine, or times vary."""
    found: list[str] = []
    load = figures["machine"]["load"]
    if load > NOISY_LOAD:
        found.append(f"the load average was {load:.1f} before the run, so others took processors")
    noisy = [
        f"{report['name']} ({report['spread']:.0%})"
        for report in figures.get("programs", [])
        if "error" not in report and report["spread"] > NOISY_SPREAD
    ]
    if noisy:
        found.append(
            f"half of the times lie further apart than {NOISY_SPREAD:.0%} of the median: "
            + ", ".join(noisy)
        )
    return found


def machine() -> dict[str, Any]:
    """The machine and the day, for the record: a text, and the load average."""
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
    processors = len(os.sched_getaffinity(0))
    return {
        "text": f"{model}, {processors} CPUs, load {load:.1f}, {day}",
        "load": load,
        "processors": processors,
    }


def _mean(
    reports: Sequence[dict[str, Any]], ratio: Callable[[dict[str, Any]], float | None]
) -> str:
    ratios = [found for report in reports if (found := ratio(report)) is not None]
    if not ratios:
        return "-"
    mean = math.exp(sum(math.log(found) for found in ratios) / len(ratios))
    return f"{mean:.2f} ({len(ratios)} programs)"


def _absent(reports: Sequence[dict[str, Any]]) -> str:
    """Why peers have no time: one line a peer and reason."""
    programs: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        for name, reason in report.get("absent", {}).items():
            programs.setdefault((name, reason), []).append(report["name"])
    lines = [
        f"- {name}: {reason}" + ("" if reason == NO_PYTHON else f" ({', '.join(which)})")
        for (name, reason), which in sorted(programs.items())
    ]
    return "\nPeers without a time:\n" + "\n".join(lines) + "\n" if lines else ""


def _verdict(report: dict[str, Any]) -> str:
    if report["mismatches"]:
        return f"{report['mismatches']} of {report['elements']} DIFFER"
    noise = report["ill_conditioned"]
    return f"match ({noise} ill-conditioned)" if noise else "match"


def _row(report: dict[str, Any]) -> str:
    if "error" in report:
        reason = report["error"].replace("|", "\\|").replace("\n", " ")[:200]
        blanks = " |" * (len(_COLUMNS) - 2)
        return f"| {report['name']} |{blanks} {reason} |\n"
    peer = report["peer"]
    error = report["max_rel_err"]
    ratios = [ratio_of(report, name) for name in ("xla", *NAMES)]
    cells = [
        report["name"],
        f"{report['run_ms']:.3g}",
        f"{peer['run_ms']:.3g}",
        *("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
        f"{report['gflops']:.3g}",
        f"{report['gbytes_s']:.3g}",
        f"{report['compile_s']:.2f}",
        f"{1e3 * report['cached_compile_s']:.1f}",
        f"{peer['compile_s']:.2f}",
        str(report["kernels"]),
        str(peer["kernels"]),
        f"{report['arena_bytes'] / MEGABYTE:.3g}",
        f"{peer['temp_bytes'] / MEGABYTE:.3g}",
        f"{peak_bytes(report) / MEGABYTE:.4g}",
        f"{peer['peak_bytes'] / MEGABYTE:.4g}" if "peak_bytes" in peer else "-",
        "-" if error is None else f"{error:.1e}",
        _verdict(report),
    ]
    return "| " + " | ".join(cells) + " |\n"
