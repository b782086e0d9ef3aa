"""Slices of what a dot makes: the part is computed, not all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hlo import ir
from hlo.passes.rewrite.elementwise import ELEMENTWISE
from hlo.passes.rewrite.tensor_types import element_of, shape_of, size_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
# Takes the part of a value that belongs to some dimensions of what is sliced; -1 for none.
Cut: TypeAlias = Callable[[ir.Value, Sequence[int]], ir.Value]
_LONGEST = 8  # ops between a slice and the dot

_SIDES = ("lhs", "rhs")


def _cut_of(op: ir.Operation, s: Simplifier) -> Cut:
    """How a slice, or a dynamic slice, cuts other values than its operand."""
    sizes = shape_of(op.results[0])
    if op.name == "hlo.slice":
        starts, limits, strides = (
            ir.attributes.ints(op, name) for name in ("start_indices", "limit_indices", "strides")
        )

        def static(value: ir.Value, dims: Sequence[int]) -> ir.Value:
            shape = shape_of(value)
            return s.builder.slice(
                value,
                [starts[d] if d >= 0 else 0 for d in dims],
                [limits[d] if d >= 0 else n for d, n in zip(dims, shape, strict=True)],
                [strides[d] if d >= 0 else 1 for d in dims],
            )

        return static
    _, *indices = op.operands

    def dynamic(value: ir.Value, dims: Sequence[int]) -> ir.Value:
        shape = shape_of(value)
        taken = [sizes[d] if d >= 0 else n for d, n in zip(dims, shape, strict=True)]
        if tuple(taken) == shape:
            return value
        zero = s.builder.constant(0, element_of(indices[0]))
        return s.builder.dynamic_slice(value, [indices[d] if d >= 0 else zero for d in dims], taken)

    return dynamic


def _comes_of_dot(value: ir.Value, s: Simplifier) -> bool:
    """Whether a value is, but for elementwise ops and transposes, a dot that nothing else reads."""
    shape = shape_of(value)
    for _ in range(_LONGEST):
        op = s.producer(value)
        if op is None or not s.has_one_use(value):
            return False
        if op.name == "hlo.dot_general":
            return True
        if op.name != "hlo.transpose" and op.name not in ELEMENTWISE:
            return False
        large = [v for v in op.operands if size_of(shape_of(v)) == size_of(shape)]
        made = [v for v in large if (inner := s.producer(v)) and inner.name not in _SPREAD]
        if len(made) != 1:
            return False
        value = made[0]
    return False


_SPREAD = frozenset({"hlo.constant", "hlo.broadcast_in_dim", "hlo.iota"})


def _takes_little(op: ir.Operation) -> bool:
    part, whole = size_of(shape_of(op.results[0])), size_of(shape_of(op.operands[0]))
    return 0 < 2 * part <= whole


@TABLE.rule("slice", "dynamic_slice")
def slice_of_dot(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A part of a dot's result is the dot of parts of the operands: the logits of the last token
    are computed alone.

    Needs at most half of the result, and the dot to have no other use.
    """
    dot = s.producer(op.operands[0], "hlo.dot_general")
    if dot is None or not s.has_one_use(dot.results[0]) or not _takes_little(op):
        return None
    numbers = ir.attributes.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])
    cut = _cut_of(op, s)
    batching = [tuple(getattr(numbers, f"{side}_batching_dimensions")) for side in _SIDES]
    contracting = [tuple(getattr(numbers, f"{side}_contracting_dimensions")) for side in _SIDES]
    parts: list[ir.Value] = []
    following = len(batching[0])
    for value, batch, summed in zip(dot.operands, batching, contracting, strict=True):
        dims: list[int] = []
        for d in range(len(shape_of(value))):
            if d in batch:
                dims.append(batch.index(d))
            elif d in summed:
                dims.append(-1)
            else:
                dims.append(following)
                following += 1
        parts.append(cut(value, dims))
    return s.builder.dot_general(
        parts[0],
        parts[1],
        batching=(batching[0], batching[1]),
        contracting=(contracting[0], contracting[1]),
        element=element_of(op.results[0]),
        attributes={n: a for n, a in dot.attributes.items() if n != "dot_dimension_numbers"},
    )


@TABLE.rule("slice", "dynamic_slice")
def slice_of_what_follows_a_dot(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A part of an elementwise op's result, or of a transpose's, is the op of parts, on the way to
    a dot.

    Needs at most half of the result, and all ops up to the dot to have no other use.
    """
    if not _takes_little(op) or not _comes_of_dot(op.operands[0], s):
        return None
    inner = s.producer(op.operands[0])
    assert inner is not None
    cut, rank = _cut_of(op, s), len(shape_of(op.operands[0]))
    if inner.name == "hlo.transpose":
        permutation = ir.attributes.ints(inner, "permutation")
        part = cut(inner.operands[0], [permutation.index(d) for d in range(rank)])
        return s.builder.transpose(part, permutation)
    if inner.name not in ELEMENTWISE or len(inner.results) != 1:
        return None
    shape = shape_of(op.operands[0])
    parts = [cut(v, range(rank)) if shape_of(v) == shape else v for v in inner.operands]
    kept = {name: inner.attributes[name] for name in inner.attributes}
    return s.builder.one(inner.name.removeprefix("hlo."), parts, op.results[0].type, kept)
