"""The end of the process waits for compilations on daemon threads.

Such threads go on while the interpreter is torn down, until they ask for its lock; what MLIR and
LLVM keep in static variables is destroyed under them then.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager


class ExitGate:
    """Counts the threads that are inside; once closed, it lets none in but the main thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: set[int] = set()
        self._closed = False

    @contextmanager
    def entered(self) -> Generator[None]:
        """For the time of a `with` the process does not end. A thread that comes too late waits for
        its own end, with the process.
        """
        me = threading.get_ident()
        if me in self._inside:
            yield
            return
        with self._changed:
            while self._closed and threading.current_thread() is not threading.main_thread():
                self._changed.wait()
            self._inside.add(me)
        try:
            yield
        finally:
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
