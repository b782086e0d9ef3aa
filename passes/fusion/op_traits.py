"""What fusion needs to know of an op: how it reads its operands, and what recomputing it costs."""

from __future__ import annotations

from collections.abc import Iterable

from hlo.passes.cost.op_cost import TRANSCENDENTAL, looks_elements_up
from hlo.passes.hlo_to_host.liveness import VIEW
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.rewrite import elementwise

ELEMENTWISE = frozenset(name.removeprefix("hlo.") for name in elementwise.ELEMENTWISE) | {
    "bitcast_convert",
    "copy",
}

# Cost tens of instructions: not worth computing twice.
EXPENSIVE = TRANSCENDENTAL | {"divide", "remainder", "gather"}

# Each element of the result is one element of an operand, or a value known from the index.
MOVEMENT = frozenset(
    [
        "broadcast_in_dim",
        "concatenate",
        "dynamic_slice",
        "gather",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ]
)

# Reading one of these again costs no more than reading what it was made from.
FREE_TO_REPEAT = frozenset(["broadcast_in_dim", "iota", "constant", "reshape"])

# Elements of the result lie in the order of those of an operand of the same size.
KEEP_ORDER = ELEMENTWISE | {"reshape"}

FOLDS = frozenset({"reduce", "reduce_window"})

CONTRACTIONS = frozenset({"dot_general", "convolution"})

# What a contraction computes of an operand while it packs it.
IN_PROLOGUES = (ELEMENTWISE - EXPENSIVE) | {"broadcast_in_dim", "reshape", "iota"}

# What a convolution moves of its kernel, besides, while it packs it.
MOVED_IN_PROLOGUES = frozenset({"reverse", "transpose", "slice"})

LONG = 16  # elements that a reduction folds into one, beyond which loops are worth their own lanes

FUSIBLE = ELEMENTWISE | MOVEMENT | FOLDS | CONTRACTIONS | {"dynamic_update_slice"}


def alternates(node: Node) -> bool:
    """Whether a row's elements take turns with elements between them, as `pad` lays them apart."""
    if node.name != "pad" or not node.operands[0].shape:
        return False
    return node.attributes["interior_padding"][-1] > 0 and node.operands[0].shape[-1] > 1


def is_fusible(node: Node) -> bool:
    """Whether generated loops can hold the op together with others."""
    return node.name in FUSIBLE and not (node.name == "dynamic_slice" and VIEW in node.attributes)


def repeats_operand(node: Node, operand: int) -> bool:
    """Whether computing the result once may read an element of that operand more than once."""
    if node.name == "gather" and operand == 1:
        return not looks_elements_up(node)
    if node.name in ("gather", "reduce_window", "dot_general", "convolution"):
        return True
    if node.name == "broadcast_in_dim":
        return node.operands[0].size != node.results[0].size
    return node.name == "dynamic_update_slice" and operand == 0


def goes_element_by_element(node: Node, size: int) -> bool:
    """Whether an op keeps the row-major order of `size` elements, spreads a smaller operand, or
    makes its elements of their index.
    """
    if node.name in ("broadcast_in_dim", "constant", "iota"):
        return True
    if node.name not in ELEMENTWISE and node.name != "reshape":
        return False
    cheap = node.name not in EXPENSIVE
    return all(r.size == size or (cheap and r.size < size) for r in node.results)


def is_free_to_repeat(node: Node) -> bool:
    """Whether a producer is copied into every kernel that reads it."""
    return node.name in FREE_TO_REPEAT or (node.name in MOVEMENT and node.results[0].size == 1)


def spreads_over_rows(node: Node) -> bool:
    """Whether an op is a broadcast that gives every row the same elements, one for each lane."""
    if node.name != "broadcast_in_dim":
        return False
    dims, shape = node.attributes["broadcast_dimensions"], node.results[0].shape
    kept = [d for d, size in zip(dims, node.operands[0].shape, strict=True) if size != 1]
    wide = [d for d, size in enumerate(shape) if size != 1]
    return bool(kept) and kept[-1] == wide[-1]


def folds_agree(nodes: Iterable[Node]) -> bool:
    """Whether all long reductions of a kernel go along rows, or all across them: neighbouring lanes
    of the one kind are far apart for the other.
    """
    return len({_goes_along_rows(n) for n in nodes if n.name == "reduce" and _is_long(n)}) < 2


def _is_long(fold: Node) -> bool:
    return fold.operands[0].size >= LONG * max(fold.results[0].size, 1)


def _goes_along_rows(fold: Node) -> bool:
    wide = [d for d, size in enumerate(fold.operands[0].shape) if size != 1]
    return wide[-1] in fold.attributes["dimensions"]


def is_reshape_of(node: Node, other: Node) -> bool:
    """Whether an op only reshapes the result of another: both are the same memory."""
    while node.name == "reshape":
        producer = node.operands[0].producer
        if producer is None or producer is other:
            return producer is other
        node = producer
    return False
