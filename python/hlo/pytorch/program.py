"""`from_torch`: exported PyTorch programs as programs of the dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError, UnsupportedError
from hlo.frontend.fast_calls import FastCalls, Run, arranged
from hlo.frontend.lowering import aval_of
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.torch_tensors import from_numpy, is_tensor, to_numpy
from hlo.pytorch import live
from hlo.pytorch.archive import Archive, read_archive
from hlo.pytorch.graph import Graph, Input
from hlo.pytorch.lowering import lower_graph

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TorchProgram:
    """A PyTorch model on its way to native code.

    Attributes:
        graph: its operators, as plain data.
        state: parameters, buffers and constants by name.
        arguments: shape and dtype of the user's tensors, in order.
    """

    graph: Graph
    state: Mapping[str, Array]
    arguments: tuple[ShapeDtype, ...]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The tensors that ``main`` takes: state first, then the user's."""
        return tuple(each for each in self.graph.inputs if each.role != "number")

    @cached_property
    def module(self) -> ir.Module:
        """The program in the dialect."""
        given = iter(self.arguments)
        avals = [
            next(given) if each.role == "argument" else aval_of(self.state[each.target], "")
            for each in self.inputs
        ]
        return lower_graph(self.graph, avals, [each.target for each in self.inputs])

    def compile(self, target: str = "cpu", **options: Any) -> TorchCompiled:
        """Compiles to native code.

        Args:
            target: ``cpu``, or a GPU's (docs/gpu.md).
            **options: as for `hlo.compile`.
        """
        from hlo.driver.compile import compile as compile_program

        executable = compile_program(self.module, target=target, **options)
        return TorchCompiled(self, executable, dict(self.state))


@dataclass(frozen=True)
class TorchCompiled:
    """A compiled model: called with the user's tensors.

    Attributes:
        program: what it was compiled from.
        executable: the flat program (`hlo.driver.compile.Compiled`): state and arguments in,
            changed state and results out.
        state: parameters, buffers and constants by name; calls change what the model changes.
    """

    program: TorchProgram
    executable: Any
    state: dict[str, Array] = field(default_factory=dict[str, Array])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the model.

        Args:
            *args: tensors or arrays, in lists and tuples as the model takes them.
            **kwargs: the others, by name.

        Returns:
            One tensor, or a tuple of all: of PyTorch if an argument is, else NumPy arrays.

        Raises:
            ArgumentError: the arguments are not those it was compiled for.
        """
        if (found := self._fast.find(args, kwargs)) is not None:
            run, leaves = found
            return run(leaves)
        return self._check_and_run(args, kwargs)

    def _check_and_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _leaves(args)
        named = dict(kwargs)
        inputs = [each for each in self.program.inputs if each.role == "argument"]
        for each in inputs[len(given) :]:
            if each.target not in named:
                raise ArgumentError(f"expected an argument {each.target}")
            given.append(named.pop(each.target))
        if len(given) != len(inputs) or named:
            raise ArgumentError(
                f"expected {len(inputs)} tensors ({', '.join(e.target for e in inputs)}), found "
                f"{len(given)}" + "".join(f" and {name}" for name in named)
            )
        tensors = any(is_tensor(value) for value in given)
        arrays = [to_numpy(v) if is_tensor(v) else np.asarray(v) for v in given]
        for each, array, aval in zip(inputs, arrays, self.program.arguments, strict=True):
            if array.shape != aval.shape or array.dtype != aval.dtype:
                raise ArgumentError(
                    f"expected {aval} for {each.target}, found {aval_of(array, each.target)}"
                )
        # A program on the CPU reads tensors where they are. What is given by name need not stand
        # in the program's order.
        if self.executable.target_name == "cpu" and _have_places(args) and not kwargs:
            self._fast.remember(args, kwargs, given, self._fast_run)
        return self._run(arrays, tensors)

    @cached_property
    def _fast(self) -> FastCalls:
        return FastCalls()

    @cached_property
    def _state_names(self) -> list[str]:
        return [each.target for each in self.program.inputs if each.role != "argument"]

    def _fast_run(self, order: Sequence[int], leaves: Sequence[Any]) -> Run:
        if not any(map(is_tensor, leaves)):
            return arranged(order, lambda flat: self._run(flat, False))
        torch = live.torch_module()

        def run(flat: list[Any]) -> Any:
            with torch.no_grad():
                return self._run(flat, True)

        return arranged(order, run)

    def _run(self, arrays: Sequence[Any], tensors: bool) -> Any:
        state = self.state
        found = list(self.executable(*[state[name] for name in self._state_names], *arrays))
        results: list[Any] = []
        for output in self.program.graph.outputs:
            if output.role == "mutation" and output.target in self.state:
                self.state[output.target] = found.pop(0)
            elif output.role == "mutation":
                raise UnsupportedError(
                    f"the model changes its argument {output.target} in place; return it instead"
                )
            elif output.value is None or isinstance(output.value, (bool, int, float)):
                results.append(output.value)
            else:
                array = found.pop(0)
                results.append(from_numpy(array) if tensors else array)
        return results[0] if len(results) == 1 else tuple(results)


def _have_places(values: Any) -> bool:
    """Whether containers are lists and tuples alone."""
    if isinstance(values, (list, tuple)):
        items: Sequence[Any] = values
        return all(map(_have_places, items))
    return not isinstance(values, dict)


def _leaves(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        items: Sequence[Any] = values
        return [leaf for item in items for leaf in _leaves(item)]
    if isinstance(values, dict):
        table: dict[Any, Any] = values
        return [leaf for item in table.values() for leaf in _leaves(item)]
    return [] if values is None else [values]


def from_torch(source: Any, *example: Any) -> TorchProgram:
    """A PyTorch program as a program of the dialect.

    Args:
        source: an archive that `torch.export.save` wrote (a path or its bytes; PyTorch need not be
            installed), an `ExportedProgram`, or a `torch.nn.Module`, which is exported with the
            example arguments.
        *example: tensors, for a module, and for a program exported with dynamic shapes.

    Raises:
        ParseError: the archive is none.
        UnsupportedError: an operator, a type or a shape is not taken.
        MissingExtraError: PyTorch is needed and not installed.
    """
    archive = _read(source, example)
    inputs = [each for each in archive.graph.inputs if each.role == "argument"]
    given = [_example_aval(value) for value in _leaves(example)]
    if given and len(given) != len(inputs):
        raise ArgumentError(f"expected {len(inputs)} example tensors, found {len(given)}")
    avals = given or [each.aval for each in inputs]
    for each, aval in zip(inputs, avals, strict=True):
        if aval is None:
            raise UnsupportedError(
                f"the argument {each.target} was exported with a dynamic shape; give example "
                "tensors to hlo.from_torch, whose shapes it is then compiled for"
            )
    return TorchProgram(archive.graph, archive.state, tuple(a for a in avals if a is not None))


def _read(source: Any, example: Sequence[Any]) -> Archive:
    if isinstance(source, (bytes, bytearray)):
        return read_archive(bytes(source))
    if isinstance(source, (str, PathLike)):
        return read_archive(Path(fspath(source)))
    torch = live.torch_module()
    if isinstance(source, torch.nn.Module):
        source = torch.export.export(source, tuple(example))
    if isinstance(source, torch.export.ExportedProgram):
        return live.read_exported(source)
    raise TypeError(
        "expected an archive's path or bytes, a torch.export.ExportedProgram or a torch.nn.Module, "
        f"found {type(source).__name__}"
    )


def _example_aval(value: Any) -> ShapeDtype:
    if is_tensor(value):
        return ShapeDtype(tuple(value.shape), live.dtype_of(value.dtype))
    return aval_of(value, "an example argument")
