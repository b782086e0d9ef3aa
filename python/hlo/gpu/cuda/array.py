"""Arrays in the memory of a GPU: results of a program, and arguments of the next."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.diagnostics import ArgumentError
from hlo.gpu.cuda import dlpack

if TYPE_CHECKING:
    from hlo.gpu.cuda.device import CudaDevice


class DeviceArray:
    """A row-major array on a GPU, freed when it is no longer used.

    PyTorch, CuPy and JAX take it without a copy (`torch.from_dlpack`); `numpy.asarray` copies it.
    """

    def __init__(
        self, device: CudaDevice, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.device = device
        self.address = address
        self.shape = shape
        self.dtype = dtype
        self._finalizer = weakref.finalize(self, device.release, address)

    def take(self) -> DeviceArray:
        """Its memory as another array; this one is dead.

        Raises:
            ArgumentError: its memory was taken before.
        """
        self.check_alive()
        self._finalizer.detach()
        return DeviceArray(self.device, self.address, self.shape, self.dtype)

    def check_alive(self) -> None:
        """Checks that its memory was not donated.

        Raises:
            ArgumentError: it was.
        """
        if not self._finalizer.alive:
            raise ArgumentError("the array's memory was donated to an earlier call")

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array on a GPU cannot become a NumPy array without a copy")
        self.check_alive()
        made = np.empty(self.shape, self.dtype)
        if made.nbytes:
            self.device.read(self.address, made.reshape(-1).view(np.uint8))
        return made if dtype is None else made.astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device.number

    def __dlpack__(
        self, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> object:  # fmt: skip
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("an array on a GPU is lent as it is, not copied")
        if stream != -1:  # -1: the consumer sees to the order itself
            self.device.synchronize()
        return dlpack.lend(self, self.address, self.shape, self.dtype, self.__dlpack_device__())

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.device.synchronize()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
        }

    def __repr__(self) -> str:
        return (
            f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device=cuda:{self.device.number})"
        )
