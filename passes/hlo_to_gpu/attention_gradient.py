"""The backward pass of an attention in two launches, with no scores in memory.

The first has blocks of rows, which walk along the keys three times: for the largest logit of a row
and the sum of its weights, for the row's second sum, which is of weights and dP, and for the
gradient of the query. The second has blocks of keys, which walk along the rows for the gradients of
key and value, given those three numbers of each row. Scores and dP are computed again each time
(the recomputation of Dao et al., "FlashAttention", 2022); no two blocks add to one element, so
results are the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.attention_gradient_shapes import (
    GradientShape,
    Tiled,
    kept_operands,
    passing_operands,
)
from hlo.passes.hlo_to_gpu.attention_multiply_adds import MultiplyAddProducts
from hlo.passes.hlo_to_gpu.attention_products import TileProducts
from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread, RowState, Where
from hlo.passes.hlo_to_gpu.attention_tensor_cores import TensorCoreProducts
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.shared_tile import Place, SharedTile
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_emission import at
from hlo.passes.hlo_to_loops.attention_gradient_parts import GradientParts
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    Contraction,
    row_name,
)
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.emitter import SCALAR
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.online_softmax import OnlineSoftmax, exponent_shift

BOOLEAN = element_type("i1")


def emit_attention_gradient(
    region: Region, gradients: GradientParts, shapes: tuple[GradientShape, GradientShape]
) -> GpuKernel:
    """The kernel of a backward pass.

    Args:
        shapes: of the blocks of rows, and of the blocks of keys.
    """
    known = [fold.results[0] for fold in _folds(gradients)]
    scratch = [Buffer(f"%scratch{i}", t.size, t.type) for i, t in enumerate(known)]
    numbers = dict(zip(known, scratch, strict=True))
    rows = _RowBlocks(region, gradients, shapes[0], numbers)
    keys = _KeyBlocks(region, gradients, shapes[1], numbers)
    inputs = list(rows.inputs.values())
    buffers = [*inputs, *rows.outputs, *scratch]
    stages = [rows.stage(buffers), keys.stage(buffers)]
    return gpu_kernel(stages, inputs, rows.outputs, scratch=scratch)


def _folds(gradients: GradientParts) -> tuple[Node, Node, Node]:
    softmax = gradients.softmax
    return softmax.peak, softmax.total, gradients.sum


@dataclass(frozen=True)
class _Pair:
    """A row and a key of a thread, their products, and an i1 whether they exist."""

    where: Where
    score: str
    slope: str
    exists: str | None


class _Blocks(AttentionThread):
    """What both kinds of block share: operands that they keep, and others that go by in tiles."""

    def __init__(
        self, region: Region, gradients: GradientParts, shape: GradientShape,
        numbers: dict[Tensor, Buffer],
    ) -> None:  # fmt: skip
        softmax = gradients.softmax
        online = OnlineSoftmax(exponent_shift(softmax), None)
        super().__init__(region, softmax, online, shape.threads)
        self.region, self.gradients, self.shape, self.numbers = region, gradients, shape, numbers
        self.products: TileProducts = (
            TensorCoreProducts(
                self, softmax.key.tensor.type, shape.kept, shape.passing, keeps=shape.in_registers
            )
            if shape.tensor_cores
            else MultiplyAddProducts(self, shape.kept, shape.passing)
        )
        self.passing = {
            tiled: self._tile(shape.passing, tiled.padded)
            for tiled in passing_operands(gradients, shape)
        }
        self.kept = kept_operands(gradients, shape)
        tiles = list(self.passing.values())
        rooms: list[SharedTile | None] = [*tiles[:2]] if shape.in_registers else [None, None]
        self.kept_tiles = [
            self._tile(shape.kept, tiled.padded, room)
            for tiled, room in zip(self.kept, rooms, strict=True)
        ]

    def _tile(self, rows: int, columns: int, room: SharedTile | None = None) -> SharedTile:
        """A tile, in the place of another if there is one."""
        stored = self.products.stored
        if room is not None:
            return SharedTile(self, stored, rows, columns, (room.buffer, room.memref))
        held = max(rows, self.shape.kept) if self.shape.in_registers else rows
        place = self.b.shared(SharedTile.elements(stored, held, columns), stored.memory)
        return SharedTile(self, stored, rows, columns, place)

    # -- the launch --------------------------------------------------------------------------------
    def _launch(self, extent: int, buffers: Sequence[Buffer], written: Sequence[Buffer]) -> Stage:
        """The stage of as many blocks as `extent` rows or keys of each group need."""
        shape = self.shape
        grid = self.space.groups * -(-extent // shape.kept)
        resident = shape.resident_threads // shape.threads
        return stage(self.b, buffers, written, grid * shape.threads, shape.threads, resident)

    def _enter_block(self, extent: int) -> Affine:
        """Chooses the group of this block; gives its first row or key."""
        em, b = self.em, self.b
        blocks = -(-extent // self.shape.kept)
        count = self.space.groups * blocks
        block = em.name_index(b.as_index(b.block_number(count)), count)
        group, part = em.divmod(block, blocks)
        self.enter(group)
        return part * self.shape.kept

    def _keep(self, place: Place) -> None:
        """Brings the operands that a block keeps."""
        b = self.b
        self.products.begin()
        for tiled, tile in zip(self.kept, self.kept_tiles, strict=True):
            tile.fetch(tiled.operand, tiled.name, tiled.extent, place)
        if self.shape.in_registers:
            b.wait_for_copies()
            b.barrier()
        self.left = [self.products.left(tile) for tile in self.kept_tiles]

    def _walk(
        self, extent: int, tiled: Sequence[Tiled], place: Callable[[Affine], Place],
        carried: Sequence[str], body: Callable[[Affine, list[str]], list[str]],
    ) -> list[str]:  # fmt: skip
        """The body for every tile of operands, along `extent` rows or keys."""
        em, b = self.em, self.b
        count = -(-extent // self.shape.passing)
        loop_carried = [(name, self.scalar) for name in carried]
        with b.loop(b.index(0), b.index(count), b.index(1), loop_carried) as loop:
            tile = em.variable(loop.iv, count)
            b.barrier()  # the tiles before are done with
            for each in tiled:
                self.passing[each].fetch(
                    each.operand, each.name, each.extent, place(tile * self.shape.passing)
                )
            b.wait_for_copies()
            b.barrier()
            loop.yielded = body(tile * self.shape.passing, list(loop.carried))
        return loop.results

    # -- places ------------------------------------------------------------------------------------
    def _row_place(self, row: Affine) -> tuple[Where, str | None]:
        """A row, and whether it exists: the last one stands for those past it."""
        index, exists = self.em.clamped(row, self.space.rows)
        return self.row(index), exists

    def _key_place(self, key: Affine) -> tuple[Where, str | None]:
        """A key of the group, and whether it exists."""
        index, exists = self.em.clamped(key, self.parts.keys)
        return {**self.any_row(), KEY: index}, exists

    # -- elements ----------------------------------------------------------------------------------
    def _element(self, tensor: Tensor, offset: Affine, pair: _Pair) -> Value:
        """What a tensor has for a pair, 0 where that does not exist."""
        em, b, parts = self.em, self.b, self.parts
        for source, name in ((parts.scores, pair.score), (self.gradients.slope, pair.slope)):
            value = elementwise.convert(b, Value(self.kind, (name,)), source.type)
            em.provide(source, lambda _, value=value: value)
        found = em.element(tensor, Position.of_offset(at(offset, pair.where)))
        if pair.exists is None:
            return found
        zero = elementwise.constant(b, found.type, 0)
        return elementwise.select(b, Value(BOOLEAN, (pair.exists,)), found, zero)

    def _deliver(
        self, dot: Contraction, name: str, result: Tensor, rows: Sequence[tuple[Where, str | None]],
        sums: Sequence[str], padded: int,
    ) -> None:  # fmt: skip
        """Stores a gradient's elements of this thread."""
        em, b = self.em, self.b
        buffer = self.outputs[self.region.results.index(result)]
        for (where, inside), row in zip(rows, self.products.result(sums, padded), strict=True):
            for column, total in row:
                place, exists = em.clamped(column, dot.extent)

                def store(where: Where = where, place: Affine = place, total: str = total) -> None:
                    value = elementwise.convert(b, Value(self.kind, (total,)), result.type)
                    em.store(value, buffer, at(dot.result_at, {**where, name: place}))

                b.perhaps(b.both(inside, exists), store)


class _RowBlocks(_Blocks):
    """Rows stay, keys go by."""

    def stage(self, buffers: Sequence[Buffer]) -> Stage:
        gradients, shape = self.gradients, self.shape
        first = self._enter_block(self.space.rows)
        self._keep(lambda row: self._row_place(first + row))
        self.rows = [self._row_place(first + row) for row in self.products.own_rows]
        self.key, self.value, self.other = (
            Tiled.of(self.parts.key, DEPTH, self.parts.depth, shape),
            Tiled.of(self.parts.value, WIDTH, self.parts.width, shape),
            Tiled.of(gradients.query.other, DEPTH, self.parts.depth, shape),
        )
        states = self._states()
        sums = self._second_sums(states)
        total = self._query_gradient(states, sums)
        self._deliver(gradients.query, DEPTH, gradients.results[0], self.rows, total, shape.depth)
        self._note(states, sums)
        target = self.outputs[self.region.results.index(gradients.results[0])]
        return self._launch(self.space.rows, buffers, [target, *self.numbers.values()])

    def _along_keys(
        self, tiled: Sequence[Tiled], carried: Sequence[str],
        body: Callable[[Affine, list[str]], list[str]],
    ) -> list[str]:  # fmt: skip
        def place(first: Affine) -> Place:
            return lambda row: self._key_place(first + row)

        return self._walk(self.parts.keys, list(dict.fromkeys(tiled)), place, carried, body)

    def _scores(self) -> list[list[str]]:
        return self.products.inner(self.left[0], self.passing[self.key], self.shape.depth)

    def _states(self) -> list[RowState]:
        """The peak and the sum of weights of each row."""
        products = self.products
        places = range(len(self.rows))

        def body(first: Affine, carried: list[str]) -> list[str]:
            scores = self._scores()
            found = [self.em.clamped(first + c, self.parts.keys) for c in products.own_columns]
            keys, exist = [key for key, _ in found], [exists for _, exists in found]
            held: list[str] = []
            for i, (where, _) in enumerate(self.rows):
                logits = self.logits(where, keys, exist, scores[i])
                state = RowState(carried[2 * i], carried[2 * i + 1])
                state = self.weigh(logits, state, products.distances)[2]
                held += [state.peak, state.total]
            return held

        start = self.start()
        carried = [name for _ in places for name in (start.peak, start.total)]
        found = self._along_keys([self.key], carried, body)
        return [
            RowState(found[2 * i], self.across(found[2 * i + 1], "addf", products.distances))
            for i in places
        ]

    def _pairs(self, first: Affine) -> list[list[_Pair]]:
        """The pairs of each row of this thread with its keys of a tile."""
        scores = self._scores()
        slopes = self.products.inner(self.left[1], self.passing[self.value], self.shape.width)
        keys = [self.em.clamped(first + c, self.parts.keys) for c in self.products.own_columns]
        return [
            [
                _Pair({**where, KEY: key}, score, slope, exists)
                for (key, exists), score, slope in zip(keys, scores[i], slopes[i], strict=True)
            ]
            for i, (where, _) in enumerate(self.rows)
        ]

    def _second_sums(self, states: Sequence[RowState]) -> list[str]:
        gradients = self.gradients

        def body(first: Affine, carried: list[str]) -> list[str]:
            held: list[str] = []
            for (where, _), state, pairs, total in zip(
                self.rows, states, self._pairs(first), carried, strict=True
            ):
                self.conclude(where, state)
                so_far = total
                for pair in pairs:
                    value = self._element(gradients.summand, gradients.summand_at, pair)
                    so_far = self.binary("addf", so_far, self.as_kind(value))
                held.append(so_far)
            return held

        start = [self.number(0.0)] * len(self.rows)
        found = self._along_keys([self.key, self.value], start, body)
        initial = self.as_kind(self.em.element(gradients.sum.operands[1], SCALAR))
        return [
            self.binary("addf", self.across(name, "addf", self.products.distances), initial)
            for name in found
        ]

    def _know(self, where: Where, state: RowState, total: str) -> None:
        """From here on the numbers of a row are known."""
        self.conclude(where, state)
        result = self.gradients.sum.results[0]
        value = elementwise.convert(self.b, Value(self.kind, (total,)), result.type)
        self.em.provide(result, lambda _: value)

    def _query_gradient(self, states: Sequence[RowState], sums: Sequence[str]) -> list[str]:
        gradients, products = self.gradients, self.products

        def body(first: Affine, carried: list[str]) -> list[str]:
            factors: list[list[Value]] = []
            for (where, _), state, total, pairs in zip(
                self.rows, states, sums, self._pairs(first), strict=True
            ):
                self._know(where, state, total)
                factors.append([
                    self._element(gradients.score_gradient, gradients.score_gradient_at, pair)
                    for pair in pairs
                ])  # fmt: skip
            return products.outer(factors, self.passing[self.other], carried, self.shape.depth)

        start = [self.number(0.0)] * products.sums(self.shape.depth)
        return self._along_keys([self.key, self.value, self.other], start, body)

    def _note(self, states: Sequence[RowState], sums: Sequence[str]) -> None:
        """Stores the numbers of rows for the blocks of keys; one lane does that has them."""
        em, b = self.em, self.b
        offsets = (self._peak_at(), self.parts.total_at, self.gradients.sum_at)
        first = self.products.own_columns[0]
        leads = b.op(f"arith.cmpi eq, {em.index(first)}, {b.index(0)} : index")
        for (where, inside), state, total in zip(self.rows, states, sums, strict=True):
            self._know(where, state, total)

            def store(where: Where = where) -> None:
                for (tensor, buffer), offset in zip(self.numbers.items(), offsets, strict=True):
                    place = at(offset, {**where, KEY: ZERO})
                    em.store(em.element(tensor, Position.of_offset(place)), buffer, place)

            b.perhaps(b.both(leads, inside), store)

    def _peak_at(self) -> Affine:
        variables = [Affine.variable(row_name(d)) for d in range(len(self.parts.rows))]
        return Position.of_dims(variables).linear(self.parts.rows)


class _KeyBlocks(_Blocks):
    """Keys stay, rows go by."""

    def stage(self, buffers: Sequence[Buffer]) -> Stage:
        gradients, shape, parts = self.gradients, self.shape, self.parts
        for tensor, buffer in self.numbers.items():
            self.em.provide(tensor, self._source(tensor, buffer))
        first = self._enter_block(parts.keys)
        self._keep(lambda row: self._key_place(first + row))
        self.keys = [self._key_place(first + row) for row in self.products.own_rows]
        self.query, self.gradient, self.key_other, self.value_other = (
            Tiled.of(parts.query, DEPTH, parts.depth, shape),
            Tiled.of(gradients.gradient, WIDTH, parts.width, shape),
            Tiled.of(gradients.key.other, DEPTH, parts.depth, shape),
            Tiled.of(gradients.value.other, WIDTH, parts.width, shape),
        )
        sums = self._along_rows()
        count = self.products.sums(shape.width)
        results = gradients.results
        self._deliver(gradients.value, WIDTH, results[2], self.keys, sums[:count], shape.width)
        self._deliver(gradients.key, DEPTH, results[1], self.keys, sums[count:], shape.depth)
        targets = [self.outputs[self.region.results.index(result)] for result in results[1:]]
        return self._launch(parts.keys, buffers, targets)

    def _source(self, tensor: Tensor, buffer: Buffer) -> Callable[[Position], Value]:
        return lambda position: self.em.load(buffer, position.linear(tensor.shape))

    def _pairs(self, first: Affine) -> list[list[_Pair]]:
        """The pairs of each key of this thread with its rows of a tile."""
        products, shape = self.products, self.shape
        scores = products.inner(self.left[0], self.passing[self.query], shape.depth)
        slopes = products.inner(self.left[1], self.passing[self.gradient], shape.width)
        rows = [self._row_place(first + column) for column in products.own_columns]
        return [
            [
                _Pair({**row, KEY: where[KEY]}, score, slope, exists)
                for (row, exists), score, slope in zip(rows, scores[i], slopes[i], strict=True)
            ]
            for i, (where, _) in enumerate(self.keys)
        ]

    def _along_rows(self) -> list[str]:
        gradients, products, parts, shape = self.gradients, self.products, self.parts, self.shape
        tiled = dict.fromkeys((self.query, self.gradient, self.key_other, self.value_other))
        count = products.sums(shape.width)

        def place(first: Affine) -> Place:
            return lambda row: self._row_place(first + row)

        def body(first: Affine, carried: list[str]) -> list[str]:
            pairs = self._pairs(first)
            probabilities = self._elements(parts.probabilities, parts.probabilities_at, pairs)
            slopes = self._elements(gradients.score_gradient, gradients.score_gradient_at, pairs)
            value_tile, key_tile = self.passing[self.value_other], self.passing[self.key_other]
            return [
                *products.outer(probabilities, value_tile, carried[:count], shape.width),
                *products.outer(slopes, key_tile, carried[count:], shape.depth),
            ]

        start = [self.number(0.0)] * (count + products.sums(shape.depth))
        return self._walk(self.space.rows, list(tiled), place, start, body)

    def _elements(
        self, tensor: Tensor, offset: Affine, pairs: Sequence[Sequence[_Pair]]
    ) -> list[list[Value]]:
        return [[self._element(tensor, offset, pair) for pair in row] for row in pairs]
