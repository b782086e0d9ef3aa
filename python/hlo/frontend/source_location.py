"""Where in the user's source an operation comes from, and the scopes it is in."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

import hlo

_PACKAGE: Final = f"{Path(hlo.__file__).parent}/"


class SourceLine(NamedTuple):
    """A place in a source file; line and column count from 1, column 0 is unknown."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_UNKNOWN: Final = SourceLine("-", 0, 0)
_is_user_file: dict[str, bool] = {}
# Code objects hash slowly, so they are told apart by identity; the entry keeps them alive.
_positions: dict[tuple[int, int], tuple[CodeType, SourceLine]] = {}


def _outside_package(file: str) -> bool:
    found = _is_user_file.get(file)
    if found is None:
        # contextlib stands between the user and us, and is not their code either.
        found = not (file.startswith((_PACKAGE, "<frozen")) or file.endswith("/contextlib.py"))
        _is_user_file[file] = found
    return found


def _position(frame: FrameType) -> SourceLine:
    code, offset = frame.f_code, frame.f_lasti
    entry = _positions.get((id(code), offset))
    if entry is None:
        column = 0
        if sys.version_info >= (3, 11):
            spans = next(islice(code.co_positions(), offset // 2, None), None)
            if spans is not None and spans[2] is not None:
                column = spans[2] + 1
        entry = code, SourceLine(code.co_filename, frame.f_lineno, column)
        _positions[id(code), offset] = entry
    return entry[1]


class _Scopes(threading.local):
    path: str = ""
    line: SourceLine | None = None


_scopes = _Scopes()


def user_line() -> SourceLine:
    """The innermost line on the call stack that is not `hlo`'s own; or what `at_line` set."""
    if _scopes.line is not None:
        return _scopes.line
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if _outside_package(frame.f_code.co_filename):
            return _position(frame)
        frame = frame.f_back
    return _UNKNOWN


def scope_path() -> str:
    """Names of the active scopes, joined by slashes; empty outside of any."""
    return _scopes.path


@contextmanager
def named_scope(name: str) -> Generator[None]:
    """Names the operations traced inside: their locations read ``outer/inner/sine``."""
    outer = _scopes.path
    _scopes.path = f"{outer}/{name}" if outer else name
    try:
        yield
    finally:
        _scopes.path = outer


@contextmanager
def at_line(line: SourceLine | None) -> Generator[None]:
    """Operations traced inside carry this line: for importers, whose programs have lines of their
    own. None leaves it as it is."""
    outer = _scopes.line
    _scopes.line = line or outer
    try:
        yield
    finally:
        _scopes.line = outer
