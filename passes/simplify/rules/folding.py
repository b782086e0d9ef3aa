"""Ops on constants alone are computed.

Only operations that NumPy computes exactly, or rounds as the specification does, are;
transcendental functions are left to the compiled program. A result that is no splat takes at most
as many bytes as the largest operand, or 4 KiB.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, is_complex, is_float, shape_of
from hlo.passes.simplify.simplifier import Array, RuleTable, Simplifier

TABLE = RuleTable()
_MOST_BYTES = 4096

_OF_FLOATS = ("hlo.sqrt", "hlo.floor", "hlo.ceil")
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "hlo.add": np.add,
    "hlo.subtract": np.subtract,
    "hlo.multiply": np.multiply,
    "hlo.and": np.bitwise_and,
    "hlo.or": np.bitwise_or,
    "hlo.xor": np.bitwise_xor,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


def _is_native(array: Array) -> bool:
    """Whether NumPy itself has the type: ml_dtypes' sub-byte integers do not wrap as ours do."""
    return array.dtype.kind in "biufc" or "float" in array.dtype.name


def fits(array: Array, *operands: Array) -> bool:
    """Whether a folded result is small enough to keep."""
    is_splat = not any(s for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    return is_splat or array.nbytes <= max(_MOST_BYTES, *(x.nbytes for x in operands), 0)


def _shrink(operands: list[Array]) -> tuple[list[Array], tuple[int, ...] | None]:
    """Splats as scalars, with the shape they are to have again."""
    if all(
        not any(s for s, n in zip(x.strides, x.shape, strict=True) if n > 1) and x.size
        for x in operands
    ):
        return [x[(0,) * x.ndim] for x in operands], operands[0].shape
    return operands, None


@TABLE.rule("add", "subtract", "multiply", "and", "or", "xor")
def fold_binary(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Arithmetic and bitwise operations on constants."""
    lhs = s.constant(op.operands[0])
    if lhs is None:
        return None
    rhs = s.constant(op.operands[1])
    if rhs is None or not _is_native(lhs):
        return None
    (x, y), shape = _shrink([lhs, rhs])
    with np.errstate(all="ignore"):
        if lhs.dtype == np.bool_ and op.name in ("hlo.add", "hlo.multiply"):
            result = np.asarray(x | y if op.name == "hlo.add" else x & y)
        else:
            result = np.asarray(_BINARY[op.name](x, y)).astype(lhs.dtype)
    return _finish(op, s, result, shape, lhs, rhs)


@TABLE.rule("divide")
def fold_divide(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Quotients of real floats, which NumPy rounds correctly."""
    lhs, rhs = s.constant(op.operands[0]), s.constant(op.operands[1])
    if lhs is None or rhs is None or not is_float(element_of(op.results[0])):
        return None
    (x, y), shape = _shrink([lhs, rhs])
    with np.errstate(all="ignore"):
        result = np.asarray(np.divide(x, y)).astype(lhs.dtype)
    return _finish(op, s, result, shape, lhs, rhs)


@TABLE.rule("negate", "abs", "not", "sign", "sqrt", "floor", "ceil")
def fold_unary(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Negation, absolute value, complement, the sign of integers, and of f32 and f64 the square
    root and the next integers.
    """
    operand = s.constant(op.operands[0])
    if operand is None or not _is_native(operand):
        return None
    if op.name in ("hlo.abs", "hlo.sqrt") and operand.dtype.kind == "c":
        return None
    if op.name in _OF_FLOATS and operand.dtype.name not in ("float32", "float64"):
        return None
    if op.name == "hlo.sign" and operand.dtype.kind not in "iu":
        return None
    functions: dict[str, Callable[[Any], Any]] = {
        "hlo.negate": np.negative,
        "hlo.abs": np.abs,
        "hlo.not": np.invert,
        "hlo.sign": np.sign,
        "hlo.sqrt": np.sqrt,
        "hlo.floor": np.floor,
        "hlo.ceil": np.ceil,
    }
    (x,), shape = _shrink([operand])
    with np.errstate(all="ignore"):
        result = np.asarray(functions[op.name](x)).astype(operand.dtype)
    return _finish(op, s, result, shape, operand)


@TABLE.rule("compare")
def fold_compare(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Comparisons of constants that are not in total order."""
    lhs = s.constant(op.operands[0])
    if lhs is None:
        return None
    rhs = s.constant(op.operands[1])
    if rhs is None or not _is_native(lhs):
        return None
    if ir.attributes.enum(op, "compare_type", "NOTYPE") == "TOTALORDER":
        return None
    direction = ir.attributes.enum(op, "comparison_direction")
    if lhs.dtype.kind == "c" and direction not in ("EQ", "NE"):
        return None
    (x, y), shape = _shrink([lhs, rhs])
    result = np.asarray(COMPARISONS[direction](x, y), np.bool_)
    return _finish(op, s, result, shape, lhs, rhs)


@TABLE.rule("select")
def fold_select(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Selections among constants, element by element."""
    arrays = [s.constant(operand) for operand in op.operands]
    known = [array for array in arrays if array is not None]
    if len(known) != 3 or 0 in known[1].shape:
        return None
    predicate, on_true, on_false = known
    result = np.where(predicate, on_true, on_false).astype(on_true.dtype)
    return s.constant_of(result, op.results[0]) if fits(result, *known) else None


@TABLE.rule("convert")
def fold_convert(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Conversions among booleans, integers and real floats, except of floats to integers, and of
    these to complex numbers.
    """
    operand = s.constant(op.operands[0])
    if operand is None or not _is_native(operand):
        return None
    source, target = element_of(op.operands[0]), element_of(op.results[0])
    if is_complex(source) or (is_complex(target) and operand.dtype.kind not in "biuf"):
        return None
    dtype = ir.types.to_dtype(target)
    if is_float(source) and not (is_float(target) or is_complex(target)):
        return None
    # From wide to narrow in one step: NumPy rounds to ml_dtypes' types through f32.
    if is_float(target) and dtype.itemsize < 4 and operand.dtype.itemsize > 4:
        return None
    if (
        is_float(target)
        and dtype.itemsize < 4
        and not is_float(source)
        and operand.dtype.itemsize > 2
    ):
        return None
    (x,), shape = _shrink([operand])
    with np.errstate(all="ignore"):
        result = np.asarray(x).astype(dtype)
    return _finish(op, s, result, shape, operand)


@TABLE.rule("broadcast_in_dim")
def fold_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A splat broadcast is a splat."""
    number = s.splat(op.operands[0])
    return None if number is None else s.splat_of(number, op.results[0])


@TABLE.rule("reshape")
def fold_reshape(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The same elements under another shape."""
    operand = s.constant(op.operands[0])
    if operand is None:
        return None
    number = s.splat(op.operands[0])
    if number is not None:
        return s.splat_of(number, op.results[0])
    return s.constant_of(operand.reshape(shape_of(op.results[0])), op.results[0])


@TABLE.rule("transpose")
def fold_transpose(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Elements of a small constant in another order."""
    operand = s.constant(op.operands[0])
    if operand is None:
        return None
    result = operand.transpose(ir.attributes.ints(op, "permutation"))
    return s.constant_of(result, op.results[0])


@TABLE.rule("slice")
def fold_slice(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Some elements of a constant."""
    operand = s.constant(op.operands[0])
    if operand is None:
        return None
    bounds = (ir.attributes.ints(op, n) for n in ("start_indices", "limit_indices", "strides"))
    result = operand[tuple(slice(*bound) for bound in zip(*bounds, strict=True))]
    return s.constant_of(result, op.results[0]) if fits(result) else None


@TABLE.rule("concatenate")
def fold_concatenate(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Small constants one after another."""
    arrays = [s.constant(operand) for operand in op.operands]
    known = [array for array in arrays if array is not None]
    if len(known) != len(arrays):
        return None
    if sum(array.nbytes for array in known) > _MOST_BYTES:
        return None
    result = np.concatenate(known, ir.attributes.integer(op, "dimension"))
    return s.constant_of(result, op.results[0])


@TABLE.rule("iota")
def fold_iota(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An iota along a dimension of size 1 is zero."""
    dimension = ir.attributes.integer(op, "iota_dimension")
    if shape_of(op.results[0])[dimension] != 1:
        return None
    return s.splat_of(0, op.results[0])


def _finish(
    op: ir.Operation, s: Simplifier, result: Array, shape: tuple[int, ...] | None, *operands: Array
) -> ir.Value | None:
    if shape is not None:
        result = np.broadcast_to(result, shape)
    return s.constant_of(result, op.results[0]) if fits(result, *operands) else None
