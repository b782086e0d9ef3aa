"""Loops: carries, invariants, trip counts."""

from __future__ import annotations

import numpy as np
import pytest
from simplify_cases import assert_same, function, op_names, simplify

from hlo import ir
from hlo.passes.simplify.analyze_trip_counts import TRIP_COUNT, AnalyzeTripCounts
from hlo.passes.simplify.forward_carries import ForwardCarries
from hlo.passes.simplify.hoist_loop_invariants import HoistLoopInvariants

X = np.asarray([0.5, -1.0, 2.0], np.float32)


def _loop(start: int, direction: str, limit: int, step: str, element: str = "i32") -> str:
    scalar = f"tensor<{element}>"
    return function(
        "%x: tensor<3xf32>",
        f"({scalar}, tensor<3xf32>)",
        f"""
      %c0 = hlo.constant dense<{start}> : {scalar}
      %0:2 = "hlo.while"(%c0, %x) ({{
      ^bb0(%i: {scalar}, %a: tensor<3xf32>):
        %n = hlo.constant dense<{limit}> : {scalar}
        %1 = hlo.compare {direction}, %i, %n : ({scalar}, {scalar}) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      }}, {{
      ^bb0(%i: {scalar}, %a: tensor<3xf32>):
        %s = hlo.constant dense<1> : {scalar}
        %d = hlo.constant dense<3> : {scalar}
        %1 = hlo.{step} : {scalar}
        %2 = hlo.sine %a : tensor<3xf32>
        hlo.return %1, %2 : {scalar}, tensor<3xf32>
      }}) : ({scalar}, tensor<3xf32>) -> ({scalar}, tensor<3xf32>)
      return %0#0, %0#1 : {scalar}, tensor<3xf32>""",
    )


@pytest.mark.parametrize(
    ("start", "direction", "limit", "step", "count"),
    [
        (0, "LT", 100, "add %i, %s", 100),
        (0, "LT", 100, "add %d, %i", 34),
        (2, "LE", 100, "add %i, %d", 33),
        (100, "GT", 0, "subtract %i, %d", 34),
        (100, "GE", 0, "subtract %i, %s", 101),
        (0, "NE", 99, "add %i, %d", 33),
        (0, "LT", 100, "add %i, %i", None),
        (0, "LT", 100, "subtract %i, %s", None),
        (0, "NE", 100, "add %i, %d", None),
    ],
)
def test_trip_counts(start: int, direction: str, limit: int, step: str, count: int | None) -> None:
    text = _loop(start, direction, limit, step)
    module = simplify(text, [AnalyzeTripCounts()])
    (loop,) = [op for op in _operations(module) if op.name == "hlo.while"]
    found = int(loop.attributes[TRIP_COUNT].value) if TRIP_COUNT in loop.attributes else None
    assert found == count
    if count is not None:
        assert_same(text, X)


def test_count_that_wraps_around_is_unknown() -> None:
    module = simplify(_loop(0, "LE", 127, "add %i, %d", "i8"), [AnalyzeTripCounts()])
    (loop,) = [op for op in _operations(module) if op.name == "hlo.while"]
    assert TRIP_COUNT not in loop.attributes


def test_loop_that_never_runs_goes() -> None:
    assert op_names(assert_same(_loop(5, "LT", 5, "add %i, %s"), X)) == ["constant"]


def test_short_loop_is_opened() -> None:
    module = assert_same(_loop(0, "LT", 2, "add %i, %s"), X)
    assert sorted(op_names(module)) == ["constant", "sine", "sine"]


def test_opening_has_a_limit() -> None:
    text = _loop(0, "LT", 2, "add %i, %s")
    assert "while" in op_names(simplify(text, [AnalyzeTripCounts(max_unrolled_ops=0)]))


def _rounds(size: int, trips: int) -> str:
    """Rounds of a generator, whose constants take turns."""
    kind = f"tensor<{size}xui32>"
    return function(
        f"%x: {kind}",
        kind,
        f"""
      %z = hlo.constant dense<0> : tensor<i32>
      %t = hlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
      %u = hlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
      %0:4 = "hlo.while"(%z, %x, %t, %u) ({{
      ^bb0(%i: tensor<i32>, %a: {kind}, %b: tensor<4xui32>, %c: tensor<4xui32>):
        %n = hlo.constant dense<{trips}> : tensor<i32>
        %1 = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      }}, {{
      ^bb0(%i: tensor<i32>, %a: {kind}, %b: tensor<4xui32>, %c: tensor<4xui32>):
        %s = hlo.constant dense<1> : tensor<i32>
        %1 = hlo.add %i, %s : tensor<i32>
        %2 = hlo.slice %b [0:1] : (tensor<4xui32>) -> tensor<1xui32>
        %3 = hlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
        %4 = hlo.broadcast_in_dim %3, dims = [] : (tensor<ui32>) -> {kind}
        %5 = hlo.shift_left %a, %4 : {kind}
        %6 = hlo.xor %5, %a : {kind}
        %7 = hlo.convert %1 : (tensor<i32>) -> tensor<ui32>
        %8 = hlo.broadcast_in_dim %7, dims = [] : (tensor<ui32>) -> {kind}
        %9 = hlo.add %6, %8 : {kind}
        hlo.return %1, %9, %c, %b : tensor<i32>, {kind}, tensor<4xui32>, tensor<4xui32>
      }}) : (tensor<i32>, {kind}, tensor<4xui32>, tensor<4xui32>)
        -> (tensor<i32>, {kind}, tensor<4xui32>, tensor<4xui32>)
      return %0#1 : {kind}""",
    )


@pytest.mark.parametrize(("trips", "opened"), [(5, True), (24, True), (25, False)])
def test_rounds_whose_carries_stay_in_registers_are_opened(trips: int, opened: bool) -> None:
    module = assert_same(_rounds(1 << 12, trips), np.arange(1 << 12, dtype=np.uint32))
    assert ("while" not in op_names(module)) == opened


def test_rounds_that_read_what_is_around_them_are_opened() -> None:
    text = _rounds(1 << 12, 5)
    inside = "        %s = hlo.constant dense<1> : tensor<i32>\n"
    text = text.replace(inside, "").replace("      %z =", f"{inside}      %z =", 1)
    module = assert_same(text, np.arange(1 << 12, dtype=np.uint32), passes=[AnalyzeTripCounts()])
    assert "while" not in op_names(module)


def test_loop_with_a_reduction_is_kept() -> None:
    kind = "tensor<4096xui32>"
    total = f"""%6 = hlo.xor %5, %a : {kind}
        %r = hlo.constant dense<0> : tensor<ui32>
        %p = hlo.reduce(%6 init: %r) applies hlo.add across dimensions = [0]
          : ({kind}, tensor<ui32>) -> tensor<ui32>"""
    text = _rounds(1 << 12, 5).replace(f"%6 = hlo.xor %5, %a : {kind}", total)
    text = text.replace("hlo.convert %1 : (tensor<i32>)", "hlo.convert %p : (tensor<ui32>)")
    module = assert_same(text, np.arange(1 << 12, dtype=np.uint32))
    assert "while" in op_names(module)


CARRIES = function(
    "%x: tensor<3xf32>, %w: tensor<3xf32>, %n: tensor<i32>",
    "(tensor<3xf32>, tensor<3xf32>)",
    """
      %c0 = hlo.constant dense<0> : tensor<i32>
      %0:4 = "hlo.while"(%c0, %x, %w, %x) ({
      ^bb0(%i: tensor<i32>, %a: tensor<3xf32>, %b: tensor<3xf32>, %d: tensor<3xf32>):
        %1 = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      }, {
      ^bb0(%i: tensor<i32>, %a: tensor<3xf32>, %b: tensor<3xf32>, %d: tensor<3xf32>):
        %s = hlo.constant dense<1> : tensor<i32>
        %1 = hlo.add %i, %s : tensor<i32>
        %2 = hlo.exponential %b : tensor<3xf32>
        %3 = hlo.multiply %a, %2 : tensor<3xf32>
        %4 = hlo.tanh %d : tensor<3xf32>
        hlo.return %1, %3, %b, %4 : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
      }) : (tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
        -> (tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      return %0#1, %0#2 : tensor<3xf32>, tensor<3xf32>""",
)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_carries_that_do_not_change_or_are_dead_go(trips: int) -> None:
    module = assert_same(CARRIES, X, X + 1, np.asarray(trips, np.int32), passes=[ForwardCarries()])
    (loop,) = [op for op in _operations(module) if op.name == "hlo.while"]
    assert len(loop.results) == 2
    assert "tanh" not in op_names(module)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_invariants_leave_the_loop(trips: int) -> None:
    passes = [ForwardCarries(), HoistLoopInvariants()]
    module = assert_same(CARRIES, X, X + 1, np.asarray(trips, np.int32), passes=passes)
    names = op_names(module)
    assert names.index("exponential") < names.index("while") < names.index("multiply")
    # The step is cheaper to make than to keep.
    assert names.index("while") < names.index("add")


def test_dead_carries_that_feed_each_other_go() -> None:
    text = function(
        "%x: tensor<f32>, %n: tensor<i32>",
        "tensor<i32>",
        """
      %c0 = hlo.constant dense<0> : tensor<i32>
      %0:3 = "hlo.while"(%c0, %x, %x) ({
      ^bb0(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
        %1 = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      }, {
      ^bb0(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
        %s = hlo.constant dense<2> : tensor<i32>
        %1 = hlo.add %i, %s : tensor<i32>
        %2 = hlo.sine %b : tensor<f32>
        hlo.return %1, %2, %a : tensor<i32>, tensor<f32>, tensor<f32>
      }) : (tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>)
      return %0#0 : tensor<i32>""",
    )
    module = assert_same(text, np.float32(1), np.asarray(7, np.int32))
    assert "sine" not in op_names(module)


def _operations(module: ir.Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found
