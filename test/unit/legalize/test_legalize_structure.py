# ruff: noqa: E501 (ops are easier to read on one line)
"""Calls, tuples, tokens, custom calls, collectives: what surrounds the values."""

from __future__ import annotations

import numpy as np
import pytest
from legalize_cases import assert_same, legalize, normal, op_names

from hlo import ir
from hlo.diagnostics import CompileError, UnsupportedError

X = normal(0, (4,))


def test_calls_are_inlined_through_private_functions() -> None:
    text = """
    func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = hlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @four_times(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = func.call @four_times(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }"""
    assert_same(text, X)
    assert len(legalize(text).body.operations) == 1


def test_calls_in_regions_are_inlined() -> None:
    assert_same(
        """
    func.func private @less(%x: tensor<i32>, %n: tensor<i32>) -> tensor<i1> {
      %0 = hlo.compare LT, %x, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      return %0 : tensor<i1>
    }
    func.func private @next(%x: tensor<i32>) -> tensor<i32> {
      %0 = hlo.add %x, %x : tensor<i32>
      return %0 : tensor<i32>
    }
    func.func @main(%x: tensor<i32>, %n: tensor<i32>) -> tensor<i32> {
      %0 = "hlo.while"(%x) ({
      ^bb0(%a: tensor<i32>):
        %1 = func.call @less(%a, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      }, {
      ^bb0(%a: tensor<i32>):
        %1 = func.call @next(%a) : (tensor<i32>) -> tensor<i32>
        hlo.return %1 : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      return %0 : tensor<i32>
    }""",
        np.asarray(3, np.int32),
        np.asarray(50, np.int32),
    )


def test_location_of_inlined_op_names_callee_and_call() -> None:
    module = legalize("""
    func.func private @f(%x: tensor<f32>) -> tensor<f32> {
      %0 = hlo.negate %x : tensor<f32> loc("inner.py":3:4)
      return %0 : tensor<f32>
    }
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32> loc("outer.py":7:8)
      return %0 : tensor<f32>
    }""")
    body = module.body.operations[0].regions[0].blocks[0]
    location = str(body.operations[0].location)
    assert location == 'loc(callsite("inner.py":3:4 at "outer.py":7:8))'


def test_recursion_names_the_cycle() -> None:
    with pytest.raises(CompileError, match="recursive calls cannot be compiled: @f -> @g -> @f"):
        legalize("""
    func.func private @f(%x: tensor<f32>) -> tensor<f32> {
      %0 = func.call @g(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func private @g(%x: tensor<f32>) -> tensor<f32> {
      %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }""")


def test_composite_is_its_decomposition() -> None:
    assert_same(
        """
    func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = hlo.multiply %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "hlo.composite"(%x) {name = "my.square", decomposition = @impl} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }""",
        X,
    )


def test_tuples_are_flattened() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<i32>) -> tensor<4xf32> {
      %0 = "hlo.tuple"(%x, %y) : (tensor<4xf32>, tensor<i32>) -> tuple<tensor<4xf32>, tensor<i32>>
      %1 = "hlo.tuple"(%0, %x) : (tuple<tensor<4xf32>, tensor<i32>>, tensor<4xf32>)
        -> tuple<tuple<tensor<4xf32>, tensor<i32>>, tensor<4xf32>>
      %2 = "hlo.get_tuple_element"(%1) {index = 0 : i32}
        : (tuple<tuple<tensor<4xf32>, tensor<i32>>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<i32>>
      %3 = "hlo.get_tuple_element"(%2) {index = 0 : i32} : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }"""
    assert_same(text, X, np.asarray(1, np.int32))
    assert op_names(legalize(text)) == {"builtin.module", "func.func", "func.return"}


def test_tuples_in_a_signature_become_its_leaves() -> None:
    module = legalize("""
    func.func @main(%x: tuple<tensor<f32>, tuple<tensor<i32>, tensor<i1>>> {a.b = "c"})
        -> (tuple<tensor<i1>, tensor<f32>> {d.e = "f"}) {
      %0 = "hlo.get_tuple_element"(%x) {index = 1 : i32}
        : (tuple<tensor<f32>, tuple<tensor<i32>, tensor<i1>>>) -> tuple<tensor<i32>, tensor<i1>>
      %1 = "hlo.get_tuple_element"(%0) {index = 1 : i32} : (tuple<tensor<i32>, tensor<i1>>) -> tensor<i1>
      %2 = "hlo.get_tuple_element"(%x) {index = 0 : i32}
        : (tuple<tensor<f32>, tuple<tensor<i32>, tensor<i1>>>) -> tensor<f32>
      %3 = "hlo.tuple"(%1, %2) : (tensor<i1>, tensor<f32>) -> tuple<tensor<i1>, tensor<f32>>
      return %3 : tuple<tensor<i1>, tensor<f32>>
    }""")
    function = str(module.body.operations[0])
    assert (
        '(%arg0: tensor<f32> {a.b = "c"}, %arg1: tensor<i32> {a.b = "c"}, '
        '%arg2: tensor<i1> {a.b = "c"}) -> (tensor<i1> {d.e = "f"}, tensor<f32> {d.e = "f"})'
        in function
    )
    assert "return %arg2, %arg0" in function


def test_tokens_are_removed_from_loops_branches_and_signatures() -> None:
    module = legalize("""
    func.func @main(%t: !hlo.token, %x: tensor<i32>, %p: tensor<i1>) -> (!hlo.token, tensor<i32>) {
      %0 = "hlo.create_token"() : () -> !hlo.token
      %1 = "hlo.after_all"(%0, %t) : (!hlo.token, !hlo.token) -> !hlo.token
      %2:2 = "hlo.while"(%1, %x) ({
      ^bb0(%u: !hlo.token, %a: tensor<i32>):
        %3 = hlo.compare LT, %a, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %3 : tensor<i1>
      }, {
      ^bb0(%u: !hlo.token, %a: tensor<i32>):
        %3 = "hlo.after_all"(%u) : (!hlo.token) -> !hlo.token
        %4 = hlo.add %a, %a : tensor<i32>
        hlo.return %3, %4 : !hlo.token, tensor<i32>
      }) : (!hlo.token, tensor<i32>) -> (!hlo.token, tensor<i32>)
      %5:2 = "hlo.if"(%p) ({
        hlo.return %2#0, %x : !hlo.token, tensor<i32>
      }, {
        hlo.return %t, %2#1 : !hlo.token, tensor<i32>
      }) : (tensor<i1>) -> (!hlo.token, tensor<i32>)
      %6:2 = "hlo.optimization_barrier"(%5#1, %5#0) : (tensor<i32>, !hlo.token) -> (tensor<i32>, !hlo.token)
      return %6#1, %6#0 : !hlo.token, tensor<i32>
    }""")
    assert "token" not in str(module)
    ir.verify(module)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            '%0:2 = "hlo.infeed"(%t) : (!hlo.token) -> (tensor<4xf32>, !hlo.token)',
            "'hlo.infeed': data from",
        ),
        (
            '%0 = "hlo.outfeed"(%x, %t) : (tensor<4xf32>, !hlo.token) -> !hlo.token',
            "'hlo.outfeed': data to",
        ),
        (
            '%0 = "hlo.custom_call"(%x) {call_target_name = "mine"} : (tensor<4xf32>) -> tensor<4xf32>',
            "@mine",
        ),
    ],
)
def test_what_cannot_be_compiled_names_op_and_location(op: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as error:
        legalize(f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %t = "hlo.create_token"() : () -> !hlo.token
      {op} loc("model.py":5:6)
      return %x : tensor<4xf32>
    }}""")
    assert "model.py" in str(error.value)


def test_annotations_are_dropped_and_named_functions_become_ops() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = hlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = hlo.custom_call @mhlo.erf(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    assert_same(text, X)
    assert "hlo.erf" in op_names(legalize(text))


def test_partitioned_program_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="partitioned over several devices"):
        legalize("""
    func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
      %0 = hlo.custom_call @SPMDFullToShardShape(%x) : (tensor<4xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }""")


def test_collectives_of_one_process_are_the_operand() -> None:
    assert_same(
        """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>) {
      %0 = "hlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = hlo.add %a, %b : tensor<f32>
        hlo.return %s : tensor<f32>
      }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "hlo.all_gather"(%0) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}
        : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "hlo.collective_permute"(%1) {source_target_pairs = dense<0> : tensor<1x2xi64>}
        : (tensor<4xf32>) -> tensor<4xf32>
      %3 = "hlo.collective_permute"(%1) {source_target_pairs = dense<> : tensor<0x2xi64>}
        : (tensor<4xf32>) -> tensor<4xf32>
      %4 = "hlo.replica_id"() : () -> tensor<ui32>
      return %0, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>
    }""",
        X,
    )


def test_collective_of_several_processes_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="there is one process"):
        legalize("""
    func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
      %1 = "hlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
        : (tensor<4xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }""")


def test_async_op_is_done_where_it_starts() -> None:
    module = legalize("""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "hlo.async_start"(%x) ({
      ^bb0(%a: tensor<4xf32>):
        %1 = "hlo.collective_permute"(%a) {source_target_pairs = dense<0> : tensor<1x2xi64>}
          : (tensor<4xf32>) -> tensor<4xf32>
        hlo.return %1 : tensor<4xf32>
      }) : (tensor<4xf32>) -> !hlo.future<tensor<4xf32>>
      %2 = "hlo.async_done"(%0) : (!hlo.future<tensor<4xf32>>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }""")
    assert op_names(module) == {"builtin.module", "func.func", "func.return"}
