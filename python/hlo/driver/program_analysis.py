"""What the reports look at: a program just before fusion, after it, and as a host program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hlo import ir
from hlo.driver.memory_budget import plan, plan_within
from hlo.driver.module_copy import copy_of
from hlo.driver.pass_pipeline import Instrumentation, PipelineElement, run_pipeline
from hlo.driver.phases import Phase
from hlo.driver.pipeline import DEFAULT, PipelineChoice, passes_to
from hlo.passes.cost.machine import HOST, Machine
from hlo.passes.cost.product_choice import ProductChoice, library_choices
from hlo.passes.fusion.fuse import Fuse
from hlo.passes.fusion.groups import Edge
from hlo.passes.hlo_to_host.program import HostProgram, entry_of, hlo_to_host, mark_donated
from hlo.passes.hlo_to_loops.graph import Node, Region, region_of
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.kernels import emit_kernel
from hlo.passes.layouts.assign_layouts import AssignLayouts
from hlo.passes.layouts.choose import LayoutDecision
from hlo.passes.memory.schedule import Decision, Schedule
from hlo.passes.simplify.analyze_trip_counts import AnalyzeTripCounts, LoopDecision


@dataclass(frozen=True)
class AnalysedProgram:
    """A program's stages.

    Attributes:
        unfused, fused: the module before and after `fuse`.
        edges: the decisions of `fuse`, with their reasons.
        layouts: those of `assign-layouts`.
        planned: what `schedule` did with each block.
        loops: the decisions on opening those that run a known number of times.
        products: matrix products that are, or could be, calls of the vendor's library.
        donate: arguments whose memory the caller lets results take over.
        compiled: the host program, where it is known.
        emit: makes the kernel of a region, for the target.
        machine: that times are estimated for; None for a target of which no times are known.
    """

    unfused: ir.Module
    fused: ir.Module
    edges: tuple[Edge, ...]
    layouts: tuple[LayoutDecision, ...] = ()
    planned: tuple[Decision, ...] = ()
    loops: tuple[LoopDecision, ...] = ()
    products: tuple[tuple[Node, ProductChoice], ...] = ()
    donate: tuple[int, ...] = ()
    compiled: HostProgram | None = None
    emit: Callable[[Region], Kernel] = emit_kernel
    machine: Machine | None = None

    @property
    def unfused_entry(self) -> Region:
        """The entry's body before fusion."""
        return _entry(self.unfused)

    @property
    def fused_entry(self) -> Region:
        """The entry's body after fusion."""
        return _entry(self.fused)

    @cached_property
    def host(self) -> HostProgram:
        """The host program, without machine code."""
        return self.compiled or hlo_to_host(self.fused, self.donate, self.emit)


def analyse(
    program: ir.Module,
    donate: Sequence[int] = (),
    disabled: Collection[str] = (),
    compiled: HostProgram | None = None,
    max_bytes: int = 0,
    emit: Callable[[Region], Kernel] = emit_kernel,
    machine: Machine | None = HOST,
    choice: PipelineChoice = DEFAULT,
) -> AnalysedProgram:
    """Compiles a copy of a program up to fusion.

    Args:
        program: as `load_program` gives it.
        donate: as the option of `hlo.compile`.
        disabled: passes to leave out, as `hlo-opt --disable-pass` takes them.
        compiled: the host program, if the program was compiled already.
        max_bytes: as the option of `hlo.compile`.
        emit: as of `make_program`.
        machine: as of `AnalysedProgram`.
        choice: what the passes depend on.

    Raises:
        MemoryBudgetError: the program does not fit into `max_bytes`.
    """
    unfused = copy_of(program)
    mark_donated(unfused, donate)
    watch = Instrumentation(verify_each=False, disabled=frozenset(disabled))
    steps = passes_to(Phase.FUSED, choice)
    at, fuse = next((i, step) for i, step in enumerate(steps) if isinstance(step, Fuse))
    layouts: list[LayoutDecision] = []
    planned: list[Decision] = []
    loops: list[LoopDecision] = []

    def before(_: int, element: PipelineElement, module: ir.Module) -> None:
        if isinstance(element, AssignLayouts):
            layouts.extend(element.decisions(module))
        elif isinstance(element, AnalyzeTripCounts):
            loops.extend(element.decide(copy_of(module)))
        elif isinstance(element, Schedule):
            planned.extend(element.decide(module))

    deciding = replace(watch, before=before)
    run_pipeline(unfused, steps[:at], deciding)
    fused = copy_of(unfused)
    edges = [] if fuse.name in watch.disabled else fuse.decisions(unfused)
    run_pipeline(fused, steps[at:], deciding)
    if max_bytes:
        made = plan_within(
            fused, lambda m: plan(m, hlo_to_host(m, donate, emit), reuse=True), max_bytes
        )
        fused, compiled = made.fused, made.host
        planned.extend(made.reordered)
    products = () if machine is None else library_choices(_entry(fused))
    return AnalysedProgram(
        unfused,
        fused,
        tuple(edges),
        tuple(layouts),
        tuple(planned),
        tuple(loops),
        tuple(products),
        tuple(donate),
        compiled,
        emit,
        machine,
    )


def _entry(module: ir.Module) -> Region:
    return region_of(entry_of(module).regions[0].blocks[0])
