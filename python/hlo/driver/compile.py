"""From a program to machine code that can be called: the stages in order, timed."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from hlo import ir, knobs
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.driver.compilation_report import report
from hlo.driver.cost_report import CostAnalysis, cost_analysis
from hlo.driver.explain import FusionReport, explain
from hlo.driver.late_phases import is_late, signature_of, text_of_host
from hlo.driver.memory_report import MemoryAnalysis, memory_analysis
from hlo.driver.module_copy import copy_of
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.driver.preconditions import (
    check_addressable,
    check_donated_exist,
    check_functions,
    check_options,
    depth_as_error,
)
from hlo.driver.program_analysis import AnalysedProgram, analyse
from hlo.driver.program_text import name_of
from hlo.driver.statistics import ProgramStatistics
from hlo.executable import runtime
from hlo.importers.program import load_program
from hlo.passes.hlo_to_host.program import HostProgram, hlo_to_host
from hlo.passes.hlo_to_loops.loop_kernel import Kernel
from hlo.passes.host_to_llvm.convert import host_to_llvm
from hlo.passes.lower_to_llvm.modules import HOST_PIPELINE, KERNEL_PIPELINE, kernels_text, lower
from hlo.passes.memory.deallocate import Deallocate
from hlo.passes.memory.place import Arena, Place

TARGETS = ("cpu",)
KERNELS_PER_MODULE = (
    12  # enough to share the fixed cost of a module, few enough to balance two threads
)


@dataclass
class Stopwatch:
    """Seconds spent in each named stage."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Options:
    """Options of `compile`.

    Attributes:
        donate: indices of arguments whose memory results may take over.
        threads: most threads a call uses; 0 for all processors of the process.
        reuse: whether buffers may share memory.
        verify: run the verifier after every pass.
        optimize: simplify and fuse; without, every op of the program is a kernel of its own.
        fast: let simplification change how floats round, and take them for finite; the rules are
            listed in docs/simplification.md under "Fast arithmetic".
    """

    donate: tuple[int, ...] = ()
    threads: int = 0
    reuse: bool = True
    verify: bool = False
    optimize: bool = True
    fast: bool = False


class Compiled:
    """A program in machine code: call it with one array for each argument."""

    def __init__(
        self, module: ir.Module, host: HostProgram, placed: ir.Module, arena: Arena,
        executable: runtime.Executable, watch: Stopwatch, options: Options,
    ) -> None:  # fmt: skip
        self._module = module
        self._host = host
        self._placed = placed
        self._executable = executable
        self._options = options
        self.arena = arena
        self.stage_seconds = watch.seconds

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
    def statistics(self) -> ProgramStatistics:
        """Counts and sizes."""
        host = self._host
        calls = sum(1 for line in host.text.splitlines() if "func.call @" in line)
        sizes = [_bytes(shape, name) for shape, name in host.result_types]
        return ProgramStatistics(
            kernels=calls,
            distinct_kernels=len(host.kernels),
            arena_bytes=self.arena.bytes,
            argument_bytes=sum(_bytes(shape, name) for shape, name in host.argument_types),
            result_bytes=sum(sizes),
            alias_bytes=sum(sizes[i] for i in host.donated),
            stage_seconds=dict(self.stage_seconds),
        )

    @cached_property
    def _analysed(self) -> AnalysedProgram:
        options = self._options
        return analyse(self._module, options.donate, compiled=self._host, fast=options.fast)

    def explain(self) -> FusionReport:
        """Each fusion decision with its reason, the kernels, and the bytes they move."""
        return explain(self._analysed)

    def cost_analysis(self) -> CostAnalysis:
        """Flops and bytes of one run, and of each kernel."""
        return cost_analysis(self._analysed.fused_entry)

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments, results and every intermediate: sizes, live ranges and offsets."""
        options = self._options
        return memory_analysis(self._host, self._analysed.fused, options.donate, options.reuse)

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
        for step in passes_to(phase, self._options.fast):
            step.run(module)
        return str(module)


def compile(program: object, target: str = "cpu", **options: Any) -> Compiled:
    """Compiles a program.

    Args:
        program: hlo or StableHLO: text, bytecode, a path, or an `ir.Module`.
        target: what to compile for; `cpu` is this machine.
        options: fields of `Options`.

    Raises:
        CompileError: the program is malformed, or asks for what the target cannot do.
    """
    if target not in TARGETS:
        raise UnsupportedError(f"unknown target {target!r}; known targets: {', '.join(TARGETS)}")
    chosen = _chosen(options)
    with depth_as_error():
        return _compile(program, chosen)


def _compile(program: object, chosen: Options) -> Compiled:
    watch = Stopwatch()
    with watch.stage("import"):
        original = load_program(program)
        check_functions(original)
        module = copy_of(original)
    for element in passes_to(Phase.FUSED if chosen.optimize else Phase.LEGALIZED, chosen.fast):
        with watch.stage(element.name):
            element.run(module)
        if chosen.verify:
            ir.verify(module)
    with watch.stage("hlo-to-host"):
        host = hlo_to_host(module, chosen.donate)
        check_donated_exist(chosen.donate, len(host.argument_types))
        check_addressable(host.argument_types, host.result_types)
    with watch.stage("memory"):
        placed = ir.parse_module(host.text, module.context)
        Deallocate().run(placed)
        arena = Place(reuse=chosen.reuse).plan(placed)
    with watch.stage("codegen"):
        objects = _objects(host, placed)
    with watch.stage("load"):
        executable = runtime.load(
            objects, _signature(host), arena_bytes=arena.bytes,
            constants=[_stored(c) for c in host.constants],
            threads=chosen.threads, name=name_of(module),
        )  # fmt: skip
    compiled = Compiled(original, host, placed, arena, executable, watch, chosen)
    report(name_of(module), compiled.stage_seconds, compiled.as_text)
    return compiled


def _chosen(options: dict[str, Any]) -> Options:
    known = [option.name for option in fields(Options)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise CompileError(f"unknown option {unknown[0]!r}; the options are: {', '.join(known)}")
    check_options(options)
    defaults = knobs.current()
    options.setdefault("threads", defaults.threads)
    options.setdefault("verify", defaults.verify_each)
    return Options(**options)


def _objects(host: HostProgram, placed: ir.Module) -> list[bytes]:
    """Object files of the entry and of the kernels, compiled side by side."""
    names = list(host.kernels)
    groups = max(1, min(len(names) // KERNELS_PER_MODULE + 1, runtime.hardware_threads()))
    parts: list[dict[str, Kernel]] = [
        {n: host.kernels[n] for n in names[i::groups]} for i in range(groups)
    ]
    jobs = [(host_to_llvm(placed, signature_of(host)), HOST_PIPELINE)]
    jobs += [(kernels_text(part), KERNEL_PIPELINE) for part in parts if part]
    if len(names) <= KERNELS_PER_MODULE:
        return [_object(*job) for job in jobs]
    with ThreadPoolExecutor(runtime.hardware_threads()) as pool:
        return list(pool.map(lambda job: _object(*job), jobs))


def _object(text: str, pipeline: str) -> bytes:
    context = ir.make_lowering_context()
    runtime.register_llvm_translation(context)
    return runtime.compile_to_object(
        lower(text, pipeline, context), runtime.CodegenOptions(verify=False)
    )


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
