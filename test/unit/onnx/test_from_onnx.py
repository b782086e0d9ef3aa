"""`hlo.from_onnx`: shapes, constants, weights, subgraphs, functions, and errors one can act on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import hlo
from hlo.onnx.ops.registry import UnknownValueError

HEADER = '<ir_version: 10, opset_import: ["" : 21, "own" : 1]>\n'


def model(text: str, **weights: Any) -> Any:
    """A model of ONNX's textual form, with initializers."""
    made = onnx.parser.parse_model(HEADER + text)
    for name, array in weights.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


def test_symbols_of_shapes_get_extents() -> None:
    made = model("g (float[n, 3] x) => (float[n, 3] y) { y = Relu(x) }")
    x = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)
    program = hlo.from_onnx(made, shapes={"n": 2})
    assert list(program.inputs) == ["x"]
    assert program.outputs == ("y",)
    np.testing.assert_array_equal(program.compile()(x), np.maximum(x, 0))
    np.testing.assert_array_equal(
        hlo.from_onnx(made, shapes={"x": (1, 3)}).compile()(x=x[:1]), np.maximum(x[:1], 0)
    )
    with pytest.raises(hlo.ArgumentError, match=r"input 'x' is \(n, 3\); give an extent"):
        hlo.from_onnx(made)
    with pytest.raises(hlo.ArgumentError, match="the model has no m; its names are n, x"):
        hlo.from_onnx(made, shapes={"m": 2})


def test_large_initializers_are_arguments_and_small_ones_are_known() -> None:
    weight = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    made = model(
        "g (float[2, 64] x) => (float[8, 8] z) { y = MatMul(x, w) z = Reshape(y, extents) }",
        w=weight, extents=np.array([8, -1], np.int64),
    )  # fmt: skip
    program = hlo.from_onnx(made)
    assert list(program.weights) == ["w"]
    assert list(program.known) == ["extents"]
    assert "dense<" not in str(program.module)
    x = np.ones((2, 64), np.float32)
    np.testing.assert_array_equal(program.compile()(x), (x @ weight).reshape(8, 8))


def test_shapes_are_computed_when_compiling() -> None:
    text = """g (float[2, 3, 4] x) => (float[m, k] y) {
      s = Shape(x)
      zero = Constant<value_ints = [0]>()
      first = Gather(s, zero)
      rest = Constant<value_ints = [-1]>()
      extents = Concat<axis = 0>(first, rest)
      y = Reshape(x, extents)
    }"""
    program = hlo.from_onnx(model(text))
    assert str(program.module).count("hlo.") == 1  # the reshape
    assert program.compile()(np.zeros((2, 3, 4), np.float32)).shape == (2, 12)


def test_what_decides_about_shapes_can_be_given() -> None:
    made = model("g (float[4] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }")
    x = np.arange(4, dtype=np.float32)
    with pytest.raises(UnknownValueError, match=r"constants=\{'s': array\}") as error:
        hlo.from_onnx(made).compile()
    assert (error.value.value, error.value.op) == ("s", "Reshape")
    program = hlo.from_onnx(made, constants={"s": np.array([2, 2])})
    assert list(program.inputs) == ["x"]
    np.testing.assert_array_equal(program.compile()(x), x.reshape(2, 2))


BRANCHES = """g (bool c, float[3] x) => (float[3] y) {
  y = If(c)<then_branch = t () => (float[3] a) { a = Add(x, x) },
            else_branch = e () => (float[3] b) { b = Neg(x) }>
}"""


def test_branches_read_the_values_around_them() -> None:
    x = np.array([1, 2, 3], np.float32)
    compiled = hlo.from_onnx(model(BRANCHES)).compile()
    np.testing.assert_array_equal(compiled(np.array(True), x), 2 * x)
    np.testing.assert_array_equal(compiled(np.array(False), x), -x)
    known = hlo.from_onnx(model(BRANCHES), constants={"c": np.array(False)})
    assert "hlo.if" not in str(known.module)
    np.testing.assert_array_equal(known.compile()(x), -x)


LOOP = """g (int64 n, float[3] x) => (float[3] y) {
  true = Constant<value = bool {1}>()
  y = Loop(n, true, x)<body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) {
    w = Add(v, x)
    total = ReduceSum<keepdims = 0>(w)
    limit = Constant<value_float = 40.0>()
    d = Less(total, limit)
  }>
}"""


@pytest.mark.parametrize(("trips", "expected"), [(0, 1), (2, 3), (100, 7)])
def test_loops_end_by_count_or_condition(trips: int, expected: int) -> None:
    x = np.array([1, 2, 3], np.float32)  # the sum is 6 (k + 1) behind k iterations
    found = hlo.from_onnx(model(LOOP)).compile()(np.array(trips), x)
    np.testing.assert_array_equal(found, expected * x)


def test_functions_of_the_model_take_attributes_and_defaults() -> None:
    text = """g (float[3] x) => (float[3] y, float[3] z) {
      y = own.leaky<slope: float = 0.5>(x)
      z = own.leaky(x)
    }
    <domain: "own", opset_import: ["" : 21]>
    leaky <slope: float = 0.25>(a) => (b) { b = LeakyRelu<alpha: float = @slope>(a) }"""
    x = np.array([-4, 0, 4], np.float32)
    y, z = hlo.from_onnx(model(text)).compile()(x)
    np.testing.assert_array_equal(y, [-2, 0, 4])
    np.testing.assert_array_equal(z, [-1, 0, 4])


def test_tensors_may_lie_in_files_beside_the_model(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    made = model("g (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }", w=weight)
    path = tmp_path / "m.onnx"
    onnx.save_model(made, path, save_as_external_data=True, location="m.data")
    x = np.ones((1, 64), np.float32)
    np.testing.assert_allclose(hlo.from_onnx(path).compile()(x), x @ weight, rtol=1e-4)
    tool = [sys.executable, "-m", "hlo.tools.hlo_translate", str(path)]
    text = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    assert "hlo.dot_general" in text


def test_sequences_are_lists() -> None:
    text = """g (float[4] x) => (seq(float[2]) s) {
      two = Constant<value_int = 2>()
      s = SplitToSequence<axis = 0>(x, two)
    }"""
    found = hlo.from_onnx(model(text)).compile()(np.arange(4, dtype=np.float32))
    assert [part.tolist() for part in found] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("g (float[3] x) => (float[3] y) { y = own.thing(x) }", hlo.UnsupportedError,
         "g:1: 'own.thing': the operator has no meaning here"),
        ("g (float[3] x) => (float[3] y) { y = Add(x, w) }", hlo.CompileError,
         "g:1: 'Add': nothing defines the value 'w'"),
        ("g (float[2] x, float[3] w) => (float[3] y) { a = Neg(x) y = Add(a, w) }",
         hlo.CompileError, r"g:2: 'Add': .*\(2,\).*\(3,\)"),
        ("g (float[3] x) => (float[3] y) { y = MatMul(x) }", hlo.CompileError,
         "g:1: 'MatMul': its inputs or attributes do not fit"),
        ("g (string[3] x) => (string[3] y) { y = Identity(x) }", hlo.UnsupportedError,
         "x holds strings"),
        ("g (float[3] x) => (int64[1, n] y) { y = NonZero(x) }", UnknownValueError,
         "g:1: 'NonZero': the value 'x' decides about shapes"),
    ],
)  # fmt: skip
def test_errors_name_the_operator_and_its_place(text: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        hlo.from_onnx(model(text)).compile()


@pytest.mark.parametrize(
    ("version", "text", "message"),
    [
        (6, "g (float[3] x) => (float[3] y) { y = Dropout(x) }", "dropout in training"),
        (7, "g (float[1,2,3] x, float[6] s) => (float[1,2,3] y)"
            "{ y = BatchNormalization<spatial = 0>(x, s, s, s, s) }", "spatial = 0"),
    ],
)  # fmt: skip
def test_old_forms_that_are_not_taken(version: int, text: str, message: str) -> None:
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["" : {version}]>\n{text}')
    with pytest.raises(hlo.UnsupportedError, match=message):
        hlo.from_onnx(made).compile()


def test_dropout_of_old_versions_in_inference() -> None:
    text = "g (float[3] x) => (float[3] y) { y = Dropout<is_test = 1>(x) }"
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["" : 6]>\n{text}')
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(hlo.from_onnx(made).compile()(x), x)


def test_errors_in_a_branch_name_its_node() -> None:
    text = BRANCHES.replace("Neg(x)", "own.thing(x)")
    with pytest.raises(hlo.UnsupportedError, match=r"g:1: 'own\.thing': the operator"):
        hlo.from_onnx(model(text)).compile()


def test_errors_of_a_node_with_a_name_say_it() -> None:
    node = helper.make_node("Gather", ["x", "x"], ["y"], name="pick", axis=7)
    kind = helper.make_tensor_value_info("x", onnx.TensorProto.INT64, [3])
    graph = helper.make_graph([node], "g", [kind], [helper.make_empty_tensor_value_info("y")])
    with pytest.raises(hlo.CompileError, match=r"g:1: 'Gather': pick: "):
        hlo.from_onnx(helper.make_model(graph)).compile()


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hlo.ParseError):
        hlo.from_onnx(b"\xff\xff\xff nonsense")
    with pytest.raises(hlo.ParseError):
        hlo.from_onnx(b"")
    with pytest.raises(FileNotFoundError):
        hlo.from_onnx(tmp_path / "none.onnx")
    with pytest.raises(TypeError, match="found int"):
        hlo.from_onnx(3)


def test_arguments_of_a_call_are_checked() -> None:
    compiled = hlo.from_onnx(
        model("g (float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }")
    ).compile()
    x = np.ones(2, np.float32)
    for _ in range(2):  # as they are met, then as they were met before
        assert compiled(x, x).tolist() == [0, 0]
        assert compiled(3 * x, x).tolist() == [2, 2]
        assert compiled(x, b=x).tolist() == [0, 0]
        assert compiled(b=3 * x, a=x).tolist() == [-2, -2]
        for args, kwargs in (((x,), {}), ((x, x, x), {}), ((x,), {"c": x}), ((x, x), {"b": x})):
            with pytest.raises(hlo.ArgumentError, match="expected the inputs a, b"):
                compiled(*args, **kwargs)
        with pytest.raises(hlo.ArgumentError, match=r"expected float32\[2\] for b"):
            compiled(x, np.ones(3, np.float32))


def test_the_package_onnx_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(hlo.MissingExtraError, match="hlo\\[onnx\\]"):
        hlo.from_onnx(b"")
