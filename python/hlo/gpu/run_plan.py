"""Runs a launch plan on a device, one step after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

import numpy as np

from hlo.diagnostics import UnsupportedError
from hlo.gpu.device import Bytes, Device, DeviceBuffer, Loaded
from hlo.gpu.host_library import call_library
from hlo.gpu.plan import (
    BufferSlice,
    Case,
    Copy,
    Fill,
    HostCall,
    Launch,
    LaunchPlan,
    Loop,
    Step,
    TensorType,
    VendorCall,
)
from hlo.ir.types import to_dtype


def dtype_of(kind: TensorType) -> np.dtype[Any]:
    """The NumPy type of a tensor's elements, as they lie in memory."""
    return to_dtype(kind.element)


def bytes_of(kind: TensorType) -> int:
    """Bytes of a tensor in memory."""
    return math.prod(kind.shape) * dtype_of(kind).itemsize


@dataclass(frozen=True)
class LoadedPlan(Generic[Loaded]):
    """A plan whose kernels and constants are on a device; see `load_plan`."""

    plan: LaunchPlan
    device: Device[Loaded]
    modules: dict[str, Loaded]
    constants: tuple[int, ...]
    arena: int
    owned: list[int] = field(default_factory=list[int])

    def release(self) -> None:
        """Frees its memory on the device; it cannot run again."""
        while self.owned:
            self.device.release(self.owned.pop())

    def run(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Runs all steps.

        Args:
            arguments, results: addresses on the device; those of results that alias an argument are
                not used.
        """
        PlanRun(self, arguments, results).steps(self.plan.steps)


def load_plan(plan: LaunchPlan, device: Device[Loaded]) -> LoadedPlan[Loaded]:
    """Loads code and constants, and allocates the arena.

    Raises:
        CompileError: the device cannot load the code.
        ExecutionError: not enough memory.
    """
    modules = {name: device.load(module) for name, module in plan.modules.items()}
    owned: list[int] = []
    constants: list[int] = []
    for number, constant in enumerate(plan.constants):
        address = device.allocate(len(constant.data), f"constant {number}")
        owned.append(address)
        if constant.data:
            device.write(address, np.frombuffer(constant.data, np.uint8))
        constants.append(address)
    arena = device.allocate(plan.arena_bytes, "arena")
    owned.append(arena)
    return LoadedPlan(plan, device, modules, tuple(constants), arena, owned)


def run_on_host_arrays(
    loaded: LoadedPlan[Loaded], arguments: Sequence[np.ndarray[Any, Any]]
) -> tuple[np.ndarray[Any, Any], ...]:
    """Copies arguments to the device, runs the plan, copies the results back.

    Args:
        arguments: of the plan's shapes and types, row-major.
    """
    plan, device = loaded.plan, loaded.device
    aliased = dict(plan.aliases)
    places: list[int] = []
    try:
        for number, (argument, kind) in enumerate(zip(arguments, plan.arguments, strict=True)):
            places.append(device.allocate(bytes_of(kind), f"argument {number}"))
            if argument.nbytes:
                device.write(places[-1], as_bytes(argument))
        count = len(places)
        for number, kind in enumerate(plan.results):
            places.append(device.allocate(bytes_of(kind), f"result {number}"))
        loaded.run(places[:count], places[count:])
        made: list[np.ndarray[Any, Any]] = []
        for number, kind in enumerate(plan.results):
            result = np.empty(kind.shape, dtype_of(kind))
            at = places[aliased[number]] if number in aliased else places[count + number]
            if result.nbytes:
                device.read(at, as_bytes(result))
            made.append(result)
        return tuple(made)
    finally:
        for address in places:
            device.release(address)


def as_bytes(array: np.ndarray[Any, Any]) -> Bytes:
    """The memory of a row-major array; not a copy."""
    return array.reshape(-1).view(np.uint8)


class Vendor(Protocol):
    """Makes calls of vendors' libraries."""

    def is_chosen(self, call: VendorCall) -> bool:
        """Whether it is to make a call."""
        ...

    @property
    def workspace(self) -> int:
        """Address of the workspace of the calls that are made now; 0 if they need none."""
        ...

    def __call__(self, call: VendorCall, reads: Sequence[int], writes: Sequence[int]) -> None:
        """Makes a call that it is to make, on addresses of operands and results."""
        ...


class PlanRun(Generic[Loaded]):
    """One run of a plan: where its memory is, and who makes calls of vendors' libraries."""

    def __init__(
        self, loaded: LoadedPlan[Loaded], arguments: Sequence[int], results: Sequence[int],
        vendor: Vendor | None = None,
    ) -> None:  # fmt: skip
        self._vendor = vendor
        self._plan = loaded.plan
        self._device = loaded.device
        self._modules = loaded.modules
        self._bases = {
            "argument": tuple(arguments),
            "result": tuple(results),
            "constant": loaded.constants,
            "arena": (loaded.arena,),
        }

    def steps(self, steps: Sequence[Step]) -> None:
        """Runs steps in their order."""
        for step in steps:
            self.step(step)

    def _address(self, place: BufferSlice) -> int:
        return self._bases[place.base][place.index] + place.offset

    def step(self, step: Step) -> None:
        """Runs one step, and those inside it."""
        if isinstance(step, Launch):
            self._launch(step)
        elif isinstance(step, Copy):
            if step.source.bytes:
                self._device.copy(
                    self._address(step.destination), self._address(step.source), step.source.bytes
                )
        elif isinstance(step, Fill):
            if step.destination.bytes:
                self._device.fill(
                    self._address(step.destination), step.destination.bytes, step.pattern,
                    step.pattern_bytes,
                )  # fmt: skip
        elif isinstance(step, Loop):
            self.steps(step.condition)
            while self.integer(step.predicate):
                self.steps(step.body)
                self.steps(step.condition)
        elif isinstance(step, Case):
            index = self.integer(step.index)
            last = len(step.branches) - 1
            self.steps(step.branches[index if 0 <= index <= last else last])
        elif isinstance(step, HostCall):
            self._host_call(step)
        else:
            self._vendor_call(step)

    def _host_call(self, call: HostCall) -> None:
        """Copies operands to the host, and results back."""
        places = (*call.reads, *call.writes)
        buffers = [np.zeros(place.bytes, np.uint8) for place in places]
        for place, buffer in zip(call.reads, buffers, strict=False):
            if place.bytes:
                self._device.read(self._address(place), buffer)
        call_library(call.function, buffers, call.parameters)
        for place, buffer in zip(call.writes, buffers[len(call.reads) :], strict=True):
            if place.bytes:
                self._device.write(self._address(place), buffer)

    def _launch(self, step: Launch) -> None:
        kernel = self._plan.kernels[step.kernel]
        buffers = [
            DeviceBuffer(self._address(place), place.bytes, number in kernel.written)
            for number, place in enumerate(step.arguments)
        ]
        self._device.launch(
            self._modules[kernel.module], step.kernel, step.grid, step.block, step.shared_bytes,
            buffers, kernel.tensor_maps,
        )  # fmt: skip

    def integer(self, place: BufferSlice) -> int:
        """A predicate or an index, read from the device."""
        data = np.empty(place.bytes, np.uint8)
        self._device.read(self._address(place), data)
        return int.from_bytes(data.tobytes(), "little", signed=True)

    def _vendor_call(self, call: VendorCall) -> None:
        """By the library, if there is one that is to do it, else by its fallback."""
        vendor = self._vendor
        if vendor is not None and vendor.is_chosen(call):
            self._bases["workspace"] = (vendor.workspace,)
            self.steps(call.before)
            reads, writes = ([self._address(p) for p in s] for s in (call.reads, call.writes))
            vendor(call, reads, writes)
            self.steps(call.after)
            return
        if call.fallback:
            self.steps(call.fallback)
            return
        raise UnsupportedError(
            f"this device cannot call {call.library} ({call.name}): compile without vendor calls"
        )
