"""Integers that are known before a program runs, such as the shapes that shape operands hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, is_integer, shape_of

Array = np.ndarray[Any, np.dtype[Any]]
_LIMIT = 4096
_DEPTH = 64

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "hlo.add": np.add,
    "hlo.subtract": np.subtract,
    "hlo.multiply": np.multiply,
    "hlo.maximum": np.maximum,
    "hlo.minimum": np.minimum,
}
_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def known_integers(value: ir.Value, depth: int = 0) -> Array | None:
    """The elements of an integer or boolean tensor, if constants and shapes determine them.

    Only small tensors are computed, from constants, sizes, arithmetic, and ops that move elements.
    """
    kind = value.type
    if depth > _DEPTH or not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    if not isinstance(kind.element_type, ir.IntegerType | ir.IndexType):
        return None
    op = value.owner
    if isinstance(op, ir.Block) or np.prod(kind.shape) > _LIMIT:
        return None
    operation = op.operation
    name = operation.name
    if name == "hlo.constant":
        return ir.constants.to_numpy(operation.attributes["value"])
    if name == "hlo.get_dimension_size":
        return _dimension_size(operation)
    if name == "hlo.iota":
        return _iota(operation)
    rule = _RULES.get(name)
    if rule is None and name not in _BINARY:
        return None
    operands = [known_integers(operand, depth + 1) for operand in operation.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) != len(operands):
        return None
    with np.errstate(over="ignore"):
        return _BINARY[name](*known) if rule is None else rule(operation, known)


def _dimension_size(op: ir.Operation) -> Array | None:
    size = shape_of(op.operands[0])[ir.attributes.integer(op, "dimension")]
    return None if size < 0 else np.asarray(size, np.int32)


def _iota(op: ir.Operation) -> Array | None:
    element = element_of(op.results[0])
    if not is_integer(element):
        return None
    shape = shape_of(op.results[0])
    dimension = ir.attributes.integer(op, "iota_dimension")
    line = np.arange(shape[dimension]).astype(ir.types.to_dtype(element))
    return np.broadcast_to(
        line.reshape([-1 if d == dimension else 1 for d in range(len(shape))]), shape
    )


def _convert(op: ir.Operation, operands: list[Array]) -> Array:
    return operands[0].astype(ir.types.to_dtype(element_of(op.results[0])))


def _reshape(op: ir.Operation, operands: list[Array]) -> Array:
    return operands[0].reshape(shape_of(op.results[0]))


def _broadcast(op: ir.Operation, operands: list[Array]) -> Array:
    shape = shape_of(op.results[0])
    aligned = [1] * len(shape)
    dimensions = ir.attributes.ints(op, "broadcast_dimensions")
    for size, dimension in zip(operands[0].shape, dimensions, strict=True):
        aligned[dimension] = size
    return np.broadcast_to(operands[0].reshape(aligned), shape)


def _slice(op: ir.Operation, operands: list[Array]) -> Array:
    bounds = (ir.attributes.ints(op, n) for n in ("start_indices", "limit_indices", "strides"))
    return operands[0][tuple(slice(*bound) for bound in zip(*bounds, strict=True))]


def _concatenate(op: ir.Operation, operands: list[Array]) -> Array:
    return np.concatenate(operands, ir.attributes.integer(op, "dimension"))


def _divide(op: ir.Operation, operands: list[Array]) -> Array | None:
    del op
    lhs, rhs = operands
    if not np.all(rhs):
        return None
    # The quotient is rounded to zero.
    magnitude = np.abs(lhs.astype(object)) // np.abs(rhs.astype(object))
    return (np.sign(lhs) * np.sign(rhs) * magnitude).astype(lhs.dtype)


def _compare(op: ir.Operation, operands: list[Array]) -> Array:
    direction = ir.attributes.enum(op, "comparison_direction")
    return np.asarray(_COMPARISONS[direction](*operands))


def _select(op: ir.Operation, operands: list[Array]) -> Array:
    del op
    return np.where(*operands)


_RULES: dict[str, Callable[[ir.Operation, list[Array]], Array | None]] = {
    "hlo.convert": _convert,
    "hlo.reshape": _reshape,
    "hlo.dynamic_reshape": _reshape,
    "hlo.broadcast_in_dim": _broadcast,
    "hlo.slice": _slice,
    "hlo.concatenate": _concatenate,
    "hlo.divide": _divide,
    "hlo.compare": _compare,
    "hlo.select": _select,
}
