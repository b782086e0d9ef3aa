"""Typed access to one operation's attributes and result types, for the table of operations."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from hlo import ir
from hlo.diagnostics import UnsupportedError
from hlo.ir import attributes, constants, types
from hlo.reference.contraction import DotDimensionNumbers, RaggedDotDimensionNumbers
from hlo.reference.convolution import ConvDimensionNumbers
from hlo.reference.element_types import Array, DType
from hlo.reference.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from hlo.reference.quantization import UniformQuantization

Numbers = TypeVar(
    "Numbers",
    DotDimensionNumbers,
    ConvDimensionNumbers,
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
)
_QUANTIZED = re.compile(
    r"^!quant\.uniform<(?P<storage>[ui]\d+)(?:<(?P<low>-?\d+):(?P<high>-?\d+)>)?"
    r":(?P<expressed>\w+)(?::(?P<axis>\d+))?, ?(?P<scales>[^<>]*)>$"
)


def element_type(mlir_type: Any) -> Any:
    """Element type of a tensor type; any other type is its own."""
    return mlir_type.element_type if is_tensor(mlir_type) else mlir_type


def is_tensor(mlir_type: Any) -> bool:
    """Whether a type is a ranked tensor."""
    return isinstance(mlir_type, ir.RankedTensorType)


@functools.lru_cache(maxsize=1024)
def _parse_quantization(text: str) -> UniformQuantization:
    """Of `!quant.uniform<i8<-128:127>:f32:1, {0.1:2, 0.2}>` or its per-tensor form."""
    match = _QUANTIZED.match(text)
    if match is None:
        raise UnsupportedError(f"the reference evaluator does not know the element type {text}")
    storage = match["storage"]
    bits = int(storage.lstrip("ui"))
    unsigned = storage.startswith("u")
    low = 0 if unsigned else -(1 << (bits - 1))
    high = (1 << bits) - 1 if unsigned else (1 << (bits - 1)) - 1
    pairs = [item.strip().split(":") for item in match["scales"].strip("{}").split(",")]
    return UniformQuantization(
        storage=np.dtype(types.to_dtype(f"ui{bits}" if unsigned else storage)),
        expressed=np.dtype(types.to_dtype(match["expressed"])),
        storage_min=low if match["low"] is None else int(match["low"]),
        storage_max=high if match["high"] is None else int(match["high"]),
        scales=tuple(float(pair[0]) for pair in pairs),
        zero_points=tuple(int(pair[1]) if len(pair) > 1 else 0 for pair in pairs),
        axis=None if match["axis"] is None else int(match["axis"]),
    )


def quantization_of(mlir_type: Any) -> UniformQuantization | None:
    """The quantization of a tensor's elements, or None if they are not quantized."""
    text = str(element_type(mlir_type))
    return _parse_quantization(text) if text.startswith("!quant.") else None


def dtype_of(mlir_type: Any) -> DType:
    """NumPy type of a tensor's elements; the expressed type of quantized ones."""
    quantization = quantization_of(mlir_type)
    if quantization is not None:
        return quantization.expressed
    return types.to_dtype(element_type(mlir_type))


def storage_dtype_of(mlir_type: Any) -> DType:
    """NumPy type in which a tensor's elements are passed; the stored integers of quantized ones."""
    quantization = quantization_of(mlir_type)
    return dtype_of(mlir_type) if quantization is None else quantization.storage


class OpReader:
    """Reads attributes of `op` under their StableHLO names, as functions here take them."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self.name: str = op.name

    def unsupported(self, why: str) -> UnsupportedError:
        """An error that names this operation and its place in the user's source."""
        return UnsupportedError(why, op=self.name, location=str(self.op.location))

    def has(self, name: str) -> bool:
        """Whether the attribute is present."""
        return name in self.op.attributes

    def ints(self, name: str) -> tuple[int, ...] | None:
        """A list of integers or booleans; None if absent."""
        return attributes.ints(self.op, name) if self.has(name) else None

    def matrix(self, name: str) -> list[list[int]] | None:
        """A two-dimensional list of integers, such as padding or replica groups; None if absent."""
        if not self.has(name):
            return None
        attribute = self.op.attributes[name]
        if not isinstance(attribute, ir.DenseElementsAttr):
            raise self.unsupported(f"the reference evaluator cannot read {name} = {attribute}")
        values = constants.to_numpy(attribute)
        return values.reshape(values.shape[0], int(np.prod(values.shape[1:]))).tolist()

    def integer(self, name: str) -> int:
        """An integer."""
        return attributes.integer(self.op, name)

    def integer_or(self, name: str, default: int) -> int:
        """An integer, or the default if absent."""
        return attributes.integer(self.op, name, default)

    def boolean(self, name: str) -> bool:
        """A flag; false if absent."""
        return attributes.boolean(self.op, name)

    def number(self, name: str) -> float:
        """A float."""
        return float(ir.FloatAttr(self.op.attributes[name]).value)

    def enum(self, name: str) -> str:
        """The bare keyword of an enumeration, such as EQ."""
        return attributes.enum(self.op, name)

    def optional_enum(self, name: str) -> str | None:
        """As `enum`; None if absent."""
        return self.enum(name) if self.has(name) else None

    def string(self, name: str) -> str:
        """A string, or the name a symbol reference refers to."""
        return attributes.string(self.op, name)

    def symbols(self, name: str) -> list[str]:
        """The names a list of symbol references refers to."""
        listed = ir.ArrayAttr(self.op.attributes[name])
        return [ir.FlatSymbolRefAttr(item).value for item in listed]

    def dictionary(self, name: str) -> dict[str, int]:
        """The integers, flags and characters of a dictionary; nothing if absent."""
        if not self.has(name) or not isinstance(self.op.attributes[name], ir.DictAttr):
            return {}
        dictionary = self.op.attributes[name]
        names = [item if isinstance(item, str) else item.name for item in dictionary]
        options = {key: dictionary[key] for key in names}
        return {
            key: int(option.value)
            for key, option in options.items()
            if isinstance(option, ir.IntegerAttr | ir.BoolAttr)
        }

    def backend_config(self) -> dict[str, int]:
        """A custom call's options, from either place StableHLO keeps them."""
        return self.dictionary("mhlo.backend_config") or self.dictionary("backend_config")

    def _numbers(self, name: str, kind: type[Numbers]) -> Numbers:
        attribute = self.op.attributes[name]
        fields = [field.name for field in dataclasses.fields(kind)]
        return kind(**{field: getattr(attribute, field) for field in fields})

    def dot_numbers(self, name: str) -> DotDimensionNumbers:
        """Dimension numbers of a dot."""
        return self._numbers(name, DotDimensionNumbers)

    def ragged_dot_numbers(self, name: str) -> RaggedDotDimensionNumbers:
        """Dimension numbers of a ragged dot."""
        attribute = self.op.attributes[name]
        return RaggedDotDimensionNumbers(
            self._numbers(name, DotDimensionNumbers),
            attribute.lhs_ragged_dimensions,
            attribute.rhs_group_dimensions,
        )

    def gather_numbers(self, name: str) -> GatherDimensionNumbers:
        """Dimension numbers of a gather."""
        return self._numbers(name, GatherDimensionNumbers)

    def scatter_numbers(self, name: str) -> ScatterDimensionNumbers:
        """Dimension numbers of a scatter."""
        return self._numbers(name, ScatterDimensionNumbers)

    def conv_numbers(self, name: str) -> ConvDimensionNumbers:
        """Dimension numbers of a convolution."""
        return self._numbers(name, ConvDimensionNumbers)

    def constant(self, name: str) -> Array:
        """A dense elements attribute as an array."""
        return constants.to_numpy(self.op.attributes[name])

    def result_types(self) -> Sequence[Any]:
        """Types of the results."""
        return [result.type for result in self.op.results]

    def result_dtype(self, name: str = "", index: int = 0) -> DType:
        """NumPy element type of a result."""
        del name
        return dtype_of(self.op.results[index].type)

    def result_storage_dtype(self, name: str = "") -> DType:
        """NumPy type in which the result is passed; the stored integers of quantized elements."""
        del name
        return storage_dtype_of(self.op.results[0].type)

    def result_shape(self, name: str = "", index: int = 0) -> tuple[int, ...]:
        """Static shape of a result."""
        del name
        shaped = self.op.results[index].type
        if not is_tensor(shaped) or not shaped.has_static_shape:
            raise self.unsupported(f"expected a static result type, found {shaped}")
        return tuple(shaped.shape)
