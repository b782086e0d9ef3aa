"""Last uses of values in one block, values that share storage counted together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hlo.passes.hlo_to_loops.affine import suffix_products
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, captured

# Ops whose result is the storage of their operand under another shape.
VIEWS = frozenset({"reshape", "optimization_barrier"})
PART_ALIGNMENT = 16  # bytes: what kernels may expect of where a buffer begins
# Ops that write over an operand, or that want it in storage of its own.
_OWNING = frozenset({"while", "dynamic_update_slice", "scatter", "select_and_scatter"})


def part_offset(node: Node) -> int | None:
    """Where in its operand, in elements, a slice's result lies as it is; None if it does not."""
    if node.name != "slice":
        return None
    operand, result = node.operands[0], node.results[0]
    if result.size == 0:
        return None
    starts, strides = node.attributes["start_indices"], node.attributes["strides"]
    inner = max((d for d in range(operand.rank) if result.shape[d] != operand.shape[d]), default=0)
    if strides[inner] != 1 and result.shape[inner] != 1 if operand.rank else False:
        return None
    if math.prod(result.shape[:inner]) != 1:
        return None
    offset = sum(a * b for a, b in zip(starts, suffix_products(operand.shape), strict=True))
    return None if offset * operand.type.memory_bytes % PART_ALIGNMENT else offset


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
            if node.results and node.results[0] not in own and part_offset(node) is not None:
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
        if node.name in _OWNING:
            yield from node.operands
        if node.name in ("while", "if", "case"):
            for region in node.regions:
                yield from _handed_on(region)


def _handed_on(region: Region) -> Iterator[Tensor]:
    yield from region.results
    for node in region.nodes:
        if node.name in VIEWS:
            yield from node.operands
        yield from _wanted_whole([node])
