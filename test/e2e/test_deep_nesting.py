"""Branches and loops within each other, calls through many functions, and compilations far down a
stack of Python calls: right, in time that grows with their number, and never the process's end.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable

import numpy as np
import pytest
from call_counts import calls_of
from isolation import isolated

import hlo
from hlo import recursion
from hlo.driver.pass_pipeline import run_pass
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.driver.preconditions import depth_as_error
from hlo.importers import load_program

V = "tensor<8xf32>"
I = "tensor<i32>"  # noqa: E741


def branches(depth: int) -> str:
    """x + 1 for each level up to n; then the cosine of that, or after all levels its sine."""
    head = "".join(
        f"""
        %k{i} = hlo.constant dense<{i}> : tensor<i32>
        %p{i} = hlo.compare LE, %n, %k{i} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %r{i} = "hlo.if"(%p{i}) ({{
          %c{i} = hlo.cosine %m{i} : {V}
          "hlo.return"(%c{i}) : ({V}) -> ()
        }}, {{
          %m{i + 1} = hlo.add %m{i}, %one : {V}"""
        for i in range(depth)
    )
    tail = "".join(
        f'"hlo.return"(%r{i + 1}) : ({V}) -> () }}) : (tensor<i1>) -> {V}\n'
        for i in reversed(range(depth))
    )
    return (
        f"func.func @main(%n: tensor<i32>, %m0: {V}) -> {V} {{\n"
        f"%one = hlo.constant dense<1.0> : {V}{head}\n"
        f"%r{depth} = hlo.sine %m{depth} : {V}\n{tail}return %r0 : {V}\n}}"
    )


def loops(depth: int) -> str:
    """Loops of n trips each; a trip gives what is inside of x + 1, plus twice x."""
    head = "".join(
        f"""
        %r{i}:2 = "hlo.while"(%zero, %x{i}) ({{
        ^bb0(%a{i}: {I}, %b{i}: {V}):
          %p{i} = hlo.compare LT, %a{i}, %n : ({I}, {I}) -> tensor<i1>
          "hlo.return"(%p{i}) : (tensor<i1>) -> ()
        }}, {{
        ^bb0(%i{i}: {I}, %v{i}: {V}):
          %j{i} = hlo.add %i{i}, %next : {I}
          %w{i} = hlo.add %v{i}, %v{i} : {V}
          %x{i + 1} = hlo.add %v{i}, %one : {V}"""
        for i in range(depth)
    )
    tail = "".join(
        f"""
          %e{i} = hlo.add %r{i + 1}#1, %w{i} : {V}
          "hlo.return"(%j{i}, %e{i}) : ({I}, {V}) -> () }}) : ({I}, {V}) -> ({I}, {V})"""
        for i in reversed(range(depth))
    )
    return (
        f"func.func @main(%n: {I}, %x0: {V}) -> {V} {{\n"
        f"%one = hlo.constant dense<1.0> : {V}\n%zero = hlo.constant dense<0> : {I}\n"
        f"%next = hlo.constant dense<1> : {I}{head}\n"
        f"%y = hlo.sine %x{depth} : {V}\n"
        f"%z = hlo.constant dense<7> : {I}\n"
        f"%r{depth}:2 = hlo.optimization_barrier %z, %y : {I}, {V}\n{tail}\nreturn %r0#1 : {V}\n}}"
    )


def functions(count: int) -> str:
    """Functions that each call the next; the last one has the sine."""
    texts = [f"func.func @main(%a: {V}) -> {V} {{\n%0 = func.call @f0(%a) : ({V}) -> {V}"]
    for i in range(count):
        ends = i == count - 1
        body = f"hlo.sine %a : {V}" if ends else f"func.call @f{i + 1}(%a) : ({V}) -> {V}"
        texts.append(f"func.func private @f{i}(%a: {V}) -> {V} {{\n%0 = {body}")
    return "\n".join(f"{text}\nreturn %0 : {V}\n}}" for text in texts)


def optimize(text: str) -> None:
    """The passes up to fusion."""
    module = load_program(text)
    with depth_as_error():
        for step in passes_to(Phase.FUSED):
            run_pass(step, module)


def test_results_of_each_branch() -> None:
    x = np.arange(8, dtype=np.float32) / 8
    program = hlo.compile(branches(20))
    for n in (-1, 0, 1, 7, 19, 20, 25):
        levels = min(max(n, 0), 20)
        want = np.sin(x + levels) if n > 19 else np.cos(x + levels)
        np.testing.assert_allclose(program(np.array(n, np.int32), x)[0], want, atol=2e-5)


@pytest.mark.parametrize("depth", [3, 200])
def test_results_of_loops(depth: int) -> None:
    """One trip each: sin(x + depth) + the sum of 2 (x + i) over the levels i."""
    x = np.arange(8, dtype=np.float32) / 8
    program = hlo.compile(loops(depth))
    np.testing.assert_array_equal(program(np.array(0, np.int32), x)[0], x)
    want = np.sin(x + depth) + 2 * (x * depth + depth * (depth - 1) / 2)
    np.testing.assert_allclose(program(np.array(1, np.int32), x)[0], want, rtol=1e-6)


def test_trips_of_loops_in_loops() -> None:
    x = np.arange(8, dtype=np.float32) / 8

    def value(level: int, x: np.ndarray) -> np.ndarray:
        if level == 3:
            return np.sin(x)
        for _ in range(2):
            x = value(level + 1, x + 1) + 2 * x
        return x

    found = hlo.compile(loops(3))(np.array(2, np.int32), x)[0]
    np.testing.assert_allclose(found, value(0, x), rtol=1e-5)


def test_calls_through_more_functions_than_python_nests() -> None:
    x = np.arange(8, dtype=np.float32) / 8
    np.testing.assert_allclose(hlo.compile(functions(3000))(x)[0], np.sin(x), atol=1e-6)


@pytest.mark.parametrize("nested", [branches, loops])
def test_four_times_the_levels_take_about_four_times_the_calls(
    nested: Callable[[int], str],
) -> None:
    """Quadratic would be 16 times."""
    optimize(nested(4))
    assert calls_of(optimize, nested(120)) <= 5 * calls_of(optimize, nested(30))


@pytest.mark.parametrize("nested", [branches, loops])
def test_levels_beyond_what_passes_can_follow_are_an_error(
    nested: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recursion, "FRAMES", 1200)
    with pytest.raises(hlo.CompileError, match="nest too deep") as raised:
        hlo.compile(nested(400))
    found = re.search(r"at most (\d+) levels", str(raised.value))
    assert found is not None
    hlo.compile(nested(int(found[1])))


_NUMBERS = itertools.count()


def _compiled_at(depth: int) -> str:
    """What becomes of a compilation, a new one each time, so many calls down."""
    if depth:
        return _compiled_at(depth - 1)
    try:
        steps = "".join(f"%x{i + 1} = hlo.sine %x{i} : {V}\n" for i in range(60))
        hlo.compile(
            f"func.func @main(%x: {V}) -> {V} {{\n%c = hlo.constant dense<{next(_NUMBERS)}.5> : {V}"
            f"\n%x0 = hlo.add %x, %c : {V}\n{steps}return %x60 : {V}\n}}"
        )
    except RecursionError:
        return "too deep"
    return "compiled"


def _compiled_far_down() -> tuple[list[str], int, int]:
    before = sys.getrecursionlimit()
    _compiled_at(0)
    left = recursion.frames_left()
    found = [_compiled_at(left - margin) for margin in (500, *range(60, 0, -2))]
    return found, before, sys.getrecursionlimit()


def test_the_stack_of_the_caller_does_not_matter() -> None:
    """It compiles wherever the compiler can still be called, and the limit is as before."""
    outcome = isolated(_compiled_far_down)
    assert not outcome.aborted and not outcome.error, outcome
    found, before, after = outcome.value
    assert found[:10] == ["compiled"] * 10
    assert set(found) <= {"compiled", "too deep"} and found == sorted(found)
    assert before == after
