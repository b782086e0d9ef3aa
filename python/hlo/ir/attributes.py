"""Attributes of the dialect: their classes, and typed access to those of an operation.

The classes hold lists of dimensions as tuples. Each has a class method ``get`` that takes the
fields by StableHLO's names and `context`, by default the current one.
"""

from __future__ import annotations

from mlir import ir

from hlo_native._dialect import (
    Bounds,
    ChannelHandle,
    ConvDimensionNumbers,
    DotAlgorithm,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    Layout,
    OutputOperandAlias,
    RaggedDotDimensionNumbers,
    ResultAccuracy,
    ScatterDimensionNumbers,
    enum_value,
    ints_of,
)

__all__ = [
    "Bounds",
    "ChannelHandle",
    "ConvDimensionNumbers",
    "DotAlgorithm",
    "DotDimensionNumbers",
    "GatherDimensionNumbers",
    "Layout",
    "Op",
    "OutputOperandAlias",
    "RaggedDotDimensionNumbers",
    "ResultAccuracy",
    "ScatterDimensionNumbers",
    "boolean",
    "enum",
    "enum_value",
    "enum_word",
    "enums",
    "integer",
    "ints",
    "layout_of",
    "pairs",
    "string",
]

Op = ir.Operation | ir.OpView


def ints(op: Op, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """A list of integers or booleans, however it is kept; row by row for a matrix.

    Raises:
        KeyError: the operation has no such attribute and there is no default.
        TypeError: the attribute does not hold integers.
    """
    found = ints_of(op.operation, name)
    if found is not None:
        return found
    if default is None:
        raise KeyError(name)
    return default


def pairs(
    op: Op, name: str, default: tuple[tuple[int, int], ...] | None = None
) -> tuple[tuple[int, int], ...]:
    """A matrix of two columns, such as padding.

    Raises:
        KeyError: the operation has no such attribute and there is no default.
    """
    found = ints_of(op.operation, name)
    if found is not None:
        return tuple(zip(found[::2], found[1::2], strict=True))
    if default is None:
        raise KeyError(name)
    return default


def integer(op: Op, name: str, default: int | None = None) -> int:
    """One integer.

    Raises:
        KeyError: the operation has no such attribute and there is no default.
    """
    found = ints_of(op.operation, name)
    if found is not None:
        return found[0]
    if default is None:
        raise KeyError(name)
    return default


def boolean(op: Op, name: str, default: bool = False) -> bool:
    """A flag, whether a boolean or a unit attribute."""
    attributes = op.attributes
    if name not in attributes:
        return default
    attribute = attributes[name]
    return isinstance(attribute, ir.UnitAttr) or bool(ir.BoolAttr(attribute).value)


def string(op: Op, name: str, default: str | None = None) -> str:
    """A string, or the name that a symbol reference names.

    Raises:
        KeyError: the operation has no such attribute and there is no default.
    """
    attributes = op.attributes
    if name not in attributes:
        if default is None:
            raise KeyError(name)
        return default
    attribute = attributes[name]
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    return ir.StringAttr(attribute).value


def enum(op: Op, name: str, default: str | None = None) -> str:
    """The bare word of an enumeration attribute: ``LT`` of ``#hlo<comparison_direction LT>``.

    Raises:
        KeyError: the operation has no such attribute and there is no default.
        TypeError: the attribute is not an enumeration's.
    """
    attributes = op.attributes
    if name not in attributes:
        if default is None:
            raise KeyError(name)
        return default
    return enum_word(attributes[name])


def enum_word(attribute: ir.Attribute) -> str:
    """The bare word of an enumeration attribute.

    Raises:
        TypeError: the attribute is not an enumeration's.
    """
    word = enum_value(attribute)
    if word is None:
        raise TypeError(f"expected an enumeration of the hlo dialect, found {attribute}")
    return word


def enums(op: Op, name: str) -> tuple[str, ...]:
    """The words of a list of enumeration attributes, such as ``precision_config``; none when
    absent.
    """
    attributes = op.attributes
    if name not in attributes:
        return ()
    return tuple(enum_word(attribute) for attribute in ir.ArrayAttr(attributes[name]))


def layout_of(tensor_type: ir.Type) -> tuple[int, ...]:
    """A tensor's dimensions, minor to major: of its layout, row-major without one."""
    shaped = ir.RankedTensorType(tensor_type)
    encoding = shaped.encoding
    if isinstance(encoding, Layout):
        return encoding.minor_to_major
    return tuple(range(shaped.rank - 1, -1, -1))
