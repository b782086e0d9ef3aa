"""The exception tree of `hlo`: what went wrong, at which op, and where in the user's source."""

from __future__ import annotations


class CompileError(Exception):
    """A program that `hlo` cannot compile.

    Args:
        message: what was expected, what was found, and what to do about it.
        op: name of the op at fault, such as ``hlo.dot_general``.
        location: where it comes from in the user's source, as MLIR prints it.
    """

    def __init__(self, message: str, *, op: str | None = None, location: str | None = None) -> None:
        self.message = message
        self.op = op
        self.location = location
        where = "" if location is None or location == "loc(unknown)" else f"{location}: "
        what = "" if op is None else f"'{op}': "
        super().__init__(f"{where}{what}{message}")


class ParseError(CompileError):
    """Text or bytecode that is not a well-formed program."""


class VerificationError(CompileError):
    """A program that parses but breaks a constraint of the dialect."""


class UnsupportedError(CompileError):
    """A valid program that asks for something the chosen target cannot do."""


class MissingExtraError(CompileError):
    """A feature that needs an optional dependency which is not installed."""


class ArgumentError(CompileError, TypeError, ValueError):
    """Arguments of a call that do not fit the compiled program's signature."""


class ExecutionError(RuntimeError):
    """A compiled program that failed while it ran."""
