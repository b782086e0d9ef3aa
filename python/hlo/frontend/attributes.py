"""Attributes of the operations the front end builds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlo import ir
from hlo.frontend.trace import current_frame


def parsed(text: str) -> ir.Attribute:
    """The attribute a piece of assembly stands for, such as ``#hlo<fft_type RFFT>``."""
    return ir.Attribute.parse(text, current_frame().trace.context)


def i64s(values: Iterable[int]) -> ir.Attribute:
    """``array<i64: ...>``."""
    return ir.DenseI64ArrayAttr.get([int(v) for v in values], current_frame().trace.context)


def booleans(values: Iterable[bool]) -> ir.Attribute:
    """``array<i1: ...>``."""
    return ir.DenseBoolArrayAttr.get([bool(v) for v in values], current_frame().trace.context)


def i64(value: int) -> ir.Attribute:
    """A 64-bit integer."""
    return _integer(value, 64)


def i32(value: int) -> ir.Attribute:
    """A 32-bit integer."""
    return _integer(value, 32)


def _integer(value: int, width: int) -> ir.Attribute:
    context = current_frame().trace.context
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(width, context), value)


def f32(value: float) -> ir.Attribute:
    """A 32-bit float."""
    return parsed(f"{float(value):.17e} : f32")


def boolean(value: bool) -> ir.Attribute:
    """``true`` or ``false``."""
    return ir.BoolAttr.get(bool(value), current_frame().trace.context)


def string(value: str) -> ir.Attribute:
    """A string."""
    return ir.StringAttr.get(value, current_frame().trace.context)


def symbol(name: str) -> ir.Attribute:
    """A reference to a function of the module."""
    return ir.FlatSymbolRefAttr.get(name, current_frame().trace.context)


def pairs(values: Sequence[tuple[int, int]]) -> ir.Attribute:
    """``dense<[[low, high], ...]> : tensor<Nx2xi64>``."""
    if not values:
        return parsed("dense<> : tensor<0x2xi64>")
    rows = ", ".join(f"[{low}, {high}]" for low, high in values)
    return parsed(f"dense<[{rows}]> : tensor<{len(values)}x2xi64>")


def enum(kind: str, value: str) -> ir.Attribute:
    """An enumeration's case, such as ``#hlo<comparison_direction EQ>``."""
    return parsed(f"#hlo<{kind} {value}>")


def precision_config(precision: str) -> ir.Attribute:
    """The precision of both operands of a contraction."""
    one = f"#hlo<precision {precision}>"
    return parsed(f"[{one}, {one}]")
