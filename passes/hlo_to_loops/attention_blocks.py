"""Blocks of rows whose lanes are rows, and the softmax of their logits, which are in scratch.

Scratch has a line of rows for each key: maxima and sums go up and down the lines, and nothing is
folded across lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.attention_emission import AttentionEmission
from hlo.passes.hlo_to_loops.attention_parts import AttentionParts, row_name
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.elemental.reductions import reducer
from hlo.passes.hlo_to_loops.folds import accumulator_type, identity_of
from hlo.passes.hlo_to_loops.graph import Node, Region, monoid_of
from hlo.passes.hlo_to_loops.raised_probabilities import Raising

VECTORS = 2  # of rows in a block


class RowBlocks(AttentionEmission):
    """The block in hand: `vectors` of rows, whose first lanes' indices are `names`."""

    def __init__(self, region: Region, parts: AttentionParts) -> None:
        super().__init__(region, parts)
        self.em.gathers = True
        self.block = parts.block
        self.extent = parts.rows[self.block]
        self.vectors = min(VECTORS, self.extent // self.lanes)
        self.span = self.vectors * self.lanes
        self.blocks = -(-self.extent // self.span)
        self.unroll = next(u for u in (4, 2, 1) if parts.keys % u == 0)
        self.names: list[str] = []
        self.total_at = 0  # where the sums of the rows are kept
        # The power of two that factors of the last dots in scratch have, unless something is odd:
        # large or no number.
        self.raising: Raising | None = None
        self.odd = ""

    def _rows(self, v: int) -> dict[str, Affine]:
        """The row indices of a vector's lanes."""
        return {**self.where, row_name(self.block): Affine.variable(self.names[v])}

    def _type(self, value: Value) -> str:
        return f"vector<{self.lanes}x{value.type.register}>"

    # -- folds along the keys ----------------------------------------------------------------------
    def _neutral(self, fold: Node) -> list[Value]:
        """For each vector, `unroll` accumulators."""
        op = monoid_of(fold.regions[0])
        assert op is not None
        kind = accumulator_type(op, fold.results[0].type)
        with self.b.width(self.lanes):
            value = elementwise.constant(self.b, kind, identity_of(op, kind))
        return [value] * (self.vectors * self.unroll)

    def _combine(self, fold: Node, left: Value, right: Value) -> Value:
        b = self.b
        with b.width(self.lanes):
            if right.type != left.type:
                right = elementwise.convert(b, right, left.type)
            region = fold.regions[0]
            return reducer(self.em, region, monoid_of(region))([left], [right])[0]

    def _maxima(self, low: str, high: str, initial: Sequence[Value]) -> list[Value]:
        parts, em, b = self.parts, self.em, self.b
        carried = [(v.name, self._type(v)) for v in initial]
        with b.loop(low, high, b.index(self.unroll), carried) as loop:
            key = em.variable(loop.iv, parts.keys - self.unroll + 1)
            for v in range(self.vectors):
                for u in range(self.unroll):
                    k = v * self.unroll + u
                    old = Value(initial[k].type, (loop.carried[k],), self.lanes)
                    with b.width(self.lanes):
                        new = self.held(
                            parts.logits, self.load((key + u) * self.span + v * self.lanes)
                        )
                    loop.yielded.append(self._combine(parts.peak, old, new).name)
        return [Value(v.type, (n,), self.lanes) for v, n in zip(initial, loop.results, strict=True)]

    def _finished(self, fold: Node, accumulators: Sequence[Value]) -> list[Value]:
        """One result for each vector of rows."""
        em, b = self.em, self.b
        results: list[Value] = []
        for v in range(self.vectors):
            count = len(accumulators) // self.vectors
            total = accumulators[v * count]
            for other in accumulators[v * count + 1 : (v + 1) * count]:
                total = self._combine(fold, total, other)
            with em.scalar():
                initial = em.element(fold.operands[1], Position.of_dims(()))
                initial = elementwise.convert(b, initial, total.type)
            total = self._combine(fold, em.splat(initial, self.lanes), total)
            with b.width(self.lanes):
                results.append(elementwise.convert(b, total, fold.results[0].type))
        return results

    # -- softmax -----------------------------------------------------------------------------------
    def _weights(self, peaks: Sequence[Value], end: str) -> list[Value]:
        """Logits in scratch become weights; their sums."""
        parts, em, b = self.parts, self.em, self.b
        unroll = self.unroll  # several partial sums: faster, and rounded less
        neutral = [self._neutral(parts.total)[0]] * (self.vectors * unroll)
        carried = [(v.name, self._type(v)) for v in neutral]
        with b.loop(b.index(0), end, b.index(unroll), carried) as loop:
            key = em.variable(loop.iv, parts.keys - unroll + 1)
            for v in range(self.vectors):
                for u in range(unroll):
                    line = (key + u) * self.span + v * self.lanes
                    with em.vector(self.names[v], self.lanes):
                        em.hoist_from_here()
                        self.provide_constantly(
                            parts.logits, self.held(parts.logits, self.load(line))
                        )
                        self.provide_constantly(parts.peak.results[0], peaks[v])
                        place = self.weights_position(self._rows(v), key + u)
                        weight = em.element(parts.weights, place)
                        self.store(weight.name, line)
                    old = Value(neutral[0].type, (loop.carried[v * unroll + u],), self.lanes)
                    loop.yielded.append(self._combine(parts.total, old, weight).name)
        del em.sources[parts.logits]
        sums = [Value(v.type, (n,), self.lanes) for v, n in zip(neutral, loop.results, strict=True)]
        return self._finished(parts.total, sums)

    def _probabilities(self, peaks: Sequence[Value], totals: Sequence[Value], end: str) -> None:
        """Weights in scratch become what the second dot takes."""
        parts, em, b = self.parts, self.em, self.b
        for v, total in enumerate(totals):
            self.store(total.name, Affine((), self.total_at + v * self.lanes))
        raising = self.raising
        if parts.probabilities is parts.weights and raising is None:
            return
        late = self.power(raising.bits) if raising is not None and not raising.early else None
        inverses = [self._inverse(total) for total in totals] if parts.quotient else []
        with b.loop(b.index(0), end, b.index(1)) as loop:
            key = em.variable(loop.iv, parts.keys)
            for v in range(self.vectors):
                line = key * self.span + v * self.lanes
                with em.vector(self.names[v], self.lanes):
                    em.hoist_from_here()
                    weight = self.held(parts.weights, self.load(line))
                    self.provide_constantly(parts.weights, weight)
                    self.provide_constantly(parts.peak.results[0], peaks[v])
                    self.provide_constantly(parts.total.results[0], totals[v])
                    if parts.quotient is not None:
                        product = self.b.op(
                            f"arith.mulf {weight.name}, {inverses[v]} : {self.vector}"
                        )
                        self.provide_constantly(
                            parts.quotient, self.rounded(parts.quotient, product)
                        )
                    place = self.probabilities_position(self._rows(v), key)
                    name = em.element(parts.probabilities, place).name
                    if late is not None:
                        name = b.op(f"arith.mulf {name}, {late} : {self.vector}")
                    self.store(name, line)

    def _inverse(self, total: Value) -> str:
        with self.b.width(self.lanes):
            one = self.b.constant(1.0, self.kind.register)
            inverse = self.b.op(f"arith.divf {one}, {total.name} : {self.vector}")
            if self.raising is not None and self.raising.early:
                power = self.power(self.raising.bits)
                return self.b.op(f"arith.mulf {inverse}, {power} : {self.vector}")
            return inverse

    def power(self, bits: int) -> str:
        """A power of two in every lane; 1 where something is odd."""
        b, kind = self.b, self.kind.register
        with b.width(0):
            one, power = b.constant(1.0, kind), b.constant(2.0**bits, kind)
            chosen = b.op(f"arith.select {self.odd}, {one}, {power} : {kind}")
        with b.width(self.lanes):
            return b.splat(chosen, kind)

    def lowered(self, sums: Sequence[str]) -> list[str]:
        """Sums of products with raised factors, divided by their power."""
        if self.raising is None:
            return list(sums)
        power = self.power(-self.raising.bits)
        return [self.b.op(f"arith.mulf {name}, {power} : {self.vector}") for name in sums]
