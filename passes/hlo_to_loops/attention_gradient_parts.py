"""What the backward pass of an attention computes, read out of its ops.

With P = softmax of the logits of query times key, and G the gradient of P times value: dP = G times
value; dS = some elementwise function of dP, the weights and sums over the keys of a row; then the
gradients of query = dS times key, of key = dS times query, and of value = P times G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    AttentionParts,
    Contraction,
    NotAttentionError,
    Operand,
    Reading,
    require,
    row_name,
)
from hlo.passes.hlo_to_loops.folds import monoid_of
from hlo.passes.hlo_to_loops.graph import Node, Tensor


@dataclass(frozen=True)
class GradientParts:
    """The tensors of the backward pass.

    Attributes:
        softmax: as in the forward pass; its value is the value, its probabilities those that the
            gradient of the value takes; `product` and `result` are the gradient of the query.
        gradient: G; offsets in rows and WIDTH.
        slope: dP.
        summand: what the second sum of a row is of, and its offset in rows and KEY.
        sum: that sum.
        score_gradient: dS, and its offset in rows and KEY.
        query, key, value: the dots; `other` is what they multiply, `result_at` in rows, KEY and
            DEPTH or WIDTH.
        results: the results of the three dots, behind the transposes that follow them.
    """

    softmax: AttentionParts
    gradient: Operand
    slope: Tensor
    summand: Tensor
    summand_at: Affine
    sum: Node
    score_gradient: Tensor
    score_gradient_at: Affine
    query: Contraction
    key: Contraction
    value: Contraction
    results: tuple[Tensor, Tensor, Tensor]


def gradient_parts(nodes: Sequence[Node]) -> GradientParts:
    """The parts of the backward pass that `nodes`, in program order, compute.

    Raises:
        NotAttentionError: if they are something else.
    """
    return _GradientReading(nodes).gradient()


class _GradientReading(Reading):
    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__(nodes, nodes[-1].results[0])

    def gradient(self) -> GradientParts:
        dots = [n for n in self.nodes if n.name == "dot_general"]
        folds = [n for n in self.nodes if n.name == "reduce"]
        require(len(dots) == 5 and len(folds) == 3, "it is not five dots and three reductions")
        maximum = next((n for n in folds if monoid_of(n.regions[0]) == "maximum"), None)
        sums = [n for n in folds if monoid_of(n.regions[0]) == "add"]
        require(maximum is not None and len(sums) == 2, "its reductions are others")
        assert maximum is not None
        self.check_folds(folds)
        logits = maximum.operands[0]
        inner = [n for n in dots if all(o.producer not in self.held for o in n.operands)]
        first = [n for n in inner if logits in self.depends_on(n.results[0])]
        require(len(inner) == 2 and len(first) == 1, "its scores and their gradient are unclear")
        scores = first[0].results[0]
        slope = next(n for n in inner if n is not first[0]).results[0]
        self.start(logits)
        self.place_all(scores, logits)
        require(slope in self.at, "the gradient is not of the scores' elements")
        after = self.depends_on(slope)
        total = next((n for n in sums if n.operands[0] not in after), None)
        second = next((n for n in sums if n.operands[0] in after), None)
        require(total is not None and second is not None, "its sums are others")
        assert total is not None and second is not None
        return self._parts(first[0], slope, maximum, total, second, dots, after)

    def _parts(
        self, first: Node, slope: Tensor, maximum: Node, total: Node, second: Node,
        dots: Sequence[Node], after: set[Tensor],
    ) -> GradientParts:  # fmt: skip
        scores, logits, weights = first.results[0], maximum.operands[0], total.operands[0]
        query, key, depth = self.first_dot(first)
        query, key = self.in_memory(query), self.in_memory(key)
        assert slope.producer is not None
        gradient, value, width = self.first_dot(slope.producer, WIDTH)
        gradient, value = self.in_memory(gradient), self.in_memory(value)
        contractions: dict[str, Contraction] = {}
        stored: dict[str, Tensor] = {}
        bases: dict[str, Tensor] = {}
        for dot in dots:
            if dot is first or dot is slope.producer:
                continue
            side = [i for i, o in enumerate(dot.operands) if o in self.at]
            require(len(side) == 1, "a dot reads other than one tensor of scores")
            tensor = dot.operands[side[0]]
            over_keys = self.contraction(dot, side[0], DEPTH).summed == Affine.variable(KEY)
            what = "value" if tensor not in after else "query" if over_keys else "key"
            require(what not in contractions, "two dots have one purpose")
            found = self.contraction(dot, side[0], WIDTH if what == "value" else DEPTH)
            *_, (stored[what], offset) = self.moved_on(dot.results[0], found.result_at).items()
            contractions[what] = replace(found, result_at=offset)
            bases[what] = moved_from(tensor, self.held)
        require(len(contractions) == 3, "a gradient is missing")
        require(bases["query"] is bases["key"], "query and key have other gradients of scores")
        probabilities, dscores = bases["value"], bases["query"]
        peak, sums = maximum.results[0], total.results[0]
        kept = {weights, peak, sums}
        for made, known in (
            (logits, {scores}), (weights, {logits, peak}), (probabilities, kept),
            (second.operands[0], {slope, *kept}),
            (dscores, {slope, second.results[0], *kept}),
        ):  # fmt: skip
            require(made in self.at and self.made_of(made, known), "its stages need more")
        results = (stored["query"], stored["key"], stored["value"])
        query_dot = contractions["query"]
        softmax = AttentionParts(
            tuple(logits.shape[:-1]), logits.shape[-1], depth, width, query, key, value, scores,
            logits, maximum, weights, self.at[weights], total, ZERO, None, probabilities,
            self.at[probabilities], results[0], results[0], query_dot.result_at, None,
        )  # fmt: skip
        self._check(softmax, contractions)
        return GradientParts(
            softmax, gradient, slope, second.operands[0], self.at[second.operands[0]], second,
            dscores, self.at[dscores], query_dot, contractions["key"], contractions["value"],
            results,
        )  # fmt: skip

    def _check(self, softmax: AttentionParts, dots: dict[str, Contraction]) -> None:
        """What the kernel needs of sizes and of the order of dimensions."""
        block = softmax.block
        require(block >= 0, "no rows share keys and values")
        row = row_name(block)
        for what in ("key", "value"):
            require(dots[what].summed == Affine.variable(row), "a dot sums over other rows")
        extents = [dots[what].extent for what in ("query", "key", "value")]
        require(extents == [softmax.depth, softmax.depth, softmax.width], "a gradient is smaller")
        lanes = 8 if softmax.scores.type.name == "f64" else 16
        sizes = (softmax.depth, softmax.width, softmax.keys)
        require(all(n % lanes == 0 for n in sizes), "a size is no multiple of the lanes")
        require(softmax.rows[block] % (2 * lanes) == 0, "rows are no multiple of a block")
        for what, name in (("key", DEPTH), ("value", WIDTH)):
            dot = dots[what]
            require(dot.other.offset.coefficient(name) == 1, "an operand's rows are not contiguous")
            strides = [dot.result_at.coefficient(n) for n in (name, KEY)]
            require(1 in strides, "a gradient is not contiguous")
        strides = [dots["query"].result_at.coefficient(n) for n in (DEPTH, row)]
        require(1 in strides, "a gradient is not contiguous")


def moved_from(tensor: Tensor, held: set[Node]) -> Tensor:
    """What a tensor is a reshape or transpose of, within some ops."""
    node = tensor.producer
    while node is not None and node in held and node.name in ("reshape", "transpose"):
        tensor = node.operands[0]
        node = tensor.producer
    return tensor


__all__ = ["GradientParts", "NotAttentionError", "gradient_parts", "moved_from"]
