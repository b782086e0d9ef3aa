"""`hlo-translate`: programs to and from StableHLO."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from hlo import __version__, ir
from hlo.driver.command_line import run_tool
from hlo.driver.translate import TARGETS, TranslateOptions, run_translate

_EPILOG = """\
examples:
  hlo-translate --to=hlo model_from_jax.mlir -o model.mlir
  hlo-translate --to=stablehlo fused.mlir
  hlo-translate --to=portable-artifact --stablehlo-version=1.8.0 model.mlir -o model.bc
  hlo-translate --to=stablehlo-generic --locations - < model.mlir
  hlo-translate model_from_pytorch.pt2 -o model.mlir
  hlo-translate model.onnx -o model.mlir

The input is recognised: hlo or StableHLO, text, MLIR bytecode or a portable artifact. A file named
.pt2 is an archive of torch.export.save, one named .onnx an ONNX model; their parameters become the
first arguments. Exit status: 0 success, 1 the program cannot be read or written so, 2 bad usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-translate`."""
    args = _parser().parse_args(argv)
    options = TranslateOptions(
        input=args.input,
        output=args.output,
        target=args.to,
        version=args.stablehlo_version,
        locations=args.locations,
        read=_reader(args.input),
    )
    return run_tool("hlo-translate", lambda: run_translate(options))


def _reader(path: str) -> Callable[[bytes], ir.Module] | None:
    """What reads a file of another kind than a program, told by its name."""
    if path.endswith(".pt2"):
        return _read_archive
    if path.endswith(".onnx"):
        return lambda _: _read_onnx(path)  # by its path: tensors may lie beside it
    return None


def _read_archive(data: bytes) -> ir.Module:
    from hlo.pytorch import from_torch

    return from_torch(data).module


def _read_onnx(path: str) -> ir.Module:
    from hlo.onnx import from_onnx

    return from_onnx(path).module


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-translate",
        description="Translates programs between the hlo dialect and StableHLO.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--version", action="version", version=f"hlo-translate {__version__}")
    add("input", nargs="?", default="-", help="a program; standard input by default")
    add("--to", choices=TARGETS, default="hlo", help="the form to write (default: hlo)")
    add(
        "--stablehlo-version",
        metavar="X.Y.Z",
        help="the version a portable artifact is for (default: the newest)",
    )
    add("--locations", action="store_true", help="print locations")
    add(
        "-o",
        dest="output",
        default="-",
        metavar="FILE",
        help="where to write; standard output by default",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
