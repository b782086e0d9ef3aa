"""By which power of two attention kernels multiply probabilities, so that none is subnormal.

Probabilities far below a row's largest are subnormal, and Intel's processors take some 150 cycles
for each product with one. Times a power of two, exactly, they are normal numbers; the sums of
products are divided by it. That needs products that do not overflow for it: probabilities are
bounded by what they are made of, and kernels look at what they are multiplied by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.attention_parts import (
    AttentionParts,
    moved_from,
    spread_from,
    unconverted_spread,
)
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.graph import Node, Tensor, splat_of

LEAST_OVERFLOW = {"f32": 128, "f64": 1024}  # powers of two
_RAISED_BITS = {"f32": 24, "f64": 53}  # the least subnormal becomes a normal number
_MOST_TERMS = 20  # bits of how many products of a gradient are added up
_MOVES = frozenset({"reshape", "transpose", "convert", "broadcast_in_dim", "negate", "abs"})


@dataclass(frozen=True)
class Raising:
    """What probabilities are multiplied by.

    Attributes:
        bits: the power of two.
        large: no sum overflows for it where all that is looked at is below 2**large.
        early: whether they are weights / total as they are: 1 / total takes the power.
    """

    bits: int
    large: int
    early: bool


def raising_of(parts: AttentionParts) -> Raising | None:
    """How a forward pass raises its probabilities; None if nothing bounds them well."""
    kind = product_type(parts.scores.type).name
    bits, top = _RAISED_BITS[kind], LEAST_OVERFLOW[kind]
    quotient = parts.quotient
    plain = quotient is not None and moved_from(parts.probabilities) is quotient
    if plain and parts.probabilities.type.name == kind:
        return Raising(bits, top - 3 - bits, early=True)
    most = _Bounds(parts).most(parts.probabilities) * parts.keys
    if not math.isfinite(most):
        return None
    large = top - 3 - bits - max(0, math.ceil(math.log2(max(most, 1.0))))
    return Raising(bits, large, early=False) if large >= top // 2 else None


def raising_of_gradient(parts: AttentionParts) -> Raising | None:
    """How a backward pass raises probabilities and the gradients of scores, at which it looks."""
    kind = product_type(parts.scores.type).name
    if max(parts.keys, *parts.rows) >> _MOST_TERMS:
        return None
    bits = _RAISED_BITS[kind]
    large = (LEAST_OVERFLOW[kind] - 8 - bits - _MOST_TERMS) // 2
    return Raising(bits, large, early=False)


class _Bounds:
    """Bounds of the magnitudes of what an attention makes of its logits; NaN counts as nothing."""

    def __init__(self, parts: AttentionParts) -> None:
        self._parts = parts
        self._known: dict[Tensor, float] = {}

    def most(self, tensor: Tensor) -> float:
        """What no element exceeds; infinite if nothing says so."""
        if tensor not in self._known:
            node = tensor.producer
            if node is None:
                self._known[tensor] = 1.0 if tensor.type.name == "i1" else math.inf
            else:
                self._known[tensor] = self._of(node)
        return self._known[tensor]

    def _of(self, node: Node) -> float:
        if node.results[0].type.name == "i1":
            return 1.0
        if node.name == "constant":
            value = splat_of(node)
            return math.inf if value is None else abs(complex(value))
        if node.name == "exponential":
            return 1.0 if self._is_of_gap(node) else math.inf
        operands = node.operands
        if node.name in _MOVES:
            return self.most(operands[0])
        if node.name == "select":
            return max(self.most(operands[1]), self.most(operands[2]))
        if node.name in ("maximum", "minimum"):
            return max(self.most(operands[0]), self.most(operands[1]))
        if node.name in ("add", "subtract"):
            return self.most(operands[0]) + self.most(operands[1])
        if node.name == "multiply":
            return self.most(operands[0]) * self.most(operands[1])
        if node.name == "divide":
            return self._of_quotient(*operands)
        return math.inf

    def _of_quotient(self, left: Tensor, right: Tensor) -> float:
        parts, divisor = self._parts, spread_from(right).producer
        is_part = _unmoved(left) is _unmoved(parts.weights)
        if is_part and unconverted_spread(right) is parts.total.results[0]:
            # A part of a sum of numbers that are not negative is at most the sum, but for rounding.
            return 2.0 if self._is_positive(parts.weights) else math.inf
        if divisor is not None and divisor.name == "constant":
            value = splat_of(divisor)
            if value:
                return self.most(left) / abs(complex(value))
        return math.inf

    def _is_of_gap(self, node: Node) -> bool:
        """Whether it is the exponential of logits less their maximum."""
        gap = moved_from(node.operands[0]).producer
        if gap is None or gap.name != "subtract":
            return False
        left, right = gap.operands
        logits, peak = self._parts.logits, self._parts.peak.results[0]
        return moved_from(left) is moved_from(logits) and spread_from(right) is peak

    def _is_positive(self, tensor: Tensor) -> bool:
        """Whether no element is below 0."""
        node = tensor.producer
        if node is None:
            return False
        if node.name == "select":
            return all(self._is_positive(operand) for operand in node.operands[1:])
        if node.name == "constant":
            value = splat_of(node)
            return value is not None and float(value) >= 0.0
        if node.name in ("reshape", "transpose", "convert", "broadcast_in_dim"):
            return self._is_positive(node.operands[0])
        return node.name == "exponential"


def _unmoved(tensor: Tensor) -> Tensor:
    """What a tensor is, but for the order of its elements and their type."""
    node = tensor.producer
    while node is not None and node.name in ("reshape", "convert"):
        tensor = node.operands[0]
        node = tensor.producer
    return tensor
