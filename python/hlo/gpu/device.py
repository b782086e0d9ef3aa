"""What a launch plan needs of a device: memory, kernels, launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from hlo.gpu.plan import Dimensions, KernelModule
from hlo.gpu.tensor_map import TensorMap

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
"""One-dimensional, contiguous."""


@dataclass(frozen=True)
class DeviceBuffer:
    """Device memory that a kernel gets as one argument; `is_writable` if it may write there."""

    address: int
    bytes: int
    is_writable: bool = True


Loaded = TypeVar("Loaded")


class Device(Protocol[Loaded]):
    """A device; operations take effect in the order of the calls.

    `Loaded` is what `load` gives for a module and `launch` takes.
    """

    def allocate(self, size: int, name: str) -> int:
        """Memory aligned to 256 bytes, its content undefined; `name` is for messages.

        Raises:
            ExecutionError: there is not enough.
        """
        ...

    def release(self, address: int) -> None:
        """Frees what `allocate` gave."""
        ...

    def write(self, address: int, data: Bytes) -> None:
        """Copies from the host."""
        ...

    def read(self, address: int, data: Bytes) -> None:
        """Copies to the host and waits for it."""
        ...

    def copy(self, destination: int, source: int, size: int) -> None: ...

    def fill(self, address: int, size: int, pattern: int, pattern_bytes: int) -> None:
        """Repeats `pattern`, of 1, 2 or 4 bytes; `size` is a multiple of them."""
        ...

    def load(self, module: KernelModule) -> Loaded: ...

    def launch(
        self,
        module: Loaded,
        kernel: str,
        grid: Dimensions,
        block: Dimensions,
        shared_bytes: int,
        arguments: Sequence[DeviceBuffer],
        tensor_maps: Sequence[TensorMap] = (),
    ) -> None: ...
