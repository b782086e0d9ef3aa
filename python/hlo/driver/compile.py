"""From a program to machine code that can be called: the stages in order, timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from hlo import ir, knobs
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.driver.cache.program_cache import ProgramCache, open_cache
from hlo.driver.cache.stored_program import StoredProgram
from hlo.driver.codegen import objects_of
from hlo.driver.compilation_report import report
from hlo.driver.cost_report import CostAnalysis, cost_analysis
from hlo.driver.explain import FusionReport, explain
from hlo.driver.late_phases import is_late, text_of_host
from hlo.driver.made_program import MadeProgram, Options, Stopwatch, make_program
from hlo.driver.memory_report import MemoryAnalysis, memory_analysis
from hlo.driver.module_copy import copy_of
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.driver.preconditions import check_options, depth_as_error
from hlo.driver.program_analysis import AnalysedProgram, analyse
from hlo.driver.program_source import ProgramSource
from hlo.driver.program_text import name_of
from hlo.driver.statistics import ProgramStatistics
from hlo.executable import runtime
from hlo.passes.hlo_to_gpu.target import PREFIX, is_gpu_target
from hlo.passes.hlo_to_gpu.target import TARGETS as GPU_TARGETS
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.memory.place import Arena

if TYPE_CHECKING:
    from hlo.driver.gpu_compile import GpuCompiled

TARGETS = ("cpu", *(PREFIX + chip for chip in GPU_TARGETS))


class Compiled:
    """A program in machine code: call it with one array for each argument.

    Attributes:
        statistics: counts, sizes, and seconds of each stage of the compilation.
    """

    def __init__(
        self, source: ProgramSource, executable: runtime.Executable, statistics: ProgramStatistics,
        options: Options, made: MadeProgram | None,
    ) -> None:  # fmt: skip
        self._source = source
        self._executable = executable
        self._options = options
        self._known = made
        self.statistics = statistics

    def __call__(self, *arguments: object) -> tuple[np.ndarray[Any, Any], ...]:
        """Runs the program.

        Args:
            arguments: arrays of the program's argument shapes and dtypes; anything NumPy can
                convert.

        Returns:
            One NumPy array for each result, always in a tuple.

        Raises:
            ArgumentError: a count, shape or dtype differs from the signature.
        """
        return self._executable(*arguments)

    @property
    def name(self) -> str:
        """The program's name."""
        return self._executable.name

    @property
    def stage_seconds(self) -> dict[str, float]:
        """Seconds of each stage of the compilation, in order."""
        return self.statistics.stage_seconds

    @property
    def from_cache(self) -> bool:
        """Whether the machine code was found in the compilation cache."""
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
            return make_program(self._source.module, self._options, Stopwatch())

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
            return analyse(
                self._module, options.donate, compiled=self._host, fast=options.fast,
                max_bytes=options.max_bytes,
            )  # fmt: skip

    def explain(self) -> FusionReport:
        """Each fusion decision with its reason, the kernels, and the bytes they move."""
        return explain(self._analysed)

    def cost_analysis(self) -> CostAnalysis:
        """Flops and bytes of one run, and of each kernel."""
        return cost_analysis(self._analysed.fused_entry)

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
            return text_of_host(self._host, self._module.context, phase, self._options.reuse)
        module = copy_of(self._module)
        with knobs.scope(vendor=self._options.vendor):
            for step in passes_to(phase, self._options.fast):
                step.run(module)
        return str(module)


@overload
def compile(program: object, target: Literal["cpu"] = "cpu", **options: Any) -> Compiled: ...
@overload
def compile(program: object, target: str, **options: Any) -> Compiled | GpuCompiled: ...
def compile(program: object, target: str = "cpu", **options: Any) -> Compiled | GpuCompiled:
    """Compiles a program.

    Args:
        program: hlo or StableHLO: text, bytecode, a path, or an `ir.Module`.
        target: what to compile for: `cpu`, this machine, or `nvptx:sm_80` and the like.
        options: fields of `Options`.

    Raises:
        CompileError: the program is malformed, or asks for what the target cannot do.
    """
    if target not in TARGETS:
        raise UnsupportedError(f"unknown target {target!r}; known targets: {', '.join(TARGETS)}")
    chosen = _chosen(options)
    with depth_as_error():
        if is_gpu_target(target):
            from hlo.driver.gpu_compile import compile_for_gpu

            return compile_for_gpu(program, target, chosen)
        if chosen.emulate:
            raise CompileError(f"option emulate: the target {target!r} is not emulated but run")
        return _compile(program, chosen)


def _compile(program: object, chosen: Options) -> Compiled:
    watch = Stopwatch()
    source = ProgramSource(program)
    # Who asks for verification wants the passes to run.
    cache = None if chosen.verify else open_cache("cpu", asdict(chosen))
    compiled = (
        _compiled_afresh(source, chosen, watch, None, "")
        if cache is None
        else _compiled_through(cache, source, chosen, watch)
    )
    report(compiled.name, compiled.stage_seconds, compiled.as_text)
    return compiled


def _compiled_through(
    cache: ProgramCache, source: ProgramSource, chosen: Options, watch: Stopwatch
) -> Compiled:
    text = source.text
    source_name = ""
    if text is not None:
        with watch.stage("cache"):
            source_name = cache.name_of_source(text)
            name = cache.find_source(source_name)
        if name and (compiled := _compiled_from(cache, name, source, chosen, watch)):
            return compiled
    with watch.stage("import"):
        module = source.module
    with watch.stage("cache"):
        name = cache.name_of_module(module)
        if source_name:
            cache.keep_source(source_name, name)
    if compiled := _compiled_from(cache, name, source, chosen, watch):
        return compiled
    return _compiled_afresh(source, chosen, watch, cache, name)


def _compiled_from(
    cache: ProgramCache, name: str, source: ProgramSource, chosen: Options, watch: Stopwatch
) -> Compiled | None:
    """The program of that name in the cache; None if there is none that can be loaded."""
    with watch.stage("cache"):
        found = cache.find(name)
    if found is None:
        return None
    try:
        with watch.stage("load"):
            executable = _loaded(found, chosen)
    except CompileError as error:
        cache.discard(name, str(error))
        return None
    statistics = replace(found.statistics, stage_seconds=watch.seconds, cache="hit")
    return Compiled(source, executable, statistics, chosen, None)


def _compiled_afresh(
    source: ProgramSource, chosen: Options, watch: Stopwatch,
    cache: ProgramCache | None, name: str,
) -> Compiled:  # fmt: skip
    with watch.stage("import"):
        module = source.module
    made = make_program(module, chosen, watch)
    with watch.stage("codegen"):
        objects = objects_of(made.host, made.placed)
    program = StoredProgram(
        name=name_of(module),
        objects=tuple(objects),
        signature=_signature(made.host),
        constants=tuple(_stored(c) for c in made.host.constants),
        statistics=_statistics(made, "off" if cache is None else "miss"),
    )
    with watch.stage("load"):
        executable = _loaded(program, chosen)
    if cache is not None:
        with watch.stage("cache"):
            cache.keep(name, program)
    statistics = replace(program.statistics, stage_seconds=watch.seconds)
    return Compiled(source, executable, statistics, chosen, made)


def _loaded(program: StoredProgram, chosen: Options) -> runtime.Executable:
    return runtime.load(
        program.objects, program.signature, arena_bytes=program.statistics.arena_bytes,
        constants=program.constants, threads=chosen.threads, name=program.name,
    )  # fmt: skip


def _statistics(made: MadeProgram, cache: str) -> ProgramStatistics:
    host = made.host
    sizes = [_bytes(shape, name) for shape, name in host.result_types]
    return ProgramStatistics(
        kernels=sum(1 for line in host.text.splitlines() if "func.call @" in line),
        distinct_kernels=len(host.kernels),
        arena_bytes=made.arena.bytes,
        argument_bytes=sum(_bytes(shape, name) for shape, name in host.argument_types),
        result_bytes=sum(sizes),
        alias_bytes=sum(sizes[i] for i in host.donated),
        cache=cache,
    )


def _chosen(options: dict[str, Any]) -> Options:
    known = [option.name for option in fields(Options)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise CompileError(f"unknown option {unknown[0]!r}; the options are: {', '.join(known)}")
    check_options(options)
    defaults = knobs.current()
    options.setdefault("threads", defaults.threads)
    options.setdefault("verify", defaults.verify_each)
    options.setdefault("vendor", defaults.vendor)
    return Options(**options)


def _signature(host: HostProgram) -> runtime.Signature:
    donated = set(host.donated.values())
    return runtime.Signature(
        tuple(
            runtime.Argument(f"argument {i}", ir.types.to_dtype(name), shape, i in donated)
            for i, (shape, name) in enumerate(host.argument_types)
        ),
        tuple(
            runtime.Result(ir.types.to_dtype(name), shape, host.donated.get(i))
            for i, (shape, name) in enumerate(host.result_types)
        ),
    )


def _stored(constant: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(constant)


def _bytes(shape: Sequence[int], name: str) -> int:
    return int(np.prod(shape, dtype=np.int64)) * ir.types.to_dtype(name).itemsize
