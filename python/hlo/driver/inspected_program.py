"""What every compiled program can tell of itself, whatever its target."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from hlo import ir, knobs
from hlo.driver.cache.stored_program import StoredProgram
from hlo.driver.cost_report import CostAnalysis, program_cost
from hlo.driver.explain import FusionReport, explain
from hlo.driver.late_phases import is_late, text_of_host
from hlo.driver.made_program import MadeProgram, Options, Stopwatch, make_program
from hlo.driver.memory_report import MemoryAnalysis, memory_analysis
from hlo.driver.module_copy import copy_of
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.driver.preconditions import depth_as_error
from hlo.driver.program_analysis import AnalysedProgram, analyse
from hlo.driver.program_source import ProgramSource
from hlo.driver.statistics import ProgramStatistics
from hlo.executable.runtime import on_large_stack
from hlo.importers.python_callbacks import callbacks_in
from hlo.passes.cost.machine import Machine
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.kernels import emit_kernel
from hlo.passes.memory.place import Arena


class InspectedProgram(ABC):
    """A compiled program's reports, and how it is saved; subclasses say how it is called.

    Attributes:
        statistics: counts, sizes, and seconds of each stage of the compilation.
    """

    # Whether the target has kernels for attention and for several steps in one.
    _composites: ClassVar[bool] = True

    def __init__(
        self, source: ProgramSource, statistics: ProgramStatistics, options: Options,
        made: MadeProgram | None,
    ) -> None:  # fmt: skip
        self._source = source
        self._options = options
        self._known = made
        # Programs from the cache have none. Kept here, they go with the program.
        self._callbacks = () if made is None else callbacks_in(source.module)
        self.statistics = statistics

    @property
    @abstractmethod
    def target_name(self) -> str:
        """What it was compiled for, as `hlo.compile` is told."""

    @property
    @abstractmethod
    def stored(self) -> StoredProgram:
        """The program without what it was made of."""

    @property
    def options(self) -> Options:
        """What it was compiled with."""
        return self._options

    @property
    def source(self) -> ProgramSource:
        """What it was made of."""
        return self._source

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program to a file, for `hlo.load`.

        The file holds machine code and what it was compiled from: see `hlo.driver.saved_program`.

        Raises:
            UnsupportedError: it calls Python functions, which this process alone has.
            OSError: the file cannot be written.
        """
        from hlo.driver.saved_program import write

        write(self, Path(path))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from hlo.driver.saved_program import from_bytes, to_bytes

        return from_bytes, (to_bytes(self),)

    def _emit(self, region: Region) -> Kernel:
        """The target's kernel of a region."""
        return emit_kernel(region)

    def _kernels_text(self) -> str:
        """The kernels beside a host program; empty where a late phase knows them by itself."""
        return ""

    @property
    def stage_seconds(self) -> dict[str, float]:
        """Seconds of each stage of the compilation, in order."""
        return self.statistics.stage_seconds

    @property
    def from_cache(self) -> bool:
        """Whether the code was found in the compilation cache."""
        return self.statistics.cache == "hit"

    @property
    def arena(self) -> Arena:
        """The plan of the memory for intermediates."""
        return self._made.arena

    @cached_property
    def _made(self) -> MadeProgram:
        """The host program; that of a program from the cache is made here, without machine code."""
        if self._known is not None:
            return self._known
        with depth_as_error():
            return on_large_stack(
                lambda: make_program(
                    self._source.module, self._options, Stopwatch(), self._emit, self._composites
                )
            )

    @property
    def _machine(self) -> Machine | None:
        """The machine that times are estimated for; None where none are known."""
        return None

    @property
    def _module(self) -> ir.Module:
        return self._source.module

    @property
    def _host(self) -> HostProgram:
        return self._made.host

    @cached_property
    def _analysed(self) -> AnalysedProgram:
        options = self._options
        with knobs.scope(vendor=options.vendor):
            return on_large_stack(
                lambda: analyse(
                    self._module, options.donate, compiled=self._host,
                    max_bytes=options.max_bytes, emit=self._emit, machine=self._machine,
                    choice=options.pipeline(self._composites),
                )
            )  # fmt: skip

    def explain(self) -> FusionReport:
        """Each fusion decision with its reason, the kernels, and the bytes they move."""
        return explain(self._analysed)

    def cost_analysis(self) -> CostAnalysis:
        """Flops, bytes and estimated time of one run, and of each kernel."""
        return program_cost(self._analysed)

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments, results and every intermediate: sizes, live ranges and offsets."""
        options, program = self._options, self._analysed
        return memory_analysis(
            self._host, program.fused, options.donate, options.reuse, program.planned
        )

    def assert_donated(self) -> None:
        """Checks that results take over the memory of all donated arguments.

        Raises:
            DonationError: one is donated in vain; the message names it and says why.
        """
        self.memory_analysis().assert_donated()

    def as_text(self, stage: str = "fused") -> str:
        """The program after a stage, as MLIR text; see `hlo.driver.phases.Phase` for the names."""
        phase = Phase.parse(stage)
        if is_late(phase):
            return text_of_host(
                self._host, self._module.context, phase, self._options.reuse, self._kernels_text()
            )
        return on_large_stack(lambda: self._text_after(phase))

    def _text_after(self, phase: Phase) -> str:
        module = copy_of(self._module)
        with knobs.scope(vendor=self._options.vendor):
            for step in passes_to(phase, self._options.pipeline(self._composites)):
                step.run(module)
        return str(module)
