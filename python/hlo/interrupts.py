"""Ctrl-C where it must wait: native libraries half loaded end the process when loaded again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hlo.diagnostics import UnsupportedError


@contextmanager
def deferred_interrupts() -> Generator[None]:
    """An interrupt from the keyboard comes at the end of a `with`, not within.

    On other threads than the main one nothing need be done: interrupts never come there.

    Raises:
        UnsupportedError: this is not the main interpreter.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _check_interpreter(before)
    if not callable(before):
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


def _check_interpreter(handler: Callable[[int, FrameType | None], Any] | int | None) -> None:
    """On the main thread, sets the handler that is set: only the main interpreter may."""
    if handler is None:  # not set by Python
        return
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError as error:
        raise UnsupportedError(
            "expected the main interpreter, found a subinterpreter: MLIR and NumPy are loaded once "
            "a process; call hlo from the main one (mod_wsgi: WSGIApplicationGroup %{GLOBAL})"
        ) from error
