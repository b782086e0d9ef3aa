"""docs/tutorial.md does what it says: its commands run on its files and print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TOOLS = {"hlo-opt": "hlo_opt", "hlo-run": "hlo_run", "hlo-bisect": "hlo_bisect"}


@dataclass(frozen=True)
class Command:
    """A command of the page and the lines that it is said to print."""

    line: str
    output: list[str]


def blocks(language: str) -> list[str]:
    return [m["body"] for m in BLOCK.finditer(PAGE.read_text()) if m["language"] == language]


def files() -> dict[str, str]:
    """The files of the page by name: the first line of a block is a comment with it."""
    found = [*blocks("mlir"), *blocks("python")]
    return {body.partition("\n")[0].split()[1]: body for body in found}


def commands() -> list[Command]:
    found: list[Command] = []
    for body in blocks("console"):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            line, *output = part.splitlines()
            found.append(Command(line, output))
    return found


def pattern_of(output: list[str]) -> str:
    """`...` alone on a line is any number of lines, within a line anything."""
    parts = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in output
    ]
    return "".join(parts)


def argv_of(line: str) -> list[str]:
    program, *arguments = [word.replace("'", "") for word in line.split()]
    tool = TOOLS.get(program)
    return [sys.executable, *(["-m", f"hlo.tools.{tool}"] if tool else []), *arguments]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tutorial")
    for name, text in files().items():
        (path / name).write_text(text)
    return path


def test_the_page_has_its_parts() -> None:
    assert set(files()) == {"layer.mlir", "dots_in_bf16.py", "layer.py"}
    assert len(commands()) == 10


@pytest.mark.parametrize("command", commands(), ids=lambda c: c.line)
def test_command_prints_what_the_page_says(command: Command, folder: Path) -> None:
    run = subprocess.run(
        argv_of(command.line), cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    printed = run.stdout + run.stderr
    assert re.fullmatch(pattern_of(command.output), printed), printed
