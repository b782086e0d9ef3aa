"""How deep the brackets of a program nest.

MLIR's parser calls itself for each bracket, and overflows the stack, which ends the process, at a
few thousand.
"""

from __future__ import annotations

import re

import numpy as np

from hlo.diagnostics import ParseError

MAX_NESTING = 1000
_STRINGS_AND_COMMENTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|//[^\n]*', re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b"([{<)]}>"))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"([{<")] = 1
_STEPS[list(b")]}>")] = -1


def nesting_depth(source: bytes) -> int:
    """The deepest nesting of brackets outside strings and comments; an arrow closes nothing."""
    if b"//" in source or b'\\"' in source:
        outside = _STRINGS_AND_COMMENTS.sub(b"", source)
    else:
        outside = b"".join(source.split(b'"')[::2])
    brackets = outside.replace(b"->", b"").translate(None, _OTHERS)
    steps = _STEPS[np.frombuffer(brackets, np.uint8)]
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def check_nesting(source: bytes | str, source_name: str) -> None:
    """Rejects a program whose brackets nest too deep for the parser.

    Raises:
        ParseError: they nest deeper than `MAX_NESTING`.
    """
    depth = nesting_depth(source.encode() if isinstance(source, str) else source)
    if depth > MAX_NESTING:
        raise ParseError(
            f"brackets nest {depth} deep; expected at most {MAX_NESTING}", location=source_name
        )
