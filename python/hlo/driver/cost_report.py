"""`Compiled.cost_analysis()`: flops, bytes and time of a program and of each of its kernels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hlo.driver.byte_text import byte_text
from hlo.driver.program_analysis import AnalysedProgram
from hlo.driver.source_lines import short_source_line, source_line
from hlo.passes.cost.estimate import Estimate
from hlo.passes.cost.kernel_cost import KernelCost, kernel_costs, unknown_trip_counts
from hlo.passes.cost.machine import Machine
from hlo.passes.hlo_to_loops.graph import Region


@dataclass(frozen=True)
class CostAnalysis:
    """What one run of a program costs; see `hlo.passes.cost` for what is counted.

    Attributes:
        kernels: in program order, those in loops once, with how often they run.
        unknown_trip_counts: loops that count one iteration because theirs is not known.
    """

    kernels: tuple[KernelCost, ...]
    unknown_trip_counts: int = 0

    @property
    def flops(self) -> int:
        """Arithmetic operations, transcendental functions apart."""
        return sum(kernel.calls * kernel.flops for kernel in self.kernels)

    @property
    def transcendentals(self) -> int:
        """Evaluations of transcendental functions and roots."""
        return sum(kernel.calls * kernel.transcendentals for kernel in self.kernels)

    @property
    def bytes_accessed(self) -> int:
        """Bytes that kernels read from and write to memory."""
        return sum(kernel.calls * kernel.bytes for kernel in self.kernels)

    @property
    def estimated_seconds(self) -> float:
        """The time that the cost model gives one run; 0 where it knows no such machine."""
        return sum(kernel.calls * e.seconds for kernel, e in self._estimates)

    @property
    def bytes_cached(self) -> int:
        """Bytes that kernels find in caches, by the cost model."""
        return sum(kernel.calls * e.cached for kernel, e in self._estimates)

    @property
    def bytes_of_memory(self) -> int:
        """Bytes that kernels move to and from memory, by the cost model."""
        return sum(kernel.calls * e.memory for kernel, e in self._estimates)

    @property
    def _estimates(self) -> list[tuple[KernelCost, Estimate]]:
        return [(k, k.estimate) for k in self.kernels if k.estimate is not None]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data; docs/fusion.md has the schema."""
        return {
            "version": 1,
            "flops": self.flops,
            "transcendentals": self.transcendentals,
            "bytes_accessed": self.bytes_accessed,
            "estimated_seconds": self.estimated_seconds,
            "bytes_cached": self.bytes_cached,
            "bytes_of_memory": self.bytes_of_memory,
            "unknown_trip_counts": self.unknown_trip_counts,
            "kernels": [_kernel_dict(kernel) for kernel in self.kernels],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def as_text(self) -> str:
        """A table of kernels and the totals."""
        head = (
            f"{'#':>5} {'calls':>8} {'read':>11} {'written':>11} {'flops':>13} {'transc.':>11} "
            f"{'est. us':>9} {'from memory':>11} {'bound':>8}  kernel\n"
        )
        rows = "".join(_row(kernel) for kernel in self.kernels)
        loops = self.unknown_trip_counts
        note = f"loops of unknown trip count, counted once: {loops}\n" if loops else ""
        return (
            f"kernels: {len(self.kernels)}\n{head if self.kernels else ''}{rows}{note}"
            f"flops: {self.flops}, transcendentals: {self.transcendentals}, "
            f"bytes accessed: {self.bytes_accessed}\n{self._time_text()}"
        )

    def _time_text(self) -> str:
        if not self._estimates:
            return ""
        return (
            f"estimated: {1e6 * self.estimated_seconds:.1f} us, with {self.bytes_cached} bytes "
            f"found in caches, {self.bytes_of_memory} moved to and from memory\n"
        )


def cost_analysis(
    fused: Region, machine: Machine | None = None, donated: Mapping[int, int] | None = None
) -> CostAnalysis:
    """The cost of a fused entry; with times on a machine, where one is given.

    Args:
        donated: result -> argument whose memory it takes over.
    """
    costs = kernel_costs(fused, machine, donated)
    return CostAnalysis(tuple(costs), unknown_trip_counts(fused))


def program_cost(program: AnalysedProgram) -> CostAnalysis:
    """The cost of a program as it is compiled."""
    return cost_analysis(program.fused_entry, program.machine, program.host.donated)


def _kernel_dict(kernel: KernelCost) -> dict[str, Any]:
    found: dict[str, Any] = {
        "launch": kernel.launch,
        "name": kernel.name,
        "kind": kernel.kind,
        "source": source_line(kernel.location),
        "calls": kernel.calls,
        "flops": kernel.flops,
        "transcendentals": kernel.transcendentals,
        "bytes_read": kernel.bytes_read,
        "bytes_written": kernel.bytes_written,
    }
    return found | ({"estimate": asdict(kernel.estimate)} if kernel.estimate else {})


def _row(kernel: KernelCost) -> str:
    where, timed = short_source_line(kernel.location), kernel.estimate
    seconds, memory, bound = "", "", ""
    if timed is not None:
        seconds, bound = f"{1e6 * timed.seconds:.2f}", timed.bound
        memory = byte_text(timed.memory)
    return (
        f"{kernel.launch:>5} {kernel.calls:>8} {byte_text(kernel.bytes_read):>11} "
        f"{byte_text(kernel.bytes_written):>11} {kernel.flops:>13} {kernel.transcendentals:>11} "
        f"{seconds:>9} {memory:>11} {bound:>8}  "
        f"{kernel.name} [{kernel.kind}]{f' {where}' if where else ''}\n"
    )
