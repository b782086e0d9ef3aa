"""A launch plan on a GPU: independent steps side by side, repeated ones as graphs, no copies."""

from __future__ import annotations

import contextlib
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hlo.diagnostics import ArgumentError
from hlo.gpu.cuda import dlpack
from hlo.gpu.cuda.array import DeviceArray
from hlo.gpu.cuda.device import CudaDevice, CudaModule
from hlo.gpu.cuda.driver import CudaError
from hlo.gpu.cuda.vendor import Choice, VendorCalls
from hlo.gpu.plan import Case, HostCall, LaunchPlan, Loop, Step, TensorType, VendorCall
from hlo.gpu.plan_program import as_array
from hlo.gpu.run_plan import LoadedPlan, PlanRun, as_bytes, bytes_of, dtype_of, load_plan
from hlo.gpu.streams import Placed, assign_streams

MOST_STREAMS = 4
MOST_GRAPHS = 8  # of a stretch: one for each set of addresses
FEWEST_STEPS_OF_A_GRAPH = 3
LARGEST_ALIGNMENT = 16  # bytes that a buffer's address is a multiple of for kernels


@dataclass
class Stretch:
    """Steps that the host does not wait for, in streams.

    Attributes:
        graphs: of the addresses (arguments and results) seen twice, the last used last.
        seen: of addresses seen once.
    """

    placed: list[Placed]
    graphs: OrderedDict[tuple[int, ...], Any] = field(
        default_factory=OrderedDict[tuple[int, ...], Any]
    )
    seen: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])


@dataclass(frozen=True)
class PreparedLoop:
    loop: Loop
    condition: list[Prepared]
    body: list[Prepared]


@dataclass(frozen=True)
class PreparedCase:
    case: Case
    branches: list[list[Prepared]]


Prepared: TypeAlias = Stretch | PreparedLoop | PreparedCase | HostCall


def prepare(steps: Sequence[Step], plan: LaunchPlan, most_streams: int) -> list[Prepared]:
    """Cuts steps where the host waits, and gives those between them their streams."""
    made: list[Prepared] = []
    waiting: list[Step] = []

    def flush() -> None:
        if waiting:
            made.append(Stretch(assign_streams(tuple(waiting), plan, most_streams)))
            waiting.clear()

    for step in steps:
        if isinstance(step, Loop):
            flush()
            made.append(
                PreparedLoop(
                    step,
                    prepare(step.condition, plan, most_streams),
                    prepare(step.body, plan, most_streams),
                )
            )
        elif isinstance(step, Case):
            flush()
            branches = [prepare(branch, plan, most_streams) for branch in step.branches]
            made.append(PreparedCase(step, branches))
        elif isinstance(step, HostCall):
            flush()
            made.append(step)
        else:
            waiting.append(step)
    flush()
    return made


class CudaProgram:
    """Call it with one array for each argument: NumPy arrays, or arrays on the GPU.

    If any argument is on the GPU (a `DeviceArray`, or anything with `__dlpack__` there: PyTorch,
    CuPy, JAX), it is not copied and the results are `DeviceArray`s; else they are NumPy arrays.
    Threads take turns.

    Raises:
        UnsupportedError: the GPU is not of the chip that the plan is for, or a newer one.
        OutOfMemoryError: constants and arena do not fit.
    """

    def __init__(
        self, plan: LaunchPlan, device: CudaDevice, *, streams: int = MOST_STREAMS,
        graphs: bool = True,
    ) -> None:  # fmt: skip
        device.check_chip(plan.target)
        self.device = device
        self._plan = plan
        self._graphs = graphs
        with device.entered():
            self._load(plan, device, streams)

    def _load(self, plan: LaunchPlan, device: CudaDevice, streams: int) -> None:
        self._loaded = load_plan(plan, device)
        self._prepared = prepare(plan.steps, plan, streams)
        used = 1 + max((p.stream for s in _stretches(self._prepared) for p in s.placed), default=0)
        self._streams = [device.stream, *(device.new_stream() for _ in range(used - 1))]
        self._vendor = VendorCalls(self._loaded, device, self._streams)
        events = max((len(s.placed) for s in _stretches(self._prepared)), default=0)
        self._events = [device.new_event() for _ in range(events if used > 1 else 0)]
        self._ends = [device.new_event() for _ in range(used)]
        self._borrowed: list[tuple[Any, list[dlpack.Borrowed]]] = []
        held = partial(
            _free, self._loaded, device, self._prepared, self._streams[1:],
            [*self._events, *self._ends], self._borrowed,
        )  # fmt: skip
        weakref.finalize(self, _release, device, held)

    @property
    def library_calls(self) -> list[tuple[VendorCall, Choice]]:
        """Calls that vendors' libraries could make, and who makes them on this GPU."""
        return self._vendor.choices

    def __call__(self, *arguments: object) -> tuple[Any, ...]:
        """Runs the program.

        Raises:
            ArgumentError: a count, shape, dtype, layout or device differs from the signature.
            OutOfMemoryError: results do not fit.
        """
        call = _Call(self, arguments)
        with self.device.entered():
            results = call.run()
            if call.is_on_host:
                return tuple(np.asarray(result) for result in results)
        return results

    def run(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Puts the program into the device's stream, on memory by address."""
        with self.device.entered():
            run = PlanRun(self._loaded, arguments, results, self._vendor)
            self._run(self._prepared, run, (*arguments, *results))

    def hold(self, borrowed: list[dlpack.Borrowed]) -> None:
        """Gives borrowed memory back once what is in the stream now is over."""
        waiting: list[tuple[Any, list[dlpack.Borrowed]]] = []
        for event, some in self._borrowed:
            if self.device.has_happened(event):
                for one in some:
                    one.release()
                self.device.reuse_event(event)
            else:
                waiting.append((event, some))
        if borrowed:
            event = self.device.new_event()
            self.device.record(event, self.device.stream)
            waiting.append((event, borrowed))
        self._borrowed[:] = waiting

    def _run(
        self, prepared: list[Prepared], run: PlanRun[CudaModule], addresses: tuple[int, ...]
    ) -> None:
        for part in prepared:
            if isinstance(part, Stretch):
                self._stretch(part, run, addresses)
            elif isinstance(part, PreparedLoop):
                self._run(part.condition, run, addresses)
                while run.integer(part.loop.predicate):
                    self._run(part.body, run, addresses)
                    self._run(part.condition, run, addresses)
            elif isinstance(part, HostCall):
                run.step(part)
            else:
                index = run.integer(part.case.index)
                last = len(part.branches) - 1
                self._run(part.branches[index if 0 <= index <= last else last], run, addresses)

    def _stretch(
        self, stretch: Stretch, run: PlanRun[CudaModule], addresses: tuple[int, ...]
    ) -> None:
        if not self._graphs or len(stretch.placed) < FEWEST_STEPS_OF_A_GRAPH:
            self._issue(stretch, run)
            return
        if addresses in stretch.graphs:
            stretch.graphs.move_to_end(addresses)
        elif addresses in stretch.seen:
            stretch.graphs[addresses] = self.device.capture(lambda: self._issue(stretch, run))
            stretch.seen.discard(addresses)
            if len(stretch.graphs) > MOST_GRAPHS:
                self.device.destroy_graph(stretch.graphs.popitem(last=False)[1])
        else:
            if len(stretch.seen) >= MOST_GRAPHS:
                stretch.seen.clear()
            stretch.seen.add(addresses)
            self._issue(stretch, run)
            return
        self.device.launch_graph(stretch.graphs[addresses])

    def _issue(self, stretch: Stretch, run: PlanRun[CudaModule]) -> None:
        """Forks the other streams from the device's, and joins them at the end."""
        device, streams = self.device, self._streams
        used = {placed.stream for placed in stretch.placed} - {0}
        if used:
            device.record(self._ends[0], streams[0])
            for stream in used:
                device.wait(streams[stream], self._ends[0])
        for at, placed in enumerate(stretch.placed):
            stream = streams[placed.stream]
            for other in placed.waits:
                device.wait(stream, self._events[other])
            with device.on_stream(stream):
                run.step(placed.step)
            if placed.is_awaited:
                device.record(self._events[at], stream)
        for stream in used:
            device.record(self._ends[stream], streams[stream])
            device.wait(streams[0], self._ends[stream])


def _release(device: CudaDevice, free: Callable[[], None]) -> None:
    """Frees what a program holds; after a kernel that failed the driver frees nothing."""
    with contextlib.suppress(CudaError):
        device.when_not_capturing(free)


def _free(
    loaded: LoadedPlan[CudaModule], device: CudaDevice, prepared: Sequence[Prepared],
    streams: Sequence[Any], events: Sequence[Any],
    borrowed: Sequence[tuple[Any, list[dlpack.Borrowed]]],
) -> None:  # fmt: skip
    device.synchronize()
    for event, some in borrowed:
        for one in some:
            one.release()
        device.reuse_event(event)
    for stretch in _stretches(prepared):
        for graph in stretch.graphs.values():
            device.destroy_graph(graph)
    for stream in streams:
        device.destroy_stream(stream)
    for event in events:
        device.reuse_event(event)
    loaded.release()
    for module in loaded.modules.values():
        device.unload(module)


def _stretches(prepared: Sequence[Prepared]) -> list[Stretch]:
    found: list[Stretch] = []
    for part in prepared:
        if isinstance(part, Stretch):
            found.append(part)
        elif isinstance(part, PreparedLoop):
            found += _stretches([*part.condition, *part.body])
        elif isinstance(part, PreparedCase):
            found += _stretches([one for branch in part.branches for one in branch])
    return found


class _Call:
    """One call: where its arguments and results are."""

    def __init__(self, program: CudaProgram, arguments: Sequence[object]) -> None:
        self._program = program
        self._plan = program._plan  # pyright: ignore[reportPrivateUsage]
        self._device = program.device
        self._arguments = arguments
        types = self._plan.arguments
        if len(arguments) != len(types):
            raise ArgumentError(f"expected {len(types)} arguments, found {len(arguments)}")
        self.is_on_host = not any(map(_is_on_gpu, arguments))
        self._borrowed: list[dlpack.Borrowed] = []
        self._owned: list[int] = []
        self._is_elsewhere = False  # whether a stream that is not ours has arguments

    def run(self) -> tuple[DeviceArray, ...]:
        plan = self._plan
        donated = {argument: result for result, argument in plan.aliases}
        results: dict[int, DeviceArray] = {}
        addresses: list[int] = []
        try:
            for number, (argument, kind) in enumerate(
                zip(self._arguments, plan.arguments, strict=True)
            ):
                result = donated.get(number)
                if result is None:
                    addresses.append(self._address(argument, kind, number))
                else:
                    results[result] = self._taken_over(argument, kind, number)
                    addresses.append(results[result].address)
            for number, kind in enumerate(plan.results):
                if number not in results:
                    results[number] = self._new(kind, f"result {number}")
            made = tuple(results[number] for number in range(len(plan.results)))
            self._program.run(addresses, [result.address for result in made])
            if self._is_elsewhere:
                self._device.synchronize()
            return made
        finally:
            self._program.hold(self._borrowed)
            for address in self._owned:  # in the stream's order: after the kernels
                self._device.release(address)

    def _new(self, kind: TensorType, name: str) -> DeviceArray:
        address = self._device.allocate(bytes_of(kind), name)
        return DeviceArray(self._device, address, tuple(kind.shape), dtype_of(kind))

    def _address(self, argument: object, kind: TensorType, number: int) -> int:
        if isinstance(argument, DeviceArray):
            self._check(number, kind, argument.shape, argument.dtype, argument.device.number)
            argument.check_alive()
            self._wait_for(argument)
            return argument.address
        if _is_on_gpu(argument):
            borrowed = dlpack.borrow(argument, int(self._device.stream))
            self._borrowed.append(borrowed)
            self._check(number, kind, borrowed.shape, borrowed.dtype, borrowed.device[1])
            if not borrowed.is_row_major:
                raise ArgumentError(
                    f"argument {number}: expected a row-major array, found strides "
                    f"{borrowed.strides} of shape {borrowed.shape}: make it contiguous first"
                )
            return self._aligned(borrowed.address, bytes_of(kind), number)
        array = as_array(argument, kind, number)
        address = self._device.allocate(array.nbytes, f"argument {number}")
        self._owned.append(address)
        if array.nbytes:
            self._device.write(address, as_bytes(array))
        return address

    def _aligned(self, address: int, size: int, number: int) -> int:
        """An argument that begins where kernels can read it: a part of another may not."""
        if address % LARGEST_ALIGNMENT == 0 or size == 0:
            return address
        made = self._device.allocate(size, f"argument {number}")
        self._owned.append(made)
        self._device.copy(made, address, size)
        return made

    def _wait_for(self, argument: DeviceArray) -> None:
        """An array of another stream than ours is waited for, and not freed before we are done."""
        if argument.device is not self._device:
            argument.device.synchronize()
            self._is_elsewhere = True

    def _taken_over(self, argument: object, kind: TensorType, number: int) -> DeviceArray:
        """A donated argument's memory for a result; what is not ours to give is copied."""
        if isinstance(argument, DeviceArray):
            self._check(number, kind, argument.shape, argument.dtype, argument.device.number)
            self._wait_for(argument)
            return argument.take()
        made = self._new(kind, f"argument {number}")
        if made.nbytes:
            source = self._address(argument, kind, number)
            self._device.copy(made.address, source, made.nbytes)
        return made

    def _check(
        self, number: int, kind: TensorType, shape: tuple[int, ...], dtype: np.dtype[Any],
        device: int,
    ) -> None:  # fmt: skip
        if device != self._device.number:
            raise ArgumentError(
                f"argument {number}: is on GPU {device}, the program on {self._device.number}"
            )
        if shape != tuple(kind.shape) or dtype != dtype_of(kind):
            raise ArgumentError(
                f"argument {number}: expected an array of shape {tuple(kind.shape)} and dtype "
                f"{dtype_of(kind)}, found shape {shape} and dtype {dtype}"
            )


def _is_on_gpu(argument: object) -> bool:
    if isinstance(argument, DeviceArray):
        return True
    place = getattr(argument, "__dlpack_device__", None)
    return place is not None and int(place()[0]) == dlpack.CUDA
