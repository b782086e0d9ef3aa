"""Errors of the compiler's own, as opposed to a program's: where they happened, for a report."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.passes.hlo_to_loops.graph import Node

_STAGE = "hlo_stage"
_FOREIGN = (CompileError, RecursionError, MemoryError)


@contextmanager
def stage_of_errors(name: str) -> Generator[None]:
    """Notes the stage or pass on exceptions that leave the block, but for a program's own errors.

    The innermost stage counts.
    """
    try:
        yield
    except _FOREIGN:
        raise
    except Exception as error:
        if _STAGE not in error.__dict__:
            error.__dict__[_STAGE] = name
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"hlo: an internal error in '{name}'; please report it")  # pyright: ignore
        raise


def summary_of(error: Exception) -> str:
    """What happened, in which stage and at which line of the compiler."""
    stage = error.__dict__.get(_STAGE)
    where = f" in '{stage}'" if stage else ""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    line = "".join(f"\n  raised at {f.filename}:{f.lineno} in {f.name}" for f in last)
    return f"internal error{where}: {type(error).__name__}: {error}{line}"


def op_of(error: Exception) -> str | None:
    """The op that was worked on, with its location, if a frame of the traceback holds one."""
    for frame in reversed(list(_frames(error.__traceback__))):
        for value in frame.tb_frame.f_locals.values():
            op = value.source if isinstance(value, Node) else value
            if isinstance(op, ir.OpView):
                op = op.operation
            if isinstance(op, ir.Operation) and op.name not in ("builtin.module", "func.func"):
                return f"'{op.name}' {op.location}"
    return None


def _frames(traceback_: TracebackType | None) -> Iterator[TracebackType]:
    while traceback_ is not None:
        yield traceback_
        traceback_ = traceback_.tb_next
