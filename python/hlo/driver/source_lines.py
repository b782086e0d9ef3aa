"""Where something comes from, for people: `model.py:12` out of an MLIR location."""

from __future__ import annotations

import re
from pathlib import PurePath

_FILE_LINE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
# Text the compiler wrote itself is read under this name: it says nothing about the user's source.
GENERATED = "<host program>"


def source_line(location: str) -> str:
    """The innermost `path:line` of a location as MLIR prints it; empty if there is none."""
    found = _FILE_LINE.search(location)
    if found is None or found.group(1) == GENERATED:
        return ""
    return f"{found.group(1)}:{found.group(2)}"


def short_source_line(location: str) -> str:
    """As `source_line`, without the folder."""
    path, _, line = source_line(location).rpartition(":")
    return f"{PurePath(path).name}:{line}" if path else ""


def at_source(name: str, location: str) -> str:
    """`name (model.py:12)`, or the bare name where the place is not known."""
    where = short_source_line(location)
    return f"{name} ({where})" if where else name
