"""Chooses how a kernel's region becomes loops."""

from __future__ import annotations

from dataclasses import replace

from hlo.passes.cost.launch_time import region_seconds
from hlo.passes.cost.product_choice import product_choice
from hlo.passes.hlo_to_loops import elemental
from hlo.passes.hlo_to_loops.attention import emit_attention
from hlo.passes.hlo_to_loops.column_kernel import emit_columns
from hlo.passes.hlo_to_loops.column_space import column_space
from hlo.passes.hlo_to_loops.composite_kernel import emit_composite
from hlo.passes.hlo_to_loops.contraction_kernel import emit_contraction
from hlo.passes.hlo_to_loops.cumulative_kernel import emit_cumulative
from hlo.passes.hlo_to_loops.emitter import NotVectorizableError
from hlo.passes.hlo_to_loops.gradient_kernel import emit_gradient
from hlo.passes.hlo_to_loops.graph import Node, Region, is_composite
from hlo.passes.hlo_to_loops.interleaved_kernel import emit_interleaved
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.library_kernels import LIBRARY_EMITTERS
from hlo.passes.hlo_to_loops.loop_kernel import Width, at_best_width, emit_elements
from hlo.passes.hlo_to_loops.matrix_multiply import emit_matrix_multiply
from hlo.passes.hlo_to_loops.matrix_vector_kernel import emit_matrix_vector
from hlo.passes.hlo_to_loops.moved_words import as_words, with_types_of
from hlo.passes.hlo_to_loops.packed_matrix_kernel import emit_packed_product
from hlo.passes.hlo_to_loops.sort_kernel import sort_in
from hlo.passes.hlo_to_loops.tiled_kernel import emit_tiled
from hlo.passes.hlo_to_loops.two_products import emit_two_products
from hlo.passes.hlo_to_loops.update_kernels import (
    emit_dynamic_update_slice,
    emit_scatter,
)
from hlo.passes.hlo_to_loops.window_selection import emit_select_and_scatter
from hlo.passes.hlo_to_loops.work import work_of

__all__ = ["elemental", "emit_kernel"]


def emit_kernel(region: Region) -> Kernel:
    """The kernel of a region: by its root, or as a loop nest over the elements of its results."""
    words = as_words(region)
    kernel = _emitted(region) if words is None else with_types_of(_emitted(words), region)
    seconds = kernel.seconds or region_seconds(region)
    return replace(kernel, work=work_of(region), seconds=seconds)


def _emitted(region: Region) -> Kernel:
    root = region.results[0].producer if region.results else None
    kernel = None if root is None else _special(region, root)
    if kernel is None and (space := column_space(region.nodes, region.results)) is not None:
        kernel = at_best_width(region, lambda width: emit_columns(region, width, space))
    if kernel is None:
        kernel = at_best_width(region, lambda width: _loops(region, width), tiles=True)
    return kernel


def _member(region: Region) -> Kernel:
    """Of a composite, whose buffers have the types of the region's tensors."""
    kernel = _emitted(region)
    seconds = kernel.seconds or region_seconds(region)
    return replace(kernel, work=work_of(region), seconds=seconds)


def _loops(region: Region, width: Width) -> Kernel:
    if width.woven:
        return emit_interleaved(region, width)
    return emit_tiled(region, width) if width.tiled else emit_elements(region, width)


def _calls_library(region: Region, root: Node) -> bool:
    """Whether a kernel is a product that the vendor's library is called for."""
    return (
        region.nodes == [root] and root.name == "dot_general" and product_choice(root).calls_library
    )


def _special(region: Region, root: Node) -> Kernel | None:
    if is_composite(region):
        return emit_composite(region, _member)
    if _calls_library(region, root):
        return emit_matrix_multiply(region, root)
    for emit in (
        emit_two_products,
        emit_attention,
        emit_matrix_vector,
        emit_packed_product,
        emit_gradient,
        emit_contraction,
    ):
        try:
            if (kernel := emit(region)) is not None:
                return kernel
        except NotVectorizableError:
            continue  # what it computes of an operand leaves the row: loops do that, one by one
    called = sort_in(region) or root
    if (library := LIBRARY_EMITTERS.get(called.name)) is not None and (
        kernel := library(region, called)
    ) is not None:
        return kernel
    if (
        root.name == "reduce_window"
        and len(region.results) == 1
        and (kernel := emit_cumulative(region, root)) is not None
    ):
        return kernel
    if root.name == "scatter":
        return emit_scatter(region, root)
    for node in region.nodes:
        if node.name == "select_and_scatter":
            return emit_select_and_scatter(region, node)
    if (
        root.name == "dynamic_update_slice"
        and len(region.results) == 1
        and root.operands[0] in region.arguments
    ):
        return emit_dynamic_update_slice(region, root)
    return None
