"""A case on disk: a program, its arguments and the expected results.

`NAME.mlir` is StableHLO text; `NAME.pkl` is a dict of `args` and `res`, lists of arrays, and
optionally `checks`, one a result: `("eq",)`, `("almost", tolerance)` or `("close", least ulp, most
ulp)`. An array is a dict of `dtype`, `shape` and `raw` bytes, so that every dtype of ml_dtypes can
be stored.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Check = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A program with arguments and what it must give.

    Attributes:
        checks: how each result is compared; None for the tolerance of its dtype.
    """

    text: str
    arguments: list[np.ndarray[Any, Any]]
    expected: list[np.ndarray[Any, Any]]
    checks: list[Check | None]


def dtype_named(name: str) -> np.dtype[Any]:
    """The dtype of a name of NumPy or ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def read_case(folder: Path, name: str) -> Case:
    """Reads one case."""
    values = pickle.loads((folder / f"{name}.pkl").read_bytes())
    expected = [_decode(entry) for entry in values["res"]]
    checks = values.get("checks") or [None] * len(expected)
    return Case(
        (folder / f"{name}.mlir").read_text(),
        [_decode(entry) for entry in values["args"]],
        expected,
        list(checks),
    )


def write_case(
    folder: Path,
    name: str,
    text: str,
    arguments: Sequence[np.ndarray[Any, Any]],
    expected: Sequence[np.ndarray[Any, Any]],
) -> None:
    """Writes one case; the values last, so that a case with values is complete."""
    (folder / f"{name}.mlir").write_text(text)
    values = {"args": [_encode(a) for a in arguments], "res": [_encode(r) for r in expected]}
    (folder / f"{name}.pkl").write_bytes(pickle.dumps(values))


def case_names(folder: Path) -> list[str]:
    """The cases of a folder, numbered ones in order of their number."""
    names = [path.stem for path in folder.glob("*.pkl")]
    return sorted(names, key=lambda name: (len(name), name) if name.isdigit() else (99, name))


def distinct(folder: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Groups cases whose programs are the same text: the first one -> all of them."""
    first: dict[int, str] = {}
    groups: dict[str, list[str]] = {}
    for name in names:
        key = zlib.crc32((folder / f"{name}.mlir").read_bytes())
        groups.setdefault(first.setdefault(key, name), []).append(name)
    return groups


def _encode(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "raw": np.ascontiguousarray(array).tobytes(),
    }


def _decode(entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    flat = np.frombuffer(entry["raw"], dtype_named(entry["dtype"]))
    return flat.reshape(entry["shape"]).copy()
