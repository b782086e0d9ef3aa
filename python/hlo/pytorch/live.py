"""Reads graphs of a running PyTorch: `torch.export` programs and `torch.fx` graph modules.

PyTorch is imported here alone, and only when one of its objects is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from hlo.diagnostics import MissingExtraError, UnsupportedError
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.torch_tensors import to_numpy
from hlo.pytorch.archive import Archive, line_of
from hlo.pytorch.graph import Graph, Input, Node, Output, Ref
from hlo.pytorch.lowering import is_supported
from hlo.pytorch.types import dtype_named

_ROLES = {
    "PARAMETER": "parameter",
    "BUFFER": "buffer",
    "CONSTANT_TENSOR": "constant",
    "USER_INPUT": "argument",
}


def torch_module() -> Any:
    """PyTorch.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("torch")
    except ImportError as error:
        raise MissingExtraError(
            "PyTorch is not installed: run `pip install torch`; archives that torch.export.save "
            "wrote are read without it"
        ) from error


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of a `torch.dtype`."""
    return dtype_named(str(dtype).removeprefix("torch."))


def read_exported(exported: Any) -> Archive:
    """The graph and the state of an `ExportedProgram`.

    Operators that have a meaning here stay whole; the others are decomposed as far as PyTorch can,
    and mutations become results.
    """
    torch = torch_module()
    table = torch.export.default_decompositions()
    for overload in [each for each in table if is_supported(str(each))]:
        if str(overload) != "aten.batch_norm.default":
            del table[overload]
    program = exported.run_decompositions(table)
    held = {**program.state_dict, **program.constants}
    state = {name: to_numpy(tensor) for name, tensor in held.items() if hasattr(tensor, "dtype")}
    return Archive(_exported_graph(program), state)


def _exported_graph(program: Any) -> Graph:
    module, signature = program.graph_module, program.graph_signature
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    inputs: list[Input] = []
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        role = _ROLES.get(spec.kind.name)
        if role is None:
            raise UnsupportedError(f"expected tensors as inputs of the graph, found {spec.kind}")
        aval = aval_of(node.meta.get("val"))
        if aval is None and not hasattr(node.meta.get("val"), "shape"):
            inputs.append(Input(node.name, "number", repr(spec.arg), None))
        else:
            inputs.append(Input(node.name, role, spec.target or node.name, aval))
    nodes, results = read_nodes(module)
    outputs: list[Output] = []
    for value, spec in zip(results, signature.output_specs, strict=True):
        if spec.kind.name in ("USER_OUTPUT", "LOSS_OUTPUT"):
            outputs.append(Output(value))
        elif spec.kind.name.endswith("MUTATION"):
            outputs.append(Output(value, "mutation", spec.target))
        else:
            raise UnsupportedError(f"expected tensors as results of the graph, found {spec.kind}")
    return Graph(tuple(inputs), nodes, tuple(outputs), known_avals(module), "model")


def aval_of(value: Any) -> ShapeDtype | None:
    """Shape and dtype of a (fake) tensor, None if its shape is symbolic or it is a number."""
    if not hasattr(value, "shape") or any(not isinstance(extent, int) for extent in value.shape):
        return None
    return ShapeDtype(tuple(value.shape), dtype_of(value.dtype))


def known_avals(module: Any) -> Mapping[str, ShapeDtype]:
    """Shape and dtype of the values of a graph module, as PyTorch recorded them."""
    found = ((node.name, aval_of(node.meta.get("val"))) for node in module.graph.nodes)
    return {name: aval for name, aval in found if aval is not None}


def read_nodes(module: Any) -> tuple[tuple[Node, ...], list[Any]]:
    """The calls of a `torch.fx.GraphModule`, and its results."""
    nodes: list[Node] = []
    results: list[Any] = []
    for node in module.graph.nodes:
        if node.op == "output":
            found = node.args[0]
            results = [_value(v) for v in (found if isinstance(found, (list, tuple)) else [found])]
        elif node.op == "get_attr":
            nodes.append(_held(_attribute(module, node.target), node))
        elif node.op == "call_function":
            nodes.append(_node(node))
        elif node.op != "placeholder":
            raise UnsupportedError(
                f"expected calls of operators, found a {node.op}", op=str(node.target)
            )
    return tuple(nodes), results


def _attribute(module: Any, path: str) -> Any:
    found = module
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _held(value: Any, node: Any) -> Node:
    """What a module holds, a tensor or the graph of a branch, as a node."""
    if hasattr(value, "dtype"):
        # TorchDynamo calls backends in a mode in which no tensor has values.
        with import_module("torch._subclasses.fake_tensor").unset_fake_temporarily():
            return Node("constant", {"value": to_numpy(value)}, (node.name,))
    if not hasattr(value, "graph"):
        raise UnsupportedError(
            f"expected a tensor or a graph, found {type(value).__name__}", op=str(node.target)
        )
    placeholders = [each for each in value.graph.nodes if each.op == "placeholder"]
    avals = known_avals(value)
    inputs = tuple(Input(p.name, "argument", p.name, avals.get(p.name)) for p in placeholders)
    nodes, results = read_nodes(value)
    outputs = tuple(Output(result) for result in results)
    return Node("graph", {"value": Graph(inputs, nodes, outputs, avals, "graph")}, (node.name,))


def _node(node: Any) -> Node:
    target = node.target
    line = line_of(node.meta.get("stack_trace") or "")
    stack = node.meta.get("nn_module_stack") or {}
    scope = next(reversed(stack.values()), ("",))[0] if stack else ""
    schema = getattr(target, "_schema", None)
    if schema is None:
        prefix = "operator" if _is_builtin(target) else getattr(target, "namespace", "")
        name = f"{prefix}.{target.__name__}" if prefix else str(target)
        arguments = {str(i): _value(value) for i, value in enumerate(node.args)}
        return Node(name, arguments, (node.name,), line, str(scope))
    names = [argument.name for argument in schema.arguments]
    arguments = {name: _value(value) for name, value in zip(names, node.args, strict=False)}
    arguments |= {name: _value(value) for name, value in node.kwargs.items()}
    return Node(str(target), arguments, (node.name,), line, str(scope))


def _is_builtin(target: Any) -> bool:
    return getattr(target, "__module__", "") in ("_operator", "math")


def _value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, (list, tuple)):
        items: Sequence[Any] = value
        return [_value(item) for item in items]
    kind = type(value).__name__
    if kind == "dtype":
        return dtype_of(value)
    if kind in ("device", "layout", "memory_format"):
        return None
    if kind == "Node":
        return Ref(value.name)
    if kind == "OpOverload":
        return str(value)
    raise UnsupportedError(f"expected numbers and tensors as arguments of operators, found {kind}")
