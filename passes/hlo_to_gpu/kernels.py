"""Chooses how a kernel's region is spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hlo import knobs
from hlo.diagnostics import UnsupportedError
from hlo.passes.hlo_to_gpu.attention import emit_attention
from hlo.passes.hlo_to_gpu.composite import emit_composite
from hlo.passes.hlo_to_gpu.fourier import emit_fft
from hlo.passes.hlo_to_gpu.gpu_kernel import LARGEST_BLOCK, GpuKernel
from hlo.passes.hlo_to_gpu.host_calls import emit_host_call
from hlo.passes.hlo_to_gpu.matrix_tiles import multiplier_of
from hlo.passes.hlo_to_gpu.products import emit_product
from hlo.passes.hlo_to_gpu.rows import emit_elements
from hlo.passes.hlo_to_gpu.running import emit_running
from hlo.passes.hlo_to_gpu.sorting import emit_sort
from hlo.passes.hlo_to_gpu.target import GpuTarget
from hlo.passes.hlo_to_gpu.updates import emit_dynamic_update_slice, emit_scatter
from hlo.passes.hlo_to_gpu.vendor_convolutions import vendor_convolution
from hlo.passes.hlo_to_gpu.vendor_products import vendor_product
from hlo.passes.hlo_to_gpu.window_updates import emit_select_and_scatter
from hlo.passes.hlo_to_loops import elemental
from hlo.passes.hlo_to_loops.graph import Node, Region, is_composite
from hlo.passes.hlo_to_loops.sort_kernel import sort_in
from hlo.passes.hlo_to_loops.work import work_of

BY_ROOT: dict[str, Callable[[Region, Node], GpuKernel]] = {
    "fft": emit_fft,
    "select_and_scatter": emit_select_and_scatter,
}

__all__ = ["elemental", "emit_gpu_kernel"]


def emit_gpu_kernel(
    region: Region, *, deterministic: bool = True, tf32: bool = False,
    target: GpuTarget | None = None, library: bool = True, most_threads: int = LARGEST_BLOCK,
) -> GpuKernel:  # fmt: skip
    """The kernel of a region: by its root, or over the elements of its results.

    Args:
        deterministic: as of `emit_scatter`.
        tf32: whether f32 factors of dots may be rounded to tf32.
        target: the chip; if None, the kernel is one that all chips have.
        library: whether it may be a call of a vendor's library.
        most_threads: of a block, where it is not a kernel of a certain block size.
    """
    if is_composite(region):
        emit = partial(
            emit_gpu_kernel, deterministic=deterministic, tf32=tf32, target=target, library=False
        )
        return replace(emit_composite(region, emit), work=work_of(region))
    root = region.results[0].producer if region.results else None
    kernel = None
    if root is not None:
        kernel = emit_attention(region, target) or emit_product(region, tf32=tf32, target=target)
        kernel = kernel or _special(region, root, deterministic)
    kernel = kernel or emit_elements(region, most_threads)
    if library and knobs.current().vendor:
        kernel = _with_library(kernel, region, deterministic, tf32)
    return replace(kernel, work=work_of(region))


def _with_library(
    kernel: GpuKernel, region: Region, deterministic: bool, tf32: bool
) -> GpuKernel:  # fmt: skip
    """The kernel, and of a product the call of a vendor's library that may stand for it."""
    products = [n for n in region.nodes if n.name in ("dot_general", "convolution")]
    if len(products) != 1 or kernel.scratch or kernel.counters:
        return kernel
    rounded = multiplier_of(products[0], tf32) == "tf32"
    if products[0].name == "convolution":
        call = vendor_convolution(region, tf32=rounded, deterministic=deterministic)
        return kernel if call is None else kernel.with_library(call)
    product = vendor_product(region)
    if product is None:
        return kernel
    return kernel.with_library(replace(product, tf32=rounded).call(len(region.arguments)))


def _special(region: Region, root: Node, deterministic: bool) -> GpuKernel | None:
    if root.name == "custom_call":
        if (on_host := emit_host_call(region, root)) is not None:
            return on_host
        raise UnsupportedError(
            f"no GPU kernel stands for the call of {root.attributes.get('call_target_name')!r}; "
            "compile for target 'cpu'",
            op="hlo.custom_call", location=root.location,
        )  # fmt: skip
    if (sort := sort_in(region)) is not None:
        return emit_sort(region, sort)
    if root.name == "reduce_window" and len(region.results) == 1:
        return emit_running(region, root)
    if root.name == "scatter":
        return emit_scatter(region, root, deterministic=deterministic)
    if (by_root := BY_ROOT.get(root.name)) is not None:
        return by_root(region, root)
    if (
        root.name == "dynamic_update_slice"
        and len(region.results) == 1
        and root.operands[0] in region.arguments
    ):
        return emit_dynamic_update_slice(region, root)
    return None
