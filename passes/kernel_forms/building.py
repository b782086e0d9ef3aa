"""Short forms for building `hlo` ops before an op that is being rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlo import ir


def create(
    name: str,
    operands: Sequence[ir.Value],
    shape: Sequence[int],
    element: ir.Type,
    attributes: Mapping[str, ir.Attribute],
    *,
    regions: int = 0,
) -> ir.Operation:
    """An op with one tensor result, at the current insertion point and location."""
    kind = ir.RankedTensorType.get(list(shape), element)
    return ir.Operation.create(
        name, results=[kind], operands=list(operands), attributes=dict(attributes), regions=regions
    )


def integers(values: Sequence[int]) -> ir.Attribute:
    """An `array<i64: ...>` attribute."""
    return ir.DenseI64ArrayAttr.get(list(values))


def transposed(value: ir.Value, permutation: Sequence[int]) -> ir.Value:
    """`value` with its dimensions in another order; itself if the order is the same."""
    kind = ir.RankedTensorType(value.type)
    if list(permutation) == list(range(len(permutation))):
        return value
    shape = [kind.shape[d] for d in permutation]
    op = create(
        "hlo.transpose", [value], shape, kind.element_type, {"permutation": integers(permutation)}
    )
    return op.results[0]


def reshaped(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """`value` with another shape of as many elements."""
    kind = ir.RankedTensorType(value.type)
    return create("hlo.reshape", [value], shape, kind.element_type, {}).results[0]


def zero(element: ir.Type) -> ir.Value:
    """A rank-0 constant zero."""
    kind = ir.RankedTensorType.get([], element)
    number: ir.Attribute
    if isinstance(element, ir.ComplexType):
        text = f"dense<(0.0, 0.0)> : {kind}"
        value = ir.Attribute.parse(text)
    elif isinstance(element, ir.IntegerType):
        number = (
            ir.IntegerAttr.get(element, 0)
            if element.is_signless
            else ir.Attribute.parse(f"0 : {element}")
        )
        value = ir.DenseElementsAttr.get_splat(kind, number)
    else:
        number = ir.FloatAttr.get(element, 0.0)
        value = ir.DenseElementsAttr.get_splat(kind, number)
    return ir.Operation.create("hlo.constant", results=[kind], attributes={"value": value}).results[
        0
    ]
