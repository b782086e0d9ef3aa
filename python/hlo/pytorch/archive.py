"""Reads the archives that `torch.export.save` writes (`.pt2`). PyTorch need not be installed.

An archive is a zip file of a graph (`models/model.json`), of raw tensors (`data/weights/`,
`data/constants/`) and of a list of them (`..._config.json`). The schema is PyTorch's
`torch/_export/serde/schema.py`, version 8.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from hlo.diagnostics import ParseError, UnsupportedError
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import SourceLine
from hlo.pytorch.graph import Graph, Input, Node, Output, Ref
from hlo.pytorch.types import dtype_named

_SCHEMA: Final = 8
_SCALAR_TYPES: Final = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
_PLAIN: Final = ("as_int", "as_float", "as_bool", "as_string", "as_ints", "as_floats", "as_bools")
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)')
_OWN_CODE: Final = ("/torch/nn/", "/torch/_", "<eval_with_key>")

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Archive:
    """What a file holds.

    Attributes:
        graph: the exported graph.
        state: parameters, buffers and constants by name.
    """

    graph: Graph
    state: Mapping[str, np.ndarray[Any, Any]]


def read_archive(source: Path | bytes) -> Archive:
    """Reads an archive.

    Args:
        source: a path or the file's bytes.

    Raises:
        ParseError: it is none, or is damaged.
        UnsupportedError: another version of the schema, or what this reader does not take.
    """
    name = str(source) if isinstance(source, Path) else "the input"
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as file:
            return _read(file)
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, IndexError) as error:
        raise ParseError(
            f"expected {name} to be an archive written by torch.export.save of PyTorch 2.9 or "
            f"newer, found otherwise: {error or type(error).__name__}"
        ) from error


def _read(file: zipfile.ZipFile) -> Archive:
    names = file.namelist()
    root = names[0].split("/", 1)[0] if names else ""
    models = [n for n in names if n.startswith(f"{root}/models/") and n.endswith(".json")]
    if len(models) != 1:
        raise ValueError(f"it holds {len(models)} models")
    program = json.loads(file.read(models[0]))
    version = program.get("schema_version", {}).get("major")
    if version != _SCHEMA:
        raise UnsupportedError(
            f"expected an archive of schema version {_SCHEMA}, found {version}; save it again with "
            "torch.export.save of PyTorch 2.13"
        )
    state: dict[str, np.ndarray[Any, Any]] = {}
    for folder in ("weights", "constants"):
        listing = f"{root}/data/{folder}/model_{folder}_config.json"
        if listing in names:
            for key, entry in json.loads(file.read(listing))["config"].items():
                state[key] = _tensor(file, f"{root}/data/{folder}", key, entry)
    graph = _graph(program["graph_module"], Path(models[0]).stem)
    return Archive(graph, state)


def _tensor(file: zipfile.ZipFile, folder: str, key: str, entry: Json) -> np.ndarray[Any, Any]:
    if entry["use_pickle"]:
        raise UnsupportedError(
            f"the tensor {key} is pickled in the archive, which is read without running its code; "
            "give torch.export.save plain tensors (not subclasses)"
        )
    meta = entry["tensor_meta"]
    aval = _aval(meta)
    if aval is None:
        raise ValueError(f"the tensor {key} has no fixed shape")
    data = np.frombuffer(file.read(f"{folder}/{entry['path_name']}"), aval.dtype)
    start = meta["storage_offset"]["as_int"]
    strides = [stride["as_int"] for stride in meta["strides"]]
    last = start + sum((e - 1) * s for e, s in zip(aval.shape, strides, strict=True))
    if prod(aval.shape) and not 0 <= last < len(data):
        raise ValueError(f"the tensor {key} is longer than what is stored")
    if not prod(aval.shape):
        return np.zeros(aval.shape, aval.dtype)
    width = aval.dtype.itemsize
    view = np.lib.stride_tricks.as_strided(data[start:], aval.shape, [s * width for s in strides])
    return np.ascontiguousarray(view).reshape(aval.shape)


def _aval(meta: Json) -> ShapeDtype | None:
    sizes = [size.get("as_int") for size in meta["sizes"]]
    if None in sizes:
        return None
    return ShapeDtype(sizes, _dtype(meta["dtype"]))


def _dtype(number: int) -> np.dtype[Any]:
    return dtype_named(_SCALAR_TYPES.get(number, f"dtype {number}"))


def _graph(module: Json, name: str) -> Graph:
    graph = module["graph"]
    known = _known_avals(graph)
    signature = module["signature"]
    inputs = tuple(_input(spec, known) for spec in signature["input_specs"])
    outputs = tuple(_output(spec) for spec in signature["output_specs"])
    nodes = tuple(_node(node) for node in graph["nodes"])
    return Graph(inputs, nodes, outputs, known, name)


def _subgraph(graph: Json, name: str) -> Graph:
    """A branch or a body of control flow."""
    avals = _known_avals(graph)
    names = [_value(item) for item in graph["inputs"]]
    inputs = tuple(Input(n.name, "argument", n.name, avals.get(n.name)) for n in names)
    outputs = tuple(Output(_value(item)) for item in graph["outputs"])
    return Graph(inputs, tuple(_node(node) for node in graph["nodes"]), outputs, avals, name)


def _known_avals(graph: Json) -> dict[str, ShapeDtype]:
    avals = {key: _aval(meta) for key, meta in graph["tensor_values"].items()}
    return {key: aval for key, aval in avals.items() if aval is not None}


def _input(spec: Json, avals: Mapping[str, ShapeDtype]) -> Input:
    ((kind, found),) = spec.items()
    if kind == "user_input":
        value = _value(found["arg"])
        if not isinstance(value, Ref):
            return Input("", "number", repr(value), None)
        return Input(value.name, "argument", value.name, avals.get(value.name))
    roles = {
        "parameter": ("parameter", "parameter_name"),
        "buffer": ("buffer", "buffer_name"),
        "tensor_constant": ("constant", "tensor_constant_name"),
    }
    if kind == "constant_input":
        return Input("", "number", str(found.get("name")), None)
    if kind not in roles:
        raise UnsupportedError(f"expected tensors as inputs of the graph, found a {kind}")
    role, field = roles[kind]
    name = found["arg"]["name"]
    return Input(name, role, found[field], avals.get(name))


def _output(spec: Json) -> Output:
    ((kind, found),) = spec.items()
    if kind in ("user_output", "loss_output"):
        return Output(_value(found["arg"]) if kind == "user_output" else Ref(found["arg"]["name"]))
    target = found.get("buffer_name") or found.get("user_input_name") or found.get("parameter_name")
    if not kind.endswith("_mutation") or target is None:
        raise UnsupportedError(f"expected tensors as results of the graph, found a {kind}")
    return Output(Ref(found["arg"]["name"]), "mutation", target)


def _node(node: Json) -> Node:
    metadata = node["metadata"]
    arguments = {
        item["name"] or str(i): _value(item["arg"]) for i, item in enumerate(node["inputs"])
    }
    target = node["target"].removeprefix("torch.ops.").replace("_operator.", "operator.")
    results = tuple(_result(output) for output in node["outputs"])
    if target.startswith("higher_order."):  # one result, a tuple
        results = (tuple(name if isinstance(name, str) else None for name in results),)
    return Node(
        target,
        arguments,
        results,
        line_of(metadata.get("stack_trace", "")),
        scope_of(metadata.get("nn_module_stack", "")),
    )


def _result(output: Json) -> str | tuple[str | None, ...] | None:
    value = _value(output)
    if isinstance(value, list):
        items: list[Any] = value
        return tuple(item.name if isinstance(item, Ref) else None for item in items)
    return value.name if isinstance(value, Ref) else None


def _value(argument: Json) -> Any:
    ((kind, found),) = argument.items()
    if kind in _PLAIN:
        return float(found) if kind == "as_float" else found
    if kind == "as_none":
        return None
    if kind == "as_tensor":
        return Ref(found["name"])
    if kind in ("as_tensors", "as_optional_tensors"):
        return [_tensor_ref(item) for item in found]
    if kind == "as_optional_tensor":
        return _tensor_ref(found)
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        return _symbol(found)
    if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
        return [_symbol(item) for item in found]
    if kind == "as_scalar_type":
        return _dtype(found)
    if kind == "as_graph":
        return _subgraph(found["graph"], found["name"])
    if kind == "as_complex":
        return complex(found["real"], found["imag"])
    if kind in ("as_device", "as_layout", "as_memory_format"):
        return None
    raise UnsupportedError(f"expected numbers and tensors as arguments of operators, found {kind}")


def _tensor_ref(item: Json) -> Ref | None:
    if "as_tensor" in item:
        return Ref(item["as_tensor"]["name"])
    return Ref(item["name"]) if "name" in item else None


def _symbol(item: Json) -> Any:
    if "as_name" in item:
        return Ref(item["as_name"])
    return next(iter(item.values()))


def line_of(stack_trace: str) -> SourceLine | None:
    """The innermost line of a recorded stack that is not PyTorch's own."""
    frames = _FRAME.findall(stack_trace)
    own = [f for f in frames if not any(part in f[0] for part in _OWN_CODE)]
    if not own:
        return None
    file, line = own[-1]
    return SourceLine(file, int(line), 0)


def scope_of(stack: str) -> str:
    """The module's path out of PyTorch's stack of modules (``key,path,class;...``)."""
    return stack.rpartition(";")[2].split(",")[1] if "," in stack else ""
