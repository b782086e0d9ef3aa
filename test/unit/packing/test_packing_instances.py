"""MiniMalloc's public instances A to K: all placed within the published capacity."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo.passes.memory.packing import Buffer, check_placement, lower_bound, pack
from hlo.passes.memory.packing.instance_csv import read_buffers

CAPACITY = 1_048_576
INSTANCES = Path(__file__).parent / "instances"

# (buffers, lower bound): shared by all who use these instances
PUBLISHED = {
    "A": (154, 1048576),
    "B": (170, 1048576),
    "C": (203, 1039360),
    "D": (213, 986112),
    "E": (215, 1048576),
    "F": (296, 1048576),
    "G": (308, 1048576),
    "H": (316, 1048576),
    "I": (374, 1048576),
    "J": (409, 989184),
    "K": (454, 1048576),
}


def load(name: str) -> list[Buffer]:
    path = INSTANCES / f"{name}.{CAPACITY}.csv"
    return read_buffers(path.read_bytes(), path.name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_bound_is_the_published_one(name: str) -> None:
    buffers = load(name)
    assert (len(buffers), lower_bound(buffers)) == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_is_placed_within_the_capacity(name: str) -> None:
    # Takes some tens of milliseconds; the budget is for machines that are busy with other things.
    buffers = load(name)
    placement = pack(buffers, capacity=CAPACITY, time_budget_s=20.0)
    check_placement(buffers, placement, capacity=CAPACITY)
