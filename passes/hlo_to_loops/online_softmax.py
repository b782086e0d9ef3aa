"""Whether an attention's softmax can be computed as its keys go by, and what is left for the end.

With the keys in pieces, a row keeps the largest logit m so far, the sum of exp(logit - m), and the
sum of the values weighted so; all are rescaled where m grows (the online softmax of Milakov and
Gimelshein, "Online normalizer calculation for softmax", 2018, as in Dao et al., "FlashAttention",
2022). That needs weights of the form exp(logit - g(peak)), g any function of a row's maximum, and
probabilities that are the weights times what no sum has a part in, or that divided by the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_parts import (
    AttentionParts,
    Reading,
    moved_from,
    require,
    spread_from,
)
from hlo.passes.hlo_to_loops.graph import Node, Tensor, splat_of

_SAME_PLACE = ("reshape", "convert")
_MOVED = (*_SAME_PLACE, "transpose")
_LINEAR = (*_MOVED, "negate")


@dataclass(frozen=True)
class Normalizer:
    """The division of the weights by their sum, which is done to the second dot's result instead.

    Attributes:
        node: the divide, or the multiply by an inverse.
        kept: its operand that is made of the weights.
        factor: its operand that is made of the sum.
        at: the offset of a score's element in both, in rows and KEY.
    """

    node: Node
    kept: Tensor
    factor: Tensor
    at: Affine


@dataclass(frozen=True)
class OnlineSoftmax:
    """How an attention's weights come of its logits.

    Attributes:
        shift: what is subtracted from the logits, in the space of the weights: made of the peak.
        normalizer: None if the probabilities do not depend on the sum.
    """

    shift: Tensor
    normalizer: Normalizer | None


def online_softmax(nodes: Sequence[Node], parts: AttentionParts) -> OnlineSoftmax:
    """The online form of an attention.

    Args:
        nodes: its ops.

    Raises:
        NotAttentionError: if it has none.
    """
    depends = _dependents(nodes, {parts.weights, parts.total.results[0], parts.peak.results[0]})
    reading = Reading(nodes, parts.result)
    reading.start(parts.logits)
    return OnlineSoftmax(exponent_shift(parts), _normalizer(parts, reading, depends))


def exponent_shift(parts: AttentionParts) -> Tensor:
    """What the weights, as exponentials, have subtracted from the logits: one number of a row.

    Raises:
        NotAttentionError: the weights are something else.
    """
    exponential = _same_place(parts.weights).producer
    require(
        exponential is not None and exponential.name == "exponential",
        "its weights are no exponentials",
    )
    assert exponential is not None
    difference = _same_place(exponential.operands[0]).producer
    require(
        difference is not None and difference.name == "subtract",
        "its exponentials are not of differences",
    )
    assert difference is not None
    left, shift = difference.operands
    require(_leads_to(left, parts.logits), "its exponentials are not of logits less a shift")
    require(
        spread_from(shift).size == parts.peak.results[0].size, "its shift is not one for each row"
    )
    return shift


def _same_place(tensor: Tensor) -> Tensor:
    """What a tensor is a reshape or conversion of."""
    while tensor.producer is not None and tensor.producer.name in _SAME_PLACE:
        tensor = tensor.producer.operands[0]
    return tensor


def _leads_to(tensor: Tensor, goal: Tensor) -> bool:
    """Whether a tensor is `goal`, moved or converted."""
    while moved_from(tensor) is not moved_from(goal):
        if tensor.producer is None or tensor.producer.name not in _MOVED:
            return False
        tensor = tensor.producer.operands[0]
    return True


def _dependents(nodes: Sequence[Node], sources: set[Tensor]) -> set[Tensor]:
    found = set(sources)
    for node in nodes:
        if any(o in found for o in node.operands):
            found.update(node.results)
    return found


def _normalizer(parts: AttentionParts, reading: Reading, depends: set[Tensor]) -> Normalizer | None:
    """Follows the probabilities back to the weights.

    Raises:
        NotAttentionError: a step is not linear in the weights.
    """
    found: Normalizer | None = None
    tensor, offset = parts.probabilities, parts.probabilities_at
    while tensor is not parts.weights:
        node = tensor.producer
        require(node is not None, "its probabilities are not made of its weights")
        assert node is not None
        following = _followed(node, depends)
        require(following is not None, f"its probabilities are no multiples: {node.name}")
        assert following is not None
        factor = _factor(node, following)
        if factor is not None and factor in depends:
            require(found is None, "its probabilities are divided twice")
            require(
                node.name in ("divide", "multiply")
                and spread_from(factor).size == parts.total.results[0].size,
                "its probabilities are not divided by one sum for each row",
            )
            found = Normalizer(node, following, factor, offset)
        moved = reading.back(node, offset)
        require(moved is not None, "its probabilities' indices are not affine")
        assert moved is not None
        tensor, offset = following, moved
    return found


def _followed(node: Node, depends: set[Tensor]) -> Tensor | None:
    """The operand that a result is a multiple of, element by element; None if there is none."""
    if node.name in _LINEAR:
        return node.operands[0]
    if node.name == "divide":
        return node.operands[0]
    if node.name == "multiply":
        left, right = node.operands
        if left in depends and right in depends:
            return right if spread_from(left).size < spread_from(right).size else left
        return left if left in depends else right
    if node.name == "select" and node.operands[0] not in depends:
        _, yes, no = node.operands
        if _is_zero(no):
            return yes
        if _is_zero(yes):
            return no
    return None


def _factor(node: Node, following: Tensor) -> Tensor | None:
    if node.name not in ("divide", "multiply"):
        return None
    left, right = node.operands
    return right if following is left else left


def _is_zero(tensor: Tensor) -> bool:
    source = spread_from(tensor).producer
    if source is None or source.name != "constant":
        return False
    value = splat_of(source)
    return value is not None and not value
