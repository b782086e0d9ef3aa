"""Quantized types become their storage types, and quantized ops arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.legalize.quantized_types import (
    Quantization,
    dequantize,
    parse_quantization,
    quantize,
)
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.signature import update_function_type
from hlo.passes.rewrite.tensor_types import is_tensor
from hlo.passes.rewrite.walk import (
    CONTROL_FLOW,
    body_of,
    functions,
    operations,
    operations_named,
    replace,
    terminator_of,
    unsupported,
)

# Ops where quantized values come from, arguments apart.
_SOURCES = frozenset({"hlo.constant", "hlo.uniform_quantize", "hlo.bitcast_convert", "hlo.iota"})
# Ops that move stored integers, or pass them on.
_MOVES = frozenset(
    f"hlo.{name}"
    for name in [
        "bitcast_convert",
        "broadcast_in_dim",
        "broadcast",
        "case",
        "constant",
        "copy",
        "custom_call",
        "dynamic_slice",
        "dynamic_update_slice",
        "gather",
        "if",
        "optimization_barrier",
        "reshape",
        "return",
        "reverse",
        "slice",
        "transpose",
        "while",
    ]
) | {"func.return", "func.func"}
# These move stored integers too if all of their quantized types are one.
_MOVES_OF_ONE_TYPE = frozenset({"hlo.concatenate", "hlo.select", "hlo.pad"})


@dataclass(frozen=True)
class ExpandQuantization(Pass):
    """Replaces quantized tensors by tensors of what they store.

    An op on quantized values computes on the real numbers they stand for, in the expressed type,
    and quantizes the result, as the specification has it. Ops that only move elements move the
    stored integers. Arguments and results of functions become integers.

        %1 = hlo.uniform_quantize %0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:1>>
      ==>
        round_nearest_even(%0 / 0.5) + 1, clamped to [-128, 127], as tensor<4xi8>
    """

    def run(self, module: ir.Module) -> bool:
        """Reads all quantized types first, for they go as ops are replaced."""
        if not _has_quantized(module):
            return False
        # Results of ops in regions that compute on real numbers. (The hash of an op changes with
        # it.)
        real: set[ir.Value] = set()
        for quantized in [_Quantized(op) for op in operations(module)]:
            if quantized.is_quantized and not any(r in real for r in quantized.op.results):
                real.update(value for op in quantized.expand() for value in op.results)
        for function in functions(module).values():
            _expand_signature(function)
        return True


def _has_quantized(module: ir.Module) -> bool:
    sources = operations_named(module, _SOURCES)
    arguments = [a for f in functions(module).values() for a in body_of(f).arguments]
    kinds = {value.type for value in (*arguments, *(op.results[0] for op in sources))}
    return any("!quant." in str(kind) for kind in kinds)


def _quantization(value: ir.Value) -> Quantization | None:
    if not is_tensor(value.type):
        return None
    text = str(ir.RankedTensorType(value.type).element_type)
    if not text.startswith("!quant."):
        return None
    found = parse_quantization(text)
    if found is None:
        owner = value.owner
        operation = owner.owner if isinstance(owner, ir.Block) else owner
        raise unsupported(operation.operation, f"elements of type {text} cannot be compiled")
    return found


def _set_element(value: ir.Value, name: str) -> None:
    kind = ir.RankedTensorType(value.type)
    element = ir.Type.parse(name, value.context)
    value.set_type(ir.RankedTensorType.get(list(kind.shape), element, loc=value.location))


class _Quantized:
    """An op with the quantization that its operands and results had in the beginning."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.name = op.name
        self.operands = [_quantization(value) for value in op.operands]
        self.results = [_quantization(value) for value in op.results]

    @property
    def is_quantized(self) -> bool:
        return any((*self.operands, *self.results))

    def expand(self) -> Sequence[ir.Operation]:
        """Replaces the op, and returns those in its regions, which need nothing more."""
        kinds = {kind for kind in (*self.operands, *self.results) if kind is not None}
        if self.name in _MOVES or (self.name in _MOVES_OF_ONE_TYPE and len(kinds) == 1):
            self._retype()
        elif len(self.op.regions):
            return self._compute_with_regions()
        else:
            self._compute()
        return ()

    def _retype(self) -> None:
        for result, kind in zip(self.op.results, self.results, strict=True):
            if kind is not None:
                _set_element(result, kind.storage)
        if self.name in CONTROL_FLOW:
            _retype_arguments(self.op, "storage")

    def _real_operands(self, builder: Builder) -> list[ir.Value]:
        return [
            value if kind is None else dequantize(builder, value, kind)
            for value, kind in zip(self.op.operands, self.operands, strict=True)
        ]

    def _stored(self, builder: Builder, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [
            value if kind is None else quantize(builder, value, kind)
            for value, kind in zip(values, self.results, strict=True)
        ]

    def _compute(self) -> None:
        builder = Builder.before(self.op)
        operands = self._real_operands(builder)
        if self.name in ("hlo.uniform_quantize", "hlo.uniform_dequantize"):
            replace(self.op, self._stored(builder, operands))
            return
        created = builder.create(
            self.name,
            operands,
            [self._real_type(builder, index) for index in range(len(self.results))],
            dict(self.op.attributes.items()),
        )
        replace(self.op, self._stored(builder, list(created.results)))

    def _real_type(self, builder: Builder, index: int) -> ir.Type:
        kind, result = self.results[index], self.op.results[index].type
        if kind is None:
            return result
        shape = ir.RankedTensorType(result).shape
        return builder.tensor(shape, builder.parse_type(kind.expressed))

    def _compute_with_regions(self) -> Sequence[ir.Operation]:
        """The regions compute on real numbers."""
        builder = Builder.before(self.op)
        operands = self._real_operands(builder)
        created = builder.create(
            self.name,
            operands,
            [self._real_type(builder, index) for index in range(len(self.results))],
            dict(self.op.attributes.items()),
            regions=len(self.op.regions),
        )
        for index in range(len(self.op.regions)):
            body_of(self.op, index).append_to(created.regions[index])
        _retype_arguments(created, "expressed")
        inner = [op for op in operations(created) if op != created]
        for op in inner:
            for result in op.results:
                kind = _quantization(result)
                if kind is not None:
                    _set_element(result, kind.expressed)
        replace(self.op, self._stored(builder, list(created.results)))
        return inner


def _retype_arguments(op: ir.Operation, field: str) -> None:
    for index in range(len(op.regions)):
        for argument in body_of(op, index).arguments:
            kind = _quantization(argument)
            if kind is not None:
                _set_element(argument, getattr(kind, field))


def _expand_signature(function: ir.Operation) -> None:
    block = body_of(function)
    _retype_arguments(function, "storage")
    update_function_type(
        function, range(len(block.arguments)), range(len(terminator_of(block).operands))
    )
