"""Input that is wrong or strange gives a clear error or the right result, and never an abort."""
# ruff: noqa: E501 - lines of programs

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from isolation import Outcome, isolated

import hlo
from hlo.diagnostics import ArgumentError
from hlo.importers import export_stablehlo, load_program

ROOT = Path(__file__).resolve().parents[2]
ADD = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def compiles(program: Any, options: dict[str, Any] | None = None) -> None:
    """Compiles, for its errors; a `Compiled` cannot cross processes."""
    hlo.compile(program, **(options or {}))


def call(program: str, *arguments: Any) -> list[Any]:
    return list(hlo.compile(program)(*arguments))


def assert_clear_error(outcome: Outcome, *words: str) -> None:
    """The outcome is an error of ours whose message has the words."""
    assert not outcome.aborted, outcome.message
    assert "CompileError" in outcome.error, (outcome.error, outcome.message)
    for word in words:
        assert word.lower() in outcome.message.lower(), outcome.message


def main(body: str, arguments: str = "%x: tensor<4xf32>", result: str = "tensor<4xf32>") -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"


# Programs that are not well-formed: the text, and words of the message.
MALFORMED = {
    "empty": ("", "main"),
    "blank lines": ("\n\n  \n", "main"),
    "not MLIR": ("hello, world", ""),
    "a zero byte": (ADD.replace("hlo.add", "hlo\0.add"), ""),
    "an open brace": (ADD[:-1], ""),
    "an open string": ('func.func @main() { "hlo.add', ""),
    "an unknown operation": (ADD.replace("hlo.add", "hlo.addd"), "addd"),
    "an unknown dialect": (ADD.replace("hlo.add", "nope.add"), "nope"),
    "an unknown stablehlo operation": (ADD.replace("hlo.add", "stablehlo.addd"), "addd"),
    "an undefined value": (ADD.replace("%x, %y :", "%x, %z :"), "undeclared"),
    "a wrong result type": (ADD.replace("-> tensor<4xf32>", "-> tensor<5xf32>"), ""),
    "a return of another type": (ADD.replace("return %0 : tensor<4xf32>", "return"), ""),
    "two functions of a name": (ADD + ADD, "main"),
    "no main": (ADD.replace("@main", "@f") + ADD.replace("@main", "@g"), "main"),
    "a declaration alone": ("func.func private @main(tensor<f32>) -> tensor<f32>", ""),
    "a call of a declaration": (
        "func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n" + ADD.replace(
            "return %0", "%1 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>\n  return %1"
        ),
        "@f",
    ),
    "branches between blocks": (
        main("cf.br ^next\n^next:\n  return %x : tensor<4xf32>"), "block"
    ),
    "a call of nothing": (
        main("%0 = call @nothing(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"),
        "nothing",
    ),
    "a call of another signature": (
        main("%0 = call @main(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
             "return %0 : tensor<4xf32>"),
        "",
    ),
    "different shapes": (
        main("%0 = \"hlo.add\"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>\n"
             "return %0 : tensor<4xf32>", "%x: tensor<4xf32>, %y: tensor<5xf32>"),
        "hlo.add",
    ),
    "different element types": (
        main("%0 = \"hlo.add\"(%x, %y) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>\n"
             "return %0 : tensor<4xf32>", "%x: tensor<4xf32>, %y: tensor<4xi32>"),
        "hlo.add",
    ),
    "a function of floats on integers": (
        main("%0 = \"hlo.tanh\"(%x) : (tensor<4xi32>) -> tensor<4xi32>\nreturn %0 : tensor<4xi32>",
             "%x: tensor<4xi32>", "tensor<4xi32>"),
        "hlo.tanh",
    ),
    "a reshape to another count": (
        main("%0 = hlo.reshape %x : (tensor<4xf32>) -> tensor<5xf32>\nreturn %0 : tensor<5xf32>",
             result="tensor<5xf32>"),
        "hlo.reshape",
    ),
    "a permutation that is none": (
        main("%0 = hlo.transpose %x, dims = [1, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
             "return %0 : tensor<2x2xf32>", "%x: tensor<2x2xf32>", "tensor<2x2xf32>"),
        "hlo.transpose",
    ),
    "a dimension past the rank": (
        main("%0 = hlo.reverse %x, dims = [7] : tensor<4xf32>\nreturn %0 : tensor<4xf32>"),
        "hlo.reverse",
    ),
    "a slice past the end": (
        main("%0 = hlo.slice %x [0:9] : (tensor<4xf32>) -> tensor<9xf32>\nreturn %0 : tensor<9xf32>",
             result="tensor<9xf32>"),
        "hlo.slice",
    ),
    "a missing attribute": (
        main("%0 = \"hlo.reverse\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"),
        "dimensions",
    ),
    "an attribute of another type": (
        main("%0 = \"hlo.reverse\"(%x) {dimensions = \"all\"} : (tensor<4xf32>) -> tensor<4xf32>\n"
             "return %0 : tensor<4xf32>"),
        "dimensions",
    ),
    "too few operands": (
        main("%0 = \"hlo.add\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"),
        "operand",
    ),
    "a region too few": (
        main("%0 = \"hlo.map\"(%x) {dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>\n"
             "return %0 : tensor<4xf32>"),
        "region",
    ),
    "a constant of too few elements": (
        main("%0 = hlo.constant dense<[1.0, 2.0]> : tensor<4xf32>\nreturn %0 : tensor<4xf32>", ""),
        "",
    ),
    "a resource without data": (
        main("%0 = hlo.constant dense_resource<gone> : tensor<4xf32>\n%1 = hlo.add %x, %0 : tensor<4xf32>\n"
             "return %1 : tensor<4xf32>"),
        "hlo.constant", "2:", "'gone' holds no data",
    ),
    "a resource of another size": (
        main("%0 = hlo.constant dense_resource<short> : tensor<4xf32>\nreturn %0 : tensor<4xf32>", "")
        + '{-# dialect_resources: { builtin: { short: "0x040000000000803F00000040" } } #-}',
        "hlo.constant", "2:", "'short' is too short",
    ),
    "a negative dimension": (ADD.replace("4xf32", "-4xf32"), ""),
    "a dimension past 64 bits": (ADD.replace("4xf32", "99999999999999999999xf32"), ""),
    "a literal out of range": (
        main("%0 = hlo.constant dense<300> : tensor<4xi8>\nreturn %0 : tensor<4xi8>", "",
             "tensor<4xi8>"),
        "",
    ),
    "an unranked tensor": (ADD.replace("tensor<4xf32>", "tensor<*xf32>"), ""),
    "an element type that is none": (ADD.replace("4xf32", "4xf33"), ""),
    "an integer of odd width": (ADD.replace("4xf32", "4xi7"), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_program(name: str) -> None:
    text, *words = MALFORMED[name]
    assert_clear_error(isolated(compiles, text), *words)


@pytest.mark.parametrize("at", range(0, len(ADD), 9))
def test_truncated_text(at: int) -> None:
    assert_clear_error(isolated(compiles, ADD[:at]))


def own_bytecode() -> bytes:
    stream = io.BytesIO()
    load_program(ADD).operation.write_bytecode(stream)
    return stream.getvalue()


FORMS = {
    "hlo bytecode": own_bytecode,
    "bytecode": lambda: export_stablehlo(load_program(ADD), form="bytecode"),
    "portable-artifact": lambda: export_stablehlo(load_program(ADD), form="portable-artifact"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_truncated_bytecode(form: str, part: float) -> None:
    data = FORMS[form]()
    assert_clear_error(isolated(compiles, data[: int(len(data) * part)]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytecode(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(FORMS[form]())
    for at in rng.integers(4, len(data), 3):
        data[at] = rng.integers(256)
    outcome = isolated(compiles, bytes(data))
    assert not outcome.aborted, outcome.message
    assert not outcome.error or "CompileError" in outcome.error, outcome


@pytest.mark.parametrize("seed", range(24))
def test_damaged_text(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = list(ADD)
    for at in rng.integers(0, len(text), 2):
        text[at] = chr(rng.integers(32, 127))
    outcome = isolated(compiles, "".join(text))
    assert not outcome.aborted, outcome.message
    assert not outcome.error or "CompileError" in outcome.error, outcome


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"fuse": True}, "fuse"),
        ({"target": "abacus"}, "abacus"),
        ({"donate": (7,)}, "donate"),
        ({"donate": (-1,)}, "donate"),
        ({"donate": (0, 0)}, "donate"),
        ({"donate": "x"}, "donate"),
        ({"threads": -1}, "threads"),
        ({"threads": "many"}, "threads"),
        ({"reuse": 3}, "reuse"),
    ],
)
def test_bad_options(options: dict[str, Any], word: str) -> None:
    assert_clear_error(isolated(compiles, ADD, options), word)


@pytest.mark.parametrize("program", [None, 3, ["a"], object, 2.5])
def test_not_a_program(program: Any) -> None:
    outcome = isolated(compiles, program)
    assert outcome.error[0] == "TypeError", outcome
    assert "expected a program" in outcome.message


def test_a_path_that_does_not_exist() -> None:
    assert_clear_error(isolated(compiles, Path("/nowhere/program.mlir")), "/nowhere/program.mlir")


# Calls


X = np.arange(4, dtype=np.float32)


@pytest.fixture(scope="module")
def add() -> hlo.driver.compile.Compiled:  # type: ignore[name-defined]
    return hlo.compile(ADD)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["2", "0"]),
        ((X,), ["2", "1"]),
        ((X, X, X), ["2", "3"]),
        ((X, np.zeros(5, np.float32)), ["4", "5"]),
        ((X, np.zeros((2, 2), np.float32)), ["4", "2"]),
        ((X, np.zeros((4, 1), np.float32)), ["4", "1"]),
        ((X, np.float32(1)), ["4"]),
        ((X, np.zeros(4, np.float64)), ["float32", "float64"]),
        ((X, np.zeros(4, np.int32)), ["float32", "int32"]),
        ((X, np.zeros(4, np.complex64)), ["float32", "complex64"]),
        ((X, np.zeros(4, object)), ["float32"]),
        ((X, "four"), ["float32"]),
        ((X, None), ["float32"]),
        ((X, [object()] * 4), ["float32"]),
        ((X, {"a": 1}), ["float32"]),
    ],
)
def test_arguments_that_do_not_fit(add: Any, arguments: tuple[Any, ...], words: list[str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        add(*arguments)
    for word in words:
        assert word in str(caught.value)


def misaligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values at an odd address."""
    room = np.zeros(values.nbytes + 1, np.uint8)
    room[1:] = np.frombuffer(values.tobytes(), np.uint8)
    return room[1:].view(values.dtype).reshape(values.shape)


def read_only(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    values = values.copy()
    values.flags.writeable = False
    return values


Y = np.arange(24, dtype=np.float32).reshape(4, 6)
ODD_ARRAYS = {
    "a step": np.arange(8, dtype=np.float32)[::2],
    "reversed": np.arange(4, dtype=np.float32)[::-1],
    "a column": Y[:, 2],
    "read-only": read_only(X),
    "misaligned": misaligned(X),
    "broadcast": np.broadcast_to(np.float32(3), (4,)),
    "other byte order": X.astype(">f4"),
    "a record's field": np.zeros(4, [("a", "f4"), ("b", "i2")])["a"],
    "a matrix": np.asmatrix(X).A1,
    "a masked array": np.ma.masked_array(X),
}


@pytest.mark.parametrize("name", ODD_ARRAYS)
def test_odd_arrays_are_read_right(add: Any, name: str) -> None:
    value = ODD_ARRAYS[name]
    before = value.copy()
    for found in (add(value, X)[0], add(X, value)[0]):
        np.testing.assert_array_equal(found, np.asarray(before) + X)
    np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize("order", ["F", "T", "slice"])
def test_matrices_of_any_stride(order: str) -> None:
    text = main("%0 = hlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>\n"
                "return %0 : tensor<6x4xf32>", "%x: tensor<4x6xf32>", "tensor<6x4xf32>")  # fmt: skip
    wide = np.zeros((8, 12), np.float32)
    wide[::2, ::2] = Y
    values = {"F": np.asfortranarray(Y), "T": Y.T.copy().T, "slice": wide[::2, ::2]}
    np.testing.assert_array_equal(hlo.compile(text)(values[order])[0], Y.T)


def test_results_own_their_memory(add: Any) -> None:
    first = add(X, X)[0]
    kept = first.copy()
    second = add(X + 1, X)[0]
    np.testing.assert_array_equal(first, kept)
    first[:] = -1
    np.testing.assert_array_equal(second, X + 1 + X)
    identity = hlo.compile(main("return %x : tensor<4xf32>"))
    value = X.copy()
    result = identity(value)[0]
    result[:] = -1
    np.testing.assert_array_equal(value, X)


# Sizes


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (0, 0)])
@pytest.mark.parametrize("op", ["add", "maximum"])
def test_arrays_of_no_element(shape: tuple[int, ...], op: str) -> None:
    type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"""
    func.func @main(%x: {type_}) -> ({type_}, tensor<f32>) {{
      %0 = hlo.{op} %x, %x : {type_}
      %i = hlo.constant dense<7.0> : tensor<f32>
      %1 = "hlo.reduce"(%0, %i) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %2 = hlo.add %a, %b : tensor<f32>
          hlo.return %2 : tensor<f32>
      }}) {{dimensions = array<i64: {", ".join(map(str, range(len(shape))))}>}}
        : ({type_}, tensor<f32>) -> tensor<f32>
      return %0, %1 : {type_}, tensor<f32>
    }}"""
    outcome = isolated(call, text, np.zeros(shape, np.float32))
    assert outcome.value is not None, outcome
    assert outcome.value[0].shape == shape
    assert outcome.value[1] == 7.0


HUGE = {
    "a buffer past the address space": "4611686018427387904xf32",
    "bytes past 63 bits": "4611686018427387904x2xf64",
    "elements past 63 bits": "4294967296x4294967296x4xi8",
    "a thousand terabytes": "1000000000000000xi8",
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_results(name: str) -> None:
    type_ = f"tensor<{HUGE[name]}>"
    element = HUGE[name].rpartition("x")[2]
    text = f"""
    func.func @main(%x: tensor<{element}>) -> {type_} {{
      %0 = hlo.broadcast_in_dim %x, dims = [] : (tensor<{element}>) -> {type_}
      return %0 : {type_}
    }}"""
    scalar = {"f32": np.float32(1), "f64": np.float64(1), "i8": np.int8(1)}[element]
    outcome = isolated(call, text, scalar)
    assert not outcome.aborted, outcome.message
    assert {"CompileError", "ExecutionError", "MemoryError"} & set(outcome.error), outcome


def test_a_huge_intermediate_that_is_never_made() -> None:
    text = main("""
      %0 = hlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<4000000x4000000xf32>
      %1 = hlo.slice %0 [7:8, 9:10] : (tensor<4000000x4000000xf32>) -> tensor<1x1xf32>
      %2 = hlo.reshape %1 : (tensor<1x1xf32>) -> tensor<f32>
      return %2 : tensor<f32>""", "%x: tensor<f32>", "tensor<f32>")  # fmt: skip
    outcome = isolated(call, text, np.float32(5))
    assert outcome.value == [5.0], outcome


# Depth


def nested_calls(depth: int) -> str:
    functions = [
        f"func.func private @f{k}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
        f"  %0 = call @f{k + 1}(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}"
        for k in range(depth)
    ]
    last = (
        f"func.func private @f{depth}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
        "  %0 = hlo.add %x, %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}"
    )
    entry = main("%0 = call @f0(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>")
    return "\n".join([entry, *functions, last])


def nested_conditionals(depth: int) -> str:
    text = "hlo.return %x : tensor<4xf32>"
    for _ in range(depth):
        text = (
            '%0 = "hlo.if"(%p) ({\n' + text + "\n}, {\n  hlo.return %x : tensor<4xf32>\n})"
            " : (tensor<i1>) -> tensor<4xf32>\nhlo.return %0 : tensor<4xf32>"
        )
    body = text.removesuffix("hlo.return %0 : tensor<4xf32>") + "return %0 : tensor<4xf32>"
    return main(body, "%x: tensor<4xf32>, %p: tensor<i1>")


def chain(length: int) -> str:
    lines = [f"%{k + 1} = hlo.negate %{k} : tensor<4xf32>" for k in range(length)]
    body = "\n".join([*lines, f"return %{length} : tensor<4xf32>"])
    return main(body, "%0: tensor<4xf32>")


@pytest.mark.parametrize("depth", [10, 300])
def test_nested_calls(depth: int) -> None:
    outcome = isolated(call, nested_calls(depth), X)
    assert outcome.value is not None, outcome
    np.testing.assert_array_equal(outcome.value[0], 2 * X)


@pytest.mark.parametrize("depth", [3, 40, 400, 3000])
def test_nested_conditionals(depth: int) -> None:
    outcome = isolated(call, nested_conditionals(depth), X, np.bool_(True))
    if depth < 100:
        np.testing.assert_array_equal(outcome.value[0], X)
    else:
        assert not outcome.aborted, outcome.message
        assert outcome.value is not None or "CompileError" in outcome.error, outcome


@pytest.mark.parametrize("depth", [100, 100_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [("tuple<", ">"), ("(", ")"), ("{a = ", "}"), ("[", "]"), ("({", "})")]
)
def test_nested_text(depth: int, opening: str, closing: str) -> None:
    attribute = opening * depth + "f32" + closing * depth
    text = ADD.replace("%y : tensor<4xf32>", f"%y {{q = {attribute}}} : tensor<4xf32>")
    outcome = isolated(compiles, text)
    assert not outcome.aborted, outcome.message
    assert not outcome.error or "CompileError" in outcome.error, outcome


def test_a_long_chain() -> None:
    outcome = isolated(call, chain(3000), X)
    assert outcome.value is not None, outcome
    np.testing.assert_array_equal(outcome.value[0], X)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_functions_that_call_each_other(length: int) -> None:
    functions = [
        f"func.func private @f{k}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
        f"  %0 = call @f{(k + 1) % length}(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}"
        for k in range(length)
    ]
    entry = main("%0 = call @f0(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>")
    assert_clear_error(isolated(compiles, "\n".join([entry, *functions])), "f0")


def test_main_that_calls_itself() -> None:
    text = main("%0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>")
    assert_clear_error(isolated(compiles, text), "main")


# Valid programs that this target cannot run


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ('%0 = "hlo.custom_call"(%x) {call_target_name = "nobody_knows"} : '
         "(tensor<4xf32>) -> tensor<4xf32>", "nobody_knows"),
        ('%0 = "hlo.uniform_quantize"(%x) : (tensor<4xf32>) -> tensor<4xf32>', "uniform_quantize"),
        ("%t = hlo.create_token : !hlo.token\n"
         '%0, %u = "hlo.infeed"(%t) {infeed_config = "", layout = [[0]]} : '
         "(!hlo.token) -> (tensor<4xf32>, !hlo.token)", "infeed"),
    ],
)  # fmt: skip
def test_unsupported_programs_name_the_operation(body: str, word: str) -> None:
    text = main(f"{body}\nreturn %0 : tensor<4xf32>")
    assert_clear_error(isolated(compiles, text), word)
