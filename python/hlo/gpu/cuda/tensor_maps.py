"""Tensor maps as the driver writes them, by `ctypes`.

cuda-bindings keeps a `CUtensorMap` in a Python object, whose memory is aligned to 16 bytes; the
driver refuses what is not aligned to 64.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo.diagnostics import UnsupportedError
from hlo.gpu.cuda.driver import CudaError
from hlo.gpu.tensor_map import MAP_ALIGNMENT, MAP_BYTES, TensorMap

MOST_MAPS = 1024  # that are kept
# CUtensorMapDataType, by the element types of maps.
TYPES = {"u8": 0, "f16": 6, "bf16": 9, "tf32": 11}
SWIZZLE_128 = 3
PROMOTION_256 = 3


@functools.cache
def _encode() -> Any:
    """The driver's function.

    Raises:
        UnsupportedError: the driver has none.
    """
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    function = getattr(library, "cuTensorMapEncodeTiled", None)
    if function is None:
        raise UnsupportedError(
            "the NVIDIA driver is too old for tensor maps (CUDA 12.0 has them): install a newer "
            "one, or compile for nvptx:sm_90"
        )
    pointer, number = ctypes.c_void_p, ctypes.c_int
    function.argtypes = [
        pointer, number, ctypes.c_uint32, pointer, pointer, pointer, pointer, pointer, number,
        number, number, number,
    ]  # fmt: skip
    function.restype = number
    return function


def _words(values: Sequence[int], kind: Any) -> Any:
    return (kind * max(len(values), 1))(*values)


def encoded(tensor_map: TensorMap, address: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The 128 bytes of a map of a buffer, aligned as the driver and kernels need them.

    Raises:
        CudaError: the driver refuses it.
        UnsupportedError: the driver has no tensor maps.
    """
    room = np.zeros(MAP_BYTES + MAP_ALIGNMENT, np.uint8)
    made = room[-room.ctypes.data % MAP_ALIGNMENT :][:MAP_BYTES]
    rank = len(tensor_map.sizes)
    code = int(
        _encode()(
            made.ctypes.data, TYPES[tensor_map.element], rank, address,
            _words(tensor_map.sizes, ctypes.c_uint64), _words(tensor_map.strides, ctypes.c_uint64),
            _words(tensor_map.box, ctypes.c_uint32), _words([1] * rank, ctypes.c_uint32),
            0, SWIZZLE_128, PROMOTION_256, 0,
        )
    )  # fmt: skip
    if code:
        raise CudaError(f"cuTensorMapEncodeTiled fails: error {code} for {tensor_map}", code)
    return made


class TensorMaps:
    """Maps of buffers at addresses; those that were used last are kept."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[TensorMap, int], np.ndarray[Any, np.dtype[np.uint8]]] = (
            OrderedDict()
        )

    def address_of(self, tensor_map: TensorMap, address: int) -> int:
        """Where the bytes of a map are: there until 1024 others have been asked for."""
        key = (tensor_map, address)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = encoded(tensor_map, address)
            if len(self._known) > MOST_MAPS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return int(known.ctypes.data)
