"""dynamic_update_slice and scatter, spread over threads."""

from __future__ import annotations

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.elemental.indexing import clamped_index
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers


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
