"""What the backward pass of an attention computes, read out of its ops.

With P = softmax of the logits of query times key, and G the gradient of P times value: dP = G times
value; dS = some elementwise function of dP, the weights and sums over the keys of a row; then the
gradients of query = dS times key, of key = dS times query, and of value = P times G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlo.passes.hlo_to_loops.affine import Affine, Position
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
)
from hlo.passes.hlo_to_loops.graph import Node, Tensor, monoid_of


@dataclass(frozen=True)
class GradientParts:
    """The tensors of the backward pass.

    Attributes:
        softmax: as in the forward pass; its value is the value, its probabilities those that the
            gradient of the value takes; `product` and `result` are the gradient of the query.
        gradient: G; offsets in rows and WIDTH.
        slope: dP.
        summand: what the second sum of a row is of, and its offset in rows and KEY.
        sum: that sum, and its offset in rows.
        score_gradient: dS, and its offset in rows and KEY.
        query, key, value: the dots; `other` is what they multiply, `result_at` in rows, KEY and
            DEPTH or WIDTH.
        results: the results of the three dots, behind the transposes that follow them.
        reads_scores: whether dS needs the scores themselves, as the slope of a cap on them does.
    """

    softmax: AttentionParts
    gradient: Operand
    slope: Tensor
    summand: Tensor
    summand_at: Affine
    sum: Node
    sum_at: Affine
    score_gradient: Tensor
    score_gradient_at: Affine
    query: Contraction
    key: Contraction
    value: Contraction
    results: tuple[Tensor, Tensor, Tensor]
    reads_scores: bool = False


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
        scores, logits = first.results[0], maximum.operands[0]
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
            over_keys = self.contraction(dot, side[0], DEPTH).summed == frozenset({KEY})
            what = "value" if tensor not in after else "query" if over_keys else "key"
            require(what not in contractions, "two dots have one purpose")
            found = self.contraction(dot, side[0], WIDTH if what == "value" else DEPTH)
            *_, (stored[what], offset) = self.moved_on(dot.results[0], found.result_at).items()
            contractions[what] = replace(found, other=self.in_memory(found.other), result_at=offset)
            bases[what] = moved_from(tensor, self.held)
        require(len(contractions) == 3, "a gradient is missing")
        require(bases["query"] is bases["key"], "query and key have other gradients of scores")
        probabilities, dscores = bases["value"], bases["query"]
        peak, sums = maximum.results[0], total.results[0]
        weights = self.unconverted(total.operands[0], {peak, sums}, probabilities)
        kept = {weights, peak, sums}
        for made, known in (
            (logits, {scores}), (weights, {logits, peak}), (probabilities, kept),
            (second.operands[0], {slope, scores, *kept}),
            (dscores, {slope, scores, second.results[0], *kept}),
        ):  # fmt: skip
            require(made in self.at and self.made_of(made, known), "its stages need more")
        reads_scores = not (
            self.made_of(second.operands[0], {slope, *kept})
            and self.made_of(dscores, {slope, second.results[0], *kept})
        )
        results = (stored["query"], stored["key"], stored["value"])
        query_dot = contractions["query"]
        softmax = AttentionParts(
            tuple(logits.shape[:-1]), logits.shape[-1], depth, width, query, key, value, scores,
            logits, maximum, weights, self.at[weights], total, self._of_row(total), None,
            probabilities, self.at[probabilities], results[0], results[0], query_dot.result_at,
            None,
        )  # fmt: skip
        self._check(softmax, contractions)
        return GradientParts(
            softmax, gradient, slope, second.operands[0], self.at[second.operands[0]], second,
            self._of_row(second), dscores, self.at[dscores], query_dot, contractions["key"],
            contractions["value"], results, reads_scores,
        )  # fmt: skip

    def _check(self, softmax: AttentionParts, dots: dict[str, Contraction]) -> None:
        """What every kernel needs."""
        rows = dots["key"].summed
        require(bool(rows) and rows == dots["value"].summed, "its dots sum over other rows")
        moving = {*softmax.key.offset.variables, *softmax.value.offset.variables}
        require(moving.isdisjoint(rows), "no rows share keys and values")
        extents = [dots[what].extent for what in ("query", "key", "value")]
        require(extents == [softmax.depth, softmax.depth, softmax.width], "a gradient is smaller")

    def _of_row(self, fold: Node) -> Affine:
        """The offset of a row's result of a reduction, given where its operand's elements are."""
        operand = fold.operands[0]
        dims = self.dims(self.at[operand], operand.shape)
        require(dims is not None, "a sum's indices are not affine")
        assert dims is not None
        require(dims[-1].variables <= {KEY}, "a sum is not over the keys")
        return Position.of_dims(dims[:-1]).linear(fold.results[0].shape)


def moved_from(tensor: Tensor, held: set[Node]) -> Tensor:
    """What a tensor is a reshape or transpose of, within some ops."""
    node = tensor.producer
    while node is not None and node in held and node.name in ("reshape", "transpose"):
        tensor = node.operands[0]
        node = tensor.producer
    return tensor


__all__ = ["GradientParts", "NotAttentionError", "gradient_parts", "moved_from"]
