"""Checks placements. Shares nothing with the packers, so that they cannot be wrong together."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from hlo.passes.memory.packing.model import Buffer, InvalidPlacementError, Placement

# Ends come before starts at the same moment: ranges are half-open.
_END, _START = 0, 1


def check_placement(
    buffers: Sequence[Buffer], placement: Placement, *, capacity: int | None = None
) -> None:
    """Raises `InvalidPlacementError` unless `placement` places the buffers, and below `capacity`.

    A sweep over time holds the live buffers, disjoint so far, by offset: a new one can only overlap
    its two neighbours there. O(n log n) comparisons.
    """
    _check_offsets(buffers, placement)
    _check_height(buffers, placement, capacity)
    _check_overlaps([b for b in buffers if b.size > 0 and b.start < b.end], placement)


def _check_offsets(buffers: Sequence[Buffer], placement: Placement) -> None:
    if len(placement.offsets) != len(buffers):
        raise InvalidPlacementError(
            f"the placement has {len(placement.offsets)} offsets for {len(buffers)} buffers"
        )
    for buffer in buffers:
        offset = placement.offsets.get(buffer.id)
        if offset is None:
            raise InvalidPlacementError(f"buffer {buffer.id} has no offset")
        if offset < 0 or offset % buffer.alignment != 0:
            raise InvalidPlacementError(
                f"buffer {buffer.id} lies at {offset}; "
                f"expected a multiple of {buffer.alignment}, at least 0"
            )


def _check_height(buffers: Sequence[Buffer], placement: Placement, capacity: int | None) -> None:
    height = max((placement.offsets[b.id] + b.size for b in buffers if b.size > 0), default=0)
    if placement.height != height:
        raise InvalidPlacementError(
            f"the placement says its height is {placement.height}; its buffers end at {height}"
        )
    if capacity is not None and height > capacity:
        raise InvalidPlacementError(f"the placement takes {height} bytes of {capacity}")


def _check_overlaps(buffers: Sequence[Buffer], placement: Placement) -> None:
    events: list[tuple[int, int, int]] = []
    for index, buffer in enumerate(buffers):
        events.append((buffer.start, _START, index))
        events.append((buffer.end, _END, index))
    events.sort()
    live: list[tuple[int, int]] = []  # (offset, index), by offset
    for _, kind, index in events:
        entry = (placement.offsets[buffers[index].id], index)
        if kind == _END:
            del live[bisect_left(live, entry)]
            continue
        position = bisect_left(live, entry)
        for _, other in live[max(position - 1, 0) : position + 1]:
            _check_pair(buffers[other], buffers[index], placement)
        insort(live, entry)


def _check_pair(a: Buffer, b: Buffer, placement: Placement) -> None:
    a_offset, b_offset = placement.offsets[a.id], placement.offsets[b.id]
    if a_offset + a.size <= b_offset or b_offset + b.size <= a_offset:
        return
    raise InvalidPlacementError(
        f"buffer {a.id}, bytes [{a_offset}, {a_offset + a.size}), and buffer {b.id}, bytes "
        f"[{b_offset}, {b_offset + b.size}), overlap at moment {max(a.start, b.start)}"
    )
