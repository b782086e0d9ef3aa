"""Loops are opened where carries that stay in registers save time."""

from __future__ import annotations

import pytest

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
