"""`hlo-opt`: runs passes on a program and prints it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hlo import __version__
from hlo.driver.command_line import UsageError, run_tool
from hlo.driver.gpu_output import GpuOutput
from hlo.driver.late_phases import is_late
from hlo.driver.opt import OptOptions, run_opt
from hlo.driver.pass_listing import list_passes, show_pipeline
from hlo.driver.pass_pipeline import PipelineElement, make_element, parse_pipeline
from hlo.driver.phases import Phase
from hlo.driver.pipeline import PipelineChoice, passes_to
from hlo.driver.reports import Reports
from hlo.tools.pass_options import add_pass_options, given_passes

_EPILOG = """\
Passes run in this order: those of --compile-to, those of --pass-pipeline, then --PASS options as
they stand. A pass's own options go in quotes:

  hlo-opt --simplify --fuse='max-ops=10' model.mlir
  hlo-opt --pass-pipeline='simplify,fuse{max-ops=10},canonicalize' model.mlir
  hlo-opt --compile-to=fused model.mlir -o fused.mlir
  jax_program | hlo-opt --compile-to=simplified --print-ir-after=simplify
  hlo-opt --load=my_pass.py --add-passes=simplified:my-pass --compile-to=fused model.mlir

A report takes the place of the program: it is compiled as `hlo.compile` would, after the passes.

  hlo-opt --explain-fusion model.mlir
  hlo-opt --explain-memory --view-memory=memory.html --view-graph=graph.html model.mlir

For a GPU the program is compiled after the passes, up to what --emit says.

  hlo-opt --target=nvptx:sm_90 --emit=ptx model.mlir
  hlo-opt --target=nvptx:sm_90 --roofline=h100 model.mlir

The input is hlo or StableHLO, text or bytecode. Exit status: 0 success, 1 the program or a pass
failed, 2 bad usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-opt`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_tool("hlo-opt", lambda: _run(arguments))


def _run(argv: list[str]) -> int:
    parser = _parser()
    own, pass_words = _split_pass_words(parser, argv)
    args = parser.parse_args(own)
    choice = PipelineChoice(
        fast=args.fast, memory_first=args.memory_first, added=given_passes(args)
    )
    if args.list_passes:
        print(list_passes(), end="")
        return 0
    reports = _reports(args, choice)
    if reports.any and args.compile_to:
        raise UsageError("a report compiles the program itself: leave --compile-to out")
    pipeline = _pipeline(args, pass_words, choice)
    if args.show_pipeline:
        print(show_pipeline(pipeline), end="")
        return 0
    return run_opt(
        OptOptions(
            input=args.input,
            output=args.output,
            pipeline=tuple(pipeline),
            split_input_file=args.split_input_file,
            verify_diagnostics=args.verify_diagnostics,
            verify_each=args.verify_each,
            check_changed=args.check_changed,
            disabled_passes=_names(args.disable_pass),
            print_before=_names(args.print_ir_before),
            print_after=_names(args.print_ir_after),
            print_after_all=args.print_ir_after_all,
            print_after_change=args.print_ir_after_change,
            dump_dir=args.dump_dir,
            timing=args.timing,
            generic=args.generic,
            locations=args.locations,
            elide_elements=args.elide_elements,
            emit_bytecode=args.emit_bytecode,
            late_phase=_late_phase(args),
            gpu=GpuOutput(args.target, args.emit, args.roofline, args.tf32)
            if args.target
            else None,
            reports=reports,
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-opt",
        description="Runs passes on a program in the hlo dialect or StableHLO, and prints it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="hlo-opt [options] [--PASS[='key=value ...']]... [input]",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"hlo-opt {__version__}")
    add(
        "input",
        nargs="?",
        default="-",
        help="a program: .mlir text or bytecode; standard input by default",
    )
    add(
        "-o",
        dest="output",
        default="-",
        metavar="FILE",
        help="where to write; standard output by default",
    )
    add("--emit-bytecode", action="store_true", help="write MLIR bytecode instead of text")
    add("--generic", action="store_true", help="print operations in generic form")
    add("--locations", action="store_true", help="print locations")
    add(
        "--elide-elements",
        type=int,
        metavar="N",
        help="leave out constants of more than N elements",
    )

    group = parser.add_argument_group("passes")
    group.add_argument("--pass-pipeline", metavar="TEXT", help="passes as text: 'a,b{key=value}'")
    group.add_argument(
        "--compile-to",
        metavar="PHASE",
        help="the compiler's own passes up to a phase: "
        + ", ".join(phase.label for phase in Phase),
    )
    group.add_argument(
        "--fast",
        action="store_true",
        help="let the compiler's own passes change how floats round, and take them for finite",
    )
    group.add_argument(
        "--memory-first",
        action="store_true",
        help="take the order of ops that needs the least memory, though it be slower",
    )
    group.add_argument(
        "--list-passes", action="store_true", help="print every pass with its options, and exit"
    )
    group.add_argument(
        "--show-pipeline", action="store_true", help="print the passes that would run, and exit"
    )
    group.add_argument(
        "--disable-pass",
        action="append",
        default=[],
        metavar="NAME[:N]",
        help="leave a pass out, or only its N-th occurrence",
    )
    add_pass_options(group)

    watch = parser.add_argument_group("watching")
    for when in ("before", "after"):
        watch.add_argument(
            f"--print-ir-{when}",
            action="append",
            default=[],
            metavar="PASS",
            help=f"print the program {when} a pass, on standard error",
        )
    watch.add_argument(
        "--print-ir-after-all", action="store_true", help="print it after every pass"
    )
    watch.add_argument(
        "--print-ir-after-change", action="store_true", help="print it after passes that change it"
    )
    watch.add_argument(
        "--dump-dir", type=Path, metavar="DIR", help="write the program after each pass to files"
    )
    watch.add_argument(
        "--timing", action="store_true", help="print how long each pass took, on standard error"
    )

    gpu = parser.add_argument_group("GPUs")
    gpu.add_argument(
        "--target",
        metavar="nvptx:CHIP",
        help="compile for a GPU and print what --emit says",
    )
    gpu.add_argument(
        "--emit",
        default="plan",
        metavar="FORM",
        help="plan (default), plan-json, gpu (the kernels), llvm, ptx, or cubin, which needs ptxas",
    )
    gpu.add_argument(
        "--roofline",
        default="",
        metavar="GPU",
        help="print registers, spills, occupancy and the least time of each launch on a100, h100, "
        "...",
    )
    gpu.add_argument(
        "--tf32",
        action="store_true",
        help="multiply f32 on tensor cores, rounded to tf32, where no precision is asked for",
    )
    _add_reports(parser)
    checks = parser.add_argument_group("checks")
    checks.add_argument(
        "--verify-each",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the verifier after each pass that changed something (default)",
    )
    checks.add_argument(
        "--check-changed",
        action="store_true",
        help="check what each pass says about having changed the program",
    )
    checks.add_argument(
        "--split-input-file",
        action="store_true",
        help="treat the parts between `// -----` lines as programs",
    )
    checks.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="succeed if exactly the errors of the `// expected-error {{...}}` comments come up",
    )
    return parser


def _add_reports(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    group.add_argument(
        "--explain-fusion",
        action="store_true",
        help="print every fusion decision with its reason, the kernels, and the bytes they move",
    )
    group.add_argument(
        "--explain-memory",
        action="store_true",
        help="print the memory plan: totals, donations, copies with their reasons, buffers",
    )
    group.add_argument(
        "--print-live-ranges", action="store_true", help="print when each buffer lives, and where"
    )
    group.add_argument(
        "--view-graph",
        type=Path,
        metavar="FILE",
        help="draw the fused graph; FILE ends in .html or .svg",
    )
    group.add_argument(
        "--view-memory", type=Path, metavar="FILE", help="draw the memory plan as an HTML page"
    )
    group.add_argument(
        "--report-json", action="store_true", help="print reports as JSON instead of text"
    )
    group.add_argument(
        "--no-reuse", action="store_true", help="give every buffer memory of its own"
    )
    group.add_argument(
        "--max-bytes",
        type=int,
        default=0,
        metavar="N",
        help="reports are of the program that needs at most N bytes: arguments, results and "
        "intermediates, which are made again for it",
    )
    group.add_argument(
        "--donate",
        default="",
        metavar="N,...",
        help="arguments whose memory results may take over",
    )


def _reports(args: argparse.Namespace, choice: PipelineChoice) -> Reports:
    try:
        donate = tuple(int(word) for word in args.donate.split(",") if word)
    except ValueError as error:
        raise UsageError(
            f"--donate: expected numbers of arguments, found {args.donate!r}"
        ) from error
    if args.view_graph and args.view_graph.suffix not in (".html", ".svg"):
        raise UsageError(f"--view-graph: expected a .html or .svg file, found {args.view_graph}")
    return Reports(
        explain_fusion=args.explain_fusion,
        explain_memory=args.explain_memory,
        print_live_ranges=args.print_live_ranges,
        view_graph=args.view_graph,
        view_memory=args.view_memory,
        reuse=not args.no_reuse,
        donate=donate,
        choice=choice,
        max_bytes=args.max_bytes,
        json=args.report_json,
    )


def _split_pass_words(
    parser: argparse.ArgumentParser, argv: list[str]
) -> tuple[list[str], list[str]]:
    """Separates the tool's own words from `--PASS[=OPTIONS]` words."""
    known = {option for action in parser._actions for option in action.option_strings}  # pyright: ignore[reportPrivateUsage]
    own: list[str] = []
    passes: list[str] = []
    for word in argv:
        name = word.partition("=")[0]
        if name.startswith("--") and len(name) > 2 and name not in known:
            passes.append(word[2:])
        else:
            own.append(word)
    return own, passes


def _pipeline(
    args: argparse.Namespace, pass_words: list[str], choice: PipelineChoice
) -> list[PipelineElement]:
    elements: list[PipelineElement] = []
    if args.compile_to:
        elements += passes_to(Phase.parse(args.compile_to), choice)
    if args.pass_pipeline:
        elements += parse_pipeline(args.pass_pipeline)
    for word in pass_words:
        name, _, options = word.partition("=")
        elements.append(make_element(name, options))
    return elements


def _late_phase(args: argparse.Namespace) -> Phase | None:
    phase = Phase.parse(args.compile_to) if args.compile_to else Phase.INPUT
    return phase if is_late(phase) else None


def _names(values: Sequence[str]) -> frozenset[str]:
    return frozenset(name for value in values for name in value.split(",") if name)


if __name__ == "__main__":
    sys.exit(main())
