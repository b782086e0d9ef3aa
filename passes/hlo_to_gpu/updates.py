"""dynamic_update_slice and scatter, spread over threads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo.passes.hlo_to_gpu.atomics import apply_atomically, atomic_of
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.index_values import clamped_index
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.update_kernels import Scatter, Update


def emit_dynamic_update_slice(region: Region, node: Node) -> GpuKernel:
    """Writes the update into the operand's memory, a thread an element of the update."""
    operand, update, *starts = node.operands
    inputs, outputs = argument_buffers(region)
    position = region.arguments.index(operand)
    if update.size == 0:
        return gpu_kernel([], list(inputs.values()), outputs, updates=(position,), update_safe=True)
    em = ThreadEmitter(ThreadBuilder(block_for(update.size)), inputs)
    strides, own = suffix_products(operand.shape), suffix_products(update.shape)
    written: set[Affine] = set()

    def body(unit: Affine) -> None:
        base = ZERO
        for start, size, taken, stride in zip(
            starts, operand.shape, update.shape, strides, strict=True
        ):
            base = base + clamped_index(em, start, Position.of_dims(()), size - taken) * stride
        target, rest = base, unit
        for d in range(operand.rank):
            index, rest = em.divmod(rest, own[d])
            target = target + index * strides[d]
        value = em.element(update, Position.of_offset(unit))
        written.add(target)
        em.store(value, outputs[0], target)

    guarded_threads(em, update.size, body)
    read = em.loaded.get(inputs[operand], set())
    buffers = [*inputs.values(), *outputs]
    return gpu_kernel(
        [stage(em.b, buffers, outputs, update.size, em.b.block)], list(inputs.values()), outputs,
        updates=(position,), update_safe=not read or update.size == 1 or read <= written,
    )  # fmt: skip


def emit_scatter(region: Region, node: Node, *, deterministic: bool = True) -> GpuKernel:
    """Applies the updates, those that may meet at one element one after another in row-major order.

    The dimensions of the updates whose elements cannot meet go to threads, the others are loops:
    batches and, unless windows may overlap, places in a window; everything if the indices are
    unique, or if an atomic operation does it and its order makes no difference.

    Args:
        deterministic: the result is the same in every run, so sums of floats are not atomic.
    """
    scatter = Scatter(region, node)
    inputs, outputs = argument_buffers(region)
    operand_at = tuple(region.arguments.index(t) for t in scatter.operands)
    shape = scatter.updates[0].shape
    if math.prod(shape) == 0:
        return gpu_kernel([], list(inputs.values()), outputs, updates=operand_at, update_safe=True)
    atomic = atomic_of(node, deterministic)
    spread = list(range(len(shape))) if atomic else _spread_dims(scatter, node)
    extents = [shape[d] for d in spread]
    threads = math.prod(extents)
    em = ThreadEmitter(ThreadBuilder(block_for(threads)), inputs)
    order = [d for d in range(len(shape)) if d not in scatter.window_dims]
    order += scatter.window_dims

    def body(unit: Affine) -> None:
        places = dict(zip(spread, em.dims(Position.of_offset(unit), extents), strict=True))
        _apply_updates(em, scatter, outputs, order, places, update)

    def add_atomically(offset: Affine, new: list[Value]) -> None:
        assert atomic is not None
        apply_atomically(em, outputs[0], offset, new[0], atomic)

    update = add_atomically if atomic else None
    guarded_threads(em, threads, body)
    read = any(em.loaded.get(inputs[t]) for t in scatter.operands)
    buffers = [*inputs.values(), *outputs]
    return gpu_kernel(
        [stage(em.b, buffers, outputs, threads, em.b.block)], list(inputs.values()), outputs,
        updates=operand_at, update_safe=not read,
    )  # fmt: skip


def _spread_dims(scatter: Scatter, node: Node) -> list[int]:
    """Dimensions of the updates whose elements never meet at one element of the operand."""
    shape = scatter.updates[0].shape
    scattered = [d for d in range(len(shape)) if d not in scatter.window_dims]
    if node.attributes.get("unique_indices", False):
        return list(range(len(shape)))
    batches = [s - (1 if scatter.vector_dim < s else 0) for s in scatter.indices_batching]
    batched = [scattered[k] for k in batches]
    window_of = dict(zip(scatter.window_operand_dims, scatter.window_dims, strict=True))
    lone = math.prod(shape[d] for d in scattered if d not in batched) == 1
    overlap = any(d in window_of and shape[window_of[d]] > 1 for d in scatter.targets)
    windows = [] if overlap and not lone else list(scatter.window_dims)
    alone = [d for d in scattered if shape[d] == 1]
    return sorted({*batched, *windows, *alone})


def _apply_updates(
    em: ThreadEmitter, scatter: Scatter, outputs: list[Buffer], order: Sequence[int],
    places: dict[int, Affine], update: Update | None,
) -> None:  # fmt: skip
    """Loops over the dimensions of the updates without a place, in `order`."""
    shape = scatter.updates[0].shape
    waiting = [d for d in order if d not in places]
    if waiting:
        b, d = em.b, waiting[0]
        with b.loop(b.index(0), b.index(shape[d]), b.index(1)) as loop:
            here = {**places, d: em.variable(loop.iv, shape[d])}
            _apply_updates(em, scatter, outputs, order, here, update)
        return
    outer = [places[d] for d in range(len(shape)) if d not in scatter.window_dims]
    inner = [places[d] for d in scatter.window_dims]
    starts, batch = scatter.starts_of(em, outer), scatter.batch_of(outer)
    scatter.combine(em, outputs, outer, starts, batch, inner, update)
