"""Cumulative sums and the like, a thread a line."""

from __future__ import annotations

import math

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.cumulative_kernel import cumulative_dim, run_along_line
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers


def emit_running(region: Region, node: Node) -> GpuKernel | None:
    """A kernel with a running accumulator for each line; None if the op is no cumulative one."""
    found = cumulative_dim(node)
    if found is None or node.results[0].size == 0:
        return None
    dim, backwards = found
    inputs, outputs = argument_buffers(region)
    shape = node.results[0].shape
    inner = math.prod(shape[dim + 1 :])
    lines = math.prod(shape[:dim]) * inner
    em = ThreadEmitter(ThreadBuilder(block_for(lines)), inputs)

    def body(unit: Affine) -> None:
        row, line = em.divmod(unit, inner)
        base = row * (shape[dim] * inner) + line
        run_along_line(em, region, node, base, dim, backwards)

    guarded_threads(em, lines, body)
    buffers = [*inputs.values(), *outputs]
    return gpu_kernel(
        [stage(em.b, buffers, outputs, lines, em.b.block)], list(inputs.values()), outputs
    )
