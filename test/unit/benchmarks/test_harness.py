"""How the benchmark programs are timed in turn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import harness


def test_runs_wait_for_the_threads_of_others_and_short_ones_wake_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    monkeypatch.setattr(harness.time, "sleep", lambda seconds: events.append("pause"))
    monkeypatch.setattr(harness, "MOST_RUNS", harness.FEWEST_RUNS)

    def runner(who: str, seconds: list[float]) -> harness.Timed:
        def run() -> float:
            events.append(who)
            return seconds[events.count(who) % len(seconds)]

        return run

    short = runner("short", [0.001, 0.002])  # the first of two takes 2 ms, the second 1
    times = harness.alternate({"short": short, "long": runner("long", [0.5])}, {})
    assert events[:5] == ["pause", "short", "short", "pause", "long"]
    assert times == {"short": [0.001] * 5, "long": [0.5] * 5}
