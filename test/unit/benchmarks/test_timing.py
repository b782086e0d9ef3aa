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


def test_runs_take_turns_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    now = iter(range(1000))

    def clock() -> float:
        order.append("clock")
        return float(next(now))

    pauses: list[float] = []
    monkeypatch.setattr(timing.time, "sleep", pauses.append)
    runs = [lambda: order.append("first"), lambda: order.append("second")]
    seconds = timing.time_in_turn(runs, clock, rounds=3)
    assert all(0 < s <= 1 for s in seconds)  # the clock moves by one a sample
    clocks = [at for at, name in enumerate(order) if name == "clock"]
    assert len(clocks) == 12  # 2 runs x 3 rounds, before and after
    for turn, (start, end) in enumerate(zip(clocks[::2], clocks[1::2], strict=True)):
        name = ("first", "second")[turn % 2]
        assert set(order[start + 1 : end]) == {name}
        assert order[start - 1] == name  # it was warm
    assert pauses == [timing.PAUSE_SECONDS] * 6


def test_torch_may_come_from_the_environment_of_the_peers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "peers" not in entry])
    monkeypatch.setitem(sys.modules, "torch", None)  # so that the import below is undone
    del sys.modules["torch"]
    monkeypatch.setattr(timing.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PEERS", str(tmp_path))
    assert timing.torch_of(2) is None
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    package = tmp_path / "lib" / version / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "threads = []\ndef set_num_threads(count):\n    threads.append(count)\n"
    )
    torch = timing.torch_of(2)
    assert torch is not None
    assert torch.threads == [2]
    assert sys.path[-1] == str(package.parent)  # last: this environment's packages win
