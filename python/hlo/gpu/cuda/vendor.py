"""Who makes a call that a vendor's library could make: it or our kernels, by measurement."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakKeyDictionary

from hlo.diagnostics import ExecutionError, UnsupportedError
from hlo.gpu.convolution import Convolution
from hlo.gpu.cuda.cublaslt import WORKSPACE_BYTES, CublasLt, find_cublaslt
from hlo.gpu.cuda.cudnn import Cudnn, Engine, find_cudnn
from hlo.gpu.cuda.device import CudaDevice, CudaModule
from hlo.gpu.plan import BufferSlice, VendorCall
from hlo.gpu.run_plan import LoadedPlan, PlanRun

MEASURED_RUNS = 3
INSTALL = {"cublasLt": "nvidia-cublas", "cudnn": "nvidia-cudnn-cu13 or nvidia-cudnn-cu12"}
_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Choice:
    """Who makes a call.

    Attributes:
        by_library: it; else our kernels.
        reason: why, for people.
        seconds: of the library's call and of the kernels, where they were measured.
        engine: how the library does it, where it can do it in several ways.
    """

    by_library: bool
    reason: str
    seconds: tuple[float, float] | None = None
    engine: Engine | None = None


@dataclass
class _OpenCudnn:
    """cuDNN on a GPU, and what was measured there."""

    cudnn: Cudnn
    choices: dict[_Key, Choice] = field(default_factory=dict[_Key, Choice])


# A handle, and what engines compile for it, take seconds: one for all programs of a GPU.
_opened: WeakKeyDictionary[CudaDevice, _OpenCudnn] = WeakKeyDictionary()


class VendorCalls:
    """Makes calls of libraries that are faster than their fallback on this GPU.

    Which are is measured once for each call, on memory of its own, when the first program with it
    is loaded.

    Args:
        streams: that calls are put into.

    Attributes:
        choices: who makes each call of the plan, as `(call, choice)`.

    Raises:
        UnsupportedError: a call without a fallback cannot be made.
    """

    def __init__(
        self, loaded: LoadedPlan[CudaModule], device: CudaDevice, streams: Sequence[object]
    ) -> None:
        self._device, self._loaded = device, loaded
        self._streams = [int(stream) for stream in streams]  # pyright: ignore[reportArgumentType]
        self._made: dict[_Key, Choice] = {}
        self._cublas: CublasLt | None = None
        self._cudnn: Cudnn | None = None
        self._workspaces: dict[int, int] = {}
        self._copies: dict[int, int] = {}
        self._zeros = 0
        calls = [step for step in loaded.plan.walk() if isinstance(step, VendorCall)]
        self._choose([call for call in calls if call.library == "cublasLt"], self._open_cublas)
        self._choose([call for call in calls if call.library == "cudnn"], self._open_cudnn)
        self.choices = [(call, self._choice(call)) for call in calls]
        for call, choice in self.choices:
            if not (choice.by_library or call.fallback):
                raise UnsupportedError(
                    f"{call.library} cannot make the call of {call.name} at "
                    f"{call.source or 'an unknown place'}: {choice.reason}; install "
                    f"{INSTALL.get(call.library, call.library)}, or compile with vendor=False"
                )
        self._allocate()

    def is_chosen(self, call: VendorCall) -> bool:
        """Whether the library makes a call."""
        return self._choice(call).by_library

    @property
    def workspace(self) -> int:
        """Address of what launches around calls in the current stream work in; 0 for nothing."""
        return self._copies.get(int(self._device.current_stream), 0)

    def __call__(self, call: VendorCall, reads: Sequence[int], writes: Sequence[int]) -> None:
        """Makes a call that the library is to make, in the device's current stream."""
        choice = self._choice(call)
        stream = int(self._device.current_stream)
        if choice.engine is None:
            assert self._cublas is not None
            self._cublas.matmul(call, reads, writes, stream)
            return
        assert self._cudnn is not None
        self._cudnn.run(
            choice.engine, (*reads, *writes), stream, workspace=self._workspaces.get(stream, 0),
            zeros=self._zeros,
        )  # fmt: skip

    def _choice(self, call: VendorCall) -> Choice:
        return self._made.get(_key(call)) or Choice(False, "no such library is known")

    def _choose(self, calls: Sequence[VendorCall], opened: Callable[[], str]) -> None:
        """Decides about the calls of one library."""
        refused = opened() if calls else ""
        for call in calls:
            key = _key(call)
            if key in self._made:
                continue
            if refused:
                self._made[key] = Choice(False, refused)
            elif call.library == "cublasLt":
                self._made[key] = self._of_product(call)
            else:
                self._made[key] = self._of_convolution(call)

    def _open_cublas(self) -> str:
        """Why it cannot be used; empty if it can."""
        path = find_cublaslt()
        if path is None:
            return "cuBLASLt is not installed"
        workspaces = {
            stream: self._device.allocate(WORKSPACE_BYTES, "cuBLASLt's workspace")
            for stream in self._streams
        }
        self._loaded.owned.extend(workspaces.values())
        try:
            self._cublas = CublasLt.open(path, workspaces)
        except (OSError, ExecutionError) as error:
            return str(error)
        return ""

    def _open_cudnn(self) -> str:
        """Why it cannot be used; empty if it can."""
        path = find_cudnn()
        if path is None:
            return "cuDNN 9 is not installed"
        if self._device not in _opened:
            try:
                _opened[self._device] = _OpenCudnn(Cudnn.open(path))
            except (OSError, ExecutionError) as error:
                return str(error)
        self._cudnn = _opened[self._device].cudnn
        return ""

    def _of_product(self, call: VendorCall) -> Choice:
        cublas = self._cublas
        assert cublas is not None
        if not cublas.can(call):
            return Choice(False, "cuBLASLt has no algorithm for it")
        with _Places(self, call) as places:
            reads, writes = places.of(call.reads), places.of(call.writes)
            stream = int(self._device.stream)
            return places.faster(lambda: cublas.matmul(call, reads, writes, stream))

    def _of_convolution(self, call: VendorCall) -> Choice:
        """As it was measured once on this GPU."""
        known = _opened[self._device].choices
        key = (*_key(call), len(call.before), len(call.after), len(call.fallback))
        if key not in known:
            known[key] = self._measured(call)
        return known[key]

    def _measured(self, call: VendorCall) -> Choice:
        cudnn, device = self._cudnn, self._device
        assert cudnn is not None
        convolution = Convolution.of(call.parameters)
        engines = cudnn.engines(convolution)
        if not engines:
            return Choice(False, f"cuDNN has no engine: {cudnn.why_not(convolution)}")
        room = (max(e.workspace for e in engines), max(e.zeros for e in engines))
        found: list[Choice] = []
        with _Places(self, call, room) as places:
            addresses = (*places.of(call.reads), *places.of(call.writes))
            workspace, zeros = places.extra
            stream = int(device.stream)
            for engine in engines:

                def run(engine: Engine = engine) -> None:
                    cudnn.run(engine, addresses, stream, workspace=workspace, zeros=zeros)

                try:
                    choice = places.faster(run)
                except ExecutionError as error:  # an engine that takes its plan, but does not run
                    found.append(Choice(False, f"cuDNN fails: {error}"))
                    continue
                found.append(Choice(choice.by_library, choice.reason, choice.seconds, engine))
        timed = [choice for choice in found if choice.seconds is not None]
        return min(timed, key=lambda c: c.seconds or (0.0, 0.0)) if timed else found[0]

    def _allocate(self) -> None:
        """Memory that chosen calls work in: for each stream as much as the largest one needs."""
        engines = [c.engine for c in self._made.values() if c.by_library and c.engine is not None]
        size = max((engine.workspace for engine in engines), default=0)
        self._workspaces = self._for_streams(size, "cuDNN's workspace")
        chosen = [call for call, choice in self.choices if choice.by_library]
        ends = (p.offset + p.bytes for c in chosen for p in _places(c) if p.base == "workspace")
        self._copies = self._for_streams(max(ends, default=0), "copies for a library")
        zeros = max((engine.zeros for engine in engines), default=0)
        if zeros:
            self._zeros = self._device.allocate(zeros, "zeros")
            self._loaded.owned.append(self._zeros)
            self._device.fill(self._zeros, zeros, 0, 1)

    def _for_streams(self, size: int, name: str) -> dict[int, int]:
        """An address of so many bytes for each stream."""
        if not size:
            return {}
        found = {stream: self._device.allocate(size, name) for stream in self._streams}
        self._loaded.owned.extend(found.values())
        return found

    def seconds(self, work: Callable[[], None]) -> float:
        """The least time of a few runs, with the wait for their end."""
        times: list[float] = []
        for _ in range(1 + MEASURED_RUNS):
            self._device.synchronize()
            start = time.perf_counter()
            work()
            self._device.synchronize()
            times.append(time.perf_counter() - start)
        return min(times[1:])


class _Places:
    """Memory of its own for a call and its fallback, all zeros."""

    def __init__(self, calls: VendorCalls, call: VendorCall, room: Sequence[int] = ()) -> None:
        """Args:
        room: bytes besides.
        """
        self._calls, self._call, self._room = calls, call, room
        self._device = calls._device  # pyright: ignore[reportPrivateUsage]
        self._loaded = calls._loaded  # pyright: ignore[reportPrivateUsage]
        self._addresses: dict[BufferSlice, int] = {}
        self._kernels: float | None = None
        self.extra: list[int] = []

    def __enter__(self) -> _Places:
        try:
            for place in _places(self._call):
                self._addresses[place] = self._device.allocate(place.bytes, "a call's operand")
                self._device.fill(self._addresses[place], place.bytes, 0, 1)
            for size in self._room:
                self.extra.append(self._device.allocate(size, "a call's workspace"))
                self._device.fill(self.extra[-1], size, 0, 1)
        except ExecutionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for address in (*self._addresses.values(), *self.extra):
            self._device.release(address)

    def of(self, slices: Sequence[BufferSlice]) -> list[int]:
        return [self._addresses[place] for place in slices]

    def faster(self, work: Callable[[], None]) -> Choice:
        """Whether the library's work, with what is around it, takes less time than the fallback."""
        own = _Elsewhere(self._loaded, self._addresses)
        call = self._call

        def library() -> None:
            own.steps(call.before)
            work()
            own.steps(call.after)

        def kernels() -> None:
            own.steps(call.fallback)

        taken = self._calls.seconds(library)
        if self._kernels is None:
            self._kernels = self._calls.seconds(kernels) if call.fallback else float("inf")
        reason = f"{call.library} {taken * 1e6:.1f} us, kernels {self._kernels * 1e6:.1f} us"
        return Choice(taken < self._kernels, reason, (taken, self._kernels))


class _Elsewhere(PlanRun[CudaModule]):
    """Runs steps of a plan on other memory, by slice."""

    def __init__(self, loaded: LoadedPlan[CudaModule], places: dict[BufferSlice, int]) -> None:
        super().__init__(loaded, (), ())
        self._places = places

    def _address(self, place: BufferSlice) -> int:
        return self._places[place]


def _places(call: VendorCall) -> list[BufferSlice]:
    found = [*call.reads, *call.writes]
    launches = (*call.before, *call.fallback, *call.after)
    found += [place for launch in launches for place in launch.arguments]
    return list(dict.fromkeys(place for place in found))


def _key(call: VendorCall) -> _Key:
    return (call.library, call.name, len(call.reads), *call.parameters)
