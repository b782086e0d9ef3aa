"""Arguments for a program that is run from the command line: from files, literals, a
specification, or a seed.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError
from hlo.ir.constants import to_numpy
from hlo.ir.types import to_dtype

_LITERAL = re.compile(
    r"(?P<dtype>\w+(?:<\w+>)?)(?:\[(?P<shape>[\d,\s]*)\])?\s*=\s*(?P<values>.*)", re.S
)
_TENSOR_TYPE = re.compile(r":\s*tensor<.*>\s*$", re.S)
_MAGICS = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")
_POSITION = re.compile(r"(?:arg_?)?(\d+)")
_SPECIFICATION_SEED = 20261129


@dataclasses.dataclass(frozen=True)
class ArgumentType:
    """The shape and dtype of one argument of the entry function."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


def entry_types(module: ir.Module, entry: str = "main") -> list[ArgumentType]:
    """The argument types of the entry function.

    Raises:
        ArgumentError: there is no such function, or an argument is not a tensor of static shape.
    """
    attributes = _entry_attributes(module, entry)
    inputs = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value).inputs
    return [_argument_type(index, kind) for index, kind in enumerate(inputs)]


def donations(module: ir.Module, entry: str = "main") -> dict[int, int | None]:
    """The arguments a run may consume, each with the result that takes its memory when the
    program names one.
    """
    attributes = _entry_attributes(module, entry)
    if "arg_attrs" not in attributes:
        return {}
    donated: dict[int, int | None] = {}
    for index, entries in enumerate(ir.ArrayAttr(attributes["arg_attrs"])):
        dictionary = ir.DictAttr(entries)
        if "tf.aliasing_output" in dictionary:
            donated[index] = ir.IntegerAttr(dictionary["tf.aliasing_output"]).value
        elif "jax.buffer_donor" in dictionary:
            donated[index] = None
    return donated


def _entry_attributes(module: ir.Module, entry: str) -> Any:
    for view in module.body.operations:
        operation = view.operation
        if (
            operation.name == "func.func"
            and ir.StringAttr(operation.attributes["sym_name"]).value == entry
        ):
            return operation.attributes
    raise ArgumentError(f"the program has no function @{entry}")


def load_arguments(path: Path) -> list[np.ndarray]:
    """Arguments from a file: `.npy` holds one; `.npz` holds them as arg0, arg1, ... (or 0, 1, ...),
    or in file order.

    Raises:
        ArgumentError: the file cannot be read, or a name or position is missing.
    """
    try:
        with path.open("rb") as file:
            if not file.read(6).startswith(_MAGICS):
                raise ValueError("expected a .npy or .npz file, found neither")
            file.seek(0)
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return [loaded]
            arrays = [(name, loaded[name]) for name in _in_order(list(loaded.files))]
    except OSError as error:
        reason = error.strerror or error
        raise ArgumentError(f"cannot read arguments from {path}: {reason}") from error
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ArgumentError(f"cannot read arguments from {path}: {error}") from error
    for name, array in arrays:
        if not isinstance(array, np.ndarray):
            raise ArgumentError(f"cannot read arguments from {path}: {name!r} is no array")
    return [array for _, array in arrays]


def _in_order(names: list[str]) -> list[str]:
    """Names of arguments by the positions that they say, if they do; else as they are.

    Raises:
        ValueError: the positions are not 0, 1, ...
    """
    positions = [int(match[1]) for match in map(_POSITION.fullmatch, names) if match]
    if len(positions) < len(names):
        return names
    if sorted(positions) != list(range(len(names))):
        expected = ", ".join(f"arg{i}" for i in range(len(names)))
        raise ValueError(f"expected the names {expected}, found {', '.join(names)}")
    return [name for _, name in sorted(zip(positions, names, strict=True))]


def parse_literal(text: str, context: ir.Context) -> np.ndarray:
    """An argument from text: `f32[2,3]=1,2,3,4,5,6`, `i32=7`, `f32[1024]=0.5` (one value fills), or
    a tensor literal of MLIR, `dense<[1.0, 2.0]> : tensor<2xf32>`.

    Raises:
        ArgumentError: the text is neither, or the number of values does not fit the shape.
    """
    if _TENSOR_TYPE.search(text):
        try:
            return to_numpy(ir.Attribute.parse(text, context))
        except (ir.MLIRError, ValueError) as error:
            raise ArgumentError(f"cannot read the tensor literal {text!r}: {error}") from error
    match = _LITERAL.fullmatch(text.strip())
    if match is None:
        raise ArgumentError(
            f"expected an argument such as `f32[2]=1,2` or `dense<[1.0, 2.0]> : tensor<2xf32>`, "
            f"found {text!r}"
        )
    dtype = _named_dtype(match.group("dtype"), context)
    shape = tuple(int(size) for size in (match.group("shape") or "").split(",") if size.strip())
    words = [word.strip() for word in match.group("values").split(",") if word.strip()]
    return _filled(text, dtype, shape, words)


def from_specification(path: Path) -> list[np.ndarray]:
    """Arguments as a `NAME.json` of the benchmark programs describes them, the same on every
    machine.

    Each has a shape, a dtype, and `values` or a `fill`: `{"constant": v}`, `{"normal": [mean,
        deviation], "clip": [low, high]}`,
    `{"integers": [low, high]}` (both included) or `{"bernoulli": p}`.

    Raises:
        ArgumentError: the file cannot be read or is not of that form.
    """
    try:
        arguments = json.loads(path.read_text())["args"]
        return [
            _own(_specified(argument, np.random.default_rng([index, _SPECIFICATION_SEED])))
            for index, argument in enumerate(arguments)
        ]
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error.strerror}") from error
    except RecursionError as error:
        raise ArgumentError(f"{path} is not a specification of arguments: too deep") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ArgumentError(f"{path} is not a specification of arguments: {error!r}") from error


def from_seed(types: Sequence[ArgumentType], seed: int) -> list[np.ndarray]:
    """Random arguments: normal for floating point and complex, small non-negative integers, fair
    booleans.
    """
    return [_random(kind, np.random.default_rng([index, seed])) for index, kind in enumerate(types)]


def check_arguments(
    arguments: Sequence[np.ndarray], types: Sequence[ArgumentType]
) -> list[np.ndarray]:
    """The arguments, if number, shapes and dtypes are those of the program. Files hold ml_dtypes
    arrays as raw bytes (`|V2`): those get the dtype expected. Big-endian numbers are turned around.
    Each has memory of its own, which a result may take over where the argument is donated; what has
    not is copied.

    Raises:
        ArgumentError: they are not.
    """
    if len(arguments) != len(types):
        raise ArgumentError(f"the program takes {len(types)} arguments, found {len(arguments)}")
    fitting: list[np.ndarray] = []
    for index, (argument, kind) in enumerate(zip(arguments, types, strict=True)):
        if argument.dtype.str == f"|V{kind.dtype.itemsize}":
            argument = argument.view(kind.dtype)  # noqa: PLW2901
        if not argument.dtype.isnative:
            argument = argument.astype(argument.dtype.newbyteorder("="))  # noqa: PLW2901
        if argument.shape != kind.shape or argument.dtype != kind.dtype:
            found = ArgumentType(argument.shape, argument.dtype)
            raise ArgumentError(f"argument {index}: expected {kind}, found {found}")
        fitting.append(_own(argument))
    return fitting


def _own(values: Any) -> np.ndarray:
    """An array that is no view of another: results take over the memory of such alone."""
    return np.require(values, requirements=["C", "W", "O"])


def _argument_type(index: int, kind: ir.Type) -> ArgumentType:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise ArgumentError(f"argument {index}: expected a tensor of static shape, found {kind}")
    return ArgumentType(tuple(kind.shape), to_dtype(kind.element_type))


def _named_dtype(name: str, context: ir.Context) -> np.dtype:
    spelling = {"bool": "i1", "pred": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}.get(
        name, name
    )
    if re.fullmatch(r"[su]\d+", spelling):
        spelling = {"s": "i", "u": "ui"}[spelling[0]] + spelling[1:]
    try:
        return to_dtype(ir.Type.parse(spelling, context))
    except (ir.MLIRError, ValueError, TypeError) as error:
        raise ArgumentError(
            f"expected an element type such as f32, i32, ui8 or c64, found {name!r}"
        ) from error


def _filled(text: str, dtype: np.dtype, shape: tuple[int, ...], words: list[str]) -> np.ndarray:
    size = math.prod(shape)
    if size * dtype.itemsize > sys.maxsize:
        raise ArgumentError(f"{size} elements are more than memory can hold, in {text!r}")
    if len(words) not in {1, size}:
        raise ArgumentError(f"expected {size} values or one, found {len(words)} in {text!r}")
    try:
        values = [_value(word, dtype) for word in words]
        array = np.array(values).astype(dtype)
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"{error} in {text!r}") from error
    return array.reshape(shape) if len(words) == size else np.full(shape, array[0], dtype)


def _value(word: str, dtype: np.dtype) -> bool | int | float | complex:
    if dtype.kind == "b":
        choices = {"true": True, "1": True, "false": False, "0": False}
        if word.lower() not in choices:
            raise ValueError(f"expected true or false, found {word!r}")
        return choices[word.lower()]
    if dtype.kind == "c":
        return complex(word)
    if dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
        value, limits = int(word, 0), ml_dtypes.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise ValueError(f"{value} does not fit {dtype.name}")
        return value
    return float(word)


def _specified(argument: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
    shape, dtype = tuple(argument["shape"]), np.dtype(argument["dtype"])
    if "values" in argument:
        return np.asarray(argument["values"], dtype).reshape(shape)
    fill = argument["fill"]
    if not isinstance(fill, dict) or not fill:
        raise ValueError(f"expected a fill such as {{'constant': 0}}, found {fill!r}")
    kind, value = next(iter(fill.items()))
    if kind == "constant":
        return np.full(shape, value, dtype)
    if kind == "integers":
        return rng.integers(value[0], value[1], shape, endpoint=True).astype(dtype)
    if kind == "bernoulli":
        return rng.random(shape) < value
    if kind != "normal":
        raise ValueError(f"unknown fill {kind!r}")
    normal = rng.standard_normal(shape, np.float32) * value[1] + value[0]
    return np.clip(normal, *fill.get("clip", (-np.inf, np.inf))).astype(dtype)


def _random(kind: ArgumentType, rng: np.random.Generator) -> np.ndarray:
    dtype = kind.dtype
    if dtype.kind == "b":
        return np.asarray(rng.random(kind.shape) < 0.5)
    if dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
        high = min(8, int(ml_dtypes.iinfo(dtype).max))
        return np.asarray(rng.integers(0, high, kind.shape, endpoint=True)).astype(dtype)
    normal = np.asarray(rng.standard_normal(kind.shape))
    if dtype.kind == "c":
        return (normal + 1j * rng.standard_normal(kind.shape)).astype(dtype)
    return normal.astype(dtype)
