"""Dot products whose operands or dimensions can be simpler."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
_SIDES = ("lhs", "rhs")


@TABLE.rule("dot_general")
def dot_of_transpose(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A transpose of an operand becomes part of the dimension numbers.

    Needs the transpose to keep the order of the operand's free dimensions, which the result shows.
    """
    numbers = ir.attributes.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    operands = list(op.operands)
    fields = {
        side: [
            list(getattr(numbers, f"{side}_batching_dimensions")),
            list(getattr(numbers, f"{side}_contracting_dimensions")),
        ]
        for side in _SIDES
    }
    changed = False
    for index, side in enumerate(_SIDES):
        inner = s.producer(operands[index], "hlo.transpose")
        if inner is None:
            continue
        permutation = ir.attributes.ints(inner, "permutation")
        batching, contracting = fields[side]
        free = [
            permutation[d]
            for d in range(len(permutation))
            if d not in batching and d not in contracting
        ]
        if free != sorted(free):
            continue
        fields[side] = [[permutation[d] for d in batching], [permutation[d] for d in contracting]]
        operands[index] = inner.operands[0]
        changed = True
    if not changed:
        return None
    attributes = {n: a for n, a in op.attributes.items() if n != "dot_dimension_numbers"}
    return s.builder.dot_general(
        operands[0],
        operands[1],
        batching=(fields["lhs"][0], fields["rhs"][0]),
        contracting=(fields["lhs"][1], fields["rhs"][1]),
        element=element_of(op.results[0]),
        attributes=attributes,
    )


@TABLE.rule("transpose")
def transpose_of_dot(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A transpose that exchanges the free dimensions of both operands is the dot of the operands
    exchanged.

    Needs the dot to have no other use, and no algorithm, which names its operands.
    """
    dot = s.producer(op.operands[0], "hlo.dot_general")
    if dot is None or not s.has_one_use(dot.results[0]) or "algorithm" in dot.attributes:
        return None
    numbers = ir.attributes.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])
    batching = [list(getattr(numbers, f"{side}_batching_dimensions")) for side in _SIDES]
    contracting = [list(getattr(numbers, f"{side}_contracting_dimensions")) for side in _SIDES]
    batch = len(batching[0])
    middle = len(shape_of(dot.operands[0])) - len(contracting[0])
    rank = len(shape_of(dot.results[0]))
    wanted = [*range(batch), *range(middle, rank), *range(batch, middle)]
    if list(ir.attributes.ints(op, "permutation")) != wanted:
        return None
    kept = {n: a for n, a in dot.attributes.items() if n != "dot_dimension_numbers"}
    if "precision_config" in kept:
        kept["precision_config"] = ir.ArrayAttr.get(
            list(ir.ArrayAttr(kept["precision_config"]))[::-1], context=op.context
        )
    return s.builder.dot_general(
        dot.operands[1],
        dot.operands[0],
        batching=(batching[1], batching[0]),
        contracting=(contracting[1], contracting[0]),
        element=element_of(op.results[0]),
        attributes=kept,
    )


@TABLE.rule("dot_general")
def dot_of_merged_batch(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A dot over matrices that reshapes put into one dimension keeps their dimensions apart, and
    the result is reshaped. What is transposed ahead of the reshape can then be read where it is.

    Needs both reshapes to merge the same sizes into one batching dimension and to keep all other
    dimensions, and a transpose ahead of one of them.
    """
    numbers = ir.attributes.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    reshapes = [s.producer(operand, "hlo.reshape") for operand in op.operands]
    sources = [reshape.operands[0] for reshape in reshapes if reshape is not None]
    if len(numbers.lhs_batching_dimensions) != 1 or len(sources) != len(_SIDES):
        return None
    if not any(s.producer(source, "hlo.transpose") for source in sources):
        return None
    fields: list[tuple[list[int], list[int]]] = []
    for source, operand, side in zip(sources, op.operands, _SIDES, strict=True):
        (batch,) = getattr(numbers, f"{side}_batching_dimensions")
        before, after = shape_of(source), shape_of(operand)
        count = len(before) - len(after) + 1
        if count < 2 or [*before[:batch], *before[batch + count :]] != _without(after, batch):
            return None
        moved = [
            d if d < batch else d + count - 1
            for d in getattr(numbers, f"{side}_contracting_dimensions")
        ]
        fields.append((list(range(batch, batch + count)), moved))
    (left, left_summed), (right, right_summed) = fields
    sizes = [shape_of(sources[0])[d] for d in left]
    if sizes != [shape_of(sources[1])[d] for d in right]:
        return None
    dot = s.builder.dot_general(
        sources[0],
        sources[1],
        batching=(left, right),
        contracting=(left_summed, right_summed),
        element=element_of(op.results[0]),
        attributes={n: a for n, a in op.attributes.items() if n != "dot_dimension_numbers"},
    )
    return s.builder.reshape(dot, shape_of(op.results[0]))


def _without(shape: Sequence[int], dimension: int) -> list[int]:
    return [size for d, size in enumerate(shape) if d != dimension]


@TABLE.rule("dot_general")
def dot_of_one_product(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """With one product to sum, or none but a factor each, the dot is a multiplication of
    broadcasts.

    Needs contracting dimensions of size 1 and no algorithm; operands are converted to the result's
    type first, which holds them. -0 may take the place of 0.
    """
    if "algorithm" in op.attributes:
        return None
    lhs, rhs = op.operands
    numbers = ir.attributes.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    if any(shape_of(lhs)[d] != 1 for d in numbers.lhs_contracting_dimensions):
        return None
    result = op.results[0]
    element, shape = element_of(result), shape_of(result)
    b = s.builder
    batch = len(numbers.lhs_batching_dimensions)
    factors: list[ir.Value] = []
    next_free = batch
    for value, batching, contracting in (
        (lhs, numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions),
        (rhs, numbers.rhs_batching_dimensions, numbers.rhs_contracting_dimensions),
    ):
        sizes = shape_of(value)
        free = [d for d in range(len(sizes)) if d not in batching and d not in contracting]
        arranged = b.transpose(value, [*batching, *free, *contracting])
        arranged = b.reshape(arranged, [sizes[d] for d in (*batching, *free)])
        placed = [*range(batch), *range(next_free, next_free + len(free))]
        next_free += len(free)
        wide = b.broadcast_in_dim(b.convert(arranged, element), shape, placed)
        factors.append(wide)
    return b.multiply(factors[0], factors[1])
