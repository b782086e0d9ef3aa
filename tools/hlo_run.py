"""`hlo-run`: compiles and runs a program, checks its results and times it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hlo import __version__, knobs
from hlo.driver.command_line import UsageError, run_tool, tolerance, whole_number
from hlo.driver.comparison import Tolerance
from hlo.driver.preconditions import EMULATORS
from hlo.driver.run_program import RunOptions, run_command
from hlo.tools.pass_options import add_pass_options, given_passes

_EPILOG = """\
examples:
  hlo-run chain.mlir --arg='f32[4]=1,2,3,4'
  hlo-run model.mlir --args=inputs.npz --check=jax --time=20 --json
  hlo-run model.mlir --spec=model.json --check=reference
  hlo-run model.mlir --seed=0 --time=100
  hlo-run model.mlir --seed=0 --profile
  hlo-run model.mlir --seed=0 --target=nvptx:sm_80 --emulate --check=reference

The program is hlo or StableHLO, text or bytecode; its entry is @main. Integers must match exactly;
floating point within 1e-4 relative for f32 and complex64, 1e-9 for f64, 1e-2 for f16, 4e-2 for
bf16 unless --rtol or --atol say otherwise. Exit status: 0 success and every checked result matches,
1 a mismatch or the program is at fault, 2 bad usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-run`."""
    args = _parser().parse_args(argv)
    return run_tool("hlo-run", lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    changes: dict[str, Any] = {"cache": args.cache, "cache_dir": args.cache_dir}
    with knobs.scope(**{name: value for name, value in changes.items() if value is not None}):
        return run_command(_options(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-run",
        description="Compiles a program, in the hlo dialect or StableHLO, and runs it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--version", action="version", version=f"hlo-run {__version__}")
    add("program", help="a program: .mlir text or bytecode; - for standard input")
    add("--target", default="cpu", help="what to compile for (default: cpu)")
    add(
        "--emulate",
        nargs="?",
        type=int,
        const=0,
        metavar="SCHEDULE",
        help="run a program for a GPU on the emulated device, which finds memory errors and races; "
        "blocks and warps run in order (0, the default), backwards (1) or at random (others)",
    )
    add(
        "--emulator",
        choices=EMULATORS,
        default="ptx",
        help="the emulated device: the interpreter of PTX (default), or the LLVM code that PTX is "
        "made from, as machine code with a fiber a thread: much faster, without a search for races",
    )
    add(
        "--cache",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="use the compilation cache (default: as HLO_CACHE says)",
    )
    add("--cache-dir", type=Path, metavar="DIR", help="the folder of the compilation cache")

    source = parser.add_argument_group("arguments of the program, one of")
    source.add_argument(
        "--args",
        type=Path,
        metavar="FILE",
        help=".npz with arg0, arg1, ..., or .npy with the only one",
    )
    source.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="LITERAL",
        help="one argument, repeatable: f32[2]=1,2 or dense<[1.0, 2.0]> : tensor<2xf32>",
    )
    source.add_argument(
        "--spec",
        type=Path,
        metavar="FILE",
        help="the program's NAME.json, which tells how to make them",
    )
    source.add_argument(
        "--seed", type=whole_number, help="random arguments of the right shapes and dtypes"
    )

    check = parser.add_argument_group("checking and timing")
    check.add_argument(
        "--check",
        choices=("reference", "jax"),
        help="compare with the reference evaluator or XLA:CPU",
    )
    check.add_argument(
        "--check-results", metavar="N,...", help="check only these results, by position"
    )
    check.add_argument(
        "--strict",
        action="store_true",
        help="count ill-conditioned elements too: those on which the peer's own result moves as "
        "far when its arguments change in the last bits",
    )
    check.add_argument(
        "--rtol",
        type=tolerance,
        help="relative tolerance for floating point, instead of the dtype's",
    )
    check.add_argument(
        "--atol",
        type=tolerance,
        default=0.0,
        help="absolute error that is always accepted (default: 0)",
    )
    check.add_argument(
        "--time", type=int, default=0, metavar="N", help="time N runs, in alternation with the peer"
    )
    check.add_argument(
        "--profile",
        nargs="?",
        type=int,
        default=0,
        const=20,
        metavar="N",
        help="print where the time goes, kernel by kernel, over N runs (20 by default)",
    )

    report = parser.add_argument_group("report")
    report.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    report.add_argument(
        "-o", dest="output", type=Path, metavar="FILE", help="save the results as .npz"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of hlo.compile, repeatable, such as threads=1",
    )
    add_pass_options(parser)
    return parser


def _options(args: argparse.Namespace) -> RunOptions:
    if args.time < 0:
        raise UsageError(f"--time: expected a number of runs, found {args.time}")
    if args.profile < 0:
        raise UsageError(f"--profile: expected a number of runs, found {args.profile}")
    return RunOptions(
        program=args.program,
        target=args.target,
        argument_file=args.args,
        literals=tuple(args.arg),
        specification=args.spec,
        seed=args.seed,
        check=args.check,
        checked_results=_positions(args.check_results),
        strict=args.strict,
        tolerance=Tolerance(args.rtol, args.atol),
        repetitions=args.time,
        profiled_runs=args.profile,
        json=args.json,
        output=args.output,
        compile_options=_compile_options(args),
    )


def _compile_options(args: argparse.Namespace) -> dict[str, Any]:
    options = dict(_compile_option(text) for text in args.option)
    if added := given_passes(args):
        options["passes"] = added
    if args.emulate is not None:
        options |= {"emulate": True, "emulator": args.emulator, "schedule": args.emulate}
    return options


def _positions(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.strip().isdigit() for word in words):
        raise UsageError(f"--check-results: expected positions such as 0,2, found {text!r}")
    return tuple(int(word) for word in words)


def _compile_option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--option: expected NAME=VALUE, found {text!r}")
    constants: dict[str, Any] = {"true": True, "false": False, "none": None}
    if value in constants:
        return name.replace("-", "_"), constants[value]
    return name.replace("-", "_"), int(value) if value.lstrip("-").isdigit() else value


if __name__ == "__main__":
    sys.exit(main())
