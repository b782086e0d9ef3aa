"""Chooses the kernel of an attention on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hlo.passes.hlo_to_gpu.attention_decode import decode_shape, emit_decode
from hlo.passes.hlo_to_gpu.attention_gradient import emit_attention_gradient
from hlo.passes.hlo_to_gpu.attention_gradient_shapes import gradient_shapes
from hlo.passes.hlo_to_gpu.attention_multiply_adds import multiply_add_shape
from hlo.passes.hlo_to_gpu.attention_rows import RowSpace
from hlo.passes.hlo_to_gpu.attention_tensor_cores import tensor_core_shape
from hlo.passes.hlo_to_gpu.attention_tiles import AttentionTiles
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_gpu.target import GpuTarget
from hlo.passes.hlo_to_gpu.warpgroup_attention import WarpgroupAttention, bulk_attention
from hlo.passes.hlo_to_loops.attention_gradient_parts import GradientParts, gradient_parts
from hlo.passes.hlo_to_loops.attention_parts import (
    AttentionParts,
    NotAttentionError,
    attention_parts,
    require,
)
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.online_softmax import OnlineSoftmax, online_softmax


def check_gpu_attention(nodes: Sequence[Node], parts: AttentionParts) -> None:
    """Checks that an attention has a kernel here.

    Raises:
        NotAttentionError: it has none; the message says why.
    """
    online_softmax(nodes, parts)
    space = RowSpace.of(parts)
    fits = (
        decode_shape(parts, space) is not None
        or tensor_core_shape(parts, space.rows) is not None
        or multiply_add_shape(parts, space.rows) is not None
    )
    require(fits, "its tiles of query, keys and values do not fit into shared memory")


def check_gpu_gradient(gradients: GradientParts) -> None:
    """Checks that the backward pass of an attention has a kernel here.

    Raises:
        NotAttentionError: it has none; the message says why.
    """
    gradient_shapes(gradients)


def emit_attention(region: Region, target: GpuTarget | None = None) -> GpuKernel | None:
    """The kernel of an attention, or of its backward pass; None for any other region.

    Args:
        target: the chip; if None, the kernel is one that all chips have.
    """
    dots = sum(n.name == "dot_general" for n in region.nodes)
    try:
        if dots == 5 and len(region.results) == 3:
            gradients = gradient_parts(region.nodes)
            return emit_attention_gradient(region, gradients, gradient_shapes(gradients))
        if dots != 2 or len(region.results) != 1:
            return None
        parts = attention_parts(region.nodes, region.results[0])
        online = online_softmax(region.nodes, parts)
    except NotAttentionError:
        return None
    rows = RowSpace.of(parts)
    if (few := decode_shape(parts, rows)) is not None:
        return emit_decode(region, parts, online, few)
    if target is not None and target.has_warpgroup_products:
        bulk = bulk_attention(parts, rows, list(argument_buffers(region)[0]), target)
        if not isinstance(bulk, str):
            reason = f"attention by warpgroups, {bulk.name}"
            return replace(WarpgroupAttention(region, parts, online, bulk).kernel(), reason=reason)
        by_warps = _by_warps(region, parts, online, rows)
        reason = f"attention by warps or threads, since {bulk}"
        return None if by_warps is None else replace(by_warps, reason=reason)
    return _by_warps(region, parts, online, rows)


def _by_warps(
    region: Region, parts: AttentionParts, online: OnlineSoftmax, rows: RowSpace
) -> GpuKernel | None:
    """The kernel that all chips have."""
    if (shape := tensor_core_shape(parts, rows.rows)) is not None:
        return AttentionTiles(region, parts, online, shape, tensor_cores=True).kernel()
    if (shape := multiply_add_shape(parts, rows.rows)) is not None:
        return AttentionTiles(region, parts, online, shape, tensor_cores=False).kernel()
    return None
