"""reduce and reduce_window: one element of the result is a fold over elements of the operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.column_folds import ColumnBlock, fold_block, fold_neighbours
from hlo.passes.hlo_to_loops.conditions import ALWAYS, both, guarded
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elemental.interior_padding import unpadded
from hlo.passes.hlo_to_loops.emitter import Emitter, elemental
from hlo.passes.hlo_to_loops.extremum import extremum_of
from hlo.passes.hlo_to_loops.folds import (
    Combine,
    Fold,
    Part,
    accumulator_type,
    fold,
    identity_of,
    joined,
)
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, monoid_of
from hlo.passes.hlo_to_loops.kept_rows import KeptRows
from hlo.passes.hlo_to_loops.scalar_regions import apply


def reducer(em: Emitter, region: Region, op: str | None) -> Combine:
    """The combine function of a reducer region."""
    if op is not None and op in elementwise.EMITTERS:

        def combine_op(acc: Sequence[Value], new: Sequence[Value]) -> list[Value]:
            return [elementwise.EMITTERS[op](em.b, [acc[0], new[0]], acc[0].type, {})]

        return combine_op
    return lambda acc, new: apply(em, region, [*acc, *new])


@elemental("reduce")
def reduce(em: Emitter, node: Node, result: int, position: Position) -> Value:
    known = em.b.recall(_key(em, node, position))
    if known is None:
        nodes = em.joint.get(node, (node,))
        at = Position.of_offset(position.linear(node.results[0].shape))
        for needed in dict.fromkeys(n for each in nodes for n in em.earlier.get(each, ())):
            reduce(em, needed, 0, at)
        values = _reduce_neighbours(em, nodes, position) or _reduce(em, nodes, position)
        if em.columns is not None:
            em.columns.remember()
        known = _remember(em, nodes, position, values)[node]
    return known[result]


def _key(em: Emitter, node: Node, position: Position) -> tuple[object, ...]:
    return ("reduce", node, position.linear(node.results[0].shape), em.b.lanes, em.mask)


def _remember(
    em: Emitter, nodes: Sequence[Node], position: Position, values: Sequence[Value]
) -> dict[Node, list[Value]]:
    """Rounds what reductions of one loop have folded; later readers in the region find it."""
    found: dict[Node, list[Value]] = {}
    rest = list(values)
    for node in nodes:
        folded, rest = rest[: len(node.results)], rest[len(node.results) :]
        found[node] = [
            elementwise.convert(em.b, v, t.type) for v, t in zip(folded, node.results, strict=True)
        ]
        em.b.remember(_key(em, node, position), found[node])
    return found


def _reduce_neighbours(
    em: Emitter, nodes: Sequence[Node], position: Position
) -> list[Value] | None:
    """The fold at a position, together with those of the columns beside it; None if alone."""
    lane, b = em.lane, em.b
    if not b.lanes or lane is None or em.mask is not None:
        return None
    if em.block is not None:
        return _reduce_block(em, nodes, position, lane, em.block)
    if lane not in em.neighbours:
        return None
    places = [(name, position.renamed(lane, name)) for name in em.neighbours]
    columns = [(name, _fold_at(em, nodes, place)) for name, place in places]
    if math.prod(columns[0][1].extents) <= em.unrolled:
        return None
    found: list[Value] | None = None
    for (name, place), values in zip(places, fold_neighbours(em, columns), strict=True):
        if name == lane:
            found = values
        else:
            _remember(em, nodes, place, values)
    return found


def _reduce_block(
    em: Emitter, nodes: Sequence[Node], position: Position, lane: str, block: ColumnBlock
) -> list[Value] | None:
    indices = (position.offset,) if position.dims is None else position.dims
    names = {name for index in indices if index is not None for name, _ in index.terms} - {lane}
    visible = all(em.b.is_visible(name, block.level) for name in names)
    if not visible or not em.b.can_hoist_to(block.level):
        return None

    def fold_at(name: str) -> Fold:
        return _fold_at(em, nodes, position.renamed(lane, name))

    key = ("columns", nodes[0], position.renamed(lane, "lane"), block)
    return fold_block(em, block, key, fold_at)


def _reduce(em: Emitter, nodes: Sequence[Node], position: Position) -> list[Value]:
    rows = KeptRows(em, 0 if em.b.lanes else _row_extent(nodes[0]))
    values = fold(em, _fold_at(em, nodes, position, rows), em.unrolled)
    rows.remember()
    return values


def _row_extent(node: Node) -> int:
    """Elements that a reduction folds if they lie side by side; else 0."""
    shape = node.operands[0].shape
    reduced = [d for d in sorted(node.attributes["dimensions"]) if shape[d] != 1]
    wide = [d for d, size in enumerate(shape) if size != 1]
    if not reduced or wide[-len(reduced) :] != reduced:
        return 0
    return math.prod(shape[d] for d in reduced)


def _fold_at(
    em: Emitter, nodes: Sequence[Node], position: Position, rows: KeptRows | None = None
) -> Fold:
    """The fold of one or more reductions over operands of one shape."""
    inputs = [t for node in nodes for t in node.operands[: len(node.results)]]
    shape, reduced = inputs[0].shape, sorted(nodes[0].attributes["dimensions"])
    if position.dims is None:
        shape, reduced = _kept_together(shape, reduced)
    kept = em.dims(position, [size for d, size in enumerate(shape) if d not in reduced])
    trailing = 0  # reduced dimensions at the minor end, folded as one range
    while trailing < len(reduced) and reduced[-1 - trailing] == len(shape) - 1 - trailing:
        trailing += 1
    outer = reduced[: len(reduced) - trailing]
    minor = math.prod(shape[len(shape) - trailing :])
    cuts = {c for tensor in inputs for c in em.cuts(tensor) if c < minor}
    minor_extents = merge_cuts(cuts, minor) if trailing else []
    strides, minor_strides = suffix_products(shape), suffix_products(minor_extents)

    def at(indices: Sequence[Affine]) -> Position:
        dims = [ZERO] * len(shape)
        for d, index in zip((d for d in range(len(shape)) if d not in reduced), kept, strict=True):
            dims[d] = index
        for d, index in zip(outer, indices, strict=False):
            dims[d] = index
        low = ZERO
        for index, stride in zip(indices[len(outer) :], minor_strides, strict=True):
            low = low + index * stride
        offset = low
        for index, size, stride in zip(dims, shape, strides, strict=True):
            offset = offset + (index * stride if size != 1 else ZERO)
        exact = _exact_dims(em, low, shape[len(shape) - trailing :])
        if exact is None or shape != inputs[0].shape:
            return Position(None, offset)
        return Position((*dims[: len(shape) - trailing], *exact), offset)

    parts = [_part_of(em, node) for node in nodes]
    types = [kind for part in parts for kind in part.types]

    def element(indices: Sequence[Affine]) -> list[Value]:
        place = at(indices)
        values = [em.element(t, place) for t in inputs]
        if rows is not None:
            for tensor, value in zip(inputs, values, strict=True):
                rows.see(tensor, place, value)
        if em.columns is not None:
            for tensor, value in zip(inputs, values, strict=True):
                em.columns.see(tensor, place, value)
        return [_as(em, v, k) for v, k in zip(values, types, strict=True)]

    initials = [t for node in nodes for t in node.operands[len(node.results) :]]
    return joined(
        parts,
        extents=(*(shape[d] for d in outer), *minor_extents),
        element=element,
        initial=tuple(_initial(em, t, k) for t, k in zip(initials, types, strict=True)),
    )


def _kept_together(
    shape: tuple[int, ...], reduced: Sequence[int]
) -> tuple[tuple[int, ...], list[int]]:
    """A shape in which neighbouring dimensions that a reduction keeps are one; those it reduces."""
    sizes, places = list[int](), list[int]()
    for d, size in enumerate(shape):
        if d in reduced:
            places.append(len(sizes))
        elif d and d - 1 not in reduced:
            sizes[-1] *= size
            continue
        sizes.append(size)
    return tuple(sizes), places


def _part_of(em: Emitter, node: Node) -> Part:
    """How one reduction combines elements, and in what types."""
    region = node.regions[0]
    op = monoid_of(region) if len(node.results) == 1 else None
    types = tuple(accumulator_type(op, t.type) for t in node.results)
    if (extremum := extremum_of(node)) is not None:
        in_order, merge = partial(extremum.in_order, em), partial(extremum.merge, em)
        return Part(types, in_order, None, merge)
    identity = None if op is None else identity_of(op, types[0])
    return Part(types, reducer(em, region, op), None if identity is None else (identity,))


def _exact_dims(em: Emitter, offset: Affine, shape: Sequence[int]) -> tuple[Affine, ...] | None:
    """Dimensions of an offset where they are affine; emits nothing."""
    rest, dims = offset, list[Affine]()
    for stride in suffix_products(shape):
        split = rest.divmod(stride, em.extents)
        if split is None:
            return None
        dims.append(split[0])
        rest = split[1]
    return tuple(dims)


def _as(em: Emitter, value: Value, kind: ElementType) -> Value:
    return value if value.type == kind else elementwise.convert(em.b, value, kind)


def _initial(em: Emitter, tensor: Tensor, kind: ElementType) -> Value:
    return _as(em, em.element(tensor, Position.of_dims(())), kind)


@elemental("reduce_window")
def reduce_window(em: Emitter, node: Node, result: int, position: Position) -> Value:
    key = ("reduce_window", node, position, em.b.lanes, em.mask)
    known = em.b.recall(key)
    if known is None:
        known = _reduce_window(em, node, position)
        em.b.remember(key, known)
    return known[result]


def _reduce_window(em: Emitter, node: Node, position: Position) -> list[Value]:
    count = len(node.operands) // 2
    inputs, initials = node.operands[:count], node.operands[count:]
    shape, attributes = inputs[0].shape, node.attributes
    rank = len(shape)
    ones = (1,) * rank
    window = attributes["window_dimensions"]
    strides = attributes.get("window_strides") or ones
    gaps = attributes.get("base_dilations") or ones
    spread = attributes.get("window_dilations") or ones
    padding = padding_pairs(attributes.get("padding"), rank)
    dims = em.dims(position, node.results[0].shape)
    loops = [d for d in range(rank) if window[d] != 1]
    op = monoid_of(node.regions[0]) if count == 1 else None
    types = [accumulator_type(op, t.type) for t in node.results]
    identity = None if op is None else identity_of(op, types[0])
    start = [_initial(em, t, k) for t, k in zip(initials, types, strict=True)]

    def element(indices: Sequence[Affine]) -> list[Value]:
        inside, source = ALWAYS, list[Affine]()
        within = dict(zip(loops, indices, strict=True))
        for d in range(rank):
            index = dims[d] * strides[d] + within.get(d, ZERO) * spread[d] + -padding[d][0]
            held, index = unpadded(em, index, shape[d], gaps[d])
            inside = both(em, inside, held)
            source.append(index)

        def load() -> list[Value]:
            at = Position.of_dims(
                [em.bounded(i, size) for i, size in zip(source, shape, strict=True)]
            )
            return [_as(em, em.element(t, at), k) for t, k in zip(inputs, types, strict=True)]

        return guarded(
            em,
            inside,
            types,
            load,
            lambda: [_initial(em, t, k) for t, k in zip(initials, types, strict=True)],
        )

    work = Fold(
        extents=tuple(window[d] for d in loops),
        element=element,
        combine=reducer(em, node.regions[0], op),
        initial=tuple(start),
        identity=None if identity is None else (identity,),
    )
    values = fold(em, work)
    return [elementwise.convert(em.b, v, t.type) for v, t in zip(values, node.results, strict=True)]


def padding_pairs(value: Any, rank: int) -> list[tuple[int, int]]:
    """A `padding` attribute (rank x 2, or flat) as (low, high) pairs; zeros when absent."""
    if value is None:
        return [(0, 0)] * rank
    pairs: list[tuple[int, int]] = []
    rows = list(value) if isinstance(value, (list, tuple)) else [value] * (2 * rank)
    if rows and not isinstance(rows[0], (list, tuple)):
        rows = [rows[i : i + 2] for i in range(0, len(rows), 2)]
    for row in rows:
        low, high = row
        pairs.append((int(low), int(high)))
    return pairs
