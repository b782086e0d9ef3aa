"""Random programs over the operations and dtypes: compiled either way, they match the reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fuzzing import differences
from fuzzing.differences import check_programs, check_seeds, mismatches, reduced
from fuzzing.foldings import float_sort
from fuzzing.makers import MAKERS
from fuzzing.programs import Grower, Maker, Value
from isolation import isolated

import hlo_native._hlo_ops_gen as generated

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


def operation_names() -> set[str]:
    """Of every operation of the dialect."""
    classes = vars(generated).values()
    return {c.OPERATION_NAME for c in classes if hasattr(c, "OPERATION_NAME")}


@pytest.mark.parametrize("block", range(20))
def test_programs(block: int) -> None:
    check(block * BLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(200))
def test_many_programs(block: int) -> None:
    check(10_000 + block * BLOCK)


# What programs are not grown with: values from outside, and what has no single right result.
NOT_GROWN = {
    "hlo.infeed", "hlo.outfeed", "hlo.send", "hlo.recv",  # the world outside
    "hlo.custom_call",  # the target says what it means
    "hlo.rng",  # any numbers of the distribution
    "hlo.fusion", "hlo._asin_acos_kernel",  # made by passes
    "hlo.set_dimension_size",  # of a bounded type, which no result may have
    "hlo.return", "hlo.constant",  # in regions, and with dynamic shapes
}  # fmt: skip


def test_every_operation_is_grown() -> None:
    """Each maker alone: together they make every operation of the dialect."""
    grown: set[str] = set()
    for maker in dict.fromkeys(MAKERS):
        for seed in range(60):
            grown |= set(re.findall(r"hlo\.[a-z_0-9-]+", Grower(seed, 2, [maker]).program.text))
    assert operation_names() - grown == NOT_GROWN - grown


@pytest.mark.parametrize("maker", dict.fromkeys(MAKERS), ids=lambda m: m.__name__)
def test_each_operation(maker: Maker) -> None:
    """Short programs of one maker, so that rare operations are met in every run."""
    outcome = isolated(check_programs, [Grower(seed, 2, [maker]).program for seed in range(4)])
    assert not outcome.aborted and not outcome.error, outcome.message
    assert not outcome.value, "\n\n".join(outcome.value)


def test_a_wrong_element_is_found() -> None:
    expected = np.array([1.0, np.nan, 0.0], np.float32)
    exact, loose = Value("%v1", (3,), "f32"), Value("%v1", (3,), "f32", exact=False)
    near = expected * np.float32(1 + 2**-22)
    assert mismatches(exact, expected.copy(), expected) == ""
    assert "at (0,)" in mismatches(exact, near, expected)
    assert mismatches(loose, near, expected) == ""
    assert "at (1,)" in mismatches(loose, np.array([1, 2, 0], np.float32), expected)


def test_total_order_meets_one_nan() -> None:
    """The sign of those that operations make, as a remainder by -0, is nobody's promise."""

    def nan(g: Grower) -> None:
        x = g.pick(lambda v: v.kind == "f32" and v.exact)
        if x is not None:
            g.emit("remainder", [x, x], (x.shape, x.kind))

    sorts = 0
    for seed in range(40):
        made: dict[str, str] = {}
        for step in Grower(seed, 6, [nan, float_sort]).program.steps:
            found = re.search(r'"hlo.sort"\((%\w+)', step.text)
            if found and made.get(found[1]) is not None:
                assert "hlo.select" in made[found[1]], step.text
                sorts += 1
            made |= {result.name: step.text for result in step.results}
    assert sorts > 10


def test_failing_programs_are_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    program = next(
        p for p in (Grower(seed, 20).program for seed in range(50)) if p.text.count("hlo.sort") == 1
    )
    monkeypatch.setattr(
        differences, "difference", lambda text, *_: "wrong" if "hlo.sort" in text else ""
    )
    small = reduced(program)
    assert "hlo.sort" in small.text
    assert small.operations < min(len(program.steps), 4)
