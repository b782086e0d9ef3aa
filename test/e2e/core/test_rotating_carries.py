"""Loops whose carries take turns, against the reference: orders, counts, and what stays."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import assert_matches

import hlo

N = 40  # 40 x 40 x 4 bytes: large enough to be unrolled
KIND = f"tensor<{N}x{N}xf32>"


def rotation(carries: int, count: int, results: str, known: bool = True) -> str:
    """`count` iterations over `carries` matrices; `results` of %c0.., and of the new value %new.

    If the count is not `known`, it is the last argument.
    """
    names = [f"%c{i}" for i in range(carries)]
    types = ", ".join(["tensor<i32>", *[KIND] * carries])
    heads = ", ".join(["%i = %zero", *(f"{n} = %x{i}" for i, n in enumerate(names))])
    arguments = ", ".join(f"%x{i}: {KIND}" for i in range(carries))
    arguments += "" if known else ", %n: tensor<i32>"
    bound = f"%n = hlo.constant dense<{count}> : tensor<i32>" if known else ""
    returned = ", ".join(f"%0#{i + 1}" for i in range(carries))
    kinds = ", ".join([KIND] * carries)
    return f"""
    func.func @main({arguments}) -> ({kinds}) {{
      %zero = hlo.constant dense<0> : tensor<i32>
      %0:{carries + 1} = hlo.while({heads}) : {types}
       cond {{
        {bound}
        %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        %one = hlo.constant dense<1> : tensor<i32>
        %next = hlo.add %i, %one : tensor<i32>
        %r = hlo.reverse {names[-1]}, dims = [0] : {KIND}
        %half = hlo.constant dense<0.5> : {KIND}
        %h = hlo.multiply %r, %half : {KIND}
        %new = hlo.subtract %h, %c0 : {KIND}
        hlo.return %next, {results} : {types}
      }}
      return {returned} : {kinds}
    }}"""


SHAPES = pytest.mark.parametrize(
    ("carries", "results"),
    [
        (1, "%new"),  # one that is computed beside its old value
        (2, "%c1, %new"),  # leapfrog
        (3, "%c1, %c2, %new"),  # three levels
        (3, "%c1, %c0, %new"),  # a pair changes places, the third is new
        (2, "%c0, %new"),  # nothing takes turns
        (2, "%c1, %c1"),  # one becomes both
        (4, "%c1, %c2, %c3, %new"),
    ],
)


@pytest.mark.parametrize("count", [3, 4, 20, 21, 23])
@SHAPES
def test_rotations_give_what_the_reference_gives(carries: int, results: str, count: int) -> None:
    source = np.random.default_rng(carries)
    arguments = [source.standard_normal((N, N)).astype(np.float32) for _ in range(carries)]
    assert_matches(rotation(carries, count, results), arguments)


@pytest.mark.parametrize(("carries", "results"), [(2, "%c1, %new"), (3, "%c1, %c2, %new")])
def test_bodies_of_rotations_hold_no_copy(carries: int, results: str) -> None:
    text = hlo.compile(rotation(carries, 24, results)).as_text("host")
    body = text.split("} do {")[1].split("scf.yield")[0]
    assert "memref.copy" not in body
    assert body.count("func.call") >= carries


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 22, 23])
@SHAPES
def test_rotations_of_unknown_count(carries: int, results: str, count: int) -> None:
    source = np.random.default_rng(carries)
    arguments = [source.standard_normal((N, N)).astype(np.float32) for _ in range(carries)]
    text = rotation(carries, count, results, known=False)
    assert_matches(text, [*arguments, np.array(count, np.int32)])


@pytest.mark.parametrize(("carries", "results"), [(2, "%c1, %new"), (3, "%c1, %c2, %new")])
def test_a_loop_of_unknown_count_copies_at_its_end_alone(carries: int, results: str) -> None:
    text = hlo.compile(rotation(carries, 24, results, known=False)).as_text("host")
    body = text.split("} do {")[1].split("scf.yield")[0]
    goes_on, ends = body.split("} else {", 1)
    assert goes_on.count("scf.if") == carries - 1
    assert "memref.copy" not in goes_on
    # A round of n needs n + 1 copies; one iteration less than n may be the last.
    assert ends.count("memref.copy") == (carries - 1) * (carries + 1)
