"""Attention as one kernel: scores, softmax and their product with the values, block by block.

A work unit takes blocks of rows one after another. The scores of a block are in scratch, which the
second-level cache holds, never in memory as a whole; a row is in scratch from end to end, so that
the softmax is the plain one, with no rescaling on the way (the online softmax of Dao et al.,
"FlashAttention", 2022, is for memories smaller than a CPU's cache).

With as many rows as a vector has lanes, lanes are rows: scratch holds a line of rows for each key,
both dots are register tiles whose one operand is splatted straight from keys and values, as they
are in memory or packed once for the blocks of a head (`attention_panels`), and maxima and sums go
up and down the lines. `attention_rows` has the kernel for fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_ahead import Rows, fetch_rows, is_fetched
from hlo.passes.hlo_to_loops.attention_blocks import RowBlocks
from hlo.passes.hlo_to_loops.attention_emission import at, lanes_of
from hlo.passes.hlo_to_loops.attention_panels import (
    FEWEST_BLOCKS,
    Panel,
    Panels,
    is_any_nan,
)
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
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.index_values import index_value
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.raised_probabilities import LEAST_OVERFLOW, raising_of
from hlo.passes.hlo_to_loops.register_transpose import transpose_square

TILE = 14  # keys, or columns of the values, in a register tile: with two vectors, 28 accumulators
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


class Columns(RowBlocks):
    """Emission by blocks of rows, `vectors` of them; each step of a block is a method."""

    def __init__(self, region: Region, parts: AttentionParts) -> None:
        super().__init__(region, parts)
        self.target = self.outputs[0]
        lanes = self.lanes
        depth, width = (-(-n // lanes) * lanes for n in (parts.depth, parts.width))
        # A line of rows for each key, each step of the depth, and each column of the values.
        self.query_at = parts.keys * self.span
        self.product_at = self.query_at + depth * self.span
        self.poison_at = self.product_at + width * self.span
        self.total_at = self.poison_at + width
        self.scratch_elements = self.total_at + self.span
        self.scores_at: int | None = None  # where the scores are kept, if they are
        self.panels = Panels(self)
        self.key_panel: Panel | None = None
        self.value_panel: Panel | None = None
        self.ahead: list[Rows] = []  # that are asked for meanwhile
        self.raising = raising_of(parts)

    def emit(self) -> Kernel:
        parts, em = self.parts, self.em
        outer = [d for d in range(len(parts.rows)) if d != self.block]
        sizes = [parts.rows[d] for d in outer]
        heads = math.prod(sizes)
        strips = self.strips(heads, self.blocks, self.scratch_elements, whole=True)
        if min(strips.blocks // strips.count, self.blocks) >= FEWEST_BLOCKS:
            self._make_panels()

        def locate(head: Affine) -> None:
            places = em.dims(Position.of_offset(head), sizes)
            self.where = {row_name(d): p for d, p in zip(outer, places, strict=True)}

        def start(head: Affine) -> None:
            locate(head)
            self._pack_panels()

        def block(head: Affine, row_block: Affine) -> None:
            locate(head)
            self.ahead = self._rows_ahead(head, row_block, sizes, outer)
            self._block_of_rows(row_block)

        return self.kernel(
            heads, self.blocks, self.scratch_elements, block,
            start if self.panels.made else None,
        )  # fmt: skip

    def _block_of_rows(self, row_block: Affine) -> None:
        self._start(row_block)
        self._pack(self.parts.query, DEPTH, self.parts.depth, self.query_at)
        peaks, end = self._scores_and_peaks()
        totals = self._weights(peaks, end)
        if self.raising is not None and self.value_panel is None:
            self.odd = self._holds_large()
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
        self.names = []
        for v in range(self.vectors):
            name = b.load(f"arith.addi {em.index(self.first)}, {b.index(v * self.lanes)} : index")
            em.variable(name, self.extent)
            self.names.append(name)

    def _at_most(self, index: str, most: int) -> Affine:
        b = self.b
        name = b.load(f"arith.minsi {index}, {b.index(most)} : index")
        return self.em.name_index(name, most + 1)

    def _row(self, index: Affine) -> dict[str, Affine]:
        return {**self.where, row_name(self.block): index}

    # -- keys and values ---------------------------------------------------------------------------
    def _make_panels(self) -> None:
        parts = self.parts
        width, depth, keys = (WIDTH, parts.width), (DEPTH, parts.depth), (KEY, parts.keys)
        self.value_panel = self.panels.of(parts.value, width, keys, even(parts.width, TILE))
        self.key_panel = self.panels.of(parts.key, keys, depth, even(parts.keys, TILE))

    def _pack_panels(self) -> None:
        """Packs what the blocks of a head read, and looks for values that are no numbers."""
        self.panels.pack({**self.where, row_name(self.block): ZERO})
        if self.value_panel is not None and (self._may_skip() or self.raising is not None):
            self.odd = self.panels.holds_large(self.value_panel, self._large())

    def _large(self) -> int:
        """The power of two from which on a value is looked at with suspicion."""
        raising = self.raising
        return raising.large if raising is not None else LEAST_OVERFLOW[self.kind.name] - 1

    def _factor(
        self, panel: Panel | None, operand: Operand, tile: str, start: Affine, r: int, line: Affine,
        names: tuple[str, str] = (KEY, DEPTH),
    ) -> str:  # fmt: skip
        """A factor of a tile in every lane.

        Args:
            panel: where the operand is packed, if it is.
            tile, start: how far its tile is, by the loop over tiles and by what it holds.
            r, line: which factor of the tile.
            names: the operand's variables across tiles and along lines.
        """
        if panel is not None:
            number = self.em.variable(tile, panel.tiles * panel.count)
            return self.panels.splatted(panel, number, line, r)
        across, along = names
        where = {**self.where, row_name(self.block): ZERO, across: start + r, along: line}
        return self.splatted(operand, where)

    def _rows_ahead(
        self, head: Affine, row_block: Affine, sizes: Sequence[int], outer: Sequence[int]
    ) -> list[Rows]:  # fmt: skip
        """The queries of the block that follows, and this block's part of the next head's panels.

        Args:
            sizes, outer: extents of the dimensions that count heads, and which they are.
        """
        parts, em, b = self.parts, self.em, self.b
        heads, row = math.prod(sizes), row_name(self.block)

        def located(head: Affine) -> dict[str, Affine]:
            most = b.op(f"arith.minsi {em.index(head)}, {b.index(heads - 1)} : index")
            places = em.dims(Position.of_offset(em.name_index(most, heads)), sizes)
            return {row_name(d): p for d, p in zip(outer, places, strict=True)}

        carry, following = em.divmod(row_block + 1, self.blocks)
        query, span = parts.query, self.span
        ahead = [
            Rows(query, row, DEPTH, parts.depth, following * span, span, self.extent,
                 located(head + carry))
        ]  # fmt: skip
        if heads > 1:
            where, piece = {**located(head + 1), row: ZERO}, -(-parts.keys // self.blocks)
            ahead += [
                Rows(p.operand, KEY, column, width, row_block * piece, piece, parts.keys, where)
                for p, column, width in (
                    (self.key_panel, DEPTH, parts.depth), (self.value_panel, WIDTH, parts.width)
                ) if p is not None
            ]  # fmt: skip
        return [rows for rows in ahead if is_fetched(rows)]

    def _ask_ahead(self, tile: str, count: int) -> None:
        """A tile's part of the rows that are read next."""
        tiles = -(-self.parts.keys // count)
        if self._may_skip():
            tiles = -(-tiles // 2)
        number, _ = self.em.divmod(self.em.variable(tile, self.parts.keys), count)
        for rows in self.ahead:
            fetch_rows(self, rows, number, tiles)

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
        if self.key_panel is not None:  # A second round begins with a whole tile.
            low = b.op(f"arith.divui {low}, {b.index(count)} : index")
            low = b.op(f"arith.muli {low}, {b.index(count)} : index")
        with b.loop(low, high, b.index(count)) as loop:
            key = self._at_most(loop.iv, parts.keys - count)
            self._ask_ahead(loop.iv, count)
            sums = self._tile(
                b.index(parts.depth), parts.depth, count, [self.zero()] * count,
                lambda r, depth: self._factor(
                    self.key_panel, parts.key, loop.iv, key, r, depth),
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

    # -- values ------------------------------------------------------------------------------------
    def _poison(self, end: str) -> bool:
        """What skipped keys, whose probabilities are 0, add to the sums: 0, or NaN where a value is
        no number. Returns whether there is such a line in scratch.
        """
        parts, b, lanes = self.parts, self.b, self.lanes
        if parts.causal is None or not self._may_skip():
            return False
        first = end
        if self.value_panel is not None:
            first = b.op(f"arith.select {self.odd}, {end}, {b.index(parts.keys)} : index")
        for i, name in enumerate(self._sums_of_nothing(first)):
            self.store(name, Affine((), self.poison_at + i * lanes))
        return True

    def _holds_large(self) -> str:
        """Whether a value may be NaN or large: an i1."""
        b = self.b
        with b.width(self.lanes):
            power = 2.0 ** (LEAST_OVERFLOW[self.kind.name] - self._large())
            grown = b.constant(power, self.kind.register)
        total, *others = self._sums_of_nothing(b.index(0), grown)
        for other in others:
            total = b.op(f"arith.addf {total}, {other} : {self.vector}")
        return is_any_nan(b, total, self.lanes, self.kind.register)

    def _sums_of_nothing(self, first: str, factor: str | None = None) -> list[str]:
        """0 times each value, times a factor, from a key on, added up a vector of columns each: NaN
        where a value is no number, or overflows so.
        """
        parts, em, b, lanes = self.parts, self.em, self.b, self.lanes
        buffer, zero = self.inputs[parts.value.tensor], self.zero()
        starts = list(range(0, parts.width, lanes))
        carried = [(zero, self.vector)] * len(starts)
        with b.loop(first, b.index(parts.keys), b.index(1), carried) as loop:
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
                    name = elementwise.convert(b, value, self.kind).name
                if factor is not None:
                    name = b.op(f"arith.mulf {name}, {factor} : {self.vector}")
                loop.yielded.append(self.fma(zero, name, old))
        return list(loop.results)

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
                lambda r, key: self._factor(
                    self.value_panel, parts.value, loop.iv, column, r, key, (WIDTH, KEY)),
                lines,
            )  # fmt: skip
            sums = self.lowered(sums)
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
