"""Kernels and bytes of every benchmark program beside XLA:CPU's; writes docs/kernel_counts.md.

python benchmarks/kernel_counts.py [--programs=DIR] [NAME...]

Programs are compiled up to the host program, without machine code: figures are exact. XLA's are
those of the table in the programs' README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hlo.driver.memory_report import copies_of
from hlo.driver.module_copy import copy_of
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.importers import load_program
from hlo.passes.cost.kernel_cost import kernel_costs
from hlo.passes.hlo_to_host.program import entry_of, hlo_to_host
from hlo.passes.hlo_to_loops.graph import region_of

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PROGRAMS = ROOT.parent / "shared" / "programs"
PAGE = ROOT / "docs" / "kernel_counts.md"
_HEADING = """# Kernels and bytes
Written by `python benchmarks/kernel_counts.py`. Kernels are launches in the text of the host
program; XLA's are instructions that XLA:CPU dispatches in its optimised HLO. GB are those that
kernels and copies read and write, each buffer once a kernel, loop bodies once, as XLA's cost
analysis has them (docs/fusion.md says what is counted). XLA's figures are from the table of the
programs' README.

| program | kernels | XLA kernels | GB | XLA GB |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Figures:
    """Kernels of a program, and bytes they move."""

    kernels: int
    gigabytes: float


def own_figures(program: Path) -> Figures:
    """What the compiler makes of a program."""
    module = copy_of(load_program(program.read_bytes()))
    for step in passes_to(Phase.FUSED):
        step.run(module)
    host = hlo_to_host(module)
    launches = sum("func.call @" in line for line in host.text.splitlines())
    moved = sum(
        cost.bytes for cost in kernel_costs(region_of(entry_of(module).regions[0].blocks[0]))
    )
    moved += 2 * sum(copy.bytes for copy in copies_of(host, module))
    return Figures(launches, moved / 1e9)


def peer_figures(folder: Path) -> dict[str, Figures]:
    """XLA's figures by program, from the table in a folder's README.md."""
    lines = (folder / "README.md").read_text().splitlines()
    table = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"
    ]
    head = next(row for row in table if row[0] == "program")
    kernels, touched = head.index("XLA kernels"), head.index("XLA GB touched")
    rows = table[table.index(head) + 2 :]
    return {row[0]: Figures(int(row[kernels]), float(row[touched])) for row in rows}


def no_higher(own: Sequence[Figures], peer: Sequence[Figures]) -> tuple[int, int]:
    """On how many programs our (kernels, bytes) are no more than the peer's, to three digits."""
    pairs = list(zip(own, peer, strict=True))
    kernels = sum(ours.kernels <= theirs.kernels for ours, theirs in pairs)
    touched = sum(float(f"{ours.gigabytes:.3g}") <= theirs.gigabytes for ours, theirs in pairs)
    return kernels, touched


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--programs", type=Path, default=DEFAULT_PROGRAMS)
    args = parser.parse_args()
    peer = peer_figures(args.programs)
    own: dict[str, Figures] = {}
    rows: list[str] = []
    for name in args.names or sorted(peer):
        own[name] = ours = own_figures(args.programs / f"{name}.mlir")
        rows.append(
            f"| {name} | {ours.kernels} | {peer[name].kernels} "
            f"| {ours.gigabytes:.3g} | {peer[name].gigabytes:.3g} |"
        )
        print(rows[-1], flush=True)
    kernels, touched = no_higher(list(own.values()), [peer[name] for name in own])
    total = f"No more than XLA: kernels on {kernels}, bytes on {touched} of {len(own)} programs."
    print(total)
    if not args.names:
        PAGE.write_text(_HEADING + "\n".join(rows) + f"\n\n{total}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
