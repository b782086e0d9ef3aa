"""Cumulative sums and the like: a block a line, or a thread where there are many lines.

A block takes as many elements of its line as it has threads, scans them by warps (Hillis and
Steele, "Data Parallel Algorithms", 1986), adds what the warps ahead of each have, and goes on with
the total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.cumulative_kernel import cumulative_dim, run_along_line
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.elemental.reductions import reducer
from hlo.passes.hlo_to_loops.folds import Combine, accumulator_type, identity_of
from hlo.passes.hlo_to_loops.graph import Node, Region, monoid_of
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

BLOCK = 256
MANY_LINES = 4096  # that a thread each is enough work for
SHORT_LINE = 64


def emit_running(region: Region, node: Node) -> GpuKernel | None:
    """A kernel of running accumulators along lines; None if the op is no cumulative one."""
    found = cumulative_dim(node)
    if found is None or node.results[0].size == 0:
        return None
    dim, backwards = found
    inputs, outputs = argument_buffers(region)
    shape = node.results[0].shape
    line = _Line(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]), backwards)
    has_neutral = monoid_of(node.regions[0]) is not None
    scans = has_neutral and line.count < MANY_LINES and line.length > SHORT_LINE
    made = _scanned(region, node, line) if scans else _walked(region, node, line, dim)
    return gpu_kernel([made], list(inputs.values()), outputs)


@dataclass(frozen=True)
class _Line:
    """Lines of `length` elements, `inner` apart, outer x inner of them."""

    outer: int
    length: int
    inner: int
    backwards: bool

    @property
    def count(self) -> int:
        return self.outer * self.inner

    def base(self, em: ThreadEmitter, number: Affine) -> Affine:
        """The offset of the first element of a line."""
        row, line = em.divmod(number, self.inner)
        return row * (self.length * self.inner) + line

    def at(self, place: Affine) -> Affine:
        """The distance from the first element to the one that comes at `place`."""
        return (place * -1 + (self.length - 1) if self.backwards else place) * self.inner


def _walked(region: Region, node: Node, line: _Line, dim: int) -> Stage:
    """A thread a line."""
    inputs, outputs = argument_buffers(region)
    em = ThreadEmitter(ThreadBuilder(block_for(line.count)), inputs)

    def body(unit: Affine) -> None:
        run_along_line(em, node, line.base(em, unit), dim, line.backwards)

    guarded_threads(em, line.count, body)
    return stage(em.b, [*inputs.values(), *outputs], outputs, line.count, em.b.block)


def _scanned(region: Region, node: Node, line: _Line) -> Stage:
    """A block a line."""
    inputs, outputs = argument_buffers(region)
    em = ThreadEmitter(ThreadBuilder(BLOCK), inputs)
    b, tensor = em.b, node.results[0]
    op = monoid_of(node.regions[0])
    assert op is not None
    kind = accumulator_type(op, tensor.type)
    scan = _Scan(em, kind, reducer(em, node.regions[0], op), _neutral(em, op, kind))
    number = em.name_index(b.as_index(b.block_number(line.count)), line.count)
    base, thread = line.base(em, number), b.as_index(b.thread())
    start = elementwise.convert(b, em.element(node.operands[1], Position.of_dims(())), kind)
    carried = list(zip(start.parts, register_types(em, [kind]), strict=True))
    with b.loop(b.index(0), b.index(line.length), b.index(BLOCK), carried) as loop:
        (running,) = rebuild([kind], loop.carried, 0)
        name = b.op(f"arith.addi {loop.iv}, {thread} : index")
        exists = b.op(f"arith.cmpi ult, {name}, {b.index(line.length)} : index")
        place = b.op(f"arith.minui {name}, {b.index(line.length - 1)} : index")
        offset = base + line.at(em.name_index(place, line.length))
        value = em.element(node.operands[0], Position.of_offset(offset))
        own = elementwise.select(
            b, Value(element_type("i1"), (exists,)), elementwise.convert(b, value, kind),
            scan.neutral,
        )  # fmt: skip
        upto, total = scan.block(own)
        result = scan.join(running, upto)
        with b.when(exists):
            em.store(elementwise.convert(b, result, tensor.type), outputs[0], offset)
        loop.yielded = list(scan.join(running, total).parts)
    return stage(b, [*inputs.values(), *outputs], outputs, line.count * BLOCK, BLOCK)


def _neutral(em: ThreadEmitter, op: str, kind: ElementType) -> Value:
    identity = identity_of(op, kind)
    assert identity is not None, "cumulative ops have neutral elements"
    return elementwise.constant(em.b, kind, identity)


@dataclass
class _Scan:
    """A scan of one value of each thread of a block."""

    em: ThreadEmitter
    kind: ElementType
    combine: Combine
    neutral: Value

    def __post_init__(self) -> None:
        b, register = self.em.b, self.kind.register
        self.stored = "i8" if register == "i1" else register
        warps = BLOCK // WARP
        self.slots = [b.shared(warps, self.stored) for _ in range(self.kind.parts)]

    def join(self, first: Value, second: Value) -> Value:
        return self.combine([first], [second])[0]

    def block(self, own: Value) -> tuple[Value, Value]:
        """(what the threads up to this one have, what all have)."""
        b = self.em.b
        lane = b.op(f"arith.andi {b.thread()}, {b.constant(WARP - 1, 'i32')} : i32")
        warp = b.op(f"arith.shrui {b.thread()}, {b.constant(5, 'i32')} : i32")
        upto = self._warp(own, lane)
        last = b.op(f"arith.cmpi eq, {lane}, {b.constant(WARP - 1, 'i32')} : i32")
        with b.when(last):
            for name, (slot, memref) in zip(self._stored(upto), self.slots, strict=True):
                b.effect(f"memref.store {name}, {slot}[{b.as_index(warp)}] : {memref}")
        b.barrier()
        ahead = total = self.neutral
        for number in range(BLOCK // WARP):
            part = self._loaded(number)
            before = b.op(f"arith.cmpi ugt, {warp}, {b.constant(number, 'i32')} : i32")
            joined = self.join(ahead, part)
            flag = Value(element_type("i1"), (before,))
            ahead = elementwise.select(b, flag, joined, ahead)
            total = self.join(total, part)
        b.barrier()
        return self.join(ahead, upto), total

    def _warp(self, own: Value, lane: str) -> Value:
        b, current, distance = self.em.b, own, 1
        while distance < WARP:
            parts = tuple(b.shuffle_up(p, self.kind.register, distance) for p in current.parts)
            reaches = b.op(f"arith.cmpi uge, {lane}, {b.constant(distance, 'i32')} : i32")
            joined = self.join(Value(self.kind, parts), current)
            flag = Value(element_type("i1"), (reaches,))
            current = elementwise.select(b, flag, joined, current)
            distance *= 2
        return current

    def _stored(self, value: Value) -> Sequence[str]:
        if self.kind.register != "i1":
            return value.parts
        return [self.em.b.op(f"arith.extui {value.name} : i1 to i8")]

    def _loaded(self, number: int) -> Value:
        b = self.em.b
        names = [
            b.load(f"memref.load {slot}[{b.index(number)}] : {memref}")
            for slot, memref in self.slots
        ]
        if self.kind.register == "i1":
            names = [b.op(f"arith.trunci {name} : i8 to i1") for name in names]
        return Value(self.kind, tuple(names))
