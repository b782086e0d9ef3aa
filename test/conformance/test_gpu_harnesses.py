"""JAX's primitive tests on the emulated GPUs: PTX interpreted, in search of races, and fibers."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance_suite.known_differences import JAX
from conformance_suite.report import SuiteResult
from conformance_suite.suites import run_harnesses
from conformance_suite.worker import ASSEMBLE, EMULATOR, TARGET

from hlo.gpu.ptxas import find_ptxas

CASES = Path(__file__).resolve().parents[2] / "build" / "conformance"
PTX = {TARGET: "nvptx:sm_80"}
FIBERS = {TARGET: "nvptx:sm_90", EMULATOR: "fibers"}


def unexplained(result: SuiteResult) -> dict[str, str]:
    """Failures that no entry of the known differences explains."""
    return {
        f"{name} {result.titles[name]}": f"{answer['status']}: {answer.get('info')}"
        for name, answer in result.failures().items()
        if result.titles[name] not in JAX
    }


@pytest.mark.parametrize("device", [PTX, FIBERS], ids=["ptx", "fibers"])
def test_a_sample_agrees_with_xla(device: dict[str, str]) -> None:
    result = run_harnesses(CASES, x64=False, every=16, sample=9, environment=device)
    assert len(result.answers) > 20
    assert unexplained(result) == {}


@pytest.mark.slow
def test_a_third_agrees_with_xla_and_assembles() -> None:
    assert find_ptxas() is not None
    chips = {ASSEMBLE: "sm_80,sm_90"}
    result = run_harnesses(CASES, x64=False, sample=3, environment={**PTX, **chips})
    assert len(result.answers) > 800
    assert unexplained(result) == {}


@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, True], ids=["x32", "x64"])
def test_fibers_agree_with_xla(x64: bool) -> None:
    result = run_harnesses(CASES, x64=x64, sample=2, environment=FIBERS)
    assert len(result.answers) > 1200
    assert unexplained(result) == {}
