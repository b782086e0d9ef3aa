"""Small tensors whose rows repeat elements, spread over large ones: one statistic for the channels
of a group, say.
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.affine import merge_cuts
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.hlo_to_loops.loop_space import required_cuts

FULL_VECTOR = 16  # elements
# Elements of the kernel for each of the small tensor, from which on storing that costs nothing
# beside them.
SPREAD = 16


def cuts_rows_short(node: Node, root: Node) -> bool:
    """Whether a kernel had to go over its rows in runs shorter than a vector because it computes a
    reshape of a broadcast, 4 x 8 -> 4 x 8 x 4 -> 4 x 32, which is much smaller than its result.
    """
    made = node.results[0]
    if node.name != "reshape" or root.results[0].size < SPREAD * made.size:
        return False
    source, repeats = made, False
    while (producer := source.producer) is not None and producer.name in _FREE:
        source = producer.operands[0]
        repeats |= producer.name == "broadcast_in_dim"
    if not repeats or source is made:
        return False
    row = next((extent for extent in reversed(made.shape) if extent != 1), 1)
    memo: dict[Tensor, frozenset[int]] = {source: frozenset()}
    return merge_cuts(set(required_cuts(made, memo)), made.size)[-1] < FULL_VECTOR <= row


_FREE = frozenset({"reshape", "broadcast_in_dim"})
