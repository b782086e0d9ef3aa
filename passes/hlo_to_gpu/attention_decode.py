"""Attention of few rows, as in decoding: keys and values are read once, straight from memory.

A few lanes take a key together, 16 bytes of it each, for all rows that share it; groups of lanes,
warps and blocks have other keys, each with a softmax of its own. What groups have is added up
within a warp, then a block, then, by a second launch, among the blocks of the same rows (the split
of the keys is that of "Flash-Decoding", Dao et al., 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread, RowSpace, RowState, Where
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import WARP
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.attention_parts import DEPTH, KEY, WIDTH, AttentionParts, Operand
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.online_softmax import OnlineSoftmax

MOST_ROWS = 8
MOST_HELD = 64  # elements of the query, and of the result, that a thread keeps
THREADS = 128
UNROLL = 4  # keys of a group of lanes at a time
ENOUGH_BLOCKS = 256
FEWEST_STEPS = 4  # of UNROLL keys, for a group of lanes to be worth a block of its own


@dataclass(frozen=True)
class DecodeShape:
    """How keys are divided.

    Attributes:
        lanes: that take a key together; a power of two.
        key_run, value_run: neighbours that a lane loads.
        key_runs, value_runs: how many such runs a lane has.
        splits: blocks that divide the keys of the same rows.
        steps: how often a block takes `UNROLL` keys for each of its groups of lanes.
    """

    lanes: int
    key_run: int
    value_run: int
    key_runs: int
    value_runs: int
    splits: int
    steps: int

    @property
    def streams(self) -> int:
        """Groups of lanes in a block."""
        return THREADS // self.lanes


def decode_shape(parts: AttentionParts, space: RowSpace) -> DecodeShape | None:
    """How a kernel of few rows divides the work; None where there are too many rows."""
    if space.rows > MOST_ROWS:
        return None
    key_run, value_run = _run(parts.key, parts.depth), _run(parts.value, parts.width)
    lanes = 1
    while lanes < WARP and lanes * key_run < parts.depth:
        lanes *= 2
    key_runs = -(-parts.depth // (lanes * key_run))
    value_runs = -(-parts.width // (lanes * value_run))
    if space.rows * max(key_runs * key_run, value_runs * value_run) > MOST_HELD:
        return None
    at_a_time = THREADS // lanes * UNROLL
    steps = -(-parts.keys // at_a_time)
    splits = max(1, min(-(-ENOUGH_BLOCKS // space.groups), steps // FEWEST_STEPS))
    steps = -(-steps // splits)
    return DecodeShape(
        lanes, key_run, value_run, key_runs, value_runs, -(-parts.keys // (steps * at_a_time)),
        steps,
    )  # fmt: skip


def _run(operand: Operand, extent: int) -> int:
    return math.gcd(16 // operand.tensor.type.memory_bytes, extent)


def emit_decode(
    region: Region, parts: AttentionParts, online: OnlineSoftmax, shape: DecodeShape
) -> GpuKernel:
    """The kernel, in one launch or two."""
    space = RowSpace.of(parts)
    kind = product_type(parts.scores.type)
    scratch: list[Buffer] = []
    if shape.splits > 1:
        size = space.groups * shape.splits * space.rows * (parts.width + 2)
        scratch.append(Buffer("%scratch0", size, kind))
    part = _Decode(region, parts, online, shape, scratch)
    buffers = [*part.inputs.values(), *part.outputs, *scratch]
    stages = [part.stage(buffers)]
    if scratch:
        stages.append(_combined(region, parts, online, shape, buffers))
    return gpu_kernel(stages, list(part.inputs.values()), part.outputs, scratch=scratch)


class _Decode(AttentionThread):
    def __init__(
        self, region: Region, parts: AttentionParts, online: OnlineSoftmax, shape: DecodeShape,
        scratch: Sequence[Buffer],
    ) -> None:  # fmt: skip
        super().__init__(region, parts, online, THREADS)
        self.shape, self.scratch = shape, scratch

    def stage(self, buffers: Sequence[Buffer]) -> Stage:
        em, b, shape, space = self.em, self.b, self.shape, self.space
        blocks = space.groups * shape.splits
        number = em.name_index(b.as_index(b.block_number(blocks)), blocks)
        group, split = em.divmod(number, shape.splits)
        self.enter(group)
        thread = em.variable(b.as_index(b.thread()), THREADS)
        self.stream, self.lane = em.divmod(thread, shape.lanes)
        self.rows = [self.row(ZERO + r) for r in range(space.rows)]
        states, sums = self._along_keys(split)
        self._across_groups(states, sums)
        self._across_warps(states, sums, group, split)
        written = self.scratch or self.outputs
        return stage(b, buffers, written, blocks * THREADS, THREADS)

    # -- keys --------------------------------------------------------------------------------------
    def _along_keys(self, split: Affine) -> tuple[list[RowState], list[list[str]]]:
        """The states of all rows and their sums of values, of this group of lanes."""
        em, b, shape, parts = self.em, self.b, self.shape, self.parts
        queries = [
            [
                name
                for run in range(shape.key_runs)
                for name in self._run(parts.query, where, DEPTH, parts.depth, shape.key_run, run)
            ]
            for where in self.rows
        ]
        width = shape.value_runs * shape.value_run
        start, zero = self.start(), self.number(0.0)
        carried: list[str] = []
        for _ in self.rows:
            carried += [start.peak, start.total, *[zero] * width]
        types = [(name, self.scalar) for name in carried]
        with b.loop(b.index(0), b.index(shape.steps), b.index(1), types) as loop:
            step = em.variable(loop.iv, shape.steps)
            first = (split * shape.steps + step) * (shape.streams * UNROLL) + self.stream
            keys = [em.clamped(first + shape.streams * u, parts.keys) for u in range(UNROLL)]
            states, sums = self._unpacked(loop.carried, width)
            self._take_in([k for k, _ in keys], [e for _, e in keys], queries, states, sums)
            for state, held in zip(states, sums, strict=True):
                loop.yielded += [state.peak, state.total, *held]
        return self._unpacked(loop.results, width)

    def _unpacked(self, names: Sequence[str], width: int) -> tuple[list[RowState], list[list[str]]]:
        each = width + 2
        rows = [names[r * each : (r + 1) * each] for r in range(len(self.rows))]
        return [RowState(r[0], r[1]) for r in rows], [list(r[2:]) for r in rows]

    def _take_in(
        self, keys: Sequence[Affine], exist: Sequence[str | None], queries: Sequence[list[str]],
        states: list[RowState], sums: list[list[str]],
    ) -> None:  # fmt: skip
        shape, parts = self.shape, self.parts
        loaded = [
            [
                name
                for run in range(shape.key_runs)
                for name in self._run(
                    parts.key, {**self.any_row(), KEY: key}, DEPTH, parts.depth, shape.key_run, run
                )
            ]
            for key in keys
        ]
        values = [self._values(key, exists) for key, exists in zip(keys, exist, strict=True)]
        distances = [d for d in (16, 8, 4, 2, 1) if d < shape.lanes]
        for r, (where, query) in enumerate(zip(self.rows, queries, strict=True)):
            scores = [self.across(self._dot(query, key), "addf", distances) for key in loaded]
            logits = self.logits(where, keys, exist, scores)
            factors, shrink, states[r] = self.absorb(where, keys, logits, states[r])
            held = [self.binary("mulf", name, shrink) for name in sums[r]]
            for factor, value in zip(factors, values, strict=True):
                name = self.as_kind(factor)
                held = [self.fma(name, v, total) for v, total in zip(value, held, strict=True)]
            sums[r] = held

    def _values(self, key: Affine, exists: str | None) -> list[str]:
        b, shape, parts = self.b, self.shape, self.parts
        where = {**self.any_row(), KEY: key}
        names = [
            name
            for run in range(shape.value_runs)
            for name in self._run(parts.value, where, WIDTH, parts.width, shape.value_run, run)
        ]
        if exists is None:
            return names
        zero = self.number(0.0)
        return [b.op(f"arith.select {exists}, {name}, {zero} : {self.scalar}") for name in names]

    def _dot(self, left: Sequence[str], right: Sequence[str]) -> str:
        total = self.number(0.0)
        for x, y in zip(left, right, strict=True):
            total = self.fma(x, y, total)
        return total

    def _run(
        self, operand: Operand, where: Where, name: str, extent: int, count: int,
        run: int,
    ) -> list[str]:  # fmt: skip
        """This lane's run of a row; zeros past its end."""
        b = self.b
        place, exists = self.em.clamped(self.lane + self.shape.lanes * run, extent // count)
        names = self.run_of(operand, where, name, place * count, count)
        if exists is None:
            return names
        zero = self.number(0.0)
        return [b.op(f"arith.select {exists}, {n}, {zero} : {self.scalar}") for n in names]

    # -- adding up ---------------------------------------------------------------------------------
    def _across_groups(self, states: list[RowState], sums: list[list[str]]) -> None:
        """Adds up what the groups of lanes of a warp have."""
        distances = [d for d in (16, 8, 4, 2, 1) if d >= self.shape.lanes]
        if not distances:
            return
        for r, state in enumerate(states):
            peak = self.across(state.peak, "maximumf", distances)
            scale = self.exponential(self.binary("subf", state.peak, self.anchor(peak)))
            total, *held = (
                self.across(self.binary("mulf", name, scale), "addf", distances)
                for name in (state.total, *sums[r])
            )
            states[r], sums[r] = RowState(peak, total), held

    def _across_warps(
        self, states: Sequence[RowState], sums: Sequence[Sequence[str]], group: Affine,
        split: Affine,
    ) -> None:  # fmt: skip
        """Adds up what warps have, through shared memory; stores results, or this block's part."""
        em, b, space, parts = self.em, self.b, self.space, self.parts
        each, warps = parts.width + 2, THREADS // WARP
        buffer, memref = b.shared(warps * space.rows * each, self.scalar)
        thread = em.variable(b.as_index(b.thread()), THREADS)
        warp, lane = em.divmod(thread, WARP)
        self._put(states, sums, warp, lane, buffer, memref)
        b.barrier()
        total = space.rows * parts.width
        with b.loop(b.as_index(b.thread()), b.index(total), b.index(THREADS)) as loop:
            row, column = em.divmod(em.variable(loop.iv, total), parts.width)

            def load(i: Affine, place: Affine) -> str:
                at = em.index((i * space.rows + row) * each + place)
                return b.load(f"memref.load {buffer}[{at}] : {memref}")

            state, held = merged(self, warps, column, load)
            if not self.scratch:
                where = self.row(row)
                self.store(where, column, self.finish(where, state)(held))
                return
            scratch = self.scratch[0]
            part = (group * self.shape.splits + split) * space.rows + row
            _store_part(self, scratch, part * each, column, state, held)

    def _put(
        self, states: Sequence[RowState], sums: Sequence[Sequence[str]], warp: Affine,
        lane: Affine, buffer: str, memref: str,
    ) -> None:  # fmt: skip
        """The first group of lanes of each warp stores what it has: peak, sum, then columns."""
        em, b, shape, parts = self.em, self.b, self.shape, self.parts

        def store(row: int, place: Affine | int, name: str) -> None:
            start = (warp * self.space.rows + row) * (parts.width + 2)
            b.effect(f"memref.store {name}, {buffer}[{em.index(start + place)}] : {memref}")

        first = b.op(f"arith.cmpi ult, {em.index(lane)}, {b.index(shape.lanes)} : index")
        with b.when(first):
            for r, (state, held) in enumerate(zip(states, sums, strict=True)):
                store(r, 0, state.peak)
                store(r, 1, state.total)
                for run in range(shape.value_runs):
                    place = self.lane + shape.lanes * run
                    place, exists = em.clamped(place, parts.width // shape.value_run)
                    names = held[run * shape.value_run :][: shape.value_run]
                    self._put_run(r, place * shape.value_run, names, exists, store)

    def _put_run(
        self, row: int, start: Affine, names: Sequence[str], exists: str | None,
        store: Callable[[int, Affine, str], None],
    ) -> None:  # fmt: skip
        def put() -> None:
            for i, name in enumerate(names):
                store(row, start + (2 + i), name)

        if exists is None:
            put()
            return
        with self.b.when(exists):
            put()


def merged(
    thread: AttentionThread, count: int, column: Affine, load: Callable[[Affine, Affine], str]
) -> tuple[RowState, str]:
    """The state of a row and one of its sums of values, of `count` parts.

    Args:
        load: (part, place) -> the peak at place 0, the sum of weights at 1, then sums of values.
    """
    em, b, scalar = thread.em, thread.b, thread.scalar
    start, zero = thread.start(), thread.number(0.0)
    carried = [(start.peak, scalar), (zero, scalar), (zero, scalar)]
    with b.loop(b.index(0), b.index(count), b.index(1), carried) as loop:
        part = em.variable(loop.iv, count)
        peak, total, held = loop.carried
        other = load(part, ZERO)
        highest = thread.binary("maximumf", peak, other)
        anchor = thread.anchor(highest)
        scales = [thread.exponential(thread.binary("subf", name, anchor)) for name in (peak, other)]
        pairs = ((total, load(part, ZERO + 1)), (held, load(part, column + 2)))
        sums = [
            thread.fma(old, scales[0], thread.binary("mulf", new, scales[1])) for old, new in pairs
        ]
        loop.yielded = [highest, *sums]
    highest, total, held = loop.results
    return RowState(highest, total), held


def _store_part(
    thread: AttentionThread, scratch: Buffer, start: Affine, column: Affine, state: RowState,
    held: str,
) -> None:  # fmt: skip
    em, b = thread.em, thread.b

    def store(place: Affine, name: str) -> None:
        at = em.index(start + place)
        b.effect(f"memref.store {name}, {scratch.name}[{at}] : {scratch.memref}")

    store(column + 2, held)
    first = b.op(f"arith.cmpi eq, {em.index(column)}, {b.index(0)} : index")
    with b.when(first):
        store(ZERO, state.peak)
        store(ZERO + 1, state.total)


def _combined(
    region: Region, parts: AttentionParts, online: OnlineSoftmax, shape: DecodeShape,
    buffers: Sequence[Buffer],
) -> Stage:  # fmt: skip
    """A thread for each element of the result adds up the parts of all blocks."""
    space = RowSpace.of(parts)
    threads = space.groups * space.rows * parts.width
    thread = AttentionThread(region, parts, online, block_for(threads))
    em, b = thread.em, thread.b
    scratch, each = buffers[-1], parts.width + 2

    def body(unit: Affine) -> None:
        rest, column = em.divmod(unit, parts.width)
        group, row = em.divmod(rest, space.rows)
        thread.enter(group)

        def load(i: Affine, place: Affine) -> str:
            start = (group * shape.splits + i) * space.rows + row
            at = em.index(start * each + place)
            return b.load(f"memref.load {scratch.name}[{at}] : {scratch.memref}")

        state, held = merged(thread, shape.splits, column, load)
        where = thread.row(row)
        thread.store(where, column, thread.finish(where, state)(held))

    guarded_threads(em, threads, body)
    return stage(b, buffers, thread.outputs, threads, b.block)
