"""The fake CUDA driver of fake_cuda.c, built and loaded; its launches go to the emulated device."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import traceback
from pathlib import Path
from typing import Any

from hlo.gpu.emulated_device import EmulatedDevice, EmulatedModule

SOURCE = Path(__file__).parent / "fake_cuda" / "fake_cuda.c"
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint), ctypes.c_uint, ctypes.c_void_p, ctypes.c_int,
)  # fmt: skip


def build(folder: Path) -> Path:
    """Compiles the driver; its SONAME makes the process's loader take it for the real one."""
    return compiled(SOURCE, folder / "libcuda.so.1")


def build_cublaslt(folder: Path) -> Path:
    """Compiles a cuBLASLt, which needs the fake driver to be loaded."""
    return compiled(SOURCE.with_name("fake_cublaslt.c"), folder / "libcublasLt.so.13")


def build_cudnn(folder: Path) -> Path:
    """Compiles a cuDNN, which needs the fake driver to be loaded."""
    return compiled(SOURCE.with_name("fake_cudnn.c"), folder / "libcudnn.so.9")


def compiled(source: Path, target: Path) -> Path:
    """Compiles a library in C, whose name is its SONAME too."""
    compiler = shutil.which("cc") or shutil.which("gcc") or "c++"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", f"-Wl,-soname,{target.name}", str(source), "-o",
         str(target), "-ldl", "-lm"],
        check=True,
    )  # fmt: skip
    return target


class FakeDriver:
    """One a process: the loader keeps it."""

    def __init__(self, library: Path) -> None:
        self.c: Any = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self.c.fake_log.restype = ctypes.c_char_p
        self.c.fake_allocation.restype = ctypes.c_uint64
        self.c.fake_allocation.argtypes = (ctypes.c_long,)
        self.c.fake_allocation_size.restype = ctypes.c_size_t
        self.c.fake_allocation_size.argtypes = (ctypes.c_long,)
        self.c.fake_live_allocations.restype = ctypes.c_long
        self.c.fake_set_memory.argtypes = (ctypes.c_size_t,)
        self._callback = _Callback(self._launch)
        self.c.fake_set_launch(self._callback)
        self._device = EmulatedDevice()
        self._modules: dict[bytes, EmulatedModule] = {}

    @property
    def log(self) -> list[str]:
        """The calls since the last `reset`."""
        return self.c.fake_log().decode().splitlines()

    @property
    def live(self) -> int:
        """Allocations that are not freed, once all work is done."""
        self.c.cuCtxSynchronize()
        return self.c.fake_live_allocations()

    def set_capability(self, major: int, minor: int) -> None:
        """Until the next `reset` the GPU is of this compute capability."""
        self.c.fake_set_capability(major, minor)

    def reset(self, seed: int = 0) -> None:
        self.set_capability(8, 0)
        self.c.fake_reset_log()
        self.c.fake_set_seed(seed)
        self.c.fake_set_memory(1 << 33)
        self.c.fake_set_pools(1)
        self.c.fake_set_init_error(0)
        self.c.fake_set_load_error(0)
        self.c.fake_set_driver_version(13000)

    def _launch(
        self, image: bytes, name: bytes, grid: Any, block: Any, shared: int, parameters: Any,
        size: int,
    ) -> int:  # fmt: skip
        known: list[int] = []
        try:
            if image not in self._modules:
                self._modules[image] = self._device.load_ptx(image.decode())
            for number in range(self.c.fake_live_allocations()):
                address = self.c.fake_allocation(number)
                self._device.adopt(address, self.c.fake_allocation_size(number), "device memory")
                known.append(address)
            data = ctypes.string_at(parameters, size)
            self._device.launch_raw(
                self._modules[image], name.decode(), tuple(grid[:3]), tuple(block[:3]), shared, data
            )
        except Exception:
            traceback.print_exc()
            return 1
        finally:
            for address in known:
                self._device.release(address)
        return 0
