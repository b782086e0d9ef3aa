"""`hlo-reduce`: cuts a program that goes wrong down to a small one."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hlo import __version__, ir
from hlo.diagnostics import CompileError
from hlo.driver.arguments import entry_types
from hlo.driver.command_line import EXIT_INTERRUPTED, UsageError, read_input, run_tool, whole_number
from hlo.driver.failing_command import (
    FailingCommand,
    default_command,
    parsed_command,
    write_candidate,
)
from hlo.driver.reduce_program import Candidate, reduce_program, whole_program
from hlo.driver.run_program import RunOptions, arguments_of
from hlo.importers.program import load_program
from hlo.tools import hlo_bisect, hlo_opt, hlo_run

TOOLS = {"hlo-opt": hlo_opt.main, "hlo-run": hlo_run.main, "hlo-bisect": hlo_bisect.main}

_EPILOG = """\
examples:
  hlo-reduce wrong.mlir --seed=0 -o small.mlir
  hlo-reduce wrong.mlir --args=inputs.npz --check=jax --option=threads=1 -o small.mlir
  hlo-reduce crash.mlir --seed=0 --command='hlo-opt --fuse' --match='out of range' -o small.mlir

A candidate is kept if the command ends with the exit status, and in the way (mismatch, error,
abort), of the first run; with --match, if its output holds the pattern. Results are dropped, and
operations become arguments that hold the values they had. small.npz, beside small.mlir, has the
arguments: hlo-run small.mlir --args=small.npz --check=reference. Ctrl-C writes the smallest found
so far. Exit status: 0 if the program went wrong and a smaller one was written, 1 if it did not go
wrong, 2 bad usage, 130 interrupted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-reduce`."""
    args = _parser().parse_args(argv)
    return run_tool("hlo-reduce", lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    output = Path(args.output)
    if args.tries < 1:
        raise UsageError(f"--tries: expected a positive number, found {args.tries}")
    _check_output(output)
    _check_pattern(args.match)
    words = (
        parsed_command(args.command) if args.command else default_command(args.check, args.option)
    )
    data = read_input(args.program)
    module = load_program(data, source_name=args.program)
    choice = RunOptions(
        program=args.program, argument_file=args.args, literals=tuple(args.arg), seed=args.seed
    )
    arguments = arguments_of(entry_types(module), module.context, choice)
    whole = whole_program(module, arguments)
    with tempfile.TemporaryDirectory(prefix="hlo-reduce-") as folder:
        command = FailingCommand(words, TOOLS, Path(folder), args.match)
        small, interrupted = _reduced(module, whole, command, args.tries)
    _write(small, output)
    print(
        f"{whole.operations} operations, {len(arguments)} arguments reduced to "
        f"{small.operations}, {len(small.arguments)}: {output}, {output.with_suffix('.npz')}"
        f"{'; interrupted' if interrupted else ''}"
    )
    return EXIT_INTERRUPTED if interrupted else 0


def _reduced(
    module: ir.Module, whole: Candidate, command: FailingCommand, tries: int
) -> tuple[Candidate, bool]:
    """The smallest program found, and whether an interrupt ended the search for it."""
    first = command.run(whole)
    if first.status == 0 or not command.is_same(first, first):
        raise CompileError(
            f"nothing to reduce: {' '.join(command.words[:3])} ... ended with status {first.status}"
            + (f" and without {command.pattern!r} in its output" if command.pattern else "")
        )
    small = whole

    def still_fails(candidate: Candidate) -> bool:
        nonlocal small
        fails = command.is_same(first, command.run(candidate))
        small = candidate if fails else small  # each that fails is smaller than the one before
        return fails

    try:
        return reduce_program(module, whole.arguments, still_fails, tries), False
    except KeyboardInterrupt:
        return small, True


def _check_output(output: Path) -> None:
    """Asks before the work what could stop its results from being written."""
    if str(output) == "-" or output.suffix == ".npz":
        raise UsageError(
            f"-o: expected a file such as small.mlir, beside which small.npz has room for the "
            f"arguments, found {output}"
        )
    if output.is_dir() or not os.access(output.parent, os.W_OK):
        reason = "it is a folder" if output.is_dir() else f"{output.parent} cannot be written to"
        raise UsageError(f"cannot write {output}: {reason}")


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--match: expected a regular expression, found {pattern!r}: {error}"
        ) from error


def _write(small: Candidate, output: Path) -> None:
    try:
        write_candidate(small, output, output.with_suffix(".npz"))
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-reduce",
        description="Cuts a program that goes wrong down to a small one that goes wrong alike.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--version", action="version", version=f"hlo-reduce {__version__}")
    add("program", help="a program: .mlir text or bytecode; - for standard input")
    add("-o", dest="output", required=True, metavar="FILE", help="where the small program goes")
    add("--args", type=Path, metavar="FILE", help="arguments, as for hlo-run")
    add("--arg", action="append", default=[], metavar="LITERAL", help="one argument, repeatable")
    add("--seed", type=whole_number, help="random arguments")
    add(
        "--check",
        choices=("reference", "jax"),
        default="reference",
        help="what hlo-run compares with (default: reference)",
    )
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="of hlo.compile")
    add(
        "--command",
        metavar="TEXT",
        help="what to run instead of hlo-run; {program} and {args} stand for the files",
    )
    add("--match", default="", metavar="REGEX", help="what the output of a failure must hold")
    add("--tries", type=int, default=1000, help="most candidates to run (default: 1000)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
