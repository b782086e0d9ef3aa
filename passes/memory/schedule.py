"""schedule: the ops of each block in an order that needs fewer bytes at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.block_time import BlockTime
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_host.bufferize import LARGEST_STORED_SPLAT
from hlo.passes.hlo_to_host.program import results_in_arguments
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor, captured, reading
from hlo.passes.memory.block_problem import block_problem, nested_homes
from hlo.passes.memory.scheduling import Found, Problem, as_given, profile, schedule
from hlo.passes.rewrite.walk import body_of, functions
from hlo.passes.simplify.dead_code import has_effects


@dataclass(frozen=True)
class Decision:
    """What was done with one block: where it is, its most live bytes before and after, the rule."""

    location: str
    steps: int
    bytes_before: int
    bytes_after: int
    rule: str


@dataclass(frozen=True)
class Schedule(Pass):
    """Reorders the ops of each block such that fewer bytes of intermediates are live at once.

    All stays as it is unless `least_gain` of the program's most live bytes is saved, by the model
    of `block_problem`, and in blocks with less than `least_bytes` bytes live. Of the blocks in
    loops and branches only those change that the program's peak asks for. An order that the cost
    model takes to be slower, for what its kernels find in caches, is not taken.

    Then ops of the entry that make results of arguments alone go last: until a result is made,
    other buffers may lie in its memory (`place`), also what kernels work in, which the model
    leaves out.

    Requires: `fuse` ran; the core op set.
    Guarantees: the same ops, each after those whose results it reads.

    Args:
        least_gain: share of the most live bytes that is worth another order.
        least_bytes: most live bytes of a block from which on it is looked at.
        most_slowdown: share of a block's estimated time that another order may add; `inf` for
            fewer bytes at any price.

        %0 = hlo.fusion(%x) ...                     %0 = hlo.fusion(%x) ...
        %1 = hlo.fusion(%y) ...              ==>    %2 = hlo.dot_general %0, %w
        %2 = hlo.dot_general %0, %w                 %1 = hlo.fusion(%y) ...
    """

    least_gain: float = 0.02
    least_bytes: int = 4096
    most_slowdown: float = 0.01

    def run(self, module: ir.Module) -> bool:
        if not any(map(_may_have_orders, functions(module).values())):
            return False
        changed = any(d.bytes_after < d.bytes_before for d in self.decide(module, apply=True))
        for function in functions(module).values():
            with reading(body_of(function)) as region:
                donated = set(results_in_arguments(function, region).values())
                late = _made_of_arguments(region, {region.arguments[i] for i in donated})
                late = [node for node in late if _result_bytes(node) >= self.least_bytes]
                ordered = [node for node in region.nodes if node not in late] + late
                if ordered != list(region.nodes):
                    reorder(region.nodes, ordered)
                    changed = True
        return changed

    def decide(self, module: ir.Module, *, apply: bool = False) -> list[Decision]:
        """What the pass does with each block, inner ones first; done only if `apply`."""
        decisions: list[Decision] = []
        for function in functions(module).values():
            with reading(body_of(function)) as region:
                aliases = results_in_arguments(function, region)
                homes = {i: region.arguments[argument] for i, argument in aliases.items()}
                block = self._block(region, homes, str(function.location))
                saved = block.before - block.found.peak
                worth = saved > self.least_gain * block.before
                _settle(block, block.found.peak if worth else block.before, decisions, apply)
        return decisions

    def _block(self, region: Region, homes: Mapping[int, Tensor], location: str) -> _Block:
        """The best orders of a block and of those in it, each by itself."""
        inner: dict[Node, list[_Block]] = {}
        for node in region.nodes:
            if node.name in CONTROL_FLOW:
                inner[node] = []
                for i, inside in enumerate(node.regions):  # one frame a level: programs nest deep
                    inner[node].append(self._block(inside, nested_homes(node, i), node.location))
        peaks = {node: max(b.found.peak for b in blocks) for node, blocks in inner.items()}
        problem = block_problem(region, homes, peaks).problem
        found = schedule(problem, self.least_gain, self.least_bytes, self._accepts(region, homes))
        before = _peak_as_it_was(region, problem, inner)
        return _Block(region, location, problem, found, inner, before)

    def _accepts(
        self, region: Region, homes: Mapping[int, Tensor]
    ) -> Callable[[Sequence[int]], bool]:
        """Whether an order is estimated to be fast enough."""
        if self.most_slowdown == float("inf"):
            return lambda _: True
        own = set(region.nodes)
        place = {argument: i for i, argument in enumerate(region.arguments)}
        donated = {i: place[t] for i, t in homes.items() if region.results[i].producer in own}
        time = BlockTime(region, donated)
        given = cache(time.seconds)  # most blocks keep their order: it is not asked for

        def accepts(order: Sequence[int]) -> bool:
            limit = (1 + self.most_slowdown) * given()
            return time.seconds([region.nodes[i] for i in order]) <= limit

        return accepts


def _may_have_orders(function: ir.Operation) -> bool:
    """Whether a function holds more than one op beside constants and its return."""
    names = [op.name for op in ir.operations_of(body_of(function))]
    return len(names) - names.count("hlo.constant") > 2 or not CONTROL_FLOW.isdisjoint(names)


@dataclass(frozen=True)
class _Block:
    """A block with what is found for it.

    Attributes:
        problem: its steps as they were, the blocks in it in the orders found.
        inner: the blocks in each of its ops.
        before: most live bytes, all as it was.
    """

    region: Region
    location: str
    problem: Problem
    found: Found
    inner: Mapping[Node, Sequence[_Block]]
    before: int


def _peak_as_it_was(
    region: Region, problem: Problem, inner: Mapping[Node, Sequence[_Block]]
) -> int:
    """Most live bytes of a block whose steps hold the peaks found for the blocks in them."""
    if not inner:
        return profile(problem).peak
    scratch = {node: max(b.before for b in blocks) for node, blocks in inner.items()}
    steps = [
        replace(step, scratch=scratch.get(node, step.scratch))
        for node, step in zip(region.nodes, problem.steps, strict=True)
    ]
    return profile(Problem(steps, problem.values)).peak


def _settle(block: _Block, limit: int, decisions: list[Decision], apply: bool) -> None:
    """Orders a block, and those in it, as far as it takes to have at most `limit` bytes live."""
    nodes, problem = list(block.region.nodes), block.problem
    if block.before <= limit:
        for inner in itertools.chain(*block.inner.values()):
            _settle(inner, inner.before, decisions, apply)
        found = as_given(problem, block.before)
    else:
        found = block.found
        if found.peak_before <= limit:
            found = as_given(problem, found.peak_before)
        during = profile(problem, found.order).during
        for position, at in enumerate(found.order):
            room = limit - during[position] + problem.steps[at].scratch
            for inner in block.inner.get(nodes[at], ()):
                _settle(inner, room, decisions, apply)
    decisions.append(
        Decision(block.location, len(nodes), found.peak_before, found.peak, found.rule)
    )
    if found.peak < found.peak_before and apply:
        reorder(nodes, [nodes[i] for i in found.order])


def _made_of_arguments(region: Region, donated: Set[Tensor]) -> list[Node]:
    """Ops that read nothing but arguments that stay as they are, and that nothing reads; the one
    with the largest results last.
    """
    read = {tensor for node in region.nodes for tensor in captured(node)}
    returned = set(region.results)
    own = {argument for argument in region.arguments if argument not in donated}
    found = [
        node
        for node in region.nodes
        if node.name not in CONTROL_FLOW | {"constant"}
        and node.results
        and all(result in returned and result not in read for result in node.results)
        and all(t in own or _is_stored(t) for t in captured(node))
        and not has_effects(node.source)
    ]
    return sorted(found, key=_result_bytes)


def _is_stored(tensor: Tensor) -> bool:
    """Whether a value is a constant that is in memory anyway, or in its reader's code."""
    return (
        tensor.producer is not None
        and tensor.producer.name == "constant"
        and tensor.size <= LARGEST_STORED_SPLAT
    )


def _result_bytes(node: Node) -> int:
    return sum(map(bytes_of, node.results))


def reorder(before: Sequence[Node], after: Sequence[Node]) -> None:
    """Moves the ops of a block into an order; what follows the last op stays last."""
    block = before[0].source.block
    operations = list(block.operations)
    terminator = operations[-1].operation
    for node in after:
        node.source.move_before(terminator)
