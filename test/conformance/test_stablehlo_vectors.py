"""StableHLO's own tests, each with its own check."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance_suite.known_differences import STABLEHLO
from conformance_suite.suites import run_vectors


@pytest.mark.parametrize(("suite", "cases"), [("v_interp", 462), ("v_math", 45)])
def test_vectors(suite: str, cases: int, tmp_path: Path) -> None:
    result = run_vectors(tmp_path, suite)
    wrong = {n: a for n, a in result.answers.items() if a["status"] != "pass"}
    assert len(result.answers) == cases
    assert {n: a for n, a in wrong.items() if n not in STABLEHLO} == {}
    out_of_date = {n for n in STABLEHLO if n in result.answers and n not in wrong}
    assert out_of_date == set()
