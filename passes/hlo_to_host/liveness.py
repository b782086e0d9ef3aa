"""Last uses of values in one block, values that share storage counted together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hlo.passes.hlo_to_loops.affine import suffix_products
from hlo.passes.hlo_to_loops.graph import CONTROL_FLOW, Node, Region, Tensor, blocks_in, captured

# Ops whose result is the storage of their operand under another shape.
VIEWS = frozenset({"reshape", "optimization_barrier"})
PART_ALIGNMENT = 16  # bytes: what kernels may expect of where a buffer begins
VIEW = "hlo.view"  # on a dynamic_slice that is a part of its operand: see mark-views


def part_offset(node: Node) -> int | None:
    """Where in its operand, in elements, a slice's result lies as it is; None if it does not."""
    if node.name != "slice" or not lies_together(node):
        return None
    operand = node.operands[0]
    starts, strides = node.attributes["start_indices"], node.attributes["strides"]
    if any(s != 1 and n > 1 for s, n in zip(strides, node.results[0].shape, strict=True)):
        return None
    offset = sum(a * b for a, b in zip(starts, suffix_products(operand.shape), strict=True))
    return None if offset * operand.type.memory_bytes % PART_ALIGNMENT else offset


def lies_together(node: Node) -> bool:
    """Whether the elements of a slice without strides are neighbours in its operand."""
    operand, result = node.operands[0].shape, node.results[0].shape
    cut = [d for d in range(len(operand)) if result[d] != operand[d]]
    return 0 not in result and math.prod(result[: max(cut, default=0)]) == 1


def moving_starts(node: Node) -> list[tuple[Tensor, int, int]]:
    """(start index, largest start, elements apart) along each dimension a dynamic_slice cuts."""
    operand, *starts = node.operands
    strides = suffix_products(operand.shape)
    dims = zip(starts, operand.shape, node.results[0].shape, strides, strict=True)
    return [(start, whole - part, s) for start, whole, part, s in dims if whole != part]


def shows_bits(node: Node) -> bool:
    """Whether an op's result is the bytes of its operand under another type.

    Wider elements need a stricter alignment than an argument or a constant may have.
    """
    if node.name != "bitcast_convert" or node.results[0].size == 0:
        return False
    operand, result = node.operands[0], node.results[0]
    if any(t.type.bits != 8 * t.type.memory_bytes for t in (operand, result)):
        return False
    return operand.rank <= result.rank or _is_made_here(operand)


def _is_made_here(tensor: Tensor) -> bool:
    while (node := tensor.producer) is not None and (
        node.name in VIEWS or node.name in ("slice", "dynamic_slice", "bitcast_convert")
    ):
        tensor = node.operands[node.results.index(tensor) if node.name in VIEWS else 0]
    return node is not None and node.name != "constant"


def is_part(node: Node) -> bool:
    """Whether an op's result is a part of its operand, or all of it, as it lies in memory."""
    if node.name == "dynamic_slice":
        return VIEW in node.attributes
    return part_offset(node) is not None or shows_bits(node)


def changed_operands(node: Node) -> Sequence[Tensor]:
    """The operands that an op writes over, or that it wants in storage of their own."""
    if node.name == "while":
        return node.operands
    if node.name == "dynamic_update_slice":
        return node.operands[:1]
    return node.operands[: len(node.operands) // 2] if node.name == "scatter" else ()


class BlockLiveness:
    """Positions at which the storage of each value of a block is read for the last time.

    The block's own results count as read at position len(nodes).
    """

    def __init__(self, nodes: Sequence[Node], results: Sequence[Tensor]) -> None:
        self._root: dict[Tensor, Tensor] = {}
        self._whole: dict[Tensor, Tensor] = {}
        self._last: dict[Tensor, int] = {}
        for node in nodes:
            if node.name in VIEWS:
                for operand, result in zip(node.operands, node.results, strict=True):
                    self._root[result] = self.root(operand)
        own = {self.root(t) for t in (*results, *_wanted_whole(nodes))}
        for at, node in enumerate(nodes):
            if node.results and node.results[0] not in own and is_part(node):
                self._whole[node.results[0]] = node.operands[0]
            for operand in captured(node):
                self._read(operand, at)
        for result in results:
            self._read(result, len(nodes))

    def _read(self, tensor: Tensor, at: int) -> None:
        self._last[self.root(tensor)] = at
        while (whole := self._whole.get(self.root(tensor))) is not None:
            tensor = whole
            self._last[self.root(tensor)] = at

    def root(self, tensor: Tensor) -> Tensor:
        """The value whose elements a view of the same size shows."""
        while (parent := self._root.get(tensor)) is not None:
            tensor = parent
        return tensor

    def holder(self, tensor: Tensor) -> Tensor:
        """The value in whose storage a view, also one of a part, lies."""
        tensor = self.root(tensor)
        while (whole := self._whole.get(tensor)) is not None:
            tensor = self.root(whole)
        return tensor

    def is_view(self, node: Node) -> bool:
        """Whether an op has no code: its result lies in its operand."""
        return node.name in VIEWS or (bool(node.results) and node.results[0] in self._whole)

    def last_use(self, tensor: Tensor) -> int:
        """The position of the last op that reads the storage of `tensor`; -1 if none does."""
        return self._last.get(self.root(tensor), -1)


def _wanted_whole(nodes: Sequence[Node]) -> Iterator[Tensor]:
    """Values that must be in storage of their own: they are changed, or moved to a carry."""
    for node in nodes:
        yield from changed_operands(node)
        if node.name in CONTROL_FLOW:
            for region in node.regions:
                yield from _handed_on(region)


def _handed_on(region: Region) -> tuple[Tensor, ...]:
    """The values that a region, or one in it, hands on or wants in storage of their own."""
    key = "handed on"
    if key not in region.known:
        for block in reversed(list(blocks_in(region))):  # without recursion: programs nest deep
            if key not in block.known:
                block.known[key] = _found_handed_on(block)
    return region.known[key]


def _found_handed_on(region: Region) -> tuple[Tensor, ...]:
    found = dict.fromkeys(region.results)
    for node in region.nodes:
        found.update(dict.fromkeys(node.operands if node.name in VIEWS else ()))
    found.update(dict.fromkeys(_wanted_whole(region.nodes)))
    own = {*region.arguments, *(t for node in region.nodes for t in node.results)}
    return tuple(t for t in found if t not in own)
