"""`pad`: where in its operand an element of the result lies, also where gaps are between lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import (
    ALWAYS,
    Condition,
    both,
    guarded,
    in_range,
    is_zero,
)
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError, elemental
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.index_values import index_value


@elemental("pad")
def pad(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand, filler = node.operands
    attributes = node.attributes
    dims = em.dims(position, node.results[0].shape)
    condition, source, spread = ALWAYS, list[Affine](), list[_Spread]()
    for i, size, low, gap in zip(
        dims,
        operand.shape,
        attributes["edge_padding_low"],
        attributes["interior_padding"],
        strict=True,
    ):
        if _alternates(em, i + -low, size, gap + 1):
            held, found = _along_lanes(em, i + -low, size, gap + 1)
            spread.append(found)
            index = found.source
        else:
            held, index = unpadded(em, i + -low, size, gap + 1)
        condition = both(em, condition, held)
        source.append(index)

    def inside() -> list[Value]:
        named = [em.bounded(i, size) for i, size in zip(source, operand.shape, strict=True)]
        return [em.element(operand, Position.of_dims(named))]

    def then() -> list[Value]:
        return spread[0].lanes(em, inside) if spread else inside()

    return guarded(
        em, condition, [operand.type], then, lambda: [em.element(filler, Position.of_dims(()))]
    )[0]


def unpadded(em: Emitter, index: Affine, size: int, step: int) -> tuple[Condition, Affine]:
    """Where `index` falls among `size` elements laid `step` apart, and whether it hits one."""
    if size == 0:
        return Condition(never=True), ZERO
    held = in_range(em, index, (size - 1) * step + 1)
    if step == 1 or held.never:
        return held, index
    if (exact := index.divmod(step, em.extents)) is not None:
        quotient, remainder = exact
    else:
        if not em.is_uniform(index):
            raise NotVectorizableError("interior padding along the lanes")
        b = em.b
        with b.width(0):
            name, by = em.index(index), b.index(step)
            quotient_name = b.op(f"arith.floordivsi {name}, {by} : index")
            remainder_name = b.op(
                f"arith.subi {name}, {b.op(f'arith.muli {quotient_name}, {by} : index')} : index"
            )
        # Out of range the quotient is anything; it is used only where the condition holds.
        quotient, remainder = (
            em.name_index(quotient_name, size),
            em.name_index(remainder_name, step),
        )
        if size == 1:
            quotient = ZERO
    return both(em, held, is_zero(em, remainder)), quotient


@dataclass(frozen=True)
class _Spread:
    """Neighbouring elements in every `step`th lane.

    Attributes:
        source: that of the first lane with an element, along the dimension; a lane variable.
        first: SSA index of that lane, below `step`.
        size: elements there are.
        reaches_before: whether `source` may be below 0, where there is no element.
    """

    source: Affine
    first: str
    step: int
    size: int
    reaches_before: bool

    def lanes(self, em: Emitter, load: Callable[[], Sequence[Value]]) -> list[Value]:
        """What `load` gives of elements side by side, moved to their lanes; others are anything."""
        if not self.source.terms:  # a single element, which all lanes may have
            return list(load())
        ((name, _),) = self.source.terms
        with em.vector(name, em.b.lanes, self._present(em, name), level=em.lane_level):
            values = list(load())
        return [self._moved(em, value) for value in values]

    def _present(self, em: Emitter, name: str) -> str:
        """Which of as many elements as lanes, from the first one on, exist and are used."""
        b, lanes = em.b, em.b.lanes
        with b.width(0):
            left = b.op(f"arith.subi {b.index(self.size)}, {name} : index")
            used = b.index(-(-lanes // self.step))
            mask = b.lanes_below(b.op(f"arith.minsi {left}, {used} : index"), lanes)
        if not self.reaches_before:
            return mask
        with b.width(0):
            missing = b.op(f"arith.subi {b.index(0)}, {name} : index")
        before = b.lanes_below(missing, lanes)
        bits = b.type_of("i1")
        inverse = b.op(f"arith.xori {before}, {b.constant(True, 'i1')} : {bits}")
        return b.op(f"arith.andi {mask}, {inverse} : {bits}")

    def _moved(self, em: Emitter, value: Value) -> Value:
        parts: list[str] = []
        b, scalar = em.b, value.type.register
        kind = b.type_of(scalar)
        for part in value.parts:
            moved: str | None = None
            for first in range(self.step):
                order = [max(lane - first, 0) // self.step for lane in range(b.lanes)]
                name = b.op(f"vector.shuffle {part}, {part} {order} : {kind}, {kind}")
                if moved is None:
                    moved = name
                    continue
                with b.width(0):
                    here = b.op(f"arith.cmpi eq, {self.first}, {b.index(first)} : index")
                moved = b.op(f"arith.select {here}, {name}, {moved} : {kind}")
            assert moved is not None
            parts.append(moved)
        return Value(value.type, tuple(parts), b.lanes)


MOST_STEPS = 4  # shuffles of a vector, of which one is taken
LARGEST_INDEX = 1 << 31  # of lanes, which divide in 32 bits


def _alternates(em: Emitter, index: Affine, size: int, step: int) -> bool:
    """Whether lanes with elements and lanes between them take turns in a way `_Spread` knows."""
    return (
        1 < step <= MOST_STEPS
        and size > 0
        and em.lane is not None
        and em.b.lanes >= step
        and not em.is_wide
        and index.coefficient(em.lane) == 1
        and index.bounds(em.extents)[1] < LARGEST_INDEX
        and index.divmod(step, em.extents) is None
    )


def _along_lanes(em: Emitter, index: Affine, size: int, step: int) -> tuple[Condition, _Spread]:
    """As `unpadded`, of an index that the lanes go along."""
    b, (low, _) = em.b, index.bounds(em.extents)
    held = in_range(em, index, (size - 1) * step + 1)
    # Not negative, so that the rest is that of any integer.
    shift = max(0, -(low // step) * step)
    numbers = index_value(em, index + shift, element_type("i32"))
    kind = b.type_of("i32")
    rest = b.op(f"arith.remui {numbers.name}, {b.constant(step, 'i32')} : {kind}")
    hit = b.op(f"arith.cmpi eq, {rest}, {b.constant(0, 'i32')} : {kind}")
    with b.width(0):
        name, by = em.index(index + shift), b.index(step)
        above = b.op(f"arith.addi {name}, {b.index(step - 1)} : index")
        quotient = b.op(f"arith.divui {above}, {by} : index")
        product = b.op(f"arith.muli {quotient}, {by} : index")
        first = b.op(f"arith.subi {product}, {name} : index")
        source = quotient
        if shift:
            source = b.op(f"arith.subi {quotient}, {b.index(shift // step)} : index")
    at = em.name_index(source, size)
    condition = both(em, held, Condition(varying=hit))
    return condition, _Spread(at, first, step, size, -(-low // step) < 0)
