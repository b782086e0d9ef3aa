"""`Compiled.explain()` and `hlo-opt --explain-fusion`: each fusion decision, and what it saves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hlo.driver.byte_text import byte_text
from hlo.driver.cost_report import CostAnalysis, cost_analysis, program_cost
from hlo.driver.memory_report import copies_of
from hlo.driver.program_analysis import AnalysedProgram
from hlo.driver.source_lines import at_source, source_line
from hlo.passes.cost.kernel_cost import floor_bytes
from hlo.passes.fusion.launches import launch_edges, name_of
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.layouts.choose import LayoutDecision


@dataclass(frozen=True)
class EdgeReport:
    """One decision: whether a producer went into its consumer's kernel, and why.

    Attributes:
        producer, consumer: names of ops.
        producer_location, consumer_location: as MLIR prints them.
    """

    producer: str
    producer_location: str
    consumer: str
    consumer_location: str
    fused: bool
    reason: str


@dataclass(frozen=True)
class LaunchReport:
    """Two kernels that share a launch, or of which one reads the other in a launch of its own.

    Attributes as of `EdgeReport`; producer and consumer are names of kernels.
    """

    producer: str
    producer_location: str
    consumer: str
    consumer_location: str
    joined: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain data."""
        return {
            "producer": self.producer,
            "producer_source": source_line(self.producer_location),
            "consumer": self.consumer,
            "consumer_source": source_line(self.consumer_location),
            "joined": self.joined,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class KernelChoice:
    """Why a kernel is the one it is, where there were several, or a loop is opened or kept."""

    kernel: str
    reason: str


@dataclass(frozen=True)
class Traffic:
    """Bytes to and from memory in one run.

    Attributes:
        unfused: if every op were a kernel that reads its operands and writes its results.
        fused: of the kernels the program has, and of the copies between them.
        copied: the part of `fused` that copies move; those in loops count once.
        floor: of the inputs and results alone: no program that computes this moves less.
        moved: the part of `fused` of kernels that compute nothing: transposes, pads, slices, ...
    """

    unfused: int
    fused: int
    copied: int
    floor: int
    moved: int

    @property
    def above_floor(self) -> float:
        """How far `fused` is above the floor, as a fraction of it."""
        return (self.fused - self.floor) / self.floor if self.floor else 0.0


@dataclass(frozen=True)
class FusionReport:
    """Why a program has the kernels it has, and its values the layouts they have."""

    edges: tuple[EdgeReport, ...]
    cost: CostAnalysis
    traffic: Traffic
    layouts: tuple[LayoutDecision, ...] = ()
    launches: tuple[LaunchReport, ...] = ()
    choices: tuple[KernelChoice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data; docs/fusion.md has the schema."""
        return {
            "version": 1,
            "edges": [
                {
                    "producer": edge.producer,
                    "producer_source": source_line(edge.producer_location),
                    "consumer": edge.consumer,
                    "consumer_source": source_line(edge.consumer_location),
                    "fused": edge.fused,
                    "reason": edge.reason,
                }
                for edge in self.edges
            ],
            "kernels": self.cost.to_dict()["kernels"],
            "traffic": {
                "unfused": self.traffic.unfused,
                "fused": self.traffic.fused,
                "copied": self.traffic.copied,
                "floor": self.traffic.floor,
                "moved": self.traffic.moved,
            },
            "layouts": [
                {
                    "op": layout.op,
                    "source": source_line(layout.location),
                    "shape": list(layout.shape),
                    "minor_to_major": list(layout.minor_to_major),
                    "taken": layout.taken,
                    "ops": layout.ops,
                    "reason": layout.reason,
                }
                for layout in self.layouts
            ],
            "launches": [launch.to_dict() for launch in self.launches],
            "choices": [asdict(choice) for choice in self.choices],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def as_text(self) -> str:
        """The report for people: layouts, edges, launches, kernels, traffic."""
        decisions = f"{self._layouts_text()}{self._edges_text()}{self._launches_text()}"
        decisions += "".join(f"kernel {c.kernel}: {c.reason}\n" for c in self.choices)
        return f"{decisions}{self.cost.as_text()}{self._traffic_text()}"

    def __str__(self) -> str:
        return self.as_text()

    def _layouts_text(self) -> str:
        if not self.layouts:
            return ""
        taken = sum(layout.taken for layout in self.layouts)
        lines = [f"layouts asked for: {len(self.layouts)}, taken: {taken}"]
        for layout in self.layouts:
            sizes, dims = ("x".join(map(str, layout.shape)), list(layout.minor_to_major))
            verdict = f"taken by {layout.ops} ops" if layout.taken else "not taken"
            lines.append(
                f"  {at_source(layout.op, layout.location)}: {sizes} as {dims}: {verdict} because "
                f"{layout.reason}"
            )
        return "\n".join(lines) + "\n"

    def _edges_text(self) -> str:
        fused = sum(edge.fused for edge in self.edges)
        lines = [f"edges: {len(self.edges)}, fused: {fused}, not fused: {len(self.edges) - fused}"]
        for edge in self.edges:
            verdict = "fused because" if edge.fused else "not fused because"
            lines.append(
                f"  {at_source(edge.producer, edge.producer_location)} -> "
                f"{at_source(edge.consumer, edge.consumer_location)}: {verdict} {edge.reason}"
            )
        return "\n".join(lines) + "\n"

    def _launches_text(self) -> str:
        if not self.launches:
            return ""
        joined = sum(launch.joined for launch in self.launches)
        apart = len(self.launches) - joined
        lines = [f"joined in one launch: {joined}, not joined: {apart}"]
        for launch in self.launches:
            verdict = "joined because" if launch.joined else "not joined because"
            lines.append(
                f"  {at_source(launch.producer, launch.producer_location)} -> "
                f"{at_source(launch.consumer, launch.consumer_location)}: {verdict} {launch.reason}"
            )
        return "\n".join(lines) + "\n"

    def _traffic_text(self) -> str:
        t = self.traffic
        return (
            f"traffic unfused: {t.unfused} bytes ({byte_text(t.unfused)})\n"
            f"traffic fused: {t.fused} bytes ({byte_text(t.fused)}), of copies: {t.copied}\n"
            f"traffic of kernels that only move data: {t.moved} bytes ({byte_text(t.moved)})\n"
            f"traffic floor: {t.floor} bytes ({byte_text(t.floor)})\n"
            f"fused above floor: {100 * t.above_floor:.2f}%\n"
        )


def explain(program: AnalysedProgram) -> FusionReport:
    """The fusion report of a program."""
    unfused, cost = program.unfused_entry, program_cost(program)
    copied = 2 * sum(copy.bytes for copy in copies_of(program.host, program.fused))
    return FusionReport(
        edges=tuple(
            EdgeReport(
                edge.producer.name,
                edge.producer.location,
                edge.consumer.name,
                edge.consumer.location,
                edge.decision.fused,
                edge.decision.reason,
            )
            for edge in program.edges
        ),
        cost=cost,
        traffic=Traffic(
            unfused=cost_analysis(unfused).bytes_accessed,
            fused=cost.bytes_accessed + copied,
            copied=copied,
            floor=floor_bytes(unfused),
            moved=sum(kernel.calls * kernel.bytes_moved for kernel in cost.kernels),
        ),
        layouts=program.layouts,
        launches=tuple(
            LaunchReport(
                name_of(edge.producer),
                edge.producer.location,
                name_of(edge.consumer),
                edge.consumer.location,
                edge.joined,
                edge.reason,
            )
            for edge in launch_edges(program.fused_entry)
        ),
        choices=tuple(_choices(program)),
    )


def _choices(program: AnalysedProgram) -> Iterator[KernelChoice]:
    for name, kernel in program.host.kernels.items():
        if isinstance(kernel, GpuKernel) and kernel.reason:
            yield KernelChoice(name, kernel.reason)
    for node, choice in program.products:
        yield KernelChoice(at_source(node.name, node.location), choice.reason)
    for loop in program.loops:
        verdict = "opened" if loop.opened else "kept"
        yield KernelChoice(at_source("while", loop.location), f"{verdict}: {loop.reason}")
