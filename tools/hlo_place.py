"""`hlo-place`: places the buffers of a CSV file in one arena."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from hlo.driver.command_line import EXIT_FAILURE, read_input, run_tool, write_output
from hlo.passes.memory.packing import Placement, check_placement, pack
from hlo.passes.memory.packing.instance_csv import read_buffers, write_placement

_EPILOG = """\
examples:
  hlo-place A.1048576.csv --capacity=1048576
  hlo-place buffers.csv --time-budget=10 --json
  hlo-place buffers.csv --strategy=greedy -o placed.csv

The file has the columns id, lower, upper, size and optionally alignment (the format of MiniMalloc's
public instances); a buffer is live in [lower, upper). Every placement is checked before it is
reported. Exit status: 0 placed, and within the capacity if there is one; 1 not within the capacity,
or the file is at fault; 2 bad usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-place`."""
    args = _parser().parse_args(argv)
    return run_tool("hlo-place", lambda: _run(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-place",
        description="Places buffers in one arena: prints its height, the lower bound and the time.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", help="a CSV file; - for standard input")
    add(
        "--capacity",
        type=_bytes,
        metavar="N",
        help="stop at the first placement of N bytes or less",
    )
    add(
        "--time-budget",
        type=_seconds,
        default=1.0,
        metavar="S",
        help="seconds to search (default: 1); 0 is a small effort, the same on every machine",
    )
    add("--strategy", choices=("auto", "greedy", "search"), default="auto")
    add("--json", action="store_true", help="print one JSON object instead of text")
    add("-o", "--output", metavar="FILE", help="write the buffers with their offsets as CSV")
    return parser


def _bytes(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a number of bytes, found {text!r}")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, found {text!r}")
    return value


def _run(args: argparse.Namespace) -> int:
    buffers = read_buffers(read_input(args.file), args.file)
    begin = time.perf_counter()
    placement = pack(
        buffers,
        capacity=args.capacity,
        time_budget_s=args.time_budget,
        strategy=args.strategy,
    )
    seconds = time.perf_counter() - begin
    check_placement(buffers, placement)
    if args.output is not None:
        write_output(args.output, write_placement(buffers, placement))
    report = _report(args, len(buffers), placement, seconds)
    # Where the placement itself goes to standard output, the report must not get into it.
    stream = sys.stderr if args.output == "-" else sys.stdout
    print(json.dumps(report) if args.json else _text(report), file=stream)
    return 0 if report["fits"] else EXIT_FAILURE


def _report(
    args: argparse.Namespace, buffers: int, placement: Placement, seconds: float
) -> dict[str, str | int | float | bool | None]:
    return {
        "file": args.file,
        "buffers": buffers,
        "height": placement.height,
        "bound": placement.bound,
        "ratio": placement.height / placement.bound if placement.bound else 1.0,
        "optimal": placement.height == placement.bound,
        "capacity": args.capacity,
        "fits": args.capacity is None or placement.height <= args.capacity,
        "seconds": seconds,
        "method": placement.method,
    }


def _text(report: dict[str, str | int | float | bool | None]) -> str:
    proof = ", the least possible" if report["optimal"] else ""
    lines = [
        f"buffers  {report['buffers']}",
        f"height   {report['height']} bytes{proof}",
        f"bound    {report['bound']} bytes",
        f"ratio    {report['ratio']:.4f}",
        f"time     {report['seconds']:.3f} s",
        f"method   {report['method']}",
    ]
    if report["capacity"] is not None:
        lines.append(f"capacity {report['capacity']} bytes: {_verdict(report)}")
    return "\n".join(lines)


def _verdict(report: dict[str, str | int | float | bool | None]) -> str:
    if report["fits"]:
        return "placed"
    bound, capacity = report["bound"], report["capacity"]
    assert isinstance(bound, int) and isinstance(capacity, int)
    if bound > capacity:
        return f"no placement exists, {bound} bytes are needed at least"
    return "not placed; give it more time with --time-budget, or more capacity"
