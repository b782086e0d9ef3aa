"""Chooses how a kernel's region is spread over threads."""

from __future__ import annotations

from dataclasses import replace

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_gpu.rows import emit_elements
from hlo.passes.hlo_to_gpu.updates import emit_dynamic_update_slice
from hlo.passes.hlo_to_loops import elemental
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.work import work_of

__all__ = ["elemental", "emit_gpu_kernel"]


def emit_gpu_kernel(region: Region) -> GpuKernel:
    """The kernel of a region: by its root, or over the elements of its results."""
    root = region.results[0].producer if region.results else None
    kernel = None if root is None else _special(region, root)
    return replace(kernel or emit_elements(region), work=work_of(region))


def _special(region: Region, root: Node) -> GpuKernel | None:
    if (
        root.name == "dynamic_update_slice"
        and len(region.results) == 1
        and root.operands[0] in region.arguments
    ):
        return emit_dynamic_update_slice(region, root)
    return None
