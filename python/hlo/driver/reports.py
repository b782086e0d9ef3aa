"""The reports of `hlo-opt`: what it prints or draws of a program instead of the program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hlo import ir
from hlo.driver.command_line import write_output
from hlo.driver.explain import explain
from hlo.driver.graph_view import graph_html, graph_svg
from hlo.driver.memory_report import MemoryAnalysis, memory_analysis
from hlo.driver.memory_view import memory_html
from hlo.driver.pipeline import DEFAULT, PipelineChoice
from hlo.driver.preconditions import check_donated_exist, check_functions, depth_as_error
from hlo.driver.program_analysis import AnalysedProgram, analyse
from hlo.driver.program_text import name_of


@dataclass(frozen=True)
class Reports:
    """Which reports are wanted.

    Attributes:
        view_graph: file to draw the fused graph in: .html or .svg.
        view_memory: file to draw the memory plan in: .html.
        reuse: whether buffers may share memory.
        donate: arguments that may be overwritten.
        choice: what the passes depend on.
        max_bytes: most bytes of the peak; 0 for no limit.
        json: whether printed reports are JSON.
    """

    explain_fusion: bool = False
    explain_memory: bool = False
    print_live_ranges: bool = False
    view_graph: Path | None = None
    view_memory: Path | None = None
    reuse: bool = True
    donate: tuple[int, ...] = ()
    choice: PipelineChoice = DEFAULT
    max_bytes: int = 0
    json: bool = False

    @property
    def any(self) -> bool:
        """Whether a report is wanted."""
        return bool(
            self.explain_fusion
            or self.explain_memory
            or self.print_live_ranges
            or self.view_graph
            or self.view_memory
        )


NO_REPORTS = Reports()


def report_text(
    module: ir.Module, wanted: Reports, disabled: frozenset[str] = frozenset(), *,
    target: str = "", tf32: bool = False,
) -> str:  # fmt: skip
    """Writes the pictures and returns the text of the reports.

    Args:
        disabled: passes to leave out.
        target: `nvptx:CHIP` for the kernels of a GPU.
        tf32: as the option of `hlo.compile`.
    """
    with depth_as_error():
        check_functions(module)
        made = partial(analyse, module, wanted.donate, disabled, max_bytes=wanted.max_bytes)
        if target:
            # Only who asks for a GPU's kernels pays for these.
            from hlo.passes.hlo_to_gpu.kernels import emit_gpu_kernel
            from hlo.passes.hlo_to_gpu.target import gpu_target

            emit = partial(emit_gpu_kernel, tf32=tf32, target=gpu_target(target))
            choice = replace(wanted.choice, composites=False)
            program = made(emit=emit, machine=None, choice=choice)
        else:
            program = made(choice=wanted.choice)
        check_donated_exist(wanted.donate, len(program.host.argument_types))
    parts: list[str] = []
    if wanted.explain_fusion:
        report = explain(program)
        parts.append(report.to_json() + "\n" if wanted.json else report.as_text())
    if wanted.view_graph:
        picture = graph_svg if wanted.view_graph.suffix == ".svg" else graph_html
        write_output(str(wanted.view_graph), picture(program))
    if wanted.explain_memory or wanted.print_live_ranges or wanted.view_memory:
        parts += _memory_parts(program, wanted)
    return "".join(parts)


def _memory_parts(program: AnalysedProgram, wanted: Reports) -> list[str]:
    memory = memory_analysis(
        program.host, program.fused, wanted.donate, wanted.reuse, program.planned
    )
    if wanted.view_memory:
        write_output(str(wanted.view_memory), memory_html(memory, name_of(program.fused)))
    return [_memory_text(memory, wanted)]


def _memory_text(memory: MemoryAnalysis, wanted: Reports) -> str:
    if wanted.explain_memory:
        return memory.to_json() + "\n" if wanted.json else memory.as_text()
    return memory.live_ranges_text() if wanted.print_live_ranges else ""
