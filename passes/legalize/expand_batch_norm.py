"""Batch normalisation becomes arithmetic and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import bit_width, element_of, shape_of, size_of
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class ExpandBatchNorm(Pass):
    """Replaces the three batch normalisation ops by the formulas of the specification.

    Types narrower than 32 bits are computed in f32 and rounded once.

        %r = "hlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance)
      ==>
        (x - mean) / sqrt(variance + epsilon) * scale + offset, per feature
    """

    def run(self, module: ir.Module) -> bool:
        """Expands every normalisation."""
        return expand(
            module,
            {
                "hlo.batch_norm_inference": _inference,
                "hlo.batch_norm_training": _training,
                "hlo.batch_norm_grad": _gradient,
            },
        )


class _Features:
    """One op: its operands in the type that it is computed in, and how features lie in them."""

    def __init__(self, op: ir.Operation, builder: Builder) -> None:
        self.builder = builder
        self.element = element_of(op.operands[0])
        wide = self.element if bit_width(self.element) >= 32 else builder.parse_type("f32")
        self.operands = [builder.convert(operand, wide) for operand in op.operands]
        self.shape = shape_of(op.operands[0])
        self.feature = ir.attributes.integer(op, "feature_index")
        self.others = [d for d in range(len(self.shape)) if d != self.feature]
        epsilon = float(ir.FloatAttr(op.attributes["epsilon"]).value)
        self.epsilon = builder.constant(epsilon, wide, (self.shape[self.feature],))
        self.wide = wide

    def spread(self, per_feature: ir.Value) -> ir.Value:
        """One value a feature, repeated along the other dimensions."""
        return self.builder.broadcast_in_dim(per_feature, self.shape, [self.feature])

    def total(self, values: ir.Value) -> ir.Value:
        """The sum of each feature."""
        return self.builder.sum(values, self.others)

    def count(self) -> ir.Value:
        """How many elements a feature has, for each feature."""
        size = size_of([self.shape[d] for d in self.others])
        return self.builder.constant(float(size), self.wide, (self.shape[self.feature],))

    def deviation(self, variance: ir.Value) -> ir.Value:
        """sqrt(variance + epsilon)."""
        return self.builder.unary("sqrt", self.builder.add(variance, self.epsilon))

    def narrow(self, *values: ir.Value) -> list[ir.Value]:
        """Results in the operand's type."""
        return [self.builder.convert(value, self.element) for value in values]


def _normalise(
    f: _Features, centered: ir.Value, variance: ir.Value, scale: ir.Value, offset: ir.Value
) -> ir.Value:
    b = f.builder
    normal = b.divide(centered, f.spread(f.deviation(variance)))
    return b.add(b.multiply(normal, f.spread(scale)), f.spread(offset))


def _inference(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    f = _Features(op, builder)
    operand, scale, offset, mean, variance = f.operands
    centered = builder.subtract(operand, f.spread(mean))
    return f.narrow(_normalise(f, centered, variance, scale, offset))


def _training(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    f = _Features(op, builder)
    operand, scale, offset = f.operands
    count = f.count()
    mean = builder.divide(f.total(operand), count)
    centered = builder.subtract(operand, f.spread(mean))
    variance = builder.divide(f.total(builder.multiply(centered, centered)), count)
    return f.narrow(_normalise(f, centered, variance, scale, offset), mean, variance)


def _gradient(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    f = _Features(op, builder)
    b = builder
    operand, scale, mean, variance, gradient = f.operands
    count, deviation = f.count(), f.deviation(variance)
    centered = b.subtract(operand, f.spread(mean))
    gradient_sum = f.total(gradient)
    weighted_sum = f.total(b.multiply(gradient, centered))
    # scale / deviation / count * (count * gradient - sum(gradient) - centered * weighted /
    # variance)
    factor = b.divide(b.divide(scale, deviation), count)
    correction = b.divide(
        b.multiply(centered, f.spread(weighted_sum)), f.spread(b.add(variance, f.epsilon))
    )
    inner = b.subtract(b.multiply(f.spread(count), gradient), f.spread(gradient_sum))
    grad_operand = b.multiply(f.spread(factor), b.subtract(inner, correction))
    return f.narrow(grad_operand, b.divide(weighted_sum, deviation), gradient_sum)
