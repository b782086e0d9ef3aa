"""`from_onnx`: ONNX models as programs of the dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError, UnsupportedError
from hlo.frontend.fast_calls import FastCalls, arranged
from hlo.frontend.lowering import aval_of, lower_module
from hlo.frontend.operands import to_tracer
from hlo.frontend.pytree import TreeDef
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.tracer import Tracer
from hlo.onnx.evaluate import Evaluator
from hlo.onnx.model import Graph, Input, Model, read_model

Array = np.ndarray[Any, Any]
MOST_KNOWN: Final = 1024
"""Elements up to which an initializer is part of the program, and may decide about shapes."""


@dataclass(frozen=True)
class OnnxProgram:
    """An ONNX model on its way to native code.

    Attributes:
        model: its graph, as plain data.
        inputs: shape and dtype of the tensors that a call gives, by name, in order.
        weights: the large initializers by name, which the program takes first.
        known: values that are part of the program: the small initializers, and given constants.
    """

    model: Model
    inputs: Mapping[str, ShapeDtype]
    weights: Mapping[str, Array]
    known: Mapping[str, Array]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the results."""
        return self.model.graph.outputs

    @cached_property
    def module(self) -> ir.Module:
        """The program in the dialect: ``main`` takes the weights and then the inputs."""
        return self._lowered[0]

    @property
    def result_tree(self) -> TreeDef:
        """How results are arranged: one leaf an output, or several if it is a sequence."""
        return self._lowered[1]

    @cached_property
    def _lowered(self) -> tuple[ir.Module, TreeDef]:
        names = [*self.weights, *self.inputs]
        avals = [aval_of(array, name) for name, array in self.weights.items()]
        avals += self.inputs.values()

        def run(arguments: Sequence[Tracer]) -> list[Any]:
            graph = self.model.graph
            values: dict[str, Any] = {**self.known, **dict(zip(names, arguments, strict=True))}
            bare = Graph(graph.name, graph.inputs, graph.outputs, graph.nodes, {})
            return [_result(value) for value in Evaluator(self.model).run(bare, values)]

        title = "".join(c if c.isalnum() else "_" for c in self.model.graph.name) or "model"
        module, signature = lower_module(run, avals, title, names, ())
        return module, signature.out_tree

    def compile(self, target: str = "cpu", **options: Any) -> OnnxCompiled:
        """Compiles to native code.

        Args:
            target: ``cpu``, or a GPU's (docs/gpu.md).
            **options: as for `hlo.compile`.
        """
        from hlo.driver.compile import compile as compile_program

        return OnnxCompiled(self, compile_program(self.module, target=target, **options))


def _result(value: Any) -> Any:
    if isinstance(value, list):
        items: list[Any] = value
        return [_result(each) for each in items]
    return value if value is None or isinstance(value, Tracer) else to_tracer(value)


@dataclass(frozen=True)
class OnnxCompiled:
    """A compiled model: called with its inputs.

    Attributes:
        program: what it was compiled from.
        executable: the flat program (`hlo.driver.compile.Compiled`): weights and inputs in.
    """

    program: OnnxProgram
    executable: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the model.

        Args:
            *args: arrays, in the order of the model's inputs.
            **kwargs: the others, by name.

        Returns:
            One array, or a tuple of the model's outputs in order; an output that is a sequence is
            a list.

        Raises:
            ArgumentError: the arguments are not those it was compiled for.
        """
        if (found := self._fast.find(args, kwargs)) is not None:
            run, leaves = found
            return run(leaves)
        return self._check_and_run(args, kwargs)

    def _check_and_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = self.program.inputs
        names = list(inputs)
        given = dict(zip(names, args, strict=False))
        repeated = [name for name in kwargs if name in given or name not in inputs]
        if len(args) > len(names) or repeated or len(given) + len(kwargs) < len(names):
            missing = [name for name in names if name not in given and name not in kwargs]
            raise ArgumentError(
                f"expected the inputs {', '.join(names) or 'none'}, found {len(args)} by place"
                + "".join(f" and {name}" for name in kwargs)
                + (f"; missing: {', '.join(missing)}" if missing else "")
            )
        arrays = [np.asarray({**given, **kwargs}[name]) for name in names]
        for (name, aval), array in zip(inputs.items(), arrays, strict=True):
            if array.shape != aval.shape or array.dtype != aval.dtype:
                raise ArgumentError(f"expected {aval} for {name}, found {aval_of(array, name)}")
        # What is given by name need not stand in the program's order.
        if self.executable.target_name == "cpu" and not kwargs:
            self._fast.remember(args, kwargs, args, lambda order, _: arranged(order, self._run))
        return self._run(arrays)

    @cached_property
    def _fast(self) -> FastCalls:
        return FastCalls()

    def _run(self, arrays: Sequence[Any]) -> Any:
        found = self.executable(*self.program.weights.values(), *arrays)
        results = self.program.result_tree.unflatten(found)
        return results[0] if len(results) == 1 else tuple(results)


def from_onnx(
    source: Any,
    *,
    shapes: Mapping[str, Any] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> OnnxProgram:
    """An ONNX model as a program of the dialect.

    Args:
        source: a path (tensors may lie in files beside it), the bytes, or an `onnx.ModelProto`.
        shapes: an extent for each symbol of the inputs' shapes (``{"batch": 8}``), or a shape for
            an input (``{"x": (8, 128)}``).
        constants: values of inputs that are known when the program is compiled, by name; the
            program does not take these. What decides about shapes must be known.

    Raises:
        ParseError: it is no model.
        ArgumentError: an input's shape is not known, or a name is none of the model's.
        UnsupportedError: an operator, or a type, is not taken.
        MissingExtraError: the package `onnx` is not installed.
    """
    model = read_model(source)
    graph = model.graph
    given, fixed = dict(shapes or {}), dict(constants or {})
    free = [e for e in graph.inputs if e.name not in graph.initializers and e.name not in fixed]
    _check_names(graph, given, fixed)
    inputs = {each.name: _aval(each, given) for each in free}
    known = {name: np.asarray(value) for name, value in fixed.items()}
    weights: dict[str, Array] = {}
    for name, array in graph.initializers.items():
        if name in known:
            continue
        (known if array.size <= MOST_KNOWN else weights)[name] = array
    return OnnxProgram(model, inputs, weights, known)


def _check_names(graph: Graph, shapes: Mapping[str, Any], constants: Mapping[str, Any]) -> None:
    names = {each.name for each in graph.inputs} | set(graph.initializers)
    symbols = {s for each in graph.inputs for s in each.shape or () if isinstance(s, str)}
    for argument, found, known in (
        ("shapes", shapes, names | symbols),
        ("constants", constants, names),
    ):
        if strange := sorted(set(found) - known):
            raise ArgumentError(
                f"{argument}: the model has no {', '.join(strange)}; its names are "
                f"{', '.join(sorted(known)) or 'none'}"
            )


def _aval(each: Input, shapes: Mapping[str, Any]) -> ShapeDtype:
    if each.dtype is None:
        raise UnsupportedError(
            f"the input {each.name!r} is no tensor; sequences and optionals are taken inside of a "
            "model alone"
        )
    if each.name in shapes:
        return ShapeDtype(tuple(shapes[each.name]), each.dtype)
    shape = (None,) if each.shape is None else each.shape
    extents = [shapes.get(s, s) if isinstance(s, str) else s for s in shape]
    if not all(isinstance(extent, (int, np.integer)) for extent in extents):
        found = "of an unknown rank" if each.shape is None else f"({', '.join(map(str, extents))})"
        raise ArgumentError(
            f"the shape of the input {each.name!r} is {found}; give an extent for each symbol, or "
            f"the shape: shapes={{{each.name!r}: (...)}}"
        )
    return ShapeDtype(tuple(int(extent) for extent in extents if extent is not None), each.dtype)


__all__ = ["OnnxCompiled", "OnnxProgram", "from_onnx"]
