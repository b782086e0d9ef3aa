"""cuBLASLt: matrix products with bias, ReLU and GELU, where the library is installed.

Its interface is C, called by `ctypes`; numbers are those of cublasLt.h and cublas_api.h of CUDA 12
and 13. The library counts columns first, so a row-major product D = A B is its D^T = B^T A^T, and a
bias along our columns is one along its rows.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hlo.diagnostics import ExecutionError
from hlo.gpu.plan import VendorCall

WORKSPACE_BYTES = 32 << 20  # of a stream; what NVIDIA recommends for Hopper
_TYPES = {"f32": 0, "f64": 1, "f16": 2, "bf16": 14}  # cudaDataType
_COMPUTE_F32, _COMPUTE_F64, _COMPUTE_TF32 = 68, 70, 77  # cublasComputeType_t
_TRANSPOSE_A, _TRANSPOSE_B, _EPILOGUE, _BIAS = 3, 4, 7, 8  # cublasLtMatmulDescAttributes_t
_BATCHES, _BATCH_STRIDE = 5, 6  # cublasLtMatrixLayoutAttribute_t
_MOST_WORKSPACE, _ALIGNMENTS = 1, (5, 6, 7, 8)  # cublasLtMatmulPreferenceAttributes_t
_ALIGNMENT = 16  # bytes: of slices of the arena, and of other libraries' arrays
_EPILOGUES = {
    ("", False): 1, ("relu", False): 2, ("", True): 4, ("relu", True): 6, ("gelu", False): 32,
    ("gelu", True): 36,
}  # fmt: skip
_MAJORS = (13, 12)  # of CUDA
# Where the wheels put it, under the folder of the namespace package `nvidia`.
_IN_WHEELS = ("cu13/lib", "cublas/lib")


class _Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


@functools.cache
def find_cublaslt(majors: tuple[int, ...] = _MAJORS) -> Path | None:
    """The library for one of these versions of CUDA: of a wheel, or as the loader finds it."""
    names = [f"libcublasLt.so.{major}" for major in majors]
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else list(spec.submodule_search_locations or ())
    in_wheels = (Path(r) / tail / name for r in roots for tail in _IN_WHEELS for name in names)
    found = next((path for path in in_wheels if path.exists()), None)
    if found is not None:
        return found
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return Path(name)
    return None


@dataclass
class _Prepared:
    """What the library made for a product; lives as long as the process."""

    descriptor: Any
    layouts: tuple[Any, Any, Any]
    algorithm: _Heuristic
    one: Any
    zero: Any


@dataclass
class CublasLt:
    """Products on one GPU. Not for several threads at once.

    Attributes:
        workspaces: address of `WORKSPACE_BYTES` of device memory for each stream that is used.
    """

    library: Any
    workspaces: Mapping[int, int]
    handle: Any = field(default_factory=ctypes.c_void_p)
    _prepared: dict[tuple[object, ...], _Prepared | None] = field(
        default_factory=dict[tuple[object, ...], "_Prepared | None"]
    )

    @staticmethod
    def open(path: Path, workspaces: Mapping[int, int]) -> CublasLt:
        """Loads the library.

        Raises:
            ExecutionError: it cannot be initialised.
        """
        made = CublasLt(ctypes.CDLL(str(path)), workspaces)
        made._call("cublasLtCreate", ctypes.byref(made.handle))
        return made

    def can(self, call: VendorCall) -> bool:
        """Whether the library has an algorithm for a product."""
        return call.name == "matmul" and self._of(call) is not None

    def matmul(
        self, call: VendorCall, reads: Sequence[int], writes: Sequence[int], stream: int
    ) -> None:
        """Puts a product that it `can` into a stream.

        Args:
            reads: addresses of the left factor, the right one and, if there is one, the bias.
            writes: address of the result.
        """
        prepared = self._of(call)
        assert prepared is not None
        first, second, result = prepared.layouts
        if len(reads) > 2:
            self._set("MatmulDesc", prepared.descriptor, _BIAS, ctypes.c_void_p(reads[2]))
        left, right = ctypes.c_void_p(reads[0]), ctypes.c_void_p(reads[1])
        target = ctypes.c_void_p(writes[0])
        self._call(
            "cublasLtMatmul", self.handle, prepared.descriptor, ctypes.byref(prepared.one), right,
            first, left, second, ctypes.byref(prepared.zero), target, result, target, result,
            ctypes.byref(prepared.algorithm), ctypes.c_void_p(self.workspaces[stream]),
            ctypes.c_size_t(WORKSPACE_BYTES), ctypes.c_void_p(stream),
        )  # fmt: skip

    def _of(self, call: VendorCall) -> _Prepared | None:
        key = (len(call.reads), *call.parameters)
        if key not in self._prepared:
            self._prepared[key] = self._prepare(dict(call.parameters), len(call.reads) > 2)
        return self._prepared[key]

    def _prepare(self, product: Mapping[str, Any], has_bias: bool) -> _Prepared | None:
        kind, result = _TYPES[product["factor"]], _TYPES[product["result"]]
        is_double = product["factor"] == "f64"
        compute = _COMPUTE_F64 if is_double else _COMPUTE_F32
        if product["tf32"]:
            compute = _COMPUTE_TF32
        scale = _TYPES["f64" if is_double else "f32"]
        descriptor = ctypes.c_void_p()
        self._call("cublasLtMatmulDescCreate", ctypes.byref(descriptor), compute, scale)
        left, right = bool(product["left_along_depth"]), bool(product["right_along_depth"])
        epilogue = _EPILOGUES[product["activation"], has_bias]
        # The library's first factor is our right one. Stored as [n, k], it is its k x n matrix.
        for attribute, value in (
            (_TRANSPOSE_A, int(right)), (_TRANSPOSE_B, int(not left)), (_EPILOGUE, epilogue),
        ):  # fmt: skip
            self._set("MatmulDesc", descriptor, attribute, ctypes.c_int32(value))
        batch, m, n, k = (product[name] for name in ("batch", "m", "n", "k"))
        layouts = (
            self._layout(kind, *((k, n) if right else (n, k)), batch),
            self._layout(kind, *((k, m) if left else (m, k)), batch),
            self._layout(result, n, m, batch),
        )
        algorithm = self._algorithm(descriptor, layouts)
        if algorithm is None:
            return None
        number = ctypes.c_double if is_double else ctypes.c_float
        return _Prepared(descriptor, layouts, algorithm, number(1), number(0))

    def _layout(self, kind: int, rows: int, columns: int, batch: int) -> Any:
        """A matrix whose columns are contiguous, or a batch of such."""
        layout = ctypes.c_void_p()
        self._call(
            "cublasLtMatrixLayoutCreate", ctypes.byref(layout), kind, ctypes.c_uint64(rows),
            ctypes.c_uint64(columns), ctypes.c_int64(rows),
        )  # fmt: skip
        if batch > 1:
            self._set("MatrixLayout", layout, _BATCHES, ctypes.c_int32(batch))
            self._set("MatrixLayout", layout, _BATCH_STRIDE, ctypes.c_int64(rows * columns))
        return layout

    def _algorithm(self, descriptor: Any, layouts: tuple[Any, Any, Any]) -> _Heuristic | None:
        """The library's first choice; None if it has none."""
        preference, found = ctypes.c_void_p(), ctypes.c_int()
        self._call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        self._set("MatmulPreference", preference, _MOST_WORKSPACE, ctypes.c_uint64(WORKSPACE_BYTES))
        for attribute in _ALIGNMENTS:  # of A, B, C and D; the library takes them for 256 otherwise
            self._set("MatmulPreference", preference, attribute, ctypes.c_uint32(_ALIGNMENT))
        chosen = _Heuristic()
        first, second, result = layouts
        status = self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, descriptor, first, second, result, result, preference, 1,
            ctypes.byref(chosen), ctypes.byref(found),
        )  # fmt: skip
        return chosen if status == 0 and found.value and chosen.state == 0 else None

    def _set(self, what: str, of: Any, attribute: int, value: Any) -> None:
        size = ctypes.c_size_t(ctypes.sizeof(value))
        self._call(f"cublasLt{what}SetAttribute", of, attribute, ctypes.byref(value), size)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise ExecutionError(f"{name} fails: cublasStatus_t {status}")
