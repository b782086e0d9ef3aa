"""How deep Python's calls nest, and may nest while programs are compiled."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

FRAMES = 3000
"""What a compilation may take: passes call themselves for blocks in blocks and for the ops of a
kernel, of which one of 200 ops takes 650 frames. On CPython up to 3.10 a frame takes half a KiB of
the stack, which `hlo.executable.runtime.on_large_stack` sees to."""


@dataclass
class _Limits:
    """The limits that the `with`s under way ask for, what it was before them, and what it is."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    wanted: list[int] = field(default_factory=list[int])
    before: int = 0
    given: int = 0

    def give(self) -> None:
        self.given = max(self.before, *self.wanted, 0)
        sys.setrecursionlimit(self.given)


_LIMITS = _Limits()


@contextmanager
def room_for_recursion() -> Generator[None]:
    """Calls may nest `FRAMES` deeper than here for the time of a `with`, however deep this is.

    An exception for the lack of frames may come anywhere, also where MLIR's bindings convert a
    value, and there it ends the process. Python has one limit for all threads: it is what it was
    when the last `with` ends, unless somebody else has changed it.
    """
    wanted = frames_in_use() + FRAMES
    with _LIMITS.lock:
        if not _LIMITS.wanted:
            _LIMITS.before = sys.getrecursionlimit()
        _LIMITS.wanted.append(wanted)
        _LIMITS.give()
    try:
        yield
    finally:
        with _LIMITS.lock:
            _LIMITS.wanted.remove(wanted)
            if sys.getrecursionlimit() == _LIMITS.given:
                with suppress(RecursionError):  # this thread is deeper than the old limit by now
                    _LIMITS.give()


def frames_in_use() -> int:
    """How many calls of Python are under way on this thread."""
    count = 0
    frame = inspect.currentframe()
    while frame is not None:
        count += 1
        frame = frame.f_back
    return count


def frames_left() -> int:
    """How many more calls of Python may nest on this thread."""
    return sys.getrecursionlimit() - frames_in_use()
