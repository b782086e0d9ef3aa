"""Chooses the kernel of an attention."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.attention_gradient_kernel import (
    check_attention_gradient,
    emit_attention_gradient,
)
from hlo.passes.hlo_to_loops.attention_gradient_parts import gradient_parts
from hlo.passes.hlo_to_loops.attention_kernel import emit_attention_columns, takes_columns
from hlo.passes.hlo_to_loops.attention_parts import NotAttentionError, attention_parts
from hlo.passes.hlo_to_loops.attention_rows import emit_attention_rows
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel


def emit_attention(region: Region) -> Kernel | None:
    """The kernel of an attention, or of its backward pass; None for any other region."""
    dots = sum(n.name == "dot_general" for n in region.nodes)
    try:
        if dots == 5 and len(region.results) == 3:
            gradients = gradient_parts(region.nodes)
            check_attention_gradient(gradients)
            return emit_attention_gradient(region, gradients)
        if dots != 2 or len(region.results) != 1:
            return None
        parts = attention_parts(region.nodes, region.results[0])
    except NotAttentionError:
        return None
    if takes_columns(parts):
        return emit_attention_columns(region, parts)
    return emit_attention_rows(region, parts)
