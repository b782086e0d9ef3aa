"""`Compiled.cost_analysis()`: flops and bytes of a program and of each of its kernels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hlo.driver.byte_text import byte_text
from hlo.driver.source_lines import short_source_line, source_line
from hlo.passes.cost.kernel_cost import KernelCost, kernel_costs, unknown_trip_counts
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

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data; docs/fusion.md has the schema."""
        return {
            "version": 1,
            "flops": self.flops,
            "transcendentals": self.transcendentals,
            "bytes_accessed": self.bytes_accessed,
            "unknown_trip_counts": self.unknown_trip_counts,
            "kernels": [
                {
                    "name": kernel.name,
                    "kind": kernel.kind,
                    "source": source_line(kernel.location),
                    "calls": kernel.calls,
                    "flops": kernel.flops,
                    "transcendentals": kernel.transcendentals,
                    "bytes_read": kernel.bytes_read,
                    "bytes_written": kernel.bytes_written,
                }
                for kernel in self.kernels
            ],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def as_text(self) -> str:
        """A table of kernels and the totals."""
        head = f"{'calls':>8} {'read':>11} {'written':>11} {'flops':>13} {'transc.':>11}  kernel\n"
        rows = "".join(_row(kernel) for kernel in self.kernels)
        loops = self.unknown_trip_counts
        note = f"loops of unknown trip count, counted once: {loops}\n" if loops else ""
        return (
            f"kernels: {len(self.kernels)}\n{head if self.kernels else ''}{rows}{note}"
            f"flops: {self.flops}, transcendentals: {self.transcendentals}, "
            f"bytes accessed: {self.bytes_accessed}\n"
        )


def cost_analysis(fused: Region) -> CostAnalysis:
    """The cost of a fused entry."""
    return CostAnalysis(tuple(kernel_costs(fused)), unknown_trip_counts(fused))


def _row(kernel: KernelCost) -> str:
    where = short_source_line(kernel.location)
    return (
        f"{kernel.calls:>8} {byte_text(kernel.bytes_read):>11} "
        f"{byte_text(kernel.bytes_written):>11} {kernel.flops:>13} {kernel.transcendentals:>11}  "
        f"{kernel.name} [{kernel.kind}]{f' {where}' if where else ''}\n"
    )
