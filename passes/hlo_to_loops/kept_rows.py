"""Rows of dear elements that a fold computes and a later pass over the same row needs again.

A kernel is emitted by pulling, so a softmax would compute each exponential twice: for the sum, and
for the quotient. What a fold computes of such a tensor along its row is kept in a buffer on the
stack, from which later loops over the row read it.
"""

from __future__ import annotations

from hlo.passes.cost.op_cost import SLOW_WORK, work
from hlo.passes.hlo_to_loops.affine import Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.elementwise import EMITTERS
from hlo.passes.hlo_to_loops.emitter import Emitter, row_key
from hlo.passes.hlo_to_loops.graph import Region, Tensor, users

LONGEST_ROW = 8192  # elements: what stays in the nearest caches along with what is read
_WIDEST = 16  # lanes of a vector, at most


def worth_keeping(region: Region) -> frozenset[Tensor]:
    """The tensors that a reduction reads, something else reads too, and that are dear."""
    readers = users(region.nodes)
    kept: set[Tensor] = set()
    for node in region.nodes:
        if node.name != "reduce":
            continue
        for tensor in node.operands[: len(node.operands) // 2]:
            again = len(readers.get(tensor, ())) > 1 or tensor in region.results
            held = tensor.type.parts == 1 and tensor.type.register != "i1"
            if again and held and tensor.size and _work(tensor) >= SLOW_WORK:
                kept.add(tensor)
    return frozenset(kept)


def computed_ahead(region: Region, kept: frozenset[Tensor]) -> frozenset[Tensor]:
    """The tensors that need a reduction of a kept one."""
    ahead: set[Tensor] = set()
    for node in region.nodes:
        folds = node.name == "reduce" and not kept.isdisjoint(node.operands)
        if kept and (folds or not ahead.isdisjoint(node.operands)):
            ahead.update(node.results)
    return frozenset(ahead)


def _work(tensor: Tensor) -> int:
    """Work for one element of a tensor by the elementwise ops that make it."""
    total, pending, seen = 0, [tensor], set[Tensor]()
    while pending:
        node = (current := pending.pop()).producer
        if current in seen or node is None or node.name not in EMITTERS:
            continue
        seen.add(current)
        total += work(node) // max(current.size, 1)
        pending += node.operands
    return total


class KeptRows:
    """The rows that one fold keeps, filled while it runs along them.

    Args:
        extent: elements of a row, 0 to keep none.
    """

    def __init__(self, em: Emitter, extent: int) -> None:
        self._em, self._extent = em, extent if 0 < extent <= LONGEST_ROW else 0
        self._rows: dict[tuple[object, ...], KeptRow] = {}

    def see(self, tensor: Tensor, position: Position, value: Value) -> None:
        """Keeps a value that the fold has computed at its lanes."""
        em, lane = self._em, self._em.lane
        if tensor not in em.kept or not self._extent:
            return
        if not em.b.lanes or lane is None:
            self._rows.clear()  # emitted anew, for scalars
            return
        offset = position.linear(tensor.shape)
        if offset.coefficient(lane) != 1:
            return
        key = row_key(tensor, offset, lane)
        if key not in self._rows:
            if not em.b.has_stack(KeptRow.elements(self._extent), tensor.type.register):
                return  # it is computed again
            self._rows[key] = KeptRow(em, tensor, self._extent)
        self._rows[key].store(em, lane, value)

    def remember(self) -> None:
        """The fold is done: later loops in the open region may read its rows."""
        for key, row in self._rows.items():
            self._em.b.remember(key, row)


class KeptRow:
    """The buffer of one tensor's row."""

    def __init__(self, em: Emitter, tensor: Tensor, extent: int) -> None:
        padded = self.elements(extent)
        self._type = tensor.type
        self._memref = f"memref<{padded}x{tensor.type.register}>"
        self._name = em.b.stack_buffer(padded, tensor.type.register)

    @staticmethod
    def elements(extent: int) -> int:
        """Elements of the buffer: vectors of any width may reach behind the row."""
        return -(-extent // _WIDEST) * _WIDEST + _WIDEST

    def store(self, em: Emitter, lane: str, value: Value) -> None:
        """Keeps the elements at a lane variable; those behind the row are anything."""
        vector = em.b.type_of(self._type.register)
        em.b.effect(f"vector.store {value.name}, {self._name}[{lane}] : {self._memref}, {vector}")

    def load(self, em: Emitter, lane: str) -> Value:
        """The elements at a lane variable."""
        vector = em.b.type_of(self._type.register)
        name = em.b.load(f"vector.load {self._name}[{lane}] : {self._memref}, {vector}")
        return Value(self._type, (name,), em.b.lanes)
