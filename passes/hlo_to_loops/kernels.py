"""Chooses how a kernel's region becomes loops."""

from __future__ import annotations

import math
from dataclasses import replace

from hlo.passes.hlo_to_loops import elemental
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.library_kernels import LIBRARY_EMITTERS
from hlo.passes.hlo_to_loops.loop_kernel import Kernel, emit_loop_kernel
from hlo.passes.hlo_to_loops.update_kernels import emit_dynamic_update_slice, emit_scatter, emit_select_and_scatter

__all__ = ["elemental", "emit_kernel"]


def emit_kernel(region: Region) -> Kernel:
    """The kernel of a region: by its root, or as a loop nest over the elements of its results."""
    root = region.results[0].producer if region.results else None
    kernel = None if root is None else _special(region, root)
    return replace(kernel or emit_loop_kernel(region), work=work_of(region))


def work_of(region: Region) -> int:
    """Element operations of a region: results computed, elements folded, transcendentals counted as several."""
    total = 0
    for node in region.nodes:
        total += _work_of(node)
    return total


def _work_of(node: Node) -> int:
    size = node.results[0].size if node.results else 0
    if node.name == "dot_general":
        numbers = node.attributes["dot_dimension_numbers"]
        depth = [node.operands[0].shape[d] for d in numbers.get("lhs_contracting_dimensions", ())]
        return size * math.prod(depth)
    if node.name == "convolution":
        return size * node.operands[1].size // max(1, node.operands[1].shape[_feature_dim(node)])
    if node.name == "reduce_window":
        return size * math.prod(node.attributes["window_dimensions"])
    if node.name in ("constant", "reshape", "broadcast_in_dim"):
        return 0
    return max([size, *(o.size for o in node.operands)]) * (8 if node.name in _SLOW else 1)


def _feature_dim(node: Node) -> int:
    return node.attributes["dimension_numbers"]["kernel"].index("o")


_SLOW = frozenset(
    "exponential exponential_minus_one log log_plus_one logistic tanh sine cosine tan power atan2 cbrt erf erfc "
    "erf_inv lgamma digamma remainder divide sqrt rsqrt sort scatter select_and_scatter".split()
)


def _special(region: Region, root: Node) -> Kernel | None:
    if (emit := LIBRARY_EMITTERS.get(root.name)) is not None and (kernel := emit(region, root)) is not None:
        return kernel
    if root.name == "scatter":
        return emit_scatter(region, root)
    if root.name == "select_and_scatter":
        return emit_select_and_scatter(region, root)
    if root.name == "dynamic_update_slice" and len(region.results) == 1 and root.operands[0] in region.arguments:
        return emit_dynamic_update_slice(region, root)
    return None
