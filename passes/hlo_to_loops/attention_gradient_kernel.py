"""The backward pass of an attention as one kernel: scores are computed again, block by block.

A work unit goes over the rows of one head in blocks, or of all heads of a group that share keys and
values: as the forward pass does, logits, weights, their sums; then dP, dS and its part of the
gradient of the query. What a block adds to the gradients of key and value is summed in scratch,
which holds both for a head (the recomputation of Dao et al., "FlashAttention", 2022; here no score
leaves the second-level cache).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_emission import at, lanes_of
from hlo.passes.hlo_to_loops.attention_gradient_parts import GradientParts
from hlo.passes.hlo_to_loops.attention_kernel import TILE, Columns, even
from hlo.passes.hlo_to_loops.attention_panels import FEWEST_BLOCKS, Panel, is_any_nan
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    Contraction,
    Operand,
    require,
    row_name,
)
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.graph import Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.raised_probabilities import LEAST_OVERFLOW, raising_of_gradient
from hlo.passes.hlo_to_loops.register_transpose import transpose_square

SUM_VECTORS = 2  # columns of a register tile of sums over rows, in vectors


def check_attention_gradient(gradients: GradientParts) -> None:
    """Checks that a backward pass has sizes and an order of dimensions that the kernel takes.

    Raises:
        NotAttentionError: it has others.
    """
    parts = gradients.softmax
    require(parts.block >= 0, "no rows share keys and values")
    row = row_name(parts.block)
    require(row in gradients.key.summed, "a dot sums over other rows")
    lanes = lanes_of(parts)
    sizes = (parts.depth, parts.width)
    require(all(n % lanes == 0 for n in sizes), "a size is no multiple of the lanes")
    sizes = (parts.rows[parts.block], parts.keys)
    require(all(n >= lanes for n in sizes), "there are fewer rows or keys than lanes")
    for dot, name in ((gradients.key, DEPTH), (gradients.value, WIDTH)):
        require(dot.other.offset.coefficient(name) == 1, "an operand's rows are not contiguous")
        strides = [dot.result_at.coefficient(n) for n in (name, KEY)]
        require(1 in strides, "a gradient is not contiguous")
    strides = [gradients.query.result_at.coefficient(n) for n in (DEPTH, row)]
    require(1 in strides, "a gradient is not contiguous")


def emit_attention_gradient(region: Region, parts: GradientParts) -> Kernel:
    """The kernel of a backward pass."""
    return _Gradient(region, parts).emit()


class _Gradient(Columns):
    def __init__(self, region: Region, parts: GradientParts) -> None:
        super().__init__(region, parts.softmax)
        self.raising = raising_of_gradient(parts.softmax)
        self.odd_keys = ""  # as `odd`, of the keys alone
        self.gradients = parts
        softmax = parts.softmax
        self.target = self._output(parts.results[0])
        self.product_lines = max(softmax.depth, softmax.width)
        # Behind what the forward pass has: dP and dS, the gradients' rows, and the sums of a head.
        lines = self.query_at + self._padded(softmax.depth) * self.span
        self.product_at = lines
        self.total_at = self.product_at + self.product_lines * self.span
        self.gradient_at = self.total_at + self.span
        self.slope_at = self.gradient_at + softmax.width * self.span
        self.keys_at = self.slope_at + softmax.keys * self.span
        self.values_at = self.keys_at + softmax.keys * softmax.depth
        self.scratch_elements = self.values_at + softmax.keys * softmax.width
        self.slope_panel: Panel | None = None  # of values, and one of keys for the query's gradient
        self.query_panel: Panel | None = None
        if parts.reads_scores:
            self.scores_at = self.scratch_elements
            self.scratch_elements += softmax.keys * self.span

    def _padded(self, size: int) -> int:
        return -(-size // self.lanes) * self.lanes

    def _output(self, tensor: Tensor) -> Buffer:
        return self.outputs[self.region.results.index(tensor)]

    def emit(self) -> Kernel:
        parts, em = self.parts, self.em
        others = [d for d in range(len(parts.rows)) if d != self.block]
        summed = self.gradients.key.summed
        outer = [d for d in others if row_name(d) not in summed]
        group = [d for d in others if row_name(d) in summed]
        sizes = [parts.rows[d] for d in outer]

        if self.blocks * math.prod(parts.rows[d] for d in group) >= FEWEST_BLOCKS:
            self._make_panels()

        def head(index: Affine, _: Affine) -> None:
            places = em.dims(Position.of_offset(index), sizes)
            self.where = {row_name(d): p for d, p in zip(outer, places, strict=True)}
            self.panels.pack({**self.where, **{row_name(d): ZERO for d in (*group, self.block)}})
            if self.raising is not None and self.key_panel is not None:
                self.odd_keys = self.panels.holds_large(self.key_panel, self.raising.large)
            self._clear()
            self._heads_of_group(group)
            self.where.update({row_name(d): ZERO for d in group})
            gradients = self.gradients
            self._deliver(gradients.key, DEPTH, self.keys_at, gradients.results[1])
            self._deliver(gradients.value, WIDTH, self.values_at, gradients.results[2])

        return self.kernel(math.prod(sizes), 1, self.scratch_elements, head)

    def _make_panels(self) -> None:
        parts = self.parts
        width, depth, keys = (WIDTH, parts.width), (DEPTH, parts.depth), (KEY, parts.keys)
        count = even(parts.keys, TILE)
        self.key_panel = self.panels.of(parts.key, keys, depth, count)
        self.slope_panel = self.panels.of(parts.value, keys, width, count)
        other = self.gradients.query.other
        self.query_panel = self.panels.of(other, depth, keys, even(parts.depth, TILE))

    def _heads_of_group(self, group: Sequence[int]) -> None:
        """All rows, of each head of a group in turn."""
        em, b = self.em, self.b
        extent = self.parts.rows[group[0]] if group else self.blocks
        with b.loop(b.index(0), b.index(extent), b.index(1)) as loop:
            index = em.variable(loop.iv, extent)
            if group:
                self.where[row_name(group[0])] = index
                self._heads_of_group(group[1:])
            else:
                self._rows_of_head(index)

    def _clear(self) -> None:
        b, zero = self.b, self.zero()
        size = self.parts.keys * (self.parts.depth + self.parts.width)
        with b.loop(b.index(0), b.index(size), b.index(self.lanes)) as loop:
            self.store(zero, self.em.variable(loop.iv, size) + self.keys_at)

    def _rows_of_head(self, row_block: Affine) -> None:
        gradients, parts, b = self.gradients, self.parts, self.b
        self._start(row_block)
        self._pack(parts.query, DEPTH, parts.depth, self.query_at)
        self._pack(gradients.gradient, WIDTH, parts.width, self.gradient_at)
        peaks, end = self._scores_and_peaks()
        totals = self._weights(peaks, end)
        for v, total in enumerate(totals):
            self.store(total.name, Affine((), self.total_at + v * self.lanes))
        self._slopes()
        sums = self._sums(peaks, totals)
        seen = self._score_gradients(peaks, totals, sums)
        self._raise(seen)
        self._query_gradient(b.index(parts.keys))
        self._accumulate(gradients.key, DEPTH, self.slope_at, self.keys_at)
        self._accumulate(gradients.value, WIDTH, 0, self.values_at)

    # -- scores ------------------------------------------------------------------------------------
    def _slopes(self) -> None:
        """dP, in lines of rows."""
        parts, em, b = self.parts, self.em, self.b
        count = even(parts.keys, TILE)
        with b.loop(b.index(0), b.index(parts.keys), b.index(count)) as loop:
            key = self._at_most(loop.iv, parts.keys - count)
            sums = self._tile(
                b.index(parts.width), parts.width, count, [self.zero()] * count,
                lambda r, column: self._factor(
                    self.slope_panel, parts.value, loop.iv, key, r, column, (KEY, WIDTH)),
                self.gradient_at,
            )  # fmt: skip
            for r in range(count):
                for v in range(self.vectors):
                    with em.vector(self.names[v], self.lanes):
                        slope = self.rounded(self.gradients.slope, sums[r * self.vectors + v])
                    line = (key + r) * self.span + (self.slope_at + v * self.lanes)
                    self.store(slope.name, line)

    def _provide(
        self, key: Affine, v: int, peaks: Sequence[Value], totals: Sequence[Value]
    ) -> None:
        """Makes what is known of a line of rows known to the elements that follow."""
        parts = self.parts
        line = key * self.span + v * self.lanes
        self.provide_constantly(parts.weights, self.held(parts.weights, self.load(line)))
        slope = self.gradients.slope
        self.provide_constantly(slope, self.held(slope, self.load(line + self.slope_at)))
        if self.scores_at is not None:
            score = self.held(parts.scores, self.load(line + self.scores_at))
            self.provide_constantly(parts.scores, score)
        self.provide_constantly(parts.peak.results[0], peaks[v])
        self.provide_constantly(parts.total.results[0], totals[v])

    def _sums(self, peaks: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """The second sums of the rows."""
        gradients, em, b = self.gradients, self.em, self.b
        neutral = self._neutral(gradients.sum)
        carried = [(v.name, self._type(v)) for v in neutral]
        with b.loop(b.index(0), b.index(self.parts.keys), b.index(self.unroll), carried) as loop:
            first = em.variable(loop.iv, self.parts.keys - self.unroll + 1)
            for v in range(self.vectors):
                for u in range(self.unroll):
                    key = first + u
                    with em.vector(self.names[v], self.lanes):
                        em.hoist_from_here()
                        self._provide(key, v, peaks, totals)
                        where = {**self._rows(v), KEY: key}
                        place = Position.of_offset(at(gradients.summand_at, where))
                        value = em.element(gradients.summand, place)
                    k = v * self.unroll + u
                    old = Value(neutral[k].type, (loop.carried[k],), self.lanes)
                    loop.yielded.append(self._combine(gradients.sum, old, value).name)
        held = [Value(n.type, (r,), self.lanes) for n, r in zip(neutral, loop.results, strict=True)]
        return self._finished(gradients.sum, held)

    def _score_gradients(
        self, peaks: Sequence[Value], totals: Sequence[Value], sums: Sequence[Value]
    ) -> list[str]:
        """dS in place of dP, probabilities in place of the weights. Returns sums of 0 times what is
        there, which are NaN where an element is large.
        """
        gradients, parts, em, b = self.gradients, self.parts, self.em, self.b
        carried = [(self.zero(), self.vector)] * (2 * self.vectors)
        with b.loop(b.index(0), b.index(parts.keys), b.index(1), carried) as loop:
            key = em.variable(loop.iv, parts.keys)
            for v in range(self.vectors):
                line = key * self.span + v * self.lanes
                with em.vector(self.names[v], self.lanes):
                    em.hoist_from_here()
                    self._provide(key, v, peaks, totals)
                    self.provide_constantly(gradients.sum.results[0], sums[v])
                    where = {**self._rows(v), KEY: key}
                    place = Position.of_offset(at(gradients.score_gradient_at, where))
                    slope = em.element(gradients.score_gradient, place)
                    place = self.probabilities_position(self._rows(v), key)
                    probability = em.element(parts.probabilities, place)
                    self.store(slope.name, line + self.slope_at)
                    self.store(probability.name, line)
                for i, value in enumerate((slope, probability)):
                    loop.yielded.append(self._looked_at(value.name, loop.carried[2 * v + i]))
        for tensor in (parts.weights, gradients.slope, parts.scores):
            em.sources.pop(tensor, None)
        return list(loop.results)

    # -- powers of two -----------------------------------------------------------------------------
    def _looked_at(self, name: str, total: str) -> str:
        """A sum and 0 times an element, grown so that a large one overflows."""
        b = self.b
        if self.raising is None:
            return total
        with b.width(self.lanes):
            power = 2.0 ** (LEAST_OVERFLOW[self.kind.name] - self.raising.large)
            grown = b.constant(power, self.kind.register)
            name = b.op(f"arith.mulf {name}, {grown} : {self.vector}")
        return self.fma(self.zero(), name, total)

    def _raise(self, seen: Sequence[str]) -> None:
        """Multiplies dS and probabilities by a power of two, if neither they nor what they are
        multiplied by is large.
        """
        parts, em, b, raising = self.parts, self.em, self.b, self.raising
        if raising is None:
            return
        total, *others = [
            *seen,
            *self._lines_looked_at(self.query_at, parts.depth),
            *self._lines_looked_at(self.gradient_at, parts.width),
        ]
        for other in others:
            total = b.op(f"arith.addf {total}, {other} : {self.vector}")
        if self.key_panel is None:
            with self._keys_for_values():
                self.odd_keys = self._holds_large()
        found = is_any_nan(b, total, self.lanes, self.kind.register)
        self.odd = b.op(f"arith.ori {found}, {self.odd_keys} : i1")
        power = self.power(raising.bits)
        size = parts.keys * self.span
        with b.loop(b.index(0), b.index(size), b.index(self.lanes)) as loop:
            place = em.variable(loop.iv, size)
            for start in (0, self.slope_at):
                name = b.op(f"arith.mulf {self.load(place + start)}, {power} : {self.vector}")
                self.store(name, place + start)

    def _lines_looked_at(self, start: int, count: int) -> list[str]:
        """The sums of `_looked_at` of lines in scratch."""
        em, b = self.em, self.b
        carried = [(self.zero(), self.vector)] * self.vectors
        with b.loop(b.index(0), b.index(count), b.index(1), carried) as loop:
            line = em.variable(loop.iv, count) * self.span + start
            for v, old in enumerate(loop.carried):
                loop.yielded.append(self._looked_at(self.load(line + v * self.lanes), old))
        return list(loop.results)

    # -- gradients ---------------------------------------------------------------------------------
    def _query_gradient(self, end: str) -> None:
        """dS times key, like probabilities times value."""
        self.value_panel = self.query_panel
        with self._keys_for_values():
            self._products(end, False, self.slope_at)

    @contextmanager
    def _keys_for_values(self) -> Generator[None]:
        """Makes keys the values that `parts` names, and the query's gradient the result."""
        saved = self.parts
        dot = self.gradients.query
        place = {name: Affine.variable(name) for name, _ in (*dot.other.offset.terms,
                                                             *dot.result_at.terms)}  # fmt: skip
        place[DEPTH] = Affine.variable(WIDTH)
        self.parts = replace(
            saved,
            value=Operand(dot.other.tensor, at(dot.other.offset, place)),
            width=saved.depth,
            result_at=at(dot.result_at, place),
        )
        yield
        self.parts = saved

    def _accumulate(self, dot: Contraction, name: str, lines: int, sums_at: int) -> None:
        """Adds, for each key, its line of factors times the rows of an operand."""
        em, b, lanes = self.em, self.b, self.lanes
        vectors = SUM_VECTORS if dot.extent % (SUM_VECTORS * lanes) == 0 else 1
        keys = self.parts.keys
        count = max(c for c in range(1, TILE + 1) if keys % c == 0)
        count = count if 2 * count >= TILE else even(keys, TILE)
        whole = keys // count * count
        buffer = self.inputs[dot.other.tensor]
        # Of the last block only rows that no block before had.
        repeated = self.wanted + self.first * -1 if self.extent % self.span else ZERO

        def at_sum(key: Affine, column: Affine, r: int, v: int) -> Affine:
            return (key + r) * dot.extent + column + (v * lanes + sums_at)

        def tile(column: Affine, key: Affine, count: int) -> None:
            places = [(r, v) for r in range(count) for v in range(vectors)]
            carried = [(self.zero(), self.vector)] * len(places)
            with b.loop(em.index(repeated), b.index(self.span), b.index(1), carried) as loop:
                row = em.variable(loop.iv, self.span)
                right: list[str] = []
                for v in range(vectors):
                    lane = b.load(f"arith.addi {em.index(column)}, {b.index(v * lanes)} : index")
                    em.variable(lane, dot.extent)
                    with em.vector(lane, lanes):
                        where = {**self._row(self.first + row), name: Affine.variable(lane)}
                        value = em.load(buffer, at(dot.other.offset, where))
                        right.append(elementwise.convert(b, value, self.kind).name)
                for r in range(count):
                    scalar = self.load_scalar((key + r) * self.span + row + lines)
                    factor = self._splat(scalar)
                    for v in range(vectors):
                        old = loop.carried[r * vectors + v]
                        loop.yielded.append(self.fma(factor, right[v], old))
            power = self.power(-self.raising.bits) if self.raising is not None else None
            for (r, v), total in zip(places, loop.results, strict=True):
                place = at_sum(key, column, r, v)
                old = self.load(place)
                self.store(
                    b.op(f"arith.addf {old}, {total} : {self.vector}")
                    if power is None
                    else self.fma(total, power, old),
                    place,
                )

        def tiles(column: Affine) -> None:
            self._over(whole, count, lambda key: tile(column, key, count))
            if whole < keys:
                tile(column, Affine((), whole), keys - whole)

        self._over(dot.extent, vectors * lanes, tiles)

    def _over(self, extent: int, step: int, body: Callable[[Affine], None]) -> None:
        """A loop in steps; the last one starts early enough to be whole."""
        b = self.b
        with b.loop(b.index(0), b.index(extent), b.index(step)) as loop:
            whole = extent % step == 0
            last = extent - step
            body(self.em.name_index(loop.iv, last + 1) if whole else self._at_most(loop.iv, last))

    def _deliver(self, dot: Contraction, name: str, sums_at: int, result: Tensor) -> None:
        """The sums of a head go to the result, in the order that it has."""
        em, b, lanes = self.em, self.b, self.lanes
        buffer = self._output(result)
        contiguous = dot.result_at.coefficient(name) == 1

        def stored(held: str, lane: str, extent: int, key: Affine, column: Affine) -> None:
            em.variable(lane, extent)
            with em.vector(lane, lanes):
                offset = at(dot.result_at, {**self.where, row_name(self.block): ZERO,
                                            KEY: key, name: column})  # fmt: skip
                em.store(self.rounded(result, held), buffer, offset)

        def square(key: Affine, column: Affine) -> None:
            rows = [self.load((key + i) * dot.extent + column + sums_at) for i in range(lanes)]
            if contiguous:
                lane = self._named(column)
                for i, held in enumerate(rows):
                    stored(held, lane, dot.extent, key + i, Affine.variable(lane))
                return
            lane = self._named(key)
            for i, held in enumerate(transpose_square(b, rows, self.kind.register)):
                stored(held, lane, self.parts.keys, Affine.variable(lane), column + i)

        self._over(self.parts.keys, lanes, lambda key: self._over(
            dot.extent, lanes, lambda column: square(key, column)))  # fmt: skip

    def _named(self, index: Affine) -> str:
        return self.b.load(f"arith.addi {self.em.index(index)}, {self.b.index(0)} : index")
