"""Damaged bytecode makes MLIR's reader abort, or loop: it is read in a child process first.

The reader checks much, but not everything, and what it misses is an assertion, or memory that is
not its own; neither can be caught. A child that ends badly is an error message here.
"""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Callable

from hlo.diagnostics import CompileError, ParseError

_CPU_SECONDS = 5
_BYTES_A_SECOND = 1_000_000  # of bytecode, on a slow machine
_MOST_MEMORY = 8 << 30  # that reading may take, beyond what the process has
_WAIT_SECONDS = 120.0
_SHORTEST_NAP, _LONGEST_NAP = 0.0002, 0.02


def check_readable(
    read: Callable[[], object],
    size: int,
    location: str,
    *,
    cpu_seconds: int = _CPU_SECONDS,
    wait_seconds: float = _WAIT_SECONDS,
) -> None:
    """Raises unless `read`, called in a child process, returns or raises an exception.

    Args:
        read: reads the bytecode; what it raises will be raised again when it is called here.
        size: bytes of it.
        location: what messages name.
        cpu_seconds, wait_seconds: after so much processor time, and more for large bytecode, or so
            much time, the child is ended.

    Raises:
        ParseError: the reader aborts, crashes, or does not come to an end.
    """
    if not hasattr(os, "fork"):
        return
    limit = cpu_seconds + size // _BYTES_A_SECOND
    with tempfile.TemporaryFile() as messages:
        child = _forked()
        if child == 0:
            _read_and_exit(read, limit, messages.fileno())
        status = _waited(child, wait_seconds)
        if status == 0:
            return
        messages.seek(0)
        text = messages.read(1 << 16).decode(errors="replace")
    raise ParseError(
        f"the bytecode is damaged: reading it {_ending(status)}{_first_complaint(text)}",
        location=location,
    )


def _forked() -> int:
    try:
        with warnings.catch_warnings():
            # The child calls the reader and exits: no thread of the parent is missed.
            warnings.simplefilter("ignore")
            return os.fork()
    except OSError as error:
        raise CompileError(f"cannot start a process to check bytecode in: {error}") from error


def _read_and_exit(read: Callable[[], object], cpu_seconds: int, messages: int) -> None:
    """The child: 0 if nothing bad happened."""
    try:
        os.dup2(messages, 1)
        os.dup2(messages, 2)
        for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_CPU, cpu_seconds)
        _lower(resource.RLIMIT_AS, _virtual_bytes() + _MOST_MEMORY)
        read()
    except BaseException:
        pass
    finally:
        os._exit(0)


def _lower(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _virtual_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 1 << 40


def _waited(child: int, seconds: float) -> int | None:
    """The child's exit status; None if it did not end in time and was ended."""
    end, nap = time.monotonic() + seconds, _SHORTEST_NAP
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found == child:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP)


def _ending(status: int | None) -> str:
    if status is None or status == -signal.SIGXCPU:
        return "does not come to an end"
    if status < 0:
        return f"ends MLIR with {signal.Signals(-status).name}"
    return f"ends MLIR with status {status}"


def _first_complaint(text: str) -> str:
    """What the library said last before it aborted."""
    for line in text.splitlines():
        if "Assertion" in line or "LLVM ERROR" in line or "terminate called" in line:
            return f" ({line.strip()[:300]})"
    return ""
