"""Buffers moved out of the arena into memory that is written late."""

from __future__ import annotations

import random

from hlo.passes.memory.packing import Buffer, Lender, borrow, check_placement, lower_bound, pack
from hlo.passes.memory.packing.model import Placement


def test_a_buffer_that_is_dead_in_time_is_lent_memory() -> None:
    buffers = [Buffer("a", 0, 2, 100, 64), Buffer("b", 1, 3, 80, 64)]
    loans = borrow(buffers, [Lender("r", 128, 2)])
    assert {name: (loan.lender, loan.offset) for name, loan in loans.items()} == {"a": ("r", 0)}


def test_a_buffer_that_lives_too_long_is_not() -> None:
    assert not borrow([Buffer("a", 0, 3, 100, 64)], [Lender("r", 128, 2)])


def test_a_buffer_that_is_too_large_is_not() -> None:
    assert not borrow([Buffer("a", 0, 2, 200, 64)], [Lender("r", 128, 2)])


def test_nothing_is_lent_if_the_arena_stays_as_high() -> None:
    # The peak, 300 bytes at step 5, is after the result is written.
    buffers = [Buffer("a", 0, 2, 100, 64), Buffer("b", 5, 6, 300, 64)]
    assert not borrow(buffers, [Lender("r", 128, 2)])


def test_loans_that_live_together_do_not_overlap() -> None:
    # Both fit at 0 and 64 (aligned): 64 + 40 = 104 of 128 bytes.
    buffers = [Buffer("a", 0, 4, 40, 64), Buffer("b", 1, 3, 40, 64), Buffer("c", 1, 3, 8, 8)]
    loans = borrow(buffers, [Lender("r", 128, 5)])
    assert loans["a"].offset == 0
    assert loans["b"].offset == 64
    assert loans["c"].offset == 40


def test_random_loans_are_placements_of_each_lender() -> None:
    source = random.Random(7)
    for _ in range(100):
        buffers: list[Buffer] = []
        for i in range(source.randrange(1, 60)):
            start = source.randrange(50)
            size = source.randrange(1, 5000)
            buffers.append(Buffer(str(i), start, start + source.randrange(1, 20), size, 64))
        lenders = [Lender(f"r{i}", source.randrange(1, 9000), source.randrange(70)) for i in (1, 2)]
        loans = borrow(buffers, lenders)
        kept = [b for b in buffers if b.id not in loans]
        if loans:
            assert lower_bound(kept) < lower_bound(buffers)
        check_placement(kept, pack(kept))
        for lender in lenders:
            lent = [b for b in buffers if b.id in loans and loans[b.id].lender == lender.id]
            offsets = {b.id: loans[b.id].offset for b in lent}
            height = max((offsets[b.id] + b.size for b in lent), default=0)
            assert height <= lender.size
            assert all(b.end <= lender.free_until for b in lent)
            check_placement(lent, Placement(offsets, height))
