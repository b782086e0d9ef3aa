"""From a program to its host program with planned memory: all of a compilation but machine code."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hlo import ir, knobs
from hlo.driver.internal_error import stage_of_errors
from hlo.driver.memory_budget import PlannedProgram, plan, plan_within
from hlo.driver.module_copy import copy_of
from hlo.driver.pass_pipeline import run_pass, verify_after, without_collection
from hlo.driver.phases import Phase
from hlo.driver.pipeline import PipelineChoice, passes_to
from hlo.driver.preconditions import check_addressable, check_donated_exist
from hlo.passes.hlo_to_host.kernel_table import KnownKernels
from hlo.passes.hlo_to_host.program import HostProgram, hlo_to_host, mark_donated
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.kernels import emit_kernel
from hlo.passes.memory.place import Arena


@dataclass
class Stopwatch:
    """Seconds spent in each named stage."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        with stage_of_errors(name):
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
        passes: passes behind the compiler's own of a phase (`input`, `legalized`, `simplified`,
            `fused`): `{"simplified": [MyPass()]}`, or pipelines as text. The verifier runs after
            every pass then, and nothing is taken from the compilation cache.
        optimize: simplify and fuse; without, every op of the program is a kernel of its own.
        max_bytes: most bytes of the peak: arguments, results and intermediates; intermediates are
            made again, not kept, to stay within it. 0 for no limit.
        memory_first: take the order of ops that needs the least memory, though it be slower;
            without, only such that are not estimated to be, unless `max_bytes` asks for it.
        fast: let simplification change how floats round, and take them for finite; the rules are
            listed in docs/simplification.md under "Fast arithmetic". Subnormal numbers may be taken
            for zero; a processor that runs the program does, as with XLA:CPU always. Convolutions
            of 3 x 3 windows may add and subtract neighbours before they multiply (winograd).
        vendor: compute matrix products by the vendor's library where it is faster.
        deterministic: a program for a GPU gives the same result in every run; without, updates of
            a scatter that add floats to one element do so in any order, at the same time.
        tf32: on a GPU, multiply f32 by tensor cores in dots and convolutions that ask for no
            precision: factors are rounded to 11 bits, products are exact, sums are in f32.
        emulate: run a program for a GPU on the emulated device, which finds errors and races.
        emulator: which emulated device: `ptx`, the interpreter of PTX, with every check; `fibers`,
            machine code of the LLVM code that PTX is made from, much faster.
        schedule: of the emulated device: 0 in order, 1 backwards, others at random; `fibers` has
            two more orders, see `hlo.gpu.fiber_device`.
    """

    donate: tuple[int, ...] = ()
    threads: int = 0
    reuse: bool = True
    verify: bool = False
    passes: tuple[tuple[str, str], ...] = ()
    optimize: bool = True
    max_bytes: int = 0
    memory_first: bool = False
    fast: bool = False
    vendor: bool = True
    deterministic: bool = True
    tf32: bool = False
    emulate: bool = False
    emulator: str = "ptx"
    schedule: int = 0

    def pipeline(self, composites: bool) -> PipelineChoice:
        """What the passes depend on; `composites` as there."""
        return PipelineChoice(composites, self.fast, self.memory_first, self.passes)

    @property
    def cacheable(self) -> bool:
        """Whether the compilation cache is used: it knows the sources of hlo's own passes alone,
        and who asks for verification wants passes to run.
        """
        return not self.verify and not self.passes


@dataclass(frozen=True)
class MadeProgram:
    """A program compiled up to machine code.

    Attributes:
        host: the host program and its kernels.
        placed: the host program's module, each buffer with its offset.
        arena: the plan of the memory for intermediates.
    """

    host: HostProgram
    placed: ir.Module
    arena: Arena


def make_program(
    original: ir.Module,
    chosen: Options,
    watch: Stopwatch,
    emit: Callable[[Region], Kernel] = emit_kernel,
    composites: bool = True,
    announce: Callable[[str, Kernel], None] | None = None,
    known: KnownKernels | None = None,
) -> MadeProgram:
    """Runs the passes on a copy of a program.

    Args:
        emit: makes the kernel of a region, for the target.
        composites: whether it makes one of an attention, and of several steps.
        announce: told of each kernel, with its name, as soon as it is made; where `max_bytes` asks
            for several attempts, of those of all attempts.
        known: kernels that `emit` made for other programs, with the same `vendor`.

    Raises:
        CompileError: the program asks for what the compiler cannot do.
    """
    with knobs.scope(vendor=chosen.vendor):
        return _make(original, chosen, watch, emit, composites, announce, known)


def _make(
    original: ir.Module,
    chosen: Options,
    watch: Stopwatch,
    emit: Callable[[Region], Kernel],
    composites: bool,
    announce: Callable[[str, Kernel], None] | None,
    known: KnownKernels | None,
) -> MadeProgram:
    with watch.stage("import"):
        module = copy_of(original)
        mark_donated(module, chosen.donate)
    last = Phase.FUSED if chosen.optimize else Phase.LEGALIZED
    for element in passes_to(last, chosen.pipeline(composites)):
        with watch.stage(element.name):
            run_pass(element, module)
        if chosen.verify or chosen.passes:
            verify_after(f"pass {element.name!r}", module)

    def planned(fused: ir.Module) -> PlannedProgram:
        with watch.stage("hlo-to-host"), without_collection():
            host = hlo_to_host(fused, chosen.donate, emit, announce, known)
            check_donated_exist(chosen.donate, len(host.argument_types))
            check_addressable(host.argument_types, host.result_types)
        with watch.stage("memory"):
            return plan(fused, host, chosen.reuse)

    made = plan_within(module, planned, chosen.max_bytes)
    return MadeProgram(made.host, made.placed, made.arena)
