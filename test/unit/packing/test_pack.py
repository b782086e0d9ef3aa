"""`pack`: small problems with known answers, degenerate problems, arguments."""

from __future__ import annotations

import numpy as np
import pytest

from hlo.diagnostics import ArgumentError
from hlo.passes.memory.packing import (
    Buffer,
    InvalidBufferError,
    Placement,
    check_placement,
    lower_bound,
    pack,
)

STRATEGIES = ("auto", "greedy", "search")

# The example of MiniMalloc's documentation.
EXAMPLE = [
    Buffer("b1", 0, 3, 4),
    Buffer("b2", 3, 9, 4),
    Buffer("b3", 0, 9, 4),
    Buffer("b4", 9, 21, 4),
    Buffer("b5", 0, 21, 4),
]


def packed(buffers: list[Buffer], **options: object) -> Placement:
    placement = pack(buffers, **options)  # type: ignore[arg-type]
    check_placement(buffers, placement)
    assert placement.bound >= lower_bound(buffers)
    assert placement.height >= placement.bound
    return placement


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_to_place(strategy: str) -> None:
    assert packed([], strategy=strategy) == Placement({}, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_buffer_lies_at_zero(strategy: str) -> None:
    assert packed([Buffer("a", 3, 4, 100, 64)], strategy=strategy) == Placement({"a": 0}, 100)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_buffers_apart_in_time_share_their_bytes(strategy: str) -> None:
    # b starts at the moment a ends
    placement = packed([Buffer("a", 0, 2, 48), Buffer("b", 2, 4, 64)], strategy=strategy)
    assert placement == Placement({"a": 0, "b": 0}, 64)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_example_meets_its_bound(strategy: str) -> None:
    placement = packed(EXAMPLE, strategy=strategy)
    assert placement.height == placement.bound == 12  # b1, b3, b5 live together


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_chain_takes_two_buffers(strategy: str) -> None:
    gigabyte = 2**30
    chain = [Buffer(i, i, i + 2, gigabyte, 64) for i in range(20)]
    placement = packed(chain, strategy=strategy)
    assert placement.height == placement.bound == 2 * gigabyte


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_empty_buffers_take_no_room(strategy: str) -> None:
    buffers = [Buffer("a", 0, 5, 0, 64), Buffer("b", 0, 5, 8), Buffer("c", 1, 2, 0)]
    assert packed(buffers, strategy=strategy) == Placement({"a": 0, "b": 0, "c": 0}, 8)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_buffers_of_no_time_only_need_the_arena_to_hold_them(strategy: str) -> None:
    buffers = [Buffer("a", 3, 3, 500), Buffer("b", 0, 5, 8), Buffer("c", 3, 3, 100)]
    placement = packed(buffers, strategy=strategy)
    assert placement == Placement({"a": 0, "b": 0, "c": 0}, 500)
    assert placement.bound == 500
    assert packed([buffers[0]], strategy=strategy) == Placement({"a": 0}, 500)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_alignment_pads_all_but_the_top(strategy: str) -> None:
    placement = packed([Buffer(i, 0, 1, 100, 64) for i in range(3)], strategy=strategy)
    assert sorted(placement.offsets.values()) == [0, 128, 256]  # 128 (100 aligned to 64)
    assert placement.height == placement.bound == 356  # 256 + 100


def test_alignments_may_differ_and_need_not_be_powers_of_two() -> None:
    buffers = [Buffer("a", 0, 1, 7, 6), Buffer("b", 0, 1, 5, 10), Buffer("c", 0, 1, 3, 4)]
    # All offsets are even: 8 + 6 + 4 - 1 (the top is not padded). No order of the three gets there:
    # b at 0, a at 6 (5 aligned to 6), c at 16 (13 aligned to 4), which ends at 19, is best.
    assert lower_bound(buffers) == 17
    placement = packed(buffers, strategy="search")
    assert placement.height == placement.bound == 19


def test_a_result_without_a_time_budget_is_reproducible() -> None:
    buffers = [Buffer(i, i * 7 % 31, i * 7 % 31 + 1 + i % 9, 64 + i * 37 % 500) for i in range(90)]
    assert packed(buffers) == packed(list(buffers))


def test_offsets_do_not_depend_on_ids_or_on_the_unit_of_time() -> None:
    renamed = [Buffer(f"x{b.id}", 1000 * b.start, 1000 * b.end, b.size) for b in EXAMPLE]
    assert list(packed(renamed).offsets.values()) == list(packed(EXAMPLE).offsets.values())


def test_a_time_budget_that_no_rule_meets() -> None:
    """8 million pairs live together: what takes n log n steps is done in any case."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 1000, 4000).tolist()
    buffers = [Buffer(i, i, i + 8000, size) for i, size in enumerate(sizes)]
    assert packed(buffers, time_budget_s=1e-6).method == "as allocated"


def test_a_capacity_ends_the_search() -> None:
    placement = packed(EXAMPLE, capacity=1000)
    assert placement.height <= 1000


def test_a_capacity_below_the_bound_gives_the_lowest_placement() -> None:
    assert packed(EXAMPLE, capacity=11).height == 12


def test_search_proves_that_the_bound_cannot_be_met() -> None:
    # Five bytes are live at each moment, but each order of first fit ends at six or more.
    buffers = [
        Buffer("a", 0, 1, 3),
        Buffer("b", 0, 2, 2),
        Buffer("c", 1, 3, 1),
        Buffer("d", 1, 4, 2),
        Buffer("e", 2, 4, 1),
        Buffer("f", 3, 5, 2),
        Buffer("g", 4, 5, 3),
    ]
    assert lower_bound(buffers) == 5
    placement = packed(buffers, strategy="search")
    assert placement.height == placement.bound == 6


def test_huge_sizes() -> None:
    buffers = [Buffer(i, 0, 1, 2**60) for i in range(3)]
    assert packed(buffers).height == 3 * 2**60


@pytest.mark.parametrize(
    ("buffers", "message"),
    [
        ([Buffer("a", 2, 1, 8)], r"buffer a is live in \[2, 1\)"),
        ([Buffer("a", 0, 1, -8)], "buffer a has -8 bytes"),
        ([Buffer("a", 0, 1, 8, 0)], "buffer a has alignment 0"),
        ([Buffer("a", 0, 1, 8), Buffer("a", 0, 1, 8)], "two buffers have the id a"),
        ([Buffer("a", 0, 1, 2**62)], r"expected less than 2\*\*62"),
        ([Buffer("a", 0, 2**62, 8)], "does not fit 63 bits"),
    ],
)
def test_what_is_no_problem_is_refused(buffers: list[Buffer], message: str) -> None:
    with pytest.raises(InvalidBufferError, match=message):
        pack(buffers)
    with pytest.raises(InvalidBufferError, match=message):
        lower_bound(buffers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": -1}, "capacity is -1"),
        ({"time_budget_s": -0.5}, "time_budget_s is -0.5"),
        ({"time_budget_s": float("nan")}, "time_budget_s is nan"),
        ({"strategy": "best"}, "strategy is 'best'"),
    ],
)
def test_meaningless_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pack(EXAMPLE, **options)  # type: ignore[arg-type]
