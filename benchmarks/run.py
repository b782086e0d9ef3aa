"""`make bench`: every program of the benchmark set, ours beside XLA:CPU and other peers; writes
docs/benchmarks.md and docs/benchmarks.json.

Each program is measured in a process of its own (harness.py), so one that crashes or runs too long
is a line in the table. The programs are not part of this repository: `--programs` names their
folder."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from outside_peers import NAMES
from report_page import line_of, machine, markdown, noise_warnings, report_matches, summary
from timing import DEFAULT_PEERS

ROOT = Path(__file__).resolve().parent.parent
HARNESS = Path(__file__).resolve().parent / "harness.py"
DEFAULT_PROGRAMS = ROOT.parent / "shared" / "programs"


def main() -> int:
    args = _parser().parse_args()
    names = args.names or program_names(args.programs)
    if not names:
        sys.stderr.write(f"no programs in {args.programs}: give their folder with --programs=DIR\n")
        return 2
    before = machine()
    reports: list[dict[str, Any]] = []
    for name in names:
        reports.append(measured(name, args))
        print(line_of(reports[-1]), flush=True)
    figures = {"machine": before, "programs": reports}
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=1) + "\n")
    if args.markdown is not None and not args.names:
        args.markdown.write_text(markdown(figures))
    for warning in noise_warnings(figures):
        print(f"warning: {warning}")
    print(summary(reports))
    return 0 if all(report_matches(report) for report in reports) else 1


def program_names(folder: Path) -> list[str]:
    """The programs of a folder: those with both a .mlir and a .json file."""
    return sorted(path.stem for path in folder.glob("*.mlir") if path.with_suffix(".json").exists())


def measured(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """The report of one program, or `{"name", "error"}`."""
    command = [
        sys.executable,
        str(HARNESS),
        f"--programs={args.programs}",
        f"--peers={args.peers}",
        f"--peer-python={args.peers_at / 'bin' / 'python'}",
        name,
    ]
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=args.timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"not finished after {args.timeout:.0f} s"}
    try:
        return json.loads(finished.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = finished.stderr.strip().splitlines()[-1:] or ["no output"]
        return {"name": name, "error": f"exit status {finished.returncode}: {last[0]}"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Measures the benchmark programs, ours beside XLA:CPU and other peers."
    )
    add = parser.add_argument
    add("names", nargs="*", help="programs to measure; all by default")
    add("--programs", type=Path, default=DEFAULT_PROGRAMS, help="the folder of the programs")
    add("--timeout", type=float, default=600.0, help="seconds a program may take, peers included")
    add(
        "--peers",
        default=",".join(NAMES),
        help="peers besides XLA, with commas between; an empty text for none (default: all that "
        "are installed)",
    )
    add(
        "--peers-at",
        type=Path,
        default=Path(os.environ.get("PEERS") or DEFAULT_PEERS),
        help="a virtual environment with those peers (default: $PEERS or .venv-peers)",
    )
    add(
        "--json",
        type=Path,
        default=ROOT / "docs" / "benchmarks.json",
        help="where figures go",
    )
    add(
        "--markdown",
        type=lambda text: Path(text) if text else None,
        default=ROOT / "docs" / "benchmarks.md",
        help="the page to write, unless programs are named; an empty text for none",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
