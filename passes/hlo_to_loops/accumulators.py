"""Loops that carry vectors of sums in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter

# (indices in the contracted space, accumulators) -> accumulators.
Step = Callable[[Sequence[Affine], list[Value]], list[Value]]


@dataclass(frozen=True)
class Accumulators:
    """Vectors of `lanes` elements of `kind`, passed on from step to step."""

    em: Emitter
    kind: ElementType
    lanes: int

    @property
    def vector_type(self) -> str:
        return f"vector<{self.lanes}x{self.kind.register}>"

    def zeros(self, count: int) -> list[Value]:
        """As many sums of nothing."""
        with self.em.b.width(self.lanes):
            return [elementwise.constant(self.em.b, self.kind, 0)] * count

    def multiply_add(self, left: Value, right: Value, total: Value) -> Value:
        """total + left * right, rounded once."""
        b = self.em.b
        with b.width(self.lanes):
            left, right = (elementwise.convert(b, x, self.kind) for x in (left, right))
        text = f"math.fma {left.name}, {right.name}, {total.name} : {self.vector_type}"
        return Value(self.kind, (b.op(text),), self.lanes)

    def add(self, one: Value, other: Value) -> Value:
        """Their sum."""
        name = self.em.b.op(f"arith.addf {one.name}, {other.name} : {self.vector_type}")
        return Value(self.kind, (name,), self.lanes)

    def nest(
        self, extents: Sequence[int], acc: list[Value], step: Step, outer: Sequence[Affine] = ()
    ) -> list[Value]:
        """Takes a step at every index of a space, `outer` being the indices around it."""
        if not extents:
            return step(outer, acc)

        def inner(index: Affine, acc: list[Value]) -> list[Value]:
            return self.nest(extents[1:], acc, step, [*outer, index])

        return self.loop(extents[0], acc, inner)

    def loop(
        self, extent: int, acc: list[Value], body: Callable[[Affine, list[Value]], list[Value]]
    ) -> list[Value]:
        """One loop over [0, extent)."""
        if extent == 1:
            return body(ZERO, acc)
        b = self.em.b
        return self.between((b.index(0), b.index(extent)), extent, acc, body)

    def between(
        self, ends: tuple[str, str], extent: int, acc: list[Value],
        body: Callable[[Affine, list[Value]], list[Value]],
    ) -> list[Value]:  # fmt: skip
        """One loop over the indices from one SSA value up to another, all below `extent`."""
        b = self.em.b
        carried = [(v.name, self.vector_type) for v in acc]
        with b.loop(*ends, b.index(1), carried) as loop:
            index = self.em.variable(loop.iv, extent)
            loop.yielded = [v.name for v in body(index, self._rebuilt(loop.carried))]
        return self._rebuilt(loop.results)

    def either(
        self, condition: str, then: Callable[[], list[Value]], other: Callable[[], list[Value]],
        count: int,
    ) -> list[Value]:  # fmt: skip
        """`count` sums, made in one of two ways."""
        with self.em.b.choice(condition, [self.vector_type] * count) as choice:
            with choice.then():
                choice.yielded = [v.name for v in then()]
            with choice.otherwise():
                choice.yielded = [v.name for v in other()]
        return self._rebuilt(choice.results)

    def _rebuilt(self, names: Sequence[str]) -> list[Value]:
        return rebuild([self.kind] * len(names), names, self.lanes)
