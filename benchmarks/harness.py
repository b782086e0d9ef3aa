"""Measures one program of the benchmark set: ours and XLA:CPU in alternation, in one process.

python benchmarks/harness.py --programs=DIR NAME      prints one JSON object
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from hlo import knobs
from hlo.diagnostics import CompileError
from hlo.driver.arguments import check_arguments, donations, entry_types, from_specification
from hlo.driver.comparison import Tolerance, compare_all
from hlo.driver.compile import compile as compile_program
from hlo.driver.peers import OwnRunner, XlaPeer, spreads
from hlo.driver.run_program import time_in_alternation
from hlo.importers import load_program

SECONDS_A_PROGRAM = 4.0
FEWEST_RUNS = 5
MOST_RUNS = 50


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Compiles, checks and times a program.

    Returns:
        The keys of `hlo-run --json`, and of the peer also temp_bytes, peak_bytes and kernels.
    """
    program = (folder / f"{name}.mlir").read_bytes()
    module = load_program(program)
    arguments = check_arguments(from_specification(folder / f"{name}.json"), entry_types(module))
    donated = donations(module)

    start = time.perf_counter()
    with knobs.scope(cache=False):
        compiled = compile_program(load_program(program))
    compile_s = time.perf_counter() - start
    own = OwnRunner(compiled, arguments, donated)
    peer = XlaPeer(program, arguments, donated)

    found, expected = own.results(), peer.results()
    comparisons = compare_all(
        found, expected, Tolerance(), lambda: spreads(peer, arguments, expected)
    )
    del found

    once_ms = sum(t for t in time_in_alternation(own, peer, 1) if t is not None)
    runs = max(FEWEST_RUNS, min(MOST_RUNS, int(1e3 * SECONDS_A_PROGRAM / max(once_ms, 1e-3))))
    run_ms, peer_ms = time_in_alternation(own, peer, runs)
    counts = compiled.statistics
    return {
        "name": name,
        "compile_s": compile_s,
        "run_ms": run_ms,
        "peer": {
            "name": peer.name,
            "compile_s": peer.compile_seconds,
            "run_ms": peer_ms,
            "temp_bytes": peer.temporary_bytes(),
            "peak_bytes": peer.peak_bytes(),
            "kernels": peer.instruction_count(),
        },
        "runs": runs,
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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--programs", type=Path, required=True)
    args = parser.parse_args()
    try:
        print(json.dumps(measure(args.name, args.programs)))
    except CompileError as error:
        print(json.dumps({"name": args.name, "error": str(error)}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
