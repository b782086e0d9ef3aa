"""Loops whose kernels are inlined and whose carries are registers, against the reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from core_programs import assert_close, assert_matches, sample, tensor

import hlo
from hlo import ir
from hlo.reference.evaluate import evaluate

_ONE = {"i1": "true", "complex<f32>": "(1.0,0.0)", **dict.fromkeys(("f32", "f64", "bf16"), "1.0")}
SHAPES = [(), (3,), (4,), (2, 3), (16,), (20,), (300,)]


def program(shape: tuple[int, ...], kind: str, results: str, body: str = "") -> str:
    """`%n` iterations over carries %a and %b; `results` of %a, %b, %sum, %turned and %k."""
    value = tensor(shape, kind)
    dims = ", ".join(map(str, range(len(shape))))
    return f"""
    func.func @main(%x: {value}, %y: {value}, %n: tensor<i32>) -> ({value}, {value}, {value}) {{
      %zero = hlo.constant dense<0> : tensor<i32>
      %k = hlo.constant dense<{_ONE.get(kind, "1")}> : {value}
      %0:3 = hlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, {value}, {value}
       cond {{
        %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        %one = hlo.constant dense<1> : tensor<i32>
        %next = hlo.add %i, %one : tensor<i32>
        %turned = hlo.reverse %a, dims = [{dims}] : {value}
        %sum = hlo.add %turned, %b : {value}
        {body}
        hlo.return %next, {results} : tensor<i32>, {value}, {value}
      }}
      return %0#1, %0#2, %y : {value}, {value}, {value}
    }}"""


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *(("f32", shape) for shape in SHAPES),
        *((k, s) for k in ("f64", "bf16", "i8", "i1", "complex<f32>") for s in ((3,), (16,))),
    ],
    ids=str,
)
def test_carries_of_all_types(kind: str, shape: tuple[int, ...]) -> None:
    given = [sample(shape, kind, seed) for seed in (1, 2)]
    assert_matches(program(shape, kind, "%b, %sum"), [*given, np.array(3, np.int32)])


@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize(
    "results",
    ["%b, %a", "%sum, %a", "%turned, %b", "%sum, %sum", "%k, %turned", "%x, %sum"],
)
def test_values_that_change_places(results: str, count: int) -> None:
    for shape in ((3,), (16,)):
        given = [sample(shape, "f32", seed) for seed in (1, 2)]
        assert_matches(program(shape, "f32", results), [*given, np.array(count, np.int32)])


@pytest.mark.parametrize("shape", [(), (3,), (16,)], ids=str)
def test_branches_and_loops_within(shape: tuple[int, ...]) -> None:
    value = tensor(shape, "i32")
    body = f"""
        %two = hlo.constant dense<2> : tensor<i32>
        %rest = hlo.remainder %i, %two : tensor<i32>
        %odd = hlo.compare EQ, %rest, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %d:2 = "hlo.if"(%odd) ({{
          "hlo.return"(%b, %sum) : ({value}, {value}) -> ()
        }}, {{
          %e:2 = hlo.while(%j = %zero, %f = %a) : tensor<i32>, {value}
           cond {{
            %g = hlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
            hlo.return %g : tensor<i1>
          }} do {{
            %h = hlo.add %j, %one : tensor<i32>
            %l = hlo.subtract %b, %f : {value}
            hlo.return %h, %l : tensor<i32>, {value}
          }}
          "hlo.return"(%e#1, %a) : ({value}, {value}) -> ()
        }}) : (tensor<i1>) -> ({value}, {value})"""
    given = [sample(shape, "i32", seed) for seed in (1, 2)]
    assert_matches(program(shape, "i32", "%d#0, %d#1", body), [*given, np.array(6, np.int32)])


@pytest.mark.parametrize("donate", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("results", ["%b, %sum", "%sum, %a", "%x, %sum"])
def test_donated_carries(results: str, donate: tuple[int, ...]) -> None:
    text = program((4,), "f32", results)
    given = [*(sample((4,), "f32", seed) for seed in (1, 2)), np.array(5, np.int32)]
    expected = evaluate(ir.parse_module(text), [a.copy() for a in given])
    found = hlo.compile(text, donate=donate)(*given)
    for want, got in zip(expected, found, strict=True):
        assert_close(np.asarray(want), np.asarray(got), 0, text)


def test_large_and_small_carries_together() -> None:
    """A stack of rows that is too large for registers, of which each iteration writes one."""
    text = """
    func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> (tensor<3xf32>, tensor<200x3xf32>) {
      %zero = hlo.constant dense<0> : tensor<i32>
      %rows = hlo.constant dense<-1.0> : tensor<200x3xf32>
      %0:3 = hlo.while(%i = %zero, %a = %x, %s = %rows)
       : tensor<i32>, tensor<3xf32>, tensor<200x3xf32>
       cond {
        %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      } do {
        %one = hlo.constant dense<1> : tensor<i32>
        %next = hlo.add %i, %one : tensor<i32>
        %t = hlo.reverse %a, dims = [0] : tensor<3xf32>
        %b = hlo.subtract %t, %x : tensor<3xf32>
        %r = hlo.reshape %b : (tensor<3xf32>) -> tensor<1x3xf32>
        %u = hlo.dynamic_update_slice %s, %r, %i, %zero
          : (tensor<200x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<200x3xf32>
        hlo.return %next, %b, %u : tensor<i32>, tensor<3xf32>, tensor<200x3xf32>
      }
      return %0#1, %0#2 : tensor<3xf32>, tensor<200x3xf32>
    }"""
    for count in (0, 1, 199, 203):
        assert_matches(text, [sample((3,), "f32", 1), np.array(count, np.int32)])


def test_kernels_of_a_loop_of_scalars_get_places_on_the_stack_alone() -> None:
    text = hlo.compile(program((), "f32", "%b, %sum")).as_text("llvm")
    entry = text.split("@hlo_main")[1].split("// -----")[0]
    places = set(re.findall(r"(%\w+) = llvm.alloca", entry))
    operands = re.findall(r"llvm.call @\w+__inlined\(([^)]*)\)", entry)
    assert len(operands) == 3 and "__packed(" not in entry  # compare, two additions
    assert all(set(names.split(", ")) <= places for names in operands)
