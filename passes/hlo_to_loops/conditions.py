"""Conditions on index expressions: known at compile time, the same in all lanes, or by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.index_values import index_value


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunction.

    Attributes:
        never: it is known not to hold.
        uniform: SSA i1 that all lanes share; None where that part is known to hold.
        varying: SSA i1 vector, lane by lane; None where that part is known to hold.
    """

    never: bool = False
    uniform: str | None = None
    varying: str | None = None

    @property
    def always(self) -> bool:
        return not self.never and self.uniform is None and self.varying is None


ALWAYS = Condition()
NEVER = Condition(never=True)


def both(em: Emitter, first: Condition, second: Condition) -> Condition:
    """The conjunction of two conditions."""
    if first.never or second.never:
        return NEVER
    b = em.b
    uniform = first.uniform or second.uniform
    if first.uniform and second.uniform:
        uniform = b.op(f"arith.andi {first.uniform}, {second.uniform} : i1")
    varying = first.varying or second.varying
    if first.varying and second.varying:
        varying = b.op(f"arith.andi {first.varying}, {second.varying} : {b.type_of('i1')}")
    return Condition(False, uniform, varying)


def at_least(em: Emitter, index: Affine, bound: int) -> Condition:
    """index >= bound."""
    return _compare(em, index, "sge", bound)


def less_than(em: Emitter, index: Affine, bound: int) -> Condition:
    """index < bound."""
    return _compare(em, index, "slt", bound)


def in_range(em: Emitter, index: Affine, size: int) -> Condition:
    """0 <= index < size."""
    return both(em, at_least(em, index, 0), less_than(em, index, size))


def _compare(em: Emitter, index: Affine, predicate: str, bound: int) -> Condition:
    low, high = index.bounds(em.extents)
    holds_low, holds_high = (
        (low >= bound, high >= bound) if predicate == "sge" else (low < bound, high < bound)
    )
    if holds_low and holds_high:
        return ALWAYS
    if not holds_low and not holds_high:
        return NEVER
    b = em.b
    if em.is_uniform(index):
        with b.width(0):
            return Condition(
                uniform=b.op(f"arith.cmpi {predicate}, {em.index(index)}, {b.index(bound)} : index")
            )
    if em.boundaries is not None and index.terms == ((em.lane, 1),):
        em.boundaries.add(bound - index.constant)
    lanes = index_value(em, index, element_type("i32"))
    limit = b.constant(bound, "i32")
    return Condition(
        varying=b.op(f"arith.cmpi {predicate}, {lanes.name}, {limit} : {b.type_of('i32')}")
    )


def is_zero(em: Emitter, index: Affine) -> Condition:
    """index == 0, for an index that all lanes share."""
    if index.bounds(em.extents) == (0, 0):
        return ALWAYS
    with em.b.width(0):
        return Condition(
            uniform=em.b.op(f"arith.cmpi eq, {em.index(index)}, {em.b.index(0)} : index")
        )


def guarded(
    em: Emitter,
    condition: Condition,
    types: Sequence[ElementType],
    then: Callable[[], Sequence[Value]],
    otherwise: Callable[[], Sequence[Value]],
) -> list[Value]:
    """`then()` where the condition holds, else `otherwise()`; `then` loads only where it holds."""
    if condition.never:
        return list(otherwise())
    if condition.always:
        return list(then())
    if condition.uniform is None:
        return _select_lanes(em, condition.varying, then, otherwise)
    b = em.b
    with b.choice(condition.uniform, register_types(em, types)) as choice:
        with choice.then():
            values = _select_lanes(em, condition.varying, then, otherwise)
            choice.yielded = [p for v in values for p in v.parts]
        with choice.otherwise():
            choice.yielded = [p for v in otherwise() for p in v.parts]
    return rebuild(types, choice.results, b.lanes)


def _select_lanes(
    em: Emitter,
    varying: str | None,
    then: Callable[[], Sequence[Value]],
    otherwise: Callable[[], Sequence[Value]],
) -> list[Value]:
    if varying is None:
        return list(then())
    with em.masked(varying):
        values = list(then())
    predicate = Value(element_type("i1"), (varying,), em.b.lanes)
    return [
        elementwise.select(em.b, predicate, v, o) for v, o in zip(values, otherwise(), strict=True)
    ]


def register_types(em: Emitter, types: Sequence[ElementType]) -> list[str]:
    """MLIR types, at the current width, of the SSA values that hold elements of `types`."""
    return [em.b.type_of(t.register) for t in types for _ in range(t.parts)]


def rebuild(types: Sequence[ElementType], names: Sequence[str], lanes: int) -> list[Value]:
    """Values of `types` made of SSA names, in order."""
    result: list[Value] = []
    at = 0
    for kind in types:
        result.append(Value(kind, tuple(names[at : at + kind.parts]), lanes))
        at += kind.parts
    return result
