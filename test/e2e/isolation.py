"""Runs a function in a process of its own, so that an abort of it is an outcome and not the end of
the tests."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

# A server that has everything imported forks a child a call, in milliseconds. It never imports jax,
# whose threads do not survive a fork.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["hlo.driver.compile", "hlo.importers.jaxlib_bridge"])
TIMEOUT = 120.0


@dataclass(frozen=True)
class Outcome:
    """What became of a call.

    Attributes:
        value: what it returned.
        error: names of the classes of the exception it raised, the exact one first; empty without.
        message: of the exception, or of the abort.
        aborted: whether the process ended, or did not end in time.
    """

    value: Any = None
    error: tuple[str, ...] = ()
    message: str = ""
    aborted: bool = False


def isolated(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """Calls a module-level function in a fresh process; arguments and result must be picklable."""
    ours, theirs = _CONTEXT.Pipe()
    child = _CONTEXT.Process(target=_call, args=(theirs, function, arguments))
    child.start()
    theirs.close()
    try:
        if not ours.poll(TIMEOUT):
            return Outcome(message=f"no answer in {TIMEOUT:.0f} s", aborted=True)
        return ours.recv()
    except EOFError:
        child.join()
        return Outcome(message=f"the process ended with {child.exitcode}", aborted=True)
    finally:
        child.kill()
        child.join()


def _call(pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        outcome = Outcome(value=function(*arguments))
    except BaseException as error:
        classes = tuple(base.__name__ for base in type(error).__mro__)
        outcome = Outcome(error=classes, message=str(error))
    pipe.send(outcome)
