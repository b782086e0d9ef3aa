"""A block of `hlo` as a scheduling problem: which bytes its ops make, read, and write over.

A model of what `hlo_to_host` does with the block, without making its kernels. Arguments, captured
values and stored constants take no bytes: they are there whatever the order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.op_traits import ELEMENTWISE
from hlo.passes.hlo_to_host.bufferize import LARGEST_STORED_SPLAT
from hlo.passes.hlo_to_host.carried import BRANCHES, branch_source, carried_through
from hlo.passes.hlo_to_host.liveness import BlockLiveness
from hlo.passes.hlo_to_loops.graph import (
    CONTROL_FLOW,
    Node,
    Region,
    Tensor,
    captured,
    is_composite,
    splat_of,
    users,
)
from hlo.passes.hlo_to_loops.sort_kernel import sort_in
from hlo.passes.memory.scheduling import Problem, Step, Value, profile
from hlo.passes.simplify.dead_code import has_effects


@dataclass(frozen=True)
class BlockProblem:
    """A block's ops as steps, in order.

    Attributes:
        nodes: the op of each step.
        numbers: the value that stands for the storage of each tensor.
        tensors: for each value the tensor whose storage it is.
        live: the block's liveness, which knows its views.
    """

    problem: Problem
    nodes: Sequence[Node]
    numbers: Mapping[Tensor, int]
    tensors: Sequence[Tensor]
    live: BlockLiveness


def block_problem(
    region: Region, homes: Mapping[int, Tensor], inside: Mapping[Node, int] | None = None
) -> BlockProblem:
    """The scheduling problem of a block, its nested blocks in the order they have.

    Args:
        homes: for results by position the value whose memory they may take over: a donated
            argument, a loop's carry.
        inside: the most bytes that live in the blocks of each control-flow op; found if not given.
    """
    return _Reader(region, homes, _peaks_inside(region) if inside is None else inside).read()


def _peaks_inside(region: Region) -> dict[Node, int]:
    return {
        node: max(
            profile(block_problem(inner, nested_homes(node, i)).problem).peak
            for i, inner in enumerate(node.regions)
        )
        for node in region.nodes
        if node.name in CONTROL_FLOW
    }


class _Reader:
    def __init__(
        self, region: Region, homes: Mapping[int, Tensor], inside: Mapping[Node, int]
    ) -> None:
        self.inside = inside
        self.region = region
        self.own = set(region.nodes)
        self.live = BlockLiveness(region.nodes, region.results)
        self.numbers: dict[Tensor, int] = {}
        self.tensors: list[Tensor] = []
        self.homes: dict[Tensor, Tensor] = {}
        self.placed: set[Tensor] = set()  # results that are computed where they must end up
        for i, result in enumerate(region.results):
            root = self.live.root(result)
            if root in self.placed or root in region.arguments:
                continue
            self.placed.add(root)
            if i in homes:
                self.homes[root] = homes[i]
        self.kept = {self.live.root(result) for result in region.results}
        self._wish_backwards()

    def _wish_backwards(self) -> None:
        """What an update or loop starts from is computed where its result goes, too."""
        for node in reversed(self.region.nodes):
            for operand, result in carried_through(node):
                root = self.live.root(operand)
                if (
                    result not in self.placed
                    or root in self.placed
                    or root.producer not in self.own
                ):
                    continue
                self.placed.add(root)
                if result in self.homes:
                    self.homes[root] = self.homes[result]

    def read(self) -> BlockProblem:
        nodes = self.region.nodes
        position = {node: i for i, node in enumerate(nodes)}
        readers: dict[Tensor, list[int]] = {}
        for i, node in enumerate(nodes):
            for tensor in dict.fromkeys(captured(node)):
                readers.setdefault(self.live.holder(tensor), []).append(i)
        steps = [self._step(node, i, position, readers) for i, node in enumerate(nodes)]
        effects = [i for i, node in enumerate(nodes) if has_effects(node.source)]
        for earlier, later in itertools.pairwise(effects):  # they happen in the order written
            steps[later] = replace(steps[later], after=(*steps[later].after, earlier))
        values = [self._value(tensor) for tensor in self.tensors]
        return BlockProblem(Problem(steps, values), nodes, self.numbers, self.tensors, self.live)

    def _number(self, tensor: Tensor) -> int:
        root = self.live.holder(tensor)
        if root not in self.numbers:
            self.numbers[root] = len(self.tensors)
            self.tensors.append(root)
        return self.numbers[root]

    def _step(
        self,
        node: Node,
        at: int,
        position: Mapping[Node, int],
        readers: Mapping[Tensor, Sequence[int]],
    ) -> Step:
        reads = tuple(dict.fromkeys(self._number(t) for t in captured(node)))
        makers = [t.producer for t in captured(node) if t.producer is not None]
        after = [position[maker] for maker in makers if maker in position]
        if self.live.is_view(node):
            return Step((), reads, tuple(dict.fromkeys(after)))
        pairs = [(self.live.root(o), r) for o, r in carried_through(node)]
        over = [(o, r) for o, r in (*pairs, *written_over(node)) if self._is_whole(o)]
        for changed, _ in pairs:  # who reads the old content stays ahead of the change
            after += [r for r in readers.get(changed, ()) if r < at]
        for result in node.results:
            home = self.homes.get(result)
            if home is not None:
                after += [r for r in readers.get(self.live.root(home), ()) if r < at]
        numbered = dict.fromkeys(
            (self._number(r), self._number(o)) for o, r in over if r in node.results
        )
        return Step(
            tuple(self._number(r) for r in node.results),
            reads,
            tuple(dict.fromkeys(after)),
            self.inside.get(node, 0),
            tuple(numbered),
        )

    def _is_whole(self, tensor: Tensor) -> bool:
        return self.live.holder(tensor) is self.live.root(tensor)

    def _value(self, tensor: Tensor) -> Value:
        kept = tensor in self.kept
        node = tensor.producer
        if node is None or node not in self.own:
            return Value(0)
        if node.name == "constant":
            return Value(_filled_bytes(node), kept)
        home = self.homes.get(tensor)
        number = None if home is None else self.numbers.get(self.live.root(home))
        if tensor in self.placed and number is None:
            return Value(0, kept)
        return Value(bytes_of(tensor), kept, number)


def _filled_bytes(node: Node) -> int:
    """Bytes of a constant that code fills in; stored ones take none."""
    tensor = node.results[0]
    filled = tensor.size > LARGEST_STORED_SPLAT and splat_of(node) is not None
    return bytes_of(tensor) if filled else 0


def nested_homes(node: Node, index: int) -> dict[int, Tensor]:
    """What the results of a nested block take over: in a loop's body, its carries."""
    if node.name != "while" or index == 0:
        return {}
    return dict(enumerate(node.regions[1].arguments))


def written_over(node: Node) -> list[tuple[Tensor, Tensor]]:
    """(operand, result) pairs of an op whose result may be computed in the operand's memory."""
    if node.name in BRANCHES:
        found = [(branch_source(r, k), t) for r in node.regions for k, t in enumerate(node.results)]
        return [(o, t) for o, t in found if o is not None and _alike(o, t)]
    if node.name in ("sort", "fft", "custom_call"):
        return [p for p in zip(node.operands, node.results, strict=False) if _alike(*p)]
    if node.name in ELEMENTWISE:
        candidates = list(node.operands)
    elif node.name == "fusion" and (inner := sort_in(node.regions[0])) is not None:
        outer = dict(zip(node.regions[0].arguments, node.operands, strict=True))
        results = dict(zip(node.regions[0].results, node.results, strict=True))
        pairs = [(outer.get(o), results.get(r)) for o, r in written_over(inner)]
        return [(o, r) for o, r in pairs if o is not None and r is not None]
    elif node.name == "fusion":
        outer = dict(zip(node.regions[0].arguments, node.operands, strict=True))
        made = dict(zip(node.regions[0].results, node.results, strict=True))
        pairs = _over_in(node.regions[0])
        return [(outer[o], made[r]) for o, r in pairs if _alike(outer[o], made[r])]
    else:
        return []
    return [(o, r) for r in node.results for o in candidates if _alike(o, r)]


def _over_in(region: Region) -> list[tuple[Tensor, Tensor]]:
    """(argument, result) of a kernel, the second computed where the first is read, or in its rows.

    What several members of a composite read, none of them writes over.
    """
    if not is_composite(region):
        unmoved = _read_where_written(region)
        return [(a, r) for r in region.results for a in region.arguments if a in unmoved]
    found: list[tuple[Tensor, Tensor]] = []
    readers = users(region.nodes)
    for member in region.nodes:
        inner = member.regions[0]
        outer = dict(zip(inner.arguments, member.operands, strict=True))
        made = dict(zip(inner.results, member.results, strict=True))
        found += [
            (outer[a], made[r])
            for a, r in _over_in(inner)
            if outer[a] in region.arguments and readers[outer[a]] == [member]
            if made[r] in region.results
        ]
    return found


def _alike(operand: Tensor, result: Tensor) -> bool:
    return (
        bytes_of(operand) == bytes_of(result)
        and operand.type.memory == result.type.memory
        and math.prod(operand.shape) > 0
    )


def _read_where_written(region: Region) -> set[Tensor]:
    """Arguments of a kernel that are read only at the elements that are then written, or rows."""
    moved: set[Tensor] = set()
    for node in reversed(region.nodes):
        straight = node.name in ELEMENTWISE or node.name in ("reshape", "reduce")
        if not straight or any(result in moved for result in node.results):
            moved.update(node.operands)
    return {argument for argument in region.arguments if argument not in moved}
