"""DLPack: memory of other libraries' arrays without a copy, and ours for them.

Structures and codes: dlpack.h, version 1.1 of the specification; capsules without a version, which
every library reads and writes, are `DLManagedTensor`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from hlo.diagnostics import ArgumentError

CUDA = 2
_NAME, _USED_NAME = b"dltensor", b"used_dltensor"
_CODES: dict[str, tuple[int, int]] = {
    **{f"int{b}": (0, b) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (1, b) for b in (8, 16, 32, 64)},
    **{f"float{b}": (2, b) for b in (16, 32, 64)},
    "bfloat16": (4, 16),
    "complex64": (5, 64),
    "complex128": (5, 128),
    "bool": (6, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e5m2": (12, 8),
}
_NAMES = {code: name for name, code in _CODES.items()}


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (  # pyright: ignore[reportPrivateUsage]
    ("tensor", _Tensor),
    ("context", ctypes.c_void_p),
    ("deleter", _Deleter),
)

_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = (
    ctypes.py_object,
    (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
)
_pointer = _api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_pointer_raw = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_valid = _api.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_valid_raw = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_rename = _api.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True)
class Borrowed:
    """Memory of another library's array; `release` gives it back.

    Attributes:
        strides: in elements, None if row-major.
        device: (type, number); type 2 is CUDA.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None
    device: tuple[int, int]
    release: Callable[[], None]

    @property
    def is_row_major(self) -> bool:
        if self.strides is None or 0 in self.shape:
            return True
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True


def borrow(array: Any, stream: int) -> Borrowed:
    """Takes the memory of an object with `__dlpack__`.

    Args:
        stream: of ours, that the memory must be ready for; the other library sees to it.

    Raises:
        ArgumentError: its element type has no NumPy type.
    """
    capsule = array.__dlpack__(stream=stream)
    if not _valid(capsule, _NAME):
        raise ArgumentError(f"{type(array).__name__}.__dlpack__ gives no capsule of a tensor")
    managed = ctypes.cast(_pointer(capsule, _NAME), ctypes.POINTER(_Managed))
    tensor = managed.contents.tensor
    code = (tensor.dtype.code, tensor.dtype.bits)
    if tensor.dtype.lanes != 1 or code not in _NAMES:
        raise ArgumentError(f"an array of DLPack type {code}, {tensor.dtype.lanes} lanes")
    _rename(capsule, _USED_NAME)
    rank = tensor.rank
    released: list[bool] = []

    def release() -> None:
        if not released and managed.contents.deleter:
            released.append(True)
            managed.contents.deleter(managed)

    return Borrowed(
        (tensor.data or 0) + tensor.byte_offset,
        tuple(tensor.shape[:rank]),
        dtype_named(_NAMES[code]),
        tuple(tensor.strides[:rank]) if tensor.strides else None,
        (tensor.device.type, tensor.device.id),
        release,
    )


def dtype_named(name: str) -> np.dtype[Any]:
    """NumPy's type, or ml_dtypes'."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


_lent: dict[int, tuple[_Managed, object, object]] = {}


def lend(
    owner: object, address: int, shape: tuple[int, ...], dtype: np.dtype[Any],
    device: tuple[int, int],
) -> object:  # fmt: skip
    """A capsule for row-major memory; `owner` is kept alive until the other library is done.

    Raises:
        BufferError: DLPack has no such element type.
    """
    code = _CODES.get(dtype.name)
    if code is None:
        raise BufferError(f"DLPack has no type for {dtype.name}")
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data = address
    tensor.device = _Device(*device)
    tensor.rank = len(shape)
    tensor.dtype = _DataType(*code, 1)
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = None
    managed.deleter = _forget
    at = ctypes.addressof(managed)
    _lent[at] = (managed, owner, extents)
    return _new(at, _NAME, ctypes.cast(_forget_capsule, ctypes.c_void_p))


@_Deleter
def _forget(managed: Any) -> None:
    _lent.pop(ctypes.addressof(managed.contents), None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _forget_capsule(capsule: int) -> None:
    """Of a capsule that nobody took."""
    if _valid_raw(capsule, _NAME):
        _lent.pop(_pointer_raw(capsule, _NAME), None)
