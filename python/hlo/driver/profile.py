"""`Compiled.profile()`: where a program's time goes, kernel by kernel."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hlo import ir
from hlo.driver.byte_text import byte_text
from hlo.driver.codegen import ProgramCode
from hlo.driver.host_summary import signature_of
from hlo.driver.made_program import MadeProgram
from hlo.driver.source_lines import short_source_line
from hlo.executable import runtime
from hlo.passes.cost.estimate import Estimate
from hlo.passes.cost.kernel_cost import KernelCost
from hlo.passes.hlo_to_host.launch_ids import LAUNCH
from hlo.passes.memory.place import byte_size

COPY = "copy"


@dataclass(frozen=True)
class KernelProfile:
    """One kernel, or all copies of buffers of one size; figures are for one run of the program.

    Attributes:
        name: in the host program.
        kind: of the fusion; `op` for an op that is a kernel of its own, `fill` or `copy`.
        source: the line of the program it comes from, of its first call.
        calls: how often it runs.
        seconds: from call to return, of all calls, threads waited for.
        flops: arithmetic operations of all calls, transcendental functions apart.
        bytes: read and written by all calls, as the cost analysis counts them.
        launches: the numbers of its launches in the program, as the cost analysis has them; none
            for fills and copies.
        least: seconds of all calls in the fastest run of each launch.
        estimated: seconds that the cost model gives all calls.
        bound: what the cost model takes its first launch to wait for; empty for fills and copies.
    """

    name: str
    kind: str
    source: str
    calls: float
    seconds: float
    flops: float
    bytes: float
    launches: tuple[int, ...] = ()
    least: float = 0.0
    estimated: float = 0.0
    bound: str = ""


@dataclass(frozen=True)
class Profile:
    """Where a run's time goes.

    Attributes:
        seconds: of a whole run, on average, with the clock's own cost (some 50 ns a kernel).
        runs: how many were measured.
        kernels: the slowest first.
    """

    seconds: float
    runs: int
    kernels: tuple[KernelProfile, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"version": 1, **asdict(self)}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def as_text(self, most: int = 40) -> str:
        """A table, of `most` kernels."""
        rows = "".join(_row(kernel, self.seconds) for kernel in self.kernels[:most])
        rest = self.kernels[most:]
        if rest:
            share = sum(kernel.seconds for kernel in rest) / self.seconds
            rows += f"{100 * share:>6.1f}%  in {len(rest)} more kernels\n"
        between = self.seconds - sum(kernel.seconds for kernel in self.kernels)
        head = (
            f"{'share':>7} {'us':>10} {'calls':>8} {'us a call':>10} {'est. us':>8} {'GB/s':>7} "
            f"{'GFLOP/s':>8}  kernel\n"
        )
        return (
            f"{1e3 * self.seconds:.3f} ms a run, mean of {self.runs}\n{head}{rows}"
            f"{100 * between / self.seconds:>6.1f}%  between kernels\n"
        )


def profile(
    made: MadeProgram, costs: Mapping[int, KernelCost], arguments: Sequence[object], runs: int,
    threads: int, name: str, flush_subnormals: bool = False,
) -> Profile:  # fmt: skip
    """Runs a program with a clock around each of its kernels.

    Args:
        costs: of its launches, by their numbers.
        arguments: as of a call; donated ones are given as copies.
        runs: how many runs to measure, at least 1, after one that is not.
        threads: most threads a call uses; 0 for all processors.
        name: of the program, for messages.
        flush_subnormals: as it runs.
    """
    steps = list(_steps(made.placed, costs))
    counters = np.zeros((max(1, len(steps)), 2), np.int64)
    host = made.host
    executable = runtime.load(
        ProgramCode().objects_of(host, made.placed, timed=True), signature_of(host),
        arena_bytes=made.arena.bytes,
        constants=(*map(np.ascontiguousarray, host.constants), counters),
        threads=threads, name=name, flush_subnormals=flush_subnormals,
    )  # fmt: skip
    donated = set(host.donated.values())
    seconds = 0.0
    times: list[np.ndarray[Any, Any]] = []
    for run in range(runs + 1):
        given = [np.array(a) if i in donated else a for i, a in enumerate(arguments)]
        counters[:] = 0
        start = time.perf_counter()
        executable(*given)
        if run:
            seconds += time.perf_counter() - start
            times.append(counters.copy())
    return Profile(seconds / runs, runs, tuple(_added_up(steps, np.stack(times))))


@dataclass(frozen=True)
class _Step:
    """A kernel call or a copy in the host program; figures are of one call."""

    name: str
    kind: str
    source: str
    flops: int
    bytes: int
    launch: int = -1
    estimate: Estimate | None = None


def _steps(placed: ir.Module, costs: Mapping[int, KernelCost]) -> Iterator[_Step]:
    """In the order of `host-to-llvm`."""
    for op in _operations(placed.body):
        if op.name == "memref.copy":
            size = byte_size(op.operands[0].type)
            yield _Step(f"{COPY} of {byte_text(size)}", COPY, "", 0, 2 * size)
        elif op.name == "func.call":
            name = ir.attributes.string(op, "callee")
            if LAUNCH in op.attributes:
                yield _step_of(name, costs[ir.attributes.integer(op, LAUNCH)])
            else:
                size = sum(byte_size(value.type) for value in op.operands)
                yield _Step(name, "fill", "", 0, size)


def _step_of(name: str, cost: KernelCost) -> _Step:
    where = short_source_line(cost.location)
    return _Step(name, cost.kind, where, cost.flops, cost.bytes, cost.launch, cost.estimate)


def _operations(block: ir.Block) -> Iterator[ir.Operation]:
    for op in block.operations:
        yield op.operation
        for region in op.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def _added_up(steps: Sequence[_Step], times: np.ndarray[Any, Any]) -> list[KernelProfile]:
    """Args:
    times: nanoseconds and calls, of each run and step: runs x steps x 2.
    """
    groups: dict[str, list[int]] = {}
    for i, step in enumerate(steps):
        groups.setdefault(step.name, []).append(i)
    calls, seconds = times[..., 1].mean(axis=0), 1e-9 * times[..., 0].mean(axis=0)
    least = 1e-9 * times[..., 0].min(axis=0)

    def kernel(name: str, group: list[int]) -> KernelProfile:
        first = steps[group[0]]
        estimates = [(i, steps[i].estimate) for i in group]
        return KernelProfile(
            name, first.kind, first.source,
            calls=float(calls[group].sum()),
            seconds=float(seconds[group].sum()),
            flops=sum(steps[i].flops * float(calls[i]) for i in group),
            bytes=sum(steps[i].bytes * float(calls[i]) for i in group),
            launches=tuple(steps[i].launch for i in group if steps[i].launch >= 0),
            least=float(least[group].sum()),
            estimated=sum(e.seconds * float(calls[i]) for i, e in estimates if e is not None),
            bound="" if first.estimate is None else first.estimate.bound,
        )  # fmt: skip

    kernels = [kernel(name, group) for name, group in groups.items()]
    return sorted((k for k in kernels if k.calls), key=lambda kernel: -kernel.seconds)


def _row(kernel: KernelProfile, total: float) -> str:
    seconds = max(kernel.seconds, 1e-12)
    where = f" {kernel.source}" if kernel.source else ""
    where += f" ({kernel.bound})" if kernel.bound else ""
    number = f" #{kernel.launches[0]}" if kernel.launches else ""
    estimated = f"{1e6 * kernel.estimated / kernel.calls:.2f}" if kernel.estimated else ""
    return (
        f"{100 * kernel.seconds / total:>6.1f}% {1e6 * kernel.seconds:>10.1f} "
        f"{kernel.calls:>8.10g} {1e6 * kernel.seconds / kernel.calls:>10.2f} "
        f"{estimated:>8} {1e-9 * kernel.bytes / seconds:>7.1f} "
        f"{1e-9 * kernel.flops / seconds:>8.1f}  "
        f"{kernel.name} [{kernel.kind}]{number}{where}\n"
    )
