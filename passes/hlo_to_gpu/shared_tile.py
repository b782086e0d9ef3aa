"""A tile of an operand in shared memory, brought there by all threads of a block."""

from __future__ import annotations

from collections.abc import Callable

from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread, Where
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_emission import at
from hlo.passes.hlo_to_loops.attention_parts import Operand
from hlo.passes.hlo_to_loops.element_types import ElementType

MOST_UNROLLED = 8  # elements or pieces of a thread; addresses of more would not stay in registers

# A row of the tile -> (indices of the operand's other dimensions, i1 whether the row exists).
Place = Callable[[Affine], tuple[Where, "str | None"]]


def are_pieces(operand: Operand, name: str, extent: int) -> bool:
    """Whether rows of `extent` elements, along `name`, are whole pieces of 16 bytes in memory."""
    lanes = ASYNC_BYTES // operand.tensor.type.memory_bytes
    others = [c for n, c in operand.offset.terms if n != name]
    aligned = not any(c % lanes for c in (extent, operand.offset.constant, *others))
    return aligned and operand.offset.coefficient(name) == 1


class SharedTile:
    """`rows` rows of `columns` elements; what an operand does not have is zero.

    Rows begin in different banks, at multiples of 16 bytes.

    Attributes:
        stride: elements from a row to the next.
    """

    def __init__(
        self, thread: AttentionThread, kind: ElementType, rows: int, columns: int,
        place: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Args:
        kind: what elements are converted to; they are stored as in memory.
        place: a buffer in shared memory, and its type, for the tile; a new one if None.
        """
        self.thread, self.em, self.b = thread, thread.em, thread.b
        self.kind, self.rows, self.columns = kind, rows, columns
        self.lanes = ASYNC_BYTES // kind.memory_bytes
        self.stride = columns + self.lanes
        self.buffer, self.memref = place or self.b.shared(rows * self.stride, kind.memory)

    @staticmethod
    def elements(kind: ElementType, rows: int, columns: int) -> int:
        """Elements of shared memory that a tile takes."""
        return rows * (columns + ASYNC_BYTES // kind.memory_bytes)

    def at(self, row: Affine, column: Affine | int) -> str:
        """The SSA index of an element."""
        return self.em.index(row * self.stride + column)

    # -- filling -----------------------------------------------------------------------------------
    def fetch(self, operand: Operand, name: str, extent: int, place: Place) -> None:
        """Begins to fill the tile; it is there after `wait_for_copies` and a barrier.

        Args:
            name: the variable that walks a row, in [0, extent).
        """
        if self._in_pieces(operand, name, extent):
            self._copy(operand, name, extent // self.lanes, place)
        else:
            self._load(operand, name, extent, place)
        self.b.commit_copies()

    def _in_pieces(self, operand: Operand, name: str, extent: int) -> bool:
        return operand.tensor.type == self.kind and are_pieces(operand, name, extent)

    def _copy(self, operand: Operand, name: str, pieces: int, place: Place) -> None:
        b, em, buffer = self.b, self.em, self.thread.inputs[operand.tensor]

        def copy(row: Affine, piece: Affine) -> None:
            where, exists = place(row)
            inner, inside = em.clamped(piece, pieces)
            source = em.index(at(operand.offset, {**where, name: inner * self.lanes}))
            b.copy_async(
                b.shared_pointer(
                    self.buffer, self.memref, self.at(row, piece * self.lanes), self.kind.memory
                ),
                b.global_pointer(buffer.name, buffer.memref, source, buffer.type.memory),
                b.both(exists, inside),
            )

        self._divided(self.columns // self.lanes, copy)

    def _load(self, operand: Operand, name: str, extent: int, place: Place) -> None:
        b, em, buffer = self.b, self.em, self.thread.inputs[operand.tensor]
        memory = self.kind.memory

        def load(row: Affine, column: Affine) -> None:
            where, exists = place(row)
            inner, inside = em.clamped(column, extent)
            value = em.load(buffer, at(operand.offset, {**where, name: inner}))
            held = elementwise.pack(b, elementwise.convert(b, value, self.kind))[0]
            for flag in (exists, inside):
                if flag is not None:
                    zero = b.constant(0, memory)
                    held = b.op(f"arith.select {flag}, {held}, {zero} : {memory}")
            b.effect(f"memref.store {held}, {self.buffer}[{self.at(row, column)}] : {self.memref}")

        self._divided(self.columns, load)

    def _divided(self, across: int, body: Callable[[Affine, Affine], None]) -> None:
        """The body for all (row, place in [0, across)), divided among the threads of the block."""
        b, em, total = self.b, self.em, self.rows * across
        thread = b.as_index(b.thread())
        if total > MOST_UNROLLED * b.block:
            with b.loop(thread, b.index(total), b.index(b.block)) as loop:
                body(*em.divmod(em.variable(loop.iv, total), across))
            return
        for start in range(0, total, b.block):
            name = thread
            if start:
                name = b.op(f"arith.addi {thread}, {b.index(start)} : index")
            if start + b.block > total:
                inside = b.op(f"arith.cmpi ult, {name}, {b.index(total)} : index")
                with b.when(inside):
                    body(*em.divmod(em.variable(name, total), across))
                return
            body(*em.divmod(em.variable(name, total), across))
