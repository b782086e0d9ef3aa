"""Every environment variable that `hlo` reads, typed, in one place. docs/env_vars.md is the page
for people.

    from hlo import knobs
    knobs.current().threads              # what is in force
    with knobs.scope(threads=1):         # for this block, in this thread or task
        ...

The environment is read once, when a knob is first asked for; `scope` overrides it.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import os
import typing
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from hlo.diagnostics import CompileError

PREFIX = "HLO_"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


class KnobError(CompileError):
    """An environment variable whose value does not fit its type."""


@dataclasses.dataclass(frozen=True)
class Knobs:
    """The values in force. Field `threads` is the variable `HLO_THREADS`, and so on.

    Attributes:
        threads: threads of an executable that does not say; 0 means one for each CPU the process
            may use.
        dump_dir: write the program after each phase into a folder of its name in this folder.
        verify_each: run the verifier after every pass of `hlo.compile`.
        timing: print the seconds of each stage of every compilation on standard error.
        traceback: print the traceback of internal errors in the command-line tools.
        cache: keep compiled programs on disk and use those that are there.
        cache_dir: the folder of the compilation cache; by default `hlo` in the user's cache folder.
        vendor: compute matrix products by the vendor's library where it is faster; generated code
            does all of them otherwise.
        isolate: compile code for GPUs in processes of their own, so that an error in LLVM ends
            none of the program's.
        cache_limit_mb: what the compilation cache may take of the disk, in units of 1e6 bytes.
    """

    threads: int = 0
    dump_dir: Path | None = None
    verify_each: bool = False
    timing: bool = False
    traceback: bool = False
    cache: bool = True
    cache_dir: Path | None = None
    vendor: bool = True
    isolate: bool = True
    cache_limit_mb: int = 4096


_override: contextvars.ContextVar[Knobs | None] = contextvars.ContextVar("hlo_knobs", default=None)


def current() -> Knobs:
    """The knobs in force: those of the innermost `scope`, or the environment's.

    Raises:
        KnobError: a variable of the environment has a value that does not fit.
    """
    return _override.get() or _from_process_environment()


@contextlib.contextmanager
def scope(**changes: Any) -> Generator[Knobs]:
    """Changes knobs for a block, in this thread or task only.

    Raises:
        TypeError: there is no such knob.
    """
    changed = dataclasses.replace(current(), **changes)
    token = _override.set(changed)
    try:
        yield changed
    finally:
        _override.reset(token)


def from_environment(environment: Mapping[str, str]) -> Knobs:
    """Knobs from a mapping of environment variables.

    Raises:
        KnobError: unknown variable with the prefix `HLO_`, or a value that does not fit.
    """
    hints = typing.get_type_hints(Knobs)
    fields = {variable_name(field.name): field.name for field in dataclasses.fields(Knobs)}
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX):
            continue
        if variable not in fields:
            known = ", ".join(sorted(fields))
            raise KnobError(f"unknown environment variable {variable}; those of hlo are: {known}")
        values[fields[variable]] = _convert(variable, text, hints[fields[variable]])
    return Knobs(**values)


def variable_name(knob: str) -> str:
    """The environment variable of a knob: `threads` is `HLO_THREADS`."""
    return PREFIX + knob.upper()


@functools.cache
def _from_process_environment() -> Knobs:
    return from_environment(os.environ)


def _convert(variable: str, text: str, hint: Any) -> Any:
    if hint is bool:
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise KnobError(f"{variable}: expected 1 or 0, found {text!r}")
    if hint is int:
        if not text.isdigit():
            raise KnobError(f"{variable}: expected a number from 0, found {text!r}")
        return int(text)
    return Path(text).expanduser() if text else None
