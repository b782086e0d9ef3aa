"""rematerialize: intermediates are made again, not kept, until the program meets a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.estimate import seconds_from_memory
from hlo.passes.hlo_to_host.carried import carried_through
from hlo.passes.hlo_to_host.program import entry_of, results_in_arguments
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor, captured, reading
from hlo.passes.memory.block_problem import BlockProblem, block_problem, nested_homes
from hlo.passes.memory.schedule import reorder
from hlo.passes.memory.scheduling import Problem, Recomputed, orders, profile, recompute
from hlo.passes.rewrite.walk import reads_from_outside

# Orders that are tried, besides the one that the ops have.
RULES = ("free early", "free early, small ones too", "make late, free early")
MOST_ROUNDS = 8  # over the program: what is at the peak changes
DEAR = frozenset({"custom_call", "scatter", "dynamic_update_slice", "rng_bit_generator"})


@dataclass(frozen=True)
class Rematerialize(Pass):
    """Makes intermediates again where they are read, until few enough bytes are live: of the entry,
    and where its peak is in a loop's body or a branch, of that.

    Cheap kernels come first, by the time that the cost model gives them for each byte saved; dots,
    convolutions and whole chains of kernels if they must. Loops, branches, updates in place and
    library calls are not run again. Ops change places where what runs again then costs less. If the
    budget cannot be met, the least found is left.

    Requires: `fuse` ran; the core op set.
    Guarantees: results are unchanged to the bit: what runs again is the same kernel.

    Args:
        live_bytes: most bytes of intermediates live at once, by the model of `block_problem`; 0
            for no limit.

        %0 = fusion(%x)                        %0 = fusion(%x)
        %1 = dot_general %0, %v                %1 = dot_general %0, %v
        %2 = dot_general %1, %w         ==>    %2 = dot_general %1, %w
        %3 = fusion(%0, %2)                    %4 = fusion(%x)
                                               %3 = fusion(%4, %2)
    """

    live_bytes: int = 0

    def run(self, module: ir.Module) -> bool:
        if not self.live_bytes:
            return False
        function = entry_of(module)
        changed = False
        for _ in range(MOST_ROUNDS):
            with reading(function.regions[0].blocks[0]) as region:
                aliases = results_in_arguments(function, region)
                homes = {i: region.arguments[a] for i, a in aliases.items()}
                if not _lower(region, homes, self.live_bytes):
                    break
            changed = True
            if live_bytes_of(module) <= self.live_bytes:
                break
        return changed


def _lower(region: Region, homes: Mapping[int, Tensor], budget: int) -> bool:
    """Makes values of a block again until it meets a budget, or else of the blocks at its peak."""
    block = block_problem(region, homes)
    order, found = _cheapest(block, budget)
    moved = order != list(range(len(order)))
    if moved:
        ordered = [block.nodes[i] for i in order]
        reorder(block.nodes, ordered)
        block = replace(block, nodes=ordered)
    if any(found.again):
        _Rewriter(block, found).run()
        return True
    excess, at = found.peak - budget, profile(found.problem).at
    if excess <= 0 or not block.nodes or block.nodes[at].name not in CONTROL_FLOW:
        return moved
    node = block.nodes[at]
    peaks = [
        profile(block_problem(inner, nested_homes(node, i)).problem).peak
        for i, inner in enumerate(node.regions)
    ]
    limit = max(max(peaks) - excess, 1)
    lowered = [
        _lower(inner, nested_homes(node, i), limit)
        for i, inner in enumerate(node.regions)
        if peaks[i] > limit
    ]
    return moved or any(lowered)


def _cheapest(block: BlockProblem, budget: int) -> tuple[list[int], Recomputed]:
    """An order of a block's steps, and what runs again in it: the cheapest that meets the budget,
    else the one with the lowest peak.
    """
    problem, nodes = block.problem, block.nodes
    costs = [None if block.live.is_view(node) else _cost(node) for node in nodes]
    peak = profile(problem).peak
    tried = {tuple(range(len(nodes))): None}
    tried |= {tuple(order): None for rule, order in orders(problem, peak) if rule in RULES}
    found: list[tuple[list[int], Recomputed]] = []
    for order in tried:
        ordered = Problem([problem.steps[i] for i in order], problem.values)
        found.append((list(order), recompute(ordered, [costs[i] for i in order], budget)))
    return min(found, key=lambda f: (max(f[1].peak, budget), f[1].price))


def live_bytes_of(module: ir.Module) -> int:
    """Most bytes of intermediates of the entry that are live at once, by the same model."""
    function = entry_of(module)
    with reading(function.regions[0].blocks[0]) as region:
        aliases = results_in_arguments(function, region)
        homes = {i: region.arguments[a] for i, a in aliases.items()}
        return profile(block_problem(region, homes).problem).peak


def _cost(node: Node) -> float | None:
    """Seconds that running an op again takes; None if it must not."""
    if node.name in CONTROL_FLOW or node.name in DEAR or carried_through(node):
        return None
    if node.name == "constant":
        return None
    return seconds_from_memory(node)


@dataclass
class _Rewriter:
    """Does to a block what `recompute` did to its problem."""

    block: BlockProblem
    found: Recomputed
    values: dict[int, ir.Value] = field(default_factory=dict[int, ir.Value])  # new ones
    tensors: dict[ir.Value, Tensor] = field(default_factory=dict[ir.Value, Tensor])
    own: set[Node] = field(default_factory=set[Node])
    shown: dict[tuple[Tensor, int], ir.Value] = field(
        default_factory=dict[tuple[Tensor, int], ir.Value]
    )

    def run(self) -> None:
        nodes = self.block.nodes
        self.own.update(nodes)
        for node in nodes:
            pairs = zip(node.source.results, node.results, strict=True)
            self.tensors.update(pairs)
        waiting: list[tuple[Node, int]] = []
        for at, origin in enumerate(self.found.origins):
            node = nodes[origin]
            if self.found.again[at]:
                waiting.append((node, at))
                continue
            for again, place in waiting:
                self._again(again, place, node.source)
            waiting.clear()
            self._read_new(node, node.source, at, node.source)

    def _again(self, node: Node, at: int, ahead_of: ir.Operation) -> None:
        with ir.InsertionPoint(ahead_of):
            copy = node.source.clone()
        self._read_new(node, copy, at, copy)
        step = self.found.problem.steps[at]
        self.values.update(zip(step.makes, copy.results, strict=True))

    def _read_new(self, node: Node, op: ir.Operation, at: int, ahead_of: ir.Operation) -> None:
        """Lets an op, or its copy, read what was made again."""
        old = dict.fromkeys(self.block.numbers[self._root(t)] for t in captured(node))
        new = self.found.problem.steps[at].reads
        changed = {o: n for o, n in zip(old, new, strict=True) if o != n}
        if not changed:
            return
        for reader, i, value in reads_from_outside(op):
            tensor = self.tensors.get(value)
            if tensor is None:
                continue
            number = self.block.numbers.get(self._root(tensor))
            if number in changed:
                reader.operands[i] = self._value(tensor, changed[number], ahead_of)

    def _value(self, tensor: Tensor, number: int, ahead_of: ir.Operation) -> ir.Value:
        """A tensor that shows value `number` in the place of its old storage."""
        known = self.shown.get((tensor, number))
        if known is not None:
            return known
        node = tensor.producer
        if node is None or not self.block.live.is_view(node):
            return self.values[number]
        operand = node.operands[tensor.index]
        inner = self._value(operand, number, ahead_of)
        with ir.InsertionPoint(ahead_of):
            copy = node.source.clone()
        copy.operands[tensor.index] = inner
        self.shown[tensor, number] = copy.results[tensor.index]
        return copy.results[tensor.index]

    def _root(self, tensor: Tensor) -> Tensor:
        return self.block.live.holder(tensor)
