"""From a program to machine code that can be called: the stages in order, timed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from hlo import knobs
from hlo.diagnostics import ArgumentError, CompileError, UnsupportedError
from hlo.driver.added_passes import added_passes
from hlo.driver.cache.kernel_cache import KernelCache
from hlo.driver.cache.program_cache import open_cache
from hlo.driver.cache.stored_program import StoredProgram
from hlo.driver.cached_compilation import Compilation
from hlo.driver.codegen import ProgramCode
from hlo.driver.compilation_report import report
from hlo.driver.host_summary import signature_of, statistics_of
from hlo.driver.inspected_program import InspectedProgram
from hlo.driver.made_program import MadeProgram, Options, Stopwatch, make_program
from hlo.driver.pass_pipeline import without_collection
from hlo.driver.phases import Phase
from hlo.driver.preconditions import check_options, depth_as_error
from hlo.driver.profile import Profile, profile
from hlo.driver.program_source import ProgramSource
from hlo.driver.program_text import name_of
from hlo.executable import runtime
from hlo.passes.cost.kernel_cost import launch_costs
from hlo.passes.cost.machine import HOST, Machine
from hlo.passes.hlo_to_gpu.target import PREFIX, is_gpu_target
from hlo.passes.hlo_to_gpu.target import TARGETS as GPU_TARGETS
from hlo.passes.hlo_to_host.kernel_table import KnownKernels

if TYPE_CHECKING:
    from hlo.driver.gpu_compile import GpuCompiled

TARGETS = ("cpu", *(PREFIX + chip for chip in GPU_TARGETS))

# Kernels emitted in this process, by whether they may call the vendor's library.
_KNOWN_KERNELS = {vendor: KnownKernels() for vendor in (False, True)}


class Compiled(InspectedProgram):
    """A program in machine code: call it with one array for each argument."""

    def __init__(
        self, source: ProgramSource, stored: StoredProgram, executable: runtime.Executable,
        options: Options, made: MadeProgram | None,
    ) -> None:  # fmt: skip
        super().__init__(source, stored.statistics, options, made)
        self._stored = stored
        self._executable = executable

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
    def _machine(self) -> Machine:
        return HOST.on(self._options.threads or runtime.hardware_threads())

    @property
    def name(self) -> str:
        """The program's name."""
        return self._executable.name

    @property
    def target_name(self) -> str:
        """What it was compiled for, as `hlo.compile` is told."""
        return "cpu"

    @property
    def stored(self) -> StoredProgram:
        """The program without what it was made of."""
        return self._stored

    def profile(self, *arguments: object, runs: int = 20) -> Profile:
        """Runs the program with a clock around each of its kernels.

        Args:
            arguments: as of a call; donated ones are copied for each run, and stay.
            runs: how many runs the times are the mean of, at least 1.

        Raises:
            ArgumentError: a count, shape or dtype differs from the signature, or `runs` is not
                positive.
        """
        if runs < 1:
            raise ArgumentError(f"runs: expected at least 1, found {runs}")
        entry, donated = self._analysed.fused_entry, self._host.donated
        costs = launch_costs(entry, self._machine, donated)
        options = self._options
        return profile(self._made, costs, arguments, runs, options.threads, self.name, options.fast)


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
    return runtime.on_large_stack(lambda: _compile_for(target, program, chosen))


def _compile_for(target: str, program: object, chosen: Options) -> Compiled | GpuCompiled:
    with depth_as_error(), without_collection():
        if is_gpu_target(target):
            from hlo.driver.gpu_compile import compile_for_gpu

            return compile_for_gpu(program, target, chosen)
        if chosen.emulate:
            raise CompileError(f"option emulate: the target {target!r} is not emulated but run")
        if chosen.tf32:
            raise CompileError(f"option tf32: the target {target!r} has no tensor cores")
        return _compile(program, chosen)


def _compile(program: object, chosen: Options) -> Compiled:
    def make(source: ProgramSource, watch: Stopwatch) -> tuple[StoredProgram, MadeProgram]:
        return _made(source, chosen, watch, None if cache is None else cache.kernels)

    def load(program: StoredProgram) -> runtime.Executable:
        return _loaded(program, chosen)

    def wrap(
        source: ProgramSource, stored: StoredProgram, executable: runtime.Executable,
        made: MadeProgram | None,
    ) -> Compiled:  # fmt: skip
        return Compiled(source, stored, executable, chosen, made)

    cache = open_cache("cpu", asdict(chosen)) if chosen.cacheable else None
    compiled = Compilation(make, load, wrap).run(ProgramSource(program), cache, Stopwatch())
    report(compiled.name, compiled.stage_seconds, [p.label for p in Phase], compiled.as_text)
    return compiled


def _made(
    source: ProgramSource, chosen: Options, watch: Stopwatch, kernels: KernelCache | None
) -> tuple[StoredProgram, MadeProgram]:
    code = ProgramCode(kernels)
    # Who does without a cache wants everything made afresh.
    known = None if kernels is None else _KNOWN_KERNELS[chosen.vendor]
    made = make_program(source.module, chosen, watch, announce=code.add, known=known)
    with watch.stage("codegen"):
        objects = code.objects_of(made.host, made.placed)
    calls = sum("func.call @" in line for line in made.host.text.splitlines())
    program = StoredProgram(
        name=name_of(source.module),
        objects=tuple(objects),
        signature=signature_of(made.host),
        constants=tuple(map(np.ascontiguousarray, made.host.constants)),
        statistics=statistics_of(made, calls, len(made.host.kernels)),
    )
    return program, made


def _warn_of_unused_donations(program: StoredProgram, donate: Sequence[int]) -> None:
    taken = {result.donated_argument for result in program.signature.results}
    arguments = program.signature.arguments
    unused = [
        f"{i} ({arguments[i].dtype}[{','.join(map(str, arguments[i].shape))}])"
        for i in donate
        if i not in taken
    ]
    if unused:
        warnings.warn(
            f"'{program.name}': no result takes over the donated arguments {', '.join(unused)}: "
            "one needs a result of its own, of its shape and dtype; assert_donated() says which",
            stacklevel=2,
        )


def load_compiled(source: ProgramSource, stored: StoredProgram, options: Options) -> Compiled:
    """A program of which the machine code is known.

    Raises:
        CompileError: the code cannot be loaded.
    """
    return Compiled(source, stored, _loaded(stored, options), options, None)


def _loaded(program: StoredProgram, chosen: Options) -> runtime.Executable:
    _warn_of_unused_donations(program, chosen.donate)
    return runtime.load(
        program.objects, program.signature, arena_bytes=program.statistics.arena_bytes,
        constants=program.constants, threads=chosen.threads, name=program.name,
        flush_subnormals=chosen.fast,
    )  # fmt: skip


def _chosen(options: dict[str, Any]) -> Options:
    known = [option.name for option in fields(Options)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise CompileError(f"unknown option {unknown[0]!r}; the options are: {', '.join(known)}")
    check_options(options)
    if "passes" in options:
        options["passes"] = added_passes(options["passes"], options.get("optimize", True))
    defaults = knobs.current()
    options.setdefault("threads", defaults.threads)
    options.setdefault("verify", defaults.verify_each)
    options.setdefault("vendor", defaults.vendor)
    return Options(**options)
