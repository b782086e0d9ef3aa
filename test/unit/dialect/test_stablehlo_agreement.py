"""The dialect has StableHLO's operations, and jaxlib's StableHLO accepts and returns its programs.

Each function of test/dialects/hlo/ops goes out as StableHLO, through jaxlib's parser and verifier,
and must come back as it was.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hlo import ir
from hlo.importers.stablehlo import export_stablehlo, import_stablehlo
from hlo.ir import ops

jaxlib_dialects = pytest.importorskip("jaxlib.mlir.dialects")

OPS = Path(__file__).resolve().parents[2] / "dialects" / "hlo" / "ops"
DECOMPOSITION = """
func.func private @decomposition(%a: tensor<f32>) -> tensor<f32> {
  return %a : tensor<f32>
}
"""
# Functions that StableHLO, or jaxlib's version of it, cannot hold as they are.
ONLY_HLO = {
    "collective_broadcast": "a dynamic root is newer than jaxlib",
    "collective_reduce": "newer than jaxlib",
    "copy": "layouts are dropped",
    "cross_replica_sum": "its name has no bare spelling",
    "fusion": "fusions are inlined",
    "subtract": "layouts are dropped",
}
# Of CHLO: implicit broadcasting, and constants, which are hlo.constant.
LEFT_OUT = re.compile(r"chlo\.(broadcast_\w+|constant_like|constant)")


def operation_names(module_name: str) -> set[str]:
    path = Path(jaxlib_dialects.__path__[0]) / f"_{module_name}_ops_gen.py"
    return set(re.findall(r'OPERATION_NAME = "([^"]+)"', path.read_text()))


def own_names() -> set[str]:
    classes = [value for value in vars(ops).values() if isinstance(value, type)]
    return {kind.OPERATION_NAME for kind in classes if hasattr(kind, "OPERATION_NAME")}


def test_every_stablehlo_operation_is_here() -> None:
    wanted = {f"hlo.{name.partition('.')[2]}" for name in operation_names("stablehlo")}
    assert wanted - own_names() == set()


def test_every_chlo_operation_is_here_and_is_exported_as_one() -> None:
    stablehlo = {name.partition(".")[2] for name in operation_names("stablehlo")}
    chlo = {name for name in operation_names("chlo") if not LEFT_OUT.fullmatch(name)}
    suffixes = {name.partition(".")[2] for name in chlo}
    assert {f"hlo.{suffix}" for suffix in suffixes - stablehlo} == set(ir.CHLO_OPS)
    assert own_names() >= ir.CHLO_OPS


def functions() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in sorted(OPS.glob("*.mlir")):
        module = ir.parse_module(path.read_text(), source_name=str(path))
        for operation in module.body.operations:
            if operation.operation.name != "func.func" or operation.is_external:
                continue
            name, text = operation.sym_name.value, str(operation)
            if name not in ONLY_HLO:
                found.append((name, text + DECOMPOSITION * ("@decomposition," in text)))
    return found


@pytest.mark.parametrize(("name", "text"), functions(), ids=lambda value: value.split("\n")[0][:40])
def test_programs_come_back_from_jaxlib(name: str, text: str) -> None:
    module = ir.parse_module(text, source_name=name)
    back = import_stablehlo(export_stablehlo(module, form="generic"))
    generic = module.operation.get_asm(print_generic_op_form=True)
    assert back.operation.get_asm(print_generic_op_form=True) == generic
