"""All attentions of a block, forward and backward, that a target has kernels for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.fusion.attention import Attention, Refusal, find_attention
from hlo.passes.fusion.attention_gradient import find_gradients
from hlo.passes.hlo_to_gpu.attention import check_gpu_attention, check_gpu_gradient
from hlo.passes.hlo_to_loops.attention_gradient_kernel import check_attention_gradient
from hlo.passes.hlo_to_loops.graph import Node, Tensor


@dataclass(frozen=True)
class Attentions:
    """Those of a block.

    Attributes:
        found: backward passes, then forward passes, each in program order.
        refusals: what came close.
    """

    found: tuple[Attention, ...]
    refusals: tuple[Refusal, ...]


def find_attentions(
    nodes: Sequence[Node], readers: Mapping[Tensor, Sequence[Node]], leaves: set[Tensor], *,
    gpu: bool,
) -> Attentions:  # fmt: skip
    """The attentions of a block; arguments as of `find_attention`.

    Args:
        gpu: whether kernels are a GPU's.
    """
    check = check_gpu_gradient if gpu else check_attention_gradient
    gradients = find_gradients(nodes, readers, leaves, check)
    found, refusals = find_attention(
        nodes, readers, leaves, gradients, check_gpu_attention if gpu else None
    )
    return Attentions((*gradients, *found), tuple(refusals))
