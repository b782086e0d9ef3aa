"""Finds products with a matrix and with its transpose that can be computed in one pass over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hlo.passes.cost.caches import SHARED_BYTES
from hlo.passes.cost.machine import HOST, L1
from hlo.passes.fusion.op_traits import ELEMENTWISE
from hlo.passes.hlo_to_loops.graph import Node, Tensor, captured
from hlo.passes.hlo_to_loops.two_products import behind_reshapes, product_by_columns, two_products

KIND = "two_products"
MOST_OPS = 64  # between the products
SMALLEST = 1 << 12  # elements of a matrix that is worth a kernel of its own
LARGEST = 1 << 18  # of one that a thread goes through alone: it is not cut into pieces


@dataclass(frozen=True)
class Pair:
    """Two products in a block.

    Attributes:
        root: the second one.
        core: ops between them, and both: no other kernel computes them.
        side: constants and views, copied into the kernel.
        more_roots: others of them whose results are needed elsewhere.
    """

    root: Node
    core: tuple[Node, ...]
    side: tuple[Node, ...]
    more_roots: tuple[Node, ...]


def find_two_products(
    nodes: Sequence[Node], readers: Mapping[Tensor, Sequence[Node]], leaves: set[Tensor]
) -> list[Pair]:
    """The pairs of a block, in program order.

    Args:
        nodes: the block's ops.
        readers: of each tensor, those inside regions included.
        leaves: tensors that leave the block.
    """
    position = {node: i for i, node in enumerate(nodes)}
    found: list[Pair] = []
    taken: set[Node] = set()
    for behind in nodes:
        if behind.name != "dot_general" or (parts := product_by_columns(behind)) is None:
            continue
        for ahead in _products_of(parts[0], behind, readers):
            if ahead in taken or position.get(ahead, len(nodes)) >= position[behind]:
                continue
            pair = _Search(ahead, parts[1], position).pair(behind, readers, leaves)
            if pair is not None:
                found.append(pair)
                taken.update(pair.core)
                break
    return found


def _products_of(
    matrix: Tensor, behind: Node, readers: Mapping[Tensor, Sequence[Node]]
) -> Iterator[Node]:
    """Dots that read a matrix as it is, or under a shape on its way to the second product."""
    shapes = [t for t in behind.operands if behind_reshapes(t) is matrix]
    while shapes[-1] is not matrix:
        node = shapes[-1].producer
        assert node is not None
        shapes.append(node.operands[0])
    for tensor in shapes:
        yield from (node for node in readers.get(tensor, ()) if node.name == "dot_general")


@dataclass
class _Search:
    """What lies between two products."""

    ahead: Node
    scales: Tensor
    position: Mapping[Node, int]
    core: dict[Node, None] = field(default_factory=dict[Node, None])
    side: dict[Node, None] = field(default_factory=dict[Node, None])
    _reaching: dict[Node, bool] = field(default_factory=dict[Node, bool])

    def pair(
        self, behind: Node, readers: Mapping[Tensor, Sequence[Node]], leaves: set[Tensor]
    ) -> Pair | None:
        plan = two_products(self.ahead, behind)
        if plan is None:
            return None
        size = plan.rows * plan.columns
        if size < SMALLEST or (plan.pieces == 1 and size > LARGEST):
            return None
        if plan.fewest_bytes > HOST.levels[L1].capacity and plan.bytes <= SHARED_BYTES:
            return None  # rows are in no nearer cache when they are scaled than they were before
        if not self._reaches(self.scales):
            return None
        self.core.update({self.ahead: None, behind: None})
        for operand in behind.operands:
            self._views(operand)
        for node in list(self.core):
            self._constants(node)
        if len(self.core) > MOST_OPS + 2 or self._is_interrupted(behind):
            return None
        more = [
            node
            for node in self.core
            if node is not behind and self._is_needed_elsewhere(node, readers, leaves)
        ]
        if any(node.results[0].size != plan.rows for node in more):
            return None
        ordered = sorted(more, key=self.position.__getitem__)
        return Pair(behind, tuple(self.core), tuple(self.side), tuple(ordered))

    def _reaches(self, tensor: Tensor) -> bool:
        """Whether a tensor is made row by row of the first product; notes the ops that do it."""
        node = tensor.producer
        if node is self.ahead:
            return True
        if node is None or node not in self.position or len(self._reaching) > 4 * MOST_OPS:
            return False
        if node not in self._reaching:
            known = node.name in ELEMENTWISE or node.name == "reshape"
            same = len(node.results) == 1 and tensor.size == self.scales.size
            operands = node.operands if known and same else ()
            reaching = list(map(self._reaches, operands))  # all of them, to note their ops
            self._reaching[node] = any(reaching)
            if self._reaching[node]:
                self.core[node] = None
        return self._reaching[node]

    def _views(self, tensor: Tensor) -> None:
        """The reshapes that show a tensor to the second product."""
        while (node := tensor.producer) is not None and node.name == "reshape":
            if node not in self.position or node in self.core:
                return
            self.side[node] = None
            tensor = node.operands[0]

    def _constants(self, node: Node) -> None:
        """What an op between the products reads that needs no memory: splats, scalars spread."""
        if node.name == "dot_general":
            return
        for operand in node.operands:
            made = operand.producer
            if made is None or made not in self.position or made in self.core:
                continue
            if made.name == "constant":
                self.side[made] = None
            elif made.name == "broadcast_in_dim" and made.operands[0].size == 1:
                self.side[made] = None
                self._constants(made)

    def _is_interrupted(self, behind: Node) -> bool:
        """Whether something that the kernel reads depends on what it makes."""
        within = {*self.core, *self.side}
        start, end = self.position[self.ahead], self.position[behind]
        depends: set[Node] = set()
        for node, at in self.position.items():
            if not start < at <= end:
                continue
            made = {t.producer for t in captured(node)}
            if node in within:
                if made & depends:
                    return True
            elif made & depends or made & self.core.keys():
                depends.add(node)
        return False

    def _is_needed_elsewhere(
        self, node: Node, readers: Mapping[Tensor, Sequence[Node]], leaves: set[Tensor]
    ) -> bool:
        within = {*self.core, *self.side}
        return any(
            result in leaves or any(reader not in within for reader in readers.get(result, ()))
            for result in node.results
        )
