"""Several kernels in one launch: members, the steps of long reductions, tiny kernels ahead."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Array, Program, Value, assert_matches, number, reducer

import hlo
from hlo import ir
from hlo.reference.evaluate import evaluate

UPDATE = """
  %r{0} = hlo.constant dense<0.125> : {1}
  %s{0} = hlo.multiply %g{0}, %r{0} : {1}
  %w{0} = hlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> {1}
  %d{0} = hlo.divide %s{0}, %w{0} : {1}
  %n{0} = hlo.subtract %p{0}, %d{0} : {1}"""
SHAPES = [(16,), (3, 5), (1,), (), (0, 4), (7, 33), (4097,), (2, 2, 2)]


def updates() -> tuple[str, list[Array]]:
    """Parameters less their gradients over a scalar that is computed first."""
    types = [f"tensor<{''.join(f'{n}x' for n in shape)}f32>" for shape in SHAPES]
    parameters = [
        f"%p{i}: {t} {{tf.aliasing_output = {i} : i32}}, %g{i}: {t}" for i, t in enumerate(types)
    ]
    body = "".join(UPDATE.format(i, t) for i, t in enumerate(types))
    text = f"""func.func @main({", ".join(parameters)}, %t: tensor<f32>) -> ({", ".join(types)}) {{
  %b = hlo.constant dense<0.75> : tensor<f32>
  %k = hlo.power %b, %t : tensor<f32>{body}
  return {", ".join(f"%n{i}" for i in range(len(types)))} : {", ".join(types)}
}}"""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in SHAPES for _ in range(2)]
    return text, [*arrays, np.asarray(2, np.float32)]


def test_updates_of_all_parameters_are_one_launch_in_place() -> None:
    text, arguments = updates()
    expected = evaluate(ir.parse_module(text), arguments)
    compiled = hlo.compile(text)
    found = compiled(*[a.copy() for a in arguments])
    for want, got in zip(expected, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    assert compiled.statistics.kernels == 1
    assert compiled.statistics.arena_bytes <= 64  # the scalar
    compiled.assert_donated()


def long_sum(p: Program, x: Value, dims: list[int]) -> Value:
    zero = p.constant(number(0, x.kind), (), x.kind)
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    attribute = f"dimensions = array<i64: {', '.join(map(str, dims))}>"
    return p.op("reduce", [x, zero], shape, None, attribute, reducer("add", x.kind))


@pytest.mark.parametrize("shape", [(1 << 17,), (4096, 64), (64, 4096), (257, 512)])
@pytest.mark.parametrize("kind", ["f32", "f64", "i32", "bf16"])
def test_steps_of_long_reductions(shape: tuple[int, ...], kind: str) -> None:
    p = Program()
    x = p.sample(shape, kind)
    total = long_sum(p, x, list(range(len(shape))))
    p.result(p.op("negate", [total], ()))
    if len(shape) == 2:
        columns = long_sum(p, x, [0])
        p.result(p.op("add", [columns, columns], columns.shape), columns)
    p.check(ulps=4)


def test_a_sum_does_not_depend_on_threads() -> None:
    p = Program()
    x = p.argument(np.random.default_rng(1).standard_normal(1 << 20).astype(np.float32))
    p.result(long_sum(p, p.op("sine", [x], x.shape), [0]))
    found = {hlo.compile(p.text, threads=n)(*p.arguments)[0].tobytes() for n in (1, 2)}
    assert len(found) == 1
    assert hlo.compile(p.text).statistics.kernels == 1


def test_a_member_leaves_what_another_reads() -> None:
    """The argument that one update takes over is read, as a view and as it is, by other members."""
    text = """func.func @main(%x: tensor<6xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<6xf32>)
    -> (tensor<6xf32>, tensor<3x2xf32>, tensor<4xf32>) {
  %0 = hlo.add %x, %y : tensor<6xf32>
  %v = hlo.reshape %x : (tensor<6xf32>) -> tensor<3x2xf32>
  %1 = hlo.reverse %v, dims = [0] : tensor<3x2xf32>
  %2 = hlo.slice %x [2:6] : (tensor<6xf32>) -> tensor<4xf32>
  %3 = hlo.negate %2 : tensor<4xf32>
  return %0, %1, %3 : tensor<6xf32>, tensor<3x2xf32>, tensor<4xf32>
}"""
    x = np.arange(6, dtype=np.float32)
    expected = evaluate(ir.parse_module(text), [x, x])
    found = hlo.compile(text)(x.copy(), x)
    for want, got in zip(expected, found, strict=True):
        np.testing.assert_array_equal(got, want)


def test_members_in_loops_and_branches() -> None:
    v, s = "tensor<9xf32>", "tensor<5x3xf32>"
    text = f"""func.func @main(%x: {v}, %y: {s}, %n: tensor<i32>) -> ({v}, {s}) {{
  %zero = hlo.constant dense<0> : tensor<i32>
  %w:3 = "hlo.while"(%zero, %x, %y) ({{
  ^bb0(%i: tensor<i32>, %a: {v}, %b: {s}):
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%i: tensor<i32>, %a: {v}, %b: {s}):
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %f = hlo.convert %j : (tensor<i32>) -> tensor<f32>
    %g = hlo.sqrt %f : tensor<f32>
    %ga = hlo.broadcast_in_dim %g, dims = [] : (tensor<f32>) -> {v}
    %gb = hlo.broadcast_in_dim %g, dims = [] : (tensor<f32>) -> {s}
    %ra = hlo.reverse %a, dims = [0] : {v}
    %a1 = hlo.subtract %ra, %ga : {v}
    %rb = hlo.reverse %b, dims = [1] : {s}
    %b1 = hlo.add %rb, %gb : {s}
    hlo.return %j, %a1, %b1 : tensor<i32>, {v}, {s}
  }}) : (tensor<i32>, {v}, {s}) -> (tensor<i32>, {v}, {s})
  return %w#1, %w#2 : {v}, {s}
}}"""
    rng = np.random.default_rng(3)
    arguments = [rng.standard_normal(n).astype(np.float32) for n in ((9,), (5, 3))]
    assert_matches(text, [*arguments, np.asarray(4, np.int32)], ulps=4)
