"""A launch plan that can be called, on a GPU or on the emulated device."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from hlo.driver.statistics import ProgramStatistics
from hlo.gpu.cuda.device import gpu
from hlo.gpu.cuda.program import CudaProgram
from hlo.gpu.emulated_device import EmulatedDevice, EmulatedModule
from hlo.gpu.fiber_device import FiberDevice, FiberModule
from hlo.gpu.plan import LaunchPlan
from hlo.gpu.plan_program import PlanProgram
from hlo.gpu.run_plan import bytes_of


class PlanRunner:
    """Call it with one array for each argument.

    Args:
        emulate: run on the emulated device, which finds errors and races.
        emulator: the emulated device, `ptx` or `fibers`.
        schedule: of the emulated device: 0 in order, 1 backwards, others at random.
    """

    def __init__(
        self, plan: LaunchPlan, *, emulate: bool = False, emulator: str = "ptx", schedule: int = 0
    ) -> None:
        self.plan = plan
        self._emulate = emulate
        self._emulator = emulator
        self._schedule = schedule

    def __call__(self, *arguments: object) -> tuple[Any, ...]:
        """Runs the plan on the first GPU, or on the emulated device.

        Arguments are NumPy arrays or arrays on the GPU; see `hlo.gpu.cuda.program.CudaProgram`.

        Raises:
            ArgumentError: a count, shape or dtype differs from the signature.
            ExecutionError: a kernel fails.
        """
        return self._program(*arguments)

    @cached_property
    def _program(self) -> CudaProgram | PlanProgram[EmulatedModule] | PlanProgram[FiberModule]:
        if not self._emulate:
            return self.on_device()
        if self._emulator == "fibers":
            return self.on_fibers(self._schedule)
        return self.emulated(self._schedule)

    def on_device(self, number: int = 0) -> CudaProgram:
        """The plan on a GPU of this machine.

        Raises:
            MissingExtraError: `hlo[cuda]` is not installed.
            NoDeviceError: there is no driver or no such GPU.
        """
        return CudaProgram(self.plan, gpu(number))

    def emulated(self, schedule: int = 0, *, races: bool = True) -> PlanProgram[EmulatedModule]:
        """The plan on the device that `hlo.gpu.emulated_device` describes.

        Args:
            schedule: 0 runs blocks and warps in order, 1 backwards, others at random.
            races: look for data races.
        """
        return PlanProgram(self.plan, EmulatedDevice(schedule, races=races))

    def on_fibers(self, schedule: int = 0) -> PlanProgram[FiberModule]:
        """The plan on the device of `hlo.gpu.fiber_device`; its modules need bitcode."""
        return PlanProgram(self.plan, FiberDevice(schedule))

    @property
    def statistics(self) -> ProgramStatistics:
        """Counts and sizes."""
        plan = self.plan
        results = [bytes_of(kind) for kind in plan.results]
        return ProgramStatistics(
            kernels=plan.launches,
            distinct_kernels=len(plan.kernels),
            arena_bytes=plan.arena_bytes,
            argument_bytes=sum(map(bytes_of, plan.arguments)),
            result_bytes=sum(results),
            alias_bytes=sum(results[result] for result, _ in plan.aliases),
        )
