"""Names of element types, and operations by name."""

from __future__ import annotations

import pytest

from hlo import ir


@pytest.mark.parametrize(
    "name",
    [
        "i1", "i4", "i32", "si8", "ui2", "ui64", "f16", "bf16", "f32", "f64", "f8E4M3FN",
        "f4E2M1FN", "complex<f32>", "complex<f64>", "index",
    ],
)  # fmt: skip
def test_a_name_is_what_the_printer_writes(name: str) -> None:
    context = ir.make_context()
    assert ir.types.name_of(ir.Type.parse(name, context)) == name


def test_operations_by_name_are_found_in_every_region() -> None:
    module = ir.parse_module("""module {
      func.func @main(%a: tensor<2xi32>, %z: tensor<i32>) -> tensor<i32> {
        %0 = "hlo.add"(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
        %1 = "hlo.reduce"(%0, %z) <{dimensions = array<i64: 0>}> ({
        ^bb0(%x: tensor<i32>, %y: tensor<i32>):
          %2 = "hlo.add"(%x, %y) : (tensor<i32>, tensor<i32>) -> tensor<i32>
          "hlo.return"(%2) : (tensor<i32>) -> ()
        }) : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
        return %1 : tensor<i32>
      }
    }""")
    found = ir.operations_named(module.operation, ("hlo.add", "hlo.reduce"))
    assert [op.name for op in found] == ["hlo.add", "hlo.reduce", "hlo.add"]
    assert found[2].parent == found[1]
    assert ir.operations_named(module.operation, ("hlo.subtract",)) == []
    found[2].results[0].replace_all_uses_with(found[1].regions[0].blocks[0].arguments[0])
    found[2].erase()
    left = ir.operations_named(module.operation, ("hlo.add",))
    assert [str(op) for op in left] == [str(found[0])]
