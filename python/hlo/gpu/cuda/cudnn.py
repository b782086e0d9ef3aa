"""cuDNN: convolutions with bias, residual and ReLU, where the library is installed.

A convolution is a graph of operations. The library names engines that compute it, best first as it
expects; what an engine does to numbers decides whether it may be taken: f32 is not rounded to tf32
unless that is asked for, and one infinite element must not reach results that do not read it, as
transforms of whole tiles make it.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hlo.gpu.convolution import Convolution, strides_of
from hlo.gpu.cuda.cublaslt import find_cublaslt
from hlo.gpu.cuda.cudnn_graph import (
    ADD,
    BYTES,
    CONVOLUTION,
    CROSS_CORRELATION,
    DATA_TYPES,
    MODE_A,
    MODE_FALLBACK,
    MOST_NOTES,
    PROPAGATE_NAN,
    RELU,
    Attribute,
    CudnnError,
    CudnnLibrary,
    Descriptors,
    Kind,
    Note,
    Value,
)

NAME = "libcudnn.so.9"
MOST_WORKSPACE = 256 << 20  # bytes that an engine may work in
MOST_ENGINES = 4  # that are tried on the device
MOST_CONFIGURATIONS = 16  # of a heuristic that are looked at
ALIGNMENT = 16  # bytes: of slices of the arena, and of other libraries' arrays
_IN_WHEELS = "cudnn/lib"  # under the folder of the namespace package `nvidia`
# The compiler of engines that are compiled as they are needed, in wheels.
_COMPILERS = {13: "cu13/lib/libnvrtc.so.13", 12: "cuda_nvrtc/lib/libnvrtc.so.12"}
# Identifiers of the tensors of a graph.
_IDS = {"x": 1, "w": 2, "y": 3, "bias": 4, "residual": 5}
_FIRST_VIRTUAL = 100


@functools.cache
def find_cudnn() -> Path | None:
    """The library: of an installed wheel, or as the loader finds it."""
    for root in _wheels():
        path = root / _IN_WHEELS / NAME
        if path.exists():
            return path
    try:
        ctypes.CDLL(NAME)
    except OSError:
        return None
    return Path(NAME)


def _wheels() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    return [] if spec is None else [Path(p) for p in spec.submodule_search_locations or ()]


def load_needed(major: int) -> None:
    """Loads what the library looks for by name, from where it is.

    Args:
        major: the version of CUDA that it is built for.

    Raises:
        CudnnError: cuBLASLt of that version is not there, without which it ends the process.
    """
    products = find_cublaslt((major,))
    if products is None:
        raise CudnnError(f"cuDNN needs cuBLASLt of CUDA {major}: install nvidia-cublas", 0)
    compilers = [root / _COMPILERS[major] for root in _wheels() if major in _COMPILERS]
    for path in (products, *(path for path in compilers if path.exists())):
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


@dataclass(frozen=True)
class Engine:
    """One way in which the library computes a convolution; lives as long as the process.

    Attributes:
        plan: an execution plan.
        ids: of the tensors, in the order of `Convolution`'s operands, then the result.
        workspace: bytes that it works in.
        zeros: bytes of zeros that it adds: engines that are not compiled as they are needed take a
            residual or ReLU only with a bias.
    """

    plan: Any
    ids: tuple[int, ...]
    workspace: int
    zeros: int


@dataclass
class Cudnn:
    """Convolutions on one GPU. Not for several threads at once.

    Attributes:
        handle: of the library; None where plans are only made, for `device`.
        device: a descriptor of the properties of a GPU, if it is not that of the handle.
    """

    cudnn: CudnnLibrary
    handle: Any = None
    device: Any = None
    _engines: dict[Convolution, tuple[Engine, ...]] = field(
        default_factory=dict[Convolution, "tuple[Engine, ...]"]
    )
    _refused: dict[Convolution, str] = field(default_factory=dict[Convolution, str])

    @staticmethod
    def open(path: Path) -> Cudnn:
        """Loads the library for the current context's GPU.

        Raises:
            OSError: it cannot be loaded.
            CudnnError: it is of another version, does not run on this GPU, or lacks cuBLASLt.
        """
        opened = CudnnLibrary.open(str(path))
        load_needed(opened.cuda_major)
        handle = ctypes.c_void_p()
        opened.call("cudnnCreate", ctypes.byref(handle))
        return Cudnn(opened, handle)

    def engines(self, convolution: Convolution) -> tuple[Engine, ...]:
        """Ways to compute a convolution, the best first as the library expects; none if it cannot.

        Raises:
            CudnnError: the library does not understand what it is given.
        """
        if convolution not in self._engines:
            self._engines[convolution] = self._found(convolution)
        return self._engines[convolution]

    def why_not(self, convolution: Convolution) -> str:
        """Why there are no engines."""
        return self._refused.get(convolution, "")

    def run(
        self, engine: Engine, addresses: Sequence[int], stream: int, *, workspace: int, zeros: int
    ) -> None:  # fmt: skip
        """Puts a convolution into a stream.

        Args:
            addresses: of the operands and the result.
            workspace, zeros: addresses of as many bytes as the engine needs, the latter all zero.
        """
        ids = engine.ids
        if engine.zeros:
            ids, addresses = (*ids, _IDS["bias"]), (*addresses, zeros)
        self.cudnn.call("cudnnSetStream", self.handle, ctypes.c_void_p(stream))
        descriptors = Descriptors(self.cudnn)
        try:
            pack = descriptors.finished(
                Kind.VARIANT_PACK,
                (Attribute.PACK_IDS, Value.INT64, ids),
                (Attribute.PACK_POINTERS, Value.POINTER, addresses),
                (Attribute.PACK_WORKSPACE, Value.POINTER, [workspace]),
            )
            self.cudnn.call("cudnnBackendExecute", self.handle, engine.plan, pack)
        finally:
            descriptors.destroy()

    def _found(self, convolution: Convolution) -> tuple[Engine, ...]:
        # What is made stays: plans of one convolution are few, and graphs that were recorded of
        # them run for as long as their programs do.
        graph = _Graph(self.cudnn, convolution, self.handle)
        try:
            described = graph.described()
        except CudnnError as error:
            if not error.is_unsupported:
                raise
            self._refused[convolution] = str(error)
            return ()
        found: list[Engine] = []
        for mode in (MODE_A, MODE_FALLBACK):
            for engine in self._of_mode(described, mode, graph):
                found.append(engine)
                if len(found) == MOST_ENGINES:
                    return tuple(found)
            if found:
                break
        if not found:
            self._refused.setdefault(convolution, "it has no engine that may be taken")
        return tuple(found)

    def _of_mode(self, described: Any, mode: int, graph: _Graph) -> Iterator[Engine]:
        descriptors = Descriptors(self.cudnn)
        device = [] if self.device is None else [
            (Attribute.HEURISTICS_DEVICE, Value.DESCRIPTOR, [self.device])
        ]  # fmt: skip
        try:
            heuristic = descriptors.finished(
                Kind.HEURISTICS,
                (Attribute.HEURISTICS_GRAPH, Value.DESCRIPTOR, [described]),
                (Attribute.HEURISTICS_MODE, Value.HEURISTICS_MODE, [mode]),
                *device,
            )
            results = Attribute.HEURISTICS_RESULTS
            count = min(descriptors.count(heuristic, results), MOST_CONFIGURATIONS)
            configurations = descriptors.held(
                heuristic, results, Kind.ENGINE_CONFIGURATION, count
            )  # fmt: skip
        except CudnnError as error:
            if not error.is_unsupported:
                raise
            self._refused[graph.convolution] = str(error)
            return
        for configuration in configurations:
            engine = self._engine(configuration, descriptors, graph)
            if engine is not None:
                yield engine

    def _engine(self, configuration: Any, descriptors: Descriptors, graph: _Graph) -> Engine | None:
        (engine,) = descriptors.held(
            configuration, Attribute.CONFIGURATION_ENGINE, Kind.ENGINE, 1
        )  # fmt: skip
        notes = descriptors.numbers(
            engine, Attribute.ENGINE_NUMERICAL_NOTES, Value.NUMERICAL_NOTE, MOST_NOTES
        )
        if unwanted(graph.convolution) & set(notes):
            return None
        where = (
            (Attribute.PLAN_HANDLE, Value.HANDLE, [self.handle]) if self.device is None
            else (Attribute.PLAN_DEVICE, Value.DESCRIPTOR, [self.device])
        )  # fmt: skip
        try:
            plan = graph.descriptors.finished(
                Kind.EXECUTION_PLAN, where,
                (Attribute.PLAN_CONFIGURATION, Value.DESCRIPTOR, [configuration]),
            )  # fmt: skip
        except CudnnError as error:  # a heuristic names engines that do not take it after all
            self._refused[graph.convolution] = str(error)
            return None
        (workspace,) = descriptors.numbers(plan, Attribute.PLAN_WORKSPACE, Value.INT64, 1)
        if workspace > MOST_WORKSPACE:
            self._refused[graph.convolution] = f"it works in {workspace:,} bytes"
            return None
        return Engine(plan, graph.ids, workspace, graph.zeros)


def unwanted(convolution: Convolution) -> frozenset[int]:
    """Notes of engines that may not compute a convolution."""
    found = {Note.REDUCED_PRECISION_REDUCTION, Note.FFT, Note.WINOGRAD}
    if convolution.factor == "f32" and not convolution.tf32:
        found |= {Note.TENSOR_CORE, Note.DOWN_CONVERT_INPUTS}
    if convolution.deterministic:
        found.add(Note.NONDETERMINISTIC)
    return frozenset(int(note) for note in found)


# Attributes of the three operations: the factors' scale, the result's, the settings, and tensors.
_OPERATIONS = {
    "forward": (
        Kind.FORWARD, Attribute.FORWARD_ALPHA, Attribute.FORWARD_BETA,
        Attribute.FORWARD_CONVOLUTION,
        {"x": Attribute.FORWARD_X, "w": Attribute.FORWARD_W, "y": Attribute.FORWARD_Y},
    ),
    "input": (
        Kind.INPUT_GRADIENT, Attribute.INPUT_ALPHA, Attribute.INPUT_BETA,
        Attribute.INPUT_CONVOLUTION,
        {"x": Attribute.INPUT_DX, "w": Attribute.INPUT_W, "y": Attribute.INPUT_DY},
    ),
    "weights": (
        Kind.WEIGHT_GRADIENT, Attribute.WEIGHTS_ALPHA, Attribute.WEIGHTS_BETA,
        Attribute.WEIGHTS_CONVOLUTION,
        {"x": Attribute.WEIGHTS_X, "w": Attribute.WEIGHTS_DW, "y": Attribute.WEIGHTS_DY},
    ),
}  # fmt: skip


class _Graph:
    """The operations of a convolution and what follows it.

    Attributes:
        ids, zeros: as of `Engine`.
        descriptors: what lives as long as plans that are made of it.
    """

    def __init__(self, cudnn: CudnnLibrary, convolution: Convolution, handle: Any) -> None:
        self.convolution, self.descriptors = convolution, Descriptors(cudnn)
        self._handle = handle
        (self._computed,) = {"x", "w", "y"} - set(convolution.operands)
        extra = [name for name in ("bias", "residual") if getattr(convolution, name)]
        names = (*convolution.operands, *extra, self._computed)
        self.ids = tuple(_IDS[name] for name in names)
        # Sums are formed, and followed, in f32 or f64; of integers in i32.
        factor = convolution.factor
        self._precision = DATA_TYPES[{"f64": "f64", "i8": "i32"}.get(factor, "f32")]
        follows = convolution.residual or convolution.activation != ""
        features = getattr(convolution, self._computed)[1]
        bare = follows and not convolution.bias
        self.zeros = features * BYTES[convolution.result] if bare else 0

    def described(self) -> Any:
        """The graph, checked by the library."""
        handle = [] if self._handle is None else [
            (Attribute.GRAPH_HANDLE, Value.HANDLE, [self._handle])
        ]  # fmt: skip
        operations = self._operations()
        return self.descriptors.finished(
            Kind.OPERATION_GRAPH, (Attribute.GRAPH_OPERATIONS, Value.DESCRIPTOR, operations),
            *handle,
        )  # fmt: skip

    def _operations(self) -> list[Any]:
        found = self.convolution
        # In the order in which engines have them.
        steps = [(ADD, "residual")] if found.residual else []
        steps += [(ADD, "bias")] if found.bias or self.zeros else []
        steps += [(RELU, "")] if found.activation == "relu" else []
        result = self._result(len(steps) == 0, 0)
        operations = [self._convolution(result)]
        for number, (mode, operand) in enumerate(steps, 1):
            after = self._result(number == len(steps), number)
            operations.append(self._pointwise(mode, operand, result, after))
            result = after
        return operations

    def _convolution(self, result: Any) -> Any:
        found, finished = self.convolution, self.descriptors.finished
        mode = CONVOLUTION if found.turned else CROSS_CORRELATION
        ones = (1,) * (_rank(found) - 2 - len(found.strides))  # of a dimension that cuDNN wants
        zeros = (0,) * len(ones)
        described = finished(
            Kind.CONVOLUTION,
            (Attribute.CONVOLUTION_SPATIAL_DIMS, Value.INT64, [_rank(found) - 2]),
            (Attribute.CONVOLUTION_PRECISION, Value.DATA_TYPE, [self._precision]),
            (Attribute.CONVOLUTION_MODE, Value.CONVOLUTION_MODE, [mode]),
            (Attribute.CONVOLUTION_BEFORE, Value.INT64, (*zeros, *found.before)),
            (Attribute.CONVOLUTION_AFTER, Value.INT64, (*zeros, *found.after)),
            (Attribute.CONVOLUTION_STRIDES, Value.INT64, (*ones, *found.strides)),
            (Attribute.CONVOLUTION_DILATIONS, Value.INT64, (*ones, *found.dilation)),
        )
        kind, alpha, beta, settings, places = _OPERATIONS[found.direction]
        number = Value.DOUBLE if found.factor == "f64" else Value.FLOAT
        factors = [
            (places[name], Value.DESCRIPTOR, [self._tensor(name, found.factor)])
            for name in found.operands
        ]
        return finished(
            kind, (alpha, number, [1]), (beta, number, [0]),
            (settings, Value.DESCRIPTOR, [described]), *factors,
            (places[self._computed], Value.DESCRIPTOR, [result]),
        )  # fmt: skip

    def _pointwise(self, mode: int, operand: str, before: Any, after: Any) -> Any:
        finished = self.descriptors.finished
        # Without it the library's ReLU of NaN is zero.
        nan = [(Attribute.POINTWISE_NAN, Value.NAN_PROPAGATION, [PROPAGATE_NAN])]
        described = finished(
            Kind.POINTWISE,
            (Attribute.POINTWISE_MODE, Value.POINTWISE_MODE, [mode]),
            (Attribute.POINTWISE_PRECISION, Value.DATA_TYPE, [self._precision]),
            *(nan if mode == RELU else []),
        )
        second = [
            (Attribute.POINTWISE_B, Value.DESCRIPTOR,
             [self._tensor(operand, self.convolution.result)])
        ] if operand else []  # fmt: skip
        return finished(
            Kind.POINTWISE_OPERATION,
            (Attribute.POINTWISE_DESCRIPTOR, Value.DESCRIPTOR, [described]),
            (Attribute.POINTWISE_X, Value.DESCRIPTOR, [before]), *second,
            (Attribute.POINTWISE_Y, Value.DESCRIPTOR, [after]),
        )  # fmt: skip

    def _result(self, is_last: bool, number: int) -> Any:
        """What a step gives: memory, or, between steps, numbers in the precision of the sum."""
        if is_last:
            return self._tensor(self._computed, self.convolution.result)
        dims = self._dims(self._computed)
        return self._described(_FIRST_VIRTUAL + number, dims, self._precision, is_virtual=True)

    def _tensor(self, name: str, element: str) -> Any:
        return self._described(_IDS[name], self._dims(name), DATA_TYPES[element])

    def _dims(self, name: str) -> tuple[int, ...]:
        found = self.convolution
        computed: tuple[int, ...] = getattr(found, self._computed)
        features = computed[1]
        dims: tuple[int, ...] = {
            "bias": (1, features, *(1 for _ in computed[2:])),
            "residual": computed,
        }.get(name) or getattr(found, name)
        return (*dims[:2], *(1,) * (_rank(found) - len(dims)), *dims[2:])

    def _described(
        self, number: int, dims: tuple[int, ...], kind: int, *, is_virtual: bool = False
    ) -> Any:
        return self.descriptors.finished(
            Kind.TENSOR,
            (Attribute.TENSOR_ID, Value.INT64, [number]),
            (Attribute.TENSOR_TYPE, Value.DATA_TYPE, [kind]),
            (Attribute.TENSOR_ALIGNMENT, Value.INT64, [ALIGNMENT]),
            (Attribute.TENSOR_DIMENSIONS, Value.INT64, dims),
            (Attribute.TENSOR_STRIDES, Value.INT64, strides_of(dims, self.convolution.layout)),
            (Attribute.TENSOR_IS_VIRTUAL, Value.BOOLEAN, [is_virtual]),
        )


def _rank(convolution: Convolution) -> int:
    """Dimensions that cuDNN wants: two spatial ones at least."""
    return max(len(convolution.x), 4)
