"""Chooses the kernel of an attention on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_gpu.attention_decode import decode_shape, emit_decode
from hlo.passes.hlo_to_gpu.attention_multiply_adds import (
    AttentionMultiplyAdds,
    multiply_add_shape,
)
from hlo.passes.hlo_to_gpu.attention_rows import RowSpace
from hlo.passes.hlo_to_gpu.attention_tensor_cores import AttentionTensorCores, tensor_core_shape
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_loops.attention_parts import (
    AttentionParts,
    NotAttentionError,
    attention_parts,
    require,
)
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.online_softmax import online_softmax


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


def emit_attention(region: Region) -> GpuKernel | None:
    """The kernel of an attention; None for any other region."""
    if sum(n.name == "dot_general" for n in region.nodes) != 2 or len(region.results) != 1:
        return None
    try:
        parts = attention_parts(region.nodes, region.results[0])
        online = online_softmax(region.nodes, parts)
    except NotAttentionError:
        return None
    rows = RowSpace.of(parts)
    if (few := decode_shape(parts, rows)) is not None:
        return emit_decode(region, parts, online, few)
    if (shape := tensor_core_shape(parts, rows.rows)) is not None:
        return AttentionTensorCores(region, parts, online, shape).kernel()
    if (shape := multiply_add_shape(parts, rows.rows)) is not None:
        return AttentionMultiplyAdds(region, parts, online, shape).kernel()
    return None
