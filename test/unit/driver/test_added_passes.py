"""Passes of other files: how they are found, where they run, and what is said of those at fault."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import hlo
from hlo import ir
from hlo.driver.added_passes import added_passes
from hlo.driver.pass_pipeline import PassFailedError
from hlo.driver.phases import Phase
from hlo.driver.pipeline import PipelineChoice, passes_to
from hlo.passes.registry import all_passes, find_pass, load_passes, register
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.walk import expand

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.cosine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
X = np.array([0.0, 0.5, 1.0, 2.0], np.float32)
SINE_FILE = '''
from dataclasses import dataclass

from hlo import Pass
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class LoadedSine(Pass):
    """Makes cosines what `function` says."""

    function: str = "sine"

    def run(self, module):
        made = lambda op, builder: [builder.unary(self.function, op.operands[0])]
        return expand(module, {"hlo.cosine": made})
'''


@dataclass(frozen=True)
class CosineToSine(hlo.Pass):
    """Makes cosines sines."""

    def run(self, module: ir.Module) -> bool:
        return expand(module, {"hlo.cosine": lambda op, b: [b.unary("sine", op.operands[0])]})


@dataclass(frozen=True)
class CosineToBroadcast(hlo.Pass):
    """Makes a cosine what legalization takes apart."""

    def run(self, module: ir.Module) -> bool:
        def broadcast(op: ir.Operation, builder: Builder) -> list[ir.Value]:
            sizes = {"broadcast_sizes": builder.integers([])}
            return [builder.one("broadcast", op.operands, op.operands[0].type, sizes)]

        return expand(module, {"hlo.cosine": broadcast})


@dataclass(frozen=True)
class WrongType(hlo.Pass):
    """Leaves IR that does not verify."""

    def run(self, module: ir.Module) -> bool:
        def wrong(op: ir.Operation, builder: object) -> None:
            op.attributes["extra"] = ir.UnitAttr.get(op.context)
            function = op.parent
            assert function is not None
            function.attributes["sym_name"] = ir.UnitAttr.get(op.context)

        return not expand(module, {"hlo.cosine": wrong})


@pytest.mark.parametrize("phase", ["input", "legalized", "simplified"])
def test_a_pass_runs_behind_the_phase(phase: str) -> None:
    compiled = hlo.compile(PROGRAM, passes={phase: [CosineToSine()]})
    np.testing.assert_allclose(compiled(X)[0], np.sin(X), rtol=1e-6)
    assert "hlo.sine" in compiled.as_text(phase)
    assert "hlo.sine" in compiled.as_text("fused")
    assert "sine" in compiled.explain().as_text()


def test_what_no_kernel_computes_is_refused_by_name() -> None:
    assert (
        hlo.compile(PROGRAM, passes={"input": [CosineToBroadcast()]})(X)[0].tolist() == X.tolist()
    )
    with pytest.raises(hlo.CompileError, match=r"hlo\.broadcast"):
        hlo.compile(PROGRAM, passes={"simplified": [CosineToBroadcast()]})


def test_passes_may_be_text() -> None:
    compiled = hlo.compile(PROGRAM, passes={"input": [CosineToSine(), "canonicalize"]})
    assert compiled.options.passes == (("input", "cosine-to-sine,canonicalize"),)


@dataclass(frozen=True)
class Choosy(hlo.Pass):
    """Has options whose text is not plain."""

    word: str = ""
    count: int | None = 3

    def run(self, module: ir.Module) -> bool:
        return False


@pytest.mark.parametrize(
    "given", [Choosy("two words"), Choosy("a,b", None), Choosy("it's"), Choosy("", 4)]
)
def test_a_pass_comes_back_from_its_text(given: Choosy) -> None:
    added = added_passes({"input": given})
    assert passes_to(Phase.INPUT, PipelineChoice(added=added)) == [given]


def test_a_jitted_function_takes_them() -> None:
    import hlo.numpy as hnp

    def f(x: np.ndarray) -> np.ndarray:
        return hnp.cos(x)

    found = hlo.jit(f, passes={"simplified": CosineToSine()})(X)
    np.testing.assert_allclose(found, np.sin(X), rtol=1e-6)


def test_the_cache_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLO_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        compiled = hlo.compile(PROGRAM, passes={"simplified": [CosineToSine()]})
        assert not compiled.from_cache
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_program_with_passes_is_saved() -> None:
    compiled = hlo.compile(PROGRAM, passes={"simplified": [CosineToSine()]})
    again = pickle.loads(pickle.dumps(compiled))
    assert again.options.passes == compiled.options.passes
    np.testing.assert_array_equal(again(X)[0], compiled(X)[0])
    assert "hlo.sine" in again.as_text("fused")


def test_a_gpu_program_takes_them() -> None:
    compiled = hlo.compile(PROGRAM, target="nvptx:sm_80", passes={"simplified": [CosineToSine()]})
    assert "hlo.sine" in compiled.as_text("fused")


def test_ir_that_does_not_verify_names_the_pass() -> None:
    with pytest.raises(PassFailedError, match="failed after pass 'wrong-type'"):
        hlo.compile(PROGRAM, passes={"input": [WrongType()]})


def test_passes_of_a_file_are_known_by_name(tmp_path: Path) -> None:
    file = tmp_path / "sines.py"
    file.write_text(SINE_FILE)
    (loaded,) = load_passes(file)
    assert find_pass("loaded-sine") is loaded
    assert all_passes()["loaded-sine"] is loaded
    compiled = hlo.compile(PROGRAM, passes={"simplified": "loaded-sine{function=tanh}"})
    np.testing.assert_allclose(compiled(X)[0], np.tanh(X), rtol=1e-6)
    file.write_text(SINE_FILE.replace('= "sine"', '= "tanh"'))
    load_passes(file)
    assert passes_to(Phase.INPUT, PipelineChoice(added=added_passes({"input": "loaded-sine"}))) == [
        find_pass("loaded-sine")(function="tanh")  # type: ignore[misc]
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"file.py: SyntaxError"),
        ("\nimport no_such_module", r"file.py: line 2: ModuleNotFoundError"),
        ("x = 1", r"file.py: expected subclasses of hlo.Pass, found none"),
        (
            "from hlo import Pass\nclass Schedule(Pass):\n  run = None",
            r"hlo itself has a pass 'schedule'",
        ),
    ],
)  # fmt: skip
def test_a_file_at_fault_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text(text)
    with pytest.raises(hlo.CompileError, match=message):
        load_passes(tmp_path / "file.py")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(hlo.CompileError, match=r"none.py: expected a Python file with passes"):
        load_passes(tmp_path / "none.py")


def test_an_abstract_pass_is_refused() -> None:
    with pytest.raises(hlo.CompileError, match="expected a pass with a method run"):
        register(hlo.Pass)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"placed": "cse"}, "expected one of the phases input, legalized, simplified, fused"),
        ({"input": "no-such-pass"}, "there is no pass 'no-such-pass'"),
        ({"input": 3}, "expected passes, or a pipeline as text, found 3"),
        ("cse", "expected pipelines by the phase that they follow"),
        (3, "expected pipelines by the phase that they follow"),
        ({"input": "schedule{no=1}"}, "has no option 'no'"),
    ],
)
def test_values_that_are_no_passes_are_refused(value: object, message: str) -> None:
    with pytest.raises(hlo.CompileError, match=message):
        hlo.compile(PROGRAM, passes=value)


def test_a_phase_that_is_not_reached_is_refused() -> None:
    with pytest.raises(hlo.CompileError, match="with optimize=False the phase 'fused' is not"):
        hlo.compile(PROGRAM, optimize=False, passes={"fused": "cse"})
