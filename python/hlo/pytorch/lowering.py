"""From a PyTorch graph to a module of the dialect: its operators are traced one after another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from hlo import ir
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.frontend.lowering import lower_module
from hlo.frontend.operands import to_tracer
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import at_line, named_scope
from hlo.frontend.tracer import Tracer
from hlo.pytorch.graph import Graph, Node, Ref
from hlo.pytorch.ops import OPERATORS
from hlo.pytorch.views import Views, changes_operand, operand_of

_NUMBERS: Final[dict[str, Callable[..., Any]]] = {
    f"operator.{name}": getattr(operator, name)
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "neg",
        "pow",
        "getitem",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and_",
        "or_",
        "not_",
    )
}
# Operators that check shapes and values, which are known here or cannot be checked.
_CHECKS: Final = frozenset(
    {
        "aten._assert_async.msg",
        "aten._assert_scalar.default",
        "aten._assert_tensor_metadata.default",
        "aten._linalg_check_errors.default",
        "aten.sym_constrain_range.default",
        "aten.sym_constrain_range_for_size.default",
    }
)
_HELD: Final = frozenset({"constant", "graph"})


def is_supported(target: str) -> bool:
    """Whether an operator has a meaning here as it stands."""
    known: tuple[Collection[str], ...] = (OPERATORS, _NUMBERS, _CHECKS, _HELD)
    return any(target in each for each in known)


def lower_graph(
    graph: Graph,
    in_avals: Sequence[ShapeDtype],
    labels: Sequence[str],
    layout: list[tuple[bool, Any]] | None = None,
) -> ir.Module:
    """The graph as a module whose function ``main`` takes the tensors among its inputs, in order,
    and returns the tensors among its outputs.

    Args:
        graph: the graph.
        in_avals: shape and dtype of each tensor among the inputs.
        labels: their names, for locations.
        layout: is given, for each output, whether it is a tensor, and its value if it is none.

    Raises:
        UnsupportedError: an operator has no meaning here.
        CompileError: one cannot be translated.
    """
    names = [each.name for each in graph.inputs if each.role != "number"]

    def run(arguments: Sequence[Tracer]) -> tuple[Any, ...]:
        values = evaluate(graph, {**graph.numbers, **dict(zip(names, arguments, strict=True))})
        if layout is not None:
            layout[:] = [(is_tensor(v), None if is_tensor(v) else v) for v in values]
        return tuple(value for value in values if is_tensor(value))

    module, _ = lower_module(run, in_avals, graph.name, labels, ())
    return module


def is_tensor(value: Any) -> bool:
    """Whether a result of the graph is a tensor, not a number or nothing."""
    return isinstance(value, (Tracer, np.ndarray))


def evaluate(graph: Graph, values: dict[str, Any]) -> list[Any]:
    """The outputs of a graph for the values of its inputs.

    Args:
        graph: the graph.
        values: tracers and numbers by the inputs' names; results of nodes are added.
    """
    views = Views({each.name for each in graph.inputs})
    for node in graph.nodes:
        if node.target in _CHECKS:
            continue
        functional = views.without_change(node)
        with at_line(node.line), named_scope(node.scope or graph.name):
            found = _apply(functional, values)
        _bind(node, found, values, graph.avals)
        if functional is not node:
            values[operand_of(node)] = found
    return [_resolved(output.value, values) for output in graph.outputs]


def _apply(node: Node, values: Mapping[str, Any]) -> Any:
    arguments = {name: _resolved(value, values) for name, value in node.arguments.items()}
    location = str(node.line) if node.line else None
    if node.target == "constant":
        return to_tracer(arguments["value"])
    if node.target == "graph":
        return arguments["value"]
    if node.target in _NUMBERS:
        return _NUMBERS[node.target](*arguments.values())
    function = OPERATORS.get(node.target)
    if function is not None and node.target.startswith("higher_order."):
        # Their arguments have no names; errors of a graph's operators carry these operators' names.
        return function(*arguments.values())
    if function is None and changes_operand(node.target):
        raise UnsupportedError(
            "the operator changes its operand in place, which others may see; run "
            "`exported.run_decompositions({})` before saving, which makes a result of the change",
            op=node.target,
            location=location,
        )
    if function is None:
        raise UnsupportedError(
            "the operator has no meaning here; give `hlo.from_torch` the exported program itself, "
            "or run its `run_decompositions()` before saving it, to have it taken apart",
            op=node.target,
            location=location,
        )
    try:
        return function(**arguments)
    except CompileError as error:
        if error.op is not None and error.location is not None:
            raise
        raise type(error)(
            error.message, op=error.op or node.target, location=error.location or location
        ) from error
    except (TypeError, ValueError, IndexError, AssertionError, NotImplementedError) as error:
        raise CompileError(
            f"the operator could not be translated with {_described(arguments)}: {error}",
            op=node.target,
            location=location,
        ) from error


def _called(graph: Graph, *arguments: Any) -> tuple[Any, ...]:
    """The results of a graph that is an operator's argument."""
    names = [each.name for each in graph.inputs]
    return tuple(evaluate(graph, {**graph.numbers, **dict(zip(names, arguments, strict=True))}))


def _described(arguments: Mapping[str, Any]) -> str:
    parts = (
        f"{name}={value.aval if isinstance(value, Tracer) else value}"
        for name, value in arguments.items()
    )
    return ", ".join(parts) or "no arguments"


def _resolved(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, Ref):
        return values[value.name]
    if isinstance(value, Graph):
        return partial(_called, value)
    if isinstance(value, list):
        items: list[Any] = value
        return [_resolved(item, values) for item in items]
    return value


def _bind(node: Node, found: Any, values: dict[str, Any], avals: Mapping[str, ShapeDtype]) -> None:
    results = node.results
    parts: Sequence[Any] = (
        found if len(results) > 1 and isinstance(found, (tuple, list)) else (found,)
    )
    for name, value in zip(results, parts, strict=False):
        if isinstance(name, tuple):
            for each, item in zip(name, value, strict=True):
                _name(node, each, item, values, avals)
        else:
            _name(node, name, value, values, avals)


def _name(
    node: Node,
    name: str | None,
    value: Any,
    values: dict[str, Any],
    avals: Mapping[str, ShapeDtype],
) -> None:
    if name is None:
        return
    expected = avals.get(name)
    if expected is not None and isinstance(value, Tracer) and value.aval != expected:
        raise CompileError(
            f"expected {expected}, which PyTorch recorded, found {value.aval}; this is a fault of "
            "hlo's translation of the operator",
            op=node.target,
            location=str(node.line) if node.line else None,
        )
    values[name] = value
