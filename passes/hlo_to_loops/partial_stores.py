"""Stores of the first lanes of a vector, without a mask.

Processors take a masked store for one of the whole vector when a later load waits for it: the next
row, loaded where the lanes that are left out lie, waits until the store has reached the cache, some
20 cycles. Where a kernel overwrites what it reads, each of its rows would.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder

SHORT_ROW = 512  # elements; longer ones are worth a wait at their end


def store_first_lanes(
    b: Builder, raw: str, lanes: int, count: int, buffer: Buffer, place: Callable[[int], str]
) -> None:
    """Stores `count` lanes of a vector in parts of 16, 8, 4, 2 and 1.

    Args:
        raw, lanes: SSA name of the vector in the buffer's type, and how many lanes it has.
        place: SSA index where a lane goes, one behind the other.
    """
    scalar, first = buffer.type.memory, 0
    while first < count:
        size = 1 << ((count - first).bit_length() - 1)
        at = f"{buffer.name}[{place(first)}]"
        if size == 1:
            lane = b.op(f"vector.extract {raw}[{first}] : {scalar} from vector<{lanes}x{scalar}>")
            b.effect(f"memref.store {lane}, {at} : {buffer.memref}")
        else:
            with b.width(lanes):
                part = b.part(raw, scalar, first, size)
            b.effect(f"vector.store {part}, {at} : {buffer.memref}, vector<{size}x{scalar}>")
        first += size
