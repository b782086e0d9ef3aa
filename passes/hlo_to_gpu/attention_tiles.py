"""Attention by blocks of rows that walk along the keys, tiles of keys and values in shared memory.

While scores are computed the values come, while those are multiplied the next keys come: one tile
of each is enough, and there are two barriers a tile. Scores stay in registers. Keys that a causal
mask hides from all rows of a block are left out: they come to weights of 0 if each row has a logit
well above the mask's, which is looked at before the last round, and if no value is NaN or infinite.
Blocks look at the values that they leave out before they begin: those that leave out most have the
least to do. Where tensor cores would be done with them as soon, a kernel ahead looks at them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hlo.gpu.tensor_map import TensorMap
from hlo.passes.hlo_to_gpu.attention_multiply_adds import MultiplyAddProducts
from hlo.passes.hlo_to_gpu.attention_products import AttentionShape, TileProducts
from hlo.passes.hlo_to_gpu.attention_rows import I32, AttentionThread, RowSpace, RowState, Where
from hlo.passes.hlo_to_gpu.attention_tensor_cores import TensorCoreProducts
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.attention_kernel import EXP_IS_ZERO
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    AttentionParts,
    row_name,
)
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.online_softmax import OnlineSoftmax

SCAN_THREADS = 256
MOST_LOOKED_AT = 1 << 17  # bytes of values that one block reads in the time of a launch, about 2 us


class AttentionTiles(AttentionThread):
    """The kernel by tiles; `products` says what a warp does with a tile.

    Attributes:
        dynamic_bytes, maps: as of `Stage`.
    """

    dynamic_bytes = 0
    maps: tuple[TensorMap, ...] = ()

    def __init__(
        self, region: Region, parts: AttentionParts, online: OnlineSoftmax, shape: AttentionShape,
        *, tensor_cores: bool,
    ) -> None:  # fmt: skip
        super().__init__(region, parts, online, shape.threads)
        self.region, self.shape = region, shape
        self.tiles = -(-parts.keys // shape.keys)
        self.blocks = -(-self.space.rows // shape.rows)
        # Registers leave room for that many threads on a multiprocessor.
        self.resident_threads = 256 if tensor_cores else 512
        self.products: TileProducts = (
            TensorCoreProducts(self, parts.key.tensor.type, shape.rows, shape.keys)
            if tensor_cores
            else MultiplyAddProducts(self, shape.rows, shape.keys)
        )
        self._place_tiles()

    def _place_tiles(self) -> None:
        """Finds room in shared memory."""
        shape, stored = self.shape, self.products.stored
        self.keys = SharedTile(self, stored, shape.keys, shape.depth)
        size = SharedTile.elements(stored, shape.keys, shape.width)
        if self.products.keeps:
            size = max(size, SharedTile.elements(stored, shape.rows, shape.depth))
        room = self.b.shared(size, stored.memory)
        self.values = SharedTile(self, stored, shape.keys, shape.width, room)
        # Rows of the query that stay in registers pass through the place of the values.
        place = room if self.products.keeps else None
        self.query_tile = SharedTile(self, stored, shape.rows, shape.depth, place)

    def _begin(self) -> None:
        """Brings the query's rows; finds where the rows of this thread are."""
        b, parts, products = self.b, self.parts, self.products
        products.begin()
        self.query_tile.fetch(
            parts.query, DEPTH, parts.depth, lambda row: self.query_place(self.first, row)
        )
        if products.keeps:
            b.wait_for_copies()
            b.barrier()
        self.query = products.left(self.query_tile)
        found = [self.query_place(self.first, row) for row in products.own_rows]
        self.places = [where for where, _ in found]
        self.inside = [exists for _, exists in found]

    # -- the kernel --------------------------------------------------------------------------------
    def kernel(self) -> GpuKernel:
        """The kernel, with a stage ahead where blocks do not look at values that they skip."""
        stages: list[Stage] = []
        inputs, scratch = list(self.inputs.values()), list[Buffer]()
        self.skips = self._may_skip()
        self.flags: Buffer | None = None
        if self.skips and not self._looks_at_values():
            self.flags = Buffer("%scratch0", self.space.groups, I32)
            scratch.append(self.flags)
        buffers = [*inputs, *self.outputs, *scratch]
        if self.flags is not None:
            stages.append(_values_scan(self, self.flags, buffers))
        self._emit()
        grid = self.space.groups * self.blocks
        threads = self.shape.threads
        resident = self.resident_threads // threads
        stages.append(
            stage(
                self.b, buffers, self.outputs, grid * threads, threads, resident,
                dynamic_bytes=self.dynamic_bytes, maps=self.maps,
            )
        )  # fmt: skip
        return gpu_kernel(stages, inputs, self.outputs, scratch=scratch)

    def _emit(self) -> None:
        em, b = self.em, self.b
        count = self.space.groups * self.blocks
        block = em.name_index(b.as_index(b.block_number(count)), count)
        group, row_block = em.divmod(block, self.blocks)
        self.group_index = group
        self.enter(group)
        self.first = row_block * self.shape.rows
        self._begin()
        states = [self.start()] * len(self.places)
        carried = [n for s in states for n in (s.peak, s.total)]
        carried += [self.number(0.0)] * self.products.sums(self.shape.width)
        self._conclude(self._rounds(carried))

    def _conclude(self, results: Sequence[str]) -> None:
        """Stores what comes of the states and sums at the end."""
        states, sums = self._unpacked(results)
        found = self.products.result(sums, self.shape.width)
        for where, inside, state, row in zip(self.places, self.inside, states, found, strict=True):
            total = self.across(state.total, "addf", self.products.distances)
            scaled = self.finish(where, RowState(state.peak, total))
            self.store_inside(where, inside, [(column, scaled(name)) for column, name in row])

    def _unpacked(self, names: Sequence[str]) -> tuple[list[RowState], list[str]]:
        count = len(self.places)
        states = [RowState(names[2 * i], names[2 * i + 1]) for i in range(count)]
        return states, list(names[2 * count :])

    def _rounds(self, carried: Sequence[str]) -> list[str]:
        b = self.b
        if not self.skips:
            return self._along_keys(b.index(0), b.index(self.tiles), carried)
        low, high = b.index(0), self._visible()
        initial = [(low, "index"), (high, "index"), *((n, self.scalar) for n in carried)]
        with b.loop(b.index(0), b.index(2), b.index(1), initial) as loop:
            low, high, *names = loop.carried
            done = self._along_keys(low, high, names)
            zero = self._hidden_are_zero(self._unpacked(done)[0])
            everything = self.all_of_block(zero, in_loop=True)
            last = b.op(f"arith.select {everything}, {high}, {b.index(self.tiles)} : index")
            loop.yielded = [high, last, *done]
        return loop.results[2:]

    def _along_keys(self, low: str, high: str, carried: Sequence[str]) -> list[str]:
        """Takes in tiles [low, high) of keys."""
        em, b = self.em, self.b
        with b.when(b.op(f"arith.cmpi ult, {low}, {high} : index")):
            self._fetch_keys(em.variable(low, self.tiles) if low != b.index(0) else ZERO)
        with b.loop(low, high, b.index(1), [(n, self.scalar) for n in carried]) as loop:
            tile = em.variable(loop.iv, self.tiles)
            states, sums = self._unpacked(loop.carried)
            b.wait_for_copies()
            b.barrier()  # the keys are there, and the values of the tile before are done with
            self._fetch_values(tile)
            scored = self.products.inner(self.query, self.keys, self.shape.depth)
            b.wait_for_copies()
            b.barrier()  # the values are there, and the keys are done with
            following = b.op(f"arith.addi {loop.iv}, {b.index(1)} : index")
            with b.when(b.op(f"arith.cmpi ult, {following}, {high} : index")):
                self._fetch_keys(em.variable(following, self.tiles))
            factors, shrinks = self.absorb_tile(tile, scored, states)
            sums = self.products.shrink(sums, shrinks)
            sums = self.products.outer(factors, self.values, sums, self.shape.width)
            loop.yielded = [n for s in states for n in (s.peak, s.total)] + sums
        return loop.results

    # -- fetching ----------------------------------------------------------------------------------
    def absorb_tile(
        self, tile: Affine, scored: Sequence[Sequence[str]], states: list[RowState]
    ) -> tuple[list[list[Value]], list[str]]:
        """Takes a tile's scores into the states of this thread's rows, which it replaces.

        Returns:
            The weights of each row, and what its sums so far shrink by.
        """
        factors: list[list[Value]] = []
        shrinks: list[str] = []
        found = [self.key(tile, column) for column in self.products.own_columns]
        keys, exist = [key for key, _ in found], [exists for _, exists in found]
        for i, (where, scores) in enumerate(zip(self.places, scored, strict=True)):
            logits = self.logits(where, keys, exist, scores)
            weights, shrink, states[i] = self.absorb(
                where, keys, logits, states[i], self.products.distances
            )
            factors.append(weights)
            shrinks.append(shrink)
        return factors, shrinks

    def key(self, tile: Affine, place: Affine) -> tuple[Affine, str | None]:
        """A key of a tile, and whether it exists."""
        return self.em.clamped(tile * self.shape.keys + place, self.parts.keys)

    def _fetch_keys(self, tile: Affine) -> None:
        def place(row: Affine) -> tuple[Where, str | None]:
            key, exists = self.key(tile, row)
            return {**self.any_row(), KEY: key}, exists

        self.keys.fetch(self.parts.key, DEPTH, self.parts.depth, place)

    def _fetch_values(self, tile: Affine) -> None:
        def place(row: Affine) -> tuple[Where, str | None]:
            key, exists = self.key(tile, row)
            return {**self.any_row(), KEY: key}, exists

        self.values.fetch(self.parts.value, WIDTH, self.parts.width, place)

    def query_place(self, first: Affine, row: Affine) -> tuple[Where, str | None]:
        """Where a row of the block is; the last row of all stands for those past it."""
        index, exists = self.em.clamped(first + row, self.space.rows)
        return self.row(index), exists

    # -- results -----------------------------------------------------------------------------------
    def store_inside(
        self, where: Where, inside: str | None, row: Sequence[tuple[Affine, str]]
    ) -> None:
        """Stores those of a row's columns that there are, if there is the row."""
        b = self.b
        for column, name in row:
            place, exists = self.em.clamped(column, self.parts.width)
            b.perhaps(b.both(inside, exists), partial(self.store, where, place, name))

    # -- causal masks ------------------------------------------------------------------------------
    def _may_skip(self) -> bool:
        """Whether a causal mask hides whole tiles from blocks of rows."""
        parts, causal = self.parts, self.parts.causal
        if causal is None or causal.row not in self.space.shared:
            return False
        extent = parts.rows[causal.row]
        innermost = causal.row == self.space.shared[-1]
        whole = innermost and (extent == self.space.rows or extent % self.shape.rows == 0)
        return whole and causal.ahead + self.shape.rows + self.shape.keys <= parts.keys

    def _looks_at_values(self) -> bool:
        """Whether a block finds out by itself that the values that it skips are finite."""
        parts = self.parts
        size = parts.keys * parts.width * parts.value.tensor.type.memory_bytes
        return not self.maps and (not self.products.keeps or size <= MOST_LOOKED_AT)

    def _visible(self) -> str:
        """The tile at which what the mask shows to any row of the block ends; past the last one if
        a value behind it is not finite.
        """
        em, b, causal = self.em, self.b, self.parts.causal
        assert causal is not None
        first = self.row(em.clamped(self.first, self.space.rows)[0])[row_name(causal.row)]
        # The last row sees the keys up to first + rows - 1 + ahead.
        past = em.index(first + (self.shape.rows + causal.ahead + self.shape.keys - 1))
        end = b.op(f"arith.divui {past}, {b.index(self.shape.keys)} : index")
        end = b.op(f"arith.minui {end}, {b.index(self.tiles)} : index")
        if self.flags is None:
            finite = self.all_of_block(self._finite_from(end))
        else:
            place = f"{self.flags.name}[{em.index(self.group_index)}]"
            word = b.load(f"memref.load {place} : {self.flags.memref}")
            finite = b.op(f"arith.trunci {word} : i32 to i1")
        return b.op(f"arith.select {finite}, {end}, {b.index(self.tiles)} : index")

    def _finite_from(self, first: str) -> str:
        """Whether the values of tiles from the `first` on that this thread looks at are finite."""
        em, b, shape, parts = self.em, self.b, self.shape, self.parts
        lanes = lanes_of_values(parts)
        runs = parts.width // lanes
        thread = em.variable(b.as_index(b.thread()), b.block)
        bounds = first, b.index(self.tiles), b.index(1)
        with b.loop(*bounds, [(b.constant(True, "i1"), "i1")], unroll=4) as loop:
            tile, flag = em.variable(loop.iv, self.tiles), loop.carried[0]
            for start in range(0, shape.keys * runs, b.block):
                # Those past the last one look at it.
                place, _ = em.clamped(thread + start, shape.keys * runs)
                row, run = em.divmod(place, runs)
                where = {**self.any_row(), KEY: self.key(tile, row)[0]}
                flag = self.are_finite(where, run * lanes, lanes, flag)
            loop.yielded = [flag]
        return loop.results[0]

    def _hidden_are_zero(self, states: Sequence[RowState]) -> str:
        """Whether weights of hidden keys are 0 in all rows of this thread."""
        b, causal = self.b, self.parts.causal
        assert causal is not None
        hidden, limit = self.number(causal.fill), self.number(EXP_IS_ZERO[self.kind.name])
        flag: str | None = None
        for state in states:
            gap = self.binary("subf", hidden, state.peak)
            low = b.op(f"arith.cmpf olt, {gap}, {limit} : {self.scalar}")
            flag = low if flag is None else b.op(f"arith.andi {flag}, {low} : i1")
        assert flag is not None
        return flag


def lanes_of_values(parts: AttentionParts) -> int:
    """Neighbours of a row of values that a thread reads at once, at most 16 bytes of them."""
    return math.gcd(parts.width, 16 // parts.value.tensor.type.memory_bytes)


def _values_scan(like: AttentionTiles, flags: Buffer, buffers: Sequence[Buffer]) -> Stage:
    """A block for each set of values says whether all of them are finite."""
    parts, space = like.parts, RowSpace.of(like.parts)
    thread = AttentionThread(like.region, parts, like.online, SCAN_THREADS)
    em, b = thread.em, thread.b
    group = em.name_index(b.as_index(b.block_number(space.groups)), space.groups)
    thread.enter(group)
    lanes = lanes_of_values(parts)
    runs = parts.width // lanes
    total = parts.keys * runs
    bounds = b.as_index(b.thread()), b.index(total), b.index(SCAN_THREADS)
    with b.loop(*bounds, [(b.constant(True, "i1"), "i1")]) as loop:
        key, run = em.divmod(em.variable(loop.iv, total), runs)
        where = {**thread.any_row(), KEY: key}
        loop.yielded = [thread.are_finite(where, run * lanes, lanes, loop.carried[0])]
    finite = thread.all_of_block(loop.results[0])
    word = b.op(f"arith.extui {finite} : i1 to i32")
    first = b.op(f"arith.cmpi eq, {b.as_index(b.thread())}, {b.index(0)} : index")
    with b.when(first):
        place = f"{flags.name}[{em.index(group)}]"
        b.effect(f"memref.store {word}, {place} : {flags.memref}")
    return stage(b, buffers, [flags], space.groups * SCAN_THREADS, SCAN_THREADS)
