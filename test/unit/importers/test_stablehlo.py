"""StableHLO in every form comes in, and goes out again as jaxlib reads it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlo import ir
from hlo.diagnostics import CompileError, MissingExtraError, ParseError, VerificationError
from hlo.importers import (
    export_stablehlo,
    from_jax,
    import_stablehlo,
    jaxlib_bridge,
    load_program,
)
from hlo.ir.constants import to_numpy

ROOT = Path(__file__).resolve().parents[3]
PRETTY = """
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true}) -> (tensor<2xf32> {jax.result_info = "out"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = chlo.erf %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = call @private(%1) : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func private @private(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "stablehlo.add #stablehlo<x>"} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""  # noqa: E501


def operation_names(module: ir.Module) -> list[str]:
    names: list[str] = []

    def visit(operation: Any) -> None:
        names.append(operation.name)
        for region in operation.regions:
            for block in region:
                for nested in block:
                    visit(nested.operation)

    visit(module.operation)
    return names


def forms() -> dict[str, str | bytes]:
    parsed = jaxlib_bridge.parse(PRETTY, "-", jaxlib_bridge.make_context())
    return {
        "pretty": PRETTY,
        "generic": jaxlib_bridge.print_generic(parsed),
        "bytecode": jaxlib_bridge.bytecode(parsed),
        "portable artifact": jaxlib_bridge.portable_artifact(parsed, None),
        "old portable artifact": jaxlib_bridge.portable_artifact(parsed, "1.9.0"),
    }


@pytest.mark.parametrize("form", list(forms()))
def test_every_form_gives_the_same_program(form: str) -> None:
    module = load_program(forms()[form])
    names = operation_names(module)
    expected = {
        "func.func",
        "func.call",
        "hlo.constant",
        "hlo.reduce",
        "hlo.add",
        "hlo.custom_call",
    }
    assert expected <= set(names)
    text = str(module)
    assert "stablehlo.add #stablehlo<x>" in text  # A string attribute is not touched.
    assert "jax.result_info" in text and "mhlo.num_partitions" in text


def test_what_is_exported_is_what_was_imported() -> None:
    exported = export_stablehlo(load_program(PRETTY))
    again = export_stablehlo(load_program(exported))
    assert exported == again
    assert "chlo.erf" in exported
    assert 'backend_config = "stablehlo.add #stablehlo<x>"' in exported


@pytest.mark.parametrize("form", ["bytecode", "portable-artifact"])
def test_exported_bytes_can_be_read_back(form: Any) -> None:
    data: Any = export_stablehlo(load_program(PRETTY), form=form)
    assert isinstance(data, bytes)
    assert "hlo.reduce" in operation_names(load_program(data))


def test_locations_are_kept() -> None:
    text = PRETTY.replace("-> tensor<2x3xf32>\n", '-> tensor<2x3xf32> loc("model.py":7:2)\n', 1)
    module = import_stablehlo(text)
    printed = str(module.operation.get_asm(enable_debug_info=True))
    assert '"model.py":7:2' in printed
    assert '"program.mlir":5:10' in str(
        import_stablehlo(PRETTY, source_name="program.mlir").operation.get_asm(
            enable_debug_info=True
        )
    )


def test_fusions_are_inlined_and_layouts_dropped() -> None:
    module = load_program(
        """
        func.func @main(%x: tensor<2x3xf32, #hlo.layout<[0, 1]>>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>> {
          %0 = "hlo.fusion"(%x) <{kind = "loop", name = "f"}> ({
          ^bb0(%a: tensor<2x3xf32, #hlo.layout<[0, 1]>>):
            %1 = "hlo.sine"(%a) : (tensor<2x3xf32, #hlo.layout<[0, 1]>>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>>
            %2 = "hlo.abs"(%1) : (tensor<2x3xf32, #hlo.layout<[0, 1]>>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>>
            "hlo.return"(%2) : (tensor<2x3xf32, #hlo.layout<[0, 1]>>) -> ()
          }) : (tensor<2x3xf32, #hlo.layout<[0, 1]>>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>>
          return %0 : tensor<2x3xf32, #hlo.layout<[0, 1]>>
        }"""  # noqa: E501
    )
    exported = export_stablehlo(module)
    assert "stablehlo.sine" in exported and "stablehlo.abs" in exported
    assert "fusion" not in exported and "layout" not in exported
    assert "hlo.fusion" in operation_names(module)  # The module given is not changed.


def test_large_constants_come_in_bit_for_bit() -> None:
    values = np.random.default_rng(0).standard_normal(1 << 16).astype(np.float32)
    values[:3] = [np.nan, -0.0, np.inf]
    blob = values.tobytes().hex().upper()
    module = import_stablehlo(
        "func.func @main() -> tensor<65536xf32> {\n"
        f'  %0 = stablehlo.constant dense<"0x{blob}"> : tensor<65536xf32>\n'
        "  return %0 : tensor<65536xf32>\n}"
    )
    (constant,) = [
        view.operation
        for view in module.body.operations[0].operation.regions[0].blocks[0]
        if view.operation.name == "hlo.constant"
    ]
    found = to_numpy(constant.attributes["value"])
    assert found.tobytes() == values.tobytes()


def test_shardy_annotations_are_taken_out() -> None:
    text = """
    module {
      sdy.mesh @mesh = <["x"=2]>
      func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
          -> tensor<4xf32> {
        %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
        %1 = stablehlo.abs %0 : tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    }"""
    module = import_stablehlo(text)
    assert "sdy" not in str(module)
    assert "hlo.abs" in operation_names(module)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("module {", ParseError),
        ("func.func @f() { stablehlo.nonsense }", ParseError),
        ("func.func @f() { %0 = stablehlo.add %a, %b : tensor<f32> }", ParseError),
        (b"ML\xefR", ParseError),
        (b"ML\xefR\rStableHLO_v99.0.0\x00", ParseError),
        (b"\xff\xfe\x00", ParseError),
        (Path("/no/such/program.mlir"), ParseError),
        (
            "func.func @f() { %0 = stablehlo.constant dense<-1.0e400> : tensor<f6E2M3FN> }",
            ParseError,
        ),
        ("func.func @f() { %0 = hlo.constant dense<1.0e+400> : tensor<f4E2M1FN> }", ParseError),
        ('func.func @f() { %0 = hlo.constant dense<[1, "x"]> : tensor<2xi64> }', ParseError),
        (
            'func.func @f() { %0 = stablehlo.constant dense<[[1], ["x"]]> : tensor<2x1xi64> }',
            ParseError,
        ),
        (
            "func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {\n"
            '  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n'
            "  return %0 : tensor<2xf32>\n}",
            VerificationError,
        ),
    ],
)
def test_malformed_programs_are_errors(program: Any, error: type[CompileError]) -> None:
    with pytest.raises(error):
        load_program(program)


@pytest.mark.parametrize("form", ["bytecode", "portable artifact"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_truncated_bytes_are_errors(form: str, kept: float) -> None:
    data = forms()[form]
    assert isinstance(data, bytes)
    with pytest.raises(CompileError):
        load_program(data[: int(len(data) * kept)])


def test_other_types_are_type_errors() -> None:
    with pytest.raises(TypeError, match="found int"):
        load_program(3)


def test_without_jaxlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    jaxlib_bridge._loaded_dialects.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(sys.modules, "jaxlib.mlir", None)
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'hlo\[jax\]'"):
            load_program(PRETTY)
        generic = 'func.func @main(%a: tensor<f32>) -> tensor<f32> {\n  %0 = "stablehlo.abs"(%a) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}'  # noqa: E501
        assert "hlo.abs" in operation_names(load_program(generic))
    finally:
        jaxlib_bridge._loaded_dialects.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_from_jax() -> None:
    def function(x: Any, y: Any) -> Any:
        return jnp.sin(x) @ y, {"sum": x.sum()}

    module = from_jax(
        function, np.zeros((2, 3), np.float32), jax.ShapeDtypeStruct((3, 4), np.float32)
    )
    names = operation_names(module)
    assert {"hlo.sine", "hlo.dot_general", "hlo.reduce"} <= set(names)
    assert __file__ in str(module.operation.get_asm(enable_debug_info=True))


def test_a_lowered_jax_module_is_a_program() -> None:
    lowered = jax.jit(lambda x: x + 1).lower(np.zeros(2, np.float32))
    assert "hlo.add" in operation_names(load_program(lowered.compiler_ir("stablehlo")))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks" / "programs").glob("*.mlir")), ids=lambda path: path.stem
)
def test_real_programs_come_back_as_they_were(path: Path) -> None:
    def without_value_names(text: str) -> str:
        return re.sub(r"%\w+", "%", text)

    given = jaxlib_bridge.parse(path.read_text(), "-", jaxlib_bridge.make_context())
    expected = jaxlib_bridge.print_generic(given, locations=False)
    exported = export_stablehlo(load_program(path), form="generic")
    assert without_value_names(exported) == without_value_names(expected)
