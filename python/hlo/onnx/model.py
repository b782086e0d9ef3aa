"""ONNX models as plain data: the messages of the format, read and checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike, fspath
from typing import Any, Final

import numpy as np

from hlo.diagnostics import MissingExtraError, ParseError, UnsupportedError

Array = np.ndarray[Any, Any]
STANDARD: Final = ""
"""The domain of ONNX's own operators, also spelled ``ai.onnx``."""


@dataclass(frozen=True)
class AttributeRef:
    """An attribute that takes the value of the enclosing function's attribute."""

    name: str


@dataclass(frozen=True)
class Input:
    """A tensor that a graph takes.

    Attributes:
        name: in the graph.
        dtype: of its elements; None where the model does not say, or for a sequence.
        shape: an extent, a symbol or None for each dimension; None for an unknown rank.
    """

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class Node:
    """One operator.

    Attributes:
        op: its type, as ``Conv``.
        domain: whose operator it is.
        version: of the set of operators, of that domain.
        inputs: names; empty for an optional input that is left out.
        outputs: names; empty for one that nobody reads.
        attributes: numbers, strings, arrays, lists of them, and `Graph`s.
        name: what the model calls it; may be empty.
        proto: the message it was read from.
    """

    op: str
    domain: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    name: str
    proto: Any = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """The operator's name for messages."""
        return f"{self.domain}.{self.op}" if self.domain else self.op


@dataclass(frozen=True)
class Graph:
    """A graph in execution order; the graph of an attribute also reads the values around it.

    Attributes:
        initializers: stored tensors by name; one that is an input as well is its default.
    """

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    initializers: Mapping[str, Array]


@dataclass(frozen=True)
class Function:
    """A function of the model, or the definition of an operator by others.

    Attributes:
        defaults: attributes with a value of their own.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    defaults: Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    """A model.

    Attributes:
        functions: its own, by domain and name.
        file: where it was read from, for messages.
    """

    graph: Graph
    functions: Mapping[tuple[str, str], Function]
    file: str


def onnx_module() -> Any:
    """The package `onnx`, which reads the format.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("onnx")
    except ImportError:
        raise MissingExtraError(
            "reading ONNX models needs the package onnx: pip install 'hlo[onnx]'"
        ) from None


def read_model(source: Any) -> Model:
    """Reads a model.

    Args:
        source: a path (tensors may lie in files beside it), the bytes, or an `onnx.ModelProto`.

    Raises:
        ParseError: it is no model, or one that breaks the format's rules.
        MissingExtraError: the package `onnx` is not installed.
    """
    onnx = onnx_module()
    proto = _loaded(onnx, source)
    if not isinstance(proto, onnx.ModelProto):
        raise TypeError(f"expected a path, bytes or a ModelProto, found {type(source).__name__}")
    if not proto.graph.node and not proto.graph.output:
        raise ParseError("expected an ONNX model, found one without a graph")
    versions = {_domain(entry.domain): entry.version for entry in proto.opset_import}
    reader = _Reader(onnx, versions)
    functions: dict[tuple[str, str], Function] = {}
    for each in proto.functions:
        functions[_domain(each.domain), each.name] = read_function(each, versions)
    named = isinstance(source, (str, PathLike))
    file = str(fspath(source)) if named else proto.graph.name or "model.onnx"
    return Model(reader.graph(proto.graph), functions, file)


def read_function(proto: Any, versions: Mapping[str, int] | None = None) -> Function:
    """A `FunctionProto`; its own versions of operators come before those of the model."""
    onnx = onnx_module()
    own = {_domain(entry.domain): entry.version for entry in proto.opset_import}
    reader = _Reader(onnx, {**(versions or {}), **own})
    defaults = {a.name: reader.attribute(a) for a in proto.attribute_proto}
    nodes = tuple(reader.node(node) for node in proto.node)
    return Function(tuple(proto.input), tuple(proto.output), nodes, defaults)


def default_attributes(schema: Any) -> dict[str, Any]:
    """The attributes of an operator that have a value where a node gives none."""
    reader = _Reader(onnx_module(), {})
    values = {name: each.default_value for name, each in schema.attributes.items()}
    return {name: reader.attribute(value) for name, value in values.items() if value.type}


def _loaded(onnx: Any, source: Any) -> Any:
    from google.protobuf.message import DecodeError

    try:
        if isinstance(source, (bytes, bytearray)):
            return onnx.load_from_string(bytes(source))
        if isinstance(source, (str, PathLike)):
            return onnx.load(fspath(source))
    except DecodeError as error:
        raise ParseError(f"expected an ONNX model: {error}") from None
    return source


def _domain(name: str) -> str:
    return STANDARD if name == "ai.onnx" else name


class _Reader:
    """Messages to plain data, at given versions of the operators' domains."""

    def __init__(self, onnx: Any, versions: Mapping[str, int]) -> None:
        self._onnx = onnx
        self._versions = versions

    def graph(self, proto: Any) -> Graph:
        if proto.sparse_initializer:
            raise UnsupportedError("sparse initializers are not taken; store them densely")
        initializers = {t.name: self.array(t) for t in proto.initializer}
        return Graph(
            proto.name,
            tuple(self.input(each) for each in proto.input),
            tuple(each.name for each in proto.output),
            tuple(self.node(each) for each in proto.node),
            initializers,
        )

    def input(self, proto: Any) -> Input:
        kind = proto.type.tensor_type
        if not proto.type.HasField("tensor_type") or not kind.elem_type:
            return Input(proto.name, None, None)
        dtype = self.dtype(kind.elem_type, proto.name)
        if not kind.HasField("shape"):
            return Input(proto.name, dtype, None)
        shape: list[int | str | None] = []
        for each in kind.shape.dim:
            known = each.HasField("dim_value") and each.dim_value >= 0
            shape.append(int(each.dim_value) if known else (each.dim_param or None))
        return Input(proto.name, dtype, tuple(shape))

    def node(self, proto: Any) -> Node:
        domain = _domain(proto.domain)
        return Node(
            proto.op_type,
            domain,
            self._versions.get(domain, 1),
            tuple(proto.input),
            tuple(proto.output),
            {a.name: self.attribute(a) for a in proto.attribute},
            proto.name,
            proto,
        )

    def attribute(self, proto: Any) -> Any:
        if proto.ref_attr_name:
            return AttributeRef(proto.ref_attr_name)
        value = self._onnx.helper.get_attribute_value(proto)
        return self._plain(value)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, self._onnx.TensorProto):
            return self.array(value)
        if isinstance(value, self._onnx.GraphProto):
            return self.graph(value)
        if isinstance(value, (int, float, str)):
            return value
        if isinstance(value, Sequence) or hasattr(value, "__len__"):
            return [self._plain(each) for each in value]
        return value

    def array(self, proto: Any) -> Array:
        self.dtype(proto.data_type, proto.name)
        return np.asarray(self._onnx.numpy_helper.to_array(proto))

    def dtype(self, element: int, name: str) -> np.dtype[Any]:
        return dtype_of(element, name)


def dtype_of(element: int, name: str = "") -> np.dtype[Any]:
    """The NumPy type of an element type of the format, which is a number.

    Raises:
        UnsupportedError: there is none, as for strings.
    """
    onnx = onnx_module()
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, TypeError):
        raise ParseError(f"{name or 'a tensor'} has the unknown element type {element}") from None
    if dtype.kind in "OUS":
        raise UnsupportedError(f"{name or 'a tensor'} holds strings, which are not taken")
    return dtype
