"""The evaluator: modules in the `hlo` dialect, control flow, regions, calls, and clear errors."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hlo.diagnostics import ArgumentError, CompileError, UnsupportedError
from hlo.ir import ops, parse_module
from hlo.reference.evaluate import Evaluator, evaluate
from hlo.reference.op_table import OPERATIONS
from hlo.reference.region_table import REGION_OPERATIONS


def run(text: str, *arguments: Any, entry: str = "main") -> list[np.ndarray]:
    return evaluate(parse_module(text), arguments, entry)


def test_the_first_example() -> None:
    text = """
    func.func @main(%x: tensor<5xf32>) -> tensor<f32> {
      %two = "hlo.constant"() <{value = dense<2.0> : tensor<5xf32>}> : () -> tensor<5xf32>
      %one = "hlo.constant"() <{value = dense<1.0> : tensor<5xf32>}> : () -> tensor<5xf32>
      %zero = "hlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
      %0 = "hlo.multiply"(%x, %two) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %1 = "hlo.sine"(%0) : (tensor<5xf32>) -> tensor<5xf32>
      %2 = "hlo.add"(%1, %one) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %3 = "hlo.reduce"(%2, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "hlo.return"(%s) : (tensor<f32>) -> ()
      }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
      return %3 : tensor<f32>
    }"""
    x = np.linspace(0, 1, 5, dtype=np.float32)
    (found,) = run(text, x)
    assert found == pytest.approx(np.sum(np.sin(x * 2.0) + 1.0), rel=1e-6)
    assert found.shape == ()


WHILE = """
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %one = "hlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %zero = "hlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = "hlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    %p = "hlo.compare"(%i, %n) <{comparison_direction = #hlo<comparison_direction LT>}>
      : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    %j = "hlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %w = "hlo.add"(%v, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "hlo.return"(%j, %w) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<i32>, tensor<4xf32>
}"""


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_while_carries_and_captures(steps: int) -> None:
    x = np.arange(4, dtype=np.float32)
    count, total = run(WHILE, np.int32(steps), x)
    assert count == steps
    np.testing.assert_array_equal(total, x * (steps + 1))


def test_a_prepared_module_runs_many_times() -> None:
    evaluator = Evaluator(parse_module(WHILE))
    for steps in (3, 1, 2):
        count, _ = evaluator([np.int32(steps), np.ones(4, np.float32)])
        assert count == steps


@pytest.mark.parametrize(("index", "expected"), [(0, 10), (1, 20), (2, 30), (-1, 30), (9, 30)])
def test_case_takes_the_last_branch_out_of_bounds(index: int, expected: int) -> None:
    text = """
    func.func @main(%i: tensor<i32>, %a: tensor<i8>, %b: tensor<i8>, %c: tensor<i8>) -> tensor<i8> {
      %0 = "hlo.case"(%i) ({ "hlo.return"(%a) : (tensor<i8>) -> () },
        { "hlo.return"(%b) : (tensor<i8>) -> () }, { "hlo.return"(%c) : (tensor<i8>) -> () })
        : (tensor<i32>) -> tensor<i8>
      return %0 : tensor<i8>
    }"""
    (found,) = run(text, np.int32(index), np.int8(10), np.int8(20), np.int8(30))
    assert found == expected


@pytest.mark.parametrize("flag", [True, False])
def test_if(flag: bool) -> None:
    text = """
    func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
      %0 = "hlo.if"(%p) ({
        %n = "hlo.negate"(%x) : (tensor<f32>) -> tensor<f32>
        "hlo.return"(%n) : (tensor<f32>) -> ()
      }, {
        "hlo.return"(%x) : (tensor<f32>) -> ()
      }) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    (found,) = run(text, np.array(flag), np.float32(3))
    assert found == (-3 if flag else 3)


REDUCE = """
func.func @main(%x: tensor<2x6xf32>, %k: tensor<f32>) -> tensor<2xf32> {{
  %zero = "hlo.constant"() <{{value = dense<0.0> : tensor<f32>}}> : () -> tensor<f32>
  %0 = "hlo.reduce"(%x, %zero) <{{dimensions = array<i64: 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
    "hlo.return"(%s) : (tensor<f32>) -> ()
  }}) : (tensor<2x6xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"""
BODIES = {
    "one operation": '%s = "hlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>',
    "several operations": """
    %p = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GT>}>
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = "hlo.select"(%p, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>""",
    "control flow": """
    %p = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GT>}>
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = "hlo.if"(%p) ({ "hlo.return"(%a) : (tensor<f32>) -> () },
      { "hlo.return"(%b) : (tensor<f32>) -> () }) : (tensor<i1>) -> tensor<f32>""",
}


@pytest.mark.parametrize("body", BODIES)
def test_reduction_bodies_of_any_kind(body: str) -> None:
    x = np.array([[1, 5, 2, 4, 3, 0], [9, 8, 7, 9, 6, 5]], np.float32)
    (found,) = run(REDUCE.format(body=BODIES[body]), x, np.float32(0))
    np.testing.assert_array_equal(found, [5, 9])


def test_a_reduction_may_accumulate_in_a_wider_type() -> None:
    text = """
    func.func @main(%x: tensor<300xi8>, %zero: tensor<i8>) -> tensor<i32> {
      %0 = "hlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = "hlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        "hlo.return"(%s) : (tensor<i32>) -> ()
      }) : (tensor<300xi8>, tensor<i8>) -> tensor<i32>
      return %0 : tensor<i32>
    }"""
    (found,) = run(text, np.full(300, 100, np.int8), np.int8(0))
    assert found.dtype == np.int32
    assert found == 30_000


def test_sort_and_map_and_scatter() -> None:
    text = """
    func.func @main(%k: tensor<5xi32>, %v: tensor<5xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>)
        -> (tensor<5xi32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
      %0:2 = "hlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
        %p = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GT>}>
          : (tensor<i32>, tensor<i32>) -> tensor<i1>
        "hlo.return"(%p) : (tensor<i1>) -> ()
      }) : (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
      %1 = "hlo.map"(%v, %v) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %m = "hlo.multiply"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "hlo.return"(%m) : (tensor<f32>) -> ()
      }) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %2 = "hlo.scatter"(%v, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        "hlo.return"(%b) : (tensor<f32>) -> ()
      }) : (tensor<5xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<5xf32>
      return %0#0, %0#1, %1, %2 : tensor<5xi32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
    }"""
    keys = np.array([2, 1, 2, 3, 1], np.int32)
    values = np.arange(5, dtype=np.float32)
    indices, updates = np.array([[1], [7], [4]], np.int32), np.array([-1, -2, -3], np.float32)
    sorted_keys, carried, squares, scattered = run(text, keys, values, indices, updates)
    np.testing.assert_array_equal(sorted_keys, [3, 2, 2, 1, 1])
    np.testing.assert_array_equal(carried, [3, 0, 2, 1, 4])
    np.testing.assert_array_equal(squares, values**2)
    np.testing.assert_array_equal(scattered, [0, -1, 2, 3, -3])


def test_calls_tuples_composites_fusions_and_barriers() -> None:
    text = """
    func.func private @double(%x: tensor<3xi32>) -> tensor<3xi32> {
      %0 = "hlo.add"(%x, %x) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
      return %0 : tensor<3xi32>
    }
    func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
      %0 = func.call @double(%x) : (tensor<3xi32>) -> tensor<3xi32>
      %1 = "hlo.composite"(%0) <{name = "my.double", decomposition = @double}>
        : (tensor<3xi32>) -> tensor<3xi32>
      %2 = "hlo.tuple"(%1, %x)
        : (tensor<3xi32>, tensor<3xi32>) -> tuple<tensor<3xi32>, tensor<3xi32>>
      %3 = "hlo.get_tuple_element"(%2) <{index = 0 : i32}>
        : (tuple<tensor<3xi32>, tensor<3xi32>>) -> tensor<3xi32>
      %4 = "hlo.optimization_barrier"(%3) : (tensor<3xi32>) -> tensor<3xi32>
      %5 = "hlo.fusion"(%4, %x) <{kind = "loop", name = "sum"}> ({
      ^bb0(%a: tensor<3xi32>, %b: tensor<3xi32>):
        %s = "hlo.add"(%a, %b) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
        "hlo.return"(%s) : (tensor<3xi32>) -> ()
      }) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
      return %5 : tensor<3xi32>
    }"""
    x = np.array([1, -2, 3], np.int32)
    np.testing.assert_array_equal(run(text, x)[0], 5 * x)
    np.testing.assert_array_equal(run(text, x, entry="double")[0], 2 * x)


@pytest.mark.parametrize(
    ("name", "dtype", "literal", "value"),
    [
        ("i1", np.bool_, "true", True),
        ("i4", ml_dtypes.int4, "-8", -8),
        ("ui8", np.uint8, "255", 255),
        ("i64", np.int64, "-9223372036854775808", -(2**63)),
        ("bf16", ml_dtypes.bfloat16, "1.5", 1.5),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn, "-448.0", -448),
        ("f64", np.float64, "0.1", 0.1),
        ("complex<f32>", np.complex64, "(1.0, -2.0)", 1 - 2j),
    ],
)
def test_constants_of_every_kind(name: str, dtype: Any, literal: str, value: Any) -> None:
    text = f"""
    func.func @main() -> tensor<2x{name}> {{
      %0 = "hlo.constant"() <{{value = dense<{literal}> : tensor<2x{name}>}}>
        : () -> tensor<2x{name}>
      return %0 : tensor<2x{name}>
    }}"""
    (found,) = run(text)
    assert found.dtype == np.dtype(dtype)
    assert [x.item() if isinstance(value, complex) else type(value)(x) for x in found] == [
        value
    ] * 2


def test_results_are_writable_arrays_of_their_own() -> None:
    text = """
    func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
      %0 = "hlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1>}>
        : (tensor<3xf32>) -> tensor<2x3xf32>
      return %x, %0 : tensor<3xf32>, tensor<2x3xf32>
    }"""
    x = np.ones(3, np.float32)
    same, spread = run(text, x)
    same[0] = spread[0, 0] = 5
    np.testing.assert_array_equal(x, [1, 1, 1])
    assert spread[1, 0] == 1


def test_quantized_addition_dequantizes_and_requantizes() -> None:
    kind = "tensor<3x!quant.uniform<i8:f32, 0.5:10>>"
    text = f"""
    func.func @main(%x: {kind}, %y: {kind}) -> ({kind}, tensor<3xf32>) {{
      %0 = "hlo.add"(%x, %y) : ({kind}, {kind}) -> {kind}
      %1 = "hlo.uniform_dequantize"(%0) : ({kind}) -> tensor<3xf32>
      return %0, %1 : {kind}, tensor<3xf32>
    }}"""
    # (stored - 10) / 2: 0 + 1, 10 + 20, 58.5 + 58.5; the last is 117 * 2 + 10 = 244 stored, which
    # saturates at 127.
    x, y = np.array([10, 30, 127], np.int8), np.array([12, 50, 127], np.int8)
    stored, real = run(text, x, y)
    np.testing.assert_array_equal(stored, [12, 70, 127])
    np.testing.assert_array_equal(real, [1, 30, 58.5])


def test_dynamic_dimensions_are_those_of_the_arguments() -> None:
    text = """
    func.func @main(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<i32>) {
      %0 = "hlo.negate"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
      %1 = "hlo.get_dimension_size"(%x) <{dimension = 0 : i64}> : (tensor<?x3xf32>) -> tensor<i32>
      return %0, %1 : tensor<?x3xf32>, tensor<i32>
    }"""
    for rows in (0, 2, 5):
        negative, size = run(text, np.ones((rows, 3), np.float32))
        assert negative.shape == (rows, 3)
        assert size == rows


def test_no_op_custom_calls() -> None:
    text = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "hlo.custom_call"(%x) <{call_target_name = "Sharding"}>
        : (tensor<3xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(run(text, x)[0], x)


def test_chlo_operations_as_custom_calls() -> None:
    text = """
    func.func @main(%x: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<5xf32>) {
      %0:2 = "hlo.custom_call"(%x) <{call_target_name = "mhlo.topk"}>
        {mhlo.attributes = {k = 2 : i64, largest = true}}
        : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)
      %1 = "hlo.custom_call"(%x) <{call_target_name = "mhlo.erf"}>
        : (tensor<5xf32>) -> tensor<5xf32>
      return %0#0, %0#1, %1 : tensor<2xf32>, tensor<2xi32>, tensor<5xf32>
    }"""
    values, index, errors = run(text, np.array([1, 5, -2, 9, 0], np.float32))
    np.testing.assert_array_equal(values, [9, 5])
    np.testing.assert_array_equal(index, [3, 1])
    assert errors[4] == 0
    assert errors[0] == np.float32(0.8427007929497149)


def test_an_unknown_custom_call_is_an_error_with_op_and_place() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "hlo.custom_call"(%x) <{call_target_name = "mystery"}>
        : (tensor<3xf32>) -> tensor<3xf32> loc("model.py":12:3)
      return %0 : tensor<3xf32>
    }"""
    with pytest.raises(UnsupportedError, match="@mystery") as caught:
        run(text, np.ones(3, np.float32))
    assert caught.value.op == "hlo.custom_call"
    assert '"model.py":12:3' in str(caught.value)


def test_an_operation_that_needs_other_processes_is_an_error() -> None:
    text = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "hlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "hlo.return"(%s) : (tensor<f32>) -> ()
      }) : (tensor<3xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    x = np.ones(3, np.float32)
    with pytest.raises(UnsupportedError, match="one process"):
        run(text, x)
    alone = text.replace("dense<[[0, 1]]> : tensor<1x2xi64>", "dense<0> : tensor<1x1xi64>")
    np.testing.assert_array_equal(run(alone, x)[0], x)


def test_every_operation_of_the_dialect_is_evaluated_or_needs_another_process() -> None:
    names = {
        value.OPERATION_NAME for value in vars(ops).values() if hasattr(value, "OPERATION_NAME")
    }
    handled_by_the_evaluator = {"hlo.return", "hlo.composite", "hlo.custom_call"}
    from_outside = {"hlo.infeed", "hlo.outfeed", "hlo.recv", "hlo.send"}
    evaluated = {*OPERATIONS, *REGION_OPERATIONS, *handled_by_the_evaluator}
    assert names - evaluated == from_outside


def test_infeed_is_an_error() -> None:
    text = """
    func.func @main() -> tensor<3xf32> {
      %t = "hlo.create_token"() : () -> !hlo.token
      %0:2 = "hlo.infeed"(%t) : (!hlo.token) -> (tensor<3xf32>, !hlo.token)
      return %0#0 : tensor<3xf32>
    }"""
    with pytest.raises(UnsupportedError, match=r"hlo\.infeed"):
        run(text)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (np.int32(1),),
        (np.int64(1), np.ones(4, np.float32)),
        (np.int32(1), np.ones(3, np.float32)),
        (np.int32(1), np.ones((4, 1), np.float32)),
    ],
)
def test_wrong_arguments_are_an_error(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ArgumentError):
        run(WHILE, *arguments)


def test_a_missing_function_is_an_error() -> None:
    with pytest.raises(CompileError, match="@main"):
        run(WHILE, entry="other")
