"""Where a block keeps tiles of an operand: a ring of them in shared memory, swizzled.

A tile has lines, one for each place along the outer of its two dimensions; pieces of 16 bytes of a
line are permuted so that the pieces at one place of eight lines are in different banks: what
`ldmatrix` reads at once, and what a quarter of a warp does.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace, InMemory
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer

BANK_BYTES = 128  # that all banks have together


@dataclass(frozen=True)
class Operand:
    """A tile of an operand.

    Attributes:
        along_depth: whether neighbours in a line differ in the depth rather than in the side.
        side: rows of the left operand, columns of the right.
        source: where it is in memory, if it is copied from there 16 bytes at a time.
    """

    along_depth: bool
    side: int
    depth: int
    source: InMemory | None = None

    @property
    def line(self) -> int:
        """Elements of a line."""
        return self.depth if self.along_depth else self.side

    @property
    def lines(self) -> int:
        return self.side if self.along_depth else self.depth


class TileStore:
    """`slots` tiles of an operand in a part of the block's shared memory.

    Attributes:
        scalar: MLIR type of an element.
        vector: elements of a piece.
    """

    def __init__(
        self, em: ThreadEmitter, operand: Operand, scalar: str, slots: int, place: tuple[str, str]
    ) -> None:
        """Args:
        place: the buffer, of `slots` tiles, and its memref type.
        """
        self.em, self.b, self.operand = em, em.b, operand
        self.scalar, self.slots = scalar, slots
        self.bytes = int(scalar.lstrip("if")) // 8
        self.vector = ASYNC_BYTES // self.bytes
        self.buffer, self.memref = place

    @staticmethod
    def elements(operand: Operand) -> int:
        """Elements of one tile."""
        return operand.line * operand.lines

    # -- addresses ---------------------------------------------------------------------------------
    def at(self, slot: Affine, side: Affine, depth: Affine) -> str:
        """The SSA index of an element; those after it in its piece follow it."""
        operand = self.operand
        line, inner = (side, depth) if operand.along_depth else (depth, side)
        piece, rest = self.em.divmod(inner, self.vector)
        start = slot * self.elements(operand) + line * operand.line + rest
        place = self._swizzled(line, piece)
        b, scaled = self.b, place
        if self.vector > 1:
            scaled = b.op(f"arith.muli {place}, {b.index(self.vector)} : index")
        return b.op(f"arith.addi {self.em.index(start)}, {scaled} : index")

    def _swizzled(self, line: Affine, piece: Affine) -> str:
        """A piece's place in its line."""
        em, b = self.em, self.b
        pieces = self.operand.line // self.vector
        together = min(pieces, BANK_BYTES // ASYNC_BYTES)
        skipped = BANK_BYTES // ASYNC_BYTES // together  # lines that share the banks once
        name = em.index(piece)
        if together == 1:
            return name
        turn = em.index(line)
        if skipped > 1:
            turn = b.op(f"arith.divui {turn}, {b.index(skipped)} : index")
        turn = b.op(f"arith.andi {turn}, {b.index(together - 1)} : index")
        return b.op(f"arith.xori {name}, {turn} : index")

    # -- copies from memory ------------------------------------------------------------------------
    def copy(
        self, slot: Affine, batch: Affine, side: Affine, depth: Affine, space: ContractionSpace,
        buffer: Buffer,
    ) -> None:  # fmt: skip
        """Begins to copy the tile from (side, depth) on; zeros past the ends."""
        em, b, operand, source = self.em, self.b, self.operand, self.operand.source
        assert source is not None
        extent = space.extent_of(source.left)
        per_line = operand.line // self.vector

        def copy(piece: Affine) -> None:
            line, place = em.divmod(piece, per_line)
            inner = place * self.vector
            across, along = (line, inner) if operand.along_depth else (inner, line)
            where, inside = self._clamped(side + across, extent, not operand.along_depth)
            deep, exists = self._clamped(depth + along, space.depth, operand.along_depth)
            if exists is not None and inside is not None:
                exists = b.op(f"arith.andi {inside}, {exists} : i1")
            offset = em.index(space.offset(em, source, batch, where, deep))
            target = b.shared_pointer(
                self.buffer, self.memref, self.at(slot, across, along), self.scalar
            )
            memory = buffer.type.memory
            origin = b.global_pointer(buffer.name, buffer.memref, offset, memory)
            b.copy_async(target, origin, exists or inside)

        total = operand.lines * per_line
        for piece, is_there in self._own(total):
            if is_there is None:
                copy(piece)
                continue
            with b.when(is_there):
                copy(piece)

    def _clamped(self, index: Affine, extent: int, in_line: bool) -> tuple[Affine, str | None]:
        """As `ThreadEmitter.clamped`; in a line to the start of a piece."""
        if not in_line:
            return self.em.clamped(index, extent)
        piece, inside = self.em.clamped(
            self.em.divmod(index, self.vector)[0], extent // self.vector
        )
        return piece * self.vector, inside

    def _own(self, total: int) -> list[tuple[Affine, str | None]]:
        """This thread's share of `total` things, an i1 with those that some threads do not have."""
        em, b, found = self.em, self.b, list[tuple[Affine, str | None]]()
        thread = b.as_index(b.thread())
        for start in range(0, total, b.block):
            name, is_there = thread, None
            if start:
                name = b.op(f"arith.addi {thread}, {b.index(start)} : index")
            if start + b.block > total:
                is_there = b.op(f"arith.cmpi ult, {name}, {b.index(total)} : index")
            found.append((em.variable(name, total), is_there))
        return found

    # -- elements ----------------------------------------------------------------------------------
    def places(self) -> list[tuple[Affine, Affine]]:
        """(place along the side, along the depth) of each element that this thread brings."""
        em, operand = self.em, self.operand
        found: list[tuple[Affine, Affine]] = []
        for element, is_there in self._own(operand.side * operand.depth):
            assert is_there is None, "tiles are whole numbers of elements a thread"
            line, inner = em.divmod(element, operand.line)
            found.append((line, inner) if operand.along_depth else (inner, line))
        return found

    def put(self, slot: Affine, side: Affine, depth: Affine, name: str) -> None:
        """Stores an element."""
        at = self.at(slot, side, depth)
        self.b.effect(f"memref.store {name}, {self.buffer}[{at}] : {self.memref}")

    def run(self, slot: Affine, side: Affine, depth: Affine, count: int) -> list[str]:
        """Neighbours in a line, of one piece."""
        b = self.b
        at = self.at(slot, side, depth)
        if count == 1:
            return [b.load(f"memref.load {self.buffer}[{at}] : {self.memref}")]
        kind = f"vector<{count}x{self.scalar}>"
        loaded = b.load(f"vector.load {self.buffer}[{at}] : {self.memref}, {kind}")
        return [
            b.op(f"vector.extract {loaded}[{i}] : {self.scalar} from {kind}") for i in range(count)
        ]
