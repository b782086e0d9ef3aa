"""Elementwise loops over vectors of several registers.

A dear function, or a search in a table, is a chain of operations each of which waits for the one
before, and longer than what the processor looks ahead. LLVM does an operation on all registers of a
vector before the next operation, so that several chains run beside each other. And elements of 8 or
16 bits fill registers of their own only if the elements of 32 bits computed from them fill several.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.cost.op_cost import looks_elements_up, work
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features
from hlo.passes.hlo_to_loops.emitter import PLAIN
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor

# Registers of a vector where the chain of an element is long: work as `op_cost` counts it.
_LONG, _REGISTERS = 8, 4
# Where it is longer still, since a float narrower than f32 is rounded after each op, or since a
# function in pieces is in it, each of whose coefficients waits for the number of the piece.
_LONGER, _MOST_REGISTERS = 32, 8
_IN_PIECES = frozenset({"tanh", "erf"})
_ROUNDING = 4
# Tensors that an element needs at the same time, up to which the registers suffice for that many of
# each beside the constants and temporaries of one op.
_LIVE = ((3, _MOST_REGISTERS), (8, 2))
# Elements of a kernel that is worth the code.
_LEAST = 2048


def registers_for(region: Region) -> int:
    """How many registers of each operand the innermost loop of a region should take at a time."""
    size = max((root.size for root in region.results), default=0)
    return 1 if size < _LEAST else _registers(region, size, pieces=_is_in_pieces(region))


def registers_between(region: Region, dots: Sequence[Node], size: int) -> int:
    """The same for what a kernel computes of some dots' `size` sums."""
    nodes = [node for node in region.nodes if node not in dots]
    return _registers(Region(region.arguments, nodes, region.results), size)


def _is_in_pieces(region: Region) -> bool:
    """Whether a region holds a function whose coefficients are looked up in registers."""
    looks_up = "avx512f" in host_features()
    return looks_up and any(
        node.name in _IN_PIECES and node.results[0].type.register == "f32" for node in region.nodes
    )


def _registers(region: Region, size: int, *, pieces: bool = False) -> int:
    look_ups = [node for node in region.nodes if looks_elements_up(node)]
    if any(node.name not in PLAIN and node not in look_ups for node in region.nodes):
        return 1
    if look_ups:
        return _REGISTERS if _are_chained(region, look_ups) else 1
    wanted, chain = _narrowest(region, size), _work(region, size)
    if chain >= _LONG:
        many = pieces or (chain >= _LONGER and _rounds(region))
        wanted = _MOST_REGISTERS if many else _REGISTERS
    live = _live(region, size)
    return min(wanted, next((count for most, count in _LIVE if live <= most), 1))


def is_dear(region: Region, size: int) -> bool:
    """Whether what is computed for each of `size` elements takes long."""
    return _work(region, size) >= _LONG


def folds_widely(region: Region) -> bool:
    """Whether folds along rows should compute all their accumulators' next elements together."""
    size = max((t.size for node in region.nodes for t in node.operands), default=0)
    return size >= _LEAST and is_dear(region, size) and _live(region, size) <= _LIVE[0][0]


def _narrowest(region: Region, size: int) -> int:
    """32 bits through the fewest of an element in memory."""
    tensors = (t for t in (*region.arguments, *region.results) if t.size == size)
    return max(4 // min(t.type.memory_bytes, 4) for t in tensors) if size else 1


def _are_chained(region: Region, look_ups: Sequence[Node]) -> bool:
    """Whether an element is looked up where one that was looked up says, as in a binary search: 40
    cycles each, whatever a vector of words holds. Lanes of parts of words fill one register.
    """
    if any(node.operands[0].type.memory_bytes not in (4, 8) for node in look_ups):
        return False
    found = set[Tensor]()
    for node in region.nodes:
        if node in look_ups and node.operands[1] in found:
            return True
        if node in look_ups or any(operand in found for operand in node.operands):
            found.update(node.results)
    return False


def _is_rounded(node: Node) -> bool:
    """Whether an op gives floats that are rounded in their registers."""
    kind = node.results[0].type
    return kind.is_float and kind.memory != kind.register


def _rounds(region: Region) -> bool:
    return any(_is_rounded(node) for node in region.nodes)


def _work(region: Region, size: int) -> int:
    """The work for one element."""
    return sum(
        cost + (_ROUNDING if _is_rounded(node) else 0)
        for node in region.nodes
        if (cost := work(node) // size)
    )


def _live(region: Region, size: int) -> int:
    """How many tensors with an element of their own at every place are needed at once, at most."""
    last: dict[Tensor, int] = {}
    for place, node in enumerate(region.nodes):
        last.update(dict.fromkeys(node.operands, place))
    last.update(dict.fromkeys(region.results, len(region.nodes)))
    varying = {t for t in region.arguments if t.size == size}
    held, most = set[Tensor](), 0
    for place, node in enumerate(region.nodes):
        held.update(t for t in node.operands if t in varying)
        if node.name == "iota" or any(t in varying for t in node.operands):
            varying.update(node.results)
            held.update(node.results)
        most = max(most, len(held))
        held = {t for t in held if last.get(t, -1) > place}
    return most
