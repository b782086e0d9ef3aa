"""Typed access to one operation's attributes and result types, for the evaluator's table of
operations.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo import ir
from hlo.diagnostics import UnsupportedError
from hlo.ir import constants, types
from hlo.reference.contraction import DotDimensionNumbers, RaggedDotDimensionNumbers
from hlo.reference.convolution import ConvDimensionNumbers
from hlo.reference.element_types import Array, DType
from hlo.reference.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from hlo.reference.quantization import UniformQuantization

_FIELD = re.compile(r"(\w+) = (\[[^\]]*\]|-?\d+)")
_ENUM = re.compile(r"^#[\w.]+<(?:\w+ )?(\w+)>$")
_CONV = re.compile(r"<\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]>")


def _parse_fields(text: str) -> dict[str, Any]:
    """Fields of a printed attribute such as `#hlo.dot<lhs_contracting_dimensions = [1], ...>`."""
    fields: dict[str, Any] = {}
    for name, value in _FIELD.findall(text):
        if value.startswith("["):
            fields[name] = tuple(int(item) for item in value[1:-1].split(",") if item.strip())
        else:
            fields[name] = int(value)
    return fields


def _parse_conv(text: str) -> ConvDimensionNumbers:
    match = _CONV.search(text)
    if match is None:
        return ConvDimensionNumbers(**_parse_fields(text))
    orders = [[item.strip() for item in group.split(",")] for group in match.groups()]

    def spatial(order: list[str]) -> tuple[int, ...]:
        count = sum(item.isdigit() for item in order)
        return tuple(order.index(str(number)) for number in range(count))

    image, kernel, output = orders
    return ConvDimensionNumbers(
        input_batch_dimension=image.index("b"),
        input_feature_dimension=image.index("f"),
        input_spatial_dimensions=spatial(image),
        kernel_input_feature_dimension=kernel.index("i"),
        kernel_output_feature_dimension=kernel.index("o"),
        kernel_spatial_dimensions=spatial(kernel),
        output_batch_dimension=output.index("b"),
        output_feature_dimension=output.index("f"),
        output_spatial_dimensions=spatial(output),
    )


def element_type(mlir_type: Any) -> Any:
    """Element type of a tensor type; any other type is its own."""
    return ir.ShapedType(mlir_type).element_type if is_tensor(mlir_type) else mlir_type


def is_tensor(mlir_type: Any) -> bool:
    """Whether a type is a ranked tensor."""
    return isinstance(mlir_type, ir.RankedTensorType)


@functools.lru_cache(maxsize=256)
def _quantization_of_text(text: str, dtype: Callable[[str], DType]) -> UniformQuantization:
    """Parses `!quant.uniform<i8<-128:127>:f32:1, {0.1:2, 0.2}>` and its per-tensor form."""
    body = text[text.index("<") + 1 : text.rindex(">")]
    match = re.match(r"([iu]+\d+)(?:<(-?\d+):(-?\d+)>)?:(\w+)(?::(\d+))?, ?(.*)$", body)
    if match is None:
        raise UnsupportedError(f"cannot evaluate the quantized type {text}")
    storage_text, low, high, expressed, axis, rest = match.groups()
    unsigned = storage_text.startswith("u")
    bits = int(storage_text.lstrip("iu"))
    pairs = [item.strip().split(":") for item in rest.strip("{}").split(",")]
    bound_low, bound_high = (
        (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    )
    return UniformQuantization(
        storage=dtype(storage_text.replace("u", "ui") if unsigned else storage_text),
        expressed=dtype(expressed),
        storage_min=bound_low if low is None else int(low),
        storage_max=bound_high if high is None else int(high),
        scales=tuple(float(pair[0]) for pair in pairs),
        zero_points=tuple(int(pair[1]) if len(pair) > 1 else 0 for pair in pairs),
        axis=None if axis is None else int(axis),
    )


def _dtype_of_text(text: str) -> DType:
    return {
        "f16": np.dtype(np.float16),
        "f32": np.dtype(np.float32),
        "f64": np.dtype(np.float64),
    }.get(text) or _integer_or_bfloat16(text)


def _integer_or_bfloat16(text: str) -> DType:
    import ml_dtypes

    if text == "bf16":
        return np.dtype(ml_dtypes.bfloat16)
    name = text.replace("ui", "uint") if text.startswith("u") else text.replace("i", "int")
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def quantization_of(mlir_type: Any) -> UniformQuantization | None:
    """The quantization of a tensor's elements, or None if they are not quantized."""
    text = str(element_type(mlir_type))
    return (
        _quantization_of_text(text, _dtype_of_text) if text.startswith("!quant.uniform") else None
    )


def dtype_of(mlir_type: Any) -> DType:
    """NumPy type of a tensor's elements; the expressed type of quantized ones."""
    quantization = quantization_of(mlir_type)
    if quantization is not None:
        return quantization.expressed
    return np.dtype(types.numpy_dtype(element_type(mlir_type)))


class OpReader:
    """Reads attributes of `op` under their StableHLO names, as the functions of this package take
    them.
    """

    def __init__(self, op: Any) -> None:
        self.op = op
        self.name: str = op.name
        self._attributes = op.attributes

    def unsupported(self, why: str) -> UnsupportedError:
        """An error that names this operation and its place in the user's source."""
        return UnsupportedError(why, op=self.name, location=str(self.op.location))

    def has(self, name: str) -> bool:
        """Whether the attribute is present."""
        return name in self._attributes

    def attribute(self, name: str) -> Any:
        """The attribute itself."""
        return self._attributes[name]

    def ints(self, name: str) -> tuple[int, ...] | None:
        """A list of integers or booleans; None if absent."""
        if not self.has(name):
            return None
        attribute = self._attributes[name]
        if isinstance(attribute, ir.DenseElementsAttr):
            return tuple(int(x) for x in constants.to_numpy(attribute).reshape(-1))
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(int(x.value) for x in attribute)
        return tuple(int(x) for x in attribute)

    def matrix(self, name: str) -> list[list[int]] | None:
        """A two-dimensional list of integers, such as padding or replica groups; None if absent."""
        if not self.has(name):
            return None
        attribute = self._attributes[name]
        if not isinstance(attribute, ir.DenseElementsAttr):
            raise self.unsupported(f"cannot evaluate {name} = {attribute}")
        values = constants.to_numpy(attribute)
        return [[int(x) for x in row] for row in values.reshape(values.shape[0], -1)]

    def integer(self, name: str) -> int:
        """An integer."""
        return int(self._attributes[name].value)

    def integer_or(self, name: str, default: int) -> int:
        """An integer, or the default if absent."""
        return self.integer(name) if self.has(name) else default

    def boolean(self, name: str) -> bool:
        """A flag; false if absent."""
        if not self.has(name):
            return False
        attribute = self._attributes[name]
        return bool(attribute.value) if hasattr(attribute, "value") else str(attribute) == "true"

    def number(self, name: str) -> float:
        """A float."""
        return float(self._attributes[name].value)

    def enum(self, name: str) -> str:
        """The bare keyword of an enum attribute such as `#hlo<comparison_direction EQ>`."""
        text = str(self._attributes[name])
        match = _ENUM.match(text)
        if match is None:
            raise self.unsupported(f"expected an enum for {name}, found {text}")
        return match.group(1)

    def optional_enum(self, name: str) -> str | None:
        """As `enum`; None if absent."""
        return self.enum(name) if self.has(name) else None

    def string(self, name: str) -> str:
        """A string."""
        return str(ir.StringAttr(self._attributes[name]).value)

    def symbol(self, name: str) -> str:
        """The name a symbol reference refers to."""
        return str(ir.FlatSymbolRefAttr(self._attributes[name]).value)

    def symbols(self, name: str) -> list[str]:
        """The names a list of symbol references refers to."""
        return [
            str(ir.FlatSymbolRefAttr(item).value) for item in ir.ArrayAttr(self._attributes[name])
        ]

    def backend_config(self) -> dict[str, int]:
        """A custom call's options, from its dictionary in either place StableHLO keeps it."""
        name = "mhlo.backend_config" if self.has("mhlo.backend_config") else "backend_config"
        if not self.has(name) or not isinstance(self._attributes[name], ir.DictAttr):
            return {}
        dictionary = self._attributes[name]
        names = [item if isinstance(item, str) else item.name for item in dictionary]
        return {key: dictionary[key].value for key in names}

    def dot_numbers(self, name: str) -> DotDimensionNumbers:
        """Dimension numbers of a dot."""
        return DotDimensionNumbers(**_parse_fields(str(self._attributes[name])))

    def ragged_dot_numbers(self, name: str) -> RaggedDotDimensionNumbers:
        """Dimension numbers of a ragged dot."""
        fields = _parse_fields(str(self._attributes[name]))
        ragged = fields.pop("lhs_ragged_dimensions", ())
        group = fields.pop("rhs_group_dimensions", ())
        return RaggedDotDimensionNumbers(DotDimensionNumbers(**fields), ragged, group)

    def gather_numbers(self, name: str) -> GatherDimensionNumbers:
        """Dimension numbers of a gather."""
        return GatherDimensionNumbers(**_parse_fields(str(self._attributes[name])))

    def scatter_numbers(self, name: str) -> ScatterDimensionNumbers:
        """Dimension numbers of a scatter."""
        return ScatterDimensionNumbers(**_parse_fields(str(self._attributes[name])))

    def conv_numbers(self, name: str) -> ConvDimensionNumbers:
        """Dimension numbers of a convolution."""
        return _parse_conv(str(self._attributes[name]))

    def constant(self, name: str) -> Array:
        """A dense elements attribute as an array."""
        return constants.to_numpy(self._attributes[name])

    def result_types(self) -> Sequence[Any]:
        """Types of the results."""
        return [result.type for result in self.op.results]

    def result_dtype(self, name: str = "", index: int = 0) -> DType:
        """NumPy element type of a result."""
        del name
        return dtype_of(self.op.results[index].type)

    def result_shape(self, name: str = "", index: int = 0) -> tuple[int, ...]:
        """Static shape of a result."""
        del name
        shaped = ir.RankedTensorType(self.op.results[index].type)
        if not shaped.has_static_shape:
            raise self.unsupported(f"the result type {shaped} is not static")
        return tuple(shaped.shape)
