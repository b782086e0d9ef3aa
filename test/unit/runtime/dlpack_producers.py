"""Tensors that other libraries might lend by DLPack, made by hand: any version, flags, strides."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np

READ_ONLY = 1
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
CPU, CUDA = 1, 2
# A capsule keeps the address of its name.
_TENSOR, _VERSIONED_TENSOR, _TABLE = b"dltensor", b"dltensor_versioned", b"dlpack_exchange_api"

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Version(ctypes.Structure):
    _fields_: ClassVar = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class _Tensor(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_: ClassVar = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_: ClassVar = [
        ("version", _Version), ("context", ctypes.c_void_p), ("deleter", _Deleter),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


class _Exchange(ctypes.Structure):
    _fields_: ClassVar = [
        ("version", _Version), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
        ("from_python", ctypes.c_void_p),
    ]  # fmt: skip


class Lender:
    """An array that is lent by `__dlpack__`.

    Attributes:
        lent: how many times; `returned` counts the deleter's calls.
    """

    def __init__(
        self, array: np.ndarray[Any, Any], *, versioned: bool = True, flags: int = 0,
        device: int = CPU, major: int = 1, code: int | None = None, byte_offset: int = 0,
    ) -> None:  # fmt: skip
        self.array, self.versioned, self.flags, self.device = array, versioned, flags, device
        self.major, self.byte_offset = major, byte_offset
        self.code = CODES[array.dtype.kind] if code is None else code
        self.lent = self.returned = 0
        self._kept: list[Any] = []

    def managed(self, versioned: bool) -> ctypes.Structure:
        array, rank = self.array, self.array.ndim
        shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
        strides = (ctypes.c_int64 * max(rank, 1))(*(s // array.itemsize for s in array.strides))
        tensor = _Tensor(
            array.ctypes.data - self.byte_offset, self.device, 0, rank, self.code,
            array.itemsize * 8, 1, shape, strides, self.byte_offset,
        )  # fmt: skip

        def give_back(_: int) -> None:
            self.returned += 1

        deleter = _Deleter(give_back)
        made = (
            _Versioned(_Version(self.major, 0), None, deleter, self.flags, tensor)
            if versioned
            else _Managed(tensor, None, deleter)
        )
        self._kept += [shape, strides, deleter, made]
        self.lent += 1
        return made

    def __dlpack__(self, **options: Any) -> object:
        if options and not self.versioned:
            raise TypeError("an old library knows no max_version")
        made = self.managed(self.versioned)
        name = _VERSIONED_TENSOR if self.versioned else _TENSOR
        return _api.PyCapsule_New(ctypes.addressof(made), name, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def _from_python(lender: Any, out: Any) -> int:
    out[0] = ctypes.addressof(lender.managed(True))
    return 0


_known = _Exchange(_Version(1, 2), None, None, ctypes.cast(_from_python, ctypes.c_void_p))
_newer = _Exchange(_Version(2, 0), ctypes.addressof(_known), None, None)


class QuickLender(Lender):
    """The same by the table of C functions; `__dlpack__` must not be asked."""

    __dlpack_c_exchange_api__: ClassVar = _api.PyCapsule_New(ctypes.addressof(_known), _TABLE, None)

    def __dlpack__(self, **options: Any) -> object:
        raise AssertionError("the table is there")

    def __array__(self, *_: Any) -> object:
        raise AssertionError("the table is there")


class NewerLender(QuickLender):
    """One whose table is of a later version, with that of an earlier one behind it."""

    __dlpack_c_exchange_api__: ClassVar = _api.PyCapsule_New(ctypes.addressof(_newer), _TABLE, None)


class GradientLender(QuickLender):
    """One whose values may need a gradient or be negated when they are read."""

    requires_grad = False
    negative = False

    def is_neg(self) -> bool:
        return self.negative

    def is_conj(self) -> bool:
        return False

    def __array__(self, *_: Any) -> object:
        return -self.array
