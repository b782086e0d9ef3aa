"""Dots of a matrix with a few vectors: every element of the matrix is read once, at memory's speed.

Nothing of a large matrix is read twice, so the order of its lines decides. A core's prefetchers
follow a handful of streams that run on through memory (measured on Zen 4: 4 to 6 streams of whole
rows 25-30 GB/s, one stream of small pages or blocks of columns 10-18 GB/s), so both orders of the
matrix are walked in STREAMS of them:

- rows contiguous along the contracted dimension: STREAMS rows, a run of rows apart, are multiplied
  with the vectors at a time; sums stay in registers. Elementwise ops that follow are applied to a
  block of sums before they are stored.
- rows contiguous along the result: STREAMS rows, a part of the depth apart, are scaled and added to
  sums that stay in the first-level cache.

Those prefetchers stop at every page of 4 KiB, though: what leaves a core's own cache is asked for
some lines ahead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hlo.passes.cost.caches import own_cache_bytes
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.conditions import rebuild
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.folds import across_lanes
from hlo.passes.hlo_to_loops.gates import provide_gates
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import (
    Kernel,
    argument_buffers,
    kernel_of,
    read_where_written,
)
from hlo.passes.hlo_to_loops.lines_ahead import LinesAhead
from hlo.passes.hlo_to_loops.matrix_multiply import Axis, MatrixOperand, matrix_operands
from hlo.passes.hlo_to_loops.register_transpose import sums_of_lanes

MOST_VECTORS = 8  # more, and register tiles make better use of what they load
MOST_VECTORS_BY_ROWS = 12  # where tiles need the matrix turned
STREAMS = 4
# Up to so many vectors, rows of a matrix in a core's own cache whose lanes are added up together.
TOGETHER = ((2, 8), (6, 4), (MOST_VECTORS_BY_ROWS, 2))
REGISTERS, ALL_REGISTERS = 24, 32  # for sums; that there are
LARGE_MATRIX = 1 << 18  # elements that do not stay in the second-level cache
SMALLEST_MATRIX = 1 << 10
WIDEST_SUMS = 1 << 13  # columns whose sums a work unit holds in the first- and second-level caches


@dataclass(frozen=True)
class MatrixVector:
    """A dot of a matrix with few vectors, batched.

    Attributes:
        matrix, vectors: the operands; `matrix` is the left one if `matrix_left`.
        matrix_walk, vectors_walk: their dimensions in memory.
        matrix_left: then there is one vector.
        by_rows: whether the matrix is contiguous along the contracted dimension.
    """

    matrix: Tensor
    vectors: Tensor
    matrix_walk: MatrixOperand
    vectors_walk: MatrixOperand
    matrix_left: bool
    by_rows: bool

    @property
    def outputs(self) -> int:
        """Results for each vector."""
        return self.matrix_walk.free.extent

    @property
    def count(self) -> int:
        """Vectors."""
        return self.vectors_walk.free.extent

    @property
    def depth(self) -> int:
        return self.matrix_walk.summed.extent

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(axis.extent for axis in self.matrix_walk.batch)


def matrix_vector_of(node: Node) -> MatrixVector | None:
    """How a dot_general is a matrix times a few vectors that this kernel does best; None if not."""
    if node.name != "dot_general" or node.results[0].size == 0:
        return None
    if product_type(node.results[0].type).name not in ("f32", "f64"):
        return None
    if not all(o.type.is_float for o in node.operands):
        return None
    if (operands := matrix_operands(node)) is None:
        return None
    left, right = operands
    if left.free.extent <= MOST_VECTORS_BY_ROWS:
        found = _of(node.operands[1], right, node.operands[0], left, matrix_left=False)
    elif right.free.extent == 1:
        found = _of(node.operands[0], left, node.operands[1], right, matrix_left=True)
    else:
        return None
    size = found.outputs * found.depth * math.prod(found.batch)
    if found.by_rows:
        contiguous = found.vectors_walk.summed.stride == 1
        return found if contiguous and size >= SMALLEST_MATRIX else None
    contiguous = found.matrix_walk.free.stride == 1
    few = found.count <= MOST_VECTORS
    return found if few and contiguous and size >= LARGE_MATRIX else None


def _of(
    matrix: Tensor, walk: MatrixOperand, vectors: Tensor, other: MatrixOperand, *, matrix_left: bool
) -> MatrixVector:
    by_rows = walk.summed.stride == 1 and walk.summed.extent > 1
    return MatrixVector(matrix, vectors, walk, other, matrix_left, by_rows)


def emit_matrix_vector(region: Region) -> Kernel | None:
    """A kernel for a dot with few vectors and elementwise ops after it; None if it is no such."""
    dots = [n for n in region.nodes if n.name == "dot_general"]
    if len(dots) != 1:
        return None
    node = dots[0]
    plan = matrix_vector_of(node)
    inputs = set(region.arguments)
    if plan is None or plan.vectors not in inputs:
        return None
    if plan.by_rows:
        return Rows(region, node, plan).emit()
    alone = region.results[0] is node.results[0] and node.results[0].type == product_type(
        node.results[0].type
    )
    return _Columns(region, node, plan).emit() if alone else None


class Walk:
    """What both orders share: offsets of the operands and of the result."""

    def __init__(self, region: Region, node: Node, plan: MatrixVector) -> None:
        self.region, self.node, self.plan = region, node, plan
        self.kind = product_type(node.results[0].type)
        self.lanes = 16 if self.kind.name == "f32" else 8
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        provide_gates(self.em, region)
        for buffer in self.inputs.values():
            if buffer.elements * buffer.type.memory_bytes > own_cache_bytes():
                self.em.fetchers[buffer] = LinesAhead(near=False)

    def kernel(self, units: int, in_place: Sequence[int] = ()) -> Kernel:
        return kernel_of(self.builder, self.inputs.values(), self.outputs, units, in_place=in_place)

    def _items(self, item: Affine) -> list[Affine]:
        return list(self.em.dims(Position.of_offset(item), self.plan.batch))

    def _base(self, axes: Sequence[Axis], items: Sequence[Affine]) -> Affine:
        total = ZERO
        for axis, index in zip(axes, items, strict=True):
            total = total + index * axis.stride
        return total

    def _matrix_at(self, items: Sequence[Affine], output: Affine, depth: Affine) -> Affine:
        walk = self.plan.matrix_walk
        base = self._base(walk.batch, items)
        return base + output * walk.free.stride + depth * walk.summed.stride

    def _vector_at(self, items: Sequence[Affine], vector: int, depth: Affine) -> Affine:
        walk = self.plan.vectors_walk
        base = self._base(walk.batch, items)
        return base + vector * walk.free.stride + depth * walk.summed.stride

    def _result_at(self, item: Affine, vector: int, output: Affine) -> Affine:
        plan = self.plan
        return item * (plan.outputs * plan.count) + vector * plan.outputs + output

    def element(self, tensor: Tensor, offset: Affine) -> Value:
        value = self.em.element(tensor, Position.of_offset(offset))
        return elementwise.convert(self.builder, value, self.kind)

    def fma(self, left: Value, right: Value, total: Value) -> Value:
        b = self.builder
        name = b.op(
            f"math.fma {left.name}, {right.name}, {total.name} : {b.type_of(self.kind.register)}"
        )
        return Value(self.kind, (name,), b.lanes)

    def zero(self) -> Value:
        with self.builder.width(self.lanes):
            return elementwise.constant(self.builder, self.kind, 0)

    def masked_rest(self, start: int, end: int) -> tuple[str, str]:
        """(name of the index of a last partial vector, its mask)."""
        b = self.builder
        name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
        self.em.variable(name, end)
        return name, b.first_lanes(end - start, self.lanes)

    def along(self, width: int, body: Callable[[Affine], None]) -> None:
        """`body` at every vector of `width` columns."""
        b, em = self.builder, self.em
        whole = width // self.lanes * self.lanes
        if whole:
            with b.loop(b.index(0), b.index(whole), b.index(self.lanes)) as loop:
                column = em.variable(loop.iv, width)
                with em.vector(loop.iv, self.lanes, aligned=True):
                    body(column)
        if whole < width:
            name, mask = self.masked_rest(whole, width)
            with em.vector(name, self.lanes, mask, aligned=True):
                em.hoist_from_here()
                body(Affine.variable(name))


class Rows(Walk):
    """The matrix contiguous along the contracted dimension."""

    def emit(self) -> Kernel:
        em, b, plan = self.em, self.builder, self.plan
        self.block = STREAMS * self.lanes
        blocks = -(-plan.outputs // self.block)
        rest = plan.outputs - (blocks - 1) * self.block
        units = blocks * math.prod(plan.batch)
        self.written: set[Affine] = set()
        size = self.block * plan.count
        self.sums = Buffer(b.stack_buffer(size, self.kind.memory), size, self.kind)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            item, at = em.divmod(unit, blocks)
            if rest == self.block or blocks == 1:
                self.rows(item, at * self.block, rest)
            else:
                index = em.index(at)
                whole = b.op(f"arith.cmpi ne, {index}, {b.index(blocks - 1)} : index")
                with b.when(whole):
                    self.rows(item, at * self.block, self.block)
                last = b.op(f"arith.cmpi eq, {index}, {b.index(blocks - 1)} : index")
                with b.when(last):
                    self.rows(item, at * self.block, rest)
        inside = read_where_written(em, self.inputs.values(), self.written)
        return self.kernel(units, inside)

    def rows(self, item: Affine, start: Affine, rows: int) -> None:
        """`rows` results for each vector from `start` on: sums first, then what follows them."""
        b, em = self.builder, self.em
        together = self._rows_together()
        if rows >= together > 1:
            whole = rows // together * together
            with b.loop(b.index(0), b.index(whole), b.index(together)) as loop:
                self._sums_of_neighbours(item, start, em.variable(loop.iv, whole), together)
            if rows > whole:
                self._sums(item, start, [ZERO + r for r in range(whole, rows)])
            self.finish(item, start, rows)
            return
        streams = max(1, min(STREAMS, REGISTERS // self.plan.count))
        run = rows // streams
        if run:
            with b.loop(b.index(0), b.index(run), b.index(1)) as loop:
                row = em.variable(loop.iv, run)
                self._sums(item, start, [row + s * run for s in range(streams)])
        if rows % streams:
            self._sums(item, start, [ZERO + r for r in range(run * streams, rows)])
        self.finish(item, start, rows)

    def _rows_together(self) -> int:
        """Neighbouring rows whose lanes are added up together: of a matrix that a core's own cache
        holds, which nobody waits for, sums of lanes take as long as products. 1 for none.
        """
        plan = self.plan
        matrix_bytes = plan.matrix.size * plan.matrix.type.memory_bytes
        if matrix_bytes > own_cache_bytes() or plan.matrix not in self.inputs:
            return 1
        return next(rows for count, rows in TOGETHER if plan.count <= count)

    def _sums_of_neighbours(self, item: Affine, start: Affine, row: Affine, together: int) -> None:
        """Stores the dot products of some neighbouring rows with every vector."""
        em, b, count, lanes = self.em, self.builder, self.plan.count, self.lanes
        totals = self.lane_totals(item, start, [row + r for r in range(together)])
        names = [totals[r * count + v].name for v in range(count) for r in range(together)]
        for first in range(0, len(names), lanes):
            some = names[first : first + lanes]
            # Those that are missing are others again, whose sums are known.
            filled = [some[i % len(some)] for i in range(lanes)]
            sums = sums_of_lanes(b, filled, self.kind.register)
            for at in range(0, len(some), together):
                with b.width(lanes):
                    part = b.part(sums, self.kind.register, at, together)
                place = row + (first + at) // together * self.block
                b.effect(
                    f"vector.store {part}, {self.sums.name}[{em.index(place)}] : "
                    f"{self.sums.memref}, vector<{together}x{self.kind.register}>"
                )

    def _sums(self, item: Affine, start: Affine, rows: Sequence[Affine]) -> None:
        """Stores the dot products of some rows with every vector."""
        em, count = self.em, self.plan.count
        totals = self.lane_totals(item, start, rows)
        for r, row in enumerate(rows):
            for v in range(count):
                total = across_lanes(em, [totals[r * count + v]], self.lanes, self.add)[0]
                em.store(total, self.sums, row + v * self.block)

    def lane_totals(self, item: Affine, start: Affine, rows: Sequence[Affine]) -> list[Value]:
        """The dot products of some rows with every vector, in lanes still to be added up."""
        plan, em, b = self.plan, self.em, self.builder
        items = self._items(item)
        totals = [self.zero()] * (len(rows) * plan.count)
        whole = plan.depth // self.lanes * self.lanes

        def step(depth: Affine, old: Sequence[Value]) -> list[Value]:
            def vector(v: int) -> Value:
                return self.element(plan.vectors, self._vector_at(items, v, depth))

            def factor(row: Affine) -> Value:
                return self.element(plan.matrix, self._matrix_at(items, start + row, depth))

            if len(old) + plan.count + 1 > ALL_REGISTERS:
                factors = [factor(row) for row in rows]
                new = list(old)
                for v in range(plan.count):
                    one = vector(v)
                    for r, other in enumerate(factors):
                        at = r * plan.count + v
                        new[at] = self.fma(one, other, old[at])
                return new
            vectors = [vector(v) for v in range(plan.count)]
            new: list[Value] = []
            for r, row in enumerate(rows):
                one = factor(row)
                new += [
                    self.fma(each, one, old[r * plan.count + v]) for v, each in enumerate(vectors)
                ]
            return new

        if whole:
            with b.width(self.lanes):
                typ = b.type_of(self.kind.register)
            carried = [(t.name, typ) for t in totals]
            with b.loop(b.index(0), b.index(whole), b.index(self.lanes), carried) as loop:
                depth = em.variable(loop.iv, plan.depth)
                held = rebuild([self.kind] * len(totals), loop.carried, self.lanes)
                with em.vector(loop.iv, self.lanes, aligned=True):
                    loop.yielded = [t.name for t in step(depth, held)]
            totals = rebuild([self.kind] * len(totals), loop.results, self.lanes)
        if whole < plan.depth:
            name, mask = self.masked_rest(whole, plan.depth)
            with em.vector(name, self.lanes, mask, aligned=True):
                em.hoist_from_here()
                totals = step(Affine.variable(name), totals)
        return totals

    def add(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return [elementwise.EMITTERS["add"](self.builder, [left[0], right[0]], self.kind, {})]

    def finish(self, item: Affine, start: Affine, rows: int) -> None:
        """Rounds sums, applies what follows the dot, stores."""
        for at in self.vectors_of(rows):
            for v in range(self.plan.count):
                offset = self._result_at(item, v, start + at)
                self.written.add(offset)
                self.pin_sum(at, v, offset)
                position = Position.of_offset(offset)
                values = [self.em.element(root, position) for root in self.region.results]
                for value, buffer in zip(values, self.outputs, strict=True):
                    self.em.store(value, buffer, offset)

    def vectors_of(self, rows: int) -> Iterator[Affine]:
        """The places of a block's sums, a vector at a time, each in a region of its lanes."""
        b, em = self.builder, self.em
        for start in range(0, rows, self.lanes):
            with b.width(0):
                name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
            at = em.variable(name, rows)
            count = min(self.lanes, rows - start)
            mask = None
            if count < self.lanes:
                mask = b.first_lanes(count, self.lanes)
            with em.vector(name, self.lanes, mask):
                em.hoist_from_here()
                yield at

    def pin_sum(self, at: Affine, vector: int, offset: Affine) -> None:
        """Makes the sums at a place known as the dot's result at an offset."""
        tensor = self.node.results[0]
        total = self.em.load(self.sums, at + vector * self.block)
        value = elementwise.convert(self.builder, total, tensor.type)
        self.em.pin(tensor, Position.of_offset(offset), value)


class _Columns(Walk):
    """The matrix contiguous along the result, which holds the sums while they grow."""

    def emit(self) -> Kernel:
        em, b, plan = self.em, self.builder, self.plan
        blocks = -(-plan.outputs // WIDEST_SUMS)
        width = -(-plan.outputs // blocks // self.lanes) * self.lanes
        blocks = -(-plan.outputs // width)
        rest = plan.outputs - (blocks - 1) * width
        units = blocks * math.prod(plan.batch)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            item, at = em.divmod(unit, blocks)
            start = at * width
            if blocks == 1 or rest == width:
                self._columns(item, start, rest)
            else:
                index = em.index(at)
                whole = b.op(f"arith.cmpi ne, {index}, {b.index(blocks - 1)} : index")
                with b.when(whole):
                    self._columns(item, start, width)
                last = b.op(f"arith.cmpi eq, {index}, {b.index(blocks - 1)} : index")
                with b.when(last):
                    self._columns(item, start, rest)
        return self.kernel(units)

    def _columns(self, item: Affine, start: Affine, width: int) -> None:
        b, em, plan = self.builder, self.em, self.plan
        self.along(width, lambda column: self._clear(item, start + column))
        run = plan.depth // STREAMS
        if run:
            with b.loop(b.index(0), b.index(run), b.index(1)) as loop:
                depth = em.variable(loop.iv, run)
                self._add_rows(item, start, width, [depth + s * run for s in range(STREAMS)])
        if plan.depth % STREAMS:
            rest = [ZERO + d for d in range(run * STREAMS, plan.depth)]
            self._add_rows(item, start, width, rest)

    def _clear(self, item: Affine, column: Affine) -> None:
        for v in range(self.plan.count):
            self.em.store(self.zero(), self.outputs[0], self._result_at(item, v, column))

    def _add_rows(self, item: Affine, start: Affine, width: int, depths: Sequence[Affine]) -> None:
        """Adds some rows of the matrix, scaled, to every sum."""
        plan, em = self.plan, self.em
        items = self._items(item)

        def body(column: Affine) -> None:
            output = start + column
            rows = [
                self.element(plan.matrix, self._matrix_at(items, output, depth)) for depth in depths
            ]
            for v in range(plan.count):
                at = self._result_at(item, v, output)
                total = em.load(self.outputs[0], at)
                for row, depth in zip(rows, depths, strict=True):
                    scale = self.element(plan.vectors, self._vector_at(items, v, depth))
                    total = self.fma(scale, row, total)
                em.store(total, self.outputs[0], at)

        self.along(width, body)
