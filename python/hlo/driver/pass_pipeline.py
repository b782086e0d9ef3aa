"""Pipelines of passes as text, and how they are run and watched.

The text is a list of elements with commas between them: `simplify,fuse{max-ops=10
    kind=loop},canonicalize`. An element is a
pass of `hlo`, an upstream pass, or an upstream pipeline nested on an operation:
    `func.func(canonicalize,cse)`.
"""

from __future__ import annotations

import dataclasses
import gc
import re
import shlex
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from hlo import ir
from hlo.diagnostics import CompileError, VerificationError
from hlo.driver.internal_error import stage_of_errors
from hlo.passes.base import Pass
from hlo.passes.registry import find_pass
from hlo.passes.upstream import UpstreamPass, nested_pipeline

_ELEMENT = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]*)\s*")
_CLOSERS = {"{": "}", "(": ")", "[": "]"}


PipelineElement: TypeAlias = Pass | UpstreamPass


class PipelineError(CompileError):
    """Text that is not a pipeline."""


class PassFailedError(CompileError):
    """A pass left IR that does not verify, or raised; the message names the pass and its place
    in the pipeline.
    """


@dataclasses.dataclass(frozen=True)
class Instrumentation:
    """What to do around each pass. Passes are named with their occurrence, from 1.

    Attributes:
        verify_each: run the verifier after every pass that changed something.
        check_changed: compare the IR before and after each pass with what the pass says about it.
        disabled: passes to leave out: `name`, or `name:2` for its second occurrence only.
        before, after: called with the position, the pass and the module; `after` also with whether
            it changed.
    """

    verify_each: bool = True
    check_changed: bool = False
    disabled: frozenset[str] = frozenset()
    before: Callable[[int, PipelineElement, ir.Module], None] | None = None
    after: Callable[[int, PipelineElement, ir.Module, bool], None] | None = None


@dataclasses.dataclass(frozen=True)
class PassTiming:
    """How long one pass took in a run, in seconds, without verification and instrumentation."""

    name: str
    seconds: float
    changed: bool


def parse_pipeline(text: str) -> list[PipelineElement]:
    """The passes of a pipeline's text, each checked to exist and to have the options given.

    Raises:
        PipelineError: the text is malformed.
        CompileError: unknown pass or bad option.
    """
    return [make_element(name, options) for name, options in _split_elements(text)]


def make_element(name: str, options: str = "") -> PipelineElement:
    """The pass `name` of `hlo`, or of upstream MLIR when `hlo` has none, with the options in
    `options`.

    Raises:
        CompileError: unknown pass or bad option.
    """
    own = find_pass(name)
    if own is not None:
        return own.from_text(_parse_options(name, options))
    nested_pipeline(name, options)
    return UpstreamPass(name, options)


def run_pipeline(
    module: ir.Module,
    elements: Sequence[PipelineElement],
    instrumentation: Instrumentation | None = None,
) -> list[PassTiming]:
    """Runs passes in order on `module`, in place.

    Raises:
        PassFailedError: the IR does not verify after a pass, or a pass changed it and denied that.
        CompileError: as a pass raised it.
    """
    watch = instrumentation or Instrumentation()
    timings: list[PassTiming] = []
    seen: dict[str, int] = {}
    for position, element in enumerate(elements):
        seen[element.name] = seen.get(element.name, 0) + 1
        if watch.disabled & {element.name, f"{element.name}:{seen[element.name]}"}:
            continue
        if watch.before is not None:
            watch.before(position, element, module)
        text_before = str(module) if watch.check_changed else ""
        start = time.perf_counter()
        with stage_of_errors(element.name):
            changed = run_pass(element, module)
        timings.append(PassTiming(element.name, time.perf_counter() - start, changed))
        where = f"pass {element.name!r} (number {position + 1} of the pipeline)"
        if watch.verify_each and changed:
            verify_after(where, module)
        if watch.check_changed and not changed and str(module) != text_before:
            raise PassFailedError(
                f"{where} says that it changed nothing, but the IR is different after it"
            )
        if watch.after is not None:
            watch.after(position, element, module, changed)
    return timings


def run_pass(element: PipelineElement, module: ir.Module) -> bool:
    """Runs one pass; Python's cycle collector waits meanwhile, see `without_collection`."""
    with without_collection():
        return element.run(module)


@contextmanager
def without_collection() -> Generator[None]:
    """Python's cycle collector waits for the time of a `with`.

    A stage makes many objects and few cycles that die before it ends: the collector would look at
    all of them again and again, and the compiler's time would not be linear.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def verify_after(where: str, module: ir.Module) -> None:
    """Runs the verifier.

    Args:
        where: names the pass that ran, for the message.

    Raises:
        PassFailedError: the module does not verify.
    """
    try:
        ir.verify(module)
    except VerificationError as error:
        raise PassFailedError(
            f"{error.message} (failed after {where})", op=error.op, location=error.location
        ) from error


def _split_elements(text: str) -> list[tuple[str, str]]:
    elements: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _ELEMENT.match(text, position)
        if match is None:
            raise PipelineError(
                f"expected the name of a pass at position {position} of the pipeline {text!r}"
            )
        name, options, position = match.group("name"), "", match.end()
        if position < len(text) and text[position] == "(":
            end = _closing(text, position)
            name, position = text[match.start("name") : end + 1], end + 1
        elif position < len(text) and text[position] == "{":
            end = _closing(text, position)
            options, position = text[position + 1 : end], end + 1
        elements.append((name, options))
        rest = text[position:].lstrip()
        if not rest:
            break
        if rest[0] != ",":
            raise PipelineError(
                f"expected `,` at position {position} of the pipeline {text!r}, found {rest[0]!r}"
            )
        position = len(text) - len(rest) + 1
    return elements


def _closing(text: str, start: int) -> int:
    stack: list[str] = []
    for position in range(start, len(text)):
        letter = text[position]
        if letter in _CLOSERS:
            stack.append(_CLOSERS[letter])
        elif letter in _CLOSERS.values():
            if not stack or stack.pop() != letter:
                break
            if not stack:
                return position
    raise PipelineError(
        f"the {text[start]!r} at position {start} of the pipeline {text!r} is never closed"
    )


def _parse_options(name: str, text: str) -> dict[str, str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PipelineError(f"options of pass {name!r}: {error} in {text!r}") from error
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        options[key] = value if equals else "true"
    return options
