"""The style and the structure of the source: what `make lint` checks, as tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOLS = Path(sys.executable).parent


def run(*command: str) -> None:
    """Runs one tool at the top of the repository; its report is the failure's message."""
    tool, *arguments = command
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [str(TOOLS / tool), *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    run("ruff", "check", "--quiet", ".")


def test_imports_follow_the_order_of_the_packages() -> None:
    run("lint-imports", "--config", "pyproject.toml")


@pytest.mark.slow
def test_python_is_formatted() -> None:
    run("ruff", "format", "--check", "--quiet", ".")


def test_cpp_is_formatted() -> None:
    folders = [ROOT / "dialects", ROOT / "runtime"]
    files = [f for folder in folders for f in folder.rglob("*") if f.suffix in (".cpp", ".h")]
    assert len(files) > 50
    run("clang-format", "--dry-run", "--Werror", *map(str, sorted(files)))


@pytest.mark.slow
def test_pyright_finds_nothing() -> None:
    run("pyright")
