"""Memory that stands empty until late: buffers that live before that are moved out of the arena.

The result of a program is not written before some step; until then its memory can hold
intermediates. Which ones is chosen greedily: of those live when most bytes are, the largest that
fits, as long as the most bytes live at once go down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hlo.passes.memory.packing.model import Buffer, BufferId

# Less gain than this share of the arena is not worth placing buffers in several memories.
LEAST_GAIN = 1 / 64


@dataclass(frozen=True)
class Lender:
    """Memory of `size` bytes that nothing else uses at steps before `free_until`."""

    id: str
    size: int
    free_until: int


@dataclass(frozen=True)
class Loan:
    """Where a buffer lies: `offset` bytes into a lender's memory."""

    lender: str
    offset: int


@dataclass
class _Book:
    """What has been lent of one lender's memory."""

    lender: Lender
    lent: list[tuple[int, Buffer]] = field(default_factory=list[tuple[int, Buffer]])

    def room_for(self, buffer: Buffer) -> int | None:
        """The lowest offset at which a buffer fits; None if there is none."""
        if buffer.end > self.lender.free_until:
            return None
        offset = 0
        for start, other in self.lent:
            if other.start >= buffer.end or buffer.start >= other.end:
                continue
            if offset + buffer.size <= start:
                break
            offset = max(offset, _aligned(start + other.size, buffer.alignment))
        return offset if offset + buffer.size <= self.lender.size else None

    def lend(self, buffer: Buffer, offset: int) -> None:
        self.lent.append((offset, buffer))
        self.lent.sort(key=lambda entry: (entry[0], entry[1].start))


def borrow(buffers: Sequence[Buffer], lenders: Sequence[Lender]) -> dict[BufferId, Loan]:
    """Buffers to place in lenders' memory, by id; the others stay in the arena.

    The lenders' memory must be aligned as the buffers ask. Empty where the most bytes live at once
    would not go down.
    """
    books = [_Book(lender) for lender in sorted(lenders, key=lambda x: (x.size, x.id))]
    last = max((lender.free_until for lender in lenders), default=0)
    movable = [b for b in buffers if b.size and b.start < b.end <= last]
    if not movable:
        return {}
    live = _live_bytes(buffers)
    before = int(live.max())
    loans: dict[BufferId, Loan] = {}
    best, best_count = before, 0
    while (at := int(live.argmax())) < last:
        found = _largest_that_fits([b for b in movable if b.start <= at < b.end], books)
        if found is None:
            break
        buffer, book, offset = found
        book.lend(buffer, offset)
        movable.remove(buffer)
        live[buffer.start : buffer.end] -= buffer.size
        loans[buffer.id] = Loan(book.lender.id, offset)
        if (height := int(live.max())) < best:
            best, best_count = height, len(loans)
    if before - best <= before * LEAST_GAIN:
        return {}
    return dict(list(loans.items())[:best_count])


def _largest_that_fits(
    candidates: Sequence[Buffer], books: Sequence[_Book]
) -> tuple[Buffer, _Book, int] | None:
    for buffer in sorted(candidates, key=lambda b: (-b.size, b.start, str(b.id))):
        for book in books:
            if (offset := book.room_for(buffer)) is not None:
                return buffer, book, offset
    return None


def _live_bytes(buffers: Sequence[Buffer]) -> np.ndarray:
    """Bytes live at each step."""
    changes = np.zeros(max(b.end for b in buffers) + 1, np.int64)
    for buffer in buffers:
        changes[buffer.start] += buffer.size
        changes[buffer.end] -= buffer.size
    return np.cumsum(changes)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
