"""The programs of the benchmarks, whole, beside XLA: what kernels get only among one another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parents[3] / "shared" / "programs"
MISSING = pytest.mark.skip(reason=f"the benchmark programs are not in {PROGRAMS}")
# Training of a transformer and of a convolution network, and products with computed operands.
QUICK = ("gpt_train", "cnn_train", "gnn_train")
# One element in 17 millions is ill-conditioned, and found to be so or not by chance.
CHANCE = {"lm_train_remat": 1}


def names() -> list[object]:
    found = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))
    slow = [pytest.param(name, marks=pytest.mark.slow) for name in found if name not in QUICK]
    quick = [name for name in found if name in QUICK]
    return [*quick, *slow] or [pytest.param("none", marks=MISSING)]


@pytest.mark.parametrize("name", names())
def test_a_program_gives_the_results_of_xla(name: str) -> None:
    """In a process of its own: what overruns memory ends it."""
    program, specification = PROGRAMS / f"{name}.mlir", PROGRAMS / f"{name}.json"
    run = subprocess.run(
        [sys.executable, "-m", "hlo.tools.hlo_run", str(program), f"--spec={specification}",
         "--check=jax", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1) and run.stdout, run.stderr
    assert json.loads(run.stdout)["mismatches"] <= CHANCE.get(name, 0), run.stderr
