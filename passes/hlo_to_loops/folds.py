"""Loops that fold many elements into one: the engine of reductions, dots and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind, element_type
from hlo.passes.hlo_to_loops.emitter import UNROLLED, Emitter, NotVectorizableError

ACCUMULATORS = 4
MOST_VECTORS = 12  # accumulators of all reductions of a loop, in vectors

Combine = Callable[[Sequence[Value], Sequence[Value]], list[Value]]
Element = Callable[[Sequence[Affine]], list[Value]]


@dataclass(frozen=True)
class Fold:
    """A fold of the elements at every point of a loop space.

    Attributes:
        extents: of the loops, outermost first.
        element: the values to fold in, at the loop indices.
        combine: (accumulators, values) -> accumulators, at the builder's current width.
        initial: accumulators before the first point, at the current width.
        identity: per accumulator, the constant that `combine` leaves alone; None where lanes may
            not be folded apart (an unknown reducer need not commute), or begin with elements.
        merge: (accumulators, accumulators) -> accumulators of elements in any order, where
            `combine` only takes them in order.
    """

    extents: tuple[int, ...]
    element: Element
    combine: Combine
    initial: tuple[Value, ...]
    identity: tuple[float | int | bool, ...] | None = None
    merge: Combine | None = None

    @property
    def in_any_order(self) -> Combine:
        """Combines accumulators of lanes that were folded apart."""
        return self.merge or self.combine


@dataclass(frozen=True)
class Part:
    """One of the reductions of a fold: its accumulators' types, and the rest as in `Fold`."""

    types: tuple[ElementType, ...]
    combine: Combine
    identity: tuple[float | int | bool, ...] | None = None
    merge: Combine | None = None


def joined(
    parts: Sequence[Part], *, extents: tuple[int, ...], element: Element, initial: tuple[Value, ...]
) -> Fold:
    """The fold that does several reductions at once; `element` and `initial` as for all of them."""
    if len(parts) == 1:
        (part,) = parts
        return Fold(extents, element, part.combine, initial, part.identity, part.merge)

    def each(functions: Sequence[Combine]) -> Combine:
        def combine(acc: Sequence[Value], new: Sequence[Value]) -> list[Value]:
            result: list[Value] = []
            for part, function in zip(parts, functions, strict=True):
                own = slice(len(result), len(result) + len(part.types))
                result += function(acc[own], new[own])
            return result

        return combine

    combine = each([part.combine for part in parts])
    identities = [part.identity for part in parts if part.identity is not None]
    if len(identities) == len(parts):
        identity = tuple(value for own in identities for value in own)
        return Fold(extents, element, combine, initial, identity)
    merges = [part.merge or part.combine for part in parts if part.identity or part.merge]
    return Fold(
        extents, element, combine, initial,
        merge=each(merges) if len(merges) == len(parts) else None,
    )  # fmt: skip


def fold(em: Emitter, work: Fold, unrolled: int = UNROLLED) -> list[Value]:
    """Emits the fold; in scalar code with `em.row_lanes`, lanes of the innermost loop apart.

    Args:
        unrolled: up to how many elements are folded without loops.
    """
    if math.prod(work.extents) == 0:
        return list(work.initial)
    with em.fold():
        return _fold(em, work, unrolled)


def _fold(em: Emitter, work: Fold, unrolled: int) -> list[Value]:
    if em.share_fold is not None and (done := em.share_fold(work)) is not None:
        return done
    inner = work.extents[-1] if work.extents else 1
    lanes = _lanes_for(em, work, inner)
    if lanes:
        try:
            return _fold_lanes(em, work, lanes)
        except NotVectorizableError:
            pass
    if math.prod(work.extents) <= unrolled:
        return _fold_unrolled(work)
    return nest(em, work.extents, work.initial, lambda i, acc: work.combine(acc, work.element(i)))


def _lanes_for(em: Emitter, work: Fold, inner: int) -> int:
    if em.b.lanes or not em.row_lanes or (work.identity is None and work.merge is None):
        return 0
    widest = max((v.type.part_type.bits for v in work.initial), default=32)
    lanes = em.row_lanes if widest <= 32 else em.row_lanes // 2
    while lanes > inner:
        lanes //= 2
    return lanes if lanes >= 4 else 0


def _fold_unrolled(work: Fold) -> list[Value]:
    accumulators = list(work.initial)
    for point in range(math.prod(work.extents)):
        indices: list[Affine] = []
        rest = point
        for extent in reversed(work.extents):
            rest, index = divmod(rest, extent)
            indices.append(Affine((), index))
        accumulators = work.combine(accumulators, work.element(indices[::-1]))
    return accumulators


def nest(
    em: Emitter,
    extents: Sequence[int],
    initial: Sequence[Value],
    body: Callable[[list[Affine], list[Value]], list[Value]],
    outer: Sequence[Affine] = (),
) -> list[Value]:
    """Nested loops carrying accumulators."""
    if not extents:
        return body(list(outer), list(initial))
    b = em.b
    types = [v.type for v in initial]
    parts = [p for v in initial for p in v.parts]
    if extents[0] == 1:
        return nest(em, extents[1:], initial, body, (*outer, Affine()))
    lanes = initial[0].lanes  # the accumulators may be vectors where the indices are scalars
    with b.width(lanes):
        carried = list(zip(parts, register_types(em, types), strict=True))
    with b.loop(b.index(0), b.index(extents[0]), b.index(1), carried) as loop:
        index = em.variable(loop.iv, extents[0])
        values = rebuild(types, loop.carried, lanes)
        done = nest(em, extents[1:], values, body, (*outer, index))
        loop.yielded = [p for v in done for p in v.parts]
    return rebuild(types, loop.results, lanes)


def _fold_lanes(em: Emitter, work: Fold, lanes: int) -> list[Value]:
    """Scalar accumulators, but the innermost loop folds `lanes` x ACCUMULATORS columns apart."""
    b, inner = em.b, work.extents[-1]
    width = len(work.initial)
    groups = ACCUMULATORS if inner >= 2 * ACCUMULATORS * lanes else 1
    while groups > 1 and groups * width > MOST_VECTORS:
        groups //= 2
    if work.identity is None:
        total = _fold_from_first(em, work, lanes, groups)
    else:
        with b.width(lanes):
            neutral = [
                elementwise.constant(b, v.type, c)
                for v, c in zip(work.initial, work.identity, strict=True)
            ]

        def row(outer: list[Affine], accumulators: list[Value]) -> list[Value]:
            return _fold_row(em, work, outer, accumulators, lanes, groups)

        total = nest(em, work.extents[:-1], neutral * groups, row)
    with b.width(lanes):
        while len(total) > width:
            half = len(total) // width // 2 * width
            pairs = [
                work.in_any_order(total[i : i + width], total[half + i : half + i + width])
                for i in range(0, half, width)
            ]
            total = [v for pair in pairs for v in pair]
    return work.combine(work.initial, across_lanes(em, total, lanes, work.in_any_order))


def _fold_from_first(em: Emitter, work: Fold, lanes: int, groups: int) -> list[Value]:
    """Accumulators of the only loop, begun with its first elements."""
    if any(extent != 1 for extent in work.extents[:-1]):
        raise NotVectorizableError("a fold without a neutral element has several loops")
    b, inner = em.b, work.extents[-1]
    outer = [Affine()] * (len(work.extents) - 1)
    first: list[Value] = []
    for g in range(groups):
        name = b.load(f"arith.addi {b.index(g * lanes)}, {b.index(0)} : index")
        lane = em.variable(name, inner)
        with em.vector(name, lanes):
            em.hoist_from_here()
            first += work.element([*outer, lane])
    return _fold_row(em, work, outer, first, lanes, groups, start=groups * lanes)


def _fold_row(
    em: Emitter, work: Fold, outer: list[Affine], accumulators: list[Value], lanes: int,
    groups: int, start: int = 0,
) -> list[Value]:  # fmt: skip
    """One run of the innermost loop: groups x lanes, then single vectors, then a masked rest."""
    b, inner = em.b, work.extents[-1]
    types = [v.type for v in work.initial]
    width = len(types)

    def step(iv: str, acc: list[Value], count: int) -> list[Value]:
        result = list(acc)
        if count > 1 and em.folds_widely:
            try:
                return together(iv, acc, count)
            except NotVectorizableError:
                em.folds_widely = False
        for g in range(count):
            name = iv
            if g:
                with b.width(0):
                    name = b.op(f"arith.addi {iv}, {b.index(g * lanes)} : index")
            lane = em.variable(name, inner)
            with em.vector(name, lanes):
                piece = slice(g * width, (g + 1) * width)
                result[piece] = work.combine(acc[piece], work.element([*outer, lane]))
        return result

    def together(iv: str, acc: list[Value], count: int) -> list[Value]:
        with em.vector(iv, count * lanes, wide=True):
            values = work.element([*outer, em.variable(iv, inner)])
        result: list[Value] = []
        with b.width(lanes):
            for g in range(count):
                part = [_lanes_of(em, v, count * lanes, g * lanes, lanes) for v in values]
                result += work.combine(acc[g * width : (g + 1) * width], part)
        return result

    for count in (groups, 1) if groups > 1 else (1,):
        block = count * lanes
        end = start + (inner - start) // block * block
        if end == start:
            continue
        with b.width(lanes):
            carried_types = register_types(em, [v.type for v in accumulators])
        carried = list(zip((p for v in accumulators for p in v.parts), carried_types, strict=True))
        with b.loop(b.index(start), b.index(end), b.index(block), carried) as loop:
            values = rebuild([v.type for v in accumulators], loop.carried, lanes)
            loop.yielded = [p for v in step(loop.iv, values, count) for p in v.parts]
        accumulators = rebuild([v.type for v in accumulators], loop.results, lanes)
        start = end
    if start < inner:
        accumulators = _fold_rest(em, work, outer, accumulators, lanes, start)
    return accumulators


def _fold_rest(
    em: Emitter, work: Fold, outer: list[Affine], accumulators: list[Value], lanes: int, start: int
) -> list[Value]:
    b, inner = em.b, work.extents[-1]
    width = len(work.initial)
    name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
    lane = em.variable(name, inner)
    mask = b.first_lanes(inner - start, lanes)
    with em.vector(name, lanes, mask):
        em.hoist_from_here()
        values = work.element([*outer, lane])
        live = Value(element_type("i1"), (mask,), lanes)
        if work.identity is None:
            done = work.combine(accumulators[:width], values)
            kept = [
                elementwise.select(b, live, new, old)
                for new, old in zip(done, accumulators[:width], strict=True)
            ]
            return [*kept, *accumulators[width:]]
        held = [
            elementwise.select(b, live, v, elementwise.constant(b, v.type, c))
            for v, c in zip(values, work.identity, strict=True)
        ]
        return [*work.combine(accumulators[:width], held), *accumulators[width:]]


def across_lanes(em: Emitter, values: Sequence[Value], lanes: int, combine: Combine) -> list[Value]:
    """Folds the lanes of vectors into scalars, by halves."""
    b = em.b
    current = list(values)
    while lanes > 1:
        half = lanes // 2
        with b.width(half if half > 1 else 0):
            halves = [[_lanes_of(em, v, lanes, at, half) for v in current] for at in (0, half)]
            current = combine(halves[0], halves[1])
        lanes = half
    return current


def _lanes_of(em: Emitter, value: Value, lanes: int, start: int, count: int) -> Value:
    b, register = em.b, value.type.register
    if count == 1:
        whole = f"vector<{lanes}x{register}>"
        parts = tuple(
            b.op(f"vector.extract {p}[{start}] : {register} from {whole}") for p in value.parts
        )
        return Value(value.type, parts, 0)
    with b.width(lanes):
        parts = tuple(b.part(p, register, start, count) for p in value.parts)
    return Value(value.type, parts, count)


def accumulator_type(op: str | None, kind: ElementType) -> ElementType:
    """Sums and products of floats narrower than f32 are accumulated in f32 and rounded once."""
    narrow = kind.is_float and kind.name not in ("f32", "f64")
    return element_type("f32") if narrow and op in ("add", "multiply") else kind


def identity_of(op: str, kind: ElementType) -> float | int | bool | None:
    """The neutral constant of `op` for a type; None if it has none or does not commute."""
    if kind.kind is Kind.BOOL:
        return {"add": False, "or": False, "maximum": False, "xor": False,
                "multiply": True, "and": True, "minimum": True}.get(op)  # fmt: skip
    if kind.is_complex:
        return {"add": -0.0, "multiply": 1.0}.get(op)
    if kind.is_float:
        return {"add": -0.0, "multiply": 1.0, "maximum": -math.inf, "minimum": math.inf}.get(op)
    low, high = (
        (-(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1)
        if kind.is_signed
        else (0, (1 << kind.bits) - 1)
    )
    return {"add": 0, "or": 0, "xor": 0, "multiply": 1, "and": high if not kind.is_signed else -1,
            "maximum": low, "minimum": high}.get(op)  # fmt: skip
