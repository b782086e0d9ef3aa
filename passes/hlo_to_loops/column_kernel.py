"""Kernels that fold columns ahead of the elements along them; see `column_space`.

A few vectors of neighbouring columns are folded down all rows, and then their elements are computed
row by row, while what was read for the folds is still in the core's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.column_space import ColumnSpace, folded_columns
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Region, Tensor
from hlo.passes.hlo_to_loops.joint_folds import Folds
from hlo.passes.hlo_to_loops.kept_rows import worth_keeping
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of
from hlo.passes.hlo_to_loops.loop_kernel import (
    ENOUGH_UNITS,
    NEIGHBOURS,
    Width,
    emitter_for,
    lanes_for,
)
from hlo.passes.hlo_to_loops.streaming import emit_streaming, units_together

At = Callable[[Affine], None]


def emit_columns(region: Region, width: Width, space: ColumnSpace) -> Kernel:
    """The kernel of a region over a column space.

    Raises:
        NotVectorizableError: the index maps do not allow that width.
    """
    inputs, outputs = argument_buffers(region)
    size = max(root.size for root in region.results)
    roots = list(zip(region.results, outputs, strict=True))
    whole = [(t, o) for t, o in roots if t.size == size]
    columns = {t: o for t, o in roots if t.size != size}
    builder = Builder()
    em = emitter_for(region, builder, inputs, width)
    folds = Folds.of(region)
    em.joint, em.earlier = folds.joint, folds.earlier
    lanes = lanes_for(width, space.extents)
    nest = _nest_of(region, space, lanes, folds)
    em.kept = worth_keeping(region)
    stored = _folded_results(region, dict(whole))
    keeper = _KeptColumns(em, space, nest.neighbours * max(lanes, 1), stored)
    em.columns = keeper if em.kept or stored else None
    others = [(t, o) for t, o in whole if o not in stored.values()]
    ahead = _of_columns(region, size // space.length)
    written: set[Affine] = set()

    def column(offset: Affine) -> None:
        """What there is one of for each column, given its first element; in program order."""
        at, place = em.divmod(offset, space.columns)
        outer, _ = em.divmod(at, space.length)
        at = outer * space.columns + place
        for tensor in ahead:
            value = em.element(tensor, Position.of_offset(at))
            if (buffer := columns.get(tensor)) is not None:
                em.store(value, buffer, at)

    def body(offset: Affine) -> None:
        em.body = builder.region
        roots = others if em.b.lanes else whole
        values = [em.element(root, Position.of_offset(offset)) for root, _ in roots]
        written.add(offset)
        for value, (_, buffer) in zip(values, roots, strict=True):
            em.store(value, buffer, offset)

    def reusable() -> list[int]:
        held = enumerate(inputs.values())
        if stored:
            passes = {folds.joint.get(n, (n,)) for n in region.nodes if n.name == "reduce"}
            once = len(passes) == 1 and not others
            seen = written | keeper.written
            return [i for i, b in held if once and em.loaded.get(b, set()) <= seen]
        return [i for i, buffer in held if _read_before_written(em, buffer, written)]

    emit_streaming(em, list(inputs.values()), outputs, lambda: nest.emit(em, lanes, column, body))
    return kernel_of(
        builder,
        inputs.values(),
        outputs,
        nest.units,
        together=units_together(outputs, nest.units),
        replaces=tuple((outputs.index(o), i) for _, o in whole for i in reusable()),
    )


def _folded_results(region: Region, whole: Mapping[Tensor, Buffer]) -> dict[Tensor, Buffer]:
    """What reductions read of a kernel's results, or of reshapes: stored as it is folded."""
    found: dict[Tensor, Buffer] = {}
    for node in region.nodes:
        for tensor in node.operands[: len(node.results)] if node.name == "reduce" else ():
            source = tensor
            while source.producer is not None and source.producer.name == "reshape":
                source = source.producer.operands[0]
            if source in whole and whole[source] not in found.values():
                found[tensor] = whole[source]
    return found


def _of_columns(region: Region, count: int) -> list[Tensor]:
    """What a kernel has one element of for each column: from the folds on, and results."""
    found: dict[Tensor, None] = {}
    for node in region.nodes:
        own = [t for t in node.results if t.size == count]
        folded = folded_columns(node) is not None
        if folded or any(o in found for o in node.operands) or set(own) & set(region.results):
            found.update(dict.fromkeys(own))
    return list(found)


def _read_before_written(em: Emitter, buffer: Buffer, written: set[Affine]) -> bool:
    """Whether elements of an input are last read by what is computed of them, or by the folds of
    their columns, which are done by then.
    """
    ahead = em.loaded.get(buffer, set()) - written
    if ahead & em.loaded_in_body.get(buffer, set()):
        return False
    return all(any(_same_column(em, read, at) for at in written) for read in ahead)


def _same_column(em: Emitter, read: Affine, written: Affine) -> bool:
    """Whether two offsets differ only in which variables walk down the column."""
    difference = read + written * -1
    if difference.constant:
        return False
    terms = [(c, em.extents[name]) for name, c in difference.terms]
    return sorted(t for t in terms if t[0] > 0) == sorted((-c, e) for c, e in terms if c < 0)


def _nest_of(region: Region, space: ColumnSpace, lanes: int, folds: Folds) -> _Nest:
    """Of how many columns the rows are taken at a time, and how many are a work unit."""
    held = [n for n in region.nodes if folded_columns(n) is not None]
    sums = max(len(folds.joint.get(n, (n,))) for n in held)
    count = NEIGHBOURS // max(sums, 1) if lanes else 1
    step = max(lanes, 1)
    while count > 1 and count * step > space.extents[-1]:
        count //= 2
    group = max(count, 1) * step
    outer = math.prod(space.extents) // (space.length * space.extents[-1])
    blocks = -(-space.extents[-1] // group)
    together = max(1, outer * blocks // ENOUGH_UNITS)
    return _Nest(space, max(count, 1), group * min(together, blocks))


@dataclass(frozen=True)
class _Nest:
    """Loops over columns, with those along a column inside.

    Attributes:
        neighbours: vectors of a row that are computed together.
        block: columns of a work unit, of those in the innermost loop.
    """

    space: ColumnSpace
    neighbours: int
    block: int

    @property
    def outer(self) -> tuple[int, ...]:
        """Extents of the loops around a run of columns."""
        space = self.space
        return (*space.extents[: space.row], *space.extents[space.column : -1])

    @property
    def blocks(self) -> int:
        return -(-self.space.extents[-1] // self.block)

    @property
    def units(self) -> int:
        return math.prod(self.outer) * self.blocks

    def emit(self, em: Emitter, lanes: int, column: At, body: At) -> None:
        """Emits the loops: `column` is called for each vector of columns, then `body` for each of
        its elements, both with their offset.
        """
        b, space = em.b, self.space
        strides = suffix_products(space.extents)
        around = (*strides[: space.row], *strides[space.column : -1])
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, self.units) if self.units > 1 else ZERO
            *leading, block = em.dims(Position.of_offset(unit), (*self.outer, self.blocks))
            base = ZERO
            for index, stride in zip(leading, around, strict=True):
                base = base + index * stride
            self._columns(em, lanes, column, body, base, block)

    def _columns(
        self, em: Emitter, lanes: int, column: At, body: At, base: Affine, block: Affine
    ) -> None:
        """The columns of a work unit: groups of vectors, single ones, then the rest of a vector."""
        b, extent = em.b, self.space.extents[-1]
        step = max(lanes, 1)
        whole = extent // step * step
        start, end = em.index(block * self.block), b.index(whole)
        if self.blocks > 1:
            stop = em.index(block * self.block + self.block)
            end = b.op(f"arith.minsi {stop}, {end} : index")
        for count in dict.fromkeys((self.neighbours, 1)):
            last = end
            if count > 1:
                grouped = b.index(extent // (count * step) * count * step)
                last = b.op(f"arith.minsi {end}, {grouped} : index")
            with b.loop(start, last, b.index(count * step)) as loop:
                self._group(em, lanes, column, body, base, loop.iv, count)
            start = b.op(f"arith.maxsi {start}, {last} : index")
        if whole == extent:
            return
        if self.blocks == 1:
            self._rest(em, lanes, column, body, base, whole)
            return
        holder = b.index(whole // self.block)
        with b.when(b.op(f"arith.cmpi eq, {em.index(block)}, {holder} : index")):
            self._rest(em, lanes, column, body, base, whole)

    def _group(
        self, em: Emitter, lanes: int, column: At, body: At, base: Affine, first: str, count: int
    ) -> None:
        """Neighbouring vectors of columns, or single columns; inside the loop over them."""
        b, extent = em.b, self.space.extents[-1]
        names = [first]
        names += [
            b.op(f"arith.addi {first}, {b.index(g * lanes)} : index") for g in range(1, count)
        ]
        places = [base + em.variable(name, extent) for name in names]
        if not lanes:
            column(places[0])
            self._rows(em, places[0], body)
            return
        level = b.level - 1
        em.neighbours = tuple(names) if count > 1 else ()
        self._place(em, names, lanes)
        for name, place in zip(names, places, strict=True):
            with em.vector(name, lanes):
                column(place)
        em.neighbours = ()

        def row(offset: Affine) -> None:
            for name in names:
                with em.vector(name, lanes, level=level):
                    body(offset + Affine.variable(name))

        self._rows(em, base, row)

    @staticmethod
    def _place(em: Emitter, names: Sequence[str], lanes: int) -> None:
        """Says where in what is kept of a row the vectors of a group are."""
        if isinstance(em.columns, _KeptColumns):
            em.columns.slots = {name: g * lanes for g, name in enumerate(names)}

    def _rest(
        self, em: Emitter, lanes: int, column: At, body: At, base: Affine, whole: int
    ) -> None:
        """The last, partial vector of columns, under a mask."""
        b, extent = em.b, self.space.extents[-1]
        if extent - whole == 1:
            # One element needs no mask (and LLVM 22 loses a masked copy of one 16-bit lane).
            column(base + whole)
            self._rows(em, base + whole, body)
            return
        name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
        mask = b.first_lanes(extent - whole, lanes)
        place = base + em.variable(name, extent)
        with em.vector(name, lanes, mask):
            em.hoist_from_here()
            self._place(em, [name], lanes)
            column(place)
            self._rows(em, place, body)

    def _rows(self, em: Emitter, base: Affine, body: At, depth: int = 0) -> None:
        """The loops along a column."""
        b, space = em.b, self.space
        place = space.row + depth
        if place == space.column:
            body(base)
            return
        with b.width(0):
            bounds = b.index(0), b.index(space.extents[place]), b.index(1)
        with b.loop(*bounds) as loop:
            index = em.variable(loop.iv, space.extents[place])
            stride = suffix_products(space.extents)[place]
            self._rows(em, base + index * stride, body, depth + 1)


class _KeptColumns:
    """Buffers of the columns that are computed together, row by row.

    Args:
        group: elements of a row that are computed together, at the most.
        stored: what is a result of the kernel, and its buffer.

    Attributes:
        slots: where in a row of the buffers the vector of a lane variable is.
        written: the offsets at which results were stored.
    """

    def __init__(
        self, em: Emitter, space: ColumnSpace, group: int, stored: Mapping[Tensor, Buffer]
    ) -> None:
        self.slots: dict[str, int] = {}
        self.written: set[Affine] = set()
        self._stored = stored
        self._em, self._space, self._group = em, space, group
        self._buffers: dict[Tensor, str] = {}
        self._seen: dict[tuple[object, ...], None] = {}

    def see(self, tensor: Tensor, position: Position, value: Value) -> None:
        em = self._em
        if not em.b.lanes or em.lane not in self.slots:
            return
        if (buffer := self._stored.get(tensor)) is not None:
            offset = position.linear(tensor.shape)
            self.written.add(offset)
            em.store(value, buffer, offset)
        if tensor not in em.kept:
            return
        if tensor not in self._buffers:
            if not em.b.has_stack(self._elements, tensor.type.register):
                return  # it is computed again
            self._buffers[tensor] = em.b.stack_buffer(self._elements, tensor.type.register)
        key, place = self._at(tensor, position)
        vector = em.b.type_of(tensor.type.register)
        em.b.effect(f"vector.store {value.name}, {place} : {self._memref(tensor)}, {vector}")
        self._seen[key] = None

    def remember(self) -> None:
        for key in self._seen:
            self._em.b.remember(key, True)
        self._seen = {}

    def load(self, tensor: Tensor, position: Position) -> Value | None:
        em = self._em
        if tensor not in self._buffers or em.lane not in self.slots:
            return None
        key, place = self._at(tensor, position)
        if em.b.recall(key) is None:
            return None
        vector = em.b.type_of(tensor.type.register)
        name = em.b.load(f"vector.load {place} : {self._memref(tensor)}, {vector}")
        return Value(tensor.type, (name,), em.b.lanes)

    @property
    def _elements(self) -> int:
        return self._space.length * self._group

    def _memref(self, tensor: Tensor) -> str:
        return f"memref<{self._elements}x{tensor.type.register}>"

    def _at(self, tensor: Tensor, position: Position) -> tuple[tuple[object, ...], str]:
        """What the columns at a position are remembered by, and the place of its row."""
        em, space = self._em, self._space
        assert em.lane is not None
        rows, column = em.divmod(position.linear(tensor.shape), space.columns)
        outer, row = em.divmod(rows, space.length)
        index = em.index(row * self._group + self.slots[em.lane])
        return ("kept", tensor, outer, column), f"{self._buffers[tensor]}[{index}]"
