"""How much work a kernel is: one place, used for work units, grain and fusion."""

from __future__ import annotations

import math

from hlo.passes.hlo_to_loops.graph import Node, Region

_SLOW = frozenset(
    [
        "exponential",
        "exponential_minus_one",
        "log",
        "log_plus_one",
        "logistic",
        "tanh",
        "sine",
        "cosine",
        "tan",
        "power",
        "atan2",
        "cbrt",
        "erf",
        "erfc",
        "erf_inv",
        "lgamma",
        "digamma",
        "remainder",
        "divide",
        "sqrt",
        "rsqrt",
        "sort",
        "scatter",
        "select_and_scatter",
    ]
)


def work_of(region: Region) -> int:
    """Element operations of a region: results and folded elements; transcendentals count as several."""
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
    if node.name in ("reduce", "sort", "select_and_scatter"):
        size = max([size, *(o.size for o in node.operands)])
    if node.name == "scatter":
        size = node.operands[-1].size
    if node.name == "dynamic_update_slice":
        size = node.operands[1].size
    return size * (8 if node.name in _SLOW else 1)


def _feature_dim(node: Node) -> int:
    return node.attributes["dimension_numbers"]["kernel"].index("o")
