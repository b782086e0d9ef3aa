"""Fetches what a loop over memory reads next.

A processor looks a few hundred instructions ahead. Where tens of them are spent on a vector, that
is a handful of lines, too few to hide the way from memory, and its own prefetching stops at every
page of 4 KiB.
"""

from __future__ import annotations

from collections.abc import Iterable

from hlo.passes.cost.caches import FAR_BYTES
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, Emitter, Fetcher

DISTANCE = 2 << 10  # bytes: the way from memory takes as long as a few cheap operations on them
# Bytes ahead that are fetched into the core's larger cache, where a farther memory is hidden too,
# and more lines wait at a time than the nearest cache has places for.
FARTHER = 8 << 10
_NARROWEST = LINE_BYTES // 2  # bytes of a vector: of less, lines would be asked for too often


class LinesAhead:
    """The loops over the lanes of one buffer.

    Args:
        near: whether lines are also fetched into the nearest cache.
    """

    def __init__(self, *, near: bool = True) -> None:
        self._near = near
        # The innermost loop and the offsets that were fetched in it.
        self._loop: object = None
        self._fetched: list[Affine] = []

    def fetch(self, em: Emitter, buffer: Buffer, offset: Affine) -> None:
        """Called where lanes of the buffer are loaded: fetches lines that later turns will load."""
        b, size = em.b, buffer.type.memory_bytes
        if not is_in_lane_loop(em) or b.lanes * size < _NARROWEST:
            return
        if any(name in em.looked_up for name, _ in offset.terms):
            return
        if b.region is not self._loop:
            self._loop, self._fetched = b.region, []
        if any(_same_line(offset, other, size) for other in self._fetched):
            return
        self._fetched.append(offset)
        if em.next_turn is not None:
            variable, step = em.next_turn
            fetch_lines(em, buffer, offset + offset.coefficient(variable) * step)
            return
        fetch_lines(em, buffer, offset + FARTHER // size, near=False)
        if self._near:
            fetch_lines(em, buffer, offset + DISTANCE // size)


def is_in_lane_loop(em: Emitter) -> bool:
    """Whether the innermost open loop is that over the lanes."""
    return em.lane is not None and em.b.loop_level == em.lane_level + 1


def _same_line(offset: Affine, other: Affine, size: int) -> bool:
    difference = offset + other * -1
    return not difference.terms and abs(difference.constant) * size < LINE_BYTES


def fetch_lines(em: Emitter, buffer: Buffer, offset: Affine, *, near: bool = True) -> None:
    """Asks for the lines of the lanes at `offset`; see fetch_line."""
    size = buffer.type.memory_bytes
    for start in range(0, em.b.lanes, LINE_BYTES // size):
        fetch_line(em, buffer, offset + start, near=near)


def fetch_line(
    em: Emitter, buffer: Buffer, offset: Affine, how: str = "read", *, near: bool = True
) -> None:
    """Asks for the line of the element at `offset`, which need not exist.

    Args:
        how: `write` for a line that will be stored to.
        near: whether into the nearest cache, or the one behind it.
    """
    place = f"{buffer.name}[{em.index(offset * buffer.type.parts)}]"
    locality = 3 if near else 2
    em.b.effect(f"memref.prefetch {place}, {how}, locality<{locality}>, data : {buffer.memref}")


def lines_ahead(inputs: Iterable[Buffer]) -> dict[Buffer, Fetcher]:
    """For the inputs that come from memory."""
    return {b: LinesAhead() for b in inputs if b.elements * b.type.memory_bytes >= FAR_BYTES}
