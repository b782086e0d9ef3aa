"""`hlo-bisect`: finds the pass that makes a program compute something else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hlo import __version__
from hlo.driver.arguments import entry_types
from hlo.driver.bisect_passes import CODE_GENERATION, Culprit, bisect_passes
from hlo.driver.command_line import (
    UsageError,
    read_input,
    run_tool,
    tolerance,
    whole_number,
    write_output,
)
from hlo.driver.comparison import Tolerance, compare_all
from hlo.driver.compile import compile as compile_program
from hlo.driver.pass_pipeline import parse_pipeline
from hlo.driver.phases import Phase
from hlo.driver.pipeline import PipelineChoice, passes_to
from hlo.driver.run_program import RunOptions, arguments_of
from hlo.importers.program import load_program
from hlo.reference.evaluate import evaluate
from hlo.tools.pass_options import add_pass_options, given_passes

_EPILOG = """\
examples:
  hlo-bisect wrong.mlir --seed=0
  hlo-bisect wrong.mlir --args=inputs.npz --before=before.mlir --after=after.mlir
  hlo-bisect wrong.mlir --seed=0 --pass-pipeline='simplify-ops,fuse'

The reference evaluator runs the program as it stands before and after passes. Exit status: 0 if no
pass changes the results and machine code gives them too, 1 if something does, 2 bad usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-bisect`."""
    args = _parser().parse_args(argv)
    return run_tool("hlo-bisect", lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    data = read_input(args.program)
    module = load_program(data, source_name=args.program)
    choice = RunOptions(
        program=args.program, argument_file=args.args, literals=tuple(args.arg), seed=args.seed
    )
    arguments = arguments_of(entry_types(module), module.context, choice)
    own = not args.pass_pipeline
    added = given_passes(args)
    if added and not own:
        raise UsageError(
            "--add-passes adds to the compiler's own passes: leave --pass-pipeline out"
        )
    pipeline = (
        passes_to(Phase.FUSED, PipelineChoice(added=added))
        if own
        else parse_pipeline(args.pass_pipeline)
    )
    allowed = Tolerance(args.rtol, args.atol)
    culprit = bisect_passes(module, arguments, pipeline, allowed)
    if culprit is None and own:
        with np.errstate(all="ignore"):
            expected = [np.asarray(r) for r in evaluate(module, list(arguments))]
        found = compile_program(data, passes=added)(*arguments)
        compared = tuple(compare_all(found, expected, allowed))
        if not all(c.matches for c in compared):
            culprit = Culprit(CODE_GENERATION, len(pipeline), "", "", compared)
    if culprit is None:
        print(f"the results are the same after each of {len(pipeline)} passes")
        return 0
    _report(culprit, args)
    return 1


def _report(culprit: Culprit, args: argparse.Namespace) -> None:
    if culprit.name == CODE_GENERATION:
        print(f"all {culprit.position} passes keep the results: machine code does not")
    else:
        print(f"pass {culprit.position} ({culprit.name}) changes the results")
    for index, comparison in enumerate(culprit.comparisons):
        if not comparison.matches:
            print(
                f"result {index}: {comparison.mismatches} of {comparison.elements} elements differ "
                f"{comparison.complaint}".rstrip()
            )
    for path, text in ((args.before, culprit.before), (args.after, culprit.after)):
        if path is not None and text:
            write_output(path, text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-bisect",
        description="Finds the pass that makes a program compute something else.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--version", action="version", version=f"hlo-bisect {__version__}")
    add("program", help="a program: .mlir text or bytecode; - for standard input")
    add("--args", type=Path, metavar="FILE", help="arguments, as for hlo-run")
    add("--arg", action="append", default=[], metavar="LITERAL", help="one argument, repeatable")
    add("--seed", type=whole_number, help="random arguments")
    add("--pass-pipeline", metavar="TEXT", help="passes to look at instead of the compiler's own")
    add_pass_options(parser)
    add("--rtol", type=tolerance, help="relative tolerance, instead of the dtype's")
    add("--atol", type=tolerance, default=0.0, help="absolute error that is always accepted")
    add("--before", metavar="FILE", help="write the program before the pass")
    add("--after", metavar="FILE", help="write the program after the pass")
    return parser


if __name__ == "__main__":
    sys.exit(main())
