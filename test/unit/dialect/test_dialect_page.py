"""docs/dialect.md says what the definitions say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_page_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate_dialect.py"), "--check"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
