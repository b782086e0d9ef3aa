"""`hlo-reduce`: cuts a program that goes wrong down to a small one."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hlo import __version__
from hlo.diagnostics import CompileError
from hlo.driver.arguments import entry_types
from hlo.driver.command_line import UsageError, read_input, run_tool
from hlo.driver.failing_command import (
    FailingCommand,
    default_command,
    parsed_command,
    write_candidate,
)
from hlo.driver.reduce_program import reduce_program, whole_program
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
arguments: hlo-run small.mlir --args=small.npz --check=reference. Exit status: 0 if the program went
wrong and a smaller one was written, 1 if it did not go wrong, 2 bad usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-reduce`."""
    args = _parser().parse_args(argv)
    return run_tool("hlo-reduce", lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    data = read_input(args.program)
    module = load_program(data, source_name=args.program)
    if args.tries < 1:
        raise UsageError(f"--tries: expected a positive number, found {args.tries}")
    choice = RunOptions(
        program=args.program, argument_file=args.args, literals=tuple(args.arg), seed=args.seed
    )
    arguments = arguments_of(entry_types(module), module.context, choice)
    words = (
        parsed_command(args.command) if args.command else default_command(args.check, args.option)
    )
    with tempfile.TemporaryDirectory(prefix="hlo-reduce-") as folder:
        command = FailingCommand(words, TOOLS, Path(folder), args.match)
        whole = whole_program(module, arguments)
        first = command.run(whole)
        if first.status == 0 or not command.is_same(first, first):
            raise CompileError(
                f"nothing to reduce: {' '.join(words[:3])} ... ended with status {first.status}"
                + (f" and without {args.match!r} in its output" if args.match else "")
            )
        small = reduce_program(
            module, arguments, lambda c: command.is_same(first, command.run(c)), args.tries
        )
    output = Path(args.output)
    write_candidate(small, output, output.with_suffix(".npz"))
    print(
        f"{whole.operations} operations, {len(arguments)} arguments reduced to "
        f"{small.operations}, {len(small.arguments)}: {output}, {output.with_suffix('.npz')}"
    )
    return 0


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
    add("--seed", type=int, help="random arguments")
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
