"""Changes the dialect prefix of MLIR text, token by token.

`hlo` keeps the names of StableHLO's and CHLO's operations, attributes and properties, so programs
in generic form differ only in the prefix. A prefix is changed where it names an operation
(`"stablehlo.add"(...)`), an attribute (`#stablehlo.dot<...>`) or a type (`!stablehlo.token`), and
nowhere else: string attributes, locations, symbol names, attribute keys and comments may hold the
same letters and stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable

# A comment, a string literal, or a dialect attribute or type of one of the dialects. A literal's
# body is matched by runs of a character class, so a constant of many megabytes in hexadecimal is
# one fast scan.
_FOREIGN_TOKEN = re.compile(
    r'//[^\n]*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|(?<![\w$.-])[#!](?:stablehlo|chlo)(?=[.<])'
)
_OWN_TOKEN = re.compile(
    r'//[^\n]*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|,\s*#hlo\.layout<[^>]*>|(?<![\w$.-])[#!]hlo(?:[.<]\w+)"
)
_MENTION = re.compile(
    r'//[^\n]*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|(?<![\w$.@-])(?:[#!])?(?:stablehlo|chlo|vhlo)(?=[.<])[.<]\w*"
)
_REST_OF_KEY = re.compile(r"[\w$.]*\s*=")
_FOREIGN_PREFIXES = tuple(
    (f"{sign}{dialect}{end}", f"{sign}hlo{end}")
    for sign in "#!" for dialect in ("stablehlo", "chlo") for end in ".<"
)  # fmt: skip
_FOREIGN_DIALECTS = ("stablehlo.", "chlo.")
_FOREIGN_NAME = re.compile(r"(?:stablehlo|chlo)\.[A-Za-z_]\w*")
_FOREIGN_OPERATION = re.compile(r'"(?:stablehlo|chlo)\.([A-Za-z_]\w*)"')
_OWN_OPERATION = re.compile(r'"hlo\.([A-Za-z_]\w*)"')

# What stands before a string that is not the name of an operation although `(` follows it: a name
# location is inside `loc(` or a list.
_INSIDE_LIST = ("(", "[", ",", "<")

# Attributes of CHLO's own that share a name with StableHLO's or that StableHLO does not have.
_CHLO_ATTRIBUTES = frozenset({"<precision", "<comparison_direction", ".ragged_dot"})


def mentions_stablehlo(text: str) -> bool:
    """Whether `text` uses a StableHLO, CHLO or VHLO operation, attribute or type."""
    return any(_is_foreign_use(text, match) for match in _MENTION.finditer(text))


def is_generic_stablehlo(text: str) -> bool:
    """Whether every StableHLO operation of `text` is in generic form, so that changing the
    prefixes is enough.
    """
    for match in _MENTION.finditer(text):
        token = match.group()
        if token[0] in '/"#!':
            continue
        if _is_attribute_key(text, match.end()):
            continue
        return False
    return True


def stablehlo_to_hlo(text: str) -> str:
    """Generic StableHLO and CHLO text with the prefix `hlo`."""
    if "//" not in text and '\\"' not in text:
        return _changed_between_quotes(text)

    def change(match: re.Match[str]) -> str:
        token = match.group()
        if token[0] in "#!":
            return token[0] + "hlo"
        if token[0] == '"':
            operation = _FOREIGN_OPERATION.fullmatch(token)
            if operation is not None and _names_operation(text, match):
                return f'"hlo.{operation.group(1)}"'
        return token

    return _FOREIGN_TOKEN.sub(change, text)


def _changed_between_quotes(text: str) -> str:
    """`stablehlo_to_hlo` of text without comments and escaped quotes, as MLIR prints it.

    Every second piece between quotes is then the body of a string.
    """
    pieces = text.split('"')
    code = '"'.join(pieces[::2])
    for written, own in _FOREIGN_PREFIXES:
        code = code.replace(written, own)
    pieces[::2] = code.split('"')
    for i in range(1, len(pieces) - 1, 2):
        body = pieces[i]
        if not body.startswith(_FOREIGN_DIALECTS) or not pieces[i + 1].lstrip().startswith("("):
            continue
        before = pieces[i - 1].rstrip(" \t")
        if _FOREIGN_NAME.fullmatch(body) and not before.endswith(_INSIDE_LIST):
            pieces[i] = f"hlo.{body.partition('.')[2]}"
    return '"'.join(pieces)


def hlo_to_stablehlo(text: str, is_stablehlo_operation: Callable[[str], bool]) -> str:
    """Generic `hlo` text with the prefixes of StableHLO and CHLO, without layouts.

    Args:
        text: a module printed in generic form, without `hlo.fusion`.
        is_stablehlo_operation: tells whether StableHLO has an operation of that short name; the
            others are CHLO's.
    """
    in_chlo = False

    def change(match: re.Match[str]) -> str:
        nonlocal in_chlo
        token = match.group()
        if token[0] == ",":
            return ""
        if token[0] in "#!":
            name = token[len("#hlo") :]
            dialect = "chlo" if in_chlo and name in _CHLO_ATTRIBUTES else "stablehlo"
            return f"{token[0]}{dialect}{name}"
        if token[0] == '"' and _names_operation(text, match):
            operation = _OWN_OPERATION.fullmatch(token)
            in_chlo = operation is not None and not is_stablehlo_operation(operation.group(1))
            if operation is not None:
                return f'"{"chlo" if in_chlo else "stablehlo"}.{operation.group(1)}"'
        return token

    return _OWN_TOKEN.sub(change, text)


def _is_foreign_use(text: str, match: re.Match[str]) -> bool:
    token = match.group()
    if token[0] == "/":
        return False
    if token[0] == '"':
        return _FOREIGN_OPERATION.fullmatch(token) is not None and _names_operation(text, match)
    return token[0] in "#!" or not _is_attribute_key(text, match.end())


def _is_attribute_key(text: str, end: int) -> bool:
    """Whether the dotted identifier ending at `end` is the key of a dictionary attribute: `key =
    value`.
    """
    return _REST_OF_KEY.match(text, end) is not None


def _names_operation(text: str, match: re.Match[str]) -> bool:
    """Whether a string literal stands where the name of an operation in generic form does."""
    end = match.end()
    while end < len(text) and text[end].isspace():
        end += 1
    if end == len(text) or text[end] != "(":
        return False
    start = match.start() - 1
    while start >= 0 and text[start] in " \t":
        start -= 1
    return start < 0 or text[start] == "\n" or text[start] not in _INSIDE_LIST
