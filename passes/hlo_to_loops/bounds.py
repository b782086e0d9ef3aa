"""What is known of values without looking at them, for ops that take less time then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlo.passes.hlo_to_loops.graph import Node, Tensor, monoid_of

_WITHIN_ONE = frozenset({"tanh", "logistic", "sine", "cosine", "erf"})


def known_of(node: Node) -> Mapping[str, Any]:
    """An op's attributes, and `bounded` of a quotient whose dividend is NaN or within [-1, 1]."""
    if node.name == "divide" and _is_within_one(node.operands[0]):
        return {**node.attributes, "bounded": True}
    return node.attributes


def _is_within_one(tensor: Tensor) -> bool:
    node = tensor.producer
    if node is None or not tensor.type.is_float:
        return False
    if node.name == "exponential":
        return _is_below_maximum(node.operands[0])
    return node.name in _WITHIN_ONE


def _is_below_maximum(tensor: Tensor) -> bool:
    """Whether a tensor is another less the largest of its elements along some dimensions."""
    if (node := tensor.producer) is None or node.name != "subtract":
        return False
    whole, spread = node.operands[0], node.operands[1].producer
    if spread is None or spread.name != "broadcast_in_dim":
        return False
    fold = spread.operands[0].producer
    if fold is None or fold.name != "reduce" or fold.operands[0] is not whole:
        return False
    folded = set(fold.attributes["dimensions"])
    kept = [d for d in range(len(whole.shape)) if d not in folded]
    same = list(spread.attributes["broadcast_dimensions"]) == kept
    return same and len(fold.results) == 1 and monoid_of(fold.regions[0]) == "maximum"
