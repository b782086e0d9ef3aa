"""Which steps of a plan may run at the same time: streams and what each step waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.gpu.plan import BufferSlice, LaunchPlan, Step, accesses


@dataclass(frozen=True)
class Placed:
    """A step in a stream.

    Attributes:
        stream: its number; steps of one stream run in order.
        waits: positions of steps in other streams that must be over.
        is_awaited: whether a step of another stream waits for it.
    """

    step: Step
    stream: int
    waits: tuple[int, ...]
    is_awaited: bool


def assign_streams(steps: Sequence[Step], plan: LaunchPlan, most: int) -> list[Placed]:
    """Distributes steps without loops and cases over at most `most` streams.

    A step depends on an earlier one if they touch a byte in common that either of them writes. It
    follows one that it depends on where that is its stream's last; else it starts a stream, while
    there are any, else it goes where the last step is oldest. Waits that others imply are left out.
    """
    dependencies = _dependencies(steps, plan)
    streams: list[int] = []
    tails: list[int] = []  # the last step of each stream
    waits: list[tuple[int, ...]] = []
    # Of each step, per stream the latest step that is over when it starts.
    known: list[dict[int, int]] = []
    for at, needed in enumerate(dependencies):
        stream = _stream_for(needed, streams, tails, most)
        over: dict[int, int] = {}
        if stream < len(tails):
            over = dict(known[tails[stream]])
            over[stream] = tails[stream]
        chosen: list[int] = []
        for step in sorted(needed, reverse=True):
            if over.get(streams[step], -1) < step:
                chosen.append(step)
                for other, latest in (*known[step].items(), (streams[step], step)):
                    over[other] = max(over.get(other, -1), latest)
        if stream == len(tails):
            tails.append(at)
        tails[stream] = at
        streams.append(stream)
        waits.append(tuple(sorted(chosen)))
        known.append(over)
    awaited = {step for some in waits for step in some}
    return [Placed(step, streams[at], waits[at], at in awaited) for at, step in enumerate(steps)]


def _stream_for(needed: set[int], streams: list[int], tails: list[int], most: int) -> int:
    following = [step for step in needed if tails[streams[step]] == step]
    if following:
        return streams[max(following)]
    if len(tails) < most:
        return len(tails)
    return tails.index(min(tails))


def _dependencies(steps: Sequence[Step], plan: LaunchPlan) -> list[set[int]]:
    """The earlier steps that each step must follow, but for those that a later writer hides."""
    found: list[set[int]] = []
    writers: dict[tuple[str, int], list[tuple[BufferSlice, int]]] = {}
    readers: dict[tuple[str, int], list[tuple[BufferSlice, int]]] = {}
    for at, step in enumerate(steps):
        reads, writes = accesses(step, plan)
        needed: set[int] = set()
        for place in (*reads, *writes):
            needed |= _touching(writers, place)
        for place in writes:
            needed |= _touching(readers, place)
        needed.discard(at)
        found.append(needed)
        for place in writes:
            key = (place.base, place.index)
            for table in (writers, readers):
                table[key] = [
                    (other, by) for other, by in table.get(key, []) if not _covers(place, other)
                ]
            writers[key].append((place, at))
        for place in reads:
            if place not in writes:
                readers.setdefault((place.base, place.index), []).append((place, at))
    return found


def _touching(
    table: dict[tuple[str, int], list[tuple[BufferSlice, int]]], place: BufferSlice
) -> set[int]:
    return {by for other, by in table.get((place.base, place.index), []) if place.overlaps(other)}


def _covers(outer: BufferSlice, inner: BufferSlice) -> bool:
    return outer.offset <= inner.offset and inner.offset + inner.bytes <= outer.offset + outer.bytes
