"""From a program to a launch plan for a GPU: the stages of `compile`, up to PTX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from hlo.diagnostics import CompileError
from hlo.driver.cache.program_cache import open_cache
from hlo.driver.cache.stored_program import StoredProgram
from hlo.driver.cached_compilation import Compilation
from hlo.driver.compilation_report import report
from hlo.driver.host_summary import signature_of, statistics_of
from hlo.driver.inspected_program import InspectedProgram
from hlo.driver.made_program import MadeProgram, Options, Stopwatch, make_program
from hlo.driver.phases import Phase
from hlo.driver.plan_runner import PlanRunner
from hlo.driver.program_source import ProgramSource
from hlo.driver.program_text import name_of
from hlo.driver.statistics import ProgramStatistics
from hlo.executable.runtime import Signature
from hlo.gpu.cuda.program import CudaProgram
from hlo.gpu.emulated_device import EmulatedModule
from hlo.gpu.fiber_device import FiberModule
from hlo.gpu.plan import LaunchPlan
from hlo.gpu.plan_json import from_json, to_json
from hlo.gpu.plan_program import PlanProgram
from hlo.gpu.plan_text import plan_text
from hlo.passes.cost.kernel_cost import KernelCost, launch_costs
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_gpu.kernels import emit_gpu_kernel
from hlo.passes.hlo_to_gpu.target import PREFIX, GpuTarget, gpu_target
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.host_to_plan.convert import PlanInputs, host_to_plan
from hlo.passes.lower_to_ptx.modules import (
    kernels_text,
    lower_to_bitcode,
    lower_to_llvm,
    lower_to_ptx,
)
from hlo.passes.lower_to_ptx.workers import WORKERS

KERNELS_PER_MODULE = 16
STAGES = (
    *(phase.label for phase in Phase if phase is not Phase.LLVM),
    "gpu",
    "llvm",
    "ptx",
    "plan",
)


class GpuCompiled(InspectedProgram):
    """A program for a GPU.

    Attributes:
        target: the chip it is for.
    """

    _composites = False

    def __init__(
        self, source: ProgramSource, stored: StoredProgram, plan: LaunchPlan, options: Options,
        made: MadeProgram | None, target: GpuTarget,
    ) -> None:  # fmt: skip
        self.target = target
        super().__init__(source, stored.statistics, options, made)
        self._signature = stored.signature
        self._runner = PlanRunner(
            plan, emulate=options.emulate, emulator=options.emulator, schedule=options.schedule
        )

    def _emit(self, region: Region) -> Kernel:
        options = self._options
        return emit_gpu_kernel(
            region, deterministic=options.deterministic, tf32=options.tf32, target=self.target
        )

    def _kernels_text(self) -> str:
        return kernels_text(self.kernels)

    @property
    def plan(self) -> LaunchPlan:
        """What is launched."""
        return self._runner.plan

    @property
    def name(self) -> str:
        """The program's name."""
        return self.plan.name

    @property
    def target_name(self) -> str:
        """What it was compiled for, as `hlo.compile` is told."""
        return PREFIX + self.target.chip

    @property
    def stored(self) -> StoredProgram:
        """The program without what it was made of."""
        return _stored(self.plan, self._signature, self.statistics)

    @property
    def kernels(self) -> Mapping[str, GpuKernel]:
        """The kernels by name."""
        return cast(Mapping[str, GpuKernel], self._host.kernels)

    def launch_costs(self) -> dict[int, KernelCost]:
        """What each launch of the program computes and moves, by its number."""
        return launch_costs(self._analysed.fused_entry, donated=self._host.donated)

    def __call__(self, *arguments: object) -> tuple[Any, ...]:
        """Runs the program on the first GPU, or, with the option `emulate`, on the emulated device.

        Arguments are NumPy arrays or arrays on the GPU; see `hlo.gpu.cuda.program.CudaProgram`.

        Raises:
            ArgumentError: a count, shape or dtype differs from the signature.
            ExecutionError: a kernel fails.
        """
        return self._runner(*arguments)

    def on_device(self, number: int = 0) -> CudaProgram:
        """The program on a GPU of this machine.

        Raises:
            MissingExtraError: `hlo[cuda]` is not installed.
            NoDeviceError: there is no driver or no such GPU.
        """
        return self._runner.on_device(number)

    def emulated(self, schedule: int = 0, *, races: bool = True) -> PlanProgram[EmulatedModule]:
        """The program on the device that `hlo.gpu.emulated_device` describes.

        Args:
            schedule: 0 runs blocks and warps in order, 1 backwards, others at random.
            races: look for data races.
        """
        return self._runner.emulated(schedule, races=races)

    def on_fibers(self, schedule: int = 0) -> PlanProgram[FiberModule]:
        """The program on the device that `hlo.gpu.fiber_device` describes."""
        return PlanRunner(self._plan_with_bitcode).on_fibers(schedule)

    @cached_property
    def _plan_with_bitcode(self) -> LaunchPlan:
        """The plan with the LLVM code of its PTX, which is made here if it was not asked for."""
        modules = self.plan.modules
        if all(module.bitcode is not None for module in modules.values()):
            return self.plan
        codes = lower_to_bitcode(module_parts(self.kernels), self.target)
        made = {name: replace(module, bitcode=codes[name]) for name, module in modules.items()}
        return replace(self.plan, modules=made)

    def as_text(self, stage: str = "plan") -> str:
        """The program after a stage: `plan`, `gpu`, `llvm`, `ptx`, or a phase up to `placed`.

        `gpu` shows the kernels in scf, arith, vector and nvvm; `llvm` as modules of the llvm
        dialect.
        """
        if stage == "plan":
            return plan_text(self.plan)
        if stage == "gpu":
            return self._kernels_text()
        if stage == "llvm":
            parts = module_parts(self.kernels)
            return "".join(lower_to_llvm(name, part, self.target) for name, part in parts.items())
        if stage == "ptx":
            return "\n".join(module.ptx for module in self.plan.modules.values())
        if stage not in STAGES:
            raise CompileError(
                f"a program for a GPU has no stage {stage!r}; its stages are: {', '.join(STAGES)}"
            )
        return super().as_text(stage)


def compile_for_gpu(program: object, target: str, chosen: Options) -> GpuCompiled:
    """Compiles a program for `nvptx:CHIP`.

    Raises:
        CompileError: the program is malformed, or asks for what the target cannot do.
    """
    chip = gpu_target(target)

    def make(source: ProgramSource, watch: Stopwatch) -> tuple[StoredProgram, MadeProgram]:
        return _made(source, chip, chosen, watch)

    def wrap(
        source: ProgramSource, stored: StoredProgram, plan: LaunchPlan, made: MadeProgram | None
    ) -> GpuCompiled:
        return GpuCompiled(source, stored, plan, chosen, made, chip)

    cache = open_cache(target, _deciding(chosen)) if chosen.cacheable else None
    compiled = Compilation(make, _plan_of, wrap).run(ProgramSource(program), cache, Stopwatch())
    report(compiled.name, compiled.stage_seconds, STAGES, compiled.as_text)
    return compiled


def _deciding(chosen: Options) -> dict[str, Any]:
    """The options that the plan depends on."""
    neutral = ("emulate", "schedule", "threads")
    return {name: value for name, value in asdict(chosen).items() if name not in neutral}


def _made(
    source: ProgramSource, chip: GpuTarget, chosen: Options, watch: Stopwatch
) -> tuple[StoredProgram, MadeProgram]:
    emit = partial(
        emit_gpu_kernel, deterministic=chosen.deterministic, tf32=chosen.tf32, target=chip
    )
    places: dict[str, str] = {}

    def emit_and_note(region: Region) -> GpuKernel:
        kernel = emit(region)
        if region.results and (root := region.results[0].producer) is not None:
            places.setdefault(kernel.text, root.location)
        return kernel

    WORKERS.start()
    made = make_program(source.module, chosen, watch, emit_and_note, composites=False)
    with watch.stage("ptx"):
        kernels = cast(Mapping[str, GpuKernel], made.host.kernels)
        modules = lower_to_ptx(
            module_parts(kernels), chip, bitcode=chosen.emulator == "fibers",
            location_of=lambda kernel: places.get(kernels[kernel].text),
        )  # fmt: skip
    name = name_of(source.module)
    with watch.stage("plan"):
        plan = host_to_plan(
            PlanInputs(name, chip.chip, made.host, made.placed, made.arena, tuple(modules))
        )
    statistics = statistics_of(made, plan.launches, len(plan.kernels))
    return _stored(plan, signature_of(made.host), statistics), made


def _stored(plan: LaunchPlan, signature: Signature, statistics: ProgramStatistics) -> StoredProgram:
    """A launch plan as the only object of a stored program, its constants apart."""
    bare = replace(plan, constants=tuple(replace(c, data=b"") for c in plan.constants))
    return StoredProgram(
        name=plan.name,
        objects=(to_json(bare).encode(),),
        signature=signature,
        constants=tuple(np.frombuffer(constant.data, np.uint8) for constant in plan.constants),
        statistics=statistics,
    )


def load_compiled(
    source: ProgramSource, stored: StoredProgram, options: Options, target: str
) -> GpuCompiled:
    """A program of which the launch plan is known.

    Raises:
        CompileError: the plan is not one of this version.
    """
    return GpuCompiled(source, stored, _plan_of(stored), options, None, gpu_target(target))


def _plan_of(stored: StoredProgram) -> LaunchPlan:
    """The launch plan of a stored program.

    Raises:
        CompileError: it is not one of this version.
    """
    plan = from_json(stored.objects[0].decode())
    constants = zip(plan.constants, stored.constants, strict=True)
    return replace(plan, constants=tuple(replace(c, data=data.tobytes()) for c, data in constants))


def module_parts(kernels: Mapping[str, GpuKernel]) -> dict[str, dict[str, GpuKernel]]:
    """Kernels that run, in modules of a size that compiles fast."""
    names = [name for name, kernel in kernels.items() if kernel.stages]
    return {
        f"module_{i // KERNELS_PER_MODULE}": {
            name: kernels[name] for name in names[i : i + KERNELS_PER_MODULE]
        }
        for i in range(0, len(names), KERNELS_PER_MODULE)
    }
