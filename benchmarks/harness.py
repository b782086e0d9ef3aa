"""Measures one program of the benchmark set: ours, XLA:CPU and other peers in alternation.

    python benchmarks/harness.py --programs=DIR NAME      prints one JSON object

Ours and XLA run in this process; peers with a Python of their own (outside_peers.py) beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import outside_peers
from timing import PAUSE_SECONDS

from hlo import knobs
from hlo.diagnostics import CompileError
from hlo.driver.arguments import check_arguments, donations, entry_types, from_specification
from hlo.driver.comparison import Tolerance, compare_all
from hlo.driver.compile import Compiled
from hlo.driver.compile import compile as compile_program
from hlo.driver.peers import OwnRunner, Runner, XlaPeer, spreads
from hlo.importers import load_program

SECONDS_A_PROGRAM = 4.0
FEWEST_RUNS = 5
MOST_RUNS = 50
WARM_UP_RUNS = 2
CACHED_COMPILATIONS = 5
SHORT = 0.01  # seconds of a run that is short beside what waking its threads takes

Timed = Callable[[], float]


def measure(
    name: str, folder: Path, peers: Sequence[str] = (), peer_python: Path | None = None
) -> dict[str, Any]:
    """Compiles, checks and times a program.

    Args:
        peers: other peers than XLA; those that are not there get a reason for a time.
        peer_python: their interpreter.

    Returns:
        The keys of `hlo-run --json`, and more; see docs/benchmarks.md.
    """
    file = folder / f"{name}.mlir"
    program = file.read_bytes()
    module = load_program(program)
    arguments = check_arguments(from_specification(folder / f"{name}.json"), entry_types(module))
    donated = donations(module)

    compiled, compile_s, cached_s = _compiled(program)
    own = OwnRunner(compiled, arguments, donated)
    peer = XlaPeer(program, arguments, donated)

    found, expected = own.results(), peer.results()
    comparisons = compare_all(
        found, expected, Tolerance(), lambda: spreads(peer, arguments, expected)
    )
    del found

    outside = outside_peers.OutsidePeers(
        peer_python, peers, file, arguments, len(os.sched_getaffinity(0))
    )
    with outside:
        runners: dict[str, Timed] = {"own": _timed(own), "xla": _timed(peer)}
        runners |= {other.name: other.run for other in outside.ready}
        times = alternate(runners, outside.reasons)
    medians = {who: statistics.median(seconds) for who, seconds in times.items()}
    run_s = medians["own"]
    counts = compiled.statistics
    cost = compiled.cost_analysis()
    return {
        "name": name,
        "compile_s": compile_s,
        "cached_compile_s": cached_s,
        "run_ms": 1e3 * run_s,
        "spread": spread(times["own"]),
        "gflops": cost.flops / run_s / 1e9,
        "gbytes_s": cost.bytes_accessed / run_s / 1e9,
        "flops": cost.flops,
        "bytes_accessed": cost.bytes_accessed,
        "peer": {
            "name": peer.name,
            "compile_s": peer.compile_seconds,
            "run_ms": 1e3 * medians["xla"],
            "spread": spread(times["xla"]),
            "temp_bytes": peer.temporary_bytes(),
            "peak_bytes": peer.peak_bytes(),
            "kernels": peer.instruction_count(),
        },
        "others": {
            other.name: {
                "compile_s": other.compile_s,
                "run_ms": 1e3 * medians[other.name],
                "spread": spread(times[other.name]),
            }
            for other in outside.ready
            if other.name in medians
        },
        "absent": outside.reasons,
        "runs": len(times["own"]),
        "max_abs_err": _finite(max((c.max_absolute_error for c in comparisons), default=0.0)),
        "max_rel_err": _finite(max((c.max_relative_error for c in comparisons), default=0.0)),
        "mismatches": sum(c.mismatches for c in comparisons),
        "ill_conditioned": sum(c.ill_conditioned for c in comparisons),
        "elements": sum(c.elements for c in comparisons),
        "kernels": counts.kernels,
        "distinct_kernels": counts.distinct_kernels,
        "arena_bytes": counts.arena_bytes,
        "argument_bytes": counts.argument_bytes,
        "result_bytes": counts.result_bytes,
        "alias_bytes": counts.alias_bytes,
        "stage_seconds": counts.stage_seconds,
    }


def _compiled(program: bytes) -> tuple[Compiled, float, float]:
    """The program; seconds of compiling it cold, and with it in the cache (the median)."""
    with tempfile.TemporaryDirectory() as folder, knobs.scope(cache=True, cache_dir=Path(folder)):
        seconds: list[float] = []
        compiled: list[Compiled] = []
        for _ in range(1 + CACHED_COMPILATIONS):
            start = time.perf_counter()
            compiled.append(compile_program(program))
            seconds.append(time.perf_counter() - start)
        if not all(again.from_cache for again in compiled[1:]):
            raise CompileError("a program that was just compiled is not in the cache")
        return compiled[0], seconds[0], statistics.median(seconds[1:])


def alternate(runners: dict[str, Timed], gone: dict[str, str]) -> dict[str, list[float]]:
    """Seconds of each run of each runner, one after the other, again and again.

    Each goes after a pause in which the threads of the one before go to sleep, which until then
    take half of a processor, and a short one after a run that wakes its own.

    Args:
        gone: where the reason goes if a peer's process ends; it then has no times.
    """
    times: dict[str, list[float]] = {who: [] for who in runners}
    once = 0.0

    def run_all(keep: bool) -> None:
        nonlocal once
        once = 0.0
        for who in [who for who in runners if who in times]:
            try:
                time.sleep(PAUSE_SECONDS)
                seconds = runners[who]()
                if seconds < SHORT:
                    seconds = runners[who]()
            except outside_peers.PeerGoneError as error:
                gone[who] = str(error)
                del times[who]
                continue
            once += seconds
            if keep:
                times[who].append(seconds)

    for _ in range(WARM_UP_RUNS):
        run_all(keep=False)
    for _ in range(max(FEWEST_RUNS, min(MOST_RUNS, int(SECONDS_A_PROGRAM / max(once, 1e-6))))):
        run_all(keep=True)
    return times


def spread(seconds: Sequence[float]) -> float:
    """How noisy times are: the distance of the quartiles over the median."""
    if len(seconds) < 4:
        return 0.0
    low, middle, high = statistics.quantiles(seconds, n=4)
    return (high - low) / middle


def _timed(runner: Runner) -> Timed:
    def run() -> float:
        runner.prepare()
        start = time.perf_counter()
        runner.run()
        return time.perf_counter() - start

    return run


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--peers", default="", help="other peers: torch,torch.compile,iree")
    parser.add_argument("--peer-python", type=Path, help="the interpreter of the other peers")
    args = parser.parse_args()
    peers = [peer for peer in args.peers.split(",") if peer]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            report = measure(args.name, args.programs, peers, args.peer_python)
    except CompileError as error:
        print(json.dumps({"name": args.name, "error": str(error)}))
        return 1
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
