"""`hlo.einsum` and `hlo.unary_einsum` become dots, reductions and transposes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, is_complex, is_float, shape_of
from hlo.passes.rewrite.walk import expand, malformed

_LABEL = re.compile(r"\.\.\.|[A-Za-z]")


@dataclass(frozen=True)
class ExpandEinsum(Pass):
    """Replaces sums of products in Einstein's notation.

    A label that one operand repeats takes the diagonal; a label of one operand that the result
    lacks is summed first; `...` stands for leading dimensions, aligned from the right.

        hlo.einsum %0, %1, config = "ab,cb->ca" : (tensor<2x3xf32>, tensor<4x3xf32>) -> ...
      ==>
        %2 = hlo.dot_general %0, %1, contracting_dims = [1] x [1]
        hlo.transpose %2, dims = [1, 0]
    """

    def run(self, module: ir.Module) -> bool:
        """Expands both ops."""
        return expand(module, {"hlo.einsum": _binary, "hlo.unary_einsum": _unary})


def _labels(op: ir.Operation) -> tuple[list[list[str]], list[str]]:
    """The labels of operands and result; those that `...` stands for are "0", "1", ... from the
    right."""
    config = ir.attributes.string(op, "einsum_config").replace(" ", "")
    left, arrow, right = config.partition("->")
    terms = left.split(",")
    operands = list(op.operands)
    if not arrow or len(terms) != len(operands):
        raise malformed(op, f"expected {len(operands)} operands and `->` in the einsum {config!r}")
    inputs = [
        _expand_dots(op, _LABEL.findall(term), len(shape_of(operand)))
        for term, operand in zip(terms, operands, strict=True)
    ]
    return inputs, _expand_dots(op, _LABEL.findall(right), len(shape_of(op.results[0])))


def _expand_dots(op: ir.Operation, labels: list[str], rank: int) -> list[str]:
    hidden = rank - len([label for label in labels if label != "..."])
    result: list[str] = []
    for label in labels:
        result += [str(i) for i in reversed(range(hidden))] if label == "..." else [label]
    if len(result) != rank:
        raise malformed(op, f"expected {rank} labels, found {labels}")
    return result


def _unary(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    (labels,), wanted = _labels(op)
    value, labels = _diagonal(builder, op.operands[0], labels)
    value, labels = _sum_except(builder, value, labels, set(wanted))
    return [_arrange(builder, value, labels, wanted, shape_of(op.results[0]))]


def _binary(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    (left, right), wanted = _labels(op)
    lhs, left = _diagonal(builder, op.operands[0], left)
    rhs, right = _diagonal(builder, op.operands[1], right)
    lhs, left = _sum_except(builder, lhs, left, {*right, *wanted})
    rhs, right = _sum_except(builder, rhs, right, {*left, *wanted})
    lhs, left, rhs, right = _squeeze(builder, lhs, left, rhs, right)
    batch = [label for label in left if label in right and label in wanted]
    contracted = [label for label in left if label in right and label not in wanted]
    attributes = op.attributes
    value = builder.dot_general(
        lhs,
        rhs,
        batching=([left.index(x) for x in batch], [right.index(x) for x in batch]),
        contracting=([left.index(x) for x in contracted], [right.index(x) for x in contracted]),
        element=element_of(op.results[0]),
        attributes={"precision_config": attributes["precision_config"]}
        if "precision_config" in attributes
        else {},
    )
    used = {*batch, *contracted}
    labels = [*batch, *(x for x in left if x not in used), *(x for x in right if x not in used)]
    value, labels = _sum_except(builder, value, labels, set(wanted))
    return [_arrange(builder, value, labels, wanted, shape_of(op.results[0]))]


def _diagonal(builder: Builder, value: ir.Value, labels: list[str]) -> tuple[ir.Value, list[str]]:
    """Keeps only elements whose indices agree at a repeated label, and sums the repetition away."""
    while len(set(labels)) != len(labels):
        second = next(i for i, label in enumerate(labels) if label in labels[:i])
        first = labels.index(labels[second])
        shape = shape_of(value)
        index = builder.integer_type(32)
        same = builder.compare(
            builder.iota(shape, index, first), builder.iota(shape, index, second), "EQ"
        )
        zero = builder.constant_like(_zero(element_of(value)), value)
        value = builder.sum(builder.select(same, value, zero), [second])
        labels = [label for i, label in enumerate(labels) if i != second]
    return value, labels


def _sum_except(
    builder: Builder, value: ir.Value, labels: list[str], kept: set[str]
) -> tuple[ir.Value, list[str]]:
    dropped = [i for i, label in enumerate(labels) if label not in kept]
    if not dropped:
        return value, labels
    return builder.sum(value, dropped), [label for label in labels if label in kept]


def _squeeze(
    builder: Builder, lhs: ir.Value, left: list[str], rhs: ir.Value, right: list[str]
) -> tuple[ir.Value, list[str], ir.Value, list[str]]:
    """Drops a dimension of size 1 that the other operand has larger: it is broadcast."""
    sizes_left = dict(zip(left, shape_of(lhs), strict=True))
    sizes_right = dict(zip(right, shape_of(rhs), strict=True))

    def drop(
        value: ir.Value, labels: list[str], own: Mapping[str, int], other: Mapping[str, int]
    ) -> tuple[ir.Value, list[str]]:
        kept = [x for x in labels if not (own[x] == 1 and other.get(x, 1) != 1)]
        return builder.reshape(value, [own[x] for x in kept]), kept

    lhs, left = drop(lhs, left, sizes_left, sizes_right)
    rhs, right = drop(rhs, right, sizes_right, sizes_left)
    return lhs, left, rhs, right


def _arrange(
    builder: Builder,
    value: ir.Value,
    labels: list[str],
    wanted: list[str],
    shape: Sequence[int],
) -> ir.Value:
    """Puts dimensions in the result's order; a label that only the result has is a size of 1."""
    present = [label for label in wanted if label in labels]
    value = builder.transpose(value, [labels.index(label) for label in present])
    return builder.reshape(value, shape)


def _zero(element: ir.Type) -> int | float:
    return 0.0 if is_float(element) or is_complex(element) else 0
