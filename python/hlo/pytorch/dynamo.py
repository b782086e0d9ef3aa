"""`torch.compile(model, backend="hlo")`: graphs that TorchDynamo captures, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.torch_tensors import from_numpy, to_numpy
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
    table = torch._decomp.core_aten_decompositions()
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
        self._compiled: dict[tuple[Any, ...], tuple[Any, list[Any]]] = {}

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The graph's results."""
        torch = live.torch_module()
        with torch.no_grad():
            arrays = [x if isinstance(x, (int, float)) else to_numpy(x) for x in arguments]
            key = tuple(x if isinstance(x, (int, float)) else (x.shape, x.dtype) for x in arrays)
            found = self._compiled.get(key)
            if found is None:
                found = self._compiled[key] = self._compile(arrays)
            executable, layout = found
            tensors = iter(executable(*(x for x in arrays if not isinstance(x, (int, float)))))
            return tuple(from_numpy(next(tensors)) if each is _TENSOR else each for each in layout)

    def _compile(self, arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        from hlo.driver.compile import compile as compile_program

        inputs: list[Input] = []
        numbers: dict[str, Any] = {}
        for name, value in zip(self._names, arrays, strict=True):
            if isinstance(value, (int, float)):
                numbers[name] = value
            else:
                aval = ShapeDtype(value.shape, value.dtype)
                inputs.append(Input(name, "argument", name, aval))
        outputs = tuple(Output(value) for value in self._results)
        graph = Graph(tuple(inputs), self._nodes, outputs, self._avals, "graph", numbers)
        layout: list[Any] = []
        avals = [each.aval for each in inputs if each.aval is not None]
        module = lower_graph(graph, avals, [each.name for each in inputs], layout)
        return compile_program(module, **self._options), [
            _TENSOR if is_tensor else value for is_tensor, value in layout
        ]


_TENSOR = object()
