"""Reading LLVM's text form: operands at commas, types and their sizes."""

from __future__ import annotations

import re

from hlo.diagnostics import UnsupportedError

_OPEN, _CLOSE = "([{<", ")]}>"
_SCALARS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
_ARRAY = re.compile(r"([<\[])(\d+) x (.*)[>\]]$")


def split_operands(text: str) -> list[str]:
    """The parts of a list at the commas that are in no bracket."""
    parts: list[str] = []
    depth = start = 0
    for at, character in enumerate(text):
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def leading_type(text: str) -> str:
    """The type that a text starts with."""
    depth = 0
    for at, character in enumerate(text):
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == " " and depth == 0:
            return text[:at]
    return text


def trailing_type(text: str) -> str:
    """The type that a text ends with, after attributes."""
    text = text.strip()
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        if text[at] in _CLOSE:
            depth += 1
        elif text[at] in _OPEN:
            depth -= 1
        elif text[at] == " " and depth == 0:
            return text[at + 1 :]
    return text


def members_of(kind: str) -> list[str]:
    """The types that a result holds: those of a structure, itself, or none for `void`."""
    if kind == "void":
        return []
    return split_operands(kind[1:-1]) if kind.startswith("{") else [kind]


def bits_of(kind: str) -> int:
    """Bits of a value of a type; those of an array include no padding."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if re.fullmatch(r"i\d+", kind):
        return int(kind[1:])
    if array := _ARRAY.match(kind):
        element = bits_of(array[3])
        if array[1] == "[":
            element = -(-element // 8) * 8
        return int(array[2]) * element
    raise UnsupportedError(f"the size of the LLVM type {kind!r} is not known here")


def bytes_of(kind: str) -> int:
    """Bytes that a load or a store of a type accesses."""
    return -(-bits_of(kind) // 8)
