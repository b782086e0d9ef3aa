"""Whether what gathers read is stored, or computed again for each element that they look up."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.cost.op_cost import looks_elements_up
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.decision import FusionDecision
from hlo.passes.fusion.op_traits import CONTRACTIONS, ELEMENTWISE, FREE_TO_REPEAT, MOVEMENT
from hlo.passes.fusion.prologues import Prologues, bytes_behind
from hlo.passes.hlo_to_loops.contraction_tiling import takes_elementwise
from hlo.passes.hlo_to_loops.graph import Node, Tensor

# What a kernel would have to compute an element of for each look-up.
_COMPUTED = (ELEMENTWISE | MOVEMENT) - FREE_TO_REPEAT
OFTEN = 2  # look-ups of an element on average, from which on it may be better stored


def judge_looked_up(
    node: Node, readers: Sequence[Node], prologues: Prologues
) -> FusionDecision | None:
    """Keeps out of a kernel an op whose elements its gathers would compute more often than once,
    if they are looked up one by one, which lanes do in memory alone, or, of an elementwise op, if
    that moves more bytes than to store it. None if that is no question.

    A contraction ahead stores its result anyway: it stores this one instead.
    """
    made = node.results[0]
    gathers = [r for r in readers if _looks_up(r, made)]
    looked_up = sum(r.results[0].size for r in gathers)
    if looked_up < OFTEN * made.size:
        return None
    if node.name in _COMPUTED and any(looks_elements_up(r) for r in gathers):
        return FusionDecision.no("lanes look its elements up one by one: they must be in memory")
    if node.name not in ELEMENTWISE:
        return None
    times = looked_up / max(made.size, 1)
    _, taken = prologues.chain(node, frozenset())
    read, stored = sum(map(bytes_behind, taken)), bytes_of(made)
    again, once = times * read, (1 + times) * stored
    if any(_is_stored_instead(tensor, made, prologues) for tensor in taken):
        again += stored
    else:
        once += read
    if once > again:
        return None
    return FusionDecision.no(
        f"each element is looked up {times:.3g} times: it is stored, which moves {once:.3g} bytes, "
        f"not {again:.3g}"
    )


def _looks_up(reader: Node, tensor: Tensor) -> bool:
    return reader.name == "gather" and reader.operands[0] is tensor


def _is_stored_instead(tensor: Tensor, made: Tensor, prologues: Prologues) -> bool:
    """Whether a contraction whose result nothing else reads could apply what follows it."""
    source = tensor.producer
    if source is None or source.name not in CONTRACTIONS or not takes_elementwise(source):
        return False
    alone = tensor not in prologues.leaves and len(prologues.readers.get(tensor, ())) == 1
    return alone and tensor.size == made.size
