"""Runs every conformance suite and writes docs/conformance.md.

    python test/conformance/run.py [--folder build/conformance] [--every N]

The cases of JAX's harnesses are made once and kept in the folder. A full run takes about half an
hour of one processor.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from conformance_suite.known_differences import JAX, STABLEHLO
from conformance_suite.page import page
from conformance_suite.suites import VECTOR_TITLES, run_harnesses, run_vectors

ROOT = Path(__file__).resolve().parent.parent.parent


class Log:
    """Writes every answer to a file as it comes, and a dot a hundred to standard error."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        self._count = 0

    def __call__(self, answer: dict[str, Any]) -> None:
        self._file.write(f"{json.dumps(answer)}\n")
        self._file.flush()
        self._count += 1
        if self._count % 100 == 0:
            sys.stderr.write(".")
            sys.stderr.flush()


def main() -> None:
    """Runs the suites and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "conformance")
    parser.add_argument("--every", type=int, default=1, help="one in this many harnesses")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "conformance.md")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    harnesses = [
        run_harnesses(
            folder, x64=x64, every=options.every, progress=Log(folder / f"answers-x64-{x64}.jsonl")
        )
        for x64 in (False, True)
    ]
    vectors = [
        run_vectors(folder, suite, progress=Log(folder / f"answers-{suite}.jsonl"))
        for suite in VECTOR_TITLES
    ]
    options.output.write_text(page(harnesses, vectors, JAX, STABLEHLO))
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
