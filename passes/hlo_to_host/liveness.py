"""Last uses of values in one block, values that share storage counted together."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops.graph import Node, Tensor, captured

# Ops whose result is the storage of their operand under another shape.
VIEWS = frozenset({"reshape", "optimization_barrier"})


class BlockLiveness:
    """Positions at which the storage of each value of a block is read for the last time.

    The block's own results count as read at position len(nodes).
    """

    def __init__(self, nodes: Sequence[Node], results: Sequence[Tensor]) -> None:
        self._root: dict[Tensor, Tensor] = {}
        self._last: dict[Tensor, int] = {}
        for at, node in enumerate(nodes):
            if node.name in VIEWS:
                for operand, result in zip(node.operands, node.results, strict=True):
                    self._root[result] = self.root(operand)
            for operand in captured(node):
                self._last[self.root(operand)] = at
        for result in results:
            self._last[self.root(result)] = len(nodes)

    def root(self, tensor: Tensor) -> Tensor:
        """The value whose storage a view shows."""
        while (parent := self._root.get(tensor)) is not None:
            tensor = parent
        return tensor

    def last_use(self, tensor: Tensor) -> int:
        """The position of the last op that reads the storage of `tensor`; -1 if none does."""
        return self._last.get(self.root(tensor), -1)
