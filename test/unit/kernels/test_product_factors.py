"""Which products are computed by dot instructions, and how their factors are packed."""

from __future__ import annotations

import pytest
from kernel_regions import region

from hlo.passes.hlo_to_loops import product_factors
from hlo.passes.hlo_to_loops.packed_matrix_kernel import emit_packed_product


def _program(m: int, k: int, n: int, kind: str, result: str, marks: str = "") -> str:
    types = f"tensor<{m}x{k}x{kind}>", f"tensor<{k}x{n}x{kind}>", f"tensor<{m}x{n}x{result}>"
    return (
        f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{\n"
        f"%0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] {marks} : ({types[0]}, "
        f"{types[1]}) -> {types[2]}\nreturn %0 : {types[2]} }}"
    )


def _text(m: int, k: int, n: int, kind: str, result: str, marks: str = "") -> str:
    kernel = emit_packed_product(region(_program(m, k, n, kind, result, marks)))
    assert kernel is not None
    return kernel.text


@pytest.fixture
def all_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_factors, "is_faster", lambda _: True)


@pytest.mark.usefixtures("all_features")
@pytest.mark.parametrize("kind", ["i8", "ui8"])
def test_bytes_are_multiplied_four_at_a_time(kind: str) -> None:
    text = _text(24, 64, 48, kind, "i32")
    assert "llvm.x86.avx512.vpdpbusd.512" in text
    # 64 / 4 steps x 48 columns of words.
    assert "memref<768xi32>" in text
    assert "arith.xori" in text


@pytest.mark.usefixtures("all_features")
@pytest.mark.parametrize(
    ("k", "kind", "result"), [(63, "i8", "i32"), (64, "i8", "i64"), (64, "i16", "i32")]
)
def test_others_are_multiplied_one_at_a_time(k: int, kind: str, result: str) -> None:
    text = _text(24, k, 48, kind, result)
    assert "vpdpbusd" not in text
    assert "arith.muli" in text


def test_processors_without_the_instruction_multiply_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(product_factors, "has_feature", lambda _: False)
    assert "vpdpbusd" not in _text(24, 64, 48, "i8", "i32")


@pytest.mark.usefixtures("all_features")
def test_bf16_goes_in_pairs_where_subnormals_may_be_flushed() -> None:
    marks = f"{{{product_factors.FLUSHES}}}"
    assert "dpbf16ps" in _text(24, 64, 48, "bf16", "f32", marks)
    assert "dpbf16ps" in _text(24, 64, 48, "bf16", "bf16", marks)
    assert emit_packed_product(region(_program(24, 64, 48, "bf16", "f32"))) is None
    assert emit_packed_product(region(_program(24, 63, 48, "bf16", "f32", marks))) is None


@pytest.mark.usefixtures("all_features")
@pytest.mark.parametrize(("kind", "result"), [("f32", "f32"), ("i8", "i32")])
def test_reshaped_operands_are_read_where_they_are(kind: str, result: str) -> None:
    program = (
        f"func.func @main(%x: tensor<8x16x64x{kind}>, %b: tensor<48x64x{kind}>) "
        f"-> tensor<128x48x{result}> {{\n"
        f"%a = hlo.reshape %x : (tensor<8x16x64x{kind}>) -> tensor<128x64x{kind}>\n"
        f"%0 = hlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<128x64x{kind}>, "
        f"tensor<48x64x{kind}>) -> tensor<128x48x{result}>\n"
        f"return %0 : tensor<128x48x{result}> }}"
    )
    kernel = emit_packed_product(region(program))
    assert kernel is not None
    # The panel of the right operand; sums of rows, and of one row, of bytes.
    assert kernel.text.count("memref.alloca") == (1 if kind == "f32" else 3)


def test_features_are_whole_words() -> None:
    assert not product_factors.has_feature("")
    assert not product_factors.has_feature("no-such-feature")


@pytest.mark.parametrize(
    ("processor", "found"), [("znver5", True), ("sapphirerapids", False), ("cooperlake", False)]
)
def test_pairs_of_bf16_are_multiplied_where_that_is_faster(
    monkeypatch: pytest.MonkeyPatch, processor: str, found: bool
) -> None:
    monkeypatch.setattr(product_factors, "has_feature", lambda _: True)
    monkeypatch.setattr(product_factors.runtime, "host_cpu", lambda: processor)
    assert product_factors.is_faster(product_factors.HALVES) is found
    assert product_factors.is_faster(product_factors.BYTES)
