"""The micro-benchmarks are what jax takes, each under a name of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from micro_cases import Case, cases
from micro_model_cases import model_cases
from micro_numeric_cases import numeric_cases
from micro_table_cases import table_cases

SMALL = (*model_cases(), *table_cases(), *numeric_cases())


def test_names_are_distinct() -> None:
    names = [case.name for case in (*cases(), *SMALL)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_jax_takes_it(case: Case) -> None:
    arguments = [jnp.asarray(a) for a in case.arguments()]
    jax.eval_shape(lambda *a: case.function(jax, *a), *arguments)
