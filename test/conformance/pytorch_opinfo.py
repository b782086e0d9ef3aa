"""Runs PyTorch's own operator samples (OpInfo) through `hlo` and compares with PyTorch.

    PYTHONPATH=python VENV_WITH_TORCH/bin/python test/conformance/pytorch_opinfo.py --samples 3

Each sample is traced to ATen operators (`make_fx`), lowered, compiled and run. The report counts
operators and samples that agree, differ, or are refused, and names the reasons.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten

from hlo.diagnostics import CompileError, UnsupportedError
from hlo.driver.compile import compile as compile_program
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.torch_tensors import from_numpy, to_numpy
from hlo.pytorch.graph import Graph, Input, Output
from hlo.pytorch.live import dtype_of, known_avals, read_nodes
from hlo.pytorch.lowering import is_supported, lower_graph

# Their results are not defined, or drawn from another generator.
UNDEFINED = ("empty", "new_empty", "rand", "bernoulli", "normal", "dropout", "multinomial", "rrelu")

TOLERANCES = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.float32: (2e-5, 2e-5),
    torch.complex64: (5e-5, 5e-5),
}


def decompositions() -> dict[Any, Any]:
    """PyTorch's core decompositions of what `hlo` does not take whole."""
    table = torch.export.default_decompositions()
    return {op: table[op] for op in table if not is_supported(str(op))}


def graph_of(function: Any, tensors: list[Any]) -> Graph:
    """The ATen graph of a function of flat tensors."""
    # Changes in place become results.
    pure = torch.func.functionalize(function, remove="mutations_and_views")
    module = make_fx(pure, decompositions(), tracing_mode="fake")(*tensors)
    module.graph.eliminate_dead_code()
    placeholders = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    inputs = tuple(
        Input(name, "argument", name, ShapeDtype(tuple(x.shape), dtype_of(x.dtype)))
        for name, x in zip(placeholders, tensors, strict=True)
    )
    nodes, results = read_nodes(module)
    return Graph(inputs, nodes, tuple(Output(r) for r in results), known_avals(module), "opinfo")


def check(op: Any, sample: Any) -> str:
    """``ok``, or why not."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[i].detach() for i in places]

    def flat(*given: Any) -> list[Any]:
        full = list(leaves)
        for place, value in zip(places, given, strict=True):
            full[place] = value
        head, args, kwargs = spec.unflatten(full)
        return [
            x for x in tree_flatten(op(head, *args, **kwargs))[0] if isinstance(x, torch.Tensor)
        ]

    expected = flat(*[tensor.clone() for tensor in tensors])
    graph = graph_of(flat, tensors)
    module = lower_graph(graph, [each.aval for each in graph.inputs], [""] * len(graph.inputs))
    found = compile_program(module)(*[to_numpy(x) for x in tensors])
    for ours, theirs in zip(found, expected, strict=True):
        rtol, atol = TOLERANCES.get(theirs.dtype, (1e-6, 1e-7))
        torch.testing.assert_close(
            from_numpy(ours), theirs.detach(), rtol=rtol, atol=atol, equal_nan=True
        )
    return "ok"


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=3, help="samples of each operator and type")
    parser.add_argument("--dtypes", default="float32,int64")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    totals: Counter[str] = Counter()
    report: dict[str, list[str]] = {}
    for op in op_db:
        if options.only not in op.name or any(name in op.name for name in UNDEFINED):
            continue
        for name in options.dtypes.split(","):
            dtype = getattr(torch, name)
            if dtype not in op.dtypes:
                continue
            torch.manual_seed(0)
            try:
                samples = list(op.sample_inputs("cpu", dtype))
            except Exception:
                continue
            step = max(len(samples) // options.samples, 1)
            for sample in samples[::step][: options.samples]:
                start = time.monotonic()
                try:
                    verdict = check(op, sample)
                except (UnsupportedError, NotImplementedError) as error:
                    verdict = f"refused: {error}"
                except CompileError as error:
                    verdict = f"error: {error}"
                except AssertionError as error:
                    verdict = f"differs: {' '.join(str(error).split())[:200]}"
                except Exception as error:
                    verdict = f"untraceable: {type(error).__name__} {str(error)[:150]}"
                    if "hlo" in traceback.format_exc().split("File")[-1]:
                        verdict = "error: " + verdict
                totals[verdict.partition(":")[0]] += 1
                if verdict != "ok":
                    key = f"{op.name}.{op.variant_test_name}.{name}"
                    report.setdefault(key, []).append(verdict)
                    print(f"{time.monotonic() - start:.1f}s {key}: {verdict[:300]}", flush=True)
    print(dict(totals))
    if options.output:
        options.output.write_text(json.dumps({"totals": totals, "cases": report}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
