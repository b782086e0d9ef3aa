"""The memory of a GPU that the processor plays."""

from __future__ import annotations

import numpy as np

from hlo.gpu.device import Bytes
from hlo_native import _emulator


class HostMemory:
    """Allocations with exact bounds, each filled with 0xA5; addresses are the host's."""

    def __init__(self) -> None:
        self._memory = _emulator.Memory()

    @property
    def allocated_bytes(self) -> int:
        """What is allocated now."""
        return self._memory.allocated_bytes

    def allocate(self, size: int, name: str = "memory") -> int:
        return self._memory.allocate(size, name)

    def adopt(self, address: int, size: int, name: str) -> None:
        """Makes memory of the host known as device memory; the caller keeps it alive."""
        self._memory.adopt(address, size, name)

    def release(self, address: int) -> None:
        self._memory.release(address)

    def write(self, address: int, data: Bytes) -> None:
        self._memory.write(address, data)

    def read(self, address: int, data: Bytes) -> None:
        self._memory.read(address, data)

    def copy(self, destination: int, source: int, size: int) -> None:
        self._memory.copy(destination, source, size)

    def fill(self, address: int, size: int, pattern: int, pattern_bytes: int) -> None:
        one = np.frombuffer(pattern.to_bytes(pattern_bytes, "little"), np.uint8)
        self._memory.write(address, np.tile(one, size // pattern_bytes))
