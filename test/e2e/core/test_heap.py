"""Calls of compiled programs take no memory but their results' and the arena's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(__file__).resolve().parents[4] / "shared" / "programs"


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that counts requests to the heap."""
    compiler = shutil.which("cc") or shutil.which("c++")
    assert compiler is not None, "the project needs a C++ compiler"
    path = tmp_path_factory.mktemp("heap") / "heap_calls.so"
    command = [
        compiler,
        "-x",
        "c",
        "-shared",
        "-fPIC",
        "-O1",
        str(HERE / "heap_calls.c"),
        "-o",
        str(path),
    ]
    subprocess.run(command, check=True)
    return path


# OpenBLAS's kernels for small products on AVX-512 ask the heap for a panel; those for AVX2 do not.
ENVIRONMENT = {"HLO_THREADS": "2", "OPENBLAS_CORETYPE": "Haswell"}


def asked(counter: Path, *names: str) -> dict[str, dict[str, float]]:
    found = subprocess.run(
        [sys.executable, str(HERE / "heap_programs.py"), *names],
        env={**os.environ, **ENVIRONMENT, "LD_PRELOAD": str(counter)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(found.stdout)


def test_library_calls_work_in_the_arena(counter: Path) -> None:
    found = asked(counter)
    assert len(found) > 20
    nothing = {"heap": 0, "blocks": 0}
    assert {name: counts for name, counts in found.items() if counts != nothing} == {}


NAMES = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))
MISSING = pytest.mark.skip(reason=f"the benchmark programs are not in {PROGRAMS}")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES or [pytest.param("none", marks=MISSING)])
def test_programs_take_no_memory_of_their_own(counter: Path, name: str) -> None:
    assert asked(counter, name)[name]["blocks"] == 0
