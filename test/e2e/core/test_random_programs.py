"""Random programs compiled natively, against the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import assert_matches
from random_programs import RandomProgram

import hlo
from hlo import ir
from hlo.reference.evaluate import evaluate


@pytest.mark.parametrize("seed", range(30))
def test_integers(seed: int) -> None:
    program = RandomProgram(seed, "i32")
    assert_matches(program.text, program.arguments)


@pytest.mark.parametrize("seed", range(100, 120))
def test_floats(seed: int) -> None:
    program = RandomProgram(seed, "f32")
    assert_matches(program.text, program.arguments, ulps=256)


@pytest.mark.parametrize("seed", range(200, 215))
def test_donated_arguments(seed: int) -> None:
    program = RandomProgram(seed, "i32")
    arguments = [a.copy() for a in program.arguments]
    expected = evaluate(ir.parse_module(program.text), program.arguments)
    found = hlo.compile(program.text, donate=(0, 1, 2), threads=1 + seed % 2)(*arguments)
    for want, got in zip(expected, found, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["i32", "f32", "f64", "i8"])
@pytest.mark.parametrize("block", range(10))
def test_many(kind: str, block: int) -> None:
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        program = RandomProgram(seed, kind, ops=40)
        assert_matches(program.text, program.arguments, ulps=256)
