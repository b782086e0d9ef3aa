"""The training programs under budgets of memory; writes docs/memory_budgets.md.

    python benchmarks/budgets.py [--programs=DIR] [NAME...]

Programs are planned without machine code; the time of what runs again is the cost model's.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from schedule_time import DEFAULT_PROGRAMS, ROOT, estimated_seconds

from hlo.driver.memory_budget import MemoryBudgetError
from hlo.driver.memory_report import memory_analysis
from hlo.driver.program_analysis import analyse
from hlo.importers import load_program

PAGE = ROOT / "docs" / "memory_budgets.md"
SHARES = (90, 75, 50)
_HEADING = """# Training under a budget
Written by `python benchmarks/budgets.py`: arenas in MB where `max_bytes`
([memory.md](memory.md#a-budget)) leaves no more than a share of what the program takes by itself,
with the launches more in the program's text and the time by the cost model, as a multiple. "-" is
refused; "least" is what the error names.

| program | no budget | 90% | 75% | 50% | least |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Planned:
    """A plan: bytes of arena and in all, launches, estimated seconds."""

    arena: int
    peak: int
    launches: int
    seconds: float


def planned(program: Path, max_bytes: int = 0) -> Planned | int:
    """A program's plan within a budget; the least peak if there is none."""
    try:
        found = analyse(load_program(program.read_bytes()), max_bytes=max_bytes)
    except MemoryBudgetError as error:
        return error.least
    memory = memory_analysis(found.host, found.fused)
    launches = sum("func.call @" in line for line in found.host.text.splitlines())
    seconds = estimated_seconds(found.fused)
    return Planned(memory.arena_bytes, memory.peak_bytes, launches, seconds)


def row(program: Path) -> str:
    """A program's line of the table."""
    free = planned(program)
    assert isinstance(free, Planned)
    others = free.peak - free.arena
    cells = [program.stem, f"{free.arena / 1e6:.2f}"]
    for share in SHARES:
        found = planned(program, others + free.arena * share // 100)
        if isinstance(found, int):
            cells.append("-")
            continue
        more, ratio = found.launches - free.launches, found.seconds / free.seconds
        cells.append(f"{found.arena / 1e6:.2f}, {more:+}, {ratio:.2f}x")
    least = planned(program, 1)
    cells.append(f"{((least if isinstance(least, int) else least.peak) - others) / 1e6:.2f}")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--programs", type=Path, default=DEFAULT_PROGRAMS)
    args = parser.parse_args()
    programs = [path.stem for path in args.programs.glob("*train*.mlir")]
    rows: list[str] = []
    for name in args.names or sorted(programs):
        rows.append(row(args.programs / f"{name}.mlir"))
        print(rows[-1], flush=True)
    if not args.names:
        PAGE.write_text(_HEADING + "".join(f"{line}\n" for line in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
