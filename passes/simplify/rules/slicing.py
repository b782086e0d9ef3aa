"""Slices, concatenations, pads and reversals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.simplify.rules.shapes import kept_dimensions
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()
_MOST_OPERANDS = 128


def _bounds(op: ir.Operation) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    return (
        ir.attributes.ints(op, "start_indices"),
        ir.attributes.ints(op, "limit_indices"),
        ir.attributes.ints(op, "strides"),
    )


# ---- slice ----
@TABLE.rule("slice")
def slice_of_everything(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice with its operand's shape takes every element."""
    del s
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


@TABLE.rule("slice")
def slice_of_slice(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Bounds compose, strides multiply."""
    inner = s.producer(op.operands[0], "hlo.slice")
    if inner is None:
        return None
    first, _, step = _bounds(inner)
    starts, limits, strides = _bounds(op)
    sizes = shape_of(op.results[0])
    if 0 in sizes:
        return None
    del limits
    begin = [f + a * b for f, a, b in zip(first, starts, step, strict=True)]
    total = [a * b for a, b in zip(step, strides, strict=True)]
    end = [b + (n - 1) * t + 1 for b, n, t in zip(begin, sizes, total, strict=True)]
    return s.builder.slice(inner.operands[0], begin, end, total)


@TABLE.rule("slice")
def slice_of_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice of the broadcast operand's own dimensions, broadcast to the smaller shape."""
    inner = s.producer(op.operands[0], "hlo.broadcast_in_dim")
    if inner is None:
        return None
    source, wide = inner.operands[0], shape_of(op.operands[0])
    starts, limits, strides = _bounds(op)
    dimensions = ir.attributes.ints(inner, "broadcast_dimensions")
    shape = shape_of(source)
    kept = [size == wide[d] for size, d in zip(shape, dimensions, strict=True)]
    begin = [starts[d] if keep else 0 for d, keep in zip(dimensions, kept, strict=True)]
    end = [
        limits[d] if keep else size for d, keep, size in zip(dimensions, kept, shape, strict=True)
    ]
    step = [strides[d] if keep else 1 for d, keep in zip(dimensions, kept, strict=True)]
    part = s.builder.slice(source, begin, end, step)
    return s.builder.broadcast_in_dim(part, shape_of(op.results[0]), dimensions)


@TABLE.rule("slice")
def slice_of_iota(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice that starts with the iota's first element and skips none is a smaller iota."""
    inner = s.producer(op.operands[0], "hlo.iota")
    if inner is None:
        return None
    along = ir.attributes.integer(inner, "iota_dimension")
    starts, _, strides = _bounds(op)
    if starts[along] != 0 or strides[along] != 1:
        return None
    return s.builder.iota(shape_of(op.results[0]), element_of(op.results[0]), along)


@TABLE.rule("slice")
def slice_of_concatenate(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Operands that the slice does not reach go; one that holds all of it is sliced itself."""
    inner = s.producer(op.operands[0], "hlo.concatenate")
    if inner is None:
        return None
    along = ir.attributes.integer(inner, "dimension")
    starts, limits, strides = (list(x) for x in _bounds(op))
    offset, reached = 0, list[ir.Value]()
    first = 0
    for operand in inner.operands:
        size = shape_of(operand)[along]
        if offset < limits[along] and offset + size > starts[along]:
            if not reached:
                first = offset
            reached.append(operand)
        offset += size
    if not reached or len(reached) == len(inner.operands):
        return None
    starts[along] -= first
    limits[along] -= first
    whole = s.builder.concatenate(reached, along)
    return s.builder.slice(whole, starts, limits, strides)


@TABLE.rule("slice")
def slice_of_pad(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice of elements that the pad did not add is a slice of the operand. Needs no interior
    padding in the dimensions that are sliced.
    """
    inner = s.producer(op.operands[0], "hlo.pad")
    if inner is None or any(ir.attributes.ints(inner, "interior_padding")):
        return None
    low = ir.attributes.ints(inner, "edge_padding_low")
    starts, limits, strides = _bounds(op)
    shape = shape_of(inner.operands[0])
    begin = [a - b for a, b in zip(starts, low, strict=True)]
    end = [a - b for a, b in zip(limits, low, strict=True)]
    if any(b < 0 or e > size or e <= b for b, e, size in zip(begin, end, shape, strict=True)):
        return None
    return s.builder.slice(inner.operands[0], begin, end, strides)


@TABLE.rule("slice")
def slice_of_padding(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice that holds nothing but what a pad put there is the padding value everywhere. Needs
    no padding between elements along the dimension that tells.
    """
    inner = s.producer(op.operands[0], "hlo.pad")
    if inner is None or 0 in shape_of(op.results[0]):
        return None
    low = ir.attributes.ints(inner, "edge_padding_low")
    gaps = ir.attributes.ints(inner, "interior_padding")
    starts, limits, _ = _bounds(op)
    for d, size in enumerate(shape_of(inner.operands[0])):
        if not gaps[d] and (limits[d] <= low[d] or starts[d] >= low[d] + size):
            return s.builder.splat(inner.operands[1], shape_of(op.results[0]))
    return None


@TABLE.rule("slice")
def slice_of_unit_reshape(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A slice moves in front of a reshape that only adds and removes dimensions of size 1."""
    inner = s.producer(op.operands[0], "hlo.reshape")
    if inner is None:
        return None
    source = inner.operands[0]
    positions = kept_dimensions(shape_of(source), shape_of(op.operands[0]))
    if positions is None or 0 in shape_of(op.results[0]):
        return None
    starts, limits, strides = _bounds(op)
    begin = [starts[p] if p >= 0 else 0 for p in positions]
    end = [limits[p] if p >= 0 else 1 for p in positions]
    step = [strides[p] if p >= 0 else 1 for p in positions]
    part = s.builder.slice(source, begin, end, step)
    return s.builder.reshape(part, shape_of(op.results[0]))


# ---- concatenate ----
@TABLE.rule("concatenate")
def concatenate_less(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Operands without elements go, those that are concatenations along the same dimension are
    opened, and neighbouring slices of one value are one slice. A single operand is the result.
    """
    along = ir.attributes.integer(op, "dimension")
    operands = list(op.operands)
    kept: list[ir.Value] = []
    for operand in operands:
        inner = s.producer(operand, "hlo.concatenate")
        if inner is not None and _opens(inner, along, len(kept)):
            kept += inner.operands
        elif shape_of(operand)[along] != 0:
            kept.append(operand)
    if not kept:
        return operands[0]
    if len(kept) == 1:
        return kept[0]
    joined = _join_slices(kept, along, s)
    if joined == operands:
        return None
    return s.builder.concatenate(joined, along)


def _opens(inner: ir.Operation, along: int, count: int) -> bool:
    """Whether a concatenation's operands may stand in for it. There is a limit, so that a chain of
    concatenations does not take a quadratic number of operands.
    """
    if count + len(inner.operands) > _MOST_OPERANDS:
        return False
    return ir.attributes.integer(inner, "dimension") == along


def _join_slices(operands: Sequence[ir.Value], along: int, s: Simplifier) -> list[ir.Value]:
    joined: list[ir.Value] = []
    for operand in operands:
        merged = _next_slice(joined[-1], operand, along, s) if joined else None
        if merged is None:
            joined.append(operand)
        else:
            joined[-1] = merged
    return joined


def _next_slice(first: ir.Value, second: ir.Value, along: int, s: Simplifier) -> ir.Value | None:
    left, right = s.producer(first, "hlo.slice"), s.producer(second, "hlo.slice")
    if left is None or right is None or left.operands[0] != right.operands[0]:
        return None
    (a, b, c), (d, e, f) = _bounds(left), _bounds(right)
    same = all(i == along or (a[i], b[i], c[i]) == (d[i], e[i], f[i]) for i in range(len(a)))
    if not same or c[along] != 1 or f[along] != 1 or b[along] != d[along]:
        return None
    limits = [e[i] if i == along else b[i] for i in range(len(a))]
    return s.builder.slice(left.operands[0], a, limits, c)


@TABLE.rule("concatenate")
def concatenate_of_one(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Copies of one value one after another are its broadcast: stacks, tiles.

    Not where a dynamic slice begins anywhere in them, as a roll does by a number that is data: what
    it takes has one border, if that of two copies, which vectors find more easily than a remainder.
    """
    along = ir.attributes.integer(op, "dimension")
    first, *others = op.operands
    if not others or any(value != first for value in others):
        return None
    if any(_begins_anywhere(use.owner.operation, along) for use in op.results[0].uses):
        return None
    shape = shape_of(first)
    if 0 in shape:
        return None
    wide = [*shape[:along], len(others) + 1, *shape[along:]]
    placed = [d if d < along else d + 1 for d in range(len(shape))]
    return s.builder.reshape(
        s.builder.broadcast_in_dim(first, wide, placed), shape_of(op.results[0])
    )


def _begins_anywhere(op: ir.Operation, along: int) -> bool:
    """Whether an op slices a part of a dimension from where data says."""
    if op.name != "hlo.dynamic_slice":
        return False
    return shape_of(op.results[0])[along] != shape_of(op.operands[0])[along]


@TABLE.rule("concatenate")
def concatenate_with_splats(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A value between constants that repeat one number is padded with it.

    Needs all operands but one to be such constants, of the same bits.
    """
    along = ir.attributes.integer(op, "dimension")
    operands = list(op.operands)
    numbers = [s.splat(value) for value in operands]
    (at, *more) = [i for i, number in enumerate(numbers) if number is None] or [-1]
    if more or at < 0 or len(operands) == 1:
        return None
    bits = {number.tobytes() for number in numbers if number is not None}
    if len(bits) != 1:
        return None
    sizes = [shape_of(value)[along] for value in operands]
    rank = len(shape_of(op.results[0]))
    low, high = [0] * rank, [0] * rank
    low[along], high[along] = sum(sizes[:at]), sum(sizes[at + 1 :])
    element = element_of(op.results[0])
    number = next(number for number in numbers if number is not None)
    array = np.asarray(number, ir.types.to_dtype(element))
    value = s.builder.constant_array(array, element)
    return s.builder.pad(operands[at], value, low, high, [0] * rank)


# ---- pad ----
@TABLE.rule("pad")
def pad_of_pad(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Edges around edges of the same number are one. Needs nothing between elements, and an inner
    pad that takes nothing away.
    """
    inner = s.producer(op.operands[0], "hlo.pad")
    if inner is None:
        return None
    value, own = s.splat(op.operands[1]), s.splat(inner.operands[1])
    if value is None or own is None or value.tobytes() != own.tobytes():
        return None
    edges: list[list[int]] = []
    for name in ("edge_padding_low", "edge_padding_high"):
        within = ir.attributes.ints(inner, name)
        if min(within, default=0) < 0:
            return None
        edges.append([a + b for a, b in zip(within, ir.attributes.ints(op, name), strict=True)])
    gaps = [ir.attributes.ints(each, "interior_padding") for each in (op, inner)]
    if any(map(any, gaps)):
        return None
    return s.builder.pad(inner.operands[0], op.operands[1], edges[0], edges[1], gaps[0])


@TABLE.rule("pad")
def pad_with_nothing(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """A pad that adds nothing is its operand; one that only removes is a slice; one of an operand
    without elements is its padding value everywhere; one of a splat with the same number is a
    splat.
    """
    operand, value = op.operands
    low = ir.attributes.ints(op, "edge_padding_low")
    high = ir.attributes.ints(op, "edge_padding_high")
    interior = ir.attributes.ints(op, "interior_padding")
    shape = shape_of(operand)
    if 0 in shape:
        return s.builder.splat(value, shape_of(op.results[0]))
    grows = any(gap and size > 1 for gap, size in zip(interior, shape, strict=True))
    if not grows and all(x <= 0 for x in (*low, *high)):
        starts = [-x for x in low]
        limits = [size + x for size, x in zip(shape, high, strict=True)]
        if any(b > e for b, e in zip(starts, limits, strict=True)):
            return None
        return s.builder.slice(operand, starts, limits)
    number, padding = s.splat(operand), s.splat(value)
    if number is None or padding is None or number.tobytes() != padding.tobytes():
        return None
    return s.splat_of(number, op.results[0])


# ---- reverse ----
@TABLE.rule("reverse")
def reverse_of_reverse(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Dimensions of size 1 need no reversal, and those reversed twice none either."""
    operand = op.operands[0]
    dimensions = ir.attributes.ints(op, "dimensions")
    shape = shape_of(operand)
    wanted = {d for d in dimensions if shape[d] > 1}
    inner = s.producer(operand, "hlo.reverse")
    if inner is None and len(wanted) == len(dimensions) and wanted:
        return None
    if inner is not None:
        operand = inner.operands[0]
        wanted ^= set(ir.attributes.ints(inner, "dimensions"))
    if not wanted:
        return operand
    attributes = {"dimensions": s.builder.integers(sorted(wanted))}
    return s.builder.one("reverse", [operand], operand.type, attributes)


@TABLE.rule("reverse")
def reverse_of_broadcast(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Repeated elements are the same in reverse order. Needs to reverse only such dimensions."""
    inner = s.producer(op.operands[0], "hlo.broadcast_in_dim")
    if inner is None:
        return op.operands[0] if s.splat(op.operands[0]) is not None else None
    shape = shape_of(inner.operands[0])
    placed = ir.attributes.ints(inner, "broadcast_dimensions")
    varying = {d for d, size in zip(placed, shape, strict=True) if size != 1}
    return None if varying & set(ir.attributes.ints(op, "dimensions")) else op.operands[0]
