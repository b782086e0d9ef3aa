"""JAX's own primitive tests: our results against XLA:CPU's, one case in sixteen of each primitive,
and all of them in the slow run."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance_suite.known_differences import JAX
from conformance_suite.report import SuiteResult
from conformance_suite.suites import run_harnesses

CASES = Path(__file__).resolve().parents[2] / "build" / "conformance"


def unexplained(result: SuiteResult) -> dict[str, str]:
    """Failures that no entry of the known differences explains."""
    return {
        f"{name} {result.titles[name]}": f"{answer['status']}: {answer.get('info')}"
        for name, answer in result.failures().items()
        if result.titles[name] not in JAX
    }


def test_sample_agrees_with_xla() -> None:
    result = run_harnesses(CASES, x64=False, every=16)
    assert len(result.by_primitive()) > 120
    assert unexplained(result) == {}


@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, True], ids=["x32", "x64"])
def test_all_agree_with_xla(x64: bool) -> None:
    result = run_harnesses(CASES, x64=x64)
    assert sum(result.case_statuses().values()) > 5000
    assert unexplained(result) == {}
