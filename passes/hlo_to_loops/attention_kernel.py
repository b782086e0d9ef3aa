"""Attention as one kernel: scores, softmax and their product with the values, block by block.

A work unit takes blocks of rows one after another. The scores of a block are in scratch, which the
second-level cache holds, never in memory as a whole; a row is in scratch from end to end, so that
the softmax is the plain one, with no rescaling on the way (the online softmax of Dao et al.,
"FlashAttention", 2022, is for memories smaller than a CPU's cache).

With as many rows as a vector has lanes, lanes are rows: scratch holds a line of rows for each key,
both dots are register tiles whose one operand is splatted straight from keys and values as they are
in memory, and maxima and sums go up and down the lines. `attention_rows` has the kernel for fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_emission import AttentionEmission, at, lanes_of
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    AttentionParts,
    Operand,
    row_name,
)
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.reductions import reducer
from hlo.passes.hlo_to_loops.folds import accumulator_type, identity_of, monoid_of
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.index_values import index_value
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.register_transpose import transpose_square

VECTORS = 2  # of rows in a block
TILE = 14  # keys, or columns of the values, in a register tile: with VECTORS, 28 accumulators
# exp(x) is 0 below, with a margin: the smallest subnormal is exp(-103.3), exp(-744.4).
EXP_IS_ZERO = {"f32": -110.0, "f64": -760.0}


def takes_columns(parts: AttentionParts) -> bool:
    """Whether there are rows for the lanes of a vector, and results are contiguous some way."""
    block = parts.block
    if block < 0 or parts.rows[block] < lanes_of(parts):
        return False
    strides = [parts.result_at.coefficient(name) for name in (row_name(block), WIDTH)]
    return 1 in strides


def emit_attention_columns(region: Region, parts: AttentionParts) -> Kernel:
    """The kernel in which lanes are rows; see `takes_columns`."""
    return Columns(region, parts).emit()


class Columns(AttentionEmission):
    """Emission by blocks of rows, `vectors` of them; each step of a block is a method."""

    def __init__(self, region: Region, parts: AttentionParts) -> None:
        super().__init__(region, parts)
        self.em.gathers = True
        self.target = self.outputs[0]
        self.block = parts.block
        self.extent = parts.rows[self.block]
        self.vectors = min(VECTORS, self.extent // self.lanes)
        self.span = self.vectors * self.lanes
        self.blocks = -(-self.extent // self.span)
        self.unroll = next(u for u in (4, 2, 1) if parts.keys % u == 0)
        lanes = self.lanes
        depth, width = (-(-n // lanes) * lanes for n in (parts.depth, parts.width))
        # A line of rows for each key, each step of the depth, and each column of the values.
        self.query_at = parts.keys * self.span
        self.product_at = self.query_at + depth * self.span
        self.poison_at = self.product_at + width * self.span
        self.total_at = self.poison_at + width
        self.scores_at: int | None = None  # where the scores are kept, if they are
        self.scratch_elements = self.total_at + self.span

    def emit(self) -> Kernel:
        parts, em = self.parts, self.em
        outer = [d for d in range(len(parts.rows)) if d != self.block]
        sizes = [parts.rows[d] for d in outer]

        def block(index: Affine) -> None:
            rest, row_block = em.divmod(index, self.blocks)
            places = em.dims(Position.of_offset(rest), sizes)
            self.where = {row_name(d): p for d, p in zip(outer, places, strict=True)}
            self._block_of_rows(row_block)

        return self.kernel(math.prod(sizes) * self.blocks, self.scratch_elements, block)

    def _block_of_rows(self, row_block: Affine) -> None:
        self._start(row_block)
        self._pack(self.parts.query, DEPTH, self.parts.depth, self.query_at)
        peaks, end = self._scores_and_peaks()
        totals = self._weights(peaks, end)
        self._probabilities(peaks, totals, end)
        poison = self._poison(end)
        self._products(end, poison)

    def _start(self, row_block: Affine) -> None:
        """The last block starts early enough to be whole; what it repeats it does not store."""
        em, b = self.em, self.b
        self.wanted = row_block * self.span
        self.first = self.wanted
        if self.extent % self.span:
            self.first = self._at_most(em.index(self.wanted), self.extent - self.span)
        self.names: list[str] = []
        for v in range(self.vectors):
            name = b.load(f"arith.addi {em.index(self.first)}, {b.index(v * self.lanes)} : index")
            em.variable(name, self.extent)
            self.names.append(name)

    def _at_most(self, index: str, most: int) -> Affine:
        b = self.b
        name = b.load(f"arith.minsi {index}, {b.index(most)} : index")
        return self.em.name_index(name, most + 1)

    def _rows(self, v: int) -> dict[str, Affine]:
        """The row indices of a vector's lanes."""
        return {**self.where, row_name(self.block): Affine.variable(self.names[v])}

    def _row(self, index: Affine) -> dict[str, Affine]:
        return {**self.where, row_name(self.block): index}

    # -- query -------------------------------------------------------------------------------------
    def _pack(self, operand: Operand, name: str, extent: int, lines: int) -> None:
        """The block's rows of an operand: from `lines` on a line of rows for each of its columns.

        Args:
            name: the variable of the columns; `extent`: how many there are.
        """
        em, b = self.em, self.b
        offset = operand.offset
        if offset.coefficient(name) == 1 and offset.coefficient(row_name(self.block)) != 1:
            self._pack_transposed(operand, name, extent, lines)
            return
        buffer = self.inputs[operand.tensor]
        with b.loop(b.index(0), b.index(extent), b.index(1)) as loop:
            column = em.variable(loop.iv, extent)
            for v, lane in enumerate(self.names):
                with em.vector(lane, self.lanes):
                    em.hoist_from_here()
                    place = at(offset, {**self._rows(v), name: column})
                    value = elementwise.convert(b, em.load(buffer, place), self.kind)
                    self.store(value.name, column * self.span + (v * self.lanes + lines))

    def _pack_transposed(self, operand: Operand, name: str, extent: int, lines: int) -> None:
        em, b, lanes = self.em, self.b, self.lanes
        buffer = self.inputs[operand.tensor]

        def block(column: Affine, lane: str, count: int, line: Affine) -> None:
            mask = None
            if count < lanes:
                mask = b.first_lanes(count, lanes)
            loaded: list[str] = []
            for i in range(lanes):
                with em.vector(lane, lanes, mask):
                    em.hoist_from_here()
                    where = {**self._row(self.first + line + i), name: column}
                    value = em.load(buffer, at(operand.offset, where))
                    loaded.append(elementwise.convert(b, value, self.kind).name)
            for i, held in enumerate(transpose_square(b, loaded, self.kind.register)):
                if i < count:
                    self.store(held, (column + i) * self.span + line + lines)

        self._by_square(extent, block)

    def _by_square(self, extent: int, body: Callable[[Affine, str, int, Affine], None]) -> None:
        """Squares of lanes x lanes: (start along `extent`, its name, how many there, the rows')."""
        em, b, lanes = self.em, self.b, self.lanes
        with b.loop(b.index(0), b.index(self.span), b.index(lanes)) as rows:
            line = em.variable(rows.iv, self.span - lanes + 1)
            if extent < lanes:
                name = b.load(f"arith.addi {b.index(0)}, {b.index(0)} : index")
                body(em.variable(name, extent), name, extent, line)
                return
            with b.loop(b.index(0), b.index(extent), b.index(lanes)) as columns:
                name = columns.iv
                if extent % lanes:
                    name = b.load(f"arith.minsi {name}, {b.index(extent - lanes)} : index")
                body(em.variable(name, extent - lanes + 1), name, lanes, line)

    # -- scores ------------------------------------------------------------------------------------
    def _scores_and_peaks(self) -> tuple[list[Value], str]:
        """Logits in scratch; the maxima of the rows, and the key at which all rows end."""
        parts, em, b = self.parts, self.em, self.b
        neutral = self._neutral(parts.peak)
        if parts.causal is None or not self._may_skip():
            end = b.index(parts.keys)
            self._score_tiles(b.index(0), end)
            return self._finished(parts.peak, self._maxima(b.index(0), end, neutral)), end
        # Keys that the mask hides from all rows of the block come to weights of exactly 0, if each
        # row has a logit well above the mask's. A second round does them where that does not hold.
        causal = parts.causal
        ahead = self.span + causal.ahead + self.unroll - 1
        end = b.op(f"arith.addi {em.index(self.first)}, {b.index(ahead)} : index")
        if self.unroll > 1:
            whole = b.op(f"arith.divui {end}, {b.index(self.unroll)} : index")
            end = b.op(f"arith.muli {whole}, {b.index(self.unroll)} : index")
        end = b.op(f"arith.minsi {end}, {b.index(parts.keys)} : index")
        carried = [(b.index(0), "index"), (end, "index")]
        carried += [(v.name, self._type(v)) for v in neutral]
        with b.loop(b.index(0), b.index(2), b.index(1), carried) as loop:
            low, high, *names = loop.carried
            held = [Value(v.type, (n,), v.lanes) for v, n in zip(neutral, names, strict=True)]
            self._score_tiles(low, high)
            maxima = self._maxima(low, high, held)
            everything = self._all_above(maxima, causal.fill)
            last = b.op(f"arith.select {everything}, {high}, {b.index(parts.keys)} : index")
            loop.yielded = [high, last, *(v.name for v in maxima)]
        maxima = [
            Value(v.type, (n,), v.lanes) for v, n in zip(neutral, loop.results[2:], strict=True)
        ]
        # After the first round high is where the second one ends, after the second one all is done.
        return self._finished(parts.peak, maxima), loop.results[0]

    def _may_skip(self) -> bool:
        """Values of hidden keys are still looked at, for NaN and infinities: along their rows."""
        causal, parts = self.parts.causal, self.parts
        return (
            causal is not None
            and causal.row == self.block
            and parts.value.offset.coefficient(WIDTH) == 1
            and causal.ahead + self.span < parts.keys
        )

    def _type(self, value: Value) -> str:
        return f"vector<{self.lanes}x{value.type.register}>"

    def _all_above(self, maxima: Sequence[Value], fill: float) -> str:
        """Whether exp(fill - maximum) is 0 in all lanes of all vectors."""
        b = self.b
        with b.width(self.lanes):
            hidden = b.constant(fill, self.kind.register)
            limit = b.constant(EXP_IS_ZERO[self.kind.name], self.kind.register)
            both: str | None = None
            bits = b.type_of("i1")
            for v in range(self.vectors):
                peak = maxima[v * self.unroll]
                for u in range(1, self.unroll):
                    peak = self._combine(self.parts.peak, peak, maxima[v * self.unroll + u])
                gap = b.op(f"arith.subf {hidden}, {peak.name} : {self.vector}")
                low = b.op(f"arith.cmpf olt, {gap}, {limit} : {self.vector}")
                both = low if both is None else b.op(f"arith.andi {both}, {low} : {bits}")
            return b.op(f"vector.reduction <and>, {both} : {bits} into i1")

    def _score_tiles(self, low: str, high: str) -> None:
        """Register tiles of keys x rows: the scores, made logits on the way to scratch."""
        parts, em, b = self.parts, self.em, self.b
        count = even(parts.keys, TILE)
        with b.loop(low, high, b.index(count)) as loop:
            key = self._at_most(loop.iv, parts.keys - count)
            sums = self._tile(
                b.index(parts.depth), parts.depth, count, [self.zero()] * count,
                lambda r, depth: self.splatted(
                    parts.key, {**self.where, row_name(self.block): ZERO, KEY: key + r,
                                DEPTH: depth}),
                self.query_at,
            )  # fmt: skip
            for r in range(count):
                for v in range(self.vectors):
                    with em.vector(self.names[v], self.lanes):
                        em.hoist_from_here()
                        score = self.rounded(parts.scores, sums[r * self.vectors + v])
                        self.provide_constantly(parts.scores, score)
                        place = self.logits_position(self._rows(v), key + r)
                        logit = em.element(parts.logits, place)
                        line = (key + r) * self.span + v * self.lanes
                        self.store(logit.name, line)
                        if self.scores_at is not None:
                            self.store(score.name, line + self.scores_at)
        del em.sources[parts.scores]

    def _tile(
        self, end: str, extent: int, count: int, initial: Sequence[str],
        left: Callable[[int, Affine], str], lines: int,
    ) -> list[str]:  # fmt: skip
        """Sums over lines of scratch of a splatted factor times the line: [count x vectors].

        Args:
            end: how many lines to sum, at most `extent`.
            initial: a vector for each of `count`.
            left: (number below count, line) -> the factor.
            lines: where in scratch they start.
        """
        em, b = self.em, self.b
        carried = [(name, self.vector) for name in initial for _ in range(self.vectors)]
        with b.loop(b.index(0), end, b.index(1), carried) as loop:
            line = em.variable(loop.iv, extent)
            right = [
                self.load(line * self.span + (lines + v * self.lanes)) for v in range(self.vectors)
            ]
            for r in range(count):
                factor = left(r, line)
                for v in range(self.vectors):
                    old = loop.carried[r * self.vectors + v]
                    loop.yielded.append(self.fma(factor, right[v], old))
        return loop.results

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
        if parts.probabilities is parts.weights:
            return
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
                    self.store(em.element(parts.probabilities, place).name, line)

    def _inverse(self, total: Value) -> str:
        with self.b.width(self.lanes):
            one = self.b.constant(1.0, self.kind.register)
            return self.b.op(f"arith.divf {one}, {total.name} : {self.vector}")

    # -- values ------------------------------------------------------------------------------------
    def _poison(self, end: str) -> bool:
        """What skipped keys, whose probabilities are 0, add to the sums: 0, or NaN where a value is
        no number. Returns whether there is such a line in scratch.
        """
        parts, em, b, lanes = self.parts, self.em, self.b, self.lanes
        if parts.causal is None or not self._may_skip():
            return False
        buffer = self.inputs[parts.value.tensor]
        zero = self.zero()
        starts = list(range(0, parts.width, lanes))
        carried = [(zero, self.vector)] * len(starts)
        with b.loop(end, b.index(parts.keys), b.index(1), carried) as loop:
            key = em.variable(loop.iv, parts.keys)
            for start, old in zip(starts, loop.carried, strict=True):
                count = min(lanes, parts.width - start)
                mask = None
                if count < lanes:
                    mask = b.first_lanes(count, lanes)
                name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
                column = em.variable(name, parts.width)
                with em.vector(name, lanes, mask):
                    em.hoist_from_here()
                    where = {**self._row(ZERO), KEY: key, WIDTH: column}
                    value = em.load(buffer, at(parts.value.offset, where))
                    value = elementwise.convert(b, value, self.kind)
                loop.yielded.append(self.fma(zero, value.name, old))
        for start, name in zip(starts, loop.results, strict=True):
            self.store(name, Affine((), self.poison_at + start))
        return True

    def _products(self, end: str, poison: bool, lines: int = 0) -> None:
        """Register tiles of columns of the values x rows, and their way to the result.

        Args:
            lines: where the factors of the values are in scratch.
        """
        parts, b = self.parts, self.b
        count = even(parts.width, TILE)
        direct = parts.result_at.coefficient(row_name(self.block)) == 1
        with b.loop(b.index(0), b.index(parts.width), b.index(count)) as loop:
            column = self._at_most(loop.iv, parts.width - count)
            initial = [self.zero()] * count
            if poison:
                initial = [
                    self._splat(self.load_scalar(column + (self.poison_at + r)))
                    for r in range(count)
                ]
            sums = self._tile(
                end, parts.keys, count, initial,
                lambda r, key: self.splatted(
                    parts.value, {**self.where, row_name(self.block): ZERO, KEY: key,
                                  WIDTH: column + r}),
                lines,
            )  # fmt: skip
            for r in range(count):
                for v in range(self.vectors):
                    name = sums[r * self.vectors + v]
                    if direct:
                        self._store_rows(v, column + r, name)
                    else:
                        line = (column + r) * self.span + (self.product_at + v * self.lanes)
                        self.store(name, line)
        if not direct:
            self._store_transposed()

    def _splat(self, name: str) -> str:
        with self.b.width(self.lanes):
            return self.b.splat(name, self.kind.register)

    def _store_rows(self, v: int, column: Affine, name: str) -> None:
        """A column of the result, whose rows are contiguous in memory."""
        em, b, parts = self.em, self.b, self.parts
        mask = None
        if self.extent % self.span:
            with em.vector(self.names[v], self.lanes):
                index = index_value(em, Affine.variable(self.names[v]), element_type("i64"))
                with b.width(0):
                    wanted = b.op(f"arith.index_cast {em.index(self.wanted)} : index to i64")
                wanted = b.splat(wanted, "i64")
                mask = b.op(f"arith.cmpi sge, {index.name}, {wanted} : {b.type_of('i64')}")
        with em.vector(self.names[v], self.lanes, mask):
            em.hoist_from_here()
            self.provide_constantly(parts.product, self.rounded(parts.product, name))
            total = self.held(
                parts.total.results[0], self.load(Affine((), self.total_at + v * self.lanes))
            )
            self.provide_constantly(parts.total.results[0], total)
            offset = at(parts.result_at, {**self._rows(v), WIDTH: column})
            value = em.element(parts.result, Position.of_offset(offset))
            em.store(value, self.target, offset)

    def _store_transposed(self) -> None:
        """Rows of the result, contiguous in memory, out of the columns in scratch."""
        em, b, parts, lanes = self.em, self.b, self.parts, self.lanes

        def block(column: Affine, name: str, count: int, line: Affine) -> None:
            mask = None
            if count < lanes:
                mask = b.first_lanes(count, lanes)
            columns = [
                self.load((column + i) * self.span + line + self.product_at) for i in range(lanes)
            ]
            for i, held in enumerate(transpose_square(b, columns, self.kind.register)):
                row = self.first + line + i
                if self.extent % self.span:
                    index, wanted = em.index(row), em.index(self.wanted)
                    with b.when(b.op(f"arith.cmpi sge, {index}, {wanted} : index")):
                        self._store_columns(row, line + i, column, name, mask, held)
                else:
                    self._store_columns(row, line + i, column, name, mask, held)

        self._by_square(parts.width, block)

    def _store_columns(
        self, row: Affine, line: Affine, column: Affine, name: str, mask: str | None, held: str
    ) -> None:
        em, parts = self.em, self.parts
        total = parts.total.results[0]
        em.provide(total, lambda _: self._total_of(line))
        with em.vector(name, self.lanes, mask):
            em.hoist_from_here()
            self.provide_constantly(parts.product, self.rounded(parts.product, held))
            offset = at(parts.result_at, {**self._row(row), WIDTH: column})
            value = em.element(parts.result, Position.of_offset(offset))
            em.store(value, self.target, offset)

    def _total_of(self, line: Affine) -> Value:
        """A row's sum, at the current width."""
        lanes = self.b.lanes
        total = self.parts.total.results[0]
        with self.em.scalar():
            value = self.held(total, self.load_scalar(line + self.total_at))
        return self.em.splat(value, lanes) if lanes else value


def even(extent: int, most: int) -> int:
    """The size of pieces, at most `most`, that cut `extent` into as few and as even ones as can."""
    pieces = -(-extent // most)
    return -(-extent // pieces)
