"""Random problems: every placement passes the validator, and proofs agree with enumeration."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo.passes.memory.packing import Buffer, Strategy, check_placement, lower_bound, pack

STRATEGIES: tuple[Strategy, ...] = ("auto", "greedy", "search")


def buffer_lists(max_size: int, moments: int, bytes_: int) -> st.SearchStrategy[list[Buffer]]:
    row = st.tuples(
        st.integers(0, moments),
        st.integers(0, moments // 2),
        st.integers(0, bytes_),
        st.sampled_from([1, 1, 1, 2, 4, 6]),
    )
    return st.lists(row, max_size=max_size).map(
        lambda rows: [
            Buffer(i, start, start + length, size, alignment)
            for i, (start, length, size, alignment) in enumerate(rows)
        ]
    )


def optimum(buffers: Sequence[Buffer]) -> int:
    """The least height: that of first fit in the best order (an optimum in which no buffer can
    move down is first fit by offset)."""
    return min(_first_fit(order) for order in itertools.permutations(buffers))


def _first_fit(order: Sequence[Buffer]) -> int:
    placed: list[tuple[int, Buffer]] = []
    for buffer in order:
        offset = 0
        for other_offset, other in sorted(placed, key=lambda entry: entry[0]):
            if other.start >= buffer.end or buffer.start >= other.end or other.size == 0:
                continue
            if buffer.size == 0 or other.start == other.end or buffer.start == buffer.end:
                continue
            if offset + buffer.size <= other_offset:
                break
            aligned = -(-(other_offset + other.size) // buffer.alignment) * buffer.alignment
            offset = max(offset, aligned)
        placed.append((offset, buffer))
    return max((offset + buffer.size for offset, buffer in placed), default=0)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(buffers=buffer_lists(max_size=60, moments=40, bytes_=300))
@settings(max_examples=60, deadline=None)
def test_placements_are_valid(strategy: Strategy, buffers: list[Buffer]) -> None:
    placement = pack(buffers, strategy=strategy)
    check_placement(buffers, placement)
    assert lower_bound(buffers) <= placement.bound <= placement.height


@given(buffers=buffer_lists(max_size=60, moments=40, bytes_=300), share=st.floats(0.5, 2))
@settings(max_examples=60, deadline=None)
def test_placements_with_a_capacity_are_valid(buffers: list[Buffer], share: float) -> None:
    capacity = int(lower_bound(buffers) * share)
    placement = pack(buffers, capacity=capacity)
    check_placement(buffers, placement)
    if placement.bound > capacity:
        assert placement.height > capacity


@given(buffers=buffer_lists(max_size=6, moments=6, bytes_=4))
@settings(max_examples=150, deadline=None)
def test_few_buffers_are_placed_and_proved_as_enumeration_says(buffers: list[Buffer]) -> None:
    placement = pack(buffers, strategy="search", time_budget_s=5.0)
    check_placement(buffers, placement)
    assert placement.height == placement.bound == optimum(buffers)


def full_problem(seed: int) -> list[Buffer]:
    """At each moment every byte of a small arena is used, so that little room is left for luck."""
    rng = random.Random(seed)
    capacity, moments = rng.randint(4, 7), rng.randint(3, 5)
    live: list[tuple[int, int]] = []  # (start, size)
    done: list[tuple[int, int, int]] = []  # (start, end, size)
    for moment in range(moments):
        for entry in [entry for entry in live if rng.random() < 0.5]:
            live.remove(entry)
            if entry[0] < moment:
                done.append((entry[0], moment, entry[1]))
        room = capacity - sum(size for _, size in live)
        while room > 0:
            live.append((moment, rng.randint(1, min(room, 3))))
            room -= live[-1][1]
    done += [(start, moments, size) for start, size in live]
    return [Buffer(i, *row) for i, row in enumerate(done)]


def test_full_arenas_are_decided_as_enumeration_says() -> None:
    decided = [b for b in map(full_problem, range(4000)) if len(b) == 7][:25]
    # Seed 24612 of a longer run, made smaller: a problem that does not meet its bound.
    rows = [(0, 1, 3), (0, 2, 2), (1, 3, 1), (1, 4, 2), (2, 4, 1), (3, 5, 2), (4, 5, 3)]
    decided.append([Buffer(i, *row) for i, row in enumerate(rows)])
    for buffers in decided:
        placement = pack(buffers, strategy="search", time_budget_s=5.0)
        check_placement(buffers, placement)
        assert placement.height == placement.bound == optimum(buffers)


def test_any_tiling_of_an_arena_is_found_again() -> None:
    """Cutting an arena into rectangles makes problems that meet their bound by construction."""
    for seed in range(40):
        rng = random.Random(seed)
        pieces = [(0, 64, 0, 1024)]
        while len(pieces) < 60:
            start, end, low, high = pieces.pop(rng.randrange(len(pieces)))
            if end - start > 1 and (rng.random() < 0.5 or high - low == 1):
                cut = rng.randint(start + 1, end - 1)
                pieces += [(start, cut, low, high), (cut, end, low, high)]
            elif high - low > 1:
                cut = rng.randint(low + 1, high - 1)
                pieces += [(start, end, low, cut), (start, end, cut, high)]
            else:
                pieces.append((start, end, low, high))
        rng.shuffle(pieces)
        buffers = [Buffer(i, s, e, high - low) for i, (s, e, low, high) in enumerate(pieces)]
        placement = pack(buffers, capacity=1024, time_budget_s=10.0)
        check_placement(buffers, placement, capacity=1024)
