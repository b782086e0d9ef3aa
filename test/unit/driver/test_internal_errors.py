"""Errors of the compiler's own in the command-line tools: what, in which pass, at which op."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hlo
from hlo import ir, knobs
from hlo.driver.command_line import EXIT_FAILURE, EXIT_INTERNAL, EXIT_USAGE, run_tool
from hlo.driver.made_program import Stopwatch
from hlo.driver.pass_pipeline import Instrumentation, run_pipeline
from hlo.passes.simplify.simplify_ops import SimplifyOps

PROGRAM = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "hlo.sine"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("model.py":7:3)
  return %0 : tensor<2xf32>
}
"""


def broken(*_: object) -> bool:
    module = ir.parse_module(PROGRAM)
    op = module.body.operations[0].operation.regions[0].blocks[0].operations[0].operation
    raise KeyError(f"no rule for {op.name}")


def test_a_tool_says_what_failed_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimplifyOps, "run", broken)
    module = ir.parse_module(PROGRAM)

    def body() -> int:
        run_pipeline(module, [SimplifyOps()], Instrumentation())
        return 0

    monkeypatch.setattr(sys, "argv", ["hlo-opt", "--simplify-ops", "my model.mlir"])
    assert run_tool("hlo-opt", body) == EXIT_INTERNAL
    text = capsys.readouterr().err
    assert "hlo-opt: internal error in 'simplify-ops': KeyError: 'no rule for hlo.sine'" in text
    assert "test_internal_errors.py:" in text and "in broken" in text
    assert "at 'hlo.sine' loc(\"model.py\":7:3)" in text
    assert "please report it with the program and `hlo-opt --simplify-ops 'my model.mlir'`" in text
    assert "Traceback" not in text
    with knobs.scope(traceback=True):
        assert run_tool("hlo-opt", body) == EXIT_INTERNAL
    assert "Traceback" in capsys.readouterr().err


def test_compile_keeps_the_exception_and_names_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimplifyOps, "run", broken)
    with pytest.raises(KeyError) as caught:
        hlo.compile(PROGRAM)
    assert caught.value.__dict__["hlo_stage"] == "simplify-ops"


def test_the_innermost_stage_counts() -> None:
    watch = Stopwatch()
    with pytest.raises(ValueError) as caught, watch.stage("outer"), watch.stage("inner"):
        raise ValueError
    assert caught.value.__dict__["hlo_stage"] == "inner"


def test_errors_of_a_program_are_left_alone() -> None:
    with pytest.raises(hlo.CompileError) as caught, Stopwatch().stage("import"):
        raise hlo.CompileError("yours")
    assert "hlo_stage" not in caught.value.__dict__


@pytest.mark.parametrize(
    "redirection, code, says",
    [
        (">&-", EXIT_USAGE, "cannot write to standard output: it is closed"),
        (">/dev/full", EXIT_USAGE, "cannot write the output: No space left on device"),
        ("<&-", EXIT_USAGE, "cannot read standard input: it is closed"),
    ],
)
def test_output_and_input_that_are_not_there(redirection: str, code: int, says: str) -> None:
    command = f"exec {sys.executable} -m hlo.tools.hlo_translate --to=hlo - {redirection}"
    program = "func.func @main() { return }"
    done = subprocess.run(
        ["sh", "-c", command], check=False, input=program, capture_output=True, text=True
    )
    assert done.returncode == code and done.stderr == f"hlo-translate: {says}\n"


def test_a_program_too_large_for_the_memory_is_no_error_of_the_compiler(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def body() -> int:
        return np.empty(1 << 60, np.int8).size

    assert run_tool("hlo-run", body) == EXIT_FAILURE
    assert "hlo-run: error: out of memory: Unable to allocate" in capsys.readouterr().err
