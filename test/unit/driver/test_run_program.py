"""Running, checking and timing a program; the reference evaluator stands in for compiled code."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlo import ir
from hlo.diagnostics import ArgumentError, CompileError
from hlo.driver.comparison import Tolerance
from hlo.driver.peers import OwnRunner, XlaPeer, make_peer
from hlo.driver.run_program import RunOptions, print_report, run_program
from hlo.driver.statistics import ProgramStatistics
from hlo.reference.evaluate import evaluate

PROGRAM = b"""
func.func @main(%x: tensor<3xf32>, %n: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %0 = "hlo.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = "hlo.multiply"(%n, %n) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0, %1 : tensor<3xf32>, tensor<3xi32>
}
"""
COUNTER = """
func.func @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32},
                %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
LITERALS = ("f32[3]=1,2,3", "i32[3]=4,5,6")
STATISTICS = ProgramStatistics(2, 1, 64, 24, 24, 0)
KEYS = {
    "name",
    "compile_s",
    "run_ms",
    "peer",
    "max_abs_err",
    "max_rel_err",
    "mismatches",
    "kernels",
    "arena_bytes",
    "argument_bytes",
    "result_bytes",
    "alias_bytes",
    "cache",
}


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """Compiled code as far as `run_program` can see; `spoil` changes its results."""

    module: ir.Module
    spoil: Callable[[list[np.ndarray]], None]
    statistics: ProgramStatistics = STATISTICS

    def __call__(self, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        results = [np.array(result) for result in evaluate(self.module, arguments)]
        self.spoil(results)
        return tuple(results)


def compiler(spoil: Callable[[list[np.ndarray]], None] = lambda results: None) -> Any:
    return lambda module, target: Evaluated(module, spoil)


def off_by_one(results: list[np.ndarray]) -> None:
    results[1][2] += 1


@pytest.mark.parametrize("check", ["jax", "reference"])
def test_results_that_match(check: str) -> None:
    options = RunOptions("p.mlir", literals=LITERALS, check=check, repetitions=3)
    report = run_program("p", PROGRAM, options, compiler())
    assert report.matches
    assert [result.tolist() for result in report.results] == [[2, 4, 6], [16, 25, 36]]
    found = json.loads(json.dumps(report.to_json()))
    assert set(found) == KEYS
    assert set(found["peer"]) == {"name", "compile_s", "run_ms"}
    assert found["mismatches"] == 0 and found["max_abs_err"] == 0.0
    assert found["run_ms"] > 0 and found["peer"]["run_ms"] > 0


def test_a_wrong_integer_is_a_mismatch() -> None:
    options = RunOptions("p.mlir", literals=LITERALS, check="reference")
    report = run_program("p", PROGRAM, options, compiler(off_by_one))
    assert not report.matches
    assert report.to_json()["mismatches"] == 1
    assert report.comparisons[1].complaint == "at [2] expected 36, found 37"


def test_only_the_results_asked_for_are_checked() -> None:
    options = RunOptions("p.mlir", literals=LITERALS, check="reference", checked_results=(0,))
    assert run_program("p", PROGRAM, options, compiler(off_by_one)).matches
    with pytest.raises(CompileError, match="there is no result 2"):
        bad = dataclasses.replace(options, checked_results=(2,))
        run_program("p", PROGRAM, bad, compiler())


def test_a_nan_is_null_in_json_and_a_mismatch() -> None:
    def spoil(results: list[np.ndarray]) -> None:
        results[0][0] = np.nan

    options = RunOptions("p.mlir", literals=LITERALS, check="reference", tolerance=Tolerance(1e3))
    report = run_program("p", PROGRAM, options, compiler(spoil))
    assert not report.matches
    assert report.to_json()["max_abs_err"] is None


def test_without_check_and_time_there_is_no_peer(capsys: pytest.CaptureFixture[str]) -> None:
    report = run_program("p", PROGRAM, RunOptions("p.mlir", literals=LITERALS), compiler())
    found = report.to_json()
    assert found["peer"] is None and found["run_ms"] is None and found["mismatches"] is None
    print_report(report)
    assert "result 0: float32[3] = [2. 4. 6.]" in capsys.readouterr().out


def test_arguments_come_from_one_place() -> None:
    with pytest.raises(ArgumentError, match="in one way"):
        run_program("p", PROGRAM, RunOptions("p", literals=LITERALS, seed=1), compiler())
    with pytest.raises(ArgumentError, match=r"takes 2 arguments \(float32\[3\], int32\[3\]\)"):
        run_program("p", PROGRAM, RunOptions("p"), compiler())
    with pytest.raises(ArgumentError, match="cannot read"):
        run_program("p", PROGRAM, RunOptions("p", argument_file=Path("/no/such.npz")), compiler())


def test_an_unknown_peer_is_an_error() -> None:
    with pytest.raises(CompileError, match="`jax` or `reference`"):
        make_peer("tpu", PROGRAM, [], {})


def test_xla_gets_donated_results_back_and_keeps_the_arguments_given() -> None:
    start, step = np.float32([1, 2]), np.float32([10, 20])
    peer = XlaPeer(COUNTER, [start, step], {0: 0})
    for _ in range(3):
        peer.prepare()
        peer.run()
    (result,) = peer.results()
    assert result.tolist() == [11, 22]
    assert start.tolist() == [1, 2]


def test_our_runs_carry_donated_results_too() -> None:
    def step(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        x += y
        return (x,)

    start = np.float32([1, 2])
    runner = OwnRunner(step, [start, np.float32([10, 20])], {0: 0})
    for _ in range(3):
        runner.prepare()
        runner.run()
    (result,) = runner.results()
    assert result.tolist() == [11, 22]
    assert start.tolist() == [1, 2]


def test_an_argument_donated_to_no_result_is_put_in_place_again() -> None:
    seen: list[float] = []

    def spend(x: np.ndarray) -> tuple[np.ndarray, ...]:
        seen.append(float(x))
        x[...] = -1
        return (np.zeros(1),)

    runner = OwnRunner(spend, [np.array(5.0)], {0: None})
    for _ in range(3):
        runner.prepare()
        runner.run()
    assert seen == [5.0, 5.0, 5.0]


def test_xla_rejects_what_it_does_not_compile() -> None:
    text = "func.func @main() -> tensor<f32> {\n  %0 = stablehlo.custom_call @nobody() : () -> tensor<f32>\n  return %0 : tensor<f32>\n}"  # noqa: E501
    with pytest.raises(CompileError, match="XLA does not compile the program"):
        XlaPeer(text, [], {}).run()
