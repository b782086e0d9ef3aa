"""The programs of the benchmarks, whole, beside XLA: what kernels get only among one another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "benchmarks" / "programs", ROOT.parent / "shared" / "programs")
PROGRAMS = {
    path.stem: path.with_suffix(".mlir") for folder in FOLDERS for path in folder.glob("*.json")
    if path.with_suffix(".mlir").exists()
}  # fmt: skip
# A long sum, training of a transformer and of a convolution network, products with computed
# operands.
QUICK = ("seed_demo", "gpt_train", "cnn_train", "gnn_train")
# One element in 17 millions is ill-conditioned, and found to be so or not by chance.
CHANCE = {"lm_train_remat": 1}


def cases() -> list[object]:
    return [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(PROGRAMS)
    ]


@pytest.mark.parametrize("name", cases())
def test_a_program_gives_the_results_of_xla(name: str) -> None:
    """In a process of its own: what overruns memory ends it."""
    program = PROGRAMS[name]
    specification = program.with_suffix(".json")
    run = subprocess.run(
        [sys.executable, "-m", "hlo.tools.hlo_run", str(program), f"--spec={specification}",
         "--check=jax", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1) and run.stdout, run.stderr
    assert json.loads(run.stdout)["mismatches"] <= CHANCE.get(name, 0), run.stderr
