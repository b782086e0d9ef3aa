"""The first thing to run: a program goes through the reader and a pass, in under a second."""

from __future__ import annotations

from hlo import ir
from hlo.driver.pass_pipeline import parse_pipeline, run_pipeline
from hlo.importers import load_program

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "hlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "hlo.multiply"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def test_read_rewrite_print() -> None:
    module = load_program(PROGRAM)
    run_pipeline(module, parse_pipeline("cse"))
    ir.verify(module)
    assert str(module).count("hlo.add") == 1


def test_stablehlo_in_generic_form_needs_no_extra() -> None:
    module = load_program(PROGRAM.replace('"hlo.', '"stablehlo.'))
    assert "hlo.multiply" in str(module)
    assert "stablehlo" not in str(module)
