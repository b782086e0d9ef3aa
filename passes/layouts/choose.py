"""Chooses an order of dimensions for every value of a function, such that less is moved.

All values start row-major. Where that has a cost (a transpose, a convolution whose result must be
turned, a fold along a dimension that is not minor, or along a short one that is), another order of
one value is tried: it is carried as far as ops allow, forwards and backwards; each op met then
settles for what costs it and its neighbours least; and the whole is kept if it costs less than
before. Ties keep what was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hlo.passes.cost.layout_cost import copy_bytes, reread_bytes
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.layouts.flow import Flow
from hlo.passes.layouts.op_orders import (
    ALIKE,
    FREE_TO_ARRANGE,
    ROW_MAJOR,
    Orders,
    family_of,
    walked,
)
from hlo.passes.layouts.orders import Order, normal, row_major
from hlo.passes.layouts.short_rows import has_short_rows, short_bytes, wish

# Visits of an op, for each op of the function, that trying orders may take altogether.
MOST_VISITS = 8
# Readers of a value beyond which it is not reconsidered, and what others read it as not looked at.
MOST_READERS = 32
# Ops that an order was carried to in vain from which on it is not tried again from another of them.
WIDE = 64
_SWEEPS = 2
_REACH = 6  # ops between a fold and what combines its result with the elements again


@dataclass(frozen=True)
class LayoutDecision:
    """Whether values around an op got another order than row-major, and why.

    Attributes:
        op, location: the op that asked for it.
        shape: of the value it asked for.
        minor_to_major: the layout it asked for.
        taken: whether that was done.
        ops: how many ops' results went with it.
        reason: what decided.
    """

    op: str
    location: str
    shape: tuple[int, ...]
    minor_to_major: tuple[int, ...]
    taken: bool
    ops: int
    reason: str

    def __bool__(self) -> bool:
        return self.taken


class FunctionLayouts:
    """The orders of a function's values, those in loops and branches included.

    Attributes:
        orders: of the values that have one other than row-major.
        decisions: one for each order that was tried.
    """

    def __init__(
        self,
        flow: Flow,
        hidden: Collection[Node] = (),
        spread: Collection[Node] = (),
        *,
        vectors: bool = True,
    ) -> None:
        """Args:
        flow: the function.
        hidden: ops whose results no kernel stores, in whatever order: they stay row-major.
        spread: dots whose kernels store each row of their result anywhere.
        vectors: whether kernels compute neighbouring elements in the lanes of vectors.
        """
        self.orders = Orders(spread)
        self.decisions: list[LayoutDecision] = []
        self._nodes, self._fixed, self._runs = flow.nodes, flow.fixed, flow.runs
        self._producers: dict[Tensor, Node] = {}
        self._readers: dict[Tensor, list[tuple[Node, int]]] = {}
        for node in self._nodes:
            self._producers.update(dict.fromkeys(node.results, node))
            for i, operand in enumerate(node.operands):
                self._readers.setdefault(operand, []).append((node, i))
        self._hidden = frozenset(hidden)
        self._rereads = {node for node in self._nodes if self._is_reread(node)} - self._hidden
        self._short = {n for n in self._nodes if vectors and has_short_rows(n)} - self._hidden
        self._visits = MOST_VISITS * len(self._nodes)
        self._before: dict[Tensor, Order] = {}  # orders as they were before the current attempt
        # What ops need of their operands and cost beyond copies, until orders around them change.
        self._needs: dict[Node, list[Order | None]] = {}
        self._extras: dict[Node, int] = {}
        self._refused: set[tuple[Tensor, Order]] = set()

    def run(self) -> None:
        """Tries the orders that ops ask for, in program order; at last those that have short rows
        because of others behind them.
        """
        for node in (*self._nodes, *(n for n in self._nodes if n in self._short)):
            for tensor, order in self._wishes(node):
                if self._visits <= 0:
                    return
                self._try(node, tensor, order)

    def copies_for(self, node: Node) -> list[Order | None]:
        """For each operand of an op the order it must be copied to; None where it is read as is."""
        return [
            None if need is None or need == self.orders[operand] else need
            for operand, need in zip(node.operands, self._needs_of(node), strict=True)
        ]

    def _needs_of(self, node: Node) -> list[Order | None]:
        found = self._needs.get(node)
        if found is None:
            found = self._needs[node] = family_of(node).needs(node, self.orders)
        return found

    # ---- What to try ----
    def _wishes(self, node: Node) -> Iterator[tuple[Tensor, Order]]:
        """Orders of values with which an op would move less."""
        if node in self._hidden:
            return
        family = family_of(node)
        if node.name == "transpose":
            (need,) = self.copies_for(node)
            if need is None:
                return
            yield node.operands[0], need
            given = family.gives(node, 0, self.orders[node.operands[0]], self.orders)
            if given is not None:
                yield node.results[0], given
        elif node.name == "convolution":
            for operand, need in zip(node.operands, self.copies_for(node), strict=True):
                if need is not None:
                    yield operand, need
            if family.extra_bytes(node, self.orders):
                given = family.gives(node, 0, self.orders[node.operands[0]], self.orders)
                if given is not None:
                    yield node.results[0], given
        elif node in self._rereads and not self._is_along_rows(node):
            reduced, operand = node.attributes["dimensions"], node.operands[0]
            order = sorted(self.orders[operand], key=lambda d: d in reduced)
            yield operand, normal(operand.shape, order)
        elif node in self._short and short_bytes(node, self.orders):
            yield wish(node, self.orders)

    def _is_reread(self, node: Node) -> bool:
        """Whether the result of a fold along one dimension meets as many elements again."""
        if node.name != "reduce" or len(node.attributes["dimensions"]) != 1:
            return False
        size = node.operands[0].size
        front = [node]
        for _ in range(_REACH):
            readers = [r for n in front for t in n.results for r, _ in self._readers.get(t, ())]
            front = [r for r in dict.fromkeys(readers) if family_of(r) is not ROW_MAJOR]
            if any(r.results[0].size == size and r.name in ALIKE for r in front):
                return True
            if len(front) > _REACH:
                return False
        return False

    def _is_along_rows(self, node: Node) -> bool:
        operand, reduced = node.operands[0], set(node.attributes["dimensions"])
        wide = [d for d in walked(node, self.orders) if operand.shape[d] != 1]
        count = sum(d in reduced for d in wide)
        return all(d in reduced for d in wide[len(wide) - count :])

    # ---- Trying ----
    def _try(self, node: Node, tensor: Tensor, order: Order) -> None:
        if (tensor, order) in self._refused:
            return
        self._before = {}
        changed = self._carry(tensor, order)
        if not changed:
            return
        carried = [(t, self.orders[t]) for n in changed for t in n.results]
        self._settle(changed)
        moved = {t: self.orders[t] for t, was in self._before.items() if self.orders[t] != was}
        new = self._cost(changed)
        self._restore(self._before)
        old = self._cost(changed)
        taken = new < old
        if taken:
            self._restore(moved)
        elif len(changed) >= WIDE:
            self._refused.update(carried)
        reason = (
            f"copies and transposes move {new} bytes, not {old}"
            if taken
            else f"copies and transposes would move {new} bytes, now {old}"
        )
        asked = node.name, node.location, tensor.shape, order[::-1]
        self.decisions.append(LayoutDecision(*asked, taken, len(changed), reason))

    def _restore(self, orders: Mapping[Tensor, Order]) -> None:
        for tensor, order in orders.items():
            self._place(tensor, order)

    def _place(self, tensor: Tensor, order: Order) -> None:
        if order == self.orders[tensor]:
            return
        self._forget(self._producers[tensor])
        for reader, _ in self._readers.get(tensor, ()):
            self._forget(reader)
        if order == row_major(tensor.rank):
            self.orders.pop(tensor, None)
        else:
            self.orders[tensor] = order

    def _forget(self, node: Node) -> None:
        self._needs.pop(node, None)
        self._extras.pop(node, None)

    def _set(self, node: Node, order: Order) -> None:
        for result in node.results:
            self._before.setdefault(result, self.orders[result])
            self._place(result, order)

    def _carry(self, tensor: Tensor, order: Order) -> dict[Node, None]:
        """Gives a value an order, and those around it that go with it; returns their ops."""
        changed: dict[Node, None] = {}
        pending = deque([(tensor, order)])
        while pending:
            value, wanted = pending.popleft()
            node = self._producers.get(value)
            if node is None or node in changed or wanted == self.orders[value]:
                continue
            if node in self._hidden:
                continue
            family = family_of(node)
            self._visits -= 1
            if not family.makes(node, wanted, self.orders):
                continue
            self._set(node, wanted)
            changed[node] = None
            for operand, need in zip(node.operands, self.copies_for(node), strict=True):
                if need is not None:
                    pending.append((operand, need))
            for reader, i in (pair for r in node.results for pair in self._readers.get(r, ())):
                given = family_of(reader).gives(reader, i, wanted, self.orders)
                if given is not None:
                    pending.append((reader.results[0], given))
        return changed

    def _settle(self, changed: dict[Node, None]) -> None:
        """Lets each op that copies surround take the order that costs least there."""
        for _ in range(_SWEEPS):
            moved = False
            for node in changed:
                moved |= self._settle_one(node)
            if not moved:
                return

    def _settle_one(self, node: Node) -> bool:
        readers = [pair for r in node.results for pair in self._readers.get(r, ())]
        if len(readers) > MOST_READERS:
            return False
        own = self.orders[node.results[0]]
        needed = any(self._needs_of(r)[i] not in (None, own) for r, i in readers)
        if not needed and not any(self.copies_for(node)) and not self._extra(node):
            return False
        choices = {own: None, row_major(len(own)): None}
        family = family_of(node)
        for i, operand in enumerate(node.operands):
            given = family.gives(node, i, self.orders[operand], self.orders)
            if given is not None:
                choices[given] = None
        for reader, i in readers:
            need = self._needs_of(reader)[i]
            if need is not None:
                choices[need] = None
        if len(choices) == 1:
            return False
        self._visits -= len(choices)
        best, least = own, self._cost_with(node, own)
        for order in choices:
            if order == own or not family.makes(node, order, self.orders):
                continue
            cost = self._cost_with(node, order)
            if cost < least:
                best, least = order, cost
        self._set(node, best)
        return best != own

    # ---- Cost ----
    def _cost_with(self, node: Node, order: Order) -> int:
        self._set(node, order)
        return self._cost((node,))

    def _cost(self, nodes: Iterable[Node]) -> int:
        """What ops, those that read them and what both read cost in copies and beyond."""
        around: dict[Node, None] = dict.fromkeys(nodes)
        for node in list(around):
            around.update((r, None) for t in node.results for r, _ in self._readers.get(t, ()))
        tensors: dict[Tensor, None] = {}
        for node in around:
            tensors.update(dict.fromkeys(node.operands))
            tensors.update((t, None) for t in node.results if t in self._fixed)
        copies = sum(self._copies(tensor, around) for tensor in tensors)
        return sum(map(self._extra, around)) + copies

    def _extra(self, node: Node) -> int:
        found = self._extras.get(node)
        if found is None:
            found = family_of(node).extra_bytes(node, self.orders)
            if node in self._rereads and not self._is_along_rows(node):
                found += reread_bytes(node.operands[0])
            if node in self._short:
                found += short_bytes(node, self.orders)
            found *= self._runs[node.results[0]] if node.results else 1
            self._extras[node] = found
        return found

    def _copies(self, tensor: Tensor, around: Mapping[Node, None]) -> int:
        """Bytes of the copies of a value that its readers need, of very many those in `around`."""
        producer = self._producers.get(tensor)
        if producer is not None and producer.name in FREE_TO_ARRANGE:
            return 0
        own = self.orders[tensor]
        needed: set[Order] = set()
        readers = self._readers.get(tensor, ())
        if len(readers) > MOST_READERS:
            readers = [(n, i) for n in around for i, t in enumerate(n.operands) if t is tensor]
        for reader, i in readers:
            need = self._needs_of(reader)[i]
            if need is not None and need != own:
                needed.add(need)
        if tensor in self._fixed and own != row_major(tensor.rank):
            needed.add(row_major(tensor.rank))
        return len(needed) * copy_bytes(tensor) * self._runs[tensor]
