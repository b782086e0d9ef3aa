"""Greedy producer-consumer fusion on one block: an op joins its consumers' group where that pays.

Groups have one root, the last op; an op joins a group when all its readers are in it, so nothing is
computed twice except what is free to repeat. Every edge gets a decision with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from hlo.passes.cost.caches import runs_stay_in_cache
from hlo.passes.cost.duplication import Choice, Distances, again_or_stored, is_cheaper_side_by_side
from hlo.passes.cost.product_choice import product_choice
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.attention import KIND as ATTENTION
from hlo.passes.fusion.attention import Attention
from hlo.passes.fusion.attentions import find_attentions
from hlo.passes.fusion.decision import FusionDecision
from hlo.passes.fusion.group import Group
from hlo.passes.fusion.joined_pieces import judge_joined
from hlo.passes.fusion.look_ups import judge_looked_up
from hlo.passes.fusion.op_traits import (
    CONTRACTIONS,
    ELEMENTWISE,
    EXPENSIVE,
    FOLDS,
    KEEP_ORDER,
    MOVEMENT,
    alternates,
    folds_agree,
    goes_element_by_element,
    is_free_to_repeat,
    is_fusible,
    is_reshape_of,
    repeats_operand,
    spreads_over_rows,
)
from hlo.passes.fusion.prologues import (
    Prologues,
    bytes_behind,
    moves_in_prologue,
    operands_made,
)
from hlo.passes.fusion.repeated_rows import cuts_rows_short
from hlo.passes.fusion.two_products import KIND as TWO_PRODUCTS
from hlo.passes.fusion.two_products import Pair, find_two_products
from hlo.passes.hlo_to_loops.affine import merge_cuts
from hlo.passes.hlo_to_loops.column_space import column_space, folds_spread_again
from hlo.passes.hlo_to_loops.contraction_tiling import takes_elementwise
from hlo.passes.hlo_to_loops.cumulative_kernel import cumulative_dim
from hlo.passes.hlo_to_loops.graph import Node, Tensor, splat_of, users
from hlo.passes.hlo_to_loops.index_maps import ROOT, IndexMaps
from hlo.passes.hlo_to_loops.loop_space import required_cuts
from hlo.passes.kernel_forms.split_reductions import PARTIAL

MAX_OPS = 200  # beyond this a kernel compiles slowly and spills registers
# Through slices, pads and the like an op is read at several places and computed at each of them: a
# chain of such ops would be computed exponentially often. Moving elements again costs little.
MAX_PLACES = 4
MAX_PLACES_OF_MOVEMENT = 32
_TOGETHER = {
    ATTENTION: "both are in one attention: the scores stay in scratch",
    TWO_PRODUCTS: "a matrix and its transpose are multiplied in one pass over it",
}
AT_ROOT = frozenset((ROOT,))
MAX_COPIES = 8  # ops of a kernel that others compute too: more would cost more than what they read


@dataclass(frozen=True)
class Edge:
    """A decision about one producer and the group of its consumers.

    Attributes:
        siblings: the two do not read one another: kernels that read the same.
    """

    producer: Node
    consumer: Node
    decision: FusionDecision
    siblings: bool = False


class BlockFusion:
    """Decides the groups of one block."""

    def __init__(
        self,
        nodes: Sequence[Node],
        results: Sequence[Tensor],
        max_ops: int = MAX_OPS,
        gpu: bool = False,
    ) -> None:
        """Args:
        gpu: whether kernels are a GPU's: all those of dots take in what follows them, those of
            attention compute their softmax online, results of a kernel have one element count, and
            no reduction of a kernel needs another's results.
        """
        self.nodes = list(nodes)
        self.position = {node: i for i, node in enumerate(self.nodes)}
        self.readers = users(self.nodes)
        for node in self.nodes:
            for region in node.regions:
                for tensor in region.free:
                    self.readers.setdefault(tensor, []).append(node)
        self.leaves = set(results)
        self.max_ops, self.gpu = max_ops, gpu
        self.prologues = Prologues(self.position, self.readers, self.leaves, gpu)
        self.maps = IndexMaps(folds=not gpu)
        # The groups that hold each op: one, but several for ops that are free to repeat.
        self.groups: dict[Node, list[Group]] = {}
        self.edges: list[Edge] = []
        self.distances = Distances()
        # Dots that came close to being part of an attention, and why they are not.
        self.refusals: dict[Node, str] = {}
        folds, broadcasts = (set[Node](), set[Node]()) if gpu else folds_spread_again(self.nodes)
        # Reductions of columns that stay in the cache for the elements along them, and what spreads
        # their results there.
        self.column_folds, self.column_broadcasts = folds, broadcasts

    def run(self) -> list[Group]:
        """The groups, in program order of their roots."""
        found: list[Group] = []
        claimed: set[Node] = set()
        attentions = find_attentions(self.nodes, self.readers, self.leaves, gpu=self.gpu)
        self.refusals = {r.scores: r.reason for r in attentions.refusals}
        for attention in attentions.found:
            found.append(self._claim(attention, ATTENTION))
            claimed.update(attention.core)
        if not self.gpu:
            for pair in find_two_products(self.nodes, self.readers, self.leaves):
                if claimed.isdisjoint(pair.core):
                    found.append(self._claim(pair, TWO_PRODUCTS))
                    claimed.update(pair.core)
        for node in reversed(self.nodes):
            if node in claimed or (not is_fusible(node) and node.name != "constant"):
                continue
            joined, needed_outside = self._targets(node)
            for group in joined:
                self._join(node, group)
            if needed_outside and node.name != "constant":
                group = Group(node, set())
                self._join(node, group)
                found.append(group)
                self.distances.note(self.position[node], sum(map(bytes_of, node.results)))
        return sorted(found, key=lambda g: self.position[g.root])

    def join_siblings(self, first: Node, second: Node, reason: str) -> None:
        """Notes that the kernels of two ops became one."""
        self.edges.append(Edge(first, second, FusionDecision.yes(reason), siblings=True))

    def _claim(self, pattern: Attention | Pair, kind: str) -> Group:
        """The ops of a pattern as a group, closed to other ops."""
        group = Group(
            pattern.root,
            {*pattern.core, *pattern.side},
            list(pattern.more_roots),
            kind=kind,
        )
        for node in group.nodes:
            self.groups.setdefault(node, []).append(group)
        yes = FusionDecision.yes(_TOGETHER[kind])
        for node in pattern.core:
            for reader in self._readers_in(node, group):
                self._decide(node, reader, yes)
        return group

    def all_edges(self) -> list[Edge]:
        """After `run`: a decision for each producer and reader, in program order; no constants."""
        recorded: dict[Node, dict[Node, FusionDecision]] = {}
        siblings: dict[Node, list[Edge]] = {}
        for edge in self.edges:
            if edge.siblings:
                siblings.setdefault(edge.producer, []).append(edge)
                continue
            recorded.setdefault(edge.producer, {})[edge.consumer] = edge.decision
        found: list[Edge] = []
        for node in self.nodes:
            if node.name == "constant":
                continue
            known = recorded.get(node, {})
            readers = {r: None for result in node.results for r in self.readers.get(result, [])}
            for reader in readers:
                decision = known.get(reader) or self._implied(node, reader, list(known.values()))
                if node in self.refusals and not decision:
                    reason = f"{decision.reason}; no attention: {self.refusals[node]}"
                    decision = FusionDecision.no(reason)
                found.append(Edge(node, reader, decision))
            found += siblings.get(node, ())
        return found

    def _implied(
        self, node: Node, reader: Node, others: Sequence[FusionDecision]
    ) -> FusionDecision:
        """The decision on a reader that was not asked alone, from those on the other readers."""
        reasons = {decision.fused: decision.reason for decision in others}
        if set(self.groups.get(node, ())) & set(self.groups.get(reader, ())):
            return FusionDecision.yes(reasons.get(True, "both are in this kernel"))
        if not is_fusible(node):
            return FusionDecision.no(f"{node.name} is not a generated loop")
        if not self.groups.get(reader):
            return FusionDecision.no(f"its reader {reader.name} is not a generated loop")
        return FusionDecision.no(reasons.get(False, "the kernel of another reader stores it"))

    def _join(self, node: Node, group: Group) -> None:
        self.groups.setdefault(node, []).append(group)
        group.nodes.add(node)
        readers = self._readers_in(node, group)
        group.places[node] = self.places_of(node, group, readers)
        if any(r.name in CONTRACTIONS or r in group.prologue for r in readers):
            group.prologue[node] = operands_made(node, group, readers)
        self._note_repeats(node, group)

    def places_of(self, node: Node, group: Group, readers: Sequence[Node]) -> frozenset[int]:
        """The index maps that readers in a group compute an op at."""
        if node is group.root:
            return AT_ROOT
        return frozenset(
            number
            for reader in readers
            for result in node.results
            for number in self.maps.all_through(reader, result, group.places[reader])
        )

    def _readers_in(self, node: Node, group: Group) -> list[Node]:
        readers = {r: None for result in node.results for r in self.readers.get(result, [])}
        return [reader for reader in readers if reader in group.nodes]

    def _note_repeats(self, node: Node, group: Group) -> None:
        """What a group reads repeatedly: through an op that repeats, or one itself repeated."""
        inherited = any(r in group.repeated for r in node.results)
        for i, operand in enumerate(node.operands):
            if inherited or (repeats_operand(node, i) and not self._hoisted(node, group)):
                group.repeated.add(operand)

    def _hoisted(self, node: Node, group: Group) -> bool:
        """Whether a broadcast reads one element of its operand for each innermost loop."""
        if node.name != "broadcast_in_dim":
            return False
        operand, result = node.operands[0], node.results[0]
        if node in self.column_broadcasts and result.size == group.root.results[0].size:
            return True
        if self.maps.all_through(node, operand, group.places[node]) == AT_ROOT:
            return True
        dims = node.attributes["broadcast_dimensions"]
        kept = [d for d, size in zip(dims, operand.shape, strict=True) if size != 1]
        prefix = [d for d in range(len(result.shape)) if result.shape[d] != 1][: len(kept)]
        return operand.size == 1 or (kept == prefix and result.size == group.root.results[0].size)

    def _targets(self, node: Node) -> tuple[list[Group], bool]:
        """(the groups to compute an op in, whether its result is needed in memory too)."""
        everyone = [r for result in node.results for r in self.readers.get(result, [])]
        readers = [r for r in everyone if not self._has_own_copy(node, r)]
        outside = any(result in self.leaves for result in node.results)
        if everyone and not readers and not outside:
            return [], False
        groups: dict[Group, list[Node]] = {}
        for reader in readers:
            for group in self.groups.get(reader, []):
                if group.kind is None:
                    groups.setdefault(group, []).append(reader)
        unfused = [r for r in readers if not self.groups.get(r) or self._is_closed_to(node, r)]
        if is_free_to_repeat(node):
            joined = [
                g
                for g, inside in groups.items()
                if self._decide(node, inside[0], self._judge(node, g, inside))
            ]
            return joined, outside or bool(unfused) or len(joined) < len(groups) or not readers
        if not readers:
            return [], True
        choice = None if outside or unfused else self._repetition(node, groups)
        if choice is not None and choice.repeats:
            for group, inside in groups.items():
                self._decide(node, inside[0], FusionDecision.yes(choice.reason))
                group.copies += 1
            return list(groups), False
        if outside or unfused or len(groups) > 1:
            reason = self._why_in_memory(outside, unfused)
            if (shared := self._as_another_root(node, groups, unfused)) is None:
                self._decide(node, (unfused or readers)[0], FusionDecision.no(reason))
                return [], True
            yes = FusionDecision.yes(f"{reason}, and the kernel of a reader stores it on the way")
            self._decide(node, groups[shared][0], yes)
            shared.more_roots.append(node)
            return [shared], False
        ((group, inside),) = groups.items()
        fused = self._decide(node, inside[0], self._judge(node, group, inside))
        return ([group], False) if fused else ([], True)

    def _repetition(self, node: Node, groups: dict[Group, list[Node]]) -> Choice | None:
        """What it costs that each of several kernels computes an op; None if they may not."""
        moved = all(moves_in_prologue(node, group) for group in groups)
        if len(groups) < 2 or not (node.name in ELEMENTWISE or moved):
            return None
        if any(group.copies >= MAX_COPIES for group in groups):
            return None
        size = bytes_of(node.results[0])
        amounts = {operand: bytes_behind(operand) for operand in node.operands}
        large = [operand for operand, amount in amounts.items() if 8 * amount > size]
        # Of two large operands both would have to be kept where one result does.
        if len(large) > 1 or not all(self.prologues.is_in_memory(operand) for operand in large):
            return None
        if not all(self._judge(node, group, inside) for group, inside in groups.items()):
            return None
        last = max(self.position[group.root] for group in groups)
        distance = size + self.distances.between(self.position[node], last)
        alone = self._as_another_root(node, groups, []) is None
        times = sum(self.prologues.times(node, group, inside) for group, inside in groups.items())
        return again_or_stored(node, sum(amounts.values()), len(groups), distance, alone, times)

    def _is_closed_to(self, node: Node, reader: Node) -> bool:
        """Whether a kernel that a pattern chose reads an op's result from memory."""
        return any(g.kind and node not in g.nodes for g in self.groups.get(reader, ()))

    def _has_own_copy(self, node: Node, reader: Node) -> bool:
        """Whether a reader is only in such kernels, and the op in them with it."""
        groups = self.groups.get(reader, ())
        return bool(groups) and all(g.kind and node in g.nodes for g in groups)

    def _why_in_memory(self, outside: bool, unfused: Sequence[Node]) -> str:
        if outside:
            return "its result leaves the block"
        if unfused and self.groups.get(unfused[0]):
            return "a kernel of products reads its operands many times: they must be in memory"
        if unfused:
            return f"its reader {unfused[0].name} is not a generated loop"
        return "it has readers in several kernels"

    def _as_another_root(
        self, node: Node, groups: dict[Group, list[Node]], unfused: Sequence[Node]
    ) -> Group | None:
        """The kernel that can compute an op needed in memory too, element by element."""
        fold = not self.gpu and node.name == "reduce"
        if (node.name not in ELEMENTWISE and not fold) or not groups:
            return None
        group = min(groups, key=lambda g: self.position[g.root])
        at = self.position[group.root]
        later = [self.position[r] for r in unfused]
        later += [self.position[g.root] for g in groups if g is not group]
        root = group.root
        known = ELEMENTWISE | ({"reshape", "reduce"} if not self.gpu else {"reshape"})
        if any(position <= at for position in later) or root.name not in known:
            return None
        if any(n.name in CONTRACTIONS for n in group.nodes) or is_reshape_of(root, node):
            return None
        inside = groups[group]
        same_elements = self.places_of(node, group, inside) == AT_ROOT
        if not same_elements or node.results[0].size != root.results[0].size:
            return None
        return group if self._judge(node, group, inside) else None

    def _decide(self, node: Node, reader: Node, decision: FusionDecision) -> bool:
        if node.name != "constant":
            self.edges.append(Edge(node, reader, decision))
        return decision.fused

    def _judge(self, node: Node, group: Group, readers: Sequence[Node]) -> FusionDecision:
        if node.name == "constant":
            return (
                FusionDecision.yes("a constant")
                if splat_of(node) is not None
                else FusionDecision.no("its elements differ")
            )
        if len(node.results) != 1:
            return FusionDecision.no("it has several results")
        if len(group.nodes) >= self.max_ops:
            return FusionDecision.no(f"the kernel already holds {len(group.nodes)} ops")
        places = len(self.places_of(node, group, readers))
        if places > (MAX_PLACES_OF_MOVEMENT if node.name in MOVEMENT else MAX_PLACES):
            return FusionDecision.no(f"its readers would compute it at {places} places")
        repeated = node.results[0] in group.repeated
        if repeated and not self.gpu and cuts_rows_short(node, group.root):
            return FusionDecision.no("it repeats elements in a row: vectors take it from memory")
        if node.name in CONTRACTIONS:
            return self._judge_contraction(node, group)
        if any(r.name in CONTRACTIONS or r in group.prologue for r in readers):
            return self.prologues.judge(node, group, readers)
        if any(n.name in CONTRACTIONS for n in group.nodes) and not self._follows_contraction(
            node, group
        ):
            return FusionDecision.no(
                "register tiles take only elementwise ops of the contraction's shape"
            )
        if node.name == "dynamic_update_slice":
            return FusionDecision.no("an update is made in place, as the root of its kernel")
        if any(r.name in FOLDS and node.results[0] in _initial_values(r) for r in readers):
            return FusionDecision.no("it is the initial value of a reduction")
        if repeated and (node.name in EXPENSIVE or node.name in FOLDS):
            return FusionDecision.no("the kernel reads it repeatedly, and it is dear to compute")
        if repeated and self._lies_apart(node, group):
            return FusionDecision.no(
                "its elements lie apart and are read repeatedly: they are put side by side once"
            )
        if not self.gpu and self._is_laid_apart_again(node, group):
            return FusionDecision.no(
                "its elements alternate and are laid apart again: lanes would compute it in vain"
            )
        stored = None if self.gpu else judge_looked_up(node, readers, self.prologues)
        if stored is None and not self.gpu:
            stored = judge_joined(node, readers, lambda r: self._readers_in(r, group))
        if stored is not None:
            return stored
        if (problem := self._update_conflict(node, group)) is not None:
            return FusionDecision.no(problem)
        if node.name in FOLDS:
            return self._judge_fold(node, group, readers)
        if self._holds_inner_fold(group):
            return self._judge_with_folds(node, group)
        return FusionDecision.yes("all its readers are in this kernel")

    def _lies_apart(self, node: Node, group: Group) -> bool:
        """Whether lanes look a slice's elements up one by one, for many rows that read the same."""
        if self.gpu or node.name != "slice":
            return False
        rows, pending = 0, [node.results[0]]
        seen = set(pending)
        for tensor in pending:
            for reader in self.readers.get(tensor, ()):
                made = reader.results[0]
                if reader not in group.nodes or made in seen:
                    continue
                if spreads_over_rows(reader):
                    rows = max(rows, made.size // max(tensor.size, 1))
                elif reader.name in KEEP_ORDER and made.size == tensor.size:
                    seen.add(made)
                    pending.append(made)
        return is_cheaper_side_by_side(node, rows)

    def _is_laid_apart_again(self, node: Node, group: Group) -> bool:
        """Whether the kernel lays an op's result apart, which reads what was laid apart before. All
        lanes compute what half of them use: with each such step in a kernel twice as much.
        """
        producers = [operand.producer for operand in node.operands]
        if not any(producer is not None and alternates(producer) for producer in producers):
            return False
        pending = list(node.results)
        seen = set(pending)
        for tensor in pending:
            for reader in self.readers.get(tensor, ()):
                if reader not in group.nodes:
                    continue
                if alternates(reader):
                    return True
                pending += [made for made in reader.results if made not in seen]
                seen.update(reader.results)
        return False

    def _update_conflict(self, node: Node, group: Group) -> str | None:
        """An update in place must not read, through its producers, what it overwrites."""
        root = group.root
        if root.name != "dynamic_update_slice":
            return None
        if node.results[0] is root.operands[0]:
            return "it is the operand that is updated in place"
        if root.operands[0] in node.operands and root.operands[1].size > 1:
            return "it reads the buffer that is updated in place"
        return None

    def _judge_contraction(self, node: Node, group: Group) -> FusionDecision:
        """A contraction takes in what follows it element by element."""
        if not self.gpu and not takes_elementwise(node):
            return FusionDecision.no("its kernel takes in nothing that follows")
        if any(n.name in CONTRACTIONS for n in group.nodes):
            return FusionDecision.no("the kernel already holds a contraction")
        if group.root.results[0].size != node.results[0].size:
            return FusionDecision.no("the kernel has more elements than its result")
        for other in group.nodes:
            if not goes_element_by_element(other, node.results[0].size):
                return FusionDecision.no(
                    f"{other.name} does not go element by element over its result"
                )
        if not self.gpu and node.name == "dot_general":
            choice = product_choice(node, beside=2 * bytes_of(node.results[0]))
            if choice.calls_library:
                return FusionDecision.no(choice.reason)
        return FusionDecision.yes("what follows is applied to its register tiles")

    @staticmethod
    def _follows_contraction(node: Node, group: Group) -> bool:
        return goes_element_by_element(node, group.root.results[0].size)

    def _judge_fold(self, node: Node, group: Group, readers: Sequence[Node]) -> FusionDecision:
        at_root = self.places_of(node, group, readers) == AT_ROOT
        chained = (
            not self.gpu and at_root and node.name == "reduce" and self._feeds_fold(node, group)
        )
        if chained and not runs_stay_in_cache(node):
            return FusionDecision.no(
                "what it reads would have left the cache before it is read again"
            )
        if chained and node.results[0].size == group.root.results[0].size:
            return FusionDecision.yes("what it folds stays in the cache for the next reduction")
        if group.root.name in FOLDS:
            if PARTIAL in node.attributes:
                return FusionDecision.no("it is another step, of the launch that joins them")
            return FusionDecision.no("a reduction of a reduction is a kernel of its own")
        root = group.root.results[0]
        if node.name == "reduce_window" and cumulative_dim(node) is not None:
            return FusionDecision.no("a running total is made in one pass, as a kernel of its own")
        if node.name == "reduce_window":
            same = root.size == node.results[0].size
            return (
                FusionDecision.yes("element by element")
                if same
                else FusionDecision.no("its readers change shape")
            )
        return self._judge_with_folds(node, group)

    def _feeds_fold(self, node: Node, group: Group) -> bool:
        """Whether another reduction of the group needs a reduction's result."""
        pending, seen = [node], {node}
        while pending:
            for reader in self._readers_in(pending.pop(), group):
                if reader.name in FOLDS:
                    return True
                if reader not in seen:
                    seen.add(reader)
                    pending.append(reader)
        return False

    @staticmethod
    def _holds_inner_fold(group: Group) -> bool:
        return any(n.name in FOLDS and n is not group.root for n in group.nodes)

    def _judge_with_folds(self, node: Node, group: Group) -> FusionDecision:
        """Folds inside a kernel must be computed once: one for each run of the innermost loop."""
        if not self.folds_are_computed_once({*group.nodes, node}, (group.root, *group.more_roots)):
            return FusionDecision.no("the reduction would be computed again for every element")
        if not self.gpu and not folds_agree({*group.nodes, node}):
            return FusionDecision.no("one reduction goes along rows, the other across them")
        once = "the reduction is computed once for each row or column of the kernel"
        return FusionDecision.yes(once)

    def folds_are_computed_once(self, held: Set[Node], roots: Sequence[Node]) -> bool:
        """Whether every fold of a kernel but its roots is done once for each row or column."""
        root = roots[0].results[0]
        inputs = {t for n in held for t in n.operands}
        boundary = {t for t in inputs if t.producer is not None and t.producer not in held}
        memo: dict[Tensor, frozenset[int]] = {t: frozenset() for t in boundary}
        cuts = {cut for n in roots for cut in required_cuts(n.results[0], memo)}
        row = max(merge_cuts(cuts, root.size)[-1], 1)
        inner = [n for n in held if n.name in FOLDS and n not in roots]
        sizes = {n.results[0].size for n in inner}
        if not sizes <= {root.size, root.size // row}:
            columns = self.column_folds.issuperset(inner)
            return columns and column_space(held, [n.results[0] for n in roots]) is not None
        # One that folds over what another computed would compute that once more than the root does.
        return len(sizes) < 2 or not any(_folds_over_fold(n, held) for n in inner)


def _folds_over_fold(fold: Node, held: Set[Node]) -> bool:
    """Whether a fold depends, in a kernel, on another that has more results than it."""
    seen: set[Node] = set()
    pending = [fold]
    while pending:
        for operand in pending.pop().operands:
            producer = operand.producer
            if producer is None or producer not in held or producer in seen:
                continue
            if producer.name in FOLDS and producer.results[0].size > fold.results[0].size:
                return True
            seen.add(producer)
            pending.append(producer)
    return False


def _initial_values(fold: Node) -> tuple[Tensor, ...]:
    """The operands of a reduction that its accumulators start as."""
    return fold.operands[len(fold.operands) // 2 :]
