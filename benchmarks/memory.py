"""Memory of every benchmark program beside XLA:CPU's; writes docs/memory_figures.md.

python benchmarks/memory.py [--programs=DIR] [--own] [NAME...]

Ours is planned without machine code; XLA compiles each program and is asked. All figures are exact.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hlo.driver.memory_report import memory_analysis
from hlo.driver.peers import memory_by_xla
from hlo.driver.program_analysis import analyse
from hlo.importers import load_program

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PROGRAMS = ROOT.parent / "shared" / "programs"
PAGE = ROOT / "docs" / "memory_figures.md"
SMALL = 1 << 16  # temporary bytes of XLA up to which a program is not compared
_HEADING = """# Memory of the benchmark programs
Written by `python benchmarks/memory.py`, in bytes. Arena is our memory for intermediates, floor the
most bytes of them live at once in our schedule; temp is XLA:CPU's (jax 0.10.2). Peak is arguments +
results - what they share + arena or temp. Donated arguments are donated to both.

| program | arena | floor | XLA temp | peak | XLA peak |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Own:
    """Our plan of a program."""

    arena: int
    floor: int
    peak: int


@dataclass(frozen=True)
class Peer:
    """XLA's plan of a program."""

    temporary: int
    peak: int


def own_figures(program: Path) -> Own:
    """What the compiler plans for a program."""
    analysed = analyse(load_program(program.read_bytes()))
    plan = memory_analysis(analysed.host, analysed.fused)
    return Own(plan.arena_bytes, plan.floor_bytes, plan.peak_bytes)


def peer_figures(program: Path) -> Peer:
    """What XLA plans for a program."""
    found = memory_by_xla(program.read_bytes())
    return Peer(found.temporary_bytes, found.peak_bytes)


def recorded() -> dict[str, tuple[Own, Peer]]:
    """The figures of the page."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|")
    ]
    table: dict[str, tuple[Own, Peer]] = {}
    for name, *cells in rows[2:]:
        arena, floor, temporary, peak, peer_peak = map(int, cells)
        table[name] = Own(arena, floor, peak), Peer(temporary, peer_peak)
    return table


def higher(figures: Mapping[str, tuple[Own, Peer]]) -> tuple[list[str], list[str]]:
    """The programs whose (arena, peak) is higher than XLA's; small ones are not compared."""
    compared = {n: f for n, f in figures.items() if f[1].temporary > SMALL}
    arenas = [n for n, (own, peer) in compared.items() if own.arena > peer.temporary]
    peaks = [n for n, (own, peer) in compared.items() if own.peak > peer.peak]
    return arenas, peaks


def summary(figures: Mapping[str, tuple[Own, Peer]]) -> str:
    """Where we need more than XLA, as sentences."""
    count = sum(peer.temporary > SMALL for _, peer in figures.values())
    arenas, peaks = higher(figures)
    return (
        f"Of {count} programs for which XLA's temp is over 64 KiB, the arena is higher on "
        f"{len(arenas)}{_listed(arenas)}, the peak on {len(peaks)}{_listed(peaks)}."
    )


def _listed(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--programs", type=Path, default=DEFAULT_PROGRAMS)
    parser.add_argument(
        "--own", action="store_true", help="plan ours anew, and take XLA's figures from the page"
    )
    args = parser.parse_args()
    known = recorded() if args.own else {}
    figures: dict[str, tuple[Own, Peer]] = {}
    rows: list[str] = []
    for name in args.names or sorted(path.stem for path in args.programs.glob("*.mlir")):
        path = args.programs / f"{name}.mlir"
        peer = known[name][1] if name in known else peer_figures(path)
        own = own_figures(path)
        figures[name] = own, peer
        cells = (own.arena, own.floor, peer.temporary, own.peak, peer.peak)
        rows.append(f"| {name} | {' | '.join(map(str, cells))} |")
        print(rows[-1], flush=True)
    print(summary(figures))
    if not args.names:
        PAGE.write_text(_HEADING + "\n".join(rows) + f"\n\n{summary(figures)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
