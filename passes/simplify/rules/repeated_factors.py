"""Dots of operands that a broadcast repeats: each product is computed once."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
_SIDES = ("lhs", "rhs")


def _fields(op: ir.Operation) -> tuple[list[list[int]], list[list[int]]]:
    """(batching, contracting) dimensions of both operands."""
    numbers = ir.attributes.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return (
        [list(getattr(numbers, f"{side}_batching_dimensions")) for side in _SIDES],
        [list(getattr(numbers, f"{side}_contracting_dimensions")) for side in _SIDES],
    )


def _repeated(value: ir.Value, s: Simplifier) -> tuple[ir.Value, list[int]] | None:
    """(what a value is a broadcast of, the value's dimension for each of that one's).

    Dimensions of size 1 that are repeated are none of the first value's.
    """
    inner = s.producer(value, "hlo.broadcast_in_dim")
    if inner is None:
        return None
    source, wide = inner.operands[0], shape_of(value)
    shape = shape_of(source)
    placed = ir.attributes.ints(inner, "broadcast_dimensions")
    kept = [k for k, d in enumerate(placed) if shape[k] == wide[d]]
    if sorted(placed) != list(placed) or 0 in wide:
        return None
    if len(kept) < len(shape):
        source = s.builder.reshape(source, [shape[k] for k in kept])
    return source, [placed[k] for k in kept]


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {n: a for n, a in op.attributes.items() if n != "dot_dimension_numbers"}


@TABLE.rule("dot_general")
def dot_of_repeated_matrix(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Matrices of which one is the same in the whole batch make one product: the batch is a free
    dimension of the other operand. PyTorch writes linear layers of sequences so.

    Needs an operand that a broadcast repeats along batching dimensions and nothing else.
    """
    batching, _ = _fields(op)
    for side in (1, 0):
        producer = s.producer(op.operands[side], "hlo.broadcast_in_dim")
        if producer is None or not batching[side]:
            continue
        found = _repeated(op.operands[side], s)
        if found is None:
            continue
        source, placed = found
        gone = [d for d in range(len(shape_of(op.operands[side]))) if d not in placed]
        if not gone or any(d not in batching[side] for d in gone):
            continue
        return _with_free_batch(op, s, side, source, placed)
    return None


def _with_free_batch(
    op: ir.Operation, s: Simplifier, side: int, source: ir.Value, placed: Sequence[int]
) -> ir.Value:
    """The dot with an operand that lacks some batching dimensions."""
    batching, contracting = _fields(op)
    other = op.operands[1 - side]
    kept = [i for i, d in enumerate(batching[side]) if d in placed]
    lost = [i for i in range(len(batching[side])) if i not in kept]
    new_batch = [[batching[k][i] for i in kept] for k in range(2)]
    summed = [list(dims) for dims in contracting]
    new_batch[side] = [placed.index(d) for d in new_batch[side]]
    summed[side] = [placed.index(d) for d in summed[side]]
    operands = [other, other]
    operands[side] = source
    dot = s.builder.dot_general(
        operands[0],
        operands[1],
        batching=(new_batch[0], new_batch[1]),
        contracting=(summed[0], summed[1]),
        element=element_of(op.results[0]),
        attributes=_attributes(op),
    )
    # Where the result has what the old one had: batch, free dimensions of each operand.
    count = len(kept)
    where: list[dict[int, int]] = [{}, {}]
    position = count
    for k, value in enumerate(operands):
        taken = {*new_batch[k], *summed[k]}
        for d in range(len(shape_of(value))):
            if d not in taken:
                where[k][d if k != side else placed[d]] = position
                position += 1
    batch = [
        kept.index(i) if i in kept else where[1 - side][batching[1 - side][i]]
        for i in range(count + len(lost))
    ]
    free: list[int] = []
    for k in range(2):
        taken = {*batching[k], *contracting[k]}
        free += [where[k][d] for d in range(len(shape_of(op.operands[k]))) if d not in taken]
    return s.builder.transpose(dot, [*batch, *free])


@TABLE.rule("dot_general")
def dot_of_repeated_rows(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Rows that are all the same have one product, which is repeated.

    Needs an operand that a broadcast repeats along free dimensions and nothing else.
    """
    batching, contracting = _fields(op)
    for side in range(2):
        if s.producer(op.operands[side], "hlo.broadcast_in_dim") is None:
            continue
        rank = len(shape_of(op.operands[side]))
        taken = {*batching[side], *contracting[side]}
        found = _repeated(op.operands[side], s)
        if found is None:
            continue
        source, placed = found
        gone = [d for d in range(rank) if d not in placed]
        if not gone or taken.intersection(gone):
            continue
        operands = list(op.operands)
        operands[side] = source
        batching[side] = [placed.index(d) for d in batching[side]]
        contracting[side] = [placed.index(d) for d in contracting[side]]
        dot = s.builder.dot_general(
            operands[0],
            operands[1],
            batching=(batching[0], batching[1]),
            contracting=(contracting[0], contracting[1]),
            element=element_of(op.results[0]),
            attributes=_attributes(op),
        )
        first = len(batching[0])
        if side == 1:
            first += len(shape_of(operands[0])) - len(batching[0]) - len(contracting[0])
        free = [d for d in range(rank) if d not in taken]
        absent = {first + free.index(d) for d in gone}
        wide = shape_of(op.results[0])
        return s.builder.broadcast_in_dim(
            dot, wide, [d for d in range(len(wide)) if d not in absent]
        )
    return None
