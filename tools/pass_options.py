"""The options of tools that let users add passes to the compiler's own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hlo.driver.added_passes import PHASE_LABELS, added_passes
from hlo.driver.command_line import UsageError
from hlo.passes.registry import load_passes


def add_pass_options(group: Any) -> None:
    """The options of a tool that let users add passes."""
    group.add_argument(
        "--load",
        action="append",
        default=[],
        type=Path,
        metavar="FILE.py",
        help="make the passes of a Python file known, repeatable",
    )
    group.add_argument(
        "--add-passes",
        action="append",
        default=[],
        metavar="PHASE:PIPELINE",
        help="run passes behind the compiler's own of a phase, repeatable: " + PHASE_LABELS,
    )


def given_passes(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """The passes that these options add; the files are loaded.

    Raises:
        UsageError: an option is malformed.
        CompileError: a file, phase, pass or option of a pass is at fault.
    """
    for path in args.load:
        load_passes(path)
    pairs = [text.partition(":") for text in args.add_passes]
    for text, (label, colon, pipeline) in zip(args.add_passes, pairs, strict=True):
        if not (label and colon and pipeline):
            raise UsageError(f"--add-passes: expected PHASE:PIPELINE, found {text!r}")
    return added_passes([(label, pipeline) for label, _, pipeline in pairs])
