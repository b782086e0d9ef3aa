"""The CUDA driver API by `cuda-bindings`, with errors that say what to do.

Nothing is imported before a device is opened: `hlo[cuda]` is an optional extra.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from hlo.diagnostics import ExecutionError, MissingExtraError

OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
NO_DEVICE = 100
NOT_READY = 600
NO_BINARY_FOR_DEVICE = 209
UNSUPPORTED_PTX_VERSION = 222
INSUFFICIENT_DRIVER = (36, 803, 804)
OLDEST_DRIVER = 11_000
_IN_A_FORK = "; a process that was forked after CUDA's first use has no GPU: start it by spawn"


class CudaError(ExecutionError):
    """The driver refused something.

    Attributes:
        code: CUDA's number of the error, 0 if it is not the driver's.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        self.code = code
        super().__init__(message)


class NoDeviceError(CudaError):
    """This machine has no GPU, no driver, or one that is too old."""


class OutOfMemoryError(CudaError):
    """The GPU has not enough free memory."""


@functools.cache
def driver() -> Any:
    """The module of the driver's functions, initialised.

    Raises:
        MissingExtraError: `cuda-bindings` is not installed.
        NoDeviceError: no driver, no GPU, or the driver is too old.
    """
    try:
        module = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise MissingExtraError(
            "running on a GPU needs cuda-bindings: pip install 'hlo[cuda]'; emulate=True "
            "(hlo-run --emulate) needs neither it nor a GPU"
        ) from error
    try:
        code = int(module.cuInit(0)[0])
    except ValueError as error:  # a code that this release of cuda-bindings does not know
        raise NoDeviceError(f"the NVIDIA driver does not start: {error}") from None
    except Exception as error:  # cuda-bindings' own types, which differ between its releases
        raise NoDeviceError(
            "this machine has no NVIDIA driver (libcuda.so.1 was not found): install one, or run "
            f"the program with emulate=True ({type(error).__name__})"
        ) from None
    if code == NO_DEVICE:
        raise NoDeviceError("the NVIDIA driver finds no GPU on this machine", code)
    if code in INSUFFICIENT_DRIVER:
        raise NoDeviceError(
            "the NVIDIA driver is older than cuda-bindings needs: install a newer driver, or an "
            f"older cuda-bindings ({_describe(module, code)})",
            code,
        )
    if code:
        raise NoDeviceError(f"the NVIDIA driver does not start: {_describe(module, code)}", code)
    version = int(call(module, "cuDriverGetVersion"))
    if version < OLDEST_DRIVER:
        raise NoDeviceError(
            f"the NVIDIA driver is for CUDA {cuda_version(version)}; at least "
            f"{cuda_version(OLDEST_DRIVER)} is needed"
        )
    return module


def cuda_version(number: int) -> str:
    """`13000` is CUDA 13.0."""
    return f"{number // 1000}.{number % 1000 // 10}"


def call(module: Any, name: str, *arguments: Any) -> Any:
    """Calls a function of the driver and gives its result: none, one, or a tuple.

    Raises:
        CudaError: it fails.
    """
    status, *results = getattr(module, name)(*arguments)
    code = int(status)
    if code:
        kind = OutOfMemoryError if code == OUT_OF_MEMORY else CudaError
        hint = _IN_A_FORK if code == NOT_INITIALIZED else ""
        raise kind(f"{name} fails: {_describe(module, code)}{hint}", code)
    return results[0] if len(results) == 1 else tuple(results) or None


def _describe(module: Any, code: int) -> str:
    try:
        result = module.CUresult(code)
        name = module.cuGetErrorName(result)[1]
        text = module.cuGetErrorString(result)[1]
        return f"{_text(name)} ({_text(text)})"
    except (ValueError, TypeError, RuntimeError):
        return f"error {code}"


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
