"""A GPU that this machine's processor plays: PTX interpreted, memory errors and races found.

    device = EmulatedDevice(seed=0)
    module = device.load(KernelModule("m", ptx))
    device.launch(module, "kernel", (1, 1, 1), (128, 1, 1), 0, [DeviceBuffer(address, size)])

What it proves: bounds and alignment of every access, by the slices that the launch plan gives the
kernel; that threads which touch the same byte, one of them writing, are ordered by barriers; that
shared memory is written before it is read; that asynchronous copies are waited for; that barriers
and warp collectives are reached by all threads they need. What it cannot prove: speed, and the last
bits of approximate instructions, which it computes accurately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hlo.diagnostics import CompileError, ExecutionError
from hlo.gpu.device import DeviceBuffer
from hlo.gpu.host_memory import HostMemory
from hlo.gpu.plan import Dimensions, KernelModule
from hlo.gpu.ptx.decode import DecodedKernel, decode
from hlo.gpu.ptx.parser import parse
from hlo.gpu.ptx.syntax import Module
from hlo.gpu.tensor_map import MAP_BYTES, TensorMap
from hlo_native import _emulator

MAX_THREADS = 1024
MAX_BLOCK: Dimensions = (1024, 1024, 64)
MAX_GRID: Dimensions = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 227 << 10  # of a block, on the largest chip


class EmulationError(ExecutionError):
    """A kernel that does what no kernel may.

    Attributes:
        kind: bounds, alignment, race, uninitialized, barrier, collective, async, limit or trap.
        line: of the PTX text.
        block, thread: indices of the thread that did it.
    """

    def __init__(
        self, kernel: str, kind: str, line: int, text: str, block: Dimensions, thread: Dimensions,
        message: str,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.kind = kind
        self.line = line
        self.block = block
        self.thread = thread
        where = f"PTX line {line} `{text}`: " if line else ""
        super().__init__(
            f"[{kind}] kernel {kernel!r}, {where}thread {thread} of block {block} {message}"
        )


@dataclass
class EmulatedModule:
    """A module in the device's memory; kernels are decoded when they are first launched."""

    parsed: Module
    addresses: dict[str, int]
    kernels: dict[str, DecodedKernel] = field(default_factory=dict[str, DecodedKernel])

    def kernel(self, name: str) -> DecodedKernel:
        if name not in self.kernels:
            if name not in self.parsed.kernels:
                raise CompileError(f"the PTX module has no kernel {name!r}")
            self.kernels[name] = decode(self.parsed, name, self.addresses)
        return self.kernels[name]


class EmulatedDevice(HostMemory):
    """See the module. Not for several threads at once.

    Args:
        seed: the schedule: 0 runs blocks and warps in order, 1 backwards, others at random.
        races: look for data races, unwritten shared memory and unfinished copies; takes 28 bytes
            for each 16 that kernels write to (for each 4, 2 or 1 where they do so in less), and
            half of the time.
        instruction_limit: of a launch's warps together, against kernels that do not end.
    """

    def __init__(
        self, seed: int = 0, *, races: bool = True, instruction_limit: int = 1 << 36
    ) -> None:
        super().__init__()
        self.seed = seed
        self.races = races
        self.instruction_limit = instruction_limit
        self.instructions = 0

    def load(self, module: KernelModule) -> EmulatedModule:
        return self.load_ptx(module.ptx)

    def load_ptx(self, text: str) -> EmulatedModule:
        """Loads a module from its text.

        Raises:
            ParseError: it is not PTX.
        """
        parsed = parse(text)
        addresses: dict[str, int] = {}
        for variable in parsed.variables.values():
            if variable.space in ("global", "const"):
                address = self.allocate(variable.bytes, variable.name)
                initial = variable.initial or bytes(variable.bytes)
                self.write(address, np.frombuffer(initial, np.uint8))
                addresses[variable.name] = address
        return EmulatedModule(parsed, addresses)

    def launch(
        self, module: EmulatedModule, kernel: str, grid: Dimensions, block: Dimensions,
        shared_bytes: int, arguments: Sequence[DeviceBuffer],
        tensor_maps: Sequence[TensorMap] = (),
    ) -> None:  # fmt: skip
        """Runs a kernel whose parameters are one pointer for each buffer, and tensor maps of them.

        It may touch only those buffers.

        Raises:
            EmulationError: it does what no kernel may.
            CompileError: it cannot be launched like this, or has an unknown instruction.
        """
        decoded = module.kernel(kernel)
        given = [8] * len(arguments) + [MAP_BYTES] * len(tensor_maps)
        taken = [size for _, size in decoded.parameters]
        if given != taken:
            raise CompileError(
                f"kernel {kernel!r} takes {taken.count(8)} buffers and {taken.count(MAP_BYTES)} "
                f"tensor maps, {len(arguments)} and {len(tensor_maps)} were given"
            )
        values = [b.address.to_bytes(8, "little") for b in arguments]
        values += [m.packed(arguments[m.argument].address) for m in tensor_maps]
        parameters = b""
        for (offset, _), value in zip(decoded.parameters, values, strict=True):
            parameters = parameters.ljust(offset, b"\0") + value
        ranges = [(b.address, b.bytes, b.is_writable) for b in arguments]
        ranges += [(address, module.parsed.variables[name].bytes, True)
                   for name, address in module.addresses.items()]  # fmt: skip
        self.launch_raw(module, kernel, grid, block, shared_bytes, parameters, ranges)

    def launch_raw(
        self, module: EmulatedModule, kernel: str, grid: Dimensions, block: Dimensions,
        shared_bytes: int, parameters: bytes, ranges: Sequence[tuple[int, int, bool]] = (),
    ) -> None:  # fmt: skip
        """Runs a kernel on a parameter buffer.

        Args:
            ranges: (address, bytes, may be written) of the memory that it may touch; all that is
                allocated if empty.
        """
        decoded = module.kernel(kernel)
        check_launch(decoded, grid, block, shared_bytes)
        try:
            self.instructions += _emulator.launch(
                program=decoded.program, memory=self._memory, grid=grid, block=block,
                shared_bytes=shared_bytes, parameters=parameters, ranges=ranges, seed=self.seed,
                races=self.races, instruction_limit=self.instruction_limit,
            )  # fmt: skip
        except _emulator.Fault as fault:
            kind, line, block_index, thread, message = fault.args
            text = decoded.lines.get(line, "")
            raise EmulationError(
                kernel, kind, line, text, tuple(block_index), tuple(thread), message
            ) from None


class LaunchLimits(Protocol):
    """What is known of a kernel before it is launched."""

    @property
    def name(self) -> str: ...
    @property
    def required_block(self) -> tuple[int, ...] | None: ...
    @property
    def maximum_block(self) -> tuple[int, ...] | None: ...
    @property
    def shared_bytes(self) -> int: ...


def check_launch(
    kernel: LaunchLimits, grid: Dimensions, block: Dimensions, shared_bytes: int
) -> None:
    """Checks a launch against the limits of all chips.

    Raises:
        CompileError: a driver would refuse it.
    """
    what = f"kernel {kernel.name!r}: "
    for name, sizes, limits in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        if any(not 1 <= s <= limit for s, limit in zip(sizes, limits, strict=True)):
            raise CompileError(f"{what}a {name} of {sizes}; each must be from 1 to {limits}")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise CompileError(f"{what}a block of {threads} threads; at most {MAX_THREADS} can run")
    if kernel.required_block is not None:
        required = (*kernel.required_block, 1, 1)[:3]
        if required != tuple(block):
            raise CompileError(f"{what}a block of {block}; it is compiled for {required}")
    if kernel.maximum_block is not None and threads > int(np.prod(kernel.maximum_block)):
        raise CompileError(
            f"{what}a block of {threads} threads; it is compiled for {kernel.maximum_block}"
        )
    total = kernel.shared_bytes + shared_bytes
    if total > MAX_SHARED_BYTES:
        raise CompileError(
            f"{what}{total} bytes of shared memory; at most {MAX_SHARED_BYTES} are there"
        )
