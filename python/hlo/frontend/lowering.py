"""From a Python function and the shapes of its arguments to a module."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from hlo import ir
from hlo.exit_gate import GATE
from hlo.frontend import attributes
from hlo.frontend.dtypes import canonical_dtype, is_python_scalar
from hlo.frontend.errors import DtypeError
from hlo.frontend.operands import concrete, to_tracer
from hlo.frontend.pytree import TreeDef, leaf_paths, tree_flatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import user_line
from hlo.frontend.trace import Trace, create, current_frame, frame, resolve, wrap
from hlo.frontend.tracer import Tracer

FlatFunction = Callable[[Sequence[Tracer]], Any]
"""From traced leaves of the arguments to a pytree of results."""


@dataclass(frozen=True)
class Signature:
    """What a caller knows of a traced function.

    Attributes:
        name: its symbol.
        in_avals: shape and dtype of each argument.
        out_avals: shape and dtype of each result.
        out_tree: structure of the results.
    """

    name: str
    in_avals: tuple[ShapeDtype, ...]
    out_avals: tuple[ShapeDtype, ...]
    out_tree: TreeDef


def aval_of(leaf: Any, path: str) -> ShapeDtype:
    """Shape and dtype of a leaf of an argument or result.

    Raises:
        DtypeError: if the leaf is not an array or number.
    """
    if isinstance(leaf, Tracer):
        return leaf.aval
    if isinstance(leaf, ShapeDtype):
        return leaf
    if isinstance(leaf, bool) or is_python_scalar(leaf):
        return ShapeDtype((), canonical_dtype(type(leaf)))
    try:
        array = concrete(leaf)
    except DtypeError as error:
        raise DtypeError(
            f"{path or 'the value'} of type {type(leaf).__name__} is not an array or number "
            f"({error.message}); name the argument in static_argnums or static_argnames if it is "
            "to be known when tracing",
            location=str(user_line()),
        ) from None
    return ShapeDtype(array.shape, array.dtype)


def function_name(function: Callable[..., Any]) -> str:
    """A function's name as a symbol."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name).strip("_") or "function"


@GATE.entered()
def lower_module(
    function: FlatFunction,
    in_avals: Sequence[ShapeDtype],
    name: str,
    labels: Sequence[str],
    donated: Sequence[int],
) -> tuple[ir.Module, Signature]:
    """Traces a function into a module of its own, as the public function ``main``.

    Args:
        function: from traced leaves to a pytree of results.
        in_avals: shape and dtype of the leaves.
        name: name of the module.
        labels: names of the leaves, for locations.
        donated: leaves whose memory the program may reuse.
    """
    context = ir.shared_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        trace = Trace(context, module)
        signature, _ = _trace_function(
            trace, function, in_avals, trace.unique_name("main"), labels, donated, public=True
        )
    ir.verify(module)
    return module, signature


def _trace_function(
    trace: Trace,
    function: FlatFunction,
    in_avals: Sequence[ShapeDtype],
    name: str,
    labels: Sequence[str],
    donated: Sequence[int],
    *,
    public: bool,
) -> tuple[Signature, list[ir.Value]]:
    context = trace.context
    line = ir.Location.file(*user_line(), context=context)
    operation = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("public" if public else "private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
        },
        regions=1,
        loc=line,
        ip=ir.InsertionPoint(trace.module.body),
    )
    locations = [ir.Location.name(label, line, context) if label else line for label in labels]
    block = operation.regions[0].blocks.append(
        *[trace.tensor_type(aval) for aval in in_avals], arg_locs=locations
    )
    with frame(trace, block, is_function=True) as inner:
        results = function(wrap(block.arguments, in_avals))
        leaves, out_tree = tree_flatten(results)
        paths = leaf_paths(out_tree, "result")
        avals = [aval_of(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
        outputs = [to_tracer(leaf) for leaf in leaves]
        create("func.return", [resolve(output) for output in outputs], ())
    function_type = ir.FunctionType.get(
        [argument.type for argument in block.arguments],
        [trace.tensor_type(output.aval) for output in outputs],
    )
    operation.attributes["function_type"] = ir.TypeAttr.get(function_type)
    if donated:
        operation.attributes["arg_attrs"] = _donation(len(in_avals), set(donated))
    return Signature(name, tuple(in_avals), tuple(avals), out_tree), list(inner.captures)


def _donation(count: int, donated: set[int]) -> ir.Attribute:
    donor = ir.DictAttr.get({"jax.buffer_donor": ir.BoolAttr.get(True)})
    return ir.ArrayAttr.get([donor if i in donated else ir.DictAttr.get({}) for i in range(count)])


def call_private(
    key: Hashable,
    function: FlatFunction,
    arguments: Sequence[Tracer],
    name: str,
    labels: Sequence[str],
) -> Any:
    """Calls a function as ``func.call`` of a private function, traced once for each key.

    Args:
        key: identifies the function, its static arguments and the shapes of the others.
        function: from traced leaves to a pytree of results.
        arguments: its arguments.
        name: name for the function.
        labels: names of the arguments.
    """
    trace = current_frame().trace
    signature: Signature | None = trace.private_functions.get(key)
    captures: list[ir.Value] = []
    if signature is None:
        avals = [argument.aval for argument in arguments]
        signature, captures = _trace_function(
            trace, function, avals, trace.unique_name(name), labels, (), public=False
        )
        # With captures it is a function of more than its key.
        if not captures:
            trace.private_functions[key] = signature
    call = create(
        "func.call",
        [*(resolve(argument) for argument in arguments), *captures],
        signature.out_avals,
        {"callee": attributes.symbol(signature.name)},
    )
    return signature.out_tree.unflatten(wrap(call.results, signature.out_avals))


def abstract_results(
    function: FlatFunction, in_avals: Sequence[ShapeDtype]
) -> tuple[tuple[ShapeDtype, ...], TreeDef]:
    """Shapes, dtypes and structure of a function's results; nothing is compiled."""
    labels = [""] * len(in_avals)
    _, signature = lower_module(function, in_avals, "eval_shape", labels, ())
    return signature.out_avals, signature.out_tree
