"""The end of the process waits for threads that are inside MLIR.

Daemon threads go on while the interpreter is torn down, until they ask for its lock; Python then
ends them where they are (3.14 stops them). Frames of C++ between there and the thread's start are
unwound, and let go of Python objects without the lock; and what MLIR and LLVM keep in static
variables is destroyed under a thread that goes on.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

# Set while the thread, or the one that it works for, is inside a gate.
_within: ContextVar[bool] = ContextVar("hlo_within_exit_gate", default=False)


class ExitGate:
    """Counts the threads that are inside; once closed, it lets none in but the main thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: set[int] = set()
        self._closed = False
        self._forever = threading.Lock()
        self._forever.acquire()

    @contextmanager
    def entered(self) -> Generator[None]:
        """For the time of a `with` the process does not end. A thread that comes too late waits for
        its own end, with the process.

        To be entered from Python alone, with no frame of MLIR's bindings below.
        """
        me = threading.get_ident()
        if _within.get() or me in self._inside:
            yield
            return
        with self._changed:
            late = self._closed and threading.current_thread() is not threading.main_thread()
            if not late:
                self._inside.add(me)
        if late:
            self._forever.acquire()  # never asks for the interpreter's lock again
        token = _within.set(True)
        try:
            yield
        finally:
            _within.reset(token)
            with self._changed:
                self._inside.discard(me)
                self._changed.notify_all()

    def close(self) -> None:
        """Returns when no other thread is inside any more."""
        with self._changed:
            self._closed = True
            self._inside.discard(threading.get_ident())  # an interrupt may have kept it there
            while self._inside:
                self._changed.wait()

    def reset(self) -> None:
        """In a forked child, where the other threads are gone."""
        self._changed = threading.Condition()
        self._inside = self._inside & {threading.get_ident()}


GATE = ExitGate()
atexit.register(GATE.close)
os.register_at_fork(after_in_child=GATE.reset)
