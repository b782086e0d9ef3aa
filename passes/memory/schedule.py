"""schedule: the ops of each block in an order that needs fewer bytes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_host.bufferize import LARGEST_STORED_SPLAT
from hlo.passes.hlo_to_host.program import results_in_arguments
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, captured, reading
from hlo.passes.memory.block_problem import CONTROL_FLOW, block_problem, bytes_of, nested_homes
from hlo.passes.memory.scheduling import schedule
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

    The order stays as it is unless another saves `least_gain` of the block's most live bytes, by
    the model of `block_problem`, and in blocks with less than `least_bytes` bytes live. Inner
    blocks come first: what lives in them counts for their op.

    Then ops of the entry that make results of arguments alone go last: until a result is made,
    other buffers may lie in its memory (`place`), also what kernels work in, which the model
    leaves out.

    Requires: `fuse` ran; the core op set.
    Guarantees: the same ops, each after those whose results it reads.

        %0 = hlo.fusion(%x) ...                     %0 = hlo.fusion(%x) ...
        %1 = hlo.fusion(%y) ...              ==>    %2 = hlo.dot_general %0, %w
        %2 = hlo.dot_general %0, %w                 %1 = hlo.fusion(%y) ...
    """

    least_gain: float = 0.02
    least_bytes: int = 4096

    def run(self, module: ir.Module) -> bool:
        changed = any(d.bytes_after < d.bytes_before for d in self.decide(module, apply=True))
        for function in functions(module).values():
            with reading(body_of(function)) as region:
                donated = set(results_in_arguments(function, region).values())
                late = _made_of_arguments(region, {region.arguments[i] for i in donated})
                late = [node for node in late if _result_bytes(node) >= self.least_bytes]
                ordered = [node for node in region.nodes if node not in late] + late
                if ordered != list(region.nodes):
                    _reorder(region.nodes, ordered)
                    changed = True
        return changed

    def decide(self, module: ir.Module, *, apply: bool = False) -> list[Decision]:
        """What the pass does with each block, inner ones first; done only if `apply`."""
        decisions: list[Decision] = []
        for function in functions(module).values():
            with reading(body_of(function)) as region:
                aliases = results_in_arguments(function, region)
                homes = {i: region.arguments[argument] for i, argument in aliases.items()}
                self._block(region, homes, str(function.location), decisions, apply)
        return decisions

    def _block(
        self, region: Region, homes: Mapping[int, Tensor], location: str,
        decisions: list[Decision], apply: bool,
    ) -> int:  # fmt: skip
        """Orders a block and those in it; returns its most live bytes."""
        inside: dict[Node, int] = {}
        for node in region.nodes:
            if node.name in CONTROL_FLOW:
                inside[node] = max(
                    self._block(inner, nested_homes(node, i), node.location, decisions, apply)
                    for i, inner in enumerate(node.regions)
                )
        problem = block_problem(region, homes, inside).problem
        found = schedule(problem, self.least_gain, self.least_bytes)
        decisions.append(
            Decision(location, len(found.order), found.peak_before, found.peak, found.rule)
        )
        if found.peak < found.peak_before:
            ordered = [region.nodes[i] for i in found.order]
            if apply:
                _reorder(region.nodes, ordered)
            region.nodes[:] = ordered
        return found.peak


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
        if node.name not in (*CONTROL_FLOW, "constant")
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


def _reorder(before: Sequence[Node], after: Sequence[Node]) -> None:
    """Moves the ops of a block into an order; what follows the last op stays last."""
    block = before[0].source.block
    operations = list(block.operations)
    terminator = operations[-1].operation
    for node in after:
        node.source.move_before(terminator)
