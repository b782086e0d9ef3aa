"""Loops are opened where carries that stay in registers save time."""

from __future__ import annotations

import pytest

import hlo
from hlo import ir
from hlo.passes.cost.unrolling import unrolling
from hlo.passes.hlo_to_loops.graph import region_of
from hlo.passes.rewrite.walk import body_of, functions


def _loop(size: int, op: str) -> str:
    kind = f"tensor<{size}xf32>"
    types = f"{kind} -> {kind}" if op.startswith("lgamma") else kind
    return f"""
    func.func @main(%x: {kind}) -> {kind} {{
      %0 = "hlo.while"(%x) ({{
      ^bb0(%a: {kind}):
        %t = hlo.constant dense<true> : tensor<i1>
        hlo.return %t : tensor<i1>
      }}, {{
      ^bb0(%a: {kind}):
        %1 = hlo.{op} : {types}
        hlo.return %1 : {kind}
      }}) : ({kind}) -> {kind}
      return %0 : {kind}
    }}"""


@pytest.mark.parametrize(
    ("size", "op", "nested", "pays"),
    [
        (1 << 24, "add %a, %a", True, True),  # 4 x 128 MiB less to and from memory
        (1 << 24, "lgamma %a", True, False),  # the time is that of the function
        (16, "add %a, %a", False, True),  # launches
        (16, "add %a, %a", True, False),  # within a loop they cost next to nothing
    ],
)
def test_what_pays(size: int, op: str, nested: bool, pays: bool) -> None:
    module = ir.parse_module(_loop(size, op))
    (loop,) = region_of(body_of(functions(module)["main"])).nodes
    found = unrolling(loop, 5, nested)
    assert found is not None
    assert found.pays == pays


def _counted(size: int, count: int, op: str) -> str:
    kind = f"tensor<{size}xf32>"
    return f"""
    func.func @main(%x: {kind}) -> {kind} {{
      %z = hlo.constant dense<0> : tensor<i32>
      %0:2 = hlo.while(%i = %z, %a = %x) : tensor<i32>, {kind}
       cond {{
        %n = hlo.constant dense<{count}> : tensor<i32>
        %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        %one = hlo.constant dense<1> : tensor<i32>
        %next = hlo.add %i, %one : tensor<i32>
        %b = hlo.{op} %a : {kind}
        %d = hlo.add %b, %x : {kind}
        hlo.return %next, %d : tensor<i32>, {kind}
      }}
      return %0#1 : {kind}
    }}"""


@pytest.mark.parametrize(
    ("size", "count", "op", "verdict", "why"),
    [
        (8, 2, "tanh", "opened", "ops, no more than 32"),
        (1 << 20, 10, "negate", "opened", "us as one kernel: enough is saved"),
        (1 << 16, 10, "tan", "kept", "us as one kernel: not enough is saved"),
        (1 << 20, 100, "negate", "kept", "those of more than 24 iterations stay"),
    ],
)
def test_reports_say_why_a_loop_is_open(
    size: int, count: int, op: str, verdict: str, why: str
) -> None:
    report = hlo.compile(_counted(size, count, op)).explain()
    (choice,) = [c for c in report.choices if c.kernel.startswith("while")]
    assert choice.reason.startswith(f"{verdict}: it runs {count} times; ")
    assert why in choice.reason
    assert f"{choice.kernel}: {choice.reason}" in report.as_text()
