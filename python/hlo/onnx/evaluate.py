"""From an ONNX graph to traced operations: nodes are translated one after another.

Values that are known (small initializers, shapes, and what is computed of them) stay NumPy arrays,
so that what decides about shapes is known when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from hlo.diagnostics import CompileError, UnsupportedError
from hlo.frontend.lowering import lower_module
from hlo.frontend.operands import to_tracer
from hlo.frontend.source_location import SourceLine, at_line, named_scope, user_line
from hlo.frontend.tracer import Tracer
from hlo.onnx.model import (
    AttributeRef,
    Function,
    Graph,
    Model,
    Node,
    default_attributes,
    onnx_module,
    read_function,
)
from hlo.onnx.ops import OPERATORS
from hlo.onnx.ops.registry import Call, Operator, UnknownValueError
from hlo.reference.evaluate import evaluate as run_reference

MOST_FOLDED: Final = 4096
"""Elements that a node's known inputs may have together for its outputs to be known as well."""


_NOTHING: Final = object()


class _LocatedError(Exception):
    """On its way out of the graphs around a node: an error that names the node and its place."""

    def __init__(self, error: CompileError) -> None:
        self.error = error
        super().__init__(str(error))


class Scope:
    """Values by name: those of a graph, and behind them those of the graphs around it."""

    def __init__(self, values: Mapping[str, Any], outer: Scope | None = None) -> None:
        self._values = dict(values)
        self._outer = outer

    def get(self, name: str) -> Any:
        """The value.

        Raises:
            CompileError: there is none.
        """
        found = self.find(name, _NOTHING)
        if found is _NOTHING:
            raise CompileError(f"nothing defines the value {name!r}")
        return found

    def find(self, name: str, default: Any = None) -> Any:
        """The value, or the default: an optional output may have none."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._values:
                return scope._values[name]
            scope = scope._outer
        return default

    def set(self, name: str, value: Any) -> None:
        """Defines a value."""
        self._values[name] = value


@dataclass(frozen=True)
class Evaluator:
    """Translates the nodes of a model into the trace that is being made.

    Attributes:
        model: the model; a node's place is its file and the node's number in the graph.
    """

    model: Model

    def run(self, graph: Graph, values: Mapping[str, Any], outer: Scope | None = None) -> list[Any]:
        """The outputs of a graph.

        Args:
            graph: of the model, or of an attribute.
            values: of its inputs, by name: NumPy arrays where they are known, traced arrays, lists.
            outer: what it reads besides.
        """
        scope = Scope({**graph.initializers, **values}, outer)
        if outer is not None:
            self._nodes(graph.nodes, scope)
            return [scope.get(name) for name in graph.outputs]
        try:
            self._nodes(graph.nodes, scope, numbered=True)
        except _LocatedError as found:
            raise found.error from found.__cause__
        return [scope.get(name) for name in graph.outputs]

    def _nodes(self, nodes: Sequence[Node], scope: Scope, *, numbered: bool = False) -> None:
        for i, node in enumerate(nodes):
            line = SourceLine(self.model.file, i + 1, 0) if numbered else None
            with at_line(line), named_scope(node.name or node.op):
                found = self._located(node, scope)
            for name, value in zip(node.outputs, found, strict=False):
                if name:
                    scope.set(name, value)

    def _located(self, node: Node, scope: Scope) -> Sequence[Any]:
        """The outputs of a node; errors name it and its place."""
        where = {"op": node.title, "location": str(user_line())}
        label = f"{node.name}: " if node.name else ""
        try:
            return self._node(node, scope)
        except UnknownValueError as error:
            raise _LocatedError(UnknownValueError(error.value, **where)) from error
        except CompileError as error:
            raise _LocatedError(type(error)(label + error.message, **where)) from error
        except (TypeError, ValueError, IndexError, KeyError, AssertionError) as error:
            message = f"{label}its inputs or attributes do not fit: {error}"
            raise _LocatedError(CompileError(message, **where)) from error

    def _node(self, node: Node, scope: Scope) -> Sequence[Any]:
        values = [scope.get(name) if name else None for name in node.inputs]

        def evaluate(graph: Graph, given: Sequence[Any]) -> list[Any]:
            names = [each.name for each in graph.inputs]
            return self.run(graph, dict(zip(names, given, strict=True)), scope)

        function = self.model.functions.get((node.domain, node.op))
        operator = OPERATORS.get((node.domain, node.op))
        if function is None and operator is None:
            function = _definition(node, values)
        if function is not None:
            return self._function(function, node, values)
        assert operator is not None
        found = _applied(operator, Call(node, evaluate), values)
        return found if isinstance(found, tuple) else (found,)

    def _function(self, function: Function, node: Node, values: Sequence[Any]) -> list[Any]:
        given = {**function.defaults, **node.attributes}
        names = zip(function.inputs, [*values, *[None] * len(function.inputs)], strict=False)
        scope = Scope(dict(names))
        self._nodes([_resolved(each, given) for each in function.nodes], scope)
        return [scope.find(name) for name in function.outputs]


def _resolved(node: Node, given: Mapping[str, Any]) -> Node:
    """A node of a function, with the attributes that the call gives."""
    attributes: dict[str, Any] = {}
    for name, value in node.attributes.items():
        if not isinstance(value, AttributeRef):
            attributes[name] = _resolved_graph(value, given) if isinstance(value, Graph) else value
        elif value.name in given:
            attributes[name] = given[value.name]
    return replace(node, attributes=attributes)


def _resolved_graph(graph: Graph, given: Mapping[str, Any]) -> Graph:
    return replace(graph, nodes=tuple(_resolved(node, given) for node in graph.nodes))


def _definition(node: Node, values: Sequence[Any]) -> Function:
    """The operator's own definition by simpler ones, which the standard has of many."""
    onnx = onnx_module()
    refused = UnsupportedError(
        "the operator has no meaning here, and the standard does not define it by others"
    )
    try:
        schema = onnx.defs.get_schema(node.op, node.version, node.domain)
    except onnx.defs.SchemaError:
        raise refused from None
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= node.version]
        body = schema.get_function_with_opset_version(max(versions)) if versions else None
    elif schema.has_context_dependent_function:
        versions = [
            v for v in schema.context_dependent_function_opset_versions if v <= node.version
        ]
        types = [_type_message(onnx, value) for value in values]
        message = _message(onnx, node).SerializeToString()
        body = versions and schema.get_context_dependent_function_with_opset_version(
            max(versions), message, types
        )
    else:
        body = None
    if not body:
        raise refused
    proto = onnx.FunctionProto()
    proto.ParseFromString(body)
    function = read_function(proto, {node.domain: node.version})
    return replace(function, defaults={**default_attributes(schema), **function.defaults})


def _message(onnx: Any, node: Node) -> Any:
    """The node's message, with the attributes that it takes from a function around it."""
    message = onnx.NodeProto()
    message.CopyFrom(node.proto)
    kept = [a for a in message.attribute if not a.ref_attr_name]
    given = {a.name for a in kept}
    kept += [
        onnx.helper.make_attribute(name, value)
        for name, value in node.attributes.items()
        if name not in given
    ]
    del message.attribute[:]
    message.attribute.extend(kept)
    return message


def _type_message(onnx: Any, value: Any) -> bytes:
    if value is None:
        return onnx.TypeProto().SerializeToString()
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    return onnx.helper.make_tensor_type_proto(element, value.shape).SerializeToString()


def _applied(operator: Operator, call: Call, values: Sequence[Any]) -> Any:
    if operator.raw:
        return operator.function(call, *values)
    for position in operator.static:
        if position < len(values) and isinstance(values[position], Tracer):
            raise UnknownValueError(call.node.inputs[position])
    if _is_foldable(values):
        return _folded(operator, call, values)
    return operator.function(call, *_operands(operator, values))


def _operands(operator: Operator, values: Sequence[Any]) -> list[Any]:
    return [
        to_tracer(value) if isinstance(value, np.ndarray) and i not in operator.static else value
        for i, value in enumerate(values)
    ]


def _is_foldable(values: Sequence[Any]) -> bool:
    arrays = [value for value in values if value is not None]
    known = all(isinstance(value, np.ndarray) for value in arrays)
    return known and bool(arrays) and sum(value.size for value in arrays) <= MOST_FOLDED


def _folded(operator: Operator, call: Call, values: Sequence[Any]) -> Any:
    """The outputs as NumPy arrays, by the reference evaluator."""
    layout: list[bool] = []

    def run(_: Sequence[Tracer]) -> tuple[Any, ...]:
        found = operator.function(call, *_operands(operator, values))
        layout.append(isinstance(found, tuple))
        return found if isinstance(found, tuple) else (found,)

    module, _ = lower_module(run, [], call.node.op, [], ())
    arrays = tuple(np.asarray(array) for array in run_reference(module, []))
    return arrays if layout[0] else arrays[0]
