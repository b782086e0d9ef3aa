"""What the command-line tools share: reading, writing, and how errors end a run.

Exit status: 0 for success, 1 when a program is at fault or results differ, 2 for a mistake on the
    command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from hlo import ir
from hlo.diagnostics import CompileError

EXIT_FAILURE = 1
EXIT_USAGE = 2
_EXIT_INTERRUPTED = 130


class UsageError(CompileError):
    """A mistake on the command line."""


def read_input(name: str) -> bytes:
    """The contents of a file, or of standard input for `-`.

    Raises:
        UsageError: the file cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
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


def run_tool(tool: str, body: Callable[[], int]) -> int:
    """Runs a tool's body and turns the errors a user can cause into one message and an exit
    status.
    """
    try:
        status = body()
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"{tool}: {error}\n")
        return EXIT_USAGE
    except CompileError as error:
        sys.stderr.write(f"{tool}: error: {error}\n")
        return EXIT_FAILURE
    except ir.MLIRError as error:
        sys.stderr.write(f"{tool}: error: MLIR rejects the program: {error}\n")
        return EXIT_FAILURE
    except BrokenPipeError:
        # The reader went away (`hlo-opt ... | head`): nothing is left to say, on exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    return status
