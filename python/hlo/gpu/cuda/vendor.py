"""Who makes a call that a vendor's library could make: it or our kernels, by measurement."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hlo.diagnostics import ExecutionError
from hlo.gpu.cuda.cublaslt import WORKSPACE_BYTES, CublasLt, find_cublaslt
from hlo.gpu.cuda.device import CudaDevice, CudaModule
from hlo.gpu.plan import BufferSlice, VendorCall
from hlo.gpu.run_plan import LoadedPlan, PlanRun

MEASURED_RUNS = 3


class VendorCalls:
    """Makes calls of cuBLASLt that are faster than their fallback on this GPU.

    Which are is measured once for each product, on memory of its own, when the program is loaded.

    Args:
        streams: that calls are put into.
    """

    def __init__(
        self, loaded: LoadedPlan[CudaModule], device: CudaDevice, streams: Sequence[object]
    ) -> None:
        self._device = device
        self._chosen: dict[tuple[object, ...], bool] = {}
        self._cublas: CublasLt | None = None
        calls = [step for step in loaded.plan.walk() if isinstance(step, VendorCall)]
        path = find_cublaslt() if calls else None
        if path is None:
            return
        workspaces = {
            int(stream): device.allocate(WORKSPACE_BYTES, "cuBLASLt's workspace")  # pyright: ignore[reportArgumentType]
            for stream in streams
        }
        loaded.owned.extend(workspaces.values())
        try:
            self._cublas = CublasLt.open(path, workspaces)
        except (OSError, ExecutionError):
            return
        for call in calls:
            if _key(call) not in self._chosen:
                self._chosen[_key(call)] = self._is_faster(call, loaded)

    def __call__(self, call: VendorCall, reads: Sequence[int], writes: Sequence[int]) -> bool:
        """Makes a call in the device's current stream, if the library is to make it."""
        if self._cublas is None or not self._chosen.get(_key(call), False):
            return False
        self._cublas.matmul(call, reads, writes, int(self._device.current_stream))
        return True

    def _is_faster(self, call: VendorCall, loaded: LoadedPlan[CudaModule]) -> bool:
        cublas, device = self._cublas, self._device
        assert cublas is not None
        if not cublas.can(call):
            return False
        places = {place: device.allocate(place.bytes, "a product") for place in _places(call)}
        try:
            for place, address in places.items():
                device.fill(address, place.bytes, 0, 1)
            reads, writes = ([places[p] for p in s] for s in (call.reads, call.writes))
            stream = int(device.stream)
            own = _Elsewhere(loaded, places)

            def library() -> None:
                cublas.matmul(call, reads, writes, stream)

            def kernels() -> None:
                own.steps(call.fallback)

            return self._seconds(library) < self._seconds(kernels)
        finally:
            for address in places.values():
                device.release(address)

    def _seconds(self, work: object) -> float:
        """The least time of a few runs, with the wait for their end."""
        assert callable(work)
        times: list[float] = []
        for _ in range(1 + MEASURED_RUNS):
            self._device.synchronize()
            start = time.perf_counter()
            work()
            self._device.synchronize()
            times.append(time.perf_counter() - start)
        return min(times[1:])


class _Elsewhere(PlanRun[CudaModule]):
    """Runs steps of a plan on other memory, by slice."""

    def __init__(self, loaded: LoadedPlan[CudaModule], places: dict[BufferSlice, int]) -> None:
        super().__init__(loaded, (), ())
        self._places = places

    def _address(self, place: BufferSlice) -> int:
        return self._places[place]


def _places(call: VendorCall) -> list[BufferSlice]:
    found = [*call.reads, *call.writes]
    found += [place for launch in call.fallback for place in launch.arguments]
    return list(dict.fromkeys(place for place in found))


def _key(call: VendorCall) -> tuple[object, ...]:
    return (call.name, len(call.reads), *call.parameters)
