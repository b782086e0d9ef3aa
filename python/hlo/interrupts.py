"""Ctrl-C where it must wait: native libraries half loaded end the process when loaded again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Generator[None]:
    """An interrupt from the keyboard comes at the end of a `with`, not within.

    On other threads than the main one nothing need be done: interrupts never come there.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[-1])
