"""Literals that MLIR's parser ends the process on, although they are only malformed."""

from __future__ import annotations

import math
import re

from hlo.diagnostics import ParseError

_STRING_IN_LIST = re.compile(rb'(?:dense|sparse)<\[[^">]*"')
# A literal past the largest double, where the type has no infinity.
_WITHOUT_INFINITY = re.compile(rb"f4E2M1FN|f6E2M3FN|f6E3M2FN")
_LONG_EXPONENT = re.compile(rb"\d\.\d*[eE]\+?\d{3,}")


def check_literals(source: bytes, source_name: str) -> None:
    """Rejects literals of constants that cannot be read.

    Raises:
        ParseError: a string in the list of a constant, or a number too large for any type.
    """
    string = _STRING_IN_LIST.search(source)
    if string is not None:
        raise _error(
            source,
            source_name,
            string.end(),
            "expected a number in a list of numbers, found a string",
        )
    if _WITHOUT_INFINITY.search(source) is None:
        return
    for literal in _LONG_EXPONENT.finditer(source):
        if math.isinf(float(literal.group())):
            text = f"{literal.group().decode()} is larger than any 64-bit floating point number"
            raise _error(source, source_name, literal.start(), text)


def _error(source: bytes, source_name: str, position: int, text: str) -> ParseError:
    line = source.count(b"\n", 0, position) + 1
    column = position - source.rfind(b"\n", 0, position)
    return ParseError(text, location=f"{source_name}:{line}:{column}")
