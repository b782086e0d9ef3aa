"""Pulls values as `Emitter` does, one thread of many: aligned vectors, folds shared by threads.

A group of threads (a warp, a block) works on one row. What is the same for the whole row is
computed ahead of it by all of them, and a fold met there is divided: each thread folds every so
many elements, then the parts are added up by shuffles and through shared memory. If the row is
short enough its elements stay in registers: the threads' shares are written out (`chunks`), and a
value is known by its offset, so that what a fold computed is found again by the code that follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.folds import Fold, across_lanes
from hlo.passes.hlo_to_loops.graph import Tensor

MOST_IN_REGISTERS = 32  # elements of a row that a thread keeps
SMALLEST_SHARED_FOLD = 32  # elements of a fold that is divided among threads

# (outer indices, SSA start of a share, accumulators) -> accumulators
Step = Callable[[Sequence[Affine], str, list[Value]], list[Value]]


@dataclass(frozen=True)
class Group:
    """Threads that work together.

    Attributes:
        threads: a power of two; whole warps.
        member: SSA `index` of a thread's number in its group.
        level: the builder's level at which all of them run.
    """

    threads: int
    member: str
    level: int


@dataclass(frozen=True)
class Chunk:
    """A thread's share of a row: SSA `index` of its first element, and an i1 whether it exists."""

    start: str
    exists: str | None


class ThreadEmitter(Emitter):
    """An `Emitter` for the code of one thread.

    Attributes:
        group: the threads that divide folds; None while each thread works alone.
        divided: how many folds were divided.
        contiguous: how many loads were of neighbouring elements in neighbouring threads.
    """

    b: ThreadBuilder
    branch_free = True

    def __init__(self, builder: ThreadBuilder, buffers: Mapping[Tensor, Buffer]) -> None:
        super().__init__(builder, buffers)
        self.group: Group | None = None
        self.divided = 0
        self.contiguous = 0
        self.share_fold = self.fold_in_group

    # -- values ------------------------------------------------------------------------------------
    def element(self, tensor: Tensor, position: Position) -> Value:
        """As in `Emitter`, but a value is known by its offset, however its position is written."""
        b = self.b
        if b.lanes and self.lane is not None and self._is_uniform_position(tensor, position):
            return self._uniform(tensor, position)
        key = (tensor, position.linear(tensor.shape), b.lanes, self.mask)
        if (known := b.recall(key)) is not None:
            return known
        value = self._emit(tensor, position)
        b.remember(key, value)
        return value

    def pin(self, tensor: Tensor, position: Position, value: Value) -> None:
        key = (tensor, position.linear(tensor.shape), self.b.lanes, self.mask)
        self.b.remember(key, value)

    def clamped(self, index: Affine, extent: int) -> tuple[Affine, str | None]:
        """An index brought into [0, extent), and an i1 whether it was there; None if it always is.

        The index may not be negative.
        """
        b = self.b
        _, high = index.bounds(self.extents)
        if high < extent:
            return index, None
        name = self.index(index)
        if extent == 1:
            return ZERO, b.op(f"arith.cmpi eq, {name}, {b.index(0)} : index")
        inside = b.op(f"arith.cmpi ult, {name}, {b.index(extent)} : index")
        last = b.op(f"arith.minui {name}, {b.index(extent - 1)} : index")
        return self.name_index(last, extent), inside

    # -- memory ------------------------------------------------------------------------------------
    def load(self, buffer: Buffer, offset: Affine) -> Value:
        b, lanes = self.b, self.b.lanes
        if not lanes or self.lane is None:
            return super().load(buffer, offset)
        if self.mask is not None:
            raise NotVectorizableError("a load is under a condition of its own in each lane")
        if lanes > 1 and offset.coefficient(self.lane) != 1:
            raise NotVectorizableError("a load is not contiguous in the lanes")
        self.loaded.setdefault(buffer, set()).add(offset)
        self.contiguous += offset.coefficient(self.lane) == 1
        if self.body is not None and b.is_inside(self.body):
            self.loaded_in_body.setdefault(buffer, set()).add(offset)
        if lanes > 1 and self._is_aligned(offset):
            return self._load_contiguous(buffer, offset)
        parts = buffer.type.parts
        memory = b.type_of(buffer.type.memory)
        raws: list[str] = []
        for part in range(parts):
            scalars = [
                b.load(
                    f"memref.load {buffer.name}[{self.index((offset + lane) * parts + part)}] : "
                    f"{buffer.memref}"
                )
                for lane in range(lanes)
            ]
            raws.append(b.op(f"vector.from_elements {', '.join(scalars)} : {memory}"))
        return elementwise.unpack(b, buffer.type, raws)

    def store(self, value: Value, buffer: Buffer, offset: Affine) -> None:
        b, lanes = self.b, self.b.lanes
        if not lanes or self.lane is None:
            super().store(value, buffer, offset)
            return
        if lanes > 1 and offset.coefficient(self.lane) != 1:
            raise NotVectorizableError("a store is not contiguous in the lanes")
        if lanes > 1 and self._is_aligned(offset):
            super().store(value, buffer, offset)
            return
        parts, vector = buffer.type.parts, b.type_of(buffer.type.memory)
        for part, raw in enumerate(elementwise.pack(b, value)):
            for lane in range(lanes):
                scalar = b.op(f"vector.extract {raw}[{lane}] : {buffer.type.memory} from {vector}")
                at = self.index((offset + lane) * parts + part)
                b.effect(f"memref.store {scalar}, {buffer.name}[{at}] : {buffer.memref}")

    def _is_aligned(self, offset: Affine) -> bool:
        """Whether lane 0 is at a multiple of the vector's width; the lane variable always is."""
        lanes = self.b.lanes
        others = (c for name, c in offset.terms if name != self.lane)
        return offset.constant % lanes == 0 and all(c % lanes == 0 for c in others)

    # -- rows --------------------------------------------------------------------------------------
    def chunks(self, extent: int, lanes: int) -> list[Chunk] | None:
        """The shares of this thread in a row of `extent` elements; None if there are too many.

        Where a share does not exist its start is that of the last one: it may be read.
        """
        group, b = self.group, self.b
        assert group is not None
        stride = group.threads * lanes
        count = -(-extent // stride)
        if extent % lanes or count * lanes > MOST_IN_REGISTERS:
            return None
        chunks: list[Chunk] = []
        with b.width(0), b.at_level(group.level):
            first = self.index(Affine.variable(group.member) * lanes)
            for k in range(count):
                start = first
                if k:
                    start = b.op(f"arith.addi {first}, {b.index(k * stride)} : index")
                exists = None
                if (k + 1) * stride > extent:
                    limit = b.index(extent - lanes)
                    exists = b.op(f"arith.cmpi ule, {start}, {limit} : index")
                    start = b.op(f"arith.minui {start}, {limit} : index")
                self.variable(start, extent)
                chunks.append(Chunk(start, exists))
        return chunks

    # -- folds -------------------------------------------------------------------------------------
    def fold_in_group(self, work: Fold) -> list[Value] | None:
        """Divides a fold among the group's threads; None where it must not be divided.

        All threads of the group get the result.
        """
        group, b = self.group, self.b
        total = math.prod(work.extents)
        if (
            group is None
            or b.lanes
            or b.level != group.level
            or work.identity is None
            or total < SMALLEST_SHARED_FOLD
        ):
            return None
        self.divided += 1
        for lanes in self._lane_counts(work):
            try:
                partial = self._own_share(work, lanes)
            except NotVectorizableError:
                continue
            values = (
                across_lanes(self, partial, lanes, work.combine)
                if lanes > 1
                else self._first_lanes(partial)
            )
            return work.combine(work.initial, self._across_threads(work, values))
        raise NotVectorizableError("a fold cannot be divided among threads")

    def _lane_counts(self, work: Fold) -> list[int]:
        widest = max((v.type.part_type.bits for v in work.initial), default=32)
        lanes, inner = 128 // max(widest, 32), work.extents[-1]
        assert self.group is not None
        while lanes > 1 and (inner % lanes or inner < lanes * self.group.threads // 2):
            lanes //= 2
        return [lanes, 1] if lanes > 1 else [1]

    def _own_share(self, work: Fold, lanes: int) -> list[Value]:
        """This thread's part of a fold, in vectors of `lanes`."""
        group, b = self.group, self.b
        assert group is not None and work.identity is not None
        outer, inner = _divided_extents(work.extents, group.threads)
        if len(inner) > 1 and lanes > 1:
            raise NotVectorizableError("a vector would cross rows")
        run, types = math.prod(inner), [v.type for v in work.initial]
        with b.width(lanes):
            neutral = [
                elementwise.constant(b, t, c) for t, c in zip(types, work.identity, strict=True)
            ]

        def step(leading: Sequence[Affine], start: str, values: list[Value]) -> list[Value]:
            if len(inner) > 1:
                return self._flat_step(work, leading, inner, start, values)
            with self.vector(start, lanes):
                if b.level == group.level:
                    self.hoist_from_here()
                place = self.variable(start, run)
                return work.combine(values, work.element([*leading, place]))

        chunks = None if math.prod(outer) > 1 else self.chunks(run, lanes)
        if chunks is None:
            return self._looped_share(outer, run, neutral, step)
        values = neutral
        for chunk in chunks:
            if chunk.exists is None:
                values = step([Affine()] * len(outer), chunk.start, values)
                continue
            entered = step([Affine()] * len(outer), chunk.start, neutral)
            with b.width(lanes):
                exists = Value(element_type("i1"), (b.splat(chunk.exists, "i1"),), lanes)
                held = [
                    elementwise.select(b, exists, v, n)
                    for v, n in zip(entered, neutral, strict=True)
                ]
                values = held if values is neutral else work.combine(values, held)
        return values

    def _looped_share(
        self, outer: Sequence[int], run: int, neutral: list[Value], step: Step
    ) -> list[Value]:
        """A thread's part in loops: over all of `outer`, over every so many elements of `run`."""
        group, b = self.group, self.b
        assert group is not None
        lanes, types = neutral[0].lanes, [v.type for v in neutral]
        first = self.index(Affine.variable(group.member) * lanes)
        with b.width(lanes):
            kinds = register_types(self, types)

        def nest(depth: int, leading: list[Affine], values: list[Value]) -> list[Value]:
            if depth < len(outer) and outer[depth] == 1:
                return nest(depth + 1, [*leading, Affine()], values)
            bounds = first, b.index(run), b.index(group.threads * lanes)
            if depth < len(outer):
                bounds = b.index(0), b.index(outer[depth]), b.index(1)
            carried = list(zip((p for v in values for p in v.parts), kinds, strict=True))
            with b.loop(*bounds, carried) as loop:
                held = rebuild(types, loop.carried, lanes)
                if depth < len(outer):
                    index = self.variable(loop.iv, outer[depth])
                    done = nest(depth + 1, [*leading, index], held)
                else:
                    done = step(leading, loop.iv, held)
                loop.yielded = [p for v in done for p in v.parts]
            return rebuild(types, loop.results, lanes)

        return nest(0, [], neutral)

    def _flat_step(
        self, work: Fold, leading: Sequence[Affine], inner: Sequence[int], start: str,
        values: list[Value],
    ) -> list[Value]:  # fmt: skip
        """One element of a space of several short dimensions, in scalar code."""
        b, group = self.b, self.group
        self.group = None
        try:
            with self.scalar():
                indices, rest = list[Affine](), self.variable(start, math.prod(inner))
                for stride in suffix_products(inner)[:-1]:
                    quotient, rest = self.divmod(rest, stride)
                    indices.append(quotient)
                found = work.element([*leading, *indices, rest])
                total = work.combine(self._first_lanes(values), found)
        finally:
            self.group = group
        with b.width(1):
            return [
                Value(v.type, tuple(b.splat(p, v.type.register) for p in v.parts), 1) for v in total
            ]

    def _first_lanes(self, values: Sequence[Value]) -> list[Value]:
        """Scalars out of vectors of one lane."""
        return [
            Value(
                v.type,
                tuple(
                    self.b.op(f"vector.extract {p}[0] : {kind} from vector<1x{kind}>")
                    for p in v.parts
                ),
            )
            for v in values
            for kind in (v.type.register,)
        ]

    def _across_threads(self, work: Fold, values: Sequence[Value]) -> list[Value]:
        """Folds one set of values of each thread of the group into one that all of them have."""
        group, b = self.group, self.b
        assert group is not None
        current = self._butterfly(work, values, min(group.threads, WARP))
        if group.threads <= WARP:
            b.warp_barrier()  # what was read may be overwritten from here on
            return current
        warps = group.threads // WARP
        with b.width(0):
            thread = b.thread()
            lane = b.op(f"arith.andi {thread}, {b.constant(WARP - 1, 'i32')} : i32")
            warp = b.op(f"arith.shrui {thread}, {b.constant(5, 'i32')} : i32")
            slots: list[tuple[str, str, str]] = []
            leader = b.op(f"arith.cmpi eq, {lane}, {b.constant(0, 'i32')} : i32")
            place = b.as_index(warp)
            names = [p for v in current for p in v.parts]
            kinds = [v.type.register for v in current for _ in v.parts]
            for kind in kinds:
                stored = "i8" if kind == "i1" else kind
                slots.append((*b.shared(warps, stored), stored))
            with b.when(leader):
                for name, kind, (slot, memref, _) in zip(names, kinds, slots, strict=True):
                    raw = b.op(f"arith.extui {name} : i1 to i8") if kind == "i1" else name
                    b.effect(f"memref.store {raw}, {slot}[{place}] : {memref}")
            b.barrier()
            own = b.as_index(b.op(f"arith.andi {lane}, {b.constant(warps - 1, 'i32')} : i32"))
            gathered: list[str] = []
            for kind, (slot, memref, _) in zip(kinds, slots, strict=True):
                raw = b.load(f"memref.load {slot}[{own}] : {memref}")
                gathered.append(b.op(f"arith.trunci {raw} : i8 to i1") if kind == "i1" else raw)
        whole = rebuild([v.type for v in current], gathered, 0)
        return self._butterfly(work, whole, warps)

    def _butterfly(self, work: Fold, values: Sequence[Value], lanes: int) -> list[Value]:
        current = list(values)
        distance = lanes // 2
        while distance:
            other = [
                Value(
                    v.type,
                    tuple(self.b.shuffle_xor(p, v.type.register, distance) for p in v.parts),
                )
                for v in current
            ]
            current = work.combine(current, other)
            distance //= 2
        return current


def _divided_extents(extents: Sequence[int], threads: int) -> tuple[list[int], list[int]]:
    """(extents that each thread loops over, extents whose product the threads divide)."""
    wide = [e for e in extents if e > 1]
    if extents[-1] >= threads or len(wide) <= 1:
        return list(extents[:-1]), list(extents[-1:])
    return [], list(extents)
