"""What the order of ops costs: programs that `schedule` changes, with and without it.

Compiles each benchmark program whose ops `schedule` puts in another order twice, times both in turn
and writes docs/schedule_time.md. A ratio over 1.02 is an error.

    python benchmarks/schedule_time.py --cpu-time
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import timing

from hlo import ir, knobs
from hlo.driver.arguments import check_arguments, donations, entry_types, from_specification
from hlo.driver.compile import compile as compile_program
from hlo.driver.peers import OwnRunner
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.importers import load_program
from hlo.passes.cost.block_time import BlockTime
from hlo.passes.hlo_to_host.program import entry_of, results_in_arguments
from hlo.passes.hlo_to_loops.graph import region_of
from hlo.passes.memory.schedule import Schedule

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PROGRAMS = ROOT.parent / "shared" / "programs"
PAGE = ROOT / "docs" / "schedule_time.md"
MOST_RATIO = 1.02
WARM_UP_ROUNDS = 2
_HEADING = """# The order of ops, in bytes and in time
Written by `python benchmarks/schedule_time.py --cpu-time`: the benchmark programs whose ops
`schedule` ([memory.md](memory.md#the-order-of-ops)) puts in another order. Arena in bytes and
{counted} of a call in ms, as the median of {rounds} rounds in which both
take turns, without the pass and with it; *estimated* is the ratio that the cost model foretells.

| program | arena without | arena with | ms without | ms with | time ratio | estimated |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """A program without the pass and with it: bytes of arena, seconds, and the estimated ratio."""

    name: str
    arenas: tuple[int, int]
    seconds: tuple[float, float]
    estimated: float

    @property
    def ratio(self) -> float:
        """Seconds with the pass to those without."""
        return self.seconds[1] / self.seconds[0]

    def __str__(self) -> str:
        plain, ordered = self.seconds
        return (
            f"| {self.name} | {self.arenas[0]} | {self.arenas[1]} | {1e3 * plain:.3g} "
            f"| {1e3 * ordered:.3g} | {self.ratio:.3f} | {self.estimated:.3f} |"
        )


def estimated_ratio(program: bytes) -> float | None:
    """The estimated time with `schedule` to that without; None if it changes nothing."""
    module = load_program(program)
    *steps, last = passes_to(Phase.FUSED)
    for step in steps:
        step.run(module)
    before = estimated_seconds(module)
    return estimated_seconds(module) / before if last.run(module) else None


def estimated_seconds(module: ir.Module) -> float:
    """The cost model's time of a fused program."""
    function = entry_of(module)
    region = region_of(function.regions[0].blocks[0])
    return BlockTime(region, results_in_arguments(function, region)).seconds()


def measure(program: Path, estimated: float, threads: int, clock: timing.Clock, rounds: int) -> Row:
    """Compiles a program both ways and times it."""
    module = load_program(program.read_bytes())
    arguments = check_arguments(
        from_specification(program.with_suffix(".json")), entry_types(module)
    )
    with knobs.scope(cache=False):
        with mock.patch.object(Schedule, "run", return_value=False):
            plain = compile_program(module, threads=threads)
        ordered = compile_program(module, threads=threads)
    sides = [OwnRunner(side, arguments, donations(module)) for side in (plain, ordered)]
    samples: list[list[float]] = [[], []]
    for _ in range(WARM_UP_ROUNDS + rounds):
        for side, seconds in zip(sides, samples, strict=True):
            side.prepare()
            start = clock()
            side.run()
            seconds.append(clock() - start)
    medians = [statistics.median(seconds[WARM_UP_ROUNDS:]) for seconds in samples]
    arenas = plain.statistics.arena_bytes, ordered.statistics.arena_bytes
    return Row(program.stem, arenas, (medians[0], medians[1]), estimated)


def main() -> int:
    parser = timing.parser(__doc__)
    parser.add_argument("--programs", type=Path, default=DEFAULT_PROGRAMS)
    parser.set_defaults(rounds=40)
    args = parser.parse_args()
    clock = timing.clock_of(args)
    rows: list[Row] = []
    for program in sorted(args.programs.glob("*.mlir")):
        if not timing.is_chosen(program.stem, args.patterns):
            continue
        estimated = estimated_ratio(program.read_bytes())
        if estimated is None:
            continue
        rows.append(measure(program, estimated, timing.threads_of(args), clock, args.rounds))
        print(rows[-1], flush=True)
    if not args.patterns:
        lines = "".join(f"{row}\n" for row in rows)
        PAGE.write_text(_HEADING.format(counted=timing.counted(args), rounds=args.rounds) + lines)
    slower = [row.name for row in rows if row.ratio > MOST_RATIO]
    print(f"More than {MOST_RATIO} times as slow: {timing.names_of(slower)}.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
