"""Broadcasts, reshapes and transposes: one op instead of two, the simplest kind of op that does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import ir
from hlo.passes.rewrite.elementwise import ELEMENTWISE
from hlo.passes.rewrite.tensor_types import element_of, shape_of, size_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


def _dimensions(op: ir.Operation) -> tuple[int, ...]:
    return ir.attributes.ints(op, "broadcast_dimensions")


def kept_dimensions(before: Sequence[int], after: Sequence[int]) -> list[int] | None:
    """For a reshape that only adds and removes dimensions of size 1: for each dimension before, the
    dimension after that holds it, or -1 for a size of 1 that goes. None for other reshapes."""
    positions: list[int] = []
    next_after = 0
    for size in before:
        if size == 1:
            positions.append(-1)
            continue
        while next_after < len(after) and after[next_after] == 1:
            next_after += 1
        if next_after == len(after) or after[next_after] != size:
            return None
        positions.append(next_after)
        next_after += 1
    return positions if all(size == 1 for size in after[next_after:]) else None


# ---- broadcast_in_dim ----
@TABLE.rule("broadcast_in_dim")
def broadcast_to_itself(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A broadcast that keeps every dimension in place."""
    del s
    operand = op.operands[0]
    if operand.type != op.results[0].type:
        return None
    dimensions = _dimensions(op)
    return operand if dimensions == tuple(range(len(dimensions))) else None


@TABLE.rule("broadcast_in_dim")
def broadcast_of_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Dimensions map through both."""
    inner = s.producer(op.operands[0], "hlo.broadcast_in_dim")
    if inner is None:
        return None
    outer = _dimensions(op)
    return s.builder.broadcast_in_dim(
        inner.operands[0], shape_of(op.results[0]), [outer[d] for d in _dimensions(inner)]
    )


@TABLE.rule("broadcast_in_dim")
def broadcast_of_unit_reshape(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A reshape that only adds and removes dimensions of size 1 is part of the broadcast, if none
    that it removes would have to be placed.
    """
    inner = s.producer(op.operands[0], "hlo.reshape")
    if inner is None:
        return None
    source = inner.operands[0]
    before, after = shape_of(source), shape_of(op.operands[0])
    positions = kept_dimensions(before, after)
    if positions is None:
        return None
    outer = _dimensions(op)
    squeezed = [size for size in before if size != 1]
    operand = s.builder.reshape(source, squeezed)
    if operand == source or len(squeezed) < len(after):
        kept = [outer[p] for p in positions if p >= 0]
        return s.builder.broadcast_in_dim(operand, shape_of(op.results[0]), kept)
    return None


@TABLE.rule("broadcast_in_dim")
def broadcast_of_unit_dimensions(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A broadcast that repeats nothing, and keeps the order of dimensions, is a reshape."""
    operand, shape = op.operands[0], shape_of(op.results[0])
    if size_of(shape_of(operand)) != size_of(shape) or size_of(shape) == 0:
        return None
    dimensions = _dimensions(op)
    if list(dimensions) != sorted(dimensions):
        return None
    return s.builder.reshape(operand, shape)


# ---- reshape ----
@TABLE.rule("reshape")
def reshape_of_reshape(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Only the last shape counts; a reshape to the shape that the operand has is the operand."""
    operand = op.operands[0]
    if operand.type == op.results[0].type:
        return operand
    inner = s.producer(operand, "hlo.reshape")
    if inner is None:
        return None
    return s.builder.reshape(inner.operands[0], shape_of(op.results[0]))


@TABLE.rule("reshape")
def reshape_of_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Adding or removing dimensions of size 1 after a broadcast is part of the broadcast."""
    inner = s.producer(op.operands[0], "hlo.broadcast_in_dim")
    if inner is None:
        return None
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    positions = kept_dimensions(before, after)
    if positions is None:
        return None
    source = inner.operands[0]
    placed = [positions[d] for d in _dimensions(inner)]
    sizes = shape_of(source)
    if any(p < 0 for p in placed):
        kept = [i for i, p in enumerate(placed) if p >= 0]
        source = s.builder.reshape(source, [sizes[i] for i in kept])
        placed = [placed[i] for i in kept]
    return s.builder.broadcast_in_dim(source, after, placed)


@TABLE.rule("reshape")
def reshape_of_iota(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An iota with other dimensions of size 1 is an iota."""
    inner = s.producer(op.operands[0], "hlo.iota")
    if inner is None:
        return None
    positions = kept_dimensions(shape_of(op.operands[0]), shape_of(op.results[0]))
    along = ir.attributes.integer(inner, "iota_dimension")
    if positions is None or positions[along] < 0:
        return None
    result = op.results[0]
    return s.builder.iota(shape_of(result), element_of(result), positions[along])


# ---- transpose ----
@TABLE.rule("transpose")
def transpose_of_transpose(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Permutations compose; the identity is the operand."""
    operand, permutation = op.operands[0], ir.attributes.ints(op, "permutation")
    if permutation == tuple(range(len(permutation))):
        return operand
    inner = s.producer(operand, "hlo.transpose")
    if inner is None:
        return None
    first = ir.attributes.ints(inner, "permutation")
    return s.builder.transpose(inner.operands[0], [first[d] for d in permutation])


@TABLE.rule("transpose")
def transpose_of_unit_dimensions(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A transpose that only moves dimensions of size 1 is a reshape."""
    operand = op.operands[0]
    shape = shape_of(operand)
    moved = [d for d in ir.attributes.ints(op, "permutation") if shape[d] != 1]
    if moved != sorted(moved):
        return None
    return s.builder.reshape(operand, shape_of(op.results[0]))


@TABLE.rule("transpose")
def transpose_of_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """The broadcast places dimensions where the transpose wants them."""
    inner = s.producer(op.operands[0], "hlo.broadcast_in_dim")
    if inner is None:
        return None
    permutation = ir.attributes.ints(op, "permutation")
    placed = [permutation.index(d) for d in _dimensions(inner)]
    return s.builder.broadcast_in_dim(inner.operands[0], shape_of(op.results[0]), placed)


@TABLE.rule("transpose")
def transpose_of_iota(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An iota along another dimension."""
    inner = s.producer(op.operands[0], "hlo.iota")
    if inner is None:
        return None
    permutation = ir.attributes.ints(op, "permutation")
    along = permutation.index(ir.attributes.integer(inner, "iota_dimension"))
    result = op.results[0]
    return s.builder.iota(shape_of(result), element_of(result), along)


# ---- elementwise ----
@TABLE.rule(*(name.removeprefix("hlo.") for name in sorted(ELEMENTWISE)))
def compute_before_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """An elementwise op on broadcasts of one kind, and splats, computes on what is broadcast: fewer
    elements, each computed once.

    Needs a broadcast that repeats elements. Selection and clamping by a scalar keep their form.
    """
    source: ir.Operation | None = None
    operands = list(op.operands)
    result_shape = shape_of(op.results[0])
    for operand in operands:
        if shape_of(operand) != result_shape:
            return None
        if s.splat(operand) is not None:
            continue
        found = s.producer(operand, "hlo.broadcast_in_dim")
        if found is None:
            return None
        if source is None:
            source = found
        elif shape_of(found.operands[0]) != shape_of(source.operands[0]) or _dimensions(
            found
        ) != _dimensions(source):
            return None
    if source is None:
        return None
    narrow = shape_of(source.operands[0])
    if size_of(narrow) >= size_of(result_shape):
        return None
    b = s.builder
    inputs = [_narrowed(operand, narrow, s) for operand in operands]
    computed = b.one(
        op.name.removeprefix("hlo."),
        inputs,
        b.tensor(narrow, element_of(op.results[0])),
        dict(op.attributes.items()),
    )
    return b.broadcast_in_dim(computed, result_shape, _dimensions(source))


def _narrowed(operand: ir.Value, shape: Sequence[int], s: Simplifier) -> ir.Value:
    number = s.splat(operand)
    if number is not None:
        element = element_of(operand)
        array = np.asarray(number, ir.types.to_dtype(element))
        return s.builder.constant_array(np.broadcast_to(array, tuple(shape)), element)
    owner = s.producer(operand)
    assert owner is not None
    return owner.operands[0]
