"""schedule: the ops of each block in an order that needs fewer bytes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_host.program import results_in_arguments
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, reading
from hlo.passes.memory.block_problem import CONTROL_FLOW, block_problem, nested_homes
from hlo.passes.memory.scheduling import schedule
from hlo.passes.rewrite.walk import body_of, functions


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

    Requires: `fuse` ran; the core op set.
    Guarantees: the same ops, each after those whose results it reads.

        %0 = hlo.fusion(%x) ...                     %0 = hlo.fusion(%x) ...
        %1 = hlo.fusion(%y) ...              ==>    %2 = hlo.dot_general %0, %w
        %2 = hlo.dot_general %0, %w                 %1 = hlo.fusion(%y) ...
    """

    least_gain: float = 0.02
    least_bytes: int = 4096

    def run(self, module: ir.Module) -> bool:
        return any(d.bytes_after < d.bytes_before for d in self.decide(module, apply=True))

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


def _reorder(before: Sequence[Node], after: Sequence[Node]) -> None:
    """Moves the ops of a block into an order; what follows the last op stays last."""
    block = before[0].source.block
    operations = list(block.operations)
    terminator = operations[-1].operation
    for node in after:
        node.source.move_before(terminator)
