"""`Compiled.profile()`: where a program's time goes, kernel by kernel."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
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
from hlo.passes.cost.kernel_cost import KernelCost
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
    """

    name: str
    kind: str
    source: str
    calls: float
    seconds: float
    flops: float
    bytes: float


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
            f"{'share':>7} {'us':>10} {'calls':>8} {'us a call':>10} {'GB/s':>7} {'GFLOP/s':>8}"
            "  kernel\n"
        )
        return (
            f"{1e3 * self.seconds:.3f} ms a run, mean of {self.runs}\n{head}{rows}"
            f"{100 * between / self.seconds:>6.1f}%  between kernels\n"
        )


def profile(
    made: MadeProgram, costs: Sequence[KernelCost], arguments: Sequence[object], runs: int,
    threads: int, name: str,
) -> Profile:  # fmt: skip
    """Runs a program with a clock around each of its kernels.

    Args:
        costs: of its kernels in program order.
        arguments: as of a call; donated ones are given as copies.
        runs: how many runs to measure, at least 1, after one that is not.
        threads: most threads a call uses; 0 for all processors.
        name: of the program, for messages.
    """
    steps = list(_steps(made.placed, costs))
    counters = np.zeros((max(1, len(steps)), 2), np.int64)
    host = made.host
    executable = runtime.load(
        ProgramCode().objects_of(host, made.placed, timed=True), signature_of(host),
        arena_bytes=made.arena.bytes,
        constants=(*map(np.ascontiguousarray, host.constants), counters),
        threads=threads, name=name,
    )  # fmt: skip
    donated = set(host.donated.values())
    seconds = 0.0
    for run in range(runs + 1):
        given = [np.array(a) if i in donated else a for i, a in enumerate(arguments)]
        if run == 1:
            counters[:] = 0
        start = time.perf_counter()
        executable(*given)
        seconds += (time.perf_counter() - start) if run else 0.0
    return Profile(seconds / runs, runs, tuple(_added_up(steps, counters, runs)))


@dataclass(frozen=True)
class _Step:
    """A kernel call or a copy in the host program; flops and bytes are of one call."""

    name: str
    kind: str
    source: str
    flops: int
    bytes: int


def _steps(placed: ir.Module, costs: Sequence[KernelCost]) -> Iterator[_Step]:
    """In the order of `host-to-llvm`.

    Kernels of one name in the cost analysis and in the host program come in the same order.
    """
    waiting: dict[str, deque[KernelCost]] = defaultdict(deque)
    for cost in costs:
        waiting[re.sub(r"\W", "_", cost.name)].append(cost)
    for op in _operations(placed.body):
        if op.name == "memref.copy":
            size = byte_size(op.operands[0].type)
            yield _Step(f"{COPY} of {byte_text(size)}", COPY, "", 0, 2 * size)
        elif op.name == "func.call":
            name = ir.attributes.string(op, "callee")
            known = waiting[name.rpartition("_")[0]]
            if known:
                yield _step_of(name, known.popleft())
            else:
                size = sum(byte_size(value.type) for value in op.operands)
                kind = "fill" if name.startswith("fill_") else "op"
                yield _Step(name, kind, "", 0, size)


def _step_of(name: str, cost: KernelCost) -> _Step:
    return _Step(name, cost.kind, short_source_line(cost.location), cost.flops, cost.bytes)


def _operations(block: ir.Block) -> Iterator[ir.Operation]:
    for op in block.operations:
        yield op.operation
        for region in op.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def _added_up(
    steps: Sequence[_Step], counters: np.ndarray[Any, Any], runs: int
) -> list[KernelProfile]:
    groups: dict[str, list[int]] = {}
    for i, step in enumerate(steps):
        groups.setdefault(step.name, []).append(i)
    kernels = [
        KernelProfile(
            name, steps[group[0]].kind, steps[group[0]].source,
            calls=float(counters[group, 1].sum()) / runs,
            seconds=1e-9 * float(counters[group, 0].sum()) / runs,
            flops=sum(steps[i].flops * float(counters[i, 1]) for i in group) / runs,
            bytes=sum(steps[i].bytes * float(counters[i, 1]) for i in group) / runs,
        )
        for name, group in groups.items()
    ]  # fmt: skip
    return sorted((k for k in kernels if k.calls), key=lambda kernel: -kernel.seconds)


def _row(kernel: KernelProfile, total: float) -> str:
    seconds = max(kernel.seconds, 1e-12)
    where = f" {kernel.source}" if kernel.source else ""
    return (
        f"{100 * kernel.seconds / total:>6.1f}% {1e6 * kernel.seconds:>10.1f} "
        f"{kernel.calls:>8.10g} {1e6 * kernel.seconds / kernel.calls:>10.2f} "
        f"{1e-9 * kernel.bytes / seconds:>7.1f} {1e-9 * kernel.flops / seconds:>8.1f}  "
        f"{kernel.name} [{kernel.kind}]{where}\n"
    )
