"""What the command-line tools share: reading, writing, and how errors end a run.

Exit status: 0 for success, 1 when a program is at fault or results differ, 2 for a mistake on the
command line, 3 for an error of the compiler's own, 130 for an interrupt.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from hlo import ir, knobs
from hlo.diagnostics import CompileError, ExecutionError
from hlo.driver.internal_error import op_of, summary_of

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERNAL = 3
EXIT_INTERRUPTED = 130
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class UsageError(CompileError):
    """A mistake on the command line."""


def read_input(name: str) -> bytes:
    """The contents of a file, or of standard input for `-`.

    Raises:
        UsageError: the file cannot be read.
    """
    if name == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise UsageError("cannot read standard input: it is closed")
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error


def write_output(name: str, contents: str | bytes) -> None:
    """Writes text (ended by a newline) or bytes to a file, or to standard output for `-`.

    Raises:
        UsageError: the file cannot be written.
    """
    if isinstance(contents, str):
        contents = (contents if contents.endswith("\n") else contents + "\n").encode()
    if name == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(contents)
        sys.stdout.buffer.flush()
        return
    try:
        Path(name).write_bytes(contents)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from error


def whole_number(text: str) -> int:
    """A number from 0 of the command line, for `argparse`."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0, found {text!r}")
    return int(text)


def tolerance(text: str) -> float:
    """A number from 0, with a fraction or not, of the command line, for `argparse`."""
    with contextlib.suppress(ValueError):
        if float(text) >= 0:
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number from 0, found {text!r}")


def run_tool(tool: str, body: Callable[[], int]) -> int:
    """Runs a tool's body and turns the errors a user can cause into one message and an exit
    status.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(f"{tool}: cannot write to standard output: it is closed\n")
        return EXIT_USAGE
    try:
        status = body()
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"{tool}: {error}\n")
        return EXIT_USAGE
    except (CompileError, ExecutionError) as error:
        sys.stderr.write(f"{tool}: error: {error}\n")
        return EXIT_FAILURE
    except ir.MLIRError as error:
        sys.stderr.write(f"{tool}: error: MLIR rejects the program: {error}\n")
        return EXIT_FAILURE
    except BrokenPipeError:
        # The reader went away (`hlo-opt ... | head`): nothing is left to say, on exit either.
        _discard_output()
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except MemoryError as error:
        sys.stderr.write(f"{tool}: error: out of memory: {error or 'the program is too large'}\n")
        return EXIT_FAILURE
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _internal_error(tool, error)
        sys.stderr.write(f"{tool}: cannot write the output: {error.strerror}\n")
        _discard_output()
        return EXIT_USAGE
    except Exception as error:
        return _internal_error(tool, error)
    return status


def _discard_output() -> None:
    """Lets what is still to be written to standard output, on exit too, vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _internal_error(tool: str, error: Exception) -> int:
    sys.stderr.write(f"{tool}: {summary_of(error)}\n")
    sys.stderr.flush()
    # Said first: an op that is gone by now could end the process.
    with contextlib.suppress(Exception):
        if op := op_of(error):
            sys.stderr.write(f"  at {op}\n")
    if knobs.current().traceback:
        traceback.print_exception(error)
    sys.stderr.write(
        f"This is a bug in hlo: please report it with the program and `{shlex.join(sys.argv)}`. "
        "HLO_TRACEBACK=1 prints the whole traceback.\n"
    )
    return EXIT_INTERNAL
