"""Pipelines as text, and what happens around each pass."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.pass_pipeline import (
    Instrumentation,
    PassFailedError,
    PipelineError,
    make_element,
    parse_pipeline,
    run_pipeline,
)
from hlo.passes.base import Pass
from hlo.passes.upstream import UpstreamPass, nested_pipeline

PROGRAM = """
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""


@dataclass(frozen=True)
class RenameEntry(Pass):
    """Renames @main; says what it is told to say."""

    claim: bool = True

    def run(self, module: ir.Module) -> bool:
        function = module.body.operations[0].operation
        with module.context:
            function.attributes["sym_name"] = ir.StringAttr.get("renamed")
        return self.claim


def module() -> ir.Module:
    return ir.parse_module(PROGRAM, ir.make_context())


def test_elements_with_options_and_nesting() -> None:
    text = "canonicalize{max-iterations=3 top-down=false}, cse,func.func(canonicalize,cse{})"
    assert parse_pipeline(text) == [
        UpstreamPass("canonicalize", "max-iterations=3 top-down=false"),
        UpstreamPass("cse"),
        UpstreamPass("func.func(canonicalize,cse{})"),
    ]


@pytest.mark.parametrize("text", ["cse{", "cse,,cse", "cse}", "cse cse", "{a=b}", "f(cse"])
def test_malformed_text(text: str) -> None:
    with pytest.raises(PipelineError):
        parse_pipeline(text)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("no-such-pass", "", "there is no pass 'no-such-pass'"),
        ("canonicalize", "bogus=1", "no such option bogus"),
        ("func.func(no-such-pass)", "", "there is no pass"),
    ],
)
def test_unknown_passes_and_options_are_errors(name: str, options: str, reason: str) -> None:
    with pytest.raises(CompileError, match=reason):
        make_element(name, options)


def test_upstream_passes_are_nested_as_they_need() -> None:
    assert nested_pipeline("cse") == "builtin.module(cse)"
    assert (
        nested_pipeline("llvm-request-c-wrappers")
        == "builtin.module(func.func(llvm-request-c-wrappers))"
    )
    assert (
        nested_pipeline("convert-gpu-to-nvvm") == "builtin.module(gpu.module(convert-gpu-to-nvvm))"
    )


def test_passes_run_in_order_and_are_timed() -> None:
    program = module()
    timings = run_pipeline(program, [UpstreamPass("cse"), RenameEntry()])
    assert [(timing.name, timing.changed) for timing in timings] == [
        ("cse", True),
        ("rename-entry", True),
    ]
    assert str(program).count("arith.addi") == 1
    assert "@renamed" in str(program)


def test_a_false_claim_of_no_change_is_found() -> None:
    watch = Instrumentation(check_changed=True)
    with pytest.raises(PassFailedError, match=r"'rename-entry' .* says that it changed nothing"):
        run_pipeline(module(), [RenameEntry(claim=False)], watch)


def test_passes_are_disabled_by_name_and_occurrence() -> None:
    twice = [UpstreamPass("cse"), RenameEntry(), UpstreamPass("cse")]
    names = [
        t.name for t in run_pipeline(module(), twice, Instrumentation(disabled=frozenset({"cse"})))
    ]
    assert names == ["rename-entry"]
    names = [
        t.name
        for t in run_pipeline(module(), twice, Instrumentation(disabled=frozenset({"cse:2"})))
    ]
    assert names == ["cse", "rename-entry"]


def test_broken_ir_is_reported_after_the_pass_that_broke_it() -> None:
    @dataclass(frozen=True)
    class DropReturn(Pass):
        """Leaves a function without terminator."""

        def run(self, module: ir.Module) -> bool:
            list(module.body.operations[0].operation.regions[0].blocks[0])[-1].operation.erase()
            return True

    with pytest.raises(PassFailedError, match=r"failed after pass 'drop-return' \(number 2"):
        run_pipeline(module(), [UpstreamPass("cse"), DropReturn()])
