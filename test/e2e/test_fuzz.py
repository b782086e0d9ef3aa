"""Random programs over the operations and dtypes: compiled either way, they match the reference."""

from __future__ import annotations

import numpy as np
import pytest
from fuzzing import differences
from fuzzing.differences import check_seeds, mismatches, reduced
from fuzzing.programs import Grower, Value
from isolation import isolated

STEPS = 12
BLOCK = 10


def check(first: int) -> None:
    """Checks a block of seeds, in a process of its own; a block that aborts, one by one."""
    outcome = isolated(check_seeds, range(first, first + BLOCK), STEPS)
    if outcome.aborted or outcome.error:
        alone = {seed: isolated(check_seeds, [seed], STEPS) for seed in range(first, first + BLOCK)}
        bad = {s: o.message for s, o in alone.items() if o.aborted or o.error}
        assert bad == {}
    assert not outcome.value, "\n\n".join(outcome.value)


@pytest.mark.parametrize("block", range(20))
def test_programs(block: int) -> None:
    check(block * BLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(200))
def test_many_programs(block: int) -> None:
    check(10_000 + block * BLOCK)


def test_a_wrong_element_is_found() -> None:
    expected = np.array([1.0, np.nan, 0.0], np.float32)
    exact, loose = Value("%v1", (3,), "f32"), Value("%v1", (3,), "f32", exact=False)
    near = expected * np.float32(1 + 2**-22)
    assert mismatches(exact, expected.copy(), expected) == ""
    assert "at (0,)" in mismatches(exact, near, expected)
    assert mismatches(loose, near, expected) == ""
    assert "at (1,)" in mismatches(loose, np.array([1, 2, 0], np.float32), expected)


def test_failing_programs_are_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    program = next(
        p for p in (Grower(seed, 20).program for seed in range(50)) if p.text.count("hlo.sort") == 1
    )
    monkeypatch.setattr(
        differences, "difference", lambda p: "wrong" if "hlo.sort" in p.text else ""
    )
    small = reduced(program)
    assert "hlo.sort" in small.text
    assert len(small.steps) < min(len(program.steps), 4)
