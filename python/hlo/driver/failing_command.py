"""A command that goes wrong on a program: what `hlo-reduce` asks about each candidate."""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hlo.diagnostics import CompileError
from hlo.driver.command_line import UsageError
from hlo.driver.reduce_program import Candidate

PROGRAM, ARGUMENTS = "{program}", "{args}"
_KINDS = ("MISMATCHES", "error: ", "Traceback", "Assertion", "LLVM ERROR")
_TIMED_OUT = -9
Main = Callable[[list[str]], int]
"""The entry point of a tool: words of the command line to an exit status."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit status, negative for a signal, and what it printed."""

    status: int
    output: str

    @property
    def kinds(self) -> frozenset[str]:
        """Words of the output that say what kind of failure it is."""
        return frozenset(kind for kind in _KINDS if kind in self.output)


@dataclass(frozen=True)
class FailingCommand:
    """Runs a command on candidates.

    Attributes:
        words: of the command; `{program}` and `{args}` stand for the candidate's files.
        tools: commands that are called in a forked process, which saves their start.
        folder: where those files are written.
        pattern: what the output has to hold for a failure to be the same; without it, the exit
            status and the kind of failure must be those of the first run.
        timeout: seconds after which a run counts as failed with status -9.
    """

    words: tuple[str, ...]
    tools: Mapping[str, Main]
    folder: Path
    pattern: str = ""
    timeout: float = 120.0

    def run(self, candidate: Candidate) -> Outcome:
        """Writes a candidate's files and runs the command on them."""
        program, arguments = self.folder / "candidate.mlir", self.folder / "candidate.npz"
        write_candidate(candidate, program, arguments)
        words = [
            w.replace(PROGRAM, str(program)).replace(ARGUMENTS, str(arguments)) for w in self.words
        ]
        if words[0] in self.tools:
            return _forked(self.tools[words[0]], words[1:], self.timeout)
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=self.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return Outcome(_TIMED_OUT, "")
        except OSError as error:
            raise CompileError(f"cannot run {words[0]}: {error.strerror}") from error
        return Outcome(done.returncode, done.stdout + done.stderr)

    def is_same(self, first: Outcome, other: Outcome) -> bool:
        """Whether another run went wrong in the same way as the first."""
        if self.pattern:
            return re.search(self.pattern, other.output) is not None
        return other.status == first.status and other.kinds == first.kinds


def default_command(check: str, options: Sequence[str]) -> tuple[str, ...]:
    """`hlo-run` with a check."""
    words = ("hlo-run", PROGRAM, f"--args={ARGUMENTS}", f"--check={check}")
    return (*words, *(f"--option={option}" for option in options))


def parsed_command(text: str) -> tuple[str, ...]:
    """The words of a command as a shell reads them; files are added if it names none.

    Raises:
        UsageError: there are no words, or a quotation has no end.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--command: cannot read {text!r}: {error}") from error
    if not words:
        raise UsageError(f"--command: expected a command, found {text!r}")
    return words if any(PROGRAM in word for word in words) else (*words, PROGRAM)


def write_candidate(candidate: Candidate, program: Path, arguments: Path) -> None:
    """Writes a program and its arguments, as `hlo-run --args` reads them."""
    program.write_text(candidate.text)
    arrays = {f"arg{i}": array for i, array in enumerate(candidate.arguments)}
    np.savez(arguments, **arrays)  # pyright: ignore[reportArgumentType]


# A server that has the compiler imported forks a child a run, in milliseconds. It never imports
# jax, whose threads do not survive a fork.
_CONTEXT = multiprocessing.get_context("forkserver")


def _forked(main: Main, words: Sequence[str], timeout: float) -> Outcome:
    _CONTEXT.set_forkserver_preload(["hlo.driver.compile", "hlo.importers.jaxlib_bridge"])
    with tempfile.NamedTemporaryFile(prefix="hlo-reduce-") as printed:
        child = _CONTEXT.Process(target=_call, args=(main, list(words), printed.name))
        child.start()
        child.join(timeout)
        if child.exitcode is None:
            child.kill()
            child.join()
            return Outcome(_TIMED_OUT, "")
        return Outcome(child.exitcode, Path(printed.name).read_text(errors="replace"))


def _call(main: Main, words: list[str], printed: str) -> None:
    """In the child: everything that the tool and native code print goes to a file."""
    file = os.open(printed, os.O_WRONLY | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    raise SystemExit(main(words))
