"""Programs that are wrong give an error with its place; none ends the process."""

from __future__ import annotations

import io
import re

import pytest

from hlo import ir
from hlo.diagnostics import CompileError, ParseError, VerificationError

PROGRAM = """
module attributes {mhlo.num_replicas = 1 : i32} {
  func.func @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {
    %0 = hlo.constant dense<0.0> : tensor<f32>
    %1 = hlo.reduce(%arg0 init: %0) applies hlo.add across dimensions = [1]
      : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
"""


def bytecode() -> bytes:
    stream = io.BytesIO()
    ir.parse_module(PROGRAM).operation.write_bytecode(stream)
    return stream.getvalue()


def test_foreign_attributes_are_kept() -> None:
    text = str(ir.parse_module(PROGRAM))
    assert "mhlo.num_replicas = 1" in text
    assert "jax.buffer_donor = true" in text


def test_bytecode_reads_as_the_text_does() -> None:
    assert str(ir.parse_module(bytecode())) == str(ir.parse_module(PROGRAM))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("func.func @f(", ParseError, "x.mlir:1:13: "),
        ("func.func @f() { return %0 : f32 }", ParseError, "use of undeclared SSA value name"),
        ('"hlo.nothing"() : () -> ()', VerificationError, "not an operation of a known dialect"),
        ('"foo.bar"() : () -> ()', VerificationError, "not an operation of a known dialect"),
        ("%0 = hlo.nothing", ParseError, "custom op 'hlo.nothing' is unknown"),
        ("func.func private @f(!hlo.nothing)", ParseError, "unknown  type `nothing`"),
        ("func.func private @f(tensor<2x99999999999999999999xf32>)", ParseError, "2^63"),
        (
            "// 9x9\nfunc.func private @f(tensor<4294967296x?x4294967296xf32>)",
            ParseError,
            ":2:51: ",
        ),
        ("module attributes {a.b = array<index: 1>} {}", ParseError, "not index"),
        (b"ML\xefR", ParseError, "x.mlir:0:0: "),
        (b"\xff\xfe\x00", ParseError, "x.mlir:1:1: "),
    ],
)
def test_errors_name_their_place(text: str | bytes, kind: type[CompileError], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        ir.parse_module(text, source_name="x.mlir")


def test_constraints_name_op_and_number() -> None:
    text = PROGRAM.replace("dimensions = [1]", "dimensions = [2]")
    with pytest.raises(VerificationError) as caught:
        ir.parse_module(text, source_name="x.mlir")
    assert caught.value.op == "hlo.reduce"
    assert caught.value.location == "x.mlir:5:10"
    assert "[C4] dimensions must be in [0, 2), found 2" in str(caught.value)


def test_truncated_and_damaged_bytecode_is_an_error_or_reads() -> None:
    whole = bytecode()
    for length in range(0, len(whole) - 1, 7):
        with pytest.raises(CompileError):
            ir.parse_module(whole[:length] or b"ML\xefR")
    for place in range(4, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        try:
            ir.parse_module(bytes(damaged))
        except CompileError:
            continue


def test_shapes_in_strings_are_not_shapes() -> None:
    text = 'module attributes {a.b = "tensor<99999999999999999999x9xf32> \\" 9"} {}'
    assert "99999999999999999999x9" in str(ir.parse_module(text))


def test_verify_sees_what_passes_break() -> None:
    module = ir.parse_module(PROGRAM)
    reduce = list(module.body.operations[0].regions[0].blocks[0].operations)[1]
    reduce.attributes["dimensions"] = ir.DenseI64ArrayAttr.get([0], module.context)
    with pytest.raises(VerificationError, match=re.escape("[C3, C7, C8] result #0 must have type")):
        ir.verify(module)
