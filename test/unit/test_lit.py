"""Runs lit, a folder of .mlir tests at a time, inside the one pytest run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

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


@pytest.fixture(scope="module")
def tool_server() -> Iterator[str]:
    """The socket of a process that runs tools."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "socket")
        command = [sys.executable, str(TESTS / "tool_server.py"), path]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        ) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "listening\n"
            yield path


@pytest.mark.parametrize("folder", lit_folders())
def test_lit(folder: str, tool_server: str) -> None:
    files = sorted(str(path) for path in (TESTS / folder).glob("*.mlir"))
    command = [sys.executable, "-c", LIT, "-v", f"-j{WORKERS}", "--order=lexical", *files]
    environment = {**os.environ, "LIT_TOOL_SERVER": tool_server}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert finished.returncode == 0, finished.stdout + finished.stderr
