"""Writes docs/dialect.md from the operation definitions in dialects/hlo.

`make docs` runs it; with ``--check`` it only tells whether the page is fresh.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIALECT = ROOT / "dialects" / "hlo"
PAGE = ROOT / "docs" / "dialect.md"
HEADER = """\
<!-- Generated from dialects/hlo by docs/generate_dialect.py (`make docs`): do not edit. -->

# The `hlo` dialect
"""


def mlir_root() -> Path:
    """Where the MLIR wheels are installed."""
    found = importlib.util.find_spec("mlir")
    if found is None or found.submodule_search_locations is None:
        raise SystemExit("the mlir wheels are not installed: run `make setup`")
    return Path(next(iter(found.submodule_search_locations)))


def generated() -> str:
    """The page as the definitions have it now."""
    root = mlir_root()
    command = [
        str(root / "bin" / "mlir-tblgen"),
        "-gen-dialect-doc",
        "-dialect=hlo",
        f"-I{root / 'include'}",
        f"-I{DIALECT}",
        str(DIALECT / "HloOps.td"),
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = re.sub(r"^<!-- .* -->\n+", "", text)
    text = re.sub(r"^# 'hlo' Dialect\n+", "", text.lstrip())
    text = text.replace("[TOC]\n", "")
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return HEADER + "\n" + text.strip() + "\n"


def main(arguments: list[str]) -> int:
    """Writes the page, or compares it. 0 when it is fresh."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: generate_dialect.py [--check]\n")
        return 2
    page = generated()
    if not arguments:
        PAGE.write_text(page)
        return 0
    if PAGE.is_file() and PAGE.read_text() == page:
        return 0
    sys.stderr.write("docs/dialect.md is out of date: run `make docs`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
