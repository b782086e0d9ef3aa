"""What the micro-benchmarks share."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import timing


def test_patterns_choose_by_part_of_a_name() -> None:
    assert timing.is_chosen("sum of rows 128x128", [])
    assert timing.is_chosen("sum of rows 128x128", ["gather", "rows*128"])
    assert not timing.is_chosen("sum of rows 128x128", ["columns"])


def test_means() -> None:
    assert timing.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)  # sqrt(2 * 8)
    assert math.isnan(timing.geometric_mean([]))


def test_processor_time_is_that_of_one_thread() -> None:
    processors = os.sched_getaffinity(0)
    try:
        args = timing.parser("A tool.\n\nMore.").parse_args(["--cpu-time", "--threads=4"])
        clock = timing.clock_of(args)
        assert timing.threads_of(args) == len(os.sched_getaffinity(0)) == 1
        assert timing.counted(args) == "processor time of one thread"
        assert clock() <= clock()
    finally:
        os.sched_setaffinity(0, processors)


def test_runs_take_turns() -> None:
    order: list[str] = []
    now = iter(range(1000))

    def clock() -> float:
        order.append("clock")
        return float(next(now))

    runs = [lambda: order.append("first"), lambda: order.append("second")]
    seconds = timing.time_in_turn(runs, clock, rounds=3)
    assert all(0 < s <= 1 for s in seconds)  # the clock moves by one a sample
    timed = order[order.index("clock") :]
    turns = [name for at, name in enumerate(timed) if name != "clock" and timed[at - 1] == "clock"]
    assert turns == ["first", "second"] * 3
