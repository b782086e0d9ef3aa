"""What a compilation leaves when the environment asks for it: its stage times, its phases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hlo import knobs
from hlo.diagnostics import CompileError


def report(
    name: str, stage_seconds: Mapping[str, float], labels: Sequence[str],
    text_at: Callable[[str], str],
) -> None:  # fmt: skip
    """Prints stage times under `HLO_TIMING` and writes every phase under `HLO_DUMP_DIR`.

    Args:
        name: of the program.
        labels: of the phases, in order.
        text_at: gives the program at the phase of a label.

    Raises:
        CompileError: the folder cannot be written.
    """
    wanted = knobs.current()
    if wanted.timing:
        sys.stderr.write(_timing_table(name, stage_seconds))
    if wanted.dump_dir is not None:
        _write_phases(wanted.dump_dir / name, labels, text_at)


def _timing_table(name: str, stage_seconds: Mapping[str, float]) -> str:
    rows = "".join(f"{seconds:10.4f}  {stage}\n" for stage, seconds in stage_seconds.items())
    return f"{name}: seconds of each stage\n{rows}{sum(stage_seconds.values()):10.4f}  total\n"


def _write_phases(folder: Path, labels: Sequence[str], text_at: Callable[[str], str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for order, label in enumerate(labels):
            (folder / f"{order}-{label}.mlir").write_text(text_at(label))
    except OSError as error:
        raise CompileError(f"cannot write the phases of a program: {error}") from error
