"""StableHLO's own test vectors, from the archive in data/."""

from __future__ import annotations

import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parent.parent / "data" / "stablehlo_vectors.tar.xz"
SUITES = ("v_interp", "v_math")


def unpack(folder: Path) -> None:
    """Unpacks the archive: a folder of cases for each of `SUITES`."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
