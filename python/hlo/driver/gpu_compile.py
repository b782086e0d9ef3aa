"""From a program to a launch plan for a GPU: the stages of `compile`, up to PTX."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.made_program import Options, Stopwatch, make_program
from hlo.driver.module_copy import copy_of
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.driver.preconditions import check_functions
from hlo.driver.program_text import name_of
from hlo.driver.statistics import ProgramStatistics
from hlo.gpu.cuda.device import CudaDevice
from hlo.gpu.cuda.program import CudaProgram
from hlo.gpu.emulated_device import EmulatedDevice, EmulatedModule
from hlo.gpu.plan import Launch, LaunchPlan
from hlo.gpu.plan_program import PlanProgram
from hlo.gpu.plan_text import plan_text
from hlo.importers.program import load_program
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_gpu.kernels import emit_gpu_kernel
from hlo.passes.hlo_to_gpu.target import GpuTarget, gpu_target
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.host_to_plan.convert import PlanInputs, host_to_plan
from hlo.passes.lower_to_ptx.modules import GpuModule, kernels_text, lower_to_llvm, lower_to_ptx

KERNELS_PER_MODULE = 16
EMITTED = ("plan", "gpu", "llvm", "ptx")


class GpuCompiled:
    """A program for a GPU.

    Attributes:
        plan: what is launched.
        target: the chip it is for.
    """

    def __init__(
        self, module: ir.Module, host: HostProgram, plan: LaunchPlan, target: GpuTarget,
        watch: Stopwatch, options: Options,
    ) -> None:  # fmt: skip
        self._module = module
        self._host = host
        self._options = options
        self.plan = plan
        self.target = target
        self.stage_seconds = watch.seconds

    @property
    def kernels(self) -> Mapping[str, GpuKernel]:
        """The kernels by name."""
        return cast(Mapping[str, GpuKernel], self._host.kernels)

    @property
    def statistics(self) -> ProgramStatistics:
        """Counts and sizes."""
        plan = self.plan
        launches = sum(isinstance(step, Launch) for step in plan.walk())
        sizes = [_bytes(t.shape, t.element) for t in plan.results]
        return ProgramStatistics(
            kernels=launches,
            distinct_kernels=len(plan.kernels),
            arena_bytes=plan.arena_bytes,
            argument_bytes=sum(_bytes(t.shape, t.element) for t in plan.arguments),
            result_bytes=sum(sizes),
            alias_bytes=sum(sizes[result] for result, _ in plan.aliases),
            stage_seconds=dict(self.stage_seconds),
        )

    def __call__(self, *arguments: object) -> tuple[Any, ...]:
        """Runs the program on the first GPU, or, with the option `emulate`, on the emulated device.

        Arguments are NumPy arrays or arrays on the GPU; see `hlo.gpu.cuda.program.CudaProgram`.

        Raises:
            ArgumentError: a count, shape or dtype differs from the signature.
            ExecutionError: a kernel fails.
        """
        return self._runner(*arguments)

    @cached_property
    def _runner(self) -> CudaProgram | PlanProgram[EmulatedModule]:
        if self._options.emulate:
            return self.emulated(self._options.schedule)
        return self.on_device()

    def on_device(self, number: int = 0) -> CudaProgram:
        """The program on a GPU of this machine.

        Raises:
            MissingExtraError: `hlo[cuda]` is not installed.
            NoDeviceError: there is no driver or no such GPU.
        """
        return CudaProgram(self.plan, CudaDevice(number))

    def emulated(self, schedule: int = 0, *, races: bool = True) -> PlanProgram[EmulatedModule]:
        """The program on the device that `hlo.gpu.emulated_device` describes.

        Args:
            schedule: 0 runs blocks and warps in order, 1 backwards, others at random.
            races: look for data races.
        """
        return PlanProgram(self.plan, EmulatedDevice(schedule, races=races))

    def as_text(self, stage: str = "plan") -> str:
        """The program after a stage: `plan`, `gpu`, `llvm`, `ptx`, or a phase ahead of the kernels.

        `gpu` shows the kernels in scf, arith, vector and nvvm; `llvm` as modules of the llvm
        dialect.
        """
        if stage == "plan":
            return plan_text(self.plan)
        if stage == "gpu":
            return kernels_text(self.kernels)
        if stage == "llvm":
            parts = module_parts(self.kernels)
            return "".join(
                lower_to_llvm(name, part, self.target, ir.make_gpu_context())
                for name, part in parts.items()
            )
        if stage == "ptx":
            return "\n".join(module.ptx for module in self.plan.modules.values())
        phase = Phase.parse(stage)
        if phase.order > Phase.FUSED.order:
            raise CompileError(
                f"a program for a GPU has no stage {stage!r}; its stages are: "
                f"{', '.join(EMITTED)} and the phases up to {Phase.FUSED.label}"
            )
        module = copy_of(self._module)
        for step in passes_to(phase, self._options.fast, composites=False):
            step.run(module)
        return str(module)


def compile_for_gpu(program: object, target: str, chosen: Options) -> GpuCompiled:
    """Compiles a program for `nvptx:CHIP`.

    Raises:
        CompileError: the program is malformed, or asks for what the target cannot do.
    """
    chip, watch = gpu_target(target), Stopwatch()
    with watch.stage("import"):
        original = load_program(program)
        check_functions(original)
    made = make_program(original, chosen, watch, emit_gpu_kernel, composites=False)
    with watch.stage("ptx"):
        kernels = cast(Mapping[str, GpuKernel], made.host.kernels)
        modules: list[GpuModule] = [
            lower_to_ptx(name, part, chip) for name, part in module_parts(kernels).items()
        ]
    with watch.stage("plan"):
        plan = host_to_plan(
            PlanInputs(
                name_of(original), chip.chip, made.host, made.placed, made.arena, tuple(modules)
            )
        )
    return GpuCompiled(original, made.host, plan, chip, watch, chosen)


def module_parts(kernels: Mapping[str, GpuKernel]) -> dict[str, dict[str, GpuKernel]]:
    """Kernels that run, in modules of a size that compiles fast."""
    names = [name for name, kernel in kernels.items() if kernel.stages]
    return {
        f"module_{i // KERNELS_PER_MODULE}": {
            name: kernels[name] for name in names[i : i + KERNELS_PER_MODULE]
        }
        for i in range(0, len(names), KERNELS_PER_MODULE)
    }


def _bytes(shape: tuple[int, ...], name: str) -> int:
    size = ir.types.to_dtype(name).itemsize
    for extent in shape:
        size *= extent
    return size
