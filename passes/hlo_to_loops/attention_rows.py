"""Attention for few rows, as in decoding: lanes are keys, then columns of the values.

Each row of logits is in scratch from end to end. Keys and values are read once for the rows that
share them: the first row brings them into the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hlo.passes.cost.caches import CORE_BYTES
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_emission import AttentionEmission, at
from hlo.passes.hlo_to_loops.attention_panels import is_any_nan
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    AttentionParts,
    Operand,
    row_name,
)
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.lines_ahead import fetch_line
from hlo.passes.hlo_to_loops.raised_probabilities import raising_of
from hlo.passes.hlo_to_loops.register_transpose import sums_of_lanes

HELD_VECTORS = 8  # of a query that stay in registers
COLUMN_VECTORS = 8  # of a row of the result that are summed at a time
# Bytes of an operand's rows that are asked for ahead: a row of one head is a few lines of a longer
# one, on pages of its own, and the processor fetches none of them by itself.
AHEAD_BYTES = 4 << 10
MOST_SHARING = 4  # rows that share keys: of more, the first one brings them into the cache


def emit_attention_rows(region: Region, parts: AttentionParts) -> Kernel:
    """The kernel in which a row is computed at a time."""
    try:
        return _Rows(region, parts, vectorized=True).emit()
    except NotVectorizableError:
        return _Rows(region, parts, vectorized=False).emit()


class _Rows(AttentionEmission):
    def __init__(self, region: Region, parts: AttentionParts, *, vectorized: bool) -> None:
        super().__init__(region, parts)
        self.raising = raising_of(parts)
        self.vectorized = vectorized
        self.em.gathers = vectorized
        self.em.row_lanes = self.lanes

    def emit(self) -> Kernel:
        parts, em, b = self.parts, self.em, self.b
        outer = [d for d in range(len(parts.rows)) if d != parts.block]
        sizes = [parts.rows[d] for d in outer]

        def block(index: Affine, _: Affine) -> None:
            places = em.dims(Position.of_offset(index), sizes)
            self.where = {row_name(d): p for d, p in zip(outer, places, strict=True)}
            if parts.block < 0:
                self._row()
                return
            extent = parts.rows[parts.block]
            with b.loop(b.index(0), b.index(extent), b.index(1)) as loop:
                self.where[row_name(parts.block)] = em.variable(loop.iv, extent)
                self._row()

        scratch = -(-parts.keys // self.lanes) * self.lanes
        return self.kernel(math.prod(sizes), 1, scratch, block)

    def _row(self) -> None:
        parts, em = self.parts, self.em
        self._logits()
        row = Position.of_dims([self.where[row_name(d)] for d in range(len(parts.rows))])
        peak = self._folded(parts.logits, parts.peak.results[0], row)
        self.provide_constantly(parts.peak.results[0], peak)
        self._rewrite(
            parts.logits, parts.weights, lambda key: self.weights_position(self.where, key)
        )
        total_row = Position.of_offset(at(parts.total_at, self.where))
        total = self._folded(parts.weights, parts.total.results[0], total_row)
        self.provide_constantly(parts.total.results[0], total)
        if parts.probabilities is not parts.weights or self.raising is not None:
            self._rewrite(
                parts.weights,
                parts.probabilities,
                lambda key: self.probabilities_position(self.where, key),
                self.raising.bits if self.raising is not None else 0,
            )
        self._product()
        for tensor in (parts.peak.results[0], parts.total.results[0]):
            del em.sources[tensor]

    # -- scores ------------------------------------------------------------------------------------
    def _logits(self) -> None:
        parts = self.parts
        along = [o.offset.coefficient(DEPTH) for o in (parts.query, parts.key)]
        if (
            self.vectorized
            and along == [1, 1]
            and parts.keys >= self.lanes
            and self.lanes <= parts.depth <= HELD_VECTORS * self.lanes
        ):
            self._logits_by_lanes()
            return
        em, b = self.em, self.b
        with b.loop(b.index(0), b.index(parts.keys), b.index(1)) as loop:
            key = em.variable(loop.iv, parts.keys)
            logit = em.element(parts.logits, self.logits_position(self.where, key))
            self.store_scalar(logit.name, key)

    def _logits_by_lanes(self) -> None:
        """As many keys at a time as a vector has lanes: each a sum of vectors, then of lanes."""
        parts, em, b, lanes = self.parts, self.em, self.b, self.lanes
        starts = range(0, parts.depth, lanes)
        query = [self._depth_vector(parts.query.tensor, parts.query.offset, ZERO, start)
                 for start in starts]  # fmt: skip
        with b.loop(b.index(0), b.index(parts.keys), b.index(lanes)) as loop:
            name = b.load(f"arith.minsi {loop.iv}, {b.index(parts.keys - lanes)} : index")
            first = em.variable(name, parts.keys - lanes + 1)
            sums: list[str] = []
            for i in range(lanes):
                total = self.zero()
                self._ask_for(parts.key, first + i, DEPTH, parts.depth)
                for start, factor in zip(starts, query, strict=True):
                    line = self._depth_vector(parts.key.tensor, parts.key.offset, first + i, start)
                    total = self.fma(line, factor, total)
                sums.append(total)
            scores = sums_of_lanes(b, sums, self.kind.register)
            key = em.variable(name, parts.keys)
            with em.vector(name, lanes):
                em.hoist_from_here()
                self.provide_constantly(parts.scores, self.rounded(parts.scores, scores))
                logit = em.element(parts.logits, self.logits_position(self.where, key))
                self.store(logit.name, key)
        del em.sources[parts.scores]

    def _depth_vector(self, tensor: Tensor, offset: Affine, key: Affine, start: int) -> str:
        """A vector of an operand along the depth; beyond its end 0."""
        em, b, lanes = self.em, self.b, self.lanes
        name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
        depth = em.variable(name, self.parts.depth)
        mask = None
        if (count := min(lanes, self.parts.depth - start)) < lanes:
            mask = b.first_lanes(count, lanes)
        with em.vector(name, lanes, mask):
            place = at(offset, {**self.where, KEY: key, DEPTH: depth})
            return elementwise.convert(b, em.load(self.inputs[tensor], place), self.kind).name

    def _ask_for(self, operand: Operand, key: Affine, name: str, extent: int) -> None:
        """Asks for the row that is read somewhat after a key's, if rows leave the core's cache.

        Args:
            name, extent: the operand's variable along a row, contiguous, and its elements.
        """
        parts, em = self.parts, self.em
        buffer = self.inputs[operand.tensor]
        size = buffer.type.memory_bytes
        sharing = 1 if parts.block < 0 else parts.rows[parts.block]
        if buffer.elements * size <= CORE_BYTES or sharing > MOST_SHARING:
            return
        later = key + max(1, AHEAD_BYTES // (extent * size))
        # The last element is on a line more where rows do not begin at one.
        for start in (*range(0, extent, LINE_BYTES // size), extent - 1):
            where = {**self.where, KEY: later, name: Affine((), start)}
            fetch_line(em, buffer, at(operand.offset, where), near=False)

    # -- softmax -----------------------------------------------------------------------------------
    def _element_of_row(self, tensor: Tensor, key: Affine) -> Value:
        """An element of the row in scratch, at the current width."""
        b = self.b
        place = f"{self.scratch.name}[{self.em.index(self.base + key)}]"
        if not b.lanes:
            return self.held(tensor, self.load_scalar(key))
        vector = b.type_of(self.kind.register)
        if self.em.mask is None:
            name = b.load(f"vector.load {place} : {self.scratch.memref}, {vector}")
        else:
            zero = b.constant(0, self.kind.register)
            name = b.load(
                f"vector.maskedload {place}, {self.em.mask}, {zero} : {self.scratch.memref}, "
                f"{b.type_of('i1')}, {vector} into {vector}"
            )
        return self.held(tensor, name)

    def _provide_row(self, tensor: Tensor) -> None:
        """Elements of a tensor of rows are those in scratch."""
        keys = self.parts.keys

        def source(position: Position) -> Value:
            _, key = self.em.divmod(position.linear(tensor.shape), keys)
            return self._element_of_row(tensor, key)

        self.em.provide(tensor, source)

    def _folded(self, operand: Tensor, result: Tensor, row: Position) -> Value:
        self._provide_row(operand)
        with self.em.scalar():
            value = self.em.element(result, row)
        del self.em.sources[operand]
        return value

    def _rewrite(
        self, source: Tensor, target: Tensor, position: Callable[[Affine], Position], bits: int = 0
    ) -> None:
        """The row of `source` in scratch becomes that of `target`, times 2**bits."""
        em, b, keys = self.em, self.b, self.parts.keys
        lanes = self.lanes if self.vectorized and keys >= self.lanes else 0
        step = max(lanes, 1)
        whole = keys // step * step

        def element(name: str, mask: str | None) -> None:
            key = em.variable(name, keys)
            if not lanes:
                self._provide_element(source, key)
                value = em.element(target, position(key)).name
                self.store_scalar(self._times(value, bits), key)
                return
            with em.vector(name, lanes, mask):
                em.hoist_from_here()
                self._provide_element(source, key)
                # Scratch has room for whole vectors.
                self.store(self._times(em.element(target, position(key)).name, bits), key)

        with b.loop(b.index(0), b.index(whole), b.index(step)) as loop:
            element(loop.iv, None)
        if whole < keys:
            name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
            element(name, b.first_lanes(keys - whole, lanes))
        del em.sources[source]

    def _times(self, name: str, bits: int) -> str:
        """A number times a power of two, at the current width."""
        b, kind = self.b, self.kind.register
        if not bits:
            return name
        return b.op(f"arith.mulf {name}, {b.constant(2.0**bits, kind)} : {b.type_of(kind)}")

    def _provide_element(self, tensor: Tensor, key: Affine) -> None:
        self.provide_constantly(tensor, self._element_of_row(tensor, key))

    # -- values ------------------------------------------------------------------------------------
    def _product(self) -> None:
        parts = self.parts
        contiguous = all(o.coefficient(WIDTH) == 1 for o in (parts.value.offset, parts.result_at))
        if not self.vectorized or not contiguous or parts.width < self.lanes:
            self._product_by_element()
            return
        step = COLUMN_VECTORS * self.lanes
        for start in range(0, parts.width, step):
            self._columns(start, min(parts.width, start + step))

    def _columns(self, first: int, last: int) -> None:
        """Columns [first, last) of a row of the result."""
        parts, em, b, lanes = self.parts, self.em, self.b, self.lanes
        names: list[tuple[str, str | None]] = []
        for start in range(first, last, lanes):
            name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
            em.variable(name, parts.width)
            mask = None
            if last - start < lanes:
                mask = b.first_lanes(last - start, lanes)
            names.append((name, mask))
        totals = self._lowered(
            [self.vector] * len(names), lanes, lambda bits: self._sums_of_columns(names, bits)
        )
        for (name, mask), total in zip(names, totals, strict=True):
            with em.vector(name, lanes, mask):
                em.hoist_from_here()
                self._store(Affine.variable(name), total)

    def _sums_of_columns(self, names: Sequence[tuple[str, str | None]], bits: int) -> list[str]:
        """Sums of values, at the columns from `names` on, times what is in scratch times 2**bits.

        Args:
            names: of the first column of each vector, and its mask.
        """
        parts, em, b, lanes = self.parts, self.em, self.b, self.lanes
        carried = [(self.zero(), self.vector)] * len(names)
        with b.loop(b.index(0), b.index(parts.keys), b.index(1), carried) as loop:
            key = em.variable(loop.iv, parts.keys)
            probability = self.load_scalar(key)
            if not bits:  # else it is the second time
                self._ask_for(parts.value, key, WIDTH, parts.width)
            with b.width(lanes):
                probability = self._times(b.splat(probability, self.kind.register), bits)
            for (name, mask), old in zip(names, loop.carried, strict=True):
                with em.vector(name, lanes, mask):
                    where = {**self.where, KEY: key, WIDTH: Affine.variable(name)}
                    value = em.load(self.inputs[parts.value.tensor], at(parts.value.offset, where))
                    value = elementwise.convert(b, value, self.kind)
                    loop.yielded.append(self.fma(value.name, probability, old))
        return list(loop.results)

    def _lowered(
        self, types: Sequence[str], lanes: int, sums: Callable[[int], list[str]]
    ) -> list[str]:
        """Sums without the power of two that probabilities have; computed again without it where it
        made one overflow.

        Args:
            sums: the sums of what is in scratch times 2**bits.
        """
        b, kind = self.b, self.kind.register
        found = sums(0)
        if self.raising is None:
            return found
        bits = -self.raising.bits
        with b.width(lanes):
            zero = b.constant(0.0, kind)
            nothing = [b.op(f"arith.mulf {f}, {zero} : {b.type_of(kind)}") for f in found]
            total, *others = nothing
            for other in others:
                total = b.op(f"arith.addf {total}, {other} : {b.type_of(kind)}")
        odd = is_any_nan(b, total, lanes, kind)
        with b.choice(odd, types) as choice:
            with choice.then():
                choice.yielded = sums(bits)
            with choice.otherwise(), b.width(lanes):
                choice.yielded = [self._times(name, bits) for name in found]
        return choice.results

    def _product_by_element(self) -> None:
        parts, em, b = self.parts, self.em, self.b
        with b.loop(b.index(0), b.index(parts.width), b.index(1)) as columns:
            column = em.variable(columns.iv, parts.width)

            def sums(bits: int, column: Affine = column) -> list[str]:
                return [self._sum_of_column(column, bits)]

            (total,) = self._lowered([self.kind.register], 0, sums)
            self._store(column, total)

    def _sum_of_column(self, column: Affine, bits: int) -> str:
        """The sum of a column of the values times what is in scratch times 2**bits."""
        parts, em, b = self.parts, self.em, self.b
        carried = [(b.constant(0, self.kind.register), self.kind.register)]
        with b.loop(b.index(0), b.index(parts.keys), b.index(1), carried) as loop:
            key = em.variable(loop.iv, parts.keys)
            where = {**self.where, KEY: key, WIDTH: column}
            value = em.load(self.inputs[parts.value.tensor], at(parts.value.offset, where))
            value = elementwise.convert(b, value, self.kind)
            factor = self._times(self.load_scalar(key), bits)
            factors = f"{factor}, {value.name}, {loop.carried[0]}"
            loop.yielded = [b.op(f"math.fma {factors} : {self.kind.register}")]
        return loop.results[0]

    def _store(self, column: Affine, total: str) -> None:
        parts, em = self.parts, self.em
        self.provide_constantly(parts.product, self.rounded(parts.product, total))
        offset = at(parts.result_at, {**self.where, WIDTH: column})
        em.store(em.element(parts.result, Position.of_offset(offset)), self.outputs[0], offset)
        del em.sources[parts.product]
