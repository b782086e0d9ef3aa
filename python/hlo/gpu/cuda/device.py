"""A GPU as a `hlo.gpu.device.Device`: memory, modules, launches on a stream, graphs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hlo.diagnostics import CompileError, UnsupportedError
from hlo.gpu.cuda.driver import (
    NO_BINARY_FOR_DEVICE,
    NOT_READY,
    UNSUPPORTED_PTX_VERSION,
    CudaError,
    NoDeviceError,
    OutOfMemoryError,
    call,
    cuda_version,
    driver,
)
from hlo.gpu.cuda.tensor_maps import TensorMaps
from hlo.gpu.device import Bytes, DeviceBuffer
from hlo.gpu.plan import Dimensions, KernelModule
from hlo.gpu.tensor_map import TensorMap

LOG_BYTES = 8192


@dataclass
class CudaModule:
    """A module that the driver has assembled and loaded."""

    name: str
    handle: Any
    functions: dict[str, Any] = field(default_factory=dict[str, Any])
    shared_bytes: dict[str, int] = field(default_factory=dict[str, int])


class CudaDevice:
    """One GPU, its primary context, and the stream that work is put into.

    Work is asynchronous: `read` and `synchronize` wait. Memory and waiting are for any thread; what
    else puts work into streams, and `capture`, are for one that has `entered`.

    Raises:
        MissingExtraError, NoDeviceError: see `hlo.gpu.cuda.driver.driver`.
    """

    def __init__(self, number: int = 0) -> None:
        self._driver = driver()
        self._lock = threading.RLock()
        self._depth = 0
        self._capturing = False
        self._put_off: list[Callable[[], None]] = []
        self._events: list[Any] = []
        count = int(call(self._driver, "cuDeviceGetCount"))
        if not 0 <= number < count:
            raise NoDeviceError(f"there is no GPU {number}: the driver finds {count}")
        self.number = number
        self._handle = call(self._driver, "cuDeviceGet", number)
        self._context = call(self._driver, "cuDevicePrimaryCtxRetain", self._handle)
        self._maps = TensorMaps()
        self._pooled = bool(self.attribute("MEMORY_POOLS_SUPPORTED"))
        with self.entered():
            self.stream = self.new_stream()
            self._current = self.stream
            if self._pooled:
                self._keep_freed_memory()

    @property
    def current_stream(self) -> Any:
        """The stream that work is put into now; see `on_stream`."""
        return self._current

    def call(self, name: str, *arguments: Any) -> Any:
        """A function of the driver; see `hlo.gpu.cuda.driver.call`."""
        return call(self._driver, name, *arguments)

    @contextmanager
    def entered(self) -> Generator[None]:
        """For a block its context is the calling thread's, and other threads wait.

        What was the thread's context before, another library's on another GPU, is so again after.
        """
        with self._lock:
            if self._depth == 0:
                self.call("cuCtxPushCurrent", self._context)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.call("cuCtxPopCurrent")

    def attribute(self, name: str) -> int:
        """A device attribute by its name without `CU_DEVICE_ATTRIBUTE_`."""
        attribute = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", attribute, self._handle))

    @functools.cached_property
    def name(self) -> str:
        """As the driver calls it."""
        text = self.call("cuDeviceGetName", 256, self._handle)
        return (text.decode() if isinstance(text, bytes) else str(text)).rstrip("\0")

    @functools.cached_property
    def capability(self) -> tuple[int, int]:
        """(8, 0) is sm_80."""
        return (
            self.attribute("COMPUTE_CAPABILITY_MAJOR"),
            self.attribute("COMPUTE_CAPABILITY_MINOR"),
        )

    def check_chip(self, chip: str) -> None:
        """Checks that code for a chip runs on this one.

        Raises:
            UnsupportedError: it does not.
        """
        digits = chip.removeprefix("sm_")
        wanted = int(digits.rstrip("af"))
        major, minor = self.capability
        found = 10 * major + minor
        if found < wanted or (digits[-1] == "a" and found != wanted):
            raise UnsupportedError(
                f"the program is compiled for {chip}, the GPU ({self.name}) is sm_{found}: compile "
                f"for nvptx:sm_{found} or an older chip"
            )

    # Memory

    def _keep_freed_memory(self) -> None:
        pool = self.call("cuDeviceGetDefaultMemPool", self._handle)
        threshold = self._driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        value = self._driver.cuuint64_t(2**64 - 1)
        self.call("cuMemPoolSetAttribute", pool, threshold, value)

    def allocate(self, size: int, name: str = "memory") -> int:
        with self.entered():
            try:
                if self._pooled:
                    return int(self.call("cuMemAllocAsync", max(size, 1), self.stream))
                return int(self.call("cuMemAlloc", max(size, 1)))
            except OutOfMemoryError as error:
                raise self._out_of_memory(size, name, error.code) from None

    def _out_of_memory(self, size: int, name: str, code: int) -> OutOfMemoryError:
        free, total = self.call("cuMemGetInfo")
        return OutOfMemoryError(
            f"{self.name} has no {size:,} bytes for {name!r}: {int(free):,} of {int(total):,} are "
            "free; release arrays, or compile with max_bytes",
            code,
        )

    def release(self, address: int) -> None:
        self.when_not_capturing(functools.partial(self._free, address))

    def _free(self, address: int) -> None:
        if self._pooled:
            self.call("cuMemFreeAsync", address, self.stream)
        else:
            self.call("cuMemFree", address)

    def write(self, address: int, data: Bytes) -> None:
        # Pageable memory: the driver has copied it when the call returns.
        with self.entered():
            self.call("cuMemcpyHtoDAsync", address, data.ctypes.data, data.nbytes, self._current)

    def read(self, address: int, data: Bytes) -> None:
        with self.entered():
            self.call("cuMemcpyDtoHAsync", data.ctypes.data, address, data.nbytes, self._current)
            self.call("cuStreamSynchronize", self._current)

    def copy(self, destination: int, source: int, size: int) -> None:
        self.call("cuMemcpyDtoDAsync", destination, source, size, self._current)

    def fill(self, address: int, size: int, pattern: int, pattern_bytes: int) -> None:
        bits = 8 * pattern_bytes
        self.call(f"cuMemsetD{bits}Async", address, pattern, size // pattern_bytes, self._current)

    # Kernels

    def load(self, module: KernelModule) -> CudaModule:
        """Assembles and loads a module.

        Raises:
            CompileError: the driver cannot assemble it; the message has its log.
        """
        image = module.ptx.encode() + b"\0"
        log = bytes(LOG_BYTES)  # cuda-bindings takes bytes, and lets the driver write into them
        options = self._driver.CUjit_option
        try:
            handle = self.call(
                "cuModuleLoadDataEx", image, 2,
                [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
                [log, LOG_BYTES],
            )  # fmt: skip
        except CudaError as error:
            raise self._refusal(module, error, log) from None
        return CudaModule(module.name, handle)

    def _refusal(self, module: KernelModule, error: CudaError, log: bytes) -> CompileError:
        version = cuda_version(int(self.call("cuDriverGetVersion")))
        if error.code == UNSUPPORTED_PTX_VERSION:
            first = next((t for t in module.ptx.splitlines() if t.startswith(".version")), "")
            return UnsupportedError(
                f"the NVIDIA driver (CUDA {version}) is too old for PTX {first[9:]} of module "
                f"{module.name!r}: install a newer driver or compile for an older chip"
            )
        if error.code == NO_BINARY_FOR_DEVICE:
            return UnsupportedError(
                f"module {module.name!r} is compiled for another chip than {self.name}"
            )
        text = log.split(b"\0")[0].decode(errors="replace").strip()
        return CompileError(f"the driver cannot load module {module.name!r}: {error}; {text}")

    def function(self, module: CudaModule, kernel: str, shared_bytes: int) -> Any:
        """A kernel, allowed as much dynamic shared memory as asked for."""
        found = module.functions.get(kernel)
        if found is None:
            found = self.call("cuModuleGetFunction", module.handle, kernel.encode())
            module.functions[kernel] = found
        if shared_bytes > module.shared_bytes.get(kernel, 0):  # beside what the kernel declares
            attribute = (
                self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            )
            self.call("cuFuncSetAttribute", found, attribute, shared_bytes)
            module.shared_bytes[kernel] = shared_bytes
        return found

    def launch(
        self, module: CudaModule, kernel: str, grid: Dimensions, block: Dimensions,
        shared_bytes: int, arguments: Sequence[DeviceBuffer],
        tensor_maps: Sequence[TensorMap] = (),
    ) -> None:  # fmt: skip
        function = self.function(module, kernel, shared_bytes)
        values = np.array([buffer.address for buffer in arguments], np.uint64)
        pointers = values.ctypes.data + 8 * np.arange(len(values), dtype=np.uint64)
        if tensor_maps:
            places = [self._maps.address_of(m, arguments[m.argument].address) for m in tensor_maps]
            pointers = np.concatenate([pointers, np.array(places, np.uint64)])
        parameters = pointers.ctypes.data if len(pointers) else 0
        self.call(
            "cuLaunchKernel", function, *grid, *block, shared_bytes, self._current, parameters, 0
        )

    # Streams, events and graphs

    def new_stream(self) -> Any:
        """A stream that does not wait for the default one."""
        flags = self._driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        return self.call("cuStreamCreate", flags)

    def new_event(self) -> Any:
        """An event without a time."""
        if self._events:
            return self._events.pop()
        return self.call("cuEventCreate", self._driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)

    def reuse_event(self, event: Any) -> None:
        """Takes back an event that nothing waits for."""
        self._events.append(event)

    @contextmanager
    def on_stream(self, stream: Any) -> Generator[None]:
        """Puts the work of a block into another stream."""
        before, self._current = self._current, stream
        try:
            yield
        finally:
            self._current = before

    def record(self, event: Any, stream: Any) -> None:
        """The event happens when all that is in the stream now is over."""
        self.call("cuEventRecord", event, stream)

    def wait(self, stream: Any, event: Any) -> None:
        """What is put into the stream from now on waits for the event."""
        self.call("cuStreamWaitEvent", stream, event, 0)

    def has_happened(self, event: Any) -> bool:
        """Whether what came before an event is over."""
        status = int(self._driver.cuEventQuery(event)[0])
        if status not in (0, NOT_READY):
            raise CudaError(f"cuEventQuery fails: error {status}", status)
        return status == 0

    def destroy_graph(self, graph: Any) -> None:
        """Frees what `capture` gave."""
        self.call("cuGraphExecDestroy", graph)

    def destroy_stream(self, stream: Any) -> None:
        """Frees what `new_stream` gave."""
        self.call("cuStreamDestroy", stream)

    def unload(self, module: CudaModule) -> None:
        """Frees the code of a module, of which nothing runs."""
        self.call("cuModuleUnload", module.handle)

    def synchronize(self) -> None:
        """Waits for the stream.

        Raises:
            CudaError: a kernel has failed.
        """
        with self.entered():
            self.call("cuStreamSynchronize", self.stream)

    def when_not_capturing(self, work: Callable[[], None]) -> None:
        """Does what may be no part of a graph: at once, or once the graph is recorded.

        The garbage collector may come at any time, and what it frees ends a recording otherwise.
        """
        with self.entered():
            if self._capturing:
                self._put_off.append(work)
            else:
                work()

    def capture(self, work: Callable[[], None]) -> Any:
        """Records what `work()` puts into the stream, and streams that wait for it, as a graph."""
        mode = self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self.call("cuStreamBeginCapture", self.stream, mode)
        self._capturing = True
        try:
            try:
                work()
            finally:
                graph = self.call("cuStreamEndCapture", self.stream)
        finally:
            self._capturing = False
            while self._put_off:
                self._put_off.pop()()
        executable = self.call("cuGraphInstantiate", graph, 0)
        self.call("cuGraphDestroy", graph)
        return executable

    def launch_graph(self, graph: Any) -> None:
        """Runs a captured graph in the stream."""
        self.call("cuGraphLaunch", graph, self.stream)


_opened: dict[int, CudaDevice] = {}
_opening = threading.Lock()


def gpu(number: int = 0) -> CudaDevice:
    """The GPU as all programs share it: with one stream, so that each finds what others computed.

    Raises:
        MissingExtraError, NoDeviceError: see `hlo.gpu.cuda.driver.driver`.
    """
    with _opening:
        if number not in _opened:
            _opened[number] = CudaDevice(number)
        return _opened[number]


def forget_gpus() -> None:
    """Lets `gpu` open devices anew."""
    _opened.clear()
