"""Whether what a concatenation joins is stored ahead of it, or computed by its kernel.

Lanes of a vector that belong to different operands need all of these computed, each for every lane:
where pieces are narrow, and many, that is as often as there are operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from hlo.passes.cost.duplication import WORTH_A_KERNEL, again_or_stored
from hlo.passes.cost.machine import HOST
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.decision import FusionDecision
from hlo.passes.fusion.op_traits import ELEMENTWISE, EXPENSIVE, KEEP_ORDER
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.survey import may_be_cut


def judge_joined(
    node: Node, readers: Sequence[Node], readers_of: Callable[[Node], Sequence[Node]]
) -> FusionDecision | None:
    """Keeps a dear op out of a kernel whose vectors would compute it for other operands' lanes.

    None if that is no question.

    Args:
        readers: those in the kernel.
        readers_of: of another op of the kernel those in it.
    """
    if node.name not in EXPENSIVE & ELEMENTWISE:
        return None
    times = max((_times(join) for join in _joins(node, readers, readers_of)), default=1)
    if times == 1:
        return None
    taken = sum(map(bytes_of, node.operands))
    choice = again_or_stored(node, taken, 1, 2 * bytes_of(node.results[0]), alone=True, times=times)
    if choice.again - choice.stored < WORTH_A_KERNEL * HOST.launch:
        return None
    return FusionDecision.no(f"a vector of what is joined holds {times} operands: {choice.reason}")


def _joins(
    node: Node, readers: Sequence[Node], readers_of: Callable[[Node], Sequence[Node]]
) -> Iterator[Node]:
    """The concatenations that read an op's elements, or what is made of each of them."""
    pending, seen = list(readers), set(readers)
    size = node.results[0].size
    while pending:
        reader = pending.pop()
        if reader.name == "concatenate":
            yield reader
        elif reader.name in KEEP_ORDER and reader.results[0].size == size:
            further = [r for r in readers_of(reader) if r not in seen]
            seen.update(further)
            pending += further


def _times(join: Node) -> int:
    """How many operands of a concatenation each vector of its result computes."""
    result, axis = join.results[0], join.attributes["dimension"]
    lanes = LINE_BYTES // max(result.type.part_type.bits // 8, 4)
    if math.prod(result.shape[axis + 1 :]) >= lanes:
        return 1  # a branch tells them apart
    count = len(join.operands)
    return 1 if may_be_cut(math.prod(result.shape[axis:]), lanes, count) else count
