"""Steps that touch the same bytes are ordered, others are not."""

from __future__ import annotations

import random

from hlo.gpu.plan import BufferSlice, Copy, Kernel, Launch, LaunchPlan
from hlo.gpu.streams import assign_streams


def place(offset: int, size: int = 4) -> BufferSlice:
    return BufferSlice("arena", 0, offset, size)


def copies(*pairs: tuple[int, int]) -> tuple[Copy, ...]:
    return tuple(Copy(place(to), place(source)) for to, source in pairs)


EMPTY = LaunchPlan("sm_80", "p", {}, {}, (), 4096, (), (), ())


def test_a_chain_stays_in_one_stream() -> None:
    placed = assign_streams(copies((4, 0), (8, 4), (12, 8)), EMPTY, 4)
    assert [p.stream for p in placed] == [0, 0, 0]
    assert all(not p.waits and not p.is_awaited for p in placed)


def test_independent_chains_part_and_meet() -> None:
    # 4 <- 0, 8 <- 0, then 12 of both: waits for the one in the other stream.
    kernel = Kernel("k", "m", 3, (2,))
    plan = LaunchPlan("sm_80", "p", {"k": kernel}, {}, (), 4096, (), (), ())
    both = Launch("k", (1, 1, 1), (1, 1, 1), (place(4), place(8), place(12)))
    placed = assign_streams((*copies((4, 0), (8, 0)), both), plan, 4)
    assert [p.stream for p in placed] == [0, 1, 1]
    assert [p.waits for p in placed] == [(), (), (0,)]
    assert [p.is_awaited for p in placed] == [True, False, False]


def test_a_write_waits_for_earlier_reads() -> None:
    placed = assign_streams(copies((4, 0), (8, 0), (0, 100)), EMPTY, 4)
    assert placed[2].stream in (0, 1)
    assert placed[2].waits == (1 - placed[2].stream,)


def test_there_are_no_more_streams_than_asked_for() -> None:
    placed = assign_streams(copies(*((4 * i + 400, 4 * i) for i in range(9))), EMPTY, 3)
    assert {p.stream for p in placed} == {0, 1, 2}


def test_random_copies_are_ordered_as_they_must_be() -> None:
    choose = random.Random(0)
    for _ in range(60):
        steps = copies(*((choose.randrange(0, 40, 2), 100 + choose.randrange(0, 40, 2))
                         if choose.random() < 0.3 else
                         (choose.randrange(0, 40, 2), choose.randrange(0, 40, 2))
                         for _ in range(14)))  # fmt: skip
        placed = assign_streams(steps, EMPTY, choose.randint(1, 4))
        before: list[set[int]] = []
        last: dict[int, int] = {}
        for at, one in enumerate(placed):
            over: set[int] = set()
            for other in (*one.waits, *([last[one.stream]] if one.stream in last else [])):
                over |= before[other] | {other}
            before.append(over)
            last[one.stream] = at
            for earlier in range(at):
                a, b = steps[earlier], steps[at]
                conflict = (
                    a.destination.overlaps(b.source)
                    or a.source.overlaps(b.destination)
                    or a.destination.overlaps(b.destination)
                )
                assert not conflict or earlier in over
