"""Products with a matrix and with its transpose in one pass: w = f(X v), then X' w.

The gradient of a linear or logistic regression by its weights is of this form. A block of rows is
multiplied with the vector; what is computed of the products row by row scales the same rows, which
are in the first-level cache by then, and the scaled rows are added up. So the matrix is read from
memory, or from the second-level cache, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild
from hlo.passes.hlo_to_loops.contraction_tiling import lanes_of
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel, the_only_unit
from hlo.passes.hlo_to_loops.matrix_multiply import MatrixOperand, matrix_operands
from hlo.passes.hlo_to_loops.matrix_vector_kernel import (
    STREAMS,
    WIDEST_SUMS,
    MatrixVector,
    Rows,
    matrix_vector_of,
)
from hlo.passes.hlo_to_loops.wide_vectors import registers_between

CLOSE_BYTES = 32 << 10  # of a block of rows that stays in the first-level cache
NEIGHBOURS = 4  # vectors of columns that are added to in the same loop over rows
CHAINS = 4  # sums of each, of rows that take turns, so that additions need not wait


@dataclass(frozen=True)
class TwoProducts:
    """The two dots, and what they share.

    Attributes:
        ahead: the dot of the matrix's rows with a vector, as `plan` says.
        behind: the dot of its columns with `scales`, in `pieces` runs of rows that are added up
            apart.
        scales: one element a row.
    """

    ahead: Node
    behind: Node
    plan: MatrixVector
    scales: Tensor
    pieces: int

    @property
    def matrix(self) -> Tensor:
        """As it is in memory, whatever shapes the products read it under."""
        return behind_reshapes(self.plan.matrix)

    @property
    def rows(self) -> int:
        return self.plan.outputs

    @property
    def columns(self) -> int:
        return self.plan.depth

    @property
    def bytes(self) -> int:
        """Of the matrix."""
        return self.rows * self.columns * self.matrix.type.memory_bytes

    @property
    def fewest_bytes(self) -> int:
        """Of the rows that are multiplied before they are scaled: those of a vector of sums."""
        return lanes_of(self.ahead.results[0].type) * self.columns * self.matrix.type.memory_bytes


def behind_reshapes(tensor: Tensor) -> Tensor:
    """The tensor that reshapes show under another shape."""
    while (node := tensor.producer) is not None and node.name == "reshape":
        tensor = node.operands[0]
    return tensor


def product_by_columns(node: Node) -> tuple[Tensor, Tensor] | None:
    """(matrix, scales) of a dot of a row-major matrix's columns with a vector; else None."""
    if node.name != "dot_general" or (operands := matrix_operands(node)) is None:
        return None
    for side in (0, 1):
        matrix, scales = operands[side], operands[1 - side]
        if _is_by_columns(matrix, scales):
            return behind_reshapes(node.operands[side]), behind_reshapes(node.operands[1 - side])
    return None


def _is_by_columns(matrix: MatrixOperand, scales: MatrixOperand) -> bool:
    columns, run = matrix.free.extent, matrix.summed.extent
    pieces = [axis for axis in matrix.batch if axis.extent > 1]
    parts = [axis for axis in scales.batch if axis.extent > 1]
    return (
        1 < columns <= WIDEST_SUMS
        and run > 1
        and matrix.free.stride == 1
        and matrix.summed.stride == columns
        and scales.free.extent == 1
        and scales.summed.stride == 1
        and [axis.stride for axis in pieces] == [columns * run] * min(len(pieces), 1)
        and [axis.stride for axis in parts] == [run] * min(len(parts), 1)
    )


def two_products(ahead: Node, behind: Node) -> TwoProducts | None:
    """Two dots as one pass over their matrix; None if they are not of that form."""
    plan = matrix_vector_of(ahead)
    found = product_by_columns(behind)
    if plan is None or found is None or not plan.by_rows or plan.count != 1:
        return None
    matrix, scales = found
    kind = product_type(ahead.results[0].type)
    same = behind.results[0].type == kind and matrix is behind_reshapes(plan.matrix)
    if not same or math.prod(plan.batch) != 1 or scales.size != plan.outputs:
        return None
    return TwoProducts(ahead, behind, plan, scales, behind.results[0].size // plan.depth)


def emit_two_products(region: Region) -> Kernel | None:
    """The kernel of two products; None for any other region."""
    dots = [node for node in region.nodes if node.name == "dot_general"]
    if len(dots) != 2 or (parts := two_products(dots[0], dots[1])) is None:
        return None
    return _TwoProducts(region, parts).emit() if parts.matrix in region.arguments else None


class _TwoProducts(Rows):
    """A work unit is a run of rows, which it takes a block at a time."""

    def __init__(self, region: Region, parts: TwoProducts) -> None:
        super().__init__(region, parts.ahead, parts.plan)
        self.parts = parts
        row_bytes = parts.columns * self.kind.memory_bytes
        close = self.lanes * STREAMS * row_bytes <= CLOSE_BYTES
        self.block = self.lanes * STREAMS if close else self.lanes
        # The sums over rows grow on the stack.
        self.sums, self.scales = self._on_stack(self.block), self._on_stack(self.block)
        self._first = 0
        self.together = registers_between(region, (parts.ahead, parts.behind), parts.rows)
        self.totals = self._on_stack(-(-parts.columns // self.lanes) * self.lanes)

    def _on_stack(self, size: int) -> Buffer:
        return Buffer(self.builder.stack_buffer(size, self.kind.memory), size, self.kind)

    def emit(self) -> Kernel:
        b, em, pieces = self.builder, self.em, self.parts.pieces
        if pieces == 1:
            with the_only_unit(b):
                self._run(ZERO)
        else:
            with b.loop("%begin", "%end", b.index(1)) as loop:
                self._run(em.variable(loop.iv, pieces))
        return self.kernel(pieces)

    def _run(self, piece: Affine) -> None:
        """The rows of one work unit."""
        b, em, parts = self.builder, self.em, self.parts
        run = parts.rows // parts.pieces
        first, whole = piece * run, run // self.block
        self.along(parts.columns, lambda column: em.store(self.zero(), self.totals, column))
        if whole:
            with b.loop(b.index(0), b.index(whole), b.index(1)) as loop:
                start = first + em.variable(loop.iv, whole) * self.block
                self._block(start, self.block)
        if run % self.block:
            self._block(first + whole * self.block, run % self.block)
        output = self.outputs[self.region.results.index(parts.behind.results[0])]

        def finish(column: Affine) -> None:
            em.store(em.load(self.totals, column), output, piece * parts.columns + column)

        self.along(parts.columns, finish)

    def _block(self, start: Affine, rows: int) -> None:
        self.rows(ZERO, start, rows)
        for names, mask in self._columns():
            self._add_rows(start, rows, names, mask)

    def rows(self, item: Affine, start: Affine, rows: int) -> None:
        """Scales of a block of rows: sums of a vector of rows at a time, then what is made of them,
        a few vectors together, so that their chains of operations run beside each other.
        """
        em, b = self.em, self.builder
        whole = rows // self.lanes * self.lanes
        if whole:
            with b.loop(b.index(0), b.index(whole), b.index(self.lanes)) as loop:
                at = em.variable(loop.iv, rows)
                together = [at + r for r in range(self.lanes)]
                sums = self._across(self.lane_totals(item, start, together))
                with em.vector(loop.iv, self.lanes):
                    em.store(sums, self.sums, at)
            self._scales_before(start, whole)
        if rows > whole:
            self._first = whole
            super().rows(item, start + whole, rows - whole)

    def _scales_before(self, start: Affine, whole: int) -> None:
        """Scales of a block's first rows, whole vectors of them."""
        em, b, group, first = self.em, self.builder, self.together * self.lanes, 0
        while first < whole:
            last = first + (whole - first) // group * group
            if last > first:
                with b.loop(b.index(first), b.index(last), b.index(group)) as loop:
                    at = em.variable(loop.iv, last)
                    with em.vector(loop.iv, group, wide=group > self.lanes):
                        self.pin_sum(at, 0, start + at)
                        self._scales_of(start, at)
            first, group = last, group // 2

    def _across(self, totals: Sequence[Value]) -> Value:
        """One vector of the sums of vectors' lanes, as many vectors as lanes."""
        b, lanes, width = self.builder, self.lanes, self.lanes
        kind = f"vector<{lanes}x{self.kind.register}>"
        values = list(totals)
        while width > 1:
            width //= 2
            halves = [
                ", ".join(
                    str(group + lane)
                    for group in range(half, 2 * lanes, 2 * width)
                    for lane in range(width)
                )
                for half in (0, width)
            ]
            joined: list[Value] = []
            for left, right in zip(values[::2], values[1::2], strict=True):
                parts = [
                    b.op(f"vector.shuffle {left.name}, {right.name} [{order}] : {kind}, {kind}")
                    for order in halves
                ]
                low, high = (Value(self.kind, (part,), lanes) for part in parts)
                with b.width(lanes):
                    joined += self.add([low], [high])
            values = joined
        return values[0]

    def finish(self, item: Affine, start: Affine, rows: int) -> None:
        """The scales of the last rows of a block, fewer than a vector."""
        for at in self.vectors_of(rows):
            self.pin_sum(at, 0, start + at)
            self._scales_of(start, at, self._first)

    def _scales_of(self, start: Affine, at: Affine, first: int = 0) -> None:
        """Keeps the scales of a vector of rows, and stores what is wanted of them.

        Args:
            first: row of the block that is at `start`.
        """
        em, position = self.em, Position.of_offset(start + at)
        scale = em.element(self.parts.scales, position)
        outputs = [
            (em.element(root, position), buffer)
            for root, buffer in zip(self.region.results, self.outputs, strict=True)
            if root is not self.parts.behind.results[0]
        ]
        em.store(elementwise.convert(self.builder, scale, self.kind), self.scales, at + first)
        for value, buffer in outputs:
            em.store(value, buffer, start + at)

    def _columns(self) -> Iterable[tuple[list[str], str | None]]:
        """Where neighbouring vectors of columns begin, each time within a loop over them."""
        b, em, columns = self.builder, self.em, self.parts.columns
        vectors = columns // self.lanes
        together = min(NEIGHBOURS, vectors)
        whole = vectors // together * together * self.lanes if together else 0
        if whole:
            step = together * self.lanes
            with b.loop(b.index(0), b.index(whole), b.index(step)) as loop:
                names = [loop.iv]
                for k in range(1, together):
                    offset = b.index(k * self.lanes)
                    names.append(b.op(f"arith.addi {loop.iv}, {offset} : index"))
                for name in names:
                    em.variable(name, columns)
                yield names, None
        for start in range(whole, vectors * self.lanes, self.lanes):
            name = b.load(f"arith.addi {b.index(start)}, {b.index(0)} : index")
            em.variable(name, columns)
            yield [name], None
        if columns % self.lanes:
            name, mask = self.masked_rest(vectors * self.lanes, columns)
            yield [name], mask

    def _add_rows(self, start: Affine, rows: int, names: Sequence[str], mask: str | None) -> None:
        """Adds a block's rows, scaled, to the sums of some vectors of columns."""
        b, em = self.builder, self.em
        whole = rows // CHAINS * CHAINS
        totals = [self.zero()] * (CHAINS * len(names))
        if whole:
            with b.width(self.lanes):
                kind = b.type_of(self.kind.register)
            carried = [(total.name, kind) for total in totals]
            with b.loop(b.index(0), b.index(whole), b.index(CHAINS), carried) as loop:
                row = em.variable(loop.iv, rows)
                held = rebuild([self.kind] * len(totals), loop.carried, self.lanes)
                done = self._chains(start, row, CHAINS, names, mask, held)
                loop.yielded = [total.name for total in done]
            totals = rebuild([self.kind] * len(totals), loop.results, self.lanes)
        totals = self._chains(start, ZERO + whole, rows - whole, names, mask, totals)
        for k, name in enumerate(names):
            with em.vector(name, self.lanes, mask):
                column = Affine.variable(name)
                chain = [totals[c * len(names) + k] for c in range(CHAINS)]
                while len(chain) > 1:
                    pairs = zip(chain[::2], chain[1::2], strict=True)
                    chain = [self.add([left], [right])[0] for left, right in pairs]
                total = self.add([em.load(self.totals, column)], chain)[0]
                em.store(total, self.totals, column)

    def _chains(
        self, start: Affine, row: Affine, count: int, names: Sequence[str], mask: str | None,
        totals: Sequence[Value],
    ) -> list[Value]:  # fmt: skip
        """Adds `count` rows, each to sums of its own."""
        em, new = self.em, list(totals)
        for c in range(count):
            with em.scalar():
                scale = em.load(self.scales, row + c)
            scale = em.splat(scale, self.lanes)
            for k, name in enumerate(names):
                with em.vector(name, self.lanes, mask):
                    place = (start + row + c) * self.parts.columns + Affine.variable(name)
                    factor = self.element(self.parts.matrix, place)
                    at = c * len(names) + k
                    new[at] = self.fma(scale, factor, new[at])
        return new
