"""One way in for every form a program can have: `load_program`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hlo import ir
from hlo.diagnostics import ParseError
from hlo.exit_gate import GATE
from hlo.importers import dialect_prefix, jaxlib_bridge
from hlo.importers.bytecode_guard import check_readable
from hlo.importers.stablehlo import import_stablehlo

_BYTECODE_MAGIC = b"ML\xefR"
# Names of dialects are entries of the bytecode's table of strings, each ended by a zero byte.
_FOREIGN_DIALECT = re.compile(rb"(?<![\w.])(?:stablehlo|chlo|vhlo|vhlo_v1)\x00")
_OWN_DIALECT = re.compile(rb"(?<![\w.])hlo\x00")

_SUFFIXES = (".mlir", ".mlirbc", ".bc", ".stablehlo")


@GATE.entered()
def load_program(
    program: str | bytes | os.PathLike[str] | ir.Module | Any,
    *,
    context: ir.Context | None = None,
    source_name: str | None = None,
) -> ir.Module:
    """Reads a program in the `hlo` dialect or in StableHLO, and says so with the right error when
    it is neither.

    Args:
        program: a path (`os.PathLike`), text, MLIR bytecode, a portable artifact, an `ir.Module` of
            the `hlo` dialect (returned as it is), or a module of jaxlib's MLIR.
        context: the context of the new module; a new one by default.
        source_name: the file name that errors and locations show; the path, or `-`.

    Raises:
        ParseError, VerificationError: the program is not well-formed.
        MissingExtraError: the form needs jaxlib, which is not installed.
        TypeError: `program` is none of these.
    """
    if isinstance(program, ir.Module):
        return program
    if isinstance(program, os.PathLike):
        path = Path(program)
        return load_program(
            read_contents(path), context=context, source_name=source_name or str(path)
        )
    if isinstance(program, bytes | bytearray | memoryview):
        return _load_bytes(bytes(program), context, source_name or "-")
    if isinstance(program, str):
        return _load_text(program, context, source_name or "-")
    if jaxlib_bridge.is_jaxlib_module(program):
        return import_stablehlo(program, context=context)
    raise TypeError(
        "expected a program as text, bytes, a pathlib.Path, an ir.Module of the hlo dialect or a "
        "jaxlib module, "
        f"found {type(program).__name__}"
    )


def is_bytecode(data: bytes) -> bool:
    """Whether `data` begins like MLIR bytecode."""
    return data[:4] == _BYTECODE_MAGIC


def read_contents(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        ParseError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParseError(f"cannot read {path}: {error.strerror}") from error


def _load_bytes(data: bytes, context: ir.Context | None, source_name: str) -> ir.Module:
    if not is_bytecode(data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ParseError(
                "expected MLIR text in UTF-8 or MLIR bytecode, found neither: byte "
                f"{error.start} is {data[error.start]:#04x}",
                location=source_name,
            ) from error
        return _load_text(text, context, source_name)
    foreign = jaxlib_bridge.is_portable_artifact(data) or (
        _FOREIGN_DIALECT.search(data) is not None and _OWN_DIALECT.search(data) is None
    )
    if foreign:
        check_readable(
            lambda: jaxlib_bridge.parse(data, source_name, jaxlib_bridge.make_context()),
            len(data),
            source_name,
        )
        return import_stablehlo(data, context=context, source_name=source_name)
    check_readable(lambda: ir.parse_module(data), len(data), source_name)
    return ir.parse_module(data, context, source_name)


def _load_text(text: str, context: ir.Context | None, source_name: str) -> ir.Module:
    if _looks_like_path(text):
        raise ParseError(
            f"a str is the text of a program, found the path {text!r}: give pathlib.Path({text!r})"
        )
    if dialect_prefix.mentions_stablehlo(text):
        return import_stablehlo(text, context=context, source_name=source_name)
    return ir.parse_module(text, context, source_name)


def _looks_like_path(text: str) -> bool:
    """Whether a text that can be no program names a file."""
    return "\n" not in text and "{" not in text and text.endswith(_SUFFIXES)
