"""`torch.compile(model, backend="hlo")`: graphs that TorchDynamo captures, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from typing import Any

from hlo.diagnostics import UnsupportedError
from hlo.executable.runtime import call_signature
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.torch_tensors import dtype_of, from_numpy, to_numpy
from hlo.pytorch import live
from hlo.pytorch.graph import Graph, Input, Output
from hlo.pytorch.lowering import is_supported, lower_graph

Options = Mapping[str, Any]


def backend(module: Any, example_inputs: Sequence[Any], options: Options | None = None) -> Any:
    """The entry point of `torch.compile`.

    Args:
        module: a `torch.fx.GraphModule` of PyTorch's own operators.
        example_inputs: tensors as it is first called with.
        options: as for `hlo.compile` (``torch.compile(model, backend="hlo", options={...})``).
    """
    live.torch_module()
    functorch = import_module("functorch.compile")
    aot_autograd = import_module("torch._dynamo.backends.common").aot_autograd

    def compiler(graph: Any, inputs: Sequence[Any]) -> Any:
        return functorch.make_boxed_func(GraphFunction(graph, options or {}))

    compile_with: Callable[..., Any] = aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=compiler,
        decompositions=decompositions(),
        partition_fn=functorch.min_cut_rematerialization_partition,
    )
    return compile_with(module, example_inputs)


def decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's decompositions of the operators that have no meaning here as they stand."""
    torch = live.torch_module()
    table = dict(torch._decomp.core_aten_decompositions())
    # Gradients have decompositions that the table for inference leaves out.
    table |= {
        each: function
        for each, function in torch._decomp.decomposition_table.items()
        if "_backward." in str(each)
    }
    return {each: table[each] for each in table if not is_supported(str(each))}


class GraphFunction:
    """A graph of ATen operators as a function of tensors, compiled for each set of shapes it meets.

    Args:
        module: a `torch.fx.GraphModule` after AOTAutograd.
        options: as for `hlo.compile`.
    """

    def __init__(self, module: Any, options: Options) -> None:
        self._options = options
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._names = [node.name for node in placeholders]
        nodes, results = live.read_nodes(module)
        self._nodes, self._results = nodes, results
        self._avals = live.known_avals(module)
        self._compiled: dict[Hashable, tuple[_Program, object]] = {}

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The graph's results."""
        with live.torch_module().no_grad():
            signature = call_signature(arguments, {})
            if signature is None:
                raise UnsupportedError(
                    "a graph of TorchDynamo takes tensors and numbers, found "
                    + ", ".join(sorted({type(each).__name__ for each in arguments}))
                )
            numbers = tuple([x for x in signature[1] if isinstance(x, (int, float))])
            found = self._compiled.get((signature[0], numbers))
            if found is None:
                # With the objects that the key names, whose addresses must not be others' later.
                named = call_signature(arguments, {}, with_kept=True)
                kept = None if named is None else named[2]
                found = self._compiled[(signature[0], numbers)] = self._compile(arguments), kept
            return found[0](arguments)

    def _compile(self, arguments: Sequence[Any]) -> _Program:
        from hlo.driver.compile import compile as compile_program

        inputs: list[Input] = []
        numbers: dict[str, Any] = {}
        for name, value in zip(self._names, arguments, strict=True):
            if not _is_tensor(value):
                numbers[name] = value
            else:
                aval = ShapeDtype(tuple(value.shape), dtype_of(value.dtype))
                inputs.append(Input(name, "argument", name, aval))
        outputs = tuple(Output(value) for value in self._results)
        graph = Graph(tuple(inputs), self._nodes, outputs, self._avals, "graph", numbers)
        layout: list[Any] = []
        avals = [each.aval for each in inputs if each.aval is not None]
        module = lower_graph(graph, avals, [each.name for each in inputs], layout)
        places = [i for i, x in enumerate(arguments) if _is_tensor(x)]
        known = [_TENSOR if is_tensor else value for is_tensor, value in layout]
        return _Program(compile_program(module, **self._options), places, known)


def _is_tensor(argument: Any) -> bool:
    """Whether it is no number, nor None, which stands for a token that orders effects."""
    return argument is not None and not isinstance(argument, (int, float))


class _Program:
    """A graph in machine code.

    Args:
        executable: the flat program.
        places: of its tensors among the graph's arguments.
        results: the graph's results that are known, and `_TENSOR` for the program's.
    """

    def __init__(self, executable: Any, places: Sequence[int], results: Sequence[Any]) -> None:
        self._executable = executable
        self._places = places
        self._results = results
        # A program on the CPU reads tensors where they are.
        self._reads_tensors = executable.target_name == "cpu"

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        given = [arguments[i] for i in self._places]
        if not self._reads_tensors:
            given = [to_numpy(x) for x in given]
        arrays = iter(self._executable(*given))
        return tuple([from_numpy(next(arrays)) if x is _TENSOR else x for x in self._results])


_TENSOR = object()
