"""Kernel text: numbering, reuse by scope, hoisting, structured ops."""

from __future__ import annotations

import pytest

from hlo import ir
from hlo.passes.hlo_to_loops.builder import Builder


def parse(builder: Builder) -> None:
    """The text is a function body that MLIR takes."""
    ir.parse_module(
        f"func.func @f(%begin: index, %end: index) {{\n{builder.text()}\n  return\n}}",
        ir.make_lowering_context(),
    )


def test_equal_ops_are_one() -> None:
    b = Builder()
    one = b.index(1)
    assert b.op(f"arith.addi %begin, {one} : index") == b.op(f"arith.addi %begin, {one} : index")
    assert b.text().count("arith.addi") == 1
    parse(b)


def test_loads_are_never_one() -> None:
    b = Builder()
    text = "arith.addi %begin, %end : index"
    assert b.load(text) != b.load(text)


def test_ops_of_a_loop_are_forgotten_after_it() -> None:
    b = Builder()
    with b.loop("%begin", "%end", b.index(1)):
        inside = b.op("arith.addi %begin, %end : index")
    assert b.op("arith.addi %begin, %end : index") != inside
    parse(b)


def test_ops_before_a_loop_are_known_in_it() -> None:
    b = Builder()
    before = b.op("arith.addi %begin, %end : index")
    with b.loop("%begin", "%end", b.index(1)):
        assert b.op("arith.addi %begin, %end : index") == before


def test_hoisting_out_of_loops_but_not_out_of_conditions() -> None:
    b = Builder()
    with b.loop("%begin", "%end", b.index(1)) as loop:
        with b.loop("%begin", "%end", b.index(1)):
            assert b.can_hoist_to(0)
            with b.at_level(1):
                outside = b.op(f"arith.muli {loop.iv}, {loop.iv} : index")
            assert b.is_visible(outside, 1) and not b.is_visible(outside, 0)
        with b.when(b.op("arith.cmpi eq, %begin, %end : index")):
            assert not b.can_hoist_to(1)
            assert b.can_hoist_to(2)
    parse(b)
    lines = b.text().splitlines()
    inner = max(i for i, line in enumerate(lines) if "scf.for" in line)
    assert next(i for i, line in enumerate(lines) if "muli" in line) < inner


def test_induction_variables_are_visible_only_inside() -> None:
    b = Builder()
    with b.loop("%begin", "%end", b.index(1)) as loop:
        assert b.is_visible(loop.iv, 1)
        assert not b.is_visible(loop.iv, 0)
    assert b.is_visible("%begin", 0)


def test_carried_values() -> None:
    b = Builder()
    zero = b.constant(0.0, "f32")
    with b.loop("%begin", "%end", b.index(1), [(zero, "f32"), (zero, "f32")]) as loop:
        total = b.op(f"arith.addf {loop.carried[0]}, {loop.carried[1]} : f32")
        loop.yielded = [loop.carried[1], total]
    b.op(f"arith.mulf {loop.results[0]}, {loop.results[1]} : f32")
    parse(b)


def test_choices() -> None:
    b = Builder()
    condition = b.op("arith.cmpi eq, %begin, %end : index")
    with b.choice(condition, ["index", "i32"]) as choice:
        with choice.then():
            choice.yielded = ["%begin", b.constant(1, "i32")]
        with choice.otherwise():
            choice.yielded = ["%end", b.constant(2, "i32")]
    b.op(f"arith.addi {choice.results[0]}, %begin : index")
    parse(b)


def test_a_region_left_by_an_exception_leaves_nothing() -> None:
    b = Builder()
    with pytest.raises(KeyError), b.loop("%begin", "%end", "%end"):
        b.op("arith.addi %begin, %end : index")
        raise KeyError
    assert "scf.for" not in b.text() and "addi" not in b.text()
    parse(b)


@pytest.mark.parametrize(
    ("value", "kind", "literal"),
    [
        (1.0, "f32", "0x3F800000"),
        (-0.0, "f32", "0x80000000"),
        (float("inf"), "f64", "0x7FF0000000000000"),
        (1e300, "f32", "0x7F800000"),  # too large: infinity
        (255, "i8", "-1"),
        (True, "i1", "true"),
        (1.0, "f16", "0x3C00"),
    ],
)
def test_constants(value: float, kind: str, literal: str) -> None:
    b = Builder()
    b.constant(value, kind)
    assert f"arith.constant {literal}" in b.text()
    with b.width(4):
        b.constant(value, kind)
    assert f"dense<{literal}> : vector<4x{kind}>" in b.text()
    parse(b)
