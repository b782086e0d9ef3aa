"""What `hlo-run` does: compile a program, run it, check the results and measure the time."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError, CompileError
from hlo.driver import arguments as argument_sources
from hlo.driver.command_line import read_input
from hlo.driver.comparison import Comparison, Tolerance, compare_all
from hlo.driver.peers import OwnRunner, Peer, Runner, make_peer, spreads
from hlo.driver.statistics import ProgramStatistics
from hlo.importers.program import load_program

if TYPE_CHECKING:
    from hlo.driver.profile import Profile

_WARM_UP_RUNS = 2
_SHOWN_ELEMENTS = 64


class CompiledProgram(Protocol):
    """What a run needs of an executable."""

    @property
    def statistics(self) -> ProgramStatistics: ...

    def __call__(self, *arguments: np.ndarray) -> tuple[np.ndarray, ...]: ...


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """The choices of one run of `hlo-run`.

    Attributes:
        program: path of the program, `-` for standard input.
        argument_file, literals, specification, seed: where arguments come from; one of them.
        check: `jax`, `reference` or None.
        checked_results: positions of the results to check; empty for all.
        strict: count ill-conditioned elements as mismatches (see `hlo.driver.comparison`).
        repetitions: timed runs of the program, and of the peer in alternation; 0 for none.
        profiled_runs: runs with a clock around each kernel; 0 for none.
        compile_options: passed to `hlo.compile`.
    """

    program: str
    target: str = "cpu"
    argument_file: Path | None = None
    literals: tuple[str, ...] = ()
    specification: Path | None = None
    seed: int | None = None
    check: str | None = None
    checked_results: tuple[int, ...] = ()
    strict: bool = False
    tolerance: Tolerance = dataclasses.field(default_factory=Tolerance)
    repetitions: int = 0
    profiled_runs: int = 0
    json: bool = False
    output: Path | None = None
    compile_options: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class PeerReport:
    """What the peer took. `run_ms` is None when nothing was timed."""

    name: str
    compile_s: float
    run_ms: float | None


@dataclasses.dataclass(frozen=True)
class RunReport:
    """One run of a program. Times are medians; `comparisons` has one entry a checked result."""

    name: str
    compile_s: float
    run_ms: float | None
    results: tuple[np.ndarray, ...]
    statistics: ProgramStatistics
    peer: PeerReport | None = None
    comparisons: tuple[Comparison, ...] = ()
    profile: Profile | None = None

    @property
    def matches(self) -> bool:
        return all(comparison.matches for comparison in self.comparisons)

    def to_json(self) -> dict[str, Any]:
        """The object that `hlo-run --json` prints."""
        checked = bool(self.comparisons)
        counts = self.statistics
        return {
            "name": self.name,
            "compile_s": self.compile_s,
            "run_ms": self.run_ms,
            "peer": None if self.peer is None else dataclasses.asdict(self.peer),
            "max_abs_err": _finite_maximum([c.max_absolute_error for c in self.comparisons]),
            "max_rel_err": _finite_maximum([c.max_relative_error for c in self.comparisons]),
            "mismatches": sum(c.mismatches for c in self.comparisons) if checked else None,
            "kernels": counts.kernels,
            "arena_bytes": counts.arena_bytes,
            "argument_bytes": counts.argument_bytes,
            "result_bytes": counts.result_bytes,
            "alias_bytes": counts.alias_bytes,
            "cache": counts.cache,
            **({} if self.profile is None else {"profile": self.profile.to_dict()}),
        }


def run_command(options: RunOptions) -> int:
    """Runs `hlo-run` and prints its report. The exit status: 0 only if every checked result
    matches.

    Raises:
        CompileError: the program, its arguments or an option is at fault.
    """
    from hlo.driver.compile import compile as compile_program

    data = read_input(options.program)
    name = "-" if options.program == "-" else Path(options.program).stem
    if data.lstrip()[:1] == b"{":  # no program starts so, a launch plan does
        report = run_launch_plan(name, data, options)
    else:
        report = run_program(name, data, options, compile_program)
    if options.output is not None:
        _save(options.output, report.results)
    if options.json:
        print(json.dumps(report.to_json()))
    else:
        print_report(report)
    return 0 if report.matches else 1


def run_program(
    name: str, data: bytes, options: RunOptions, compile_program: Callable[..., CompiledProgram]
) -> RunReport:
    """Compiles and runs a program once, and as the options ask also checks and times it."""
    source_name = name if options.program == "-" else options.program
    module = load_program(data, source_name=source_name)
    arguments = arguments_of(argument_sources.entry_types(module), module.context, options)
    start = time.perf_counter()
    compiled = compile_program(
        load_program(data, source_name=source_name),
        target=options.target,
        **options.compile_options,
    )
    compile_s = time.perf_counter() - start
    donated = argument_sources.donations(module)
    own = OwnRunner(compiled, arguments, donated)
    results = tuple(own.results())
    peer = make_peer(options.check, data, arguments, donated) if options.check else None
    comparisons: tuple[Comparison, ...] = ()
    if peer is not None:
        comparisons = _compared(results, peer, arguments, options)
    run_ms, peer_ms = time_in_alternation(own, peer, options.repetitions)
    return RunReport(
        name=name,
        compile_s=compile_s,
        run_ms=run_ms,
        results=results,
        statistics=compiled.statistics,
        peer=None if peer is None else PeerReport(peer.name, peer.compile_seconds, peer_ms),
        comparisons=comparisons,
        profile=_profile(compiled, arguments, options.profiled_runs),
    )


def _profile(
    compiled: CompiledProgram, arguments: Sequence[np.ndarray], runs: int
) -> Profile | None:
    from hlo.driver.compile import Compiled

    if not runs:
        return None
    if not isinstance(compiled, Compiled):
        raise CompileError("--profile: only programs for the target 'cpu' have a profile")
    return compiled.profile(*arguments, runs=runs)


def run_launch_plan(name: str, data: bytes, options: RunOptions) -> RunReport:
    """Runs a stored launch plan once, and as the options ask also times it.

    Raises:
        CompileError: it is not a launch plan, or an option does not apply to one.
    """
    from hlo.driver.plan_runner import PlanRunner
    from hlo.gpu.plan_json import from_json
    from hlo.gpu.run_plan import dtype_of

    start = time.perf_counter()
    plan = from_json(data.decode("utf-8", "replace"))
    known = {"emulate", "emulator", "schedule"}
    if options.check:
        raise CompileError("--check: a launch plan holds no program to compare with")
    if options.target not in ("cpu", f"nvptx:{plan.target}"):
        raise CompileError(f"--target={options.target}: the launch plan is for {plan.target}")
    if unknown := [name for name in options.compile_options if name not in known]:
        raise CompileError(f"option {unknown[0]!r}: a launch plan is compiled already")
    types = [argument_sources.ArgumentType(k.shape, dtype_of(k)) for k in plan.arguments]
    arguments = arguments_of(types, ir.make_context(), options)
    runner = PlanRunner(plan, **options.compile_options)
    load_s = time.perf_counter() - start
    own = OwnRunner(runner, arguments, {argument: result for result, argument in plan.aliases})
    results = tuple(own.results())
    run_ms, _ = time_in_alternation(own, None, options.repetitions)
    return RunReport(name, load_s, run_ms, results, runner.statistics)


def time_in_alternation(
    own: Runner, peer: Runner | None, repetitions: int
) -> tuple[float | None, float | None]:
    """Medians in milliseconds of `repetitions` runs of both, one after the other, after warming
    up.
    """
    if repetitions <= 0:
        return None, None
    runners = [own] if peer is None else [own, peer]
    for _ in range(_WARM_UP_RUNS):
        for runner in runners:
            runner.prepare()
            runner.run()
    seconds: list[list[float]] = [[] for _ in runners]
    for _ in range(repetitions):
        for runner, times in zip(runners, seconds, strict=True):
            runner.prepare()
            start = time.perf_counter()
            runner.run()
            times.append(time.perf_counter() - start)
    medians = [1e3 * statistics.median(times) for times in seconds]
    return medians[0], medians[1] if peer is not None else None


def print_report(report: RunReport) -> None:
    """The report for people: results (small ones in full), what the check found, and times."""
    for index, result in enumerate(report.results):
        kind = argument_sources.ArgumentType(result.shape, result.dtype)
        shown = np.array2string(result, threshold=_SHOWN_ELEMENTS)
        print(f"result {index}: {kind} = {shown}")
    for index, comparison in enumerate(report.comparisons):
        verdict = "match" if comparison.matches else f"{comparison.mismatches} MISMATCHES"
        noise = comparison.ill_conditioned
        print(
            f"check {index}: {verdict} of {comparison.elements}"
            f"{f' ({noise} ill-conditioned)' if noise else ''}, largest error "
            f"{comparison.max_absolute_error:.3g} absolute, "
            f"{comparison.max_relative_error:.3g} relative {comparison.complaint}".rstrip()
        )
    counts = report.statistics
    ran = "" if report.run_ms is None else f", runs in {report.run_ms:.3f} ms"
    print(
        f"{report.name}: compiled in {report.compile_s:.3f} s"
        f"{' from the cache' if counts.cache == 'hit' else ''}{ran}; {counts.kernels} kernels, "
        f"arena {counts.arena_bytes} bytes"
    )
    if report.peer is not None:
        ran = "" if report.peer.run_ms is None else f", runs in {report.peer.run_ms:.3f} ms"
        print(f"{report.peer.name}: compiled in {report.peer.compile_s:.3f} s{ran}")
    if report.profile is not None:
        print(report.profile.as_text(), end="")


def arguments_of(
    types: Sequence[argument_sources.ArgumentType], context: ir.Context, options: RunOptions
) -> list[np.ndarray]:
    """The arguments that the options name, checked against the types of the entry's arguments.

    Args:
        context: for literals in MLIR's form.

    Raises:
        ArgumentError: they are named in several ways, in none, or do not fit.
    """
    sources = [
        options.argument_file is not None,
        bool(options.literals),
        options.specification is not None,
        options.seed is not None,
    ]
    if sum(sources) > 1:
        raise ArgumentError("give arguments in one way: --args, --arg, --spec or --seed")
    if not any(sources) and types:
        expected = ", ".join(map(str, types))
        raise ArgumentError(
            f"the program takes {len(types)} arguments ({expected}): give --args, --arg, --spec "
            f"or --seed"
        )
    if options.argument_file is not None:
        made = argument_sources.load_arguments(options.argument_file)
    elif options.specification is not None:
        made = argument_sources.from_specification(options.specification)
    elif options.seed is not None:
        made = argument_sources.from_seed(types, options.seed)
    else:
        made = [argument_sources.parse_literal(text, context) for text in options.literals]
    return argument_sources.check_arguments(made, types)


def _compared(
    found: Sequence[np.ndarray], peer: Peer, arguments: Sequence[np.ndarray], options: RunOptions
) -> tuple[Comparison, ...]:
    expected = peer.results()
    chosen = range(len(expected))
    if options.checked_results and len(found) == len(expected):
        chosen = options.checked_results
        if max(chosen) >= len(found):
            raise CompileError(
                f"the program has {len(found)} results: there is no result {max(chosen)}"
            )
        found = [found[index] for index in chosen]

    def spreads_of_chosen() -> list[np.ndarray]:
        widest = spreads(peer, arguments, expected)
        return [widest[index] for index in chosen]

    return tuple(
        compare_all(
            found,
            [expected[index] for index in chosen],
            options.tolerance,
            None if options.strict else spreads_of_chosen,
        )
    )


def _finite_maximum(values: Sequence[float]) -> float | None:
    """JSON has no infinity: None where the largest is not a number."""
    largest = max(values, default=math.nan)
    return largest if math.isfinite(largest) else None


def _save(path: Path, results: Sequence[np.ndarray]) -> None:
    try:
        arrays: dict[str, Any] = {f"result{index}": result for index, result in enumerate(results)}
        with path.open("wb") as file:  # by its name, np.savez would add to the name
            np.savez(file, **arrays)
    except OSError as error:
        raise CompileError(f"cannot write {path}: {error.strerror}") from error
