"""Reading and verifying programs, with MLIR's diagnostics as exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from mlir import ir

from hlo.diagnostics import CompileError, ParseError, VerificationError
from hlo.ir.context import make_context, note_bytes, shared_context
from hlo.ir.literals import check_literals
from hlo.ir.nesting import check_nesting
from hlo_native import _dialect

_Report: TypeAlias = tuple[str, str, str]
_BYTECODE_MAGIC = b"ML\xefR"
_NAMED = re.compile(r"'(?P<op>[\w.$-]+)' op (?P<message>.*)", re.DOTALL)


def parse_module(
    text: str | bytes, context: ir.Context | None = None, source_name: str = "-", *,
    printed: bool = False,
) -> ir.Module:  # fmt: skip
    """Reads a module and verifies it.

    Args:
        text: assembly in any form, or bytecode.
        context: the module's context; by default one of this thread's, see `shared_context`.
        source_name: the file name that locations and errors show.
        printed: whether MLIR printed the text, so that its literals are as they should be.

    Raises:
        ParseError: the text or bytecode is malformed.
        VerificationError: the program breaks a constraint, or holds an operation that is not known.
    """
    source = text.encode() if isinstance(text, str) else bytes(text)
    if context is None:
        context = _context_for(source)
    if not source.startswith(_BYTECODE_MAGIC):
        check_nesting(source, source_name)
        if not printed:
            check_literals(source, source_name)
    module, reports = _dialect.parse_module(context, source, source_name)
    if module is None:
        raise _error(ParseError, reports, "not a well-formed program")
    verify(module)
    return module


def _context_for(source: bytes) -> ir.Context:
    # Blobs stay in a context, under names that must differ from those of other modules.
    if source.startswith(_BYTECODE_MAGIC) or b"{-#" in source:
        return make_context()
    context = shared_context()
    note_bytes(len(source))
    return context


def verify(module: ir.Module | ir.Operation | ir.OpView) -> None:
    """Checks every constraint of every operation.

    Raises:
        VerificationError: the first that does not hold, with its number in the specification.
    """
    holds, reports = _dialect.verify_operation(module.operation)
    if not holds:
        raise _error(VerificationError, reports, "the program does not verify")


def _error(kind: type[CompileError], reports: Sequence[_Report], otherwise: str) -> CompileError:
    """The first error, with the notes that follow it."""
    errors = [i for i, report in enumerate(reports) if report[0] == "error"]
    if not errors:
        return kind(otherwise)
    _, location, message = reports[errors[0]]
    named = _NAMED.match(message)
    op, text = (named["op"], named["message"]) if named else (None, message)
    for severity, where, note in reports[errors[0] + 1 :]:
        if severity != "note":
            break
        text += f"\n  note: {note}" if where == location else f"\n  note: {where}: {note}"
    return kind(text, op=op, location=location)
