"""cuDNN's graph interface: descriptors, the numbers of cudnn_graph.h, and what is made of them.

It is C, called by `ctypes`. The numbers are those of cuDNN 9, whose interface later versions of 9
keep to.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from hlo.diagnostics import ExecutionError

OLDEST, NEWEST = 90000, 99999  # what cudnnGetVersion gives for 9.0.0, and for the last of 9
MESSAGE_BYTES = 2048


class Kind(IntEnum):
    """cudnnBackendDescriptorType_t."""

    POINTWISE = 0
    CONVOLUTION = 1
    ENGINE = 2
    ENGINE_CONFIGURATION = 3
    HEURISTICS = 4
    EXECUTION_PLAN = 5
    FORWARD = 10
    WEIGHT_GRADIENT = 11
    INPUT_GRADIENT = 12
    POINTWISE_OPERATION = 13
    OPERATION_GRAPH = 15
    VARIANT_PACK = 16
    TENSOR = 17


class Attribute(IntEnum):
    """cudnnBackendAttributeName_t."""

    POINTWISE_MODE = 0
    POINTWISE_PRECISION = 1
    POINTWISE_NAN = 2
    CONVOLUTION_PRECISION = 100
    CONVOLUTION_MODE = 101
    CONVOLUTION_DILATIONS = 102
    CONVOLUTION_STRIDES = 103
    CONVOLUTION_AFTER = 104
    CONVOLUTION_BEFORE = 105
    CONVOLUTION_SPATIAL_DIMS = 106
    HEURISTICS_MODE = 200
    HEURISTICS_GRAPH = 201
    HEURISTICS_RESULTS = 202
    HEURISTICS_DEVICE = 204
    CONFIGURATION_ENGINE = 300
    PLAN_HANDLE = 400
    PLAN_CONFIGURATION = 401
    PLAN_WORKSPACE = 402
    PLAN_DEVICE = 407
    FORWARD_ALPHA = 700
    FORWARD_BETA = 701
    FORWARD_CONVOLUTION = 702
    FORWARD_W = 703
    FORWARD_X = 704
    FORWARD_Y = 705
    INPUT_ALPHA = 706
    INPUT_BETA = 707
    INPUT_CONVOLUTION = 708
    INPUT_W = 709
    INPUT_DX = 710
    INPUT_DY = 711
    WEIGHTS_ALPHA = 712
    WEIGHTS_BETA = 713
    WEIGHTS_CONVOLUTION = 714
    WEIGHTS_DW = 715
    WEIGHTS_X = 716
    WEIGHTS_DY = 717
    POINTWISE_DESCRIPTOR = 750
    POINTWISE_X = 751
    POINTWISE_B = 752
    POINTWISE_Y = 753
    GRAPH_HANDLE = 800
    GRAPH_OPERATIONS = 801
    TENSOR_ALIGNMENT = 900
    TENSOR_TYPE = 901
    TENSOR_DIMENSIONS = 902
    TENSOR_STRIDES = 903
    TENSOR_ID = 906
    TENSOR_IS_VIRTUAL = 907
    PACK_IDS = 1000
    PACK_POINTERS = 1001
    PACK_WORKSPACE = 1003
    ENGINE_NUMERICAL_NOTES = 1303


class Value(IntEnum):
    """cudnnBackendAttributeType_t: what an attribute's elements are."""

    HANDLE = 0
    DATA_TYPE = 1
    BOOLEAN = 2
    INT64 = 3
    FLOAT = 4
    DOUBLE = 5
    POINTER = 6
    CONVOLUTION_MODE = 7
    HEURISTICS_MODE = 8
    NAN_PROPAGATION = 10
    NUMERICAL_NOTE = 11
    POINTWISE_MODE = 14
    DESCRIPTOR = 15


class Note(IntEnum):
    """cudnnBackendNumericalNote_t: how an engine computes."""

    TENSOR_CORE = 0
    DOWN_CONVERT_INPUTS = 1
    REDUCED_PRECISION_REDUCTION = 2
    FFT = 3
    NONDETERMINISTIC = 4
    WINOGRAD = 5


MOST_NOTES = 32
CONVOLUTION, CROSS_CORRELATION = 0, 1  # cudnnConvolutionMode_t
PROPAGATE_NAN = 1  # cudnnNanPropagation_t
ADD, RELU = 0, 100  # cudnnPointwiseMode_t
MODE_FALLBACK, MODE_A = 2, 3  # cudnnBackendHeurMode_t
DATA_TYPES = {"f32": 0, "f64": 1, "f16": 2, "i8": 3, "i32": 4, "bf16": 9}  # cudnnDataType_t
BYTES = {"f32": 4, "f64": 8, "f16": 2, "i8": 1, "i32": 4, "bf16": 2}

_C_TYPES: dict[Value, Any] = {
    Value.HANDLE: ctypes.c_void_p, Value.BOOLEAN: ctypes.c_bool, Value.INT64: ctypes.c_int64,
    Value.FLOAT: ctypes.c_float, Value.DOUBLE: ctypes.c_double, Value.POINTER: ctypes.c_void_p,
    Value.DESCRIPTOR: ctypes.c_void_p,
}  # fmt: skip


class CudnnError(ExecutionError):
    """A function of cuDNN fails.

    Attributes:
        status: a cudnnStatus_t.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_unsupported(self) -> bool:
        """Whether the library has no code for what was asked, rather than that it was wrong."""
        return self.status // 1000 == 3


@dataclass
class CudnnLibrary:
    """The library's functions."""

    library: Any

    @staticmethod
    def open(path: str) -> CudnnLibrary:
        """Loads the library.

        Raises:
            OSError: it cannot be loaded.
            CudnnError: it is of another version than 9.
        """
        opened = CudnnLibrary(ctypes.CDLL(path))
        if not OLDEST <= opened.version <= NEWEST:
            raise CudnnError(
                f"{path} is cuDNN {opened.version_text}; what is called is of cuDNN 9: install "
                "nvidia-cudnn-cu12 or nvidia-cudnn-cu13", 0,
            )  # fmt: skip
        return opened

    @property
    def version(self) -> int:
        """Such as 92801 for 9.28.1; cuDNN 8 counts in thousands."""
        self.library.cudnnGetVersion.restype = ctypes.c_size_t
        return int(self.library.cudnnGetVersion())

    @property
    def cuda_major(self) -> int:
        """The version of CUDA that it is built for."""
        self.library.cudnnGetCudartVersion.restype = ctypes.c_size_t
        return int(self.library.cudnnGetCudartVersion()) // 1000

    @property
    def version_text(self) -> str:
        """As people write it."""
        major = 10000 if self.version >= OLDEST else 1000
        rest = self.version % major
        return f"{self.version // major}.{rest // 100}.{rest % 100}"

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function.

        Raises:
            CudnnError: it gives another status than success; with what the library says of it.
        """
        status = int(getattr(self.library, name)(*arguments))
        if status != 0:
            message = ctypes.create_string_buffer(MESSAGE_BYTES)
            self.library.cudnnGetLastErrorString(message, ctypes.c_size_t(MESSAGE_BYTES))
            said = message.value.decode(errors="replace").strip()
            raise CudnnError(f"{name} fails: cudnnStatus_t {status}; {said}", status)


@dataclass
class Descriptors:
    """Descriptors that are destroyed together."""

    cudnn: CudnnLibrary
    made: list[Any] = field(default_factory=list[Any])

    def new(self, kind: Kind) -> Any:
        """An empty one."""
        descriptor = ctypes.c_void_p()
        self.cudnn.call("cudnnBackendCreateDescriptor", int(kind), ctypes.byref(descriptor))
        self.made.append(descriptor)
        return descriptor

    def finished(self, kind: Kind, *attributes: tuple[Attribute, Value, Sequence[Any]]) -> Any:
        """One with such attributes, which the library has checked."""
        descriptor = self.new(kind)
        for name, value, elements in attributes:
            array = _array(value, elements)
            self.cudnn.call(
                "cudnnBackendSetAttribute", descriptor, int(name), int(value),
                ctypes.c_int64(len(elements)), array,
            )  # fmt: skip
        self.cudnn.call("cudnnBackendFinalize", descriptor)
        return descriptor

    def numbers(self, descriptor: Any, name: Attribute, value: Value, most: int) -> list[Any]:
        """An attribute's elements, at most so many."""
        array, found = (_c_type(value) * most)(), ctypes.c_int64()
        self.cudnn.call(
            "cudnnBackendGetAttribute", descriptor, int(name), int(value), ctypes.c_int64(most),
            ctypes.byref(found), array,
        )  # fmt: skip
        return list(array)[: found.value]

    def count(self, descriptor: Any, name: Attribute) -> int:
        """How many descriptors an attribute has."""
        found = ctypes.c_int64()
        self.cudnn.call(
            "cudnnBackendGetAttribute", descriptor, int(name), int(Value.DESCRIPTOR),
            ctypes.c_int64(0), ctypes.byref(found), None,
        )  # fmt: skip
        return found.value

    def held(self, descriptor: Any, name: Attribute, kind: Kind, most: int) -> list[Any]:
        """An attribute's descriptors, at most so many."""
        room = [self.new(kind) for _ in range(most)]
        array, found = (ctypes.c_void_p * most)(*(d.value for d in room)), ctypes.c_int64()
        self.cudnn.call(
            "cudnnBackendGetAttribute", descriptor, int(name), int(Value.DESCRIPTOR),
            ctypes.c_int64(most), ctypes.byref(found), array,
        )  # fmt: skip
        return room[: found.value]

    def destroy(self) -> None:
        """Frees all, the last one first."""
        while self.made:
            self.cudnn.library.cudnnBackendDestroyDescriptor(self.made.pop())


def _array(value: Value, elements: Sequence[Any]) -> Any:
    kind = _c_type(value)
    plain = [e.value if isinstance(e, ctypes.c_void_p) else e for e in elements]
    return (kind * len(plain))(*plain)


def _c_type(value: Value) -> Any:
    return _C_TYPES.get(value, ctypes.c_int)
