"""Kernels that change part of a buffer: dynamic_update_slice, scatter, select_and_scatter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.index_values import clamped_index, widened
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of
from hlo.passes.hlo_to_loops.loop_kernel import Nest, Width, at_best_width, emitter_for, lanes_for
from hlo.passes.hlo_to_loops.scalar_regions import apply

Update = Callable[[Affine, list[Value]], None]

COLUMN_BYTES = 512  # of a window that a thread should have at the least: less takes as long
FEWEST_LANES = 3  # elements of a window that are worth a vector
COLUMN_UNITS = 4  # at the most: each goes through all indices


def emit_dynamic_update_slice(region: Region, node: Node) -> Kernel:
    """Writes the update into the operand's memory: `region.results` is the result of `node`."""
    return at_best_width(region, lambda width: _update_slice(region, node, width))


def _update_slice(region: Region, node: Node, width: Width) -> Kernel:
    operand, update, *starts = node.operands
    inputs, outputs = argument_buffers(region)
    whole = len(operand.shape)  # from this dimension on, the update covers all of the operand
    while whole and update.shape[whole - 1] == operand.shape[whole - 1]:
        whole -= 1
    strides, own = suffix_products(operand.shape), suffix_products(update.shape)
    builder = Builder()
    em = emitter_for(region, builder, inputs, width)
    extents = merge_cuts(
        set(em.cuts(update)) | {own[d] for d in range(max(whole - 1, 0))}, update.size
    )
    lanes = lanes_for(width, extents)
    nest, written = Nest.of(extents), set[Affine]()
    base = ZERO
    for start, size, taken, stride in zip(
        starts, operand.shape, update.shape, strides, strict=True
    ):
        base = base + clamped_index(em, start, Position.of_dims(()), size - taken) * stride

    def body(offset: Affine) -> None:
        target, rest = base, offset
        for d in range(max(whole - 1, 0)):
            index, rest = em.divmod(rest, own[d])
            target = target + index * strides[d]
        value = em.element(update, Position.of_offset(offset))
        written.add(target + rest)
        em.store(value, outputs[0], target + rest)

    if update.size:
        nest.emit(em, lanes, body)
    position = region.arguments.index(operand)
    return kernel_of(
        builder,
        inputs.values(),
        outputs,
        nest.units if update.size else 0,
        updates=(position,),
        update_safe=_safe(em, inputs[operand], written, update.size),
    )


def _safe(em: Emitter, buffer: Buffer, written: set[Affine], elements: int) -> bool:
    """Whether what is read of a buffer is read before it is overwritten."""
    read = em.loaded.get(buffer, set())
    return not read or elements == 1 or read <= written


def emit_scatter(region: Region, node: Node) -> Kernel:
    """Applies the updates one after another, in row-major order of the scatter indices.

    The work units are what the first dimension of the indices counts, if it is a batching one, or
    columns of wide windows: each goes through all indices, so that every element is updated in
    order, by one thread. (Rows of the result as units take longer than one thread alone: a branch
    for every index that nobody can predict.)
    """
    try:
        return Scatter(region, node).emit(vector=True)
    except NotVectorizableError:
        return Scatter(region, node).emit(vector=False)


def updates_vectors(node: Node) -> bool:
    """Whether a scatter changes one operand, by vectors of neighbours."""
    return len(node.results) == 1 and Scatter(Region(), node).lanes > 0


class Scatter:
    """A scatter op, read into what its loops need."""

    def __init__(self, region: Region, node: Node) -> None:
        self.region, self.node = region, node
        count = (len(node.operands) - 1) // 2
        self.operands = node.operands[:count]
        self.indices = node.operands[count]
        self.updates = node.operands[count + 1 :]
        numbers = node.attributes["scatter_dimension_numbers"]
        self.window_dims: tuple[int, ...] = numbers.get("update_window_dims", ())
        inserted: tuple[int, ...] = numbers.get("inserted_window_dims", ())
        self.batching: tuple[int, ...] = numbers.get("input_batching_dims", ())
        self.indices_batching: tuple[int, ...] = numbers.get("scatter_indices_batching_dims", ())
        self.targets: tuple[int, ...] = numbers.get("scatter_dims_to_operand_dims", ())
        self.vector_dim: int = numbers.get("index_vector_dim", 0)
        hidden = {*inserted, *self.batching}
        self.shape = self.operands[0].shape
        self.window_operand_dims = [d for d in range(len(self.shape)) if d not in hidden]
        self.units = 1
        # SSA index: where the range of units begins and ends in the last window dimension.
        self.columns: tuple[str, str] | None = None

    def emit(self, *, vector: bool) -> Kernel:
        inputs, outputs = argument_buffers(self.region)
        builder = Builder()
        em = Emitter(builder, inputs)
        shape = self.updates[0].shape
        scatter_dims = [d for d in range(len(shape)) if d not in self.window_dims]
        lanes = self.lanes if vector else 0
        if vector and not lanes:
            raise NotVectorizableError("the window is not contiguous in the operand")
        if math.prod(shape):
            extents = [shape[d] for d in scatter_dims]
            batch = 0 in self.indices_batching and self.vector_dim != 0 and extents[0] > 1
            self.units = extents[0] if batch else self._divide(em, lanes)
            first = ("%begin", "%end") if batch else None
            self._positions(em, outputs, lanes, extents, [], first)
        operand_at = tuple(self.region.arguments.index(t) for t in self.operands)
        read = any(em.loaded.get(inputs[t]) for t in self.operands)
        return kernel_of(
            builder,
            inputs.values(),
            outputs,
            self.units if math.prod(shape) else 0,
            updates=operand_at,
            update_safe=not read,
        )

    def _divide(self, em: Emitter, lanes: int) -> int:
        """Sets `columns`; the number of work units."""
        b = em.b
        if lanes:
            extent = self.updates[0].shape[-1]
            size = min(t.type.memory_bytes for t in self.operands)
            units = min(COLUMN_UNITS, extent * size // COLUMN_BYTES)
            if units > 1:
                block = -(-extent // (units * lanes)) * lanes
                low, high = (
                    b.op(f"arith.muli {bound}, {b.index(block)} : index")
                    for bound in ("%begin", "%end")
                )
                whole = b.index(extent // lanes * lanes)
                self.columns = low, b.op(f"arith.minsi {high}, {whole} : index")
                return -(-extent // block)
        return 1

    @property
    def lanes(self) -> int:
        """Vector lanes along the last window dimension, if it is contiguous in the operand."""
        shape = self.updates[0].shape
        if not self.window_dims or self.window_dims[-1] != len(shape) - 1:
            return 0
        d = self.window_operand_dims[-1]
        if d != len(self.shape) - 1 or d in self.targets or shape[-1] < FEWEST_LANES:
            return 0
        widest = max(t.type.part_type.bits for t in self.operands)
        return min(512 // max(widest, 32), 1 << (shape[-1].bit_length() - 1))

    def _positions(
        self,
        em: Emitter,
        outputs: list[Buffer],
        lanes: int,
        extents: list[int],
        outer: list[Affine],
        part: tuple[str, str] | None = None,
    ) -> None:
        """Loops over the scatter dimensions that are left, the first from one SSA index to another
        if `part` gives them.
        """
        if extents:
            b = em.b
            begin, end = part or (b.index(0), b.index(extents[0]))
            with b.loop(begin, end, b.index(1)) as loop:
                index = em.variable(loop.iv, extents[0])
                self._positions(em, outputs, lanes, extents[1:], [*outer, index])
            return
        starts, fixed = self.starts_of(em, outer), self.batch_of(outer)
        rows = {d: starts.pop(d) for d in list(starts) if d not in self.window_operand_dims}
        with ExitStack() as stack:
            # Once for each window, so that what its elements share is computed ahead of them.
            if rows:
                checks = [self._is_inside(em, d, name) for d, name in rows.items()]
                stack.enter_context(em.b.when(_all_of(em, checks)))
            fixed |= {d: self._index(em, d, name) for d, name in rows.items()}
            self._window(em, outputs, lanes, outer, starts, fixed, [])

    def _is_inside(self, em: Emitter, d: int, name: str) -> str:
        """SSA i1: whether an i64 is an index in a dimension of the operand."""
        b = em.b
        with b.width(0):
            return b.op(f"arith.cmpi ult, {name}, {b.constant(self.shape[d], 'i64')} : i64")

    def _index(self, em: Emitter, d: int, name: str) -> Affine:
        """An i64 that is such an index."""
        with em.b.width(0):
            cast = em.b.op(f"arith.index_cast {name} : i64 to index")
        return em.name_index(cast, self.shape[d])

    def starts_of(self, em: Emitter, outer: Sequence[Affine]) -> dict[int, str]:
        """Where the window at a position of the scatter dimensions starts: SSA i64 by dimension."""
        starts: dict[int, str] = {}
        for k, d in enumerate(self.targets):
            at = list(outer)
            if self.vector_dim < self.indices.rank:
                at.insert(self.vector_dim, Affine((), k))
            starts[d] = widened(em, em.element(self.indices, Position.of_dims(at)))
        return starts

    def batch_of(self, outer: Sequence[Affine]) -> dict[int, Affine]:
        """The index in each batching dimension of the operand."""
        return {
            d: outer[s - (1 if self.vector_dim < s else 0)]
            for d, s in zip(self.batching, self.indices_batching, strict=True)
        }

    def _window(
        self, em: Emitter, outputs: list[Buffer], lanes: int, outer: list[Affine],
        starts: dict[int, str], batch: dict[int, Affine], inner: list[Affine],
    ) -> None:  # fmt: skip
        b, depth = em.b, len(inner)
        shape = self.updates[0].shape
        if depth == len(self.window_dims):
            self.combine(em, outputs, outer, starts, batch, inner)
            return
        extent = shape[self.window_dims[depth]]
        last = depth == len(self.window_dims) - 1
        step = lanes if lanes and last else 1
        whole = extent // step * step
        start, end = b.index(0), b.index(whole)
        if last and self.columns is not None:
            start, end = self.columns
        with b.loop(start, end, b.index(step)) as loop:
            index = em.variable(loop.iv, extent)
            if step > 1:
                with em.vector(loop.iv, lanes):
                    self._window(em, outputs, lanes, outer, starts, batch, [*inner, index])
            else:
                self._window(em, outputs, lanes, outer, starts, batch, [*inner, index])
        if whole == extent:
            return
        with ExitStack() as stack:
            if last and self.columns is not None:
                at_end = b.op(f"arith.cmpi eq, %end, {b.index(self.units)} : index")
                stack.enter_context(b.when(at_end))
            rest = extent - whole
            self._window_rest(em, outputs, outer, starts, batch, inner, whole, rest)

    def _window_rest(
        self, em: Emitter, outputs: list[Buffer], outer: list[Affine], starts: dict[int, str],
        batch: dict[int, Affine], inner: list[Affine], first: int, rest: int,
    ) -> None:  # fmt: skip
        """The end of a window's row, in vectors of halves of the lanes: 7 elements are 4, 2 and 1.

        What is stored with a mask would have to reach the cache before it is loaded again, by a
        later update of the same element: 20 cycles in place of 8.
        """
        b = em.b
        while rest:
            lanes = 1 << (rest.bit_length() - 1)
            if lanes == 1:
                last = [*inner, Affine((), first)]
                self._window(em, outputs, 0, outer, starts, batch, last)
                return
            name = b.load(f"arith.addi {b.index(first)}, {b.index(0)} : index")
            with em.vector(name, lanes):
                em.hoist_from_here()
                place = [*inner, em.variable(name, first + lanes)]
                self._window(em, outputs, lanes, outer, starts, batch, place)
            first, rest = first + lanes, rest - lanes

    def combine(
        self, em: Emitter, outputs: list[Buffer], outer: list[Affine], starts: dict[int, str],
        batch: dict[int, Affine], inner: list[Affine], update: Update | None = None,
    ) -> None:  # fmt: skip
        """Applies one element of the updates, if its place is in the operand.

        Args:
            update: changes the element at an offset by new values; without it, that is read,
                computed by the op's body, and written.
        """
        b, rank = em.b, len(self.shape)
        window = dict(zip(self.window_operand_dims, inner, strict=True))
        at: list[Affine] = [ZERO] * rank
        checks: list[str] = []
        for d in range(rank):
            index = window.get(d, batch.get(d, ZERO))
            if d not in starts:
                at[d] = index
                continue
            with b.width(0):
                name = starts[d]
                if index != ZERO:
                    offset = b.op(f"arith.index_cast {em.index(index)} : index to i64")
                    name = b.op(f"arith.addi {name}, {offset} : i64")
            checks.append(self._is_inside(em, d, name))
            at[d] = self._index(em, d, name)
        update_at = [ZERO] * len(self.updates[0].shape)
        for d, index in zip(self.window_dims, inner, strict=True):
            update_at[d] = index
        rest = [d for d in range(len(update_at)) if d not in self.window_dims]
        for d, index in zip(rest, outer, strict=True):
            update_at[d] = index

        def write() -> None:
            offset = Position.of_dims(at).linear(self.shape)
            new = [em.element(t, Position.of_dims(update_at)) for t in self.updates]
            if update is not None:
                update(offset, new)
                return
            old = [em.load(buffer, offset) for buffer in outputs]
            for value, buffer in zip(
                apply(em, self.node.regions[0], [*old, *new]), outputs, strict=True
            ):
                em.store(value, buffer, offset)

        if not checks:
            write()
            return
        with b.when(_all_of(em, checks)):
            write()


def _all_of(em: Emitter, checks: Sequence[str]) -> str:
    """SSA i1: whether all of some conditions hold."""
    held = checks[0]
    with em.b.width(0):
        for check in checks[1:]:
            held = em.b.op(f"arith.andi {held}, {check} : i1")
    return held
