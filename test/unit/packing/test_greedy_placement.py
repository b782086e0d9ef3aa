"""Greedy placement: known answers, and the Python and the native loop against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo.passes.memory.packing import Buffer, check_placement
from hlo.passes.memory.packing.columns import Columns
from hlo.passes.memory.packing.greedy import (
    GREEDY_RULES,
    GreedyRule,
    place_as_allocated,
    place_few,
    place_in_order,
)
from hlo.passes.memory.packing.model import Placement
from hlo_native import _packing

# At moment 1 the gaps are [0, 10), [20, 24) and all above 30.
AROUND_GAPS = [
    Buffer("below", 0, 1, 10),
    Buffer("first", 0, 2, 10),
    Buffer("between", 0, 1, 4),
    Buffer("second", 0, 2, 6),
]


def place(buffers: list[Buffer], *, best_fit: bool) -> list[int]:
    """In the order they are listed in."""
    columns = Columns.of(buffers)
    order = np.arange(len(buffers), dtype=np.int32)
    few = place_few(columns, order.tolist(), best_fit=best_fit).tolist()
    many = _packing.place_in_order(
        columns.start, columns.end, columns.size, columns.alignment, order, best_fit=best_fit
    ).tolist()
    assert few == many
    return few


def test_first_fit_takes_the_lowest_gap() -> None:
    offsets = place([*AROUND_GAPS, Buffer("new", 1, 2, 4)], best_fit=False)
    assert offsets == [0, 10, 20, 24, 0]


def test_best_fit_takes_the_smallest_gap() -> None:
    offsets = place([*AROUND_GAPS, Buffer("new", 1, 2, 4)], best_fit=True)
    assert offsets == [0, 10, 20, 24, 20]


def test_of_equal_gaps_the_lowest_is_taken() -> None:
    offsets = place([*AROUND_GAPS, Buffer("x", 1, 2, 6), Buffer("new", 1, 2, 4)], best_fit=True)
    assert offsets == [0, 10, 20, 24, 0, 6]


def test_a_gap_must_hold_the_aligned_buffer() -> None:
    # [20, 24) holds 4 bytes, but none of them begins at a multiple of 8; [0, 10) does.
    offsets = place([*AROUND_GAPS, Buffer("new", 1, 2, 4, 8)], best_fit=True)
    assert offsets[-1] == 0
    offsets = place([*AROUND_GAPS, Buffer("x", 1, 2, 6), Buffer("new", 1, 2, 4, 8)], best_fit=True)
    assert offsets[-1] == 32  # 30 aligned to 8


@st.composite
def problems(draw: st.DrawFn) -> list[Buffer]:
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 60),
                st.integers(1, 20),
                st.integers(1, 50),
                st.sampled_from([1, 1, 2, 3, 8, 16]),
            ),
            min_size=1,
            max_size=120,
        )
    )
    return [
        Buffer(i, start, start + length, size, alignment)
        for i, (start, length, size, alignment) in enumerate(rows)
    ]


@given(problems(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_native_loop_places_as_the_python_one(buffers: list[Buffer], best_fit: bool) -> None:
    place(buffers, best_fit=best_fit)


def test_long_lists_of_placed_buffers_stay_in_order() -> None:
    """2,000 buffers live together: lists are kept in blocks of at most 512."""
    rng = np.random.default_rng(0)
    rows = zip(*(rng.integers(1, top, 2000).tolist() for top in (40, 60, 50)), strict=True)
    buffers = [Buffer(i, start, start + 20, size, a) for i, (start, size, a) in enumerate(rows)]
    for best_fit in (False, True):
        place(buffers, best_fit=best_fit)


def test_an_allocator_takes_the_smallest_gap_and_joins_what_ends() -> None:
    buffers = [
        Buffer("a", 0, 9, 10),
        Buffer("b", 0, 1, 8),
        Buffer("c", 0, 9, 10),
        Buffer("d", 0, 2, 4),
        Buffer("e", 0, 3, 6),
        Buffer("f", 0, 9, 1),
        Buffer("in d", 2, 3, 2),  # 4 bytes at 28 are free, and 8 at 10
        Buffer("in d and e", 3, 9, 10),
        Buffer("aligned", 3, 9, 4, 7),  # of 8 bytes at 10 those from 14
    ]
    columns = Columns.of(buffers)
    order = np.arange(len(buffers), dtype=np.int32)
    offsets = _packing.place_as_allocated(
        columns.start, columns.end, columns.size, columns.alignment, order
    )
    assert offsets.tolist() == [0, 10, 18, 28, 32, 38, 28, 28, 14]
    with pytest.raises(ValueError, match="not that of the starts"):
        _packing.place_as_allocated(
            columns.start, columns.end, columns.size, columns.alignment, order[::-1].copy()
        )


@given(buffers=problems())
@settings(max_examples=100, deadline=None)
def test_an_allocator_gives_a_placement(buffers: list[Buffer]) -> None:
    columns = Columns.of(buffers)
    offsets = place_as_allocated(columns)
    height = int((offsets + columns.size).max())
    placement = Placement(
        {b.id: int(o) for b, o in zip(buffers, offsets, strict=True)}, height, 0, "as allocated"
    )
    check_placement(buffers, placement)


def test_no_time_places_nothing() -> None:
    columns = Columns.of([Buffer(i, i, i + 2, 1) for i in range(100)])
    order = np.arange(100, dtype=np.int32)
    assert place_in_order(columns, order, best_fit=True, seconds=1e-9).size == 0
    assert place_in_order(columns, order, best_fit=True, seconds=60.0).size == 100


@pytest.mark.parametrize("rule", GREEDY_RULES, ids=lambda rule: rule.name)
@given(buffers=problems())
@settings(max_examples=15, deadline=None)
def test_each_rule_gives_a_placement(rule: GreedyRule, buffers: list[Buffer]) -> None:
    columns = Columns.of(buffers)
    order = rule.order(columns)
    assert sorted(order.tolist()) == list(range(len(buffers)))
    offsets = _packing.place_in_order(
        columns.start, columns.end, columns.size, columns.alignment, order, best_fit=rule.best_fit
    )
    height = int((offsets + columns.size).max())
    by_id = dict(zip((b.id for b in buffers), offsets.tolist(), strict=True))
    check_placement(buffers, Placement(by_id, height))


def test_many_buffers_across_all_nodes_of_the_time_index() -> None:
    random = np.random.default_rng(3)
    start = random.integers(0, 100_000, 3000)
    length = np.where(random.random(3000) < 0.9, random.integers(1, 300, 3000), 60_000)
    size = random.integers(1, 1000, 3000)
    buffers = [
        Buffer(i, s, s + t, z)
        for i, (s, t, z) in enumerate(
            zip(start.tolist(), length.tolist(), size.tolist(), strict=True)
        )
    ]
    place(buffers, best_fit=True)


def test_the_native_loop_checks_what_it_is_given() -> None:
    column = np.array([1, 2], np.int64)
    order = np.array([0, 0], np.int32)
    with pytest.raises(ValueError, match="not a permutation"):
        _packing.place_in_order(column, column + 1, column, column, order, best_fit=True)
    with pytest.raises(ValueError, match="differ in length"):
        _packing.place_in_order(column, column[:1] + 1, column, column, order, best_fit=True)
    with pytest.raises(ValueError, match="expected start < end"):
        _packing.search(column, column, column, column, capacity=10, steps=10)
