"""What contractions compute of their operands while they read or pack them, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from hlo.passes.cost.product_choice import product_choice
from hlo.passes.cost.prologues import packed_or_stored
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.decision import FusionDecision
from hlo.passes.fusion.group import Group
from hlo.passes.fusion.op_traits import (
    CONTRACTIONS,
    ELEMENTWISE,
    EXPENSIVE,
    FOLDS,
    IN_PROLOGUES,
    MOVED_IN_PROLOGUES,
    MOVEMENT,
    is_free_to_repeat,
    is_fusible,
)
from hlo.passes.hlo_to_loops.contraction_tiling import lanes_of
from hlo.passes.hlo_to_loops.gradient_blocks import gradient_plan
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.hlo_to_loops.input_blocks import input_block, packs_input
from hlo.passes.hlo_to_loops.kernel_panels import is_view_of_panels
from hlo.passes.hlo_to_loops.loop_space import required_cuts
from hlo.passes.hlo_to_loops.matrix_vector_kernel import matrix_vector_of
from hlo.passes.hlo_to_loops.operand_prologues import left_times, packs_left, takes_prologue

INPUT, KERNEL = 0, 1  # operands of a convolution


class Prologues:
    """Decides on the ops ahead of the contractions of a block.

    Args:
        position: of each op of the block.
        readers: of each value.
        leaves: what the block gives.
        gpu: whether kernels are a GPU's: their prologues only move kernels of convolutions.
    """

    def __init__(
        self, position: Mapping[Node, int], readers: Mapping[Tensor, Sequence[Node]],
        leaves: Set[Tensor], gpu: bool,
    ) -> None:  # fmt: skip
        self.position, self.readers, self.leaves, self.gpu = position, readers, leaves, gpu

    def judge(self, node: Node, group: Group, readers: Sequence[Node]) -> FusionDecision:
        """A contraction computes an operand as it packs it, or as it reads each element once."""
        if is_view_of_panels(node):
            return FusionDecision.yes("the convolution reads its kernel in panels")
        dots = [r for r in readers if r.name in CONTRACTIONS]
        places = [(r, i) for r in dots for i, o in enumerate(r.operands) if o in node.results]
        moved = moves_in_prologue(node, group)
        taken = moved and all(i == KERNEL for _, i in places)
        if not taken if self.gpu else not all(takes_prologue(r, i) for r, i in places):
            return FusionDecision.no(
                "a contraction reads its operands many times: they must be in memory"
            )
        if (reason := self._why_library(node, group)) is not None:
            return FusionDecision.no(reason)
        if len(dots) + sum(r in group.prologue for r in readers) < len(readers):
            return FusionDecision.no("what follows the contraction reads it too")
        if node.name == "reshape" and not self._is_reshape_in_prologue(node):
            return FusionDecision.no("it is a view of what is in memory")
        made = operands_made(node, group, readers)
        if INPUT in made and _packs_input(contraction_of(group)):
            return self._judge_input(node, group, readers)
        if node.name not in IN_PROLOGUES and not moved:
            return FusionDecision.no(f"{node.name} is not computed while an operand is packed")
        if 2 * self._bytes_read(node) > 3 * bytes_of(node.results[0]):
            return FusionDecision.no("the contraction would read more than its operand has")
        if not self.gpu and _cuts_rows(node, contraction_of(group), made):
            return FusionDecision.no("it repeats elements in a row: vectors take it from memory")
        if convolution_of(group) is not None:
            return FusionDecision.yes("the convolution computes its kernel as it packs it")
        return FusionDecision.yes("the dot computes its operand as it reads it")

    def _why_library(self, node: Node, group: Group) -> str | None:
        """Why a dot that is a kernel so far is better a call of a library; None if it is not."""
        if self.gpu or group.root.name != "dot_general":
            return None
        choice = product_choice(group.root, beside=2 * bytes_of(node.results[0]))
        return choice.reason if choice.calls_library else None

    def times(self, node: Node, group: Group, readers: Sequence[Node]) -> float:
        """How often a kernel would compute each element of an op."""
        made = operands_made(node, group, readers)
        if INPUT not in made or not _packs_input(contraction := contraction_of(group)):
            return 1.0
        if contraction.name == "dot_general":
            return left_times(contraction)
        plan = gradient_plan(contraction)
        block = input_block(contraction) if plan is None else plan.block
        return 1.0 if block is None else block.times

    def is_in_memory(self, tensor: Tensor) -> bool:
        """Whether a value is stored whatever becomes of one of its readers."""
        producer = tensor.producer
        if producer is None or not is_fusible(producer) or tensor in self.leaves:
            return True
        if producer.name == "reshape":
            return self.is_in_memory(producer.operands[0])
        return len(self.readers.get(tensor, ())) > 1 and producer.name not in MOVEMENT

    def _judge_input(self, node: Node, group: Group, readers: Sequence[Node]) -> FusionDecision:
        """An input is packed a block at a time, some of its elements several times."""
        contraction = contraction_of(group)
        if KERNEL in operands_made(node, group, readers):
            return FusionDecision.no("both operands are made of it")
        if is_free_to_repeat(node):
            return FusionDecision.yes(f"the {contraction.name} computes its input as it packs it")
        if node.name not in ELEMENTWISE:
            return FusionDecision.no(f"{node.name} is not computed while an operand is packed")
        chain, taken = self.chain(node, group.prologue.keys())
        size = bytes_of(node.results[0])
        large = [t for t in taken if 8 * bytes_behind(t) > size]
        if not all(map(self.is_in_memory, large)):
            return FusionDecision.no("the kernel that makes what it reads computes it on the way")
        read = sum(map(bytes_behind, taken))
        if 2 * read > 3 * size:
            return FusionDecision.no("the contraction would read more than its operand has")
        if contraction.name == "dot_general" and any(map(_spreads_a_fold, taken)):
            return FusionDecision.no("the kernel that reduces its rows has them in the cache")
        times = self.times(node, group, readers)
        anyway = contraction.name == "convolution" and packs_input(contraction)
        choice = packed_or_stored(contraction, chain, read, times, anyway)
        return FusionDecision(choice.packs, choice.reason)

    def chain(self, node: Node, made: Set[Node]) -> tuple[list[Node], list[Tensor]]:
        """The elementwise ops that make an op's result for it alone, and what they read.

        Args:
            made: ops that are computed with it already.
        """
        chain, held = list[Node](), {node, *made}
        taken: dict[Tensor, None] = {}
        pending = [node]
        while pending:
            latest = max(pending, key=self.position.__getitem__)
            pending.remove(latest)
            chain.append(latest)
            held.add(latest)
            for operand in latest.operands:
                source = operand.producer
                if source is None or source in held or source in pending:
                    continue
                if self._is_made_for(operand, held):
                    taken.pop(operand, None)
                    pending.append(source)
                else:
                    taken[operand] = None
        return chain, list(taken)

    def _is_made_for(self, tensor: Tensor, held: Set[Node]) -> bool:
        """Whether an elementwise op of the block gives a value to some ops alone."""
        source = tensor.producer
        if source is None or source not in self.position or source.name not in ELEMENTWISE:
            return False
        return tensor not in self.leaves and all(r in held for r in self.readers[tensor])

    def _bytes_read(self, node: Node) -> int:
        """Bytes that a dot reads to compute an operand, what can be computed with it left out."""
        total = 0
        for operand in node.operands:
            made, stored = operand.producer, bytes_behind(operand)
            alone = len(self.readers.get(operand, ())) == 1 and operand not in self.leaves
            if made is not None and made in self.position and alone:
                cheap = made.name in ELEMENTWISE - EXPENSIVE
                stored = min(stored, self._bytes_read(made)) if cheap else stored
            total += stored
        return total

    def _is_reshape_in_prologue(self, node: Node) -> bool:
        """Whether what a reshape reads would be computed with it, by nobody else."""
        operand = node.operands[0]
        made, readers = operand.producer, self.readers.get(operand, ())
        if made is None or made not in self.position or operand in self.leaves:
            return False
        if made.name == "broadcast_in_dim":
            return True
        return made.name in IN_PROLOGUES and made.name != "iota" and len(readers) == 1


def convolution_of(group: Group) -> Node | None:
    """The convolution that a kernel holds."""
    return next((n for n in group.nodes if n.name == "convolution"), None)


def contraction_of(group: Group) -> Node:
    """The dot or convolution of a kernel that has one."""
    return next(n for n in group.nodes if n.name in CONTRACTIONS)


def _cuts_rows(node: Node, contraction: Node, made: Set[int]) -> bool:
    """Whether a dot's vectors, which go along rows of an operand, would leave what an op repeats: a
    scale for each group of a row's weights, say. With few vectors, groups of whole vectors are read
    as they are.
    """
    if contraction.name != "dot_general" or node.name not in ("broadcast_in_dim", "iota"):
        return False
    memo: dict[Tensor, frozenset[int]] = {operand: frozenset() for operand in node.operands}
    cuts = [cut for cut in required_cuts(node.results[0], memo) if cut > 1]
    few, lanes = matrix_vector_of(contraction) is not None, lanes_of(contraction.results[0].type)

    def fits(cut: int, row: int) -> bool:
        return cut % row == 0 or (few and row % lanes == 0 and cut % lanes == 0)

    shapes = [contraction.operands[i].shape for i in made]
    rows = [next((n for n in reversed(shape) if n != 1), 1) for shape in shapes]
    return not all(fits(cut, row) for cut in cuts for row in rows)


def _packs_input(contraction: Node) -> bool:
    """Whether a contraction packs its first operand only where that is computed."""
    return contraction.name == "convolution" or packs_left(contraction)


def _spreads_a_fold(tensor: Tensor) -> bool:
    """Whether a value is the result of a reduction, or one spread."""
    producer = tensor.producer
    while producer is not None and producer.name in ("broadcast_in_dim", "reshape", *ELEMENTWISE):
        if len(producer.operands) != 1:
            return any(map(_spreads_a_fold, producer.operands))
        producer = producer.operands[0].producer
    return producer is not None and producer.name in FOLDS


def operands_made(node: Node, group: Group, readers: Sequence[Node]) -> frozenset[int]:
    """The operands of a kernel's contraction that an op makes, given its readers there."""
    found: set[int] = set()
    for reader in readers:
        if reader.name in CONTRACTIONS:
            found.update(i for i, o in enumerate(reader.operands) if o in node.results)
        else:
            found |= group.prologue.get(reader, frozenset())
    return frozenset(found)


def moves_in_prologue(node: Node, group: Group) -> bool:
    """Whether a convolution reads its kernel in the order of an op's operand."""
    return node.name in MOVED_IN_PROLOGUES and convolution_of(group) is not None


def bytes_behind(tensor: Tensor) -> int:
    """Bytes that a kernel reads to have a tensor, what is made again in every kernel left out."""
    producer = tensor.producer
    if producer is None or not is_free_to_repeat(producer):
        return bytes_of(tensor)
    return min(bytes_of(tensor), sum(bytes_behind(operand) for operand in producer.operands))
