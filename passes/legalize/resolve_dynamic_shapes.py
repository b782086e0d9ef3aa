"""Ops whose shapes are operands become static where the shapes are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.elementwise import ELEMENTWISE
from hlo.passes.rewrite.known_values import known_integers
from hlo.passes.rewrite.signature import update_function_type
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import (
    functions,
    operations,
    operations_named,
    replace,
    terminator_of,
    unsupported,
)


@dataclass(frozen=True)
class ResolveDynamicShapes(Pass):
    """Replaces ops that take shapes, paddings or bounds as operands by their static forms, and
    gives static types to what is computed from them.

    The operands are computed from constants and from sizes of static tensors. A result type that is
    static already is enough where it decides the shape. What stays dynamic is an error.

        %0 = hlo.constant dense<[3, 2]> : tensor<2xi64>
        %1 = hlo.dynamic_reshape %x, %0 : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
        %2 = hlo.negate %1 : tensor<?x?xf32>
      ==>
        %1 = hlo.reshape %x : (tensor<6xf32>) -> tensor<3x2xf32>
        %2 = hlo.negate %1 : tensor<3x2xf32>
    """

    def run(self, module: ir.Module) -> bool:
        """In program order, so that operands are static when an op is reached."""
        if not operations_named(module, _RULES):
            return (
                False  # dynamic shapes come from these, or from arguments, which stay as they are
            )
        changed = False
        for op in operations(module):
            rule = _RULES.get(op.name)
            if rule is not None:
                replace(op, rule(op, Builder.before(op)))
                changed = True
            elif any(_is_dynamic(result.type) for result in op.results):
                changed |= _refine(op)
        if changed:
            _update_results(module)
        return changed


def _is_dynamic(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape


def _update_results(module: ir.Module) -> None:
    for function in functions(module).values():
        block = function.regions[0].blocks[0]
        update_function_type(
            function,
            range(len(block.arguments)),
            range(len(terminator_of(block).operands)),
        )


def _refine(op: ir.Operation) -> bool:
    """Gives static types to the results of a static op; False if they cannot be inferred."""
    if any(_is_dynamic(operand.type) for operand in op.operands):
        return False
    if op.name in ELEMENTWISE:
        operand = op.operands[1] if op.name in ("hlo.select", "hlo.clamp") else op.operands[0]
        shape = shape_of(operand)
        for result in op.results:
            _set_shape(result, shape)
        return True
    if op.name == "hlo.reduce":
        dropped = set(ir.attributes.ints(op, "dimensions"))
        kept = [s for d, s in enumerate(shape_of(op.operands[0])) if d not in dropped]
        for result in op.results:
            _set_shape(result, kept)
        return True
    if len(op.regions):
        return False
    attributes = dict(op.attributes.items())
    try:
        inferred = ir.Operation.create(
            op.name,
            None,
            list(op.operands),
            attributes,
            loc=op.location,
            ip=ir.InsertionPoint(op),
            infer_type=True,
        )
    except (ValueError, ir.MLIRError):
        return False  # not an op that infers its types
    replace(op, list(inferred.results))
    return True


def _set_shape(value: ir.Value, shape: Sequence[int]) -> None:
    element = element_of(value)
    value.set_type(ir.RankedTensorType.get(list(shape), element, loc=value.location))


def _numbers(op: ir.Operation, index: int, what: str) -> list[int]:
    """The elements of a shape operand, row by row.

    Raises:
        UnsupportedError: they are known only when the program runs.
    """
    found = known_integers(op.operands[index])
    if found is None:
        raise unsupported(
            op, f"expected {what} that constants and static sizes determine; they are computed"
        )
    return [int(x) for x in found.reshape(-1)]


def _result_shape(op: ir.Operation, index: int) -> Sequence[int]:
    """The result's shape, from its type if that is static, else from a shape operand."""
    if _is_dynamic(op.results[0].type):
        return _numbers(op, index, "a shape")
    return shape_of(op.results[0])


def _reshape(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    return [builder.reshape(op.operands[0], _result_shape(op, 1))]


def _broadcast(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    dimensions = ir.attributes.ints(op, "broadcast_dimensions")
    return [builder.broadcast_in_dim(op.operands[0], _result_shape(op, 1), dimensions)]


def _iota(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    dimension = ir.attributes.integer(op, "iota_dimension")
    return [builder.iota(_result_shape(op, 0), element_of(op.results[0]), dimension)]


def _pad(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    low, high, interior = (
        _numbers(op, index, f"{name} padding")
        for index, name in ((2, "low"), (3, "high"), (4, "interior"))
    )
    return [builder.pad(op.operands[0], op.operands[1], low, high, interior)]


def _slice(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    operand = op.operands[0]
    strides = _numbers(op, 3, "strides")
    if known_integers(op.operands[1]) is None and set(strides) <= {1}:
        return [_slice_at(op, builder, operand)]
    starts = _numbers(op, 1, "start indices")
    limits = _numbers(op, 2, "limit indices")
    return [builder.slice(operand, starts, limits, strides)]


def _slice_at(op: ir.Operation, builder: Builder, operand: ir.Value) -> ir.Value:
    """A slice of known size at a computed place; the specification has the place in bounds."""
    if _is_dynamic(op.results[0].type):
        raise unsupported(op, "expected a slice of static size; its bounds are computed")
    starts = [
        builder.reshape(builder.slice_dimension(op.operands[1], 0, index, index + 1), ())
        for index in range(len(shape_of(operand)))
    ]
    return builder.dynamic_slice(operand, starts, shape_of(op.results[0]))


def _gather(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    sizes = _numbers(op, 2, "slice sizes")
    attributes = op.attributes
    created = ir.Operation.create(
        "hlo.gather",
        None,
        list(op.operands)[:2],
        {
            "dimension_numbers": attributes["dimension_numbers"],
            "slice_sizes": builder.integers(sizes),
            "indices_are_sorted": builder.boolean(ir.attributes.boolean(op, "indices_are_sorted")),
        },
        loc=op.location,
        ip=builder.point,
        infer_type=True,
    )
    return list(created.results)


_CONVOLUTION_ATTRIBUTES = (
    "window_strides",
    "lhs_dilation",
    "rhs_dilation",
    "window_reversal",
    "dimension_numbers",
    "feature_group_count",
    "batch_group_count",
    "precision_config",
)


def _convolution(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    padding = _numbers(op, 2, "padding")
    rows = [list(pair) for pair in zip(padding[::2], padding[1::2], strict=True)]
    if _is_dynamic(op.results[0].type):
        raise unsupported(op, "expected a static result type of a convolution")
    attributes = {n: op.attributes[n] for n in _CONVOLUTION_ATTRIBUTES if n in op.attributes}
    body = str(rows) if rows else ""
    attributes["padding"] = builder.parse(f"dense<{body}> : tensor<{len(rows)}x2xi64>")
    return [builder.one("convolution", list(op.operands)[:2], op.results[0].type, attributes)]


def _dimension_size(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    size = shape_of(op.operands[0])[ir.attributes.integer(op, "dimension")]
    if size < 0:
        raise unsupported(op, f"expected a static size, found {op.operands[0].type}")
    return [builder.constant_like(size, op.results[0])]


def _set_size(op: ir.Operation, builder: Builder) -> list[ir.Value]:
    del builder
    (size,) = _numbers(op, 1, "a size")
    actual = shape_of(op.operands[0])[ir.attributes.integer(op, "dimension")]
    if size != actual:
        raise unsupported(op, f"expected the size {actual} that the operand has, found {size}")
    return [op.operands[0]]


_RULES: dict[str, Callable[[ir.Operation, Builder], list[ir.Value]]] = {
    "hlo.dynamic_reshape": _reshape,
    "hlo.dynamic_broadcast_in_dim": _broadcast,
    "hlo.dynamic_iota": _iota,
    "hlo.dynamic_pad": _pad,
    "hlo.dynamic_gather": _gather,
    "hlo.dynamic_conv": _convolution,
    "hlo.real_dynamic_slice": _slice,
    "hlo.get_dimension_size": _dimension_size,
    "hlo.set_dimension_size": _set_size,
}
