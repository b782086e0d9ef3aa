"""A GPU that this machine's processor plays: the code that PTX is made from, a fiber a thread.

    device = FiberDevice(schedule=0)
    module = device.load(KernelModule("m", ptx, bitcode))
    device.launch(module, "kernel", (1, 1, 1), (128, 1, 1), 0, [DeviceBuffer(address, size)])

It is a second witness beside `hlo.gpu.emulated_device`: it shares neither the assembler's text nor
the interpreter's arithmetic, and is tens of times faster, since kernels are machine code. It finds
accesses out of bounds or not aligned, barriers and warp operations that not all threads come to,
and what goes wrong in one of several orders of threads: lanes of a warp run one after the other
between the operations they execute together. It does not look for races.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo.diagnostics import CompileError
from hlo.executable import runtime
from hlo.gpu.bitcode.host_code import DYNAMIC_SHARED_BYTES, HostCode, host_code
from hlo.gpu.device import DeviceBuffer
from hlo.gpu.emulated_device import EmulationError, check_launch
from hlo.gpu.host_memory import HostMemory
from hlo.gpu.plan import Dimensions, KernelModule
from hlo.gpu.tensor_map import TensorMap
from hlo_native import _emulator


@dataclass(frozen=True)
class FiberModule:
    """A module in machine code.

    Attributes:
        addresses: of its variables and of its kernels' entries.
    """

    code: HostCode
    library: runtime.Library
    addresses: dict[str, int]


class FiberDevice(HostMemory):
    """See the module. Not for several threads at once.

    Args:
        schedule: 0 runs warps in turn, in order; 1 the same backwards; 2 one warp as far as it gets
            before the next; 3 the same backwards; others at random, blocks too.
    """

    def __init__(self, schedule: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.entered = 0

    def load(self, module: KernelModule) -> FiberModule:
        """Compiles a module's bitcode for this machine.

        Raises:
            CompileError: the module has no bitcode, or one that cannot be compiled.
        """
        if module.bitcode is None:
            raise CompileError(
                f"the module {module.name} holds no bitcode: compile with emulator='fibers'"
            )
        code, data = compiled(module.bitcode)
        library = runtime.Library([data], _emulator.fiber_symbols())
        variables = {v.name: v.bytes for k in code.kernels.values() for v in k.shared}
        wanted = [*code.globals, *variables, *(f"{kernel}__entry" for kernel in code.kernels)]
        addresses = {name: library.lookup(name) for name in wanted}
        for name, size in {**code.globals, **variables}.items():
            self.adopt(addresses[name], size or DYNAMIC_SHARED_BYTES, name)
        return FiberModule(code, library, addresses)

    def launch(
        self, module: FiberModule, kernel: str, grid: Dimensions, block: Dimensions,
        shared_bytes: int, arguments: Sequence[DeviceBuffer],
        tensor_maps: Sequence[TensorMap] = (),
    ) -> None:  # fmt: skip
        """Runs a kernel whose parameters are one pointer for each buffer, and tensor maps of them.

        It may touch only those buffers.

        Raises:
            EmulationError: it does what no kernel may.
            CompileError: it cannot be launched like this.
        """
        known = module.code.kernels.get(kernel)
        if known is None:
            raise CompileError(f"the module has no kernel {kernel!r}")
        check_launch(known, grid, block, shared_bytes)
        shared = [(module.addresses[v.name], v.bytes or shared_bytes) for v in known.shared]
        ranges = [(b.address, b.bytes, b.is_writable) for b in arguments]
        ranges += [(address, size, True) for address, size in shared]
        ranges += [(module.addresses[n], size, True) for n, size in module.code.globals.items()]
        maps = [
            np.frombuffer(m.packed(arguments[m.argument].address), np.uint8) for m in tensor_maps
        ]
        try:
            self.entered += _emulator.launch_fibers(
                entry=module.addresses[f"{kernel}__entry"],
                operations=[operation.row() for operation in module.code.operations],
                memory=self._memory, grid=grid, block=block,
                arguments=[
                    *(b.address for b in arguments),
                    *(made.ctypes.data for made in maps),
                ],
                shared=shared, ranges=ranges,
                schedule=self.schedule,
            )  # fmt: skip
        except _emulator.Fault as fault:
            kind, _, block_index, thread, message = fault.args
            raise EmulationError(
                kernel, kind, 0, "", tuple(block_index), tuple(thread), message
            ) from None


@functools.lru_cache(maxsize=64)
def compiled(bitcode: bytes) -> tuple[HostCode, bytes]:
    """A module for this machine, and its object file.

    Raises:
        CompileError: it cannot be compiled.
    """
    code = host_code(runtime.llvm_text(bitcode))
    return code, runtime.compile_llvm_text(code.text, "always-inline")
