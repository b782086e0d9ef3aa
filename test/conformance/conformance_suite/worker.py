"""A process that compiles and runs cases, one a line of its input.

A line is a folder and a name, as JSON; the answer is one line of JSON after `@@`. The process may
die or hang on a case: `pool` is prepared for that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conformance_suite.case_files import Case, read_case
from conformance_suite.verdicts import verdict

Run = Callable[..., Sequence[np.ndarray[Any, Any]]]
TARGET = "CONFORMANCE_TARGET"  # a GPU: its programs run on the emulated device
EMULATOR = "CONFORMANCE_EMULATOR"  # which one: ptx or fibers
ASSEMBLE = "CONFORMANCE_ASSEMBLE"  # chips, with commas: their code must go through ptxas, unspilled
_WORST_FIRST = ("mismatch", "loose", "pass")


def outcome_of(case: Case, compile_program: Callable[[str], Run]) -> dict[str, Any]:
    """Compiles, runs and compares one case.

    Returns:
        `status`: pass, loose, mismatch, compile_error or run_error; `info`; seconds of each stage.
    """
    start = time.perf_counter()
    try:
        run = compile_program(case.text)
    except Exception as error:
        return {"status": "compile_error", "info": f"{type(error).__name__}: {error}"[:400]}
    compiled = time.perf_counter()
    try:
        results = run(*case.arguments)
    except Exception as error:
        return {"status": "run_error", "info": f"{type(error).__name__}: {error}"[:400]}
    seconds = {
        "compile_s": round(compiled - start, 4),
        "run_s": round(time.perf_counter() - compiled, 6),
    }
    return {**_judge(case, results), **seconds}


def _judge(case: Case, results: Sequence[np.ndarray[Any, Any]]) -> dict[str, Any]:
    if len(results) != len(case.expected):
        info = f"expected {len(case.expected)} results, found {len(results)}"
        return {"status": "mismatch", "info": info}
    verdicts = [
        verdict(np.asarray(found), expected, check)
        for found, expected, check in zip(results, case.expected, case.checks, strict=True)
    ]
    statuses = {status for status, _ in verdicts}
    worst = next((status for status in _WORST_FIRST if status in statuses), "pass")
    return {"status": worst, "info": "; ".join(info for _, info in verdicts if info)[:300]}


def assembled_for(text: str, chips: Sequence[str]) -> None:
    """Assembles a program's kernels.

    Raises:
        CompileError: a chip's assembler refuses the code.
        SpillError: a kernel does not get by with the chip's registers.
    """
    import hlo
    from hlo.gpu.ptxas import assemble

    for chip in chips:
        program = hlo.compile(text, target=f"nvptx:{chip}")
        for module in program.plan.modules.values():
            kernels = assemble(module.ptx, chip).kernels
            if spilled := [name for name, taken in kernels.items() if taken.spills]:
                raise SpillError(f"{spilled[0]} spills registers on {chip}")


class SpillError(Exception):
    """A kernel that ptxas keeps some of its registers of in memory."""


def serve() -> None:
    """Answers lines until the input ends. Only answers go to standard output."""
    import hlo

    options: dict[str, Any] = {}
    if (target := os.environ.get(TARGET)) is not None:
        emulator = os.environ.get(EMULATOR, "ptx")
        options = {"target": target, "emulate": True, "emulator": emulator}
    chips = list(filter(None, os.environ.get(ASSEMBLE, "").split(",")))

    def compile_program(text: str) -> Run:
        assembled_for(text, chips)
        return hlo.compile(text, **options)

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        folder, name = json.loads(line)
        answer = {"name": name, **outcome_of(read_case(Path(folder), name), compile_program)}
        answers.write(f"@@{json.dumps(answer)}\n")
        answers.flush()


if __name__ == "__main__":
    serve()
