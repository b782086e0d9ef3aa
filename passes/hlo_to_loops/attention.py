"""Chooses the kernel of an attention."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.attention_kernel import emit_attention_columns, takes_columns
from hlo.passes.hlo_to_loops.attention_parts import NotAttentionError, attention_parts
from hlo.passes.hlo_to_loops.attention_rows import emit_attention_rows
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.loop_kernel import Kernel


def emit_attention(region: Region) -> Kernel | None:
    """The kernel of two dots with a softmax between them; None for any other region."""
    if sum(n.name == "dot_general" for n in region.nodes) != 2 or len(region.results) != 1:
        return None
    try:
        parts = attention_parts(region.nodes, region.results[0])
    except NotAttentionError:
        return None
    if takes_columns(parts):
        return emit_attention_columns(region, parts)
    return emit_attention_rows(region, parts)
