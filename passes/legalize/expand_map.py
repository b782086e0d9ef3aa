"""`hlo.map` becomes its computation, on whole tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.elementwise import ELEMENTWISE
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import body_of, expand, terminator_of, unsupported


@dataclass(frozen=True)
class ExpandMap(Pass):
    """Replaces `hlo.map` by the ops of its computation, each on the whole tensors.

    The computation must be of elementwise ops.

        "hlo.map"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = hlo.add %a, %b : tensor<f32>
          hlo.return %s : tensor<f32> }) {dimensions = array<i64: 0>} : ... -> tensor<4xf32>
      ==>
        hlo.add %0, %1 : tensor<4xf32>
    """

    def run(self, module: ir.Module) -> bool:
        """Expands every map."""
        return expand(module, {"hlo.map": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    shape = shape_of(op.results[0])
    block = body_of(op)
    known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, op.operands, strict=True))

    def tensor(scalar: ir.Value) -> ir.Value:
        # What the computation does not define comes from around the map.
        if scalar not in known:
            known[scalar] = builder.splat(scalar, shape)
        return known[scalar]

    for view in list(block.operations)[:-1]:
        inner = view.operation
        if inner.name == "hlo.constant":
            known[inner.results[0]] = builder.splat(_copy(inner, op), shape)
            continue
        if inner.name not in ELEMENTWISE:
            raise unsupported(
                inner, "expected an elementwise op in the computation of hlo.map; use hlo.while"
            )
        result = builder.create(
            inner.name,
            [tensor(operand) for operand in inner.operands],
            [builder.tensor(shape, element_of(inner.results[0]))],
            dict(inner.attributes.items()),
        )
        known[inner.results[0]] = result.results[0]
    return [tensor(value) for value in terminator_of(block).operands]


def _copy(constant: ir.Operation, anchor: ir.Operation) -> ir.Value:
    return constant.clone(ip=ir.InsertionPoint(anchor)).results[0]
