"""Random programs over the operations and dtypes: compiled either way, they match the reference."""

from __future__ import annotations

import pytest
from fuzzing.differences import check_seeds
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
