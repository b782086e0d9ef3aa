"""Ops that only move elements: where each element of the result comes from."""

from __future__ import annotations

import math
from collections.abc import Callable

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import (
    Condition,
    guarded,
    less_than,
)
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.emitter import Emitter, elemental
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.index_values import index_value


@elemental("broadcast_in_dim")
def broadcast_in_dim(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand = node.operands[0]
    if operand.size == 1:
        return em.element(operand, Position.of_dims((ZERO,) * operand.rank))
    if position.dims is None:
        inner = _as_one_range(em, node, position)
        return em.element(operand, _by_runs(em, node, position) if inner is None else inner)
    source = [
        ZERO if size == 1 else position.dims[d]
        for size, d in zip(operand.shape, node.attributes["broadcast_dimensions"], strict=True)
    ]
    return em.element(operand, Position.of_dims(source))


def _by_runs(em: Emitter, node: Node, position: Position) -> Position:
    """Where an operand is read, dimensions that stay neighbours taken as one, so that none is
    divided in vain: what a vector of lanes goes along is then seen to be one range.
    """
    operand, shape = node.operands[0], node.results[0].shape
    source = {
        d: k for k, d in enumerate(node.attributes["broadcast_dimensions"]) if operand.shape[k] != 1
    }
    runs: list[list[int]] = []
    before: int | None = None  # the operand's dimension ahead of this one, -1 of what is spread
    for d in (d for d, size in enumerate(shape) if size != 1):
        k = source.get(d, -1)
        between = operand.shape[before + 1 : k] if before is not None and before >= 0 else ()
        follows = before is not None and (
            k == before == -1 or (k > before >= 0 and all(size == 1 for size in between))
        )
        if follows:
            runs[-1].append(d)
        else:
            runs.append([d])
        before = k
    sizes = [math.prod(shape[d] for d in run) for run in runs]
    offset, strides = ZERO, suffix_products(operand.shape)
    for index, run in zip(em.dims(position, sizes), runs, strict=True):
        if run[-1] in source:
            offset = offset + index * strides[source[run[-1]]]
    return Position.of_offset(offset)


def _as_one_range(em: Emitter, node: Node, position: Position) -> Position | None:
    """Where an operand whose dimensions are adjacent in the result is read, as one range."""
    operand, shape = node.operands[0], node.results[0].shape
    dims = node.attributes["broadcast_dimensions"]
    wide = [d for d, size in zip(dims, operand.shape, strict=True) if size != 1]
    between = [d for d in range(wide[0], wide[-1] + 1) if shape[d] != 1]
    if between != wide or any(shape[d] != operand.shape[dims.index(d)] for d in wide):
        return None
    assert position.offset is not None
    inner = math.prod(shape[wide[-1] + 1 :])
    split = position.offset.divmod(inner, em.extents)
    if split is None:
        return None
    if math.prod(shape[: wide[0]]) == 1:
        return Position.of_offset(split[0])
    range_ = split[0].divmod(operand.size, em.extents)
    return None if range_ is None else Position.of_offset(range_[1])


@elemental("reshape", "copy", "optimization_barrier")
def reshape(em: Emitter, node: Node, result: int, position: Position) -> Value:
    operand, shape = node.operands[result], node.results[result].shape
    if operand.shape == shape:
        return em.element(operand, position)
    return em.element(operand, Position.of_offset(position.linear(shape)))


@elemental("transpose")
def transpose(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand, permutation = node.operands[0], node.attributes["permutation"]
    if position.dims is not None:
        source = [ZERO] * len(permutation)
        for index, d in zip(position.dims, permutation, strict=True):
            source[d] = index
        return em.element(operand, Position.of_dims(source))
    # Neighbours that stay neighbours move as one dimension, so that none is divided in vain.
    runs: list[list[int]] = []
    for d in permutation:
        if runs and runs[-1][-1] + 1 == d:
            runs[-1].append(d)
        else:
            runs.append([d])
    sizes = [math.prod(operand.shape[d] for d in run) for run in runs]
    offset, strides = ZERO, suffix_products(operand.shape)
    for index, run in zip(em.dims(position, sizes), runs, strict=True):
        offset = offset + index * strides[run[-1]]
    return em.element(operand, Position.of_offset(offset))


@elemental("slice")
def slice_(em: Emitter, node: Node, _: int, position: Position) -> Value:
    dims = em.dims(position, node.results[0].shape)
    starts, strides = node.attributes["start_indices"], node.attributes["strides"]
    source = [i * step + start for i, start, step in zip(dims, starts, strides, strict=True)]
    return em.element(node.operands[0], Position.of_dims(source))


@elemental("reverse")
def reverse(em: Emitter, node: Node, _: int, position: Position) -> Value:
    shape = node.results[0].shape
    source = list(em.dims(position, shape))
    for d in node.attributes["dimensions"]:
        source[d] = source[d] * -1 + (shape[d] - 1)
    return em.element(node.operands[0], Position.of_dims(source))


@elemental("iota")
def iota(em: Emitter, node: Node, _: int, position: Position) -> Value:
    tensor = node.results[0]
    return index_value(
        em, em.dims(position, tensor.shape)[node.attributes["iota_dimension"]], tensor.type
    )


@elemental("concatenate")
def concatenate(em: Emitter, node: Node, _: int, position: Position) -> Value:
    axis = node.attributes["dimension"]
    dims = em.dims(position, node.results[0].shape)
    index = dims[axis]
    low, high = index.bounds(em.extents)
    pieces: list[
        tuple[int, int]
    ] = []  # (operand, where it starts) of the operands that can be reached
    start = 0
    for k, operand in enumerate(node.operands):
        end = start + operand.shape[axis]
        if operand.shape[axis] and start <= high and end > low:
            pieces.append((k, start))
        start = end

    def piece(first: int, last: int) -> Value:
        """The element, of an operand of pieces [first, last): halves are told apart, so that
        conditions nest no deeper than the logarithm of their number.
        """
        if last - first == 1:
            k, start = pieces[first]
            source = list(dims)
            source[axis] = em.bounded(index + -start, node.operands[k].shape[axis])
            return em.element(node.operands[k], Position.of_dims(source))
        middle = (first + last) // 2
        condition = less_than(em, index, pieces[middle][1])
        return guarded(
            em, condition, [node.results[0].type],
            lambda: [piece(first, middle)],
            lambda: _masked_out(em, condition, lambda: piece(middle, last)),
        )[0]  # fmt: skip

    return piece(0, len(pieces))


def _masked_out(em: Emitter, condition: Condition, emit: Callable[[], Value]) -> list[Value]:
    """Emits where a lane-by-lane condition does not hold: nothing out of range is loaded."""
    if condition.varying is None:
        return [emit()]
    inverse = em.b.op(
        f"arith.xori {condition.varying}, {em.b.constant(True, 'i1')} : {em.b.type_of('i1')}"
    )
    with em.masked(inverse):
        return [emit()]


@elemental("bitcast_convert")
def bitcast_convert(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand, result = node.operands[0], node.results[0]
    if operand.rank == result.rank:
        value = em.element(operand, position)
        return elementwise.EMITTERS["bitcast_convert"](em.b, [value], result.type, node.attributes)
    dims = em.dims(position, result.shape)
    if operand.rank > result.rank:
        return _join_bits(em, node, dims)
    return _split_bits(em, node, dims)


def _bits_type(bits: int) -> str:
    return f"ui{bits}" if bits > 1 else "i1"


def _bits_of(em: Emitter, value: Value, bits: int) -> Value:
    """The bit pattern of a value, as an unsigned integer of its width."""
    return elementwise.EMITTERS["bitcast_convert"](
        em.b, [value], element_type(_bits_type(bits)), {}
    )


def _join_bits(em: Emitter, node: Node, dims: tuple[Affine, ...]) -> Value:
    """Narrow elements of a minor dimension make one wide element, the first its low bits."""
    operand, result = node.operands[0], node.results[0]
    parts = [
        em.element(operand, Position.of_dims((*dims, Affine((), k))))
        for k in range(operand.shape[-1])
    ]
    if not result.type.is_complex:
        return _joined(em, parts, result.type)
    halves = [_joined(em, _halves(part), result.type.part_type) for part in parts]
    return Value(result.type, (halves[0].name, halves[1].name), em.b.lanes)


def _halves(value: Value) -> list[Value]:
    """The real and the imaginary part."""
    return [Value(value.type.part_type, (part,), value.lanes) for part in value.parts]


def _joined(em: Emitter, parts: list[Value], to: ElementType) -> Value:
    narrow, wide, b = parts[0].type.bits, element_type(_bits_type(to.bits)), em.b
    total: Value | None = None
    for k, part in enumerate(parts):
        widened = elementwise.convert(b, _bits_of(em, part, narrow), wide)
        if k:
            amount = elementwise.constant(b, wide, k * narrow)
            widened = elementwise.EMITTERS["shift_left"](b, [widened, amount], wide, {})
        if total is not None:
            widened = elementwise.EMITTERS["or"](b, [total, widened], wide, {})
        total = widened
    assert total is not None
    return elementwise.EMITTERS["bitcast_convert"](b, [total], to, {})


def _split_bits(em: Emitter, node: Node, dims: tuple[Affine, ...]) -> Value:
    """One wide element gives narrow ones along a new minor dimension, its low bits the first."""
    operand, result = node.operands[0], node.results[0]
    b, value = em.b, em.element(operand, Position.of_dims(dims[:-1]))
    if not result.type.is_complex:
        position = index_value(em, dims[-1], element_type(_bits_type(operand.type.bits)))
        return _part(em, value, position, result.type)
    position = index_value(em, dims[-1], element_type(_bits_type(operand.type.part_type.bits)))
    zero = elementwise.constant(b, position.type, 0)
    first = elementwise.EMITTERS["compare"](
        b, [position, zero], element_type("i1"), {"comparison_direction": "EQ"}
    )
    half = elementwise.EMITTERS["select"](b, [first, *_halves(value)], operand.type.part_type, {})
    to = result.type.part_type
    parts = [_part(em, half, elementwise.constant(b, position.type, k), to) for k in range(2)]
    return Value(result.type, (parts[0].name, parts[1].name), b.lanes)


def _part(em: Emitter, value: Value, position: Value, to: ElementType) -> Value:
    """Bits `position * width` and up of a value, as an element of type `to`."""
    b, wide, narrow = em.b, position.type, to.bits
    width = elementwise.constant(b, wide, narrow)
    amount = elementwise.EMITTERS["multiply"](b, [position, width], wide, {})
    pattern = _bits_of(em, value, value.type.bits)
    shifted = elementwise.EMITTERS["shift_right_logical"](b, [pattern, amount], wide, {})
    if narrow == 1:
        one = elementwise.constant(b, wide, 1)
        shifted = elementwise.EMITTERS["and"](b, [shifted, one], wide, {})
    low = elementwise.convert(b, shifted, element_type(_bits_type(narrow)))
    return elementwise.EMITTERS["bitcast_convert"](b, [low], to, {})
