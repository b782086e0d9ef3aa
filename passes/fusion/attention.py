"""Finds attention in a block: query-key dot, softmax of its rows, dot with the values.

From each dot that could multiply probabilities by values the search goes back through what makes
its operands, elementwise ops, reductions and data movement, to another dot. Whether that is an
attention the kernel can compute, whatever the order of operands and dimensions, is for
`attention_parts` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.op_traits import ELEMENTWISE, EXPENSIVE
from hlo.passes.hlo_to_loops.attention_parts import (
    AttentionParts,
    NotAttentionError,
    attention_parts,
    spread_from,
)
from hlo.passes.hlo_to_loops.graph import Node, Tensor, splat_of

KIND = "attention"
MAX_CORE = 48  # ops between the dots
MAX_SIDE = 32  # ops of a mask that are computed again in the kernel
MOVED = frozenset({"broadcast_in_dim", "reshape", "transpose"})
WITHIN = ELEMENTWISE | MOVED | {"reduce"}


# (ops, parts) -> None
Check = Callable[[Sequence[Node], AttentionParts], None]


@dataclass(frozen=True)
class Attention:
    """An attention in a block.

    Attributes:
        root: the op whose result the kernel stores.
        core: ops that depend on the scores, the dots included: no other kernel computes them.
        side: ops for masks, biases and constants, copied into the kernel; of a backward pass also
            those that make the scores and weights again.
        products: the dots that the stored results are made of, in any order of dimensions.
        more_roots: other ops whose results it stores.
    """

    root: Node
    core: tuple[Node, ...]
    side: tuple[Node, ...]
    products: tuple[Node, ...]
    more_roots: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Why two dots with a softmax between them are not one kernel."""

    scores: Node
    product: Node
    reason: str


def find_attention(
    nodes: Sequence[Node],
    readers: Mapping[Tensor, Sequence[Node]],
    leaves: set[Tensor],
    gradients: Sequence[Attention] = (),
    check: Check | None = None,
) -> tuple[list[Attention], list[Refusal]]:
    """The attentions of a block, in program order, and what came close.

    Args:
        nodes: the block's ops.
        readers: of each tensor, those inside regions included.
        leaves: tensors that leave the block.
        gradients: the block's backward passes, which need nothing of what they compute again.
        check: raises NotAttentionError for an attention that the target has no kernel for.
    """
    search = Search({n: i for i, n in enumerate(nodes)}, readers, leaves, check)
    found: list[Attention] = []
    taken = {n for gradient in gradients for n in gradient.core}
    search.sides = [set(gradient.side) for gradient in gradients]
    for gradient, side in zip(gradients, search.sides, strict=True):
        search.copies.update(dict.fromkeys(gradient.core, side))
    for node in nodes:
        if node.name == "dot_general" and node not in taken:
            attention = search.ending_in(node, taken)
            if attention is not None:
                found.append(attention)
                taken.update(attention.core)
    return found, [r for r in search.refusals if r.product not in taken]


class Search:
    """What the search for attentions in a block knows."""

    def __init__(
        self,
        position: Mapping[Node, int],
        readers: Mapping[Tensor, Sequence[Node]],
        leaves: set[Tensor],
        check: Check | None = None,
    ) -> None:
        self.check = check
        self.position, self.readers, self.leaves = position, readers, leaves
        self.refusals: list[Refusal] = []
        self._made: dict[Tensor, list[Node]] = {}
        # The ops that a backward pass, to which an op belongs, computes again.
        self.copies: dict[Node, set[Node]] = {}
        self.sides: list[set[Node]] = []

    def ending_in(self, product: Node, taken: set[Node]) -> Attention | None:
        """The attention whose second dot is `product`."""
        for operand in product.operands:
            cone = self.cone(operand)
            dots = [n for n in cone if n.name == "dot_general" and n not in taken]
            if not dots or not any(n.name == "reduce" for n in cone):
                continue
            for scores in dots:
                attention = self._between(scores, product, cone)
                if attention is not None:
                    return attention
        return None

    def cone(self, tensor: Tensor) -> list[Node]:
        """What makes a tensor, back to dots and to what is not computed by loops."""
        found: dict[Node, None] = {}
        pending = [tensor]
        while pending and len(found) <= 2 * MAX_CORE:
            node = pending.pop().producer
            if node is None or node in found or node not in self.position:
                continue
            if node.name == "dot_general":
                found[node] = None
            elif node.name in WITHIN:
                found[node] = None
                pending.extend(node.operands)
        return sorted(found, key=self.position.__getitem__)

    def _between(self, scores: Node, product: Node, cone: Sequence[Node]) -> Attention | None:
        depends: set[Tensor] = set(scores.results)
        core = [scores]
        for node in cone[cone.index(scores) + 1 :]:  # what reads it stands behind it
            if not depends.isdisjoint(node.operands):
                if node.name == "dot_general":
                    return None
                core.append(node)
                depends.update(node.results)
        if sum(n.name == "reduce" for n in core) == 1:
            # Weights that are summed beside the second dot: the sums divide its result.
            sums = {r: None for n in core for r in self.readers.get(n.results[0], ())
                    if r.name == "reduce" and r not in core}  # fmt: skip
            core += sums
            depends.update(t for n in sums for t in n.results)
        if sum(n.name == "reduce" for n in core) != 2 or len(core) > MAX_CORE:
            return None
        core.append(product)
        after = self._after(product, depends)
        root = after[-1] if after else product
        core += after
        held = set(core)
        for node in core:
            if node is not root and (reader := self.outside(node, held)) is not None:
                self.refusals.append(Refusal(scores, product, f"{node.name} is read {reader}"))
                return None
        side = self.side(core)
        ordered = sorted({*core, *side}, key=self.position.__getitem__)
        try:
            parts = attention_parts(ordered, root.results[0])
            if self.check is not None:
                self.check(ordered, parts)
        except NotAttentionError as problem:
            self.refusals.append(Refusal(scores, product, str(problem)))
            return None
        if not _pays(parts):
            self.refusals.append(Refusal(scores, product, "it is too small for a kernel of tiles"))
            return None
        ordered = sorted(core, key=self.position.__getitem__)
        return Attention(root, tuple(ordered), tuple(side), (product,))

    def outside(self, node: Node, held: set[Node]) -> str | None:
        for result in node.results:
            if result in self.leaves:
                return "outside the block"
            for reader in self.readers.get(result, ()):
                if reader not in held and not self._reads_copy(node, reader):
                    return f"by {reader.name} too"
        return None

    def _reads_copy(self, node: Node, reader: Node) -> bool:
        """Whether all that comes of a reader is in backward passes that compute the op again."""
        if reader in self.copies:
            return node in self.copies[reader]
        if not any(reader in side and node in side for side in self.sides):
            return False
        return not any(
            result in self.leaves
            or not all(self._reads_copy(reader, r) for r in self.readers.get(result, ()))
            for result in reader.results
        )

    def _after(self, product: Node, depends: set[Tensor]) -> list[Node]:
        """What follows element by element and no one else reads: a transpose, a division."""
        found: list[Node] = []
        current, kept = product, 0
        while True:
            result = current.results[0]
            following = self.readers.get(result, ())
            if result in self.leaves or len(set(following)) != 1:
                break
            node = following[0]
            others = [o for o in node.operands if o is not result]
            if (
                node.name not in (ELEMENTWISE - EXPENSIVE) | {"reshape", "transpose", "divide"}
                or node.results[0].size != result.size
                or node.results[0].type.name not in ("f16", "bf16", "f32", "f64")
                or len(others) + 1 < len(node.operands)
                or not all(_is_splat(o) or spread_from(o) in depends for o in others)
            ):
                break
            found.append(node)
            current = node
            if node.name != "reshape":
                kept = len(found)
        found = found[:kept]
        spreading = {
            n
            for node in found
            for operand in node.operands
            for n in _spreads(operand)
            if spread_from(operand) in depends
        }
        return [*sorted(spreading, key=self.position.__getitem__), *found]

    # -- masks -------------------------------------------------------------------------------------
    def side(self, core: Sequence[Node]) -> list[Node]:
        """Ops to compute again in the kernel: what is smaller when made there than when read."""
        held = set(core)
        side: dict[Node, None] = {}
        for node in core:
            if node.name == "dot_general":
                for operand in node.operands:
                    side.update(dict.fromkeys(self._views(operand, held)))
                continue
            for operand in node.operands:
                producer = operand.producer
                if producer is not None and producer not in held:
                    side.update(dict.fromkeys(self._remade(operand)))
        return list(side)

    def _views(self, tensor: Tensor, held: set[Node]) -> Iterator[Node]:
        """The slices and reshapes that an operand is of a tensor in memory, if any is a slice."""
        views: list[Node] = []
        while (node := tensor.producer) in self.position and node not in held:
            assert node is not None
            if node.name not in ("slice", "reshape"):
                break
            views.append(node)
            tensor = node.operands[0]
        while views and views[-1].name != "slice":
            views.pop()
        yield from views

    def _remade(self, tensor: Tensor) -> list[Node]:
        """The ops that make a tensor in the kernel: none if it is to be read from memory."""
        if (known := self._made.get(tensor)) is None:
            known = self._made[tensor] = self._how_to_make(tensor)
        return known

    def _how_to_make(self, tensor: Tensor) -> list[Node]:
        node = tensor.producer
        if node is None or node not in self.position:
            return []
        if node.name == "constant":
            return [node] if splat_of(node) is not None else []
        if node.name == "iota":
            return [node]
        if node.name in MOVED:
            return list(dict.fromkeys([node, *self._remade(node.operands[0])]))
        if node.name not in ELEMENTWISE or node.name in EXPENSIVE:
            return []
        made = [n for operand in node.operands for n in self._remade(operand)]
        inside = dict.fromkeys([node, *made])
        read = {o for n in inside for o in n.operands if o.producer not in inside}
        if len(inside) > MAX_SIDE or sum(map(bytes_of, read)) > bytes_of(tensor):
            return []
        return list(inside)


def _pays(parts: AttentionParts) -> bool:
    """Whether there is more to it than a handful of scores."""
    return parts.logits.size >= 16 and parts.depth >= 4 and parts.width >= 4


def _is_splat(tensor: Tensor) -> bool:
    node = tensor.producer
    return node is not None and node.name == "constant" and splat_of(node) is not None


def _spreads(tensor: Tensor) -> Iterator[Node]:
    """The broadcasts and reshapes that make a tensor, and the constant at their start."""
    while (node := tensor.producer) is not None:
        if node.name not in ("broadcast_in_dim", "reshape"):
            return
        yield node
        tensor = node.operands[0]
