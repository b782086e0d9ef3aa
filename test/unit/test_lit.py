"""Runs lit, a folder of .mlir tests at a time, inside the one pytest run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
# Beside other tests, one at a time.
WORKERS = "1" if "PYTEST_XDIST_WORKER" in os.environ else "2"
LIT = "import sys; from lit.main import main; sys.exit(main())"


def lit_folders() -> list[str]:
    """The folders that hold .mlir tests, as paths from test/."""
    found = {
        path.parent.relative_to(TESTS)
        for path in TESTS.rglob("*.mlir")
        if "Inputs" not in path.parts
    }
    return sorted(str(folder) for folder in found)


@pytest.mark.parametrize("folder", lit_folders())
def test_lit(folder: str) -> None:
    files = sorted(str(path) for path in (TESTS / folder).glob("*.mlir"))
    command = [sys.executable, "-c", LIT, "-v", f"-j{WORKERS}", "--order=lexical", *files]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
